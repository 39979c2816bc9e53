# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Run: the members of one run of a group, and what counts for its floor (semantics §1, §2)."""

from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from enbloc.engine.choices import choose, meets
from enbloc.engine.events import PriorityClassSeen
from enbloc.engine.state.floor import NOBODY, Present, RunFloor
from enbloc.engine.state.runners import SUCCEEDED, Runners
from enbloc.engine.state.successes import Successes
from enbloc.framework.facts import Floor, GroupFacts
from enbloc.model.binding_record import BindingRecord, read_binding_record
from enbloc.model.groups import Group, GroupKey, Relaunch, RunMemory
from enbloc.model.limits import beyond_effort
from enbloc.model.pods import Phase, Pod, PodUID
from enbloc.model.runs import count_succeeded, remembered_runs
from enbloc.model.times import CLOCK_ERROR

#: The most owners of a run that are written to status.
MOST_OWNERS: Final = 32

#: With more of them, a run that every owner joins forgets those without a pod.
MOST_KNOWN: Final = 4 * MOST_OWNERS

_NONE: Final = Counter[str]()


def solo_key(pod: Pod) -> GroupKey:
    """Return the key of the implied group of a pod without one; no PodGroup can have that name."""
    return GroupKey(pod.key.namespace, "/" + pod.key.name)


def record_of(pod: Pod) -> BindingRecord | None:
    """Return the binding record of a pod that has a node; None = it has no readable one."""
    return read_binding_record(pod.binding_record) if pod.node and pod.binding_record else None


def recorded_run(pod: Pod) -> str:
    """Return the run that the binding record of a pod names; "" = none."""
    record = record_of(pod)
    return record.run if record is not None else ""


_NO_SUCCESSES: Final = Successes()


class Run:
    """The pods of one run of a group, and what is recorded of it.

    Attributes:
        group: its PodGroup; None while it does not exist.
        solo: the implied group of a pod without one.
        pods: its known members, finished ones too.
        live: those that are neither finished nor terminating.
        run_name: its name in status; "" before the first member.
        owners: of its members, in the order of arrival.
        most_owners: this many are kept before those without a pod are sought.
        scheduled: when its floor was first held, server seconds; None = not yet. From then on it
            takes in no further owner without a reason (semantics §2.4).
        floor: which minimum counts for it, and whether it started.
        queue_time: kept for the run once the quorum was there; None before.
        plan: the last plan of which a Binding was sent; "" = none.
        committed: a plan of it is open.
        superseded: there is a newer attempt of its JobSet.
        companions: owners that existed when a plan was made without them.
        planned_here: this process made a plan of it before its floor was held, so it knows them.
        lost: owners with a member that is gone and did not succeed.
        crowded: it gathers members that wait until one of too many other runs ends.
        done: members that succeeded since it was last relaunched, as far as this process saw it.
    """

    # For a pod without a group, of which there are many, these keep their values.
    run_name = ""
    scheduled: float | None = None
    floor = RunFloor()
    queue_time: float | None = None
    plan = ""
    committed = superseded = crowded = False
    #: There was a time without a live member.
    _emptied = False
    #: Successes, by role, that status counts and this process did not see.
    _forgotten = _NONE
    done = _NO_SUCCESSES

    def __init__(self, key: GroupKey, *, solo: bool = False) -> None:
        self.key = key
        self.solo = solo
        self.group: Group | None = Group(key) if solo else None
        self.pods: dict[PodUID, Pod] = {}
        self.live: dict[PodUID, Pod] = {}
        if not solo:
            #: Live members with a node.
            self._with_node: set[PodUID] = set()
            self.begin()

    def begin(self, *, emptied: bool = False) -> None:
        """Begin another run in this one's place; all known pods belonged to the one before.

        Args:
            emptied: its owner may have other needs than the one before.
        """
        self.pods.clear()
        self.live.clear()
        self._with_node.clear()
        self.run_name = ""
        self.owners: dict[str, None] = {}
        self.most_owners = MOST_KNOWN
        self.scheduled = None
        self.floor = RunFloor()
        self.queue_time = None
        self.plan = ""
        self.committed = False
        self.superseded = False
        self.crowded = False
        self.lost: set[str] = set()
        self.companions: set[str] = set()
        self.planned_here = False
        self._forgotten = _NONE
        self.done = _NO_SUCCESSES
        #: Members that are counted in `done`, or were before the run was relaunched.
        self._counted: set[PodUID] = set()
        #: The members with which the floor ran.
        self._runners = Runners()
        self._emptied = emptied
        #: A member was seen bound since its last relaunch.
        self._seen_bound = False
        #: When the first live member came since none is bound, server seconds.
        self._came: float | None = None

    @property
    def started(self) -> float | None:
        """When the floor last began to run together, server seconds; None = it has not."""
        return self.floor.started

    @property
    def in_topology(self) -> bool:
        """Whether its PodGroup states where its members, or those of a part, are to be."""
        group = self.group
        return group is not None and bool(group.topology or group.topology_parts)

    @property
    def at_rest(self) -> bool:
        """Whether it is a pod without a group, bound or finished, that needs nothing more."""
        return self.solo and all(pod.node or pod.finished for pod in self.pods.values())

    # ── changes ──────────────────────────────────────────────────────────────────────────────

    def show(self, pod: Pod) -> None:
        """Add or update a pod that may be a member; what it counts for is derived later."""
        self.pods[pod.uid] = pod
        if pod.live:
            self.live[pod.uid] = pod
        else:
            self.live.pop(pod.uid, None)

    def put(self, pod: Pod) -> None:
        """Add or update a member."""
        self.show(pod)
        if self.solo:
            return
        self._note_emptied()
        if self._came is None and pod.live and not pod.node:
            self._came = pod.created
        if pod.live and pod.node:
            self._seen_bound = True
            self._with_node.add(pod.uid)
        else:
            self._with_node.discard(pod.uid)
        if pod.finished:
            self._runners.ended(pod.uid, succeeded=pod.phase is Phase.SUCCEEDED)
        if pod.phase is Phase.SUCCEEDED and pod.uid not in self._counted:
            if self.done is _NO_SUCCESSES:
                self.done = Successes()
            self._counted.add(pod.uid)
            self.done.add(pod)

    def remove(self, uid: PodUID, *, deleted: bool = False) -> None:
        """Remove a member; its success stays counted. Unless deleted, the pod may come back."""
        self.pods.pop(uid, None)
        self.live.pop(uid, None)
        if not self.solo:
            self._note_emptied()
            self._with_node.discard(uid)
            self._runners.ended(uid, succeeded=False)
            if deleted:
                self._counted.discard(uid)

    def _note_emptied(self) -> None:
        if not self.live:
            self._emptied, self._came = True, None

    def take_group(self, group: Group | None) -> None:
        """Record an added, changed or deleted PodGroup; its status may list more than was seen."""
        listed = dict(self.group.minimums()) if self.group is not None else {}
        self.group = group
        for memory in remembered_runs(group):
            if memory.name and memory.name == self.run_name:
                self.recall(memory)
        self.floor.lower(group)
        self._welcome_held([role for role, least in listed.items() if least])

    def _welcome_held(self, but: Collection[str]) -> None:
        """Add roles to the floor that are new (not in `but`) and held: it needs no more of them."""
        new = self.floor.coming(self.group) - set(but)
        if self.group is not None and new:
            held = Counter(pod.role for pod in self.bound) + self._held_successes
            least = dict(self.group.minimums())
            came = {role: min(least[role], held[role]) for role in sorted(new) if held[role]}
            self.floor.welcome(self.group, came, held.total())

    def close(self, now: float) -> None:
        """Record that the floor is first held: from here on the members of this run are known."""
        if self.scheduled is None:
            self.scheduled = now
        self.fix()

    def fix(self) -> None:
        """Record that a relaunched gang is planned, or held: more members of it are additions."""
        if self.floor.relaunched:
            self.floor.fix(self.group, self._there)

    def start(self, now: float) -> None:
        """Record that the floor runs together: not before a Binding, which the server timed."""
        bound = max((pod.bound_at for pod in self._held_pods()), default=now)
        self.floor.start(self.group, max(now, min(bound, now + CLOCK_ERROR)), self._there)
        self._runners = Runners(self._who_runs())

    def _who_runs(self) -> list[PodUID]:
        """Return the running members, and SUCCEEDED for those that are held."""
        running = [pod.uid for pod in self.live.values() if pod.running]
        return [*running, SUCCEEDED] if self.done.roles else running

    def _remade(self, facts: GroupFacts, now: float) -> bool:
        """Record which members run; return whether no runner is left and the floor is not held."""
        self._runners.look(now, self._who_runs() if self.runs_whole(facts) else None)
        if not facts.deficit:
            return False
        return not self._runners.any_left(self._with_node)

    def starts_anew(self, facts: GroupFacts, now: float) -> bool:
        """Record which members run; return whether its start is over, or what led to one.

        That is so if no member is bound any more, and it needs or has some; unless its floor was
        never fixed, and nothing succeeded of what was seen bound.
        """
        if self.started is not None and self._remade(facts, now):
            return True
        counts = self.floor.fixed or (self._seen_bound and self.held_succeeded)
        if not counts or facts.total.bound or self.committed:
            return False
        if self.live:
            self._came = now
        return bool(self.live or facts.deficit)

    def stop(self) -> None:
        """Record that no member is bound any more: a relaunched gang has not started.

        Earlier successes no longer count for it.
        """
        self.floor.stop(self.succeeded, self.done.latest)
        self._forgotten = _NONE
        self.done = _NO_SUCCESSES
        self._emptied, self._seen_bound = True, False

    def recall(self, memory: RunMemory) -> None:
        """Restore what status counts and this process did not see: pods deleted since."""
        seen = self.succeeded
        if more := count_succeeded(seen, memory) - seen:
            self._forgotten = self._forgotten + more

    def settle(self, memory: RunMemory | None) -> None:
        """Derive what its members count for, once all that were found so far are in it.

        Args:
            memory: what status records of it; None = nothing.
        """
        bound = self.bound
        records = [record for pod in self._held_pods() if (record := record_of(pod))]
        if memory is not None:
            self._emptied |= not bound and (memory.scheduled is not None or not self.live)
            self.scheduled, self.plan = memory.scheduled, memory.plan
            self.queue_time = memory.queue_time
            self.floor.recall(memory, believed=self._believed(memory.started))
            self._forget_before(memory.relaunch)
            self.recall(memory)
            doubted = memory.started is not None or memory.relaunch is None
            if self.floor.captured and self.started is None and doubted:
                self.stop()  # earlier and later successes cannot be told apart
        elif not any(pod.binding_record for pod in bound):
            # Another scheduler has bound them: without a status, a running one is proof enough.
            running = [pod for pod in bound if pod.running]
            times = [pod.bound_at for pod in running]
            self.floor.started = min(times, default=None)
        if self.queue_time is None and records and self.pods:
            oldest = min(pod.created for pod in self.pods.values())
            self.queue_time = max(oldest, min(record.queue_time for record in records))
        if self.started is not None:
            if not self.floor.captured and self.group is not None:
                last = max(bound, key=lambda pod: (pod.bound_at, pod.key), default=None)
                known = record_of(last) if last is not None else None
                floor = known.floor if known is not None else None
                self.floor.guess(self.group, bound, self._held_successes, floor)
            self._runners = Runners([*self._with_node, *self._who_runs()])  # none is recorded
        self.floor.lower(self.group)
        # Of a role that was listed already, and is no part of the floor, a burst was cut short.
        self._welcome_held([role for role, _ in memory.roles] if memory is not None else ())

    def _forget_before(self, relaunch: Relaunch | None) -> None:
        """Do not hold members that had succeeded, and so were bound, before it was relaunched."""
        if relaunch is None or (latest := relaunch.latest) is None:
            return
        done = [pod for pod in self.pods.values() if pod.phase is Phase.SUCCEEDED]
        earlier = Counter(pod.role for pod in done if pod.bound_at <= latest)
        self.floor.before = count_succeeded(earlier, relaunch)
        self.done = Successes()
        for pod in done:
            if pod.bound_at > latest:
                self.done.add(pod)

    def memory(self) -> RunMemory:
        """Return what another process must know of this run."""
        roles = [role.name for role in self.group.roles] if self.group is not None else []
        succeeded = self.succeeded if roles else _NONE
        return RunMemory(
            self.run_name,
            tuple(islice(self.owners, MOST_OWNERS)),
            tuple(sorted(self.floor.captured.items())),
            self.scheduled,
            self.started,
            self.all_succeeded,
            tuple((role, succeeded[role]) for role in roles),
            self.queue_time,
            self.plan,
            tuple(sorted(self.floor.counts.items())),
            self.floor.relaunch(roles),
        )

    def _held_pods(self) -> list[Pod]:
        return [p for p in self.pods.values() if p.bound or p.phase is Phase.SUCCEEDED]

    def _believed(self, started: float | None) -> bool:
        """Whether a present member can have run when status says that the floor did.

        Only if none is bound, those that succeeded tell: they may be of the time before a relaunch
        that status does not record yet. If no member is present, nothing contradicts it.
        """
        if started is None:
            return False
        held = self.bound or self._held_pods()
        records = [record_of(pod) for pod in held]
        before = any(pod.bound_at <= started for pod in held)
        return not held or before or any(record.started for record in records if record)

    # ── successes ────────────────────────────────────────────────────────────────────────────

    @property
    def _held_successes(self) -> Counter[str]:
        return self.done.roles + self._forgotten if self._forgotten else self.done.roles

    @property
    def succeeded(self) -> Counter[str]:
        """Return how many members of each role succeeded in this run; "" = without a role.

        It never decreases within a run. For a role that the PodGroup does not name,
        successes before this process started count as without a role.
        """
        return self._held_successes + self.floor.before

    @property
    def all_succeeded(self) -> int:
        """Return how many members succeeded in this run; it never decreases within it."""
        return self._held_successes.total() + self.floor.before.total()

    @property
    def held_succeeded(self) -> int:
        """Return how many of them are held: those since it was last relaunched."""
        return self._held_successes.total()

    # ── derived facts ────────────────────────────────────────────────────────────────────────

    def facts(
        self,
        ours: Container[str],
        assumed: Container[str],
        classes: Mapping[str, PriorityClassSeen],
        *,
        raises: bool = False,
    ) -> GroupFacts:
        """Return the facts of this group now.

        Args:
            ours: the scheduler names served here.
            assumed: UIDs of pods that hold a reservation, and so are not pending.
            classes: PriorityClasses by name.
            raises: the group's class may raise its priority, not only lower it.
        """
        group = self.group
        bound: list[Pod] = []
        pending: list[Pod] = []
        gated: list[Pod] = []
        foreign: list[str] = []
        for pod in self.live.values():
            if pod.gates:
                gated.append(pod)
            if pod.node:
                bound.append(pod)
            elif pod.uid not in assumed:
                if pod.scheduler not in ours:
                    foreign.append(pod.scheduler)
                elif not pod.gates:
                    pending.append(pod)
        pending.sort(key=lambda pod: pod.seniority)
        done = self._held_successes
        roles = self._floors(group, pending, bound, done) if group and group.roles else ()
        coming: tuple[Floor, ...] = ()
        total = Floor(
            role="",
            minimum=self.floor.of("", group.min_member, self._there) if group else 1,
            pending=len(pending),
            bound=len(bound),
            succeeded=done.total() if done else 0,
        )
        if roles and (new := self.floor.coming(group)):
            coming = tuple(floor for floor in roles if floor.role in new)
            roles = tuple(floor for floor in roles if floor.role not in new)
            total = replace(total, pending=total.pending - sum(f.pending for f in coming))
            pending = _able(pending, coming)
        choice = None
        if roles and group and (tree := self.floor.tree(group)) is not None:
            total, roles, chosen = choose(tree, total, roles)
            choice = chosen if tree.chooses else None
        return GroupFacts(
            key=self.key,
            group=group,
            solo=self.solo,
            pending=tuple(pending),
            total=total,
            roles=roles,
            members=len(self.live),
            gated=len(gated),
            foreign=len(foreign),
            foreign_schedulers=tuple(sorted(set(foreign))) if foreign else (),
            running=sum(pod.running for pod in bound) if bound else 0,
            bound_by_us=self._bound_by_us(bound) if bound or done else False,
            started=self.started is not None,
            superseded=self.superseded,
            crowded=self.crowded,
            run_name=self.run_name,
            priority=self.priority(classes, raises=raises),
            queue_time=self._queue_time((total, *roles)),
            problem=self._problem(pending, classes, ours),
            gates=_gates(gated) if gated else (),
            ranks=() if self.solo else self._ranks(bound),
            choice=choice,
            coming=coming,
            returning=self._came if not bound and group and self._returns(group) else None,
        )

    def _returns(self, group: Group) -> bool:
        """Whether its members may be just those that were made anew first (semantics §2.5)."""
        return (self._emptied and group.derived) or self.floor.grows(group, self._there)

    def unmet(self) -> Sequence[Floor]:
        """Return the group's own floor, then that of each role, as if no member were bound.

        All roles are included: an optional sub-group is whole or absent, too.
        """
        group, done = self.group, self._held_successes
        least = self.floor.of("", group.min_member, self._there) if group else 1
        roles = self._floors(group, [], [], done) if group and group.roles else ()
        return (Floor("", least, 0, 0, done.total()), *roles)

    def _bound_by_us(self, bound: Sequence[Pod]) -> bool:
        """Whether a Binding of this scheduler placed a held member.

        Anybody can forge a binding record, so it counts only if this process or status knows of a
        plan; and a run that a newer one follows is not completed first.
        """
        if self.superseded or not self.plan:
            return False
        return self.done.recorded or any(pod.binding_record for pod in bound)

    def _floors(
        self, group: Group, pending: list[Pod], bound: list[Pod], succeeded: Counter[str]
    ) -> tuple[Floor, ...]:
        """Return a floor for each role that has a minimum."""
        waiting = Counter(pod.role for pod in pending)
        sitting = Counter(pod.role for pod in bound)
        of, there = self.floor.of, self._there
        return tuple(
            Floor(role, of(role, least, there), waiting[role], sitting[role], succeeded[role])
            for role, least in group.minimums()
            if least > 0
        )

    def _ranks(self, bound: Sequence[Pod]) -> tuple[tuple[int, int], ...]:
        """Return the ranks of bound and succeeded members: replacements take those of lost ones."""
        ranks = (pod.rank for pod in bound if pod.rank is not None)
        return (*self.done.ranks, *((rank, rank + 1) for rank in ranks))

    @property
    def bound(self) -> list[Pod]:
        """Return the live members with a node."""
        return [pod for pod in self.live.values() if pod.node]

    @property
    def _there(self) -> Present:
        """Return the members on which its floor depends."""
        if self.started is not None or not self.floor.relaunched:
            return NOBODY
        roles = Counter(pod.role for pod in self.live.values()) + self._held_successes
        expected = self.group.memory.expected_of(self.run_name) if self.group is not None else None
        return Present(roles, self.held_succeeded, expected)

    @property
    def gathers(self) -> bool:
        """Whether nothing of it is bound or planned, and its floor was never held whole."""
        if self.scheduled is not None or self.committed or self.all_succeeded:
            return False
        return not self._with_node

    def runs_whole(self, facts: GroupFacts) -> bool:
        """Whether the floor is Running or Succeeded now, of the group and of each role."""
        running = Counter(pod.role for pod in self.live.values() if pod.running)
        if facts.choice is not None:
            return meets(facts, running, bound=False)
        return (
            facts.group is not None
            and running.total() + facts.total.succeeded >= facts.total.minimum
            and all(running[f.role] + f.succeeded >= f.minimum for f in facts.roles)
        )

    def priority(self, classes: Mapping[str, PriorityClassSeen], *, raises: bool) -> int:
        """Return the lowest priority of its live members (without any, of those that succeeded).

        Args:
            classes: PriorityClasses by name.
            raises: the group's class may raise it, not only lower it.
        """
        lowest = min((pod.priority for pod in self.live.values()), default=self.done.priority or 0)
        name = self.group.priority_class if self.group else ""
        if name not in classes:
            return lowest
        value = classes[name].value
        return value if raises else min(lowest, value)

    def _queue_time(self, floors: tuple[Floor, ...]) -> float:
        """Creation time of the k-th oldest live member, k = floor − succeeded (semantics §2.7)."""
        if self.queue_time is not None:
            return self.queue_time
        created = sorted(pod.created for pod in self.live.values())
        if not created:
            return self.group.created if self.group else 0.0
        total = floors[0]
        k = max(1, total.minimum - total.succeeded)
        complete = self.group is not None and all(floor.quorum for floor in floors)
        if k <= len(created) and complete:
            self.queue_time = created[k - 1]
        return created[min(k, len(created)) - 1]

    def _problem(
        self, pending: list[Pod], classes: Mapping[str, PriorityClassSeen], ours: Container[str]
    ) -> str:
        group = self.group
        if group is not None:
            if group.problem:
                return group.problem
            if group.priority_class and group.priority_class not in classes:
                return (
                    f'spec.priorityClassName: PriorityClass "{group.priority_class}" not found; '
                    "create it or name another"
                )
        for pod in pending:
            if pod.problem:
                return f"pod {pod.key}: {pod.problem}"
        if len(pending) > 1 and (costly := beyond_effort(pending)):
            return costly
        profiles = {pod.scheduler for pod in self.live.values() if pod.scheduler in ours}
        if len(profiles) > 1:
            named = ", ".join(sorted(profiles))
            return f"members name different schedulerNames of enbloc: {named}; use one"
        return ""


def _able(pending: list[Pod], coming: Sequence[Floor]) -> list[Pod]:
    """Drop members of incomplete new roles, unless no other member is pending."""
    short = {floor.role for floor in coming if not floor.quorum}
    return [pod for pod in pending if pod.role not in short] or pending


def _gates(gated: list[Pod]) -> tuple[str, ...]:
    """Return the names of the scheduling gates of these pods, each once, oldest pod first."""
    oldest = sorted(gated, key=lambda pod: pod.seniority)
    return tuple(dict.fromkeys(gate for pod in oldest for gate in pod.gates))
