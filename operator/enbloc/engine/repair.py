# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Repair: what to do with a gang that is bound only in part (gangs.md §4).

A gang::

    whole, or not begun ──a member is lost, a burst was cut──► in part ──deficit placed──► whole
                                                                │   ▲
                     deadline, or an earlier gang needs it,     │   │ a budget forbids it
                     and it may be evicted                      ▼   │
                                                            giving back ──pods gone──► not begun

Who may be evicted: before it has started a gang with ``Repair`` or ``Restart``; after that only
one with ``Restart`` whose missing members exist; never one with a bound member that nobody would
create again. One gang at a time gives its room back, and the others are planned again before the
next one does.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.engine.members import Members
from enbloc.engine.shadows import Order, order_of
from enbloc.framework.facts import GroupFacts, Lacking
from enbloc.model.groups import GroupKey, OnIncomplete
from enbloc.model.pods import Pod, PodUID

#: How many pairs of gangs are compared at most when one of them failed anew.
_MOST_PAIRS: Final = 64
_MOST_STUCK: Final = 8


@dataclass(frozen=True, slots=True)
class Gang:
    """One gang that is bound in part, as it is now."""

    members: Members
    facts: GroupFacts

    @property
    def order(self) -> Order:
        """Its place in the order; the smaller is served first."""
        return order_of(self.facts)

    @property
    def bare(self) -> bool:
        """A bound member has no controller, and so would never come back."""
        return any(pod.owner is None for pod in self.members.bound)

    @property
    def may_be_evicted(self) -> bool:
        """Whether its room may be taken back (gangs.md §4.3, §4.5)."""
        group = self.facts.group
        if group is None or group.on_incomplete is OnIncomplete.KEEP:
            return False
        if self.bare or not self.members.bound:
            return False
        if not self.facts.started:
            return True
        return group.on_incomplete is OnIncomplete.RESTART and self.facts.quorum


@dataclass(slots=True)
class _Repair:
    """A gang bound in part.

    Attributes:
        since: when that was seen.
        bound: some member is bound, and so holds room; else what it holds are successes.
        deadline: when it gives its room back, engine clock, if it may be evicted.
        able: it may be evicted.
        failed: this process tried to plan the deficit since then, and could not.
        fresh: it failed, and was not compared with the others since.
        not_before: when a disruption budget may be asked again.
        stuck_with: the gang whose room would complete this one, while neither may be evicted.
        evicted: it was told before to give its room back.
    """

    since: float
    bound: bool = True
    deadline: float = math.inf
    able: bool = False
    failed: bool = False
    fresh: bool = False
    not_before: float = -math.inf
    stuck_with: GroupKey | None = None
    evicted: bool = False

    def may_yield(self, now: float) -> bool:
        """It may be evicted, and no disruption budget is known to forbid that now."""
        return self.able and self.not_before <= now


@dataclass(slots=True)
class _Eviction:
    """A member that is made to leave.

    Attributes:
        until: when it is waited for no more: its node may be gone.
        leaving: it terminates.
    """

    group: GroupKey
    until: float
    leaving: bool = False


class Repairs:
    """The gangs that are bound in part, and the members that are being evicted.

    Attributes:
        news: gangs of which people should be told something else now.

    Args:
        default_timeout: seconds until a deadline, for groups that do not say.
    """

    def __init__(self, default_timeout: float) -> None:
        self._default_timeout = default_timeout
        self._open: dict[GroupKey, _Repair] = {}
        self._evictions: dict[PodUID, _Eviction] = {}
        self.news: list[GroupKey] = []

    def __iter__(self) -> Iterator[GroupKey]:
        return iter(self._open)

    def __len__(self) -> int:
        """How many of them have bound members."""
        return sum(repair.bound for repair in self._open.values())

    def __contains__(self, key: GroupKey) -> bool:
        return key in self._open

    # ── what is ──────────────────────────────────────────────────────────────────────────────

    def look(self, members: Members, facts: GroupFacts, now: float) -> bool:
        """Note whether a group is bound in part; True when it has just become so."""
        if members.solo or not facts.held_in_part:
            self._open.pop(members.key, None)
            return False
        repair = self._open.get(members.key)
        begun = repair is None
        if repair is None:
            repair = self._open[members.key] = _Repair(now)
        repair.bound = facts.total.bound > 0
        repair.deadline = self._deadline(members, facts, repair.since)
        repair.able = Gang(members, facts).may_be_evicted
        return begun

    def forget(self, key: GroupKey) -> None:
        """The group is gone."""
        self._open.pop(key, None)

    def timeout(self, facts: GroupFacts) -> float:
        """Seconds that bound every wait of this group which holds room."""
        own = facts.group.timeout if facts.group else 0
        return float(own or self._default_timeout)

    def _deadline(self, members: Members, facts: GroupFacts, since: float) -> float:
        """When its room may be taken back (gangs.md §4.2), in server time: a restart moves none."""
        if facts.started:
            times = [min((pod.created for pod in _needed(facts)), default=since)]
        else:
            times = [_scheduled(pod) for pod in members.bound]
        return max(times, default=since) + self.timeout(facts)

    def deadline_of(self, key: GroupKey) -> float:
        """Until when the room of its lost members is held; now or earlier = it is not."""
        repair = self._open.get(key)
        return repair.deadline if repair else -math.inf

    def failed(self, key: GroupKey) -> None:
        """The deficit of this group could not be placed, or its members do not exist."""
        repair = self._open.get(key)
        if repair is not None and not repair.failed:
            repair.failed = repair.fresh = True

    def planned(self, key: GroupKey) -> None:
        """A plan of this group's deficit is open."""
        repair = self._open.get(key)
        if repair is not None:
            repair.failed = repair.fresh = False

    # ── who gives way ────────────────────────────────────────────────────────────────────────

    def choose(
        self,
        now: float,
        gang_of: Callable[[GroupKey], Gang | None],
        undecided: Callable[[GroupKey], bool],
        completes: Callable[[Gang, Gang], bool],
    ) -> tuple[Gang, Gang | None] | None:
        """The gang that gives its room back now, and the one that needs it; None = nobody does.

        Args:
            now: the engine's clock.
            gang_of: a gang as it is; None while a plan of its own is open.
            undecided: whether a gang's turn to be planned is yet to come.
            completes: whether the first could be completed with the room of the second.
        """
        if self._evictions:
            return None
        failed = [key for key, repair in self._open.items() if repair.failed and repair.bound]
        if not failed or not (self._any_fresh or self._any_due(now)):
            return None
        if any(undecided(key) for key in self._open):
            return None  # it may need no room of anyone now, or be the one that yields
        gangs = sorted(
            (gang for key in failed if (gang := gang_of(key)) is not None),
            key=lambda gang: gang.order,
        )
        able = [gang for gang in gangs if self._open[gang.facts.key].may_yield(now)]
        if self._any_fresh:
            for key in failed:
                self._open[key].fresh = False
            for waiting, yielding in _pairs(gangs, able):
                if completes(waiting, yielding):
                    return yielding, waiting
            self._find_stuck(gangs, completes)
        due = [gang for gang in able if self._open[gang.facts.key].deadline <= now]
        return (due[-1], None) if due else None

    def _find_stuck(self, gangs: Sequence[Gang], completes: Callable[[Gang, Gang], bool]) -> None:
        """Note which gangs wait for each other's room though neither may be evicted."""
        fixed = [gang for gang in gangs if not self._open[gang.facts.key].able]
        for waiting in fixed[:_MOST_STUCK]:
            found = next(
                (
                    other.facts.key
                    for other in fixed[:_MOST_STUCK]
                    if other is not waiting and completes(waiting, other)
                ),
                None,
            )
            repair = self._open[waiting.facts.key]
            if found != repair.stuck_with:
                repair.stuck_with = found
                self.news.append(waiting.facts.key)

    @property
    def _any_fresh(self) -> bool:
        return len(self._open) > 1 and any(repair.fresh for repair in self._open.values())

    def _any_due(self, now: float) -> bool:
        return any(
            repair.failed and repair.deadline <= now and repair.may_yield(now)
            for repair in self._open.values()
        )

    def evict(self, gang: Gang, now: float) -> tuple[Sequence[Pod], bool]:
        """Begin to take a gang's room back; the members to evict, and whether that is news."""
        repair = self._open[gang.facts.key]
        again, repair.evicted = repair.evicted, True
        until = now + self.timeout(gang.facts)
        pods = sorted(gang.members.bound, key=lambda pod: pod.seniority)
        for pod in pods:
            self._evictions[pod.uid] = _Eviction(gang.facts.key, until)
        return pods, not again

    # ── who is leaving ───────────────────────────────────────────────────────────────────────

    def giving_back(self, key: GroupKey) -> int:
        """How many members of a group are told to leave, and stay yet."""
        return sum(e.group == key and not e.leaving for e in self._evictions.values())

    def leaving(self, uid: PodUID) -> None:
        """A member terminates."""
        eviction = self._evictions.get(uid)
        if eviction is not None:
            eviction.leaving = True

    def gone(self, uid: PodUID) -> bool:
        """A member holds no room any more; True = it was the last of those that were evicted."""
        return self._evictions.pop(uid, None) is not None and not self._evictions

    def refused(self, uid: PodUID, retry_at: float, now: float) -> GroupKey | None:
        """A member was not evicted; its group, if that is news.

        Whoever can never be evicted is asked no sooner than a new deadline would be.
        """
        eviction = self._evictions.pop(uid, None)
        repair = self._open.get(eviction.group) if eviction else None
        if eviction is None:
            return None
        if repair is not None:
            wanted = retry_at if math.isfinite(retry_at) else now + self._default_timeout
            repair.not_before = max(repair.not_before, wanted)
        return eviction.group

    def lapse(self, now: float) -> bool:
        """Stop waiting for members that do not leave; True = nobody else is waited for."""
        late = [uid for uid, eviction in self._evictions.items() if eviction.until <= now]
        for uid in late:
            del self._evictions[uid]
        return bool(late) and not self._evictions

    @property
    def evicting(self) -> bool:
        """Some member was told to leave and holds its room yet."""
        return bool(self._evictions)

    def stuck_with(self, key: GroupKey) -> GroupKey | None:
        """The gang whose room would complete this one, while neither may be evicted."""
        repair = self._open.get(key)
        return repair.stuck_with if repair else None

    def try_again(self) -> Sequence[GroupKey]:
        """Room came back: every gang in part is planned again before anyone else gives way."""
        for repair in self._open.values():
            repair.failed = repair.fresh = False
            repair.stuck_with = None
        return list(self._open)

    def deadline(self) -> float | None:
        """When something is to be done here."""
        if self._evictions:
            return min(eviction.until for eviction in self._evictions.values())
        times = (max(r.deadline, r.not_before) for r in self._open.values() if r.failed and r.able)
        return min(times, default=None)


def _scheduled(pod: Pod) -> float:
    return pod.created if pod.scheduled_at is None else pod.scheduled_at


def _needed(facts: GroupFacts) -> Sequence[Pod]:
    """The pending members that could fill the deficit: those of a role that lacks some."""
    lacking = Lacking(facts.floors)
    return [pod for pod in facts.pending if lacking.wants(pod.role)]


def _pairs(gangs: Sequence[Gang], able: Sequence[Gang]) -> Iterator[tuple[Gang, Gang]]:
    """Who could be helped by whom: of two that may be evicted, only the later gives way."""
    free = {gang.facts.key for gang in able}
    count = 0
    for waiting in gangs:
        for yielding in reversed(able):
            if waiting is yielding:
                continue
            if waiting.facts.key in free and yielding.order < waiting.order:
                continue
            count += 1
            if count > _MOST_PAIRS:
                return
            yield waiting, yielding
