# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Runs: which members of one PodGroup form one gang (semantics §2.4).

Each pod has an owner. Owners whose pods are placed together are one run, and each run is a gang of
its own::

      new owner ──► gathering ──a plan of it is open──► committed ──the floor is held──► closed
                     │   ▲                                │                               │
      the quorum     │   └──nothing of it was bound───────┘      none is live, and a new  │
      alone: a run   ▼                                           owner comes              ▼
      of its own                                                                        over

Gathering members may be arranged again whenever something changes, since nothing of them counts
yet. Others that come to a committed or closed run begin the next one, unless a rule joins them.
"""

import math
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from enbloc.engine.state.gathering import (
    COMPANION_SECONDS,
    Gathering,
    adopted,
    begun,
    by_owner,
    closed_with,
    gathered,
    goes_on,
    has_quorum,
    joined,
    lacking_in,
    mixed,
    names,
    note_attempts,
    note_companions,
    planned_with,
    queued,
    same_jobset,
    vacant_in,
)
from enbloc.engine.state.run import MOST_KNOWN, Run, recorded_run
from enbloc.model.grouped import Grouped, Index
from enbloc.model.groups import Group, GroupKey, RunMemory
from enbloc.model.pods import Phase, Pod, PodUID
from enbloc.model.runs import BARE, attempt_of, joins, owner_of, remembered_runs, short

_NOTHING: Final = RunMemory("")

#: At most this many runs of one PodGroup may be live at once; members of further ones wait.
MOST_RUNS: Final = 8


class Runs:
    """The runs of one PodGroup, the newest last; there is always one.

    Attributes:
        key: of the PodGroup, as pods name it.
        group: the PodGroup; None while it does not exist.
        deadline: when to arrange again, as an owner will be taken as a companion of an existing
            run; infinity = never by time.
    """

    def __init__(self, key: GroupKey) -> None:
        self.key = key
        self.group: Group | None = None
        self.deadline = math.inf
        self._runs = [Run(key)]  #: The newest is the last; there is always one.
        self._next = 1  #: The number of the next run.
        self._of: dict[PodUID, Run | None] = {}  #: None = its run is over.
        self._owners: dict[PodUID, str] = {}  #: Of each pod in `_of`, once settled.
        self._orphans: Index[str, PodUID] = Index()  #: By the pod that controls them.
        self._unassigned: Grouped[str, PodUID, Pod] = Grouped()  #: Finished, in no run yet.
        self._settled = False  #: Every stream has synced; until then, all pods are in one run.

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    @property
    def newest(self) -> Run:
        """The run that status names."""
        return self._runs[-1]

    @property
    def empty(self) -> bool:
        """Whether nothing is known of this group any more."""
        return self.group is None and not self._of

    def run_of(self, uid: PodUID) -> Run | None:
        """Return the run of a pod; None = it is unknown, or its run is over."""
        return self._of.get(uid)

    # ── changes ──────────────────────────────────────────────────────────────────────────────

    def take_group(self, group: Group | None) -> None:
        """Record an added, changed or deleted PodGroup."""
        self.group = group
        for run in self._runs:
            if self._settled:
                run.take_group(group)
            run.group = group

    def put(self, pod: Pod) -> list[Run]:
        """Add or update a member; return the runs that this changes, its own first."""
        if not self._settled:
            self._of[pod.uid] = self.newest
            self.newest.show(pod)
            return [self.newest]
        if pod.uid in self._of:
            if (run := self._of[pod.uid]) is None:
                return []
            if run.gathers and self._too_many(pod):
                run.remove(pod.uid)
                self._of[pod.uid] = None
                return [run]
            unsettled = bool(pod.node) and (run.gathers or run.committed)
            if adopted(run.pods[pod.uid], pod) and (host := self._adopt(run, pod)) is not run:
                return [host, run]
            run.put(pod)
            self._note_loss(run, pod)
            return self._bound_by_another(run, pod) if unsettled else [run]
        owner = self._note_owner(pod)
        changed = self._take_orphans(pod.uid, owner)
        run = self._place(owner, pod) if pod.live else self._known(owner, pod)
        self._enter(pod, run)
        if run is None:
            return changed
        return [run, *(each for each in changed if each is not run)]

    def remove(self, uid: PodUID, *, deleted: bool) -> Run | None:
        """Remove a member, deleted or of another group; return its run, None = it is over."""
        run = self._of.pop(uid, None)
        owner = self._owners.pop(uid, "")  # "" = it was not settled then
        self._unassigned.drop(owner, uid)
        if run is not None:
            pod = run.pods[uid]
            run.remove(uid, deleted=deleted)
            if owner and pod.phase is not Phase.SUCCEEDED:
                run.lost.add(owner)
        self._orphans.drop(owner, uid)
        return run

    def _enter(self, pod: Pod, run: Run | None) -> None:
        self._of[pod.uid] = run
        if run is not None:
            run.put(pod)
            self._note_loss(run, pod)

    def _note_loss(self, run: Run, pod: Pod) -> None:
        if not pod.live and pod.phase is not Phase.SUCCEEDED:
            run.lost.add(self._owners.get(pod.uid, ""))

    # ── assigning members to runs ────────────────────────────────────────────────────────────

    def _note_owner(self, pod: Pod) -> str:
        """Record the owner of a pod; a member controlled by another member shares that one's.

        One step, and no further: owners can be forged into a circle. A set owner stays.
        """
        owner = self._owners[pod.uid] = self._owner(pod)
        return owner

    def _owner(self, pod: Pod) -> str:
        driver = PodUID(short(pod.owning_pod))
        if pod.restart or not driver:
            return owner_of(pod)
        if driver in self._owners:
            return self._owners[driver]
        run = self._recorded(pod)
        if run is not None:
            return next(iter(run.owners), driver)
        self._orphans.add(driver, pod.uid)
        return driver

    def _take_orphans(self, uid: PodUID, owner: str) -> list[Run]:
        """Give the members that a new pod controls the owner of that pod."""
        left: list[Run] = []
        for each in self._orphans.pop(uid, ()):
            self._owners[each] = owner
            run = self._of.get(each)
            if run is None:
                continue
            left.append(run)
            if run.gathers:
                pod = run.pods[each]
                run.remove(each)
                to = self._place(owner, pod) if pod.live else run
                self._enter(pod, to)
                left += [to] if to is not None else []
            else:
                run.owners[owner] = None
            run.owners.pop(uid, None)
        return list(dict.fromkeys(left))

    def _adopt(self, run: Run, pod: Pod) -> Run:
        """Record that another controller adopted a member; return the run to which it belongs."""
        before, owner = self._owners[pod.uid], self._note_owner(pod)
        host = next((each for each in self._runs if owner in each.owners), run)
        if host is run:
            run.owners[owner] = None
            run.lost.discard(before)
            self._forget_owners(run)
        elif run.gathers:
            run.remove(pod.uid)
            self._enter(pod, host)
            return host
        return run

    def _recorded(self, pod: Pod) -> Run | None:
        """Return the run that the binding record of a pod names."""
        name = recorded_run(pod)
        return next((run for run in self._runs if run.run_name == name != ""), None)

    def _known(self, owner: str, pod: Pod) -> Run | None:
        """Return the run of a pod that was not seen before it finished or terminated."""
        recorded = self._recorded(pod)
        for run in reversed(self._runs):
            if owner in run.owners or run is recorded:
                return run
        return None if self.newest.run_name else self._take_in(self.newest, owner, pod)

    def _place(self, owner: str, pod: Pod) -> Run | None:
        """Return the run of a new live pod; begin another one if no run may have it.

        None = another scheduler has bound it, and there are too many runs: it only takes capacity.
        """
        for run in reversed(self._runs):
            if owner in run.owners and (owner != BARE or run.live):
                return run
        if not any(run.live for run in self._runs):
            return self._begin_anew(owner, pod)
        if self._is_one(owner):
            living = next(run for run in reversed(self._runs) if run.live)
            return self._take_in(living, owner, pod)
        if self._too_many(pod):
            return None
        gathering = self.newest if self.newest.gathers else self._further()
        return self._take_in(gathering, owner, pod)

    def _too_many(self, pod: Pod) -> bool:
        """Whether a pod bound by another scheduler would be the first of one run too many."""
        if not (pod.live and pod.node):
            return False
        return sum(bool(run.live) for run in self._runs if not run.gathers) >= MOST_RUNS

    def _take_in(self, run: Run, owner: str, pod: Pod) -> Run:
        run.run_name = run.run_name or self._name(owner, pod)
        run.owners[owner] = None
        if self._is_one(owner):
            for finished in self._unassigned.pop(owner, {}).values():
                self._enter(finished, run)
            self._forget_owners(run)
        return run

    def _forget_owners(self, run: Run) -> None:
        """Forget owners of which nothing is left, once there are many."""
        if len(run.owners) <= run.most_owners:
            return
        present = {self._owners[uid] for uid in run.pods} | set(islice(run.owners, 1))
        run.owners = {owner: None for owner in run.owners if owner in present}
        run.lost &= present
        run.most_owners = max(MOST_KNOWN, 2 * len(present))

    def _name(self, owner: str, pod: Pod) -> str:
        """Return the name of a run that begins with this pod; unique among the known ones."""
        name = short(str(pod.uid)) if owner == BARE else owner
        taken = {run.run_name for run in self._runs}
        return name if name not in taken else short(f"{name}+{pod.uid}")

    def _begin_anew(self, owner: str, pod: Pod) -> Run:
        """End all runs, and begin a new one."""
        if self.newest.run_name:
            known = [name for run in self._runs for name in run.owners]
            self._unassigned.clear()
            for run in self._runs:
                self._end(run)
                run.begin(emptied=not same_jobset(owner, known))
        return self._take_in(self.newest, owner, pod)

    def _end(self, run: Run) -> None:
        """End a run; any remaining members no longer count."""
        for uid in run.pods:
            self._of[uid] = None
        run.owners = {}

    def _new(self, memory: RunMemory = _NOTHING) -> Run:
        """Create another run, with what is recorded of it."""
        run = Run(self.key._replace(run_number=self._next))
        self._next += 1
        run.group, run.run_name = self.group, memory.name
        run.owners, run.scheduled = dict.fromkeys(memory.owners), memory.scheduled
        run.queue_time = memory.queue_time
        return run

    def _further(self) -> Run:
        self._runs.append(run := self._new())
        return run

    def drop(self, run: Run) -> None:
        """Forget a run that is not the only one."""
        self._end(run)
        self._runs.remove(run)

    def spare(self, run: Run) -> bool:
        """Whether a run may be forgotten: another one is newer, and nothing in it counts.

        A run that held its floor is remembered while there are few, since its controller may still
        create another pod of it.
        """
        if run.live or len(self._runs) == 1:
            return False
        if run.scheduled is None:
            return True
        first = next((each for each in self._runs[:-1] if not each.live), None)
        return len(self._runs) > MOST_RUNS and run is first

    # ── arranging gathering members ──────────────────────────────────────────────────────────

    def commit(self, run: Run, planned: Iterable[PodUID]) -> list[Run]:
        """Commit a run to an open plan: members outside it gather elsewhere.

        Returns:
            The runs that gained or lost members.
        """
        run.committed = True
        run.fix()
        if run.scheduled is not None:
            return []
        run.planned_here = True
        others = (each for each in self._runs if each is not run and each.gathers)
        run.companions = {owner for each in others for owner in each.owners}
        if len(run.owners) <= 1:
            return []
        held = (uid for uid, pod in run.pods.items() if pod.node)
        return self._keep_only(run, {self._owners[uid] for uid in (*planned, *held)})

    def _bound_by_another(self, run: Run, pod: Pod) -> list[Run]:
        """Record that a gathering or planned member was bound by a former leader, or by others.

        It belongs to the run in its binding record; otherwise members that were not planned with
        it leave. Planned members stay; those that the former leader planned with it join them.

        Returns:
            The runs that this changes, its own first.
        """
        recorded = self._recorded(pod)
        if run.committed:
            if recorded is None or recorded is run:  # no member joins it
                return [run]
            them = gathered([recorded], self._owners)
            joining = [(each, run) for each in them if joined(run, each, self.group)]
            return list(dict.fromkeys([run, *self._move(joining)]))
        if recorded is not None and recorded is not run and recorded.live:
            self._move([(Gathering(self._owners[pod.uid], run, [pod]), recorded)])
            return [recorded, run]
        if len(run.owners) <= 1:
            return [run]
        bound = {self._owners[uid] for uid, pod in run.pods.items() if pod.node}
        stay = set(bound)
        found = gathered([run], self._owners)
        known = [pod for each in found if each.owner in bound for pod in each.pods]
        if not has_quorum(known, self.group):
            stay |= {
                each.owner
                for each in found
                if not has_quorum(each.pods, self.group)
                and queued(run, min(each.pods, key=lambda pod: pod.seniority))
            }
        return list(dict.fromkeys([run, *self._keep_only(run, stay)]))

    def _keep_only(self, run: Run, owners: set[str]) -> list[Run]:
        """Move members of other owners to a gathering run; return the changed runs."""
        leaving = [
            each
            for each in gathered([run], self._owners)
            if each.owner not in owners and not self._is_one(each.owner)
        ]
        if not leaving:
            return []
        gathering = self.newest if self.newest.gathers else self._further()
        run.companions |= {each.owner for each in leaving}
        return self._move((each, gathering) for each in leaving)

    def arrange(self, now: float) -> list[Run]:
        """Put owners without a bound or planned member where the rules now place them.

        Args:
            now: the engine's clock.

        Returns:
            The runs that gained or lost members.
        """
        self.deadline = math.inf
        if len(self._runs) == 1 and len(self.newest.owners) <= 1:
            return note_attempts(self._runs)
        runs = [run for run in self._runs if run.gathers]
        moves: list[tuple[Gathering, Run]] = []
        alone: list[Gathering] = []
        rest: list[Gathering] = []
        vacant, them = vacant_in(self._runs, self._owners), gathered(runs, self._owners)
        lacking = lacking_in(begun(self._runs), them, self.group)
        for run in self._runs:
            run.companions &= {each.owner for each in them}
        for each in them:
            host = self._host(each, vacant, lacking, now)
            if host is not None:
                host.owners[each.owner] = None
                moves.append((each, host))
            elif has_quorum(each.pods, self.group) and not self._is_one(each.owner):
                alone.append(each)
            else:
                rest.append(each)
        sets = sorted([*([each] for each in alone), *mixed(rest)], key=lambda each: each[0].since)
        own = self._by_themselves(sets, runs)
        gathering = dict.fromkeys(run for _, run in own)
        self._runs = [*(run for run in self._runs if run not in gathering), *gathering]
        moves += own
        changed = self._move(moves)
        return list(dict.fromkeys((*changed, *note_attempts(self._runs))))

    def _host(
        self, each: Gathering, vacant: list[tuple[Run, str]], lacking: Container[str], now: float
    ) -> Run | None:
        """Return the run that an owner joins; None = it still waits for a floor of its own."""
        if self._is_one(each.owner):
            return begun(self._runs)
        if attempt_of(each.owner) is not None or has_quorum(each.pods, self.group):
            return None
        living = closed_with(self._runs, each)
        if living is None and all(pod.role in lacking for pod in each.pods):
            living = begun(self._runs)
        if not vacant and living is None:
            return None
        if now < each.latest + COMPANION_SECONDS:  # more may come: it may be another run
            self.deadline = min(self.deadline, each.latest + COMPANION_SECONDS)
            return None
        if not vacant:
            return living
        run, owner = vacant.pop(0)
        run.lost.discard(owner)
        run.owners.pop(owner)
        return run

    def _is_one(self, owner: str) -> bool:
        """Whether the PodGroup belongs to the creator of all its members, in a single run."""
        return self.group is not None and joins(owner, self.group.owner)

    def _by_themselves(
        self, sets: Sequence[Sequence[Gathering]], runs: Sequence[Run]
    ) -> list[tuple[Gathering, Run]]:
        """Return a run for each set of owners, so that as few pods as possible move.

        Beyond MOST_RUNS, those that came last wait together.
        """
        taken = sum(bool(run.live) for run in self._runs if run not in runs)
        own = max(0, MOST_RUNS - taken)
        several = [list(each) for each in sets[:own]]
        if sets[own:]:
            several.append([each for every in sets[own:] for each in every])
        free = dict.fromkeys(runs)
        found: list[tuple[Gathering, Run]] = []
        for number, together in enumerate(several):
            named = [each.run for each in together if names(each) and each.run in free]
            run = next(iter(named or [each.run for each in together if each.run in free]), None)
            if run is None:
                run = self._further()
            free.pop(run, None)
            run.crowded = number >= own
            if not named:
                run.run_name = ""
                run.run_name = self._name(together[0].owner, together[0].pods[0])
            run.owners = {each.owner: None for each in together}
            found += [(each, run) for each in together]
        return found

    def _move(self, moves: Iterable[tuple[Gathering, Run]]) -> list[Run]:
        """Move owners of which nothing counts yet to other runs, with finished members.

        Returns:
            The runs that gained or lost members.
        """
        goals = {(each.run, each.owner): to for each, to in moves if to is not each.run}
        sources = dict.fromkeys(run for run, _ in goals)
        moving = [
            (pod, run, to)
            for run in sources
            for pod in run.pods.values()
            if (to := goals.get((run, self._owners[pod.uid]))) is not None
        ]
        for pod, run, to in moving:
            run.remove(pod.uid)
            self._enter(pod, self._take_in(to, self._owners[pod.uid], pod))
        for run in sources:
            here = {self._owners[uid] for uid in run.pods}
            for owner in [
                owner for owner in run.owners if (run, owner) in goals and owner not in here
            ]:
                del run.owners[owner]
        return list(dict.fromkeys(run for (source, _), to in goals.items() for run in (source, to)))

    # ── after a restart or a takeover ────────────────────────────────────────────────────────

    def settle(self) -> None:
        """Assign the members found so far to runs, once every stream has synced.

        A run is known by its name in status or in a binding record, and by the owners in
        status. Runs without a live member are over; if none has one, the newest continues.
        """
        if self._settled:
            return
        self._settled = True
        first = self.newest
        pods = sorted(first.pods.values(), key=lambda pod: pod.seniority)
        first.begin()
        self._of.clear()
        memories = {memory.name: memory for memory in remembered_runs(self.group)}
        named = {name: self._new(memory) for name, memory in memories.items()}
        self._runs = list(named.values())
        for pod in sorted(pods, key=lambda pod: (bool(pod.owning_pod), pod.seniority)):
            self._note_owner(pod)
        strangers = self._settle_named(pods, named)
        self._keep_the_living(strangers, len(memories))
        for pod in (pod for pod in strangers if pod.live):
            self._enter(pod, self._place(self._owners[pod.uid], pod))
        for pod in reversed([pod for pod in strangers if not pod.live]):
            owner = self._owners[pod.uid]
            run = self._known(owner, pod)
            self._enter(pod, run)
            if run is None and not memories:
                self._unassigned.put(owner, pod.uid, pod)
        for number, run in enumerate(self._runs):
            run.key, run.group = self.key._replace(run_number=number), self.group
            present = {self._owners[uid] for uid in run.pods}
            run.lost |= run.owners.keys() - present
            run.settle(memories.get(run.run_name))
        self._next = len(self._runs)
        note_attempts(self._runs)

    def _settle_named(self, pods: Sequence[Pod], named: dict[str, Run]) -> list[Pod]:
        """Find the members of runs that have a name; return the others, the oldest first."""
        left: list[Pod] = []
        remembered = tuple(reversed(self._runs))
        for pod in pods:
            counts = pod.live or pod.phase is Phase.SUCCEEDED
            name = recorded_run(pod) if counts else ""
            if name and name not in named and len(named) < 2 * MOST_RUNS:  # they can be forged
                named[name] = self._new(RunMemory(name))
                self._runs.append(named[name])
            if name in named:
                named[name].owners[self._owners[pod.uid]] = None
                self._enter(pod, named[name])
            else:
                left.append(pod)
        bare = [pod for pod in left if pod.live and self._owners[pod.uid] == BARE]
        strangers: list[Pod] = []
        for pod in left:
            owner = self._owners[pod.uid]
            known = (each for each in (*remembered, *self._runs) if owner in each.owners)
            run = next((each for each in known if owner != BARE or goes_on(each, bare)), None)
            if run is None:
                strangers.append(pod)
            else:
                self._enter(pod, run)
        return self._without_companions(strangers)

    def _without_companions(self, strangers: Sequence[Pod]) -> list[Pod]:
        """Return the pods without those that existed when members of a run were bound.

        These belong to it if it has no live member left; or if its floor was not held yet and
        they have no quorum of their own: they were planned with it.
        """
        if not self._runs:
            return list(strangers)
        found = by_owner([pod for pod in strangers if pod.live], self._owners)
        them = (Gathering(owner, self.newest, pods) for owner, pods in found.items())
        hosts = {each.owner: planned_with(self._runs, each, self.group) for each in them}
        left: list[Pod] = []
        for pod in strangers:
            if (run := hosts.get(owner := self._owners[pod.uid])) is None:
                left.append(pod)
            else:
                run.owners[owner] = None
                self._enter(pod, run)
        return left

    def _keep_the_living(self, strangers: Sequence[Pod], remembered: int) -> None:
        """Forget runs without a live member; the newest of them in status may stay."""
        them = gathered(self._runs, self._owners)
        living = [run for run in self._runs if note_companions(run, them, self.group) or run.live]
        if not living and not any(pod.live for pod in strangers):
            living = (self._runs[:remembered] or self._runs)[-1:]
        for run in self._runs:
            if run not in living:
                self._end(run)
        self._runs = living or [self._new()]
