# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Lives: which members of one PodGroup form one gang (semantics §2.4).

Each pod has an identity. Identities that are placed together are one life, and each life is a gang
of its own::

    new identity ──► gathering ──a plan of it is open──► committed ──the floor is held──► closed
                        │   ▲                               │                               │
         the quorum     │   └──nothing of it was bound──────┘      none is live, and a new  │
         alone: a life  ▼                                          identity comes           ▼
         of its own                                                                        over

Gathering members may be arranged again whenever something changes, since nothing of them counts
yet. Others that come to a committed or closed life begin the next one, unless a rule joins them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from enbloc.engine.state.gathering import (
    COMPANION_SECONDS,
    Gathering,
    awaited,
    closed_with,
    goes_on,
    has_quorum,
    joined,
    mixed,
    names,
    note_attempts,
    planned_with,
    queued,
    vacant_in,
)
from enbloc.engine.state.members import MOST_KNOWN, Members, recorded_incarnation, remembered_lives
from enbloc.model.groups import Group, GroupKey, LifeMemory
from enbloc.model.pods import Phase, Pod, PodUID
from enbloc.model.runs import BARE, attempt_of, identity, joins, short

_NOTHING: Final = LifeMemory("")

#: At most this many lives of one PodGroup may be live at once; members of further ones wait.
MOST_LIVES: Final = 8


class Lives:
    """The lives of one PodGroup, the newest last; there is always one.

    Attributes:
        key: of the PodGroup, as pods name it.
        group: the PodGroup; None while it does not exist.
    """

    def __init__(self, key: GroupKey) -> None:
        self.key = key
        self.group: Group | None = None
        self._lives = [Members(key)]  #: The newest is the last; there is always one.
        self._next = 1  #: The number of the next life.
        self._of: dict[PodUID, Members | None] = {}  #: None = its life is over.
        self._identities: dict[PodUID, str] = {}  #: Of each pod in `_of`, once settled.
        self._orphans: dict[str, dict[PodUID, None]] = {}  #: By the pod that controls them.
        self._companions: dict[str, float] = {}  #: Until when they count as companions.
        self._unclaimed: dict[str, dict[PodUID, Pod]] = {}  #: Finished, in no life yet.
        self._settled = False  #: The first lists are complete.

    def __iter__(self) -> Iterator[Members]:
        return iter(self._lives)

    @property
    def newest(self) -> Members:
        """The life that status names."""
        return self._lives[-1]

    @property
    def empty(self) -> bool:
        """Whether nothing is known of this group any more."""
        return self.group is None and not self._of

    def life_of(self, uid: PodUID) -> Members | None:
        """Return the life of a pod; None = it is unknown, or its life is over."""
        return self._of.get(uid)

    # ── changes ──────────────────────────────────────────────────────────────────────────────

    def take_group(self, group: Group | None) -> None:
        """Record an added, changed or deleted PodGroup."""
        self.group = group
        for life in self._lives:
            life.group = group
            if self._settled:
                life.take_group(group)

    def put(self, pod: Pod) -> list[Members]:
        """Add or update a member; return the lives that this changes, its own first."""
        if not self._settled:
            self._of[pod.uid] = self.newest
            self.newest.put(pod)
            return [self.newest]
        if pod.uid in self._of:
            life = self._of[pod.uid]
            if life is None:
                return []
            if life.gathers and self._too_many(pod):
                life.remove(pod.uid)
                self._of[pod.uid] = None
                return [life]
            unsettled = bool(pod.node) and (life.gathers or life.committed)
            life.put(pod)
            self._note_loss(life, pod)
            return self._bound_by_another(life, pod) if unsettled else [life]
        its = self._identify(pod)
        changed = self._take_orphans(pod.uid, its)
        life = self._place(its, pod) if pod.live else self._known(its, pod)
        self._enter(pod, life)
        if life is None:
            return changed
        return [life, *(each for each in changed if each is not life)]

    def remove(self, uid: PodUID) -> Members | None:
        """Remove a deleted member; return its life, None = one that is over."""
        life = self._of.pop(uid, None)
        its = self._identities.pop(uid, "")  # "" = the first lists are not complete yet
        self._unclaimed.get(its, {}).pop(uid, None)
        if life is not None:
            pod = life.pods[uid]
            life.remove(uid)
            if its and pod.phase is not Phase.SUCCEEDED:
                life.lost.add(its)
        orphans = self._orphans.get(its)
        if orphans is not None:
            orphans.pop(uid, None)
            if not orphans:
                del self._orphans[its]
        return life

    def _enter(self, pod: Pod, life: Members | None) -> None:
        self._of[pod.uid] = life
        if life is not None:
            life.put(pod)
            self._note_loss(life, pod)

    def _note_loss(self, life: Members, pod: Pod) -> None:
        if not pod.live and pod.phase is not Phase.SUCCEEDED:
            life.lost.add(self._identities.get(pod.uid, ""))

    # ── assigning members to lives ───────────────────────────────────────────────────────────

    def _identify(self, pod: Pod) -> str:
        """Set the identity of a pod; a member controlled by another member shares that one's.

        One step, and no further: owners can be forged into a circle. A set identity stays.
        """
        its = self._identities[pod.uid] = self._said_by(pod)
        return its

    def _said_by(self, pod: Pod) -> str:
        driver = PodUID(short(pod.owning_pod))
        if pod.restart or not driver:
            return identity(pod)
        if driver in self._identities:
            return self._identities[driver]
        life = self._recorded(pod)
        if life is not None:
            return next(iter(life.identities), driver)
        self._orphans.setdefault(driver, {})[pod.uid] = None
        return driver

    def _take_orphans(self, uid: PodUID, its: str) -> list[Members]:
        """Give the members that a new pod controls its identity."""
        left: list[Members] = []
        for each in self._orphans.pop(uid, ()):
            self._identities[each] = its
            life = self._of.get(each)
            if life is None:
                continue
            left.append(life)
            if life.gathers:
                pod = life.pods[each]
                life.remove(each)
                to = self._place(its, pod) if pod.live else life
                self._enter(pod, to)
                left += [to] if to is not None else []
            else:
                life.identities[its] = None
            life.identities.pop(uid, None)
        return list(dict.fromkeys(left))

    def _recorded(self, pod: Pod) -> Members | None:
        """Return the life that the binding record of a pod names."""
        name = recorded_incarnation(pod)
        return next((life for life in self._lives if life.incarnation == name != ""), None)

    def _known(self, its: str, pod: Pod) -> Members | None:
        """Return the life of a pod that was not seen before it finished or terminated."""
        recorded = self._recorded(pod)
        for life in reversed(self._lives):
            if its in life.identities or life is recorded:
                return life
        if self.newest.incarnation:
            return None
        return self._take_in(self.newest, its, pod)

    def _place(self, its: str, pod: Pod) -> Members | None:
        """Return the life of a new live pod; begin another one if no life may have it.

        None = another scheduler has bound it, and there are too many lives: it only takes capacity.
        """
        for life in reversed(self._lives):
            if its in life.identities and (its != BARE or life.live):
                return life
        if not any(life.live for life in self._lives):
            return self._begin_anew(its, pod)
        if self._is_one(its):
            living = next(life for life in reversed(self._lives) if life.live)
            return self._take_in(living, its, pod)
        if self._too_many(pod):
            return None
        gathering = self.newest if self.newest.gathers else self._further()
        return self._take_in(gathering, its, pod)

    def _too_many(self, pod: Pod) -> bool:
        """Whether a pod bound by another scheduler would be the first of one life too many."""
        if not (pod.live and pod.node):
            return False
        return sum(bool(life.live) for life in self._lives if not life.gathers) >= MOST_LIVES

    def _take_in(self, life: Members, its: str, pod: Pod) -> Members:
        life.incarnation = life.incarnation or self._name(its, pod)
        life.identities[its] = None
        if self._is_one(its):
            for finished in self._unclaimed.pop(its, {}).values():
                self._enter(finished, life)
            if len(life.identities) > life.most_identities:
                self._forget_identities(life)
        return life

    def _forget_identities(self, life: Members) -> None:
        """Forget identities that joined a permanent life once nothing of them is left.

        If more pods of them come, they join again.
        """
        present = {self._identities[uid] for uid in life.pods} | set(islice(life.identities, 1))
        life.identities = {its: None for its in life.identities if its in present}
        life.lost &= present
        life.most_identities = max(MOST_KNOWN, 2 * len(present))

    def _name(self, its: str, pod: Pod) -> str:
        """Return the name of a life that begins with this pod; unique among the known ones."""
        name = short(str(pod.uid)) if its == BARE else its
        taken = {life.incarnation for life in self._lives}
        return name if name not in taken else short(f"{name}+{pod.uid}")

    def _begin_anew(self, its: str, pod: Pod) -> Members:
        """End all lives, and begin a new one."""
        newest = self.newest
        if newest.incarnation:
            self._unclaimed.clear()
            for life in self._lives:
                self._end(life)
                life.begin()
        return self._take_in(newest, its, pod)

    def _end(self, life: Members) -> None:
        """End a life; any remaining members no longer count."""
        for uid in life.pods:
            self._of[uid] = None
        life.identities = {}

    def _new(self, memory: LifeMemory = _NOTHING) -> Members:
        """Create another life, with what is recorded of it."""
        life = Members(self.key._replace(life=self._next))
        self._next += 1
        life.group, life.incarnation = self.group, memory.incarnation
        life.identities, life.scheduled = dict.fromkeys(memory.identities), memory.scheduled
        life.queue_time = memory.queue_time
        return life

    def _further(self) -> Members:
        self._lives.append(life := self._new())
        return life

    def drop(self, members: Members) -> None:
        """Forget a life that is not the only one."""
        self._end(members)
        self._lives.remove(members)

    def spare(self, members: Members) -> bool:
        """Whether a life may be forgotten: another one is newer, and nothing in it counts.

        A life that held its floor is remembered while there are few, since its controller may still
        create another pod of it.
        """
        if members.live or len(self._lives) == 1:
            return False
        if members.scheduled is None:
            return True
        first = next((life for life in self._lives[:-1] if not life.live), None)
        return len(self._lives) > MOST_LIVES and members is first

    # ── arranging gathering members ──────────────────────────────────────────────────────────

    @property
    def deadline(self) -> float | None:
        """When an identity is to be taken as a companion of an existing life; None = none is."""
        return min(self._companions.values(), default=None)

    def commit(self, members: Members, planned: Iterable[PodUID]) -> list[Members]:
        """Commit a life to an open plan: members outside it gather elsewhere.

        Returns:
            The lives that gained or lost members.
        """
        members.committed = True
        if members.scheduled is not None:
            return []
        members.planned_here = True
        others = (life for life in self._lives if life is not members and life.gathers)
        members.companions = {its for life in others for its in life.identities}
        if len(members.identities) <= 1:
            return []
        held = (uid for uid, pod in members.pods.items() if pod.node)
        return self._keep_only(members, {self._identities[uid] for uid in (*planned, *held)})

    def _bound_by_another(self, members: Members, pod: Pod) -> list[Members]:
        """Record that a gathering or planned member was bound by a former leader, or by others.

        It belongs to the life in its binding record; otherwise members that were not planned with
        it leave. Planned members stay; those that the former leader planned with it join them.

        Returns:
            The lives that this changes, its own first.
        """
        life = self._recorded(pod)
        if members.committed:
            if life is None or life is members:  # no member joins it
                return [members]
            them = self._gathering([life])
            joining = [(each, members) for each in them if joined(members, each, self.group)]
            return list(dict.fromkeys([members, *self._move(joining)]))
        if life is not None and life is not members and life.live:
            self._move([(Gathering(self._identities[pod.uid], members, [pod]), life)])
            return [life, members]
        if len(members.identities) <= 1:
            return [members]
        bound = {self._identities[uid] for uid, pod in members.pods.items() if pod.node}
        stay = set(bound)
        found = self._gathering([members])
        known = [pod for each in found if each.identity in bound for pod in each.pods]
        if not has_quorum(Gathering("", members, known), self.group):
            stay |= {
                each.identity
                for each in found
                if not has_quorum(each, self.group)
                and queued(members, min(each.pods, key=lambda pod: pod.seniority))
            }
        return list(dict.fromkeys([members, *self._keep_only(members, stay)]))

    def _keep_only(self, members: Members, identities: set[str]) -> list[Members]:
        """Move members of other identities to a gathering life; return the changed lives."""
        leaving = [
            each
            for each in self._gathering([members])
            if each.identity not in identities and not self._is_one(each.identity)
        ]
        if not leaving:
            return []
        gathering = self.newest if self.newest.gathers else self._further()
        members.companions |= {each.identity for each in leaving}
        return self._move((each, gathering) for each in leaving)

    def arrange(self, now: float) -> list[Members]:
        """Put identities without a bound or planned member where the rules now place them.

        Args:
            now: the engine's clock.

        Returns:
            The lives that gained or lost members.
        """
        if len(self._lives) == 1 and len(self.newest.identities) <= 1:
            return note_attempts(self._lives)
        self._companions.clear()
        lives = [life for life in self._lives if life.gathers]
        moves: list[tuple[Gathering, Members]] = []
        alone: list[Gathering] = []
        rest: list[Gathering] = []
        vacant, them = vacant_in(self._lives, self._identities), self._gathering(lives)
        waiting = {each.identity for each in them}
        for life in self._lives:
            life.companions &= waiting
        for each in them:
            host = self._host(each, vacant, now)
            if host is not None:
                host.identities[each.identity] = None
                moves.append((each, host))
            elif has_quorum(each, self.group) and not self._is_one(each.identity):
                alone.append(each)
            else:
                rest.append(each)
        sets = sorted([*([each] for each in alone), *mixed(rest)], key=lambda each: each[0].since)
        own = self._by_themselves(sets, lives)
        gathering = dict.fromkeys(life for _, life in own)
        self._lives = [*(life for life in self._lives if life not in gathering), *gathering]
        moves += own
        changed = self._move(moves)
        return list(dict.fromkeys((*changed, *note_attempts(self._lives))))

    def _gathering(self, lives: Sequence[Members]) -> list[Gathering]:
        """Return the identities of these lives that have live members, the oldest first."""
        found: dict[tuple[Members, str], list[Pod]] = {}
        for life in lives:
            for pod in life.live.values():
                found.setdefault((life, self._identities[pod.uid]), []).append(pod)
        gathering = (Gathering(its, life, pods) for (life, its), pods in found.items())
        return sorted(gathering, key=lambda each: each.since)

    def _host(
        self, each: Gathering, vacant: list[tuple[Members, str]], now: float
    ) -> Members | None:
        """Return the life that an identity joins; None = it still waits for a floor of its own."""
        if self._is_one(each.identity):
            begun = (life for life in reversed(self._lives) if not life.gathers)
            return next((life for life in begun if life.live), None)
        if attempt_of(each.identity) is not None or has_quorum(each, self.group):
            return None
        living = closed_with(self._lives, each)
        if not vacant and living is None:
            return None
        if now < each.latest + COMPANION_SECONDS:  # more may come: it may be another run
            self._companions[each.identity] = each.latest + COMPANION_SECONDS
            return None
        if not vacant:
            return living
        life, its = vacant.pop(0)
        life.lost.discard(its)
        life.identities.pop(its)
        return life

    def _is_one(self, its: str) -> bool:
        """Whether the PodGroup belongs to the creator of all its members, in a single life."""
        return self.group is not None and joins(its, self.group.owner)

    def _by_themselves(
        self, sets: Sequence[Sequence[Gathering]], lives: Sequence[Members]
    ) -> list[tuple[Gathering, Members]]:
        """Return a life for each set of identities, so that as few pods as possible move.

        Beyond MOST_LIVES, those that came last wait together.
        """
        taken = sum(bool(life.live) for life in self._lives if life not in lives)
        own = max(0, MOST_LIVES - taken)
        several = [list(each) for each in sets[:own]]
        if sets[own:]:
            several.append([each for every in sets[own:] for each in every])
        free = dict.fromkeys(lives)
        found: list[tuple[Gathering, Members]] = []
        for number, together in enumerate(several):
            named = [each.life for each in together if names(each) and each.life in free]
            life = next(iter(named or [each.life for each in together if each.life in free]), None)
            if life is None:
                life = self._further()
            free.pop(life, None)
            life.crowded = number >= own
            if not named:
                life.incarnation = ""
                life.incarnation = self._name(together[0].identity, together[0].pods[0])
            life.identities = {each.identity: None for each in together}
            found += [(each, life) for each in together]
        return found

    def _move(self, moves: Iterable[tuple[Gathering, Members]]) -> list[Members]:
        """Move identities of which nothing counts yet to other lives, with finished members.

        Returns:
            The lives that gained or lost members.
        """
        goals = {(each.life, each.identity): to for each, to in moves if to is not each.life}
        sources = dict.fromkeys(life for life, _ in goals)
        moving = [
            (pod, life, to)
            for life in sources
            for pod in life.pods.values()
            if (to := goals.get((life, self._identities[pod.uid]))) is not None
        ]
        for pod, life, to in moving:
            life.remove(pod.uid)
            self._enter(pod, self._take_in(to, self._identities[pod.uid], pod))
        for life in sources:
            here = {self._identities[uid] for uid in life.pods}
            for its in [its for its in life.identities if (life, its) in goals and its not in here]:
                del life.identities[its]
        return list(
            dict.fromkeys(life for (source, _), to in goals.items() for life in (source, to))
        )

    # ── after a restart ──────────────────────────────────────────────────────────────────────

    def settle(self) -> None:
        """Assign the members found at the start to lives, once the first lists are complete.

        A life is known by its name in status or in a binding record, and by the identities in
        status. Lives without a live member are over; if none has one, the newest continues.
        """
        if self._settled:
            return
        self._settled = True
        first = self.newest
        pods = sorted(first.pods.values(), key=lambda pod: pod.seniority)
        first.begin()
        self._of.clear()
        memories = {memory.incarnation: memory for memory in remembered_lives(self.group)}
        named = {name: self._new(memory) for name, memory in memories.items()}
        self._lives = list(named.values())
        for pod in sorted(pods, key=lambda pod: (bool(pod.owning_pod), pod.seniority)):
            self._identify(pod)
        strangers = self._settle_named(pods, named)
        self._keep_the_living(strangers, len(memories))
        for pod in (pod for pod in strangers if pod.live):
            self._enter(pod, self._place(self._identities[pod.uid], pod))
        for pod in reversed([pod for pod in strangers if not pod.live]):
            its = self._identities[pod.uid]
            life = self._known(its, pod)
            self._enter(pod, life)
            if life is None and not memories:
                self._unclaimed.setdefault(its, {})[pod.uid] = pod
        for number, life in enumerate(self._lives):
            life.key, life.group = self.key._replace(life=number), self.group
            present = {self._identities[uid] for uid in life.pods}
            life.lost |= life.identities.keys() - present
            life.settle(memories.get(life.incarnation))
        self._next = len(self._lives)
        note_attempts(self._lives)

    def _settle_named(self, pods: Sequence[Pod], named: dict[str, Members]) -> list[Pod]:
        """Find the members of lives that have a name; return the others, the oldest first."""
        left: list[Pod] = []
        remembered = tuple(reversed(self._lives))
        for pod in pods:
            counts = pod.live or pod.phase is Phase.SUCCEEDED
            name = recorded_incarnation(pod) if counts else ""
            if name and name not in named and len(named) < 2 * MOST_LIVES:  # they can be forged
                named[name] = self._new(LifeMemory(name))
                self._lives.append(named[name])
            if name in named:
                named[name].identities[self._identities[pod.uid]] = None
                self._enter(pod, named[name])
            else:
                left.append(pod)
        bare = [pod for pod in left if pod.live and self._identities[pod.uid] == BARE]
        strangers: list[Pod] = []
        for pod in left:
            its = self._identities[pod.uid]
            known = (each for each in (*remembered, *self._lives) if its in each.identities)
            life = next((each for each in known if its != BARE or goes_on(each, bare)), None)
            if life is None:
                strangers.append(pod)
            else:
                self._enter(pod, life)
        return self._without_companions(strangers)

    def _without_companions(self, strangers: Sequence[Pod]) -> list[Pod]:
        """Return the pods without those that existed when members of a life were bound.

        These belong to it if it has no live member left; or if its floor was not held yet and
        they have no quorum of their own: they were planned with it.
        """
        if not self._lives:
            return list(strangers)
        gathered: dict[str, list[Pod]] = {}
        for pod in strangers:
            if pod.live:
                gathered.setdefault(self._identities[pod.uid], []).append(pod)
        them = (Gathering(its, self.newest, pods) for its, pods in gathered.items())
        hosts = {each.identity: planned_with(self._lives, each, self.group) for each in them}
        left: list[Pod] = []
        for pod in strangers:
            its = self._identities[pod.uid]
            life = hosts.get(its)
            if life is None:
                left.append(pod)
            else:
                life.identities[its] = None
                self._enter(pod, life)
        return left

    def _keep_the_living(self, strangers: Sequence[Pod], remembered: int) -> None:
        """Forget lives without a live member; the newest of them in status may stay."""
        them = self._gathering(self._lives)
        living = [life for life in self._lives if awaited(life, them, self.group) or life.live]
        if not living and not any(pod.live for pod in strangers):
            living = (self._lives[:remembered] or self._lives)[-1:]
        for life in self._lives:
            if life not in living:
                self._end(life)
        self._lives = living or [self._new()]
