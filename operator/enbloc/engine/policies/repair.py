# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Repair: what to do with a partially bound gang (semantics §4).

A gang::

    whole, or not begun ──a member is lost, a burst was cut──► in part ──deficit placed──► whole
                                                                │   ▲
                     deadline, or another gang needs it,        │   │ a budget forbids it
                     and it may be evicted                      ▼   │
                                                            evicted ──pods gone──► not begun

Who may be evicted: before it has started a gang with ``Repair`` or ``Restart``; after that only
one with ``Restart`` whose missing members exist; never one with a bound member that nobody would
create again. One gang is evicted in a turn, and whoever could use its capacity is planned again
before it is evicted itself; others do not wait.
"""

import math
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, permutations
from typing import Final, NamedTuple, Protocol

from enbloc.engine.effects import EventType
from enbloc.engine.eviction import Eviction, Victims
from enbloc.engine.policies.pauses import Pause, Pauses
from enbloc.engine.policies.policy import Policy
from enbloc.engine.queue import Place, SchedulingQueue
from enbloc.engine.report import PENDING, Explanation, Reporter
from enbloc.engine.state import Groups, Members, Order
from enbloc.engine.turn import Turn
from enbloc.framework.facts import GroupFacts, Lacking
from enbloc.model.groups import GroupKey, OnIncomplete
from enbloc.model.names import EventReason, Reason
from enbloc.model.pods import Pod, PodUID

#: How many pairs of gangs are compared at most when one of them failed anew, one in a turn.
_MOST_PAIRS: Final = 64
_MOST_STUCK: Final = 8

#: Why a gang could not be placed, where the capacity of another one could help.
_LACK_OF_CAPACITY: Final = (Reason.UNSCHEDULABLE, Reason.INFEASIBLE)


@dataclass(frozen=True, slots=True)
class Gang:
    """One partially bound gang, as it is now.

    Attributes:
        ours: its bound members that a profile of ours serves; others are not ours to evict.
    """

    members: Members
    facts: GroupFacts
    ours: Sequence[Pod]

    @property
    def key(self) -> GroupKey:
        """Its name."""
        return self.facts.key

    @property
    def bare(self) -> bool:
        """A bound member has no controller, and so would never come back."""
        return any(pod.owner is None for pod in self.members.bound)

    @property
    def may_be_evicted(self) -> bool:
        """Whether its capacity may be released (semantics §4.3, §4.5)."""
        group = self.facts.group
        if group is None or group.on_incomplete is OnIncomplete.KEEP:
            return False
        if self.bare or not self.ours:
            return False
        if not self.facts.started:
            return True
        return group.on_incomplete is OnIncomplete.RESTART and self.facts.quorum


class Planner(Protocol):
    """What repair asks of the cycle."""

    def planning(self, group: GroupKey) -> bool:
        """A plan of this group is under way."""
        ...

    def stalled(self) -> Collection[str]:
        """The namespaces of which no group is decided until a Binding of theirs is answered."""
        ...

    def completes(self, now: float, waiting: GroupFacts, without: Sequence[Pod]) -> bool:
        """Whether a group could be placed if these pods were gone."""
        ...


@dataclass(slots=True)
class _Open:
    """A partially bound gang.

    Attributes:
        since: when that was seen.
        bound: some member is bound, and so holds capacity; else what it holds are successes.
        ours: a Binding of ours placed a member, rather than the members themselves.
        deadline: when its capacity is released, engine clock, if it may be evicted.
        able: it may be evicted.
        failed: this process tried to plan the deficit since then, and could not.
        why: what kept it from being placed, when that was.
        fresh: it is to be compared with the others, again or for the first time.
        not_before: when a disruption budget may be asked again; -inf = now.
        stuck_with: the gang whose capacity would complete this one, while neither may be evicted.
        evicted: it was evicted before.
        counted: that its deadline has come is remembered for the next time.
        leaving: members of others that were to leave when it was last compared with them.
        waits: it can be completed with their capacity, and so waits for it.
    """

    since: float
    bound: bool = True
    ours: bool = False
    deadline: float = math.inf
    able: bool = False
    failed: bool = False
    why: Explanation = PENDING
    fresh: bool = False
    not_before: float = -math.inf
    stuck_with: GroupKey | None = None
    evicted: bool = False
    counted: bool = False
    leaving: frozenset[PodUID] = frozenset()
    waits: bool = False

    @property
    def lacks_capacity(self) -> bool:
        """Others could complete it with theirs, for all that is known."""
        return self.failed and self.why.reason in _LACK_OF_CAPACITY

    def may_yield(self, now: float) -> bool:
        """It may be evicted, and no disruption budget is known to forbid that now."""
        return self.able and self.not_before <= now


class _Pair(NamedTuple):
    """Two gangs that are to be compared: could the one be completed if the other were gone?

    Attributes:
        evicts: then the other is evicted; else neither may be, and it is only said.
    """

    waiting: GroupKey
    yielding: GroupKey
    evicts: bool


class Repair(Policy):
    """The partially bound gangs.

    Args:
        groups: the members of every group.
        order: who is before whom.
        queue: whose turn is yet to come.
        victims: who is evicted.
        reporter: writes events.
        planner: whether a gang could be completed.
        default_timeout: seconds until a deadline, for groups that do not say.
    """

    def __init__(
        self,
        groups: Groups,
        order: Order,
        queue: SchedulingQueue,
        victims: Victims,
        reporter: Reporter,
        planner: Planner,
        default_timeout: float,
    ) -> None:
        self._groups, self._order, self._queue = groups, order, queue
        self._victims, self._reporter, self._planner = victims, reporter, planner
        self._default_timeout = default_timeout
        #: The gangs that are partially bound, and no others.
        self._open: dict[GroupKey, _Open] = {}
        self._pauses = Pauses()
        #: Pairs that are still to be compared, a few in a turn; some may have ended meanwhile.
        self._pairs: deque[_Pair] = deque()

    def __len__(self) -> int:
        """How many partially bound gangs have bound members."""
        return sum(repair.bound for repair in self._open.values())

    def __contains__(self, key: GroupKey) -> bool:
        return key in self._open

    # ── what is ──────────────────────────────────────────────────────────────────────────────

    def review(self, turn: Turn, members: Members, facts: GroupFacts) -> None:
        """Notice when a gang without an open plan is partially bound, and when whole again."""
        key = members.key
        if members.solo or self._planner.planning(key):
            return
        if key in self._pauses and members.runs_whole(facts):
            self._pauses.end(key)
        before = self._open.get(key)
        held, minimum = facts.total.held, facts.total.minimum
        if not facts.held_in_part or facts.superseded:
            self._close(turn, key)
            if before is not None and held and not facts.deficit:
                note = f"All {minimum} required members are scheduled again"
                kind, reason = EventType.NORMAL, EventReason.GANG_REPAIRED
                self._reporter.group_event(turn, facts, kind, reason, note)
            return
        repair = before or _Open(turn.now)
        self._open[key] = repair
        repair.bound, repair.ours = facts.total.bound > 0, facts.bound_by_us
        repair.deadline = self._deadline(members, facts, repair.since)
        able = self._of(members, facts).may_be_evicted
        if able != repair.able:
            repair.able, repair.fresh, repair.stuck_with = able, True, None
        if before is None and facts.started:
            note = f"{held} of {minimum} members are left"
            kind, reason = EventType.WARNING, EventReason.GANG_BELOW_MINIMUM
            self._reporter.group_event(turn, facts, kind, reason, note)

    def timeout(self, facts: GroupFacts) -> float:
        """Seconds that bound every wait of this group which holds capacity."""
        own = facts.group.timeout if facts.group else 0
        return float(own or self._default_timeout)

    def _deadline(self, members: Members, facts: GroupFacts, since: float) -> float:
        """When it may be evicted, in server time: a restart changes nothing (semantics §4.2)."""
        if facts.started:
            times = [min((pod.created for pod in _needed(facts)), default=since)]
        else:
            times = [pod.bound_at for pod in members.bound]
        return max(times, default=since) + self.timeout(facts)

    def deadline_of(self, key: GroupKey) -> float:
        """Until when the capacity of its lost members is held; now or earlier = it is not."""
        repair = self._open.get(key)
        return repair.deadline if repair else -math.inf

    def releasing(self, key: GroupKey) -> int:
        """How many members of a group are to be evicted, and do not terminate yet."""
        return self._victims.staying(key)

    def failed(self, group: GroupKey, why: Explanation) -> None:
        """The deficit of this group could not be placed, or its members do not exist.

        Each time that it lacked capacity it is compared with the others: what it lacks may be
        another's now, or its members did not exist before.
        """
        repair = self._open.get(group)
        if repair is None:
            return
        first, repair.failed, repair.why = not repair.failed, True, why
        repair.fresh |= first or repair.lacks_capacity
        if not repair.lacks_capacity:
            repair.stuck_with = None

    def planned(self, turn: Turn, members: Members, facts: GroupFacts) -> None:
        """A plan of this group's deficit is open."""
        del turn, facts
        repair = self._open.get(members.key)
        if repair is not None:
            repair.failed = repair.fresh = False
            repair.stuck_with = None

    def pause(self, facts: GroupFacts, now: float) -> Pause | None:
        """The pause of a group that released its capacity for the same cause again."""
        return self._pauses.of(facts, now)

    def remark(self, members: Members, facts: GroupFacts) -> str:
        """What people should know of such a gang beyond why it waits; "" = nothing."""
        repair = self._open.get(facts.key)
        if repair is None or facts.group is None or not facts.total.bound:
            return ""
        if repair.stuck_with is not None:
            return (
                f"PodGroup {repair.stuck_with} holds capacity it needs, and neither may be evicted"
            )
        if facts.group.on_incomplete is OnIncomplete.KEEP:
            return "onIncomplete is Keep: its bound members are not evicted"
        restarts = facts.group.on_incomplete is OnIncomplete.RESTART
        if self._of(members, facts).bare and (restarts or not facts.started):
            return "its members are not evicted: one has no controller that would recreate it"
        return ""

    def forget(self, turn: Turn, members: Members) -> None:
        """The group is gone."""
        self._close(turn, members.key)
        if members.group is None:
            self._pauses.end(members.key)

    def _close(self, turn: Turn, key: GroupKey) -> None:
        """A gang is whole, or holds nothing any more: nobody waits for its capacity."""
        if self._open.pop(key, None) is not None:
            for other, repair in self._open.items():
                if repair.stuck_with == key:
                    self._note_stuck(turn, other, None)

    # ── who gives way ────────────────────────────────────────────────────────────────────────

    def choose(self, turn: Turn) -> None:
        """Let one partially bound gang release its capacity, where semantics §4 says so."""
        chosen = self._chosen(turn)
        if chosen is None:
            return
        gang, waiting = chosen
        facts, repair = gang.facts, self._open[gang.key]
        why = f"{facts.total.held} of {facts.total.minimum} members were placed, and " + (
            f"PodGroup {waiting.key} can be completed with their capacity"
            if waiting is not None
            else "the others could not be placed in time"
        )
        self._victims.choose(
            Eviction(
                group=gang.key,
                pods=sorted(gang.ours, key=lambda pod: pod.seniority),
                reason=Reason.BELOW_MINIMUM,
                message=why,
                beneficiary=waiting.key if waiting else None,
                until=turn.now + self._patience(facts, waiting),
            )
        )
        if not repair.evicted:
            note = f"evicting its members to release capacity: {why}"
            kind, reason = EventType.WARNING, EventReason.GANG_TIMED_OUT
            self._reporter.group_event(turn, facts, kind, reason, note)
        repair.evicted = True
        if waiting is None:
            self._pause(turn, gang)
        turn.change(gang.key)

    def _pause(self, turn: Turn, gang: Gang) -> None:
        """The deadline of a gang has come: remember it, and let it wait if it has before."""
        repair = self._open[gang.key]
        if not repair.counted:  # a budget may delay the eviction
            specs = frozenset(pod.spec for pod in gang.members.pods.values() if pod.live)
            self._pauses.release(gang.facts, specs, repair.why, turn.now)
            repair.counted = True
        self._pauses.begin(gang.key, self.timeout(gang.facts), turn.now)

    def _patience(self, facts: GroupFacts, waiting: Gang | None) -> float:
        """Seconds for which evicted members are waited for: no one group makes others wait long."""
        waits = (self.timeout(waiting.facts),) if waiting is not None else ()
        return min(self.timeout(facts), self._default_timeout, *waits)

    def _chosen(self, turn: Turn) -> tuple[Gang, Gang | None] | None:
        """The gang that gives way now, and the one that needs its capacity; None = nobody does.

        Two gangs are compared in a turn, which costs what a decision does; who is left comes in
        the next ones, and nobody's deadline counts before all were compared.
        """
        if not self._open:
            return None
        if not (self._pairs or self._any_fresh or self._any_due(turn.now)):
            return None
        leaving = self._victims.leaving()
        if self._any_undecided:
            return None  # it may need no capacity of anyone now, or be the one that yields
        if self._any_fresh and not self._pairs:
            self._pairs += self._to_compare(turn)
        if self._pairs:
            found = self._compare(turn, self._pairs.popleft(), leaving)
            if found is not None or self._pairs:
                return found
        able = self._failed(turn.now, able=True)
        due = [key for key in able if self._open[key].deadline <= turn.now]
        due = [key for key in due if not self._known_to_wait(key, leaving)]
        gang = self._gang(due[-1]) if due else None
        if gang is None or self._waits(turn.now, gang, leaving):
            return None
        return gang, None

    def _known_to_wait(self, key: GroupKey, leaving: Sequence[Pod]) -> bool:
        """Whether it is known that a gang can be completed with the capacity of who terminates."""
        repair = self._open[key]
        return repair.waits and repair.leaving == frozenset(pod.uid for pod in leaving)

    def _waits(self, now: float, gang: Gang, leaving: Sequence[Pod]) -> bool:
        """As `_known_to_wait`; who terminates may do so for ever, and holds up nobody else."""
        repair, uids = self._open[gang.key], frozenset(pod.uid for pod in leaving)
        if repair.leaving != uids:
            repair.leaving = uids
            repair.waits = (
                repair.lacks_capacity and bool(uids) and self._completes(now, gang.facts, leaving)
            )
        return repair.waits

    def _completes(self, now: float, facts: GroupFacts, without: Sequence[Pod]) -> bool:
        if not facts.quorum or facts.problem:
            return False
        return self._planner.completes(now, facts, without)

    def _failed(self, now: float, *, able: bool = False) -> list[GroupKey]:
        """The gangs that cannot be completed now, in order; `able` = that may be evicted now."""
        return self._order.first_to_last(
            key
            for key, repair in self._open.items()
            if repair.failed
            and repair.bound
            and (repair.may_yield(now) or not able)
            and not self._busy(key)
        )

    def _busy(self, key: GroupKey) -> bool:
        """It is being placed, or evicted."""
        return self._planner.planning(key) or self._victims.of(key) is not None

    @property
    def _any_undecided(self) -> bool:
        """Whether one is about to be tried, and so may need nobody to give way."""
        stalled = self._planner.stalled()
        items = (self._queue.get(key) for key in self._open if key.namespace not in stalled)
        return any(item is not None and item.place is Place.ACTIVE for item in items)

    def _gang(self, key: GroupKey) -> Gang | None:
        """A partially bound gang, unless it is being placed or evicted."""
        members = self._groups.get(key)
        if members is None or self._busy(key):
            return None
        return self._of(members, self._groups.facts(members))

    def _of(self, members: Members, facts: GroupFacts) -> Gang:
        ours = [pod for pod in members.bound if self._groups.ours(pod)]
        return Gang(members, facts, ours)

    def _to_compare(self, turn: Turn) -> list[_Pair]:
        """Who could be helped by whom, and then who only waits for whom.

        Pairs of which neither is fresh were compared before.
        """
        failed = self._failed(turn.now)
        fresh = {key for key in failed if self._open[key].fresh}
        for repair in self._open.values():
            repair.fresh = False
        helping = (pair for pair in self._helping(turn.now, failed) if not fresh.isdisjoint(pair))
        fixed = [key for key in failed if not self._open[key].able][:_MOST_STUCK]
        if len(fixed) == 1:
            self._note_stuck(turn, fixed[0], None)
        stuck = (
            _Pair(one, two, evicts=False)
            for one, two in permutations(fixed, 2)
            if self._open[one].lacks_capacity and not fresh.isdisjoint(fixed)
        )
        return [*islice(helping, _MOST_PAIRS), *stuck]

    def _helping(self, now: float, failed: Sequence[GroupKey]) -> Iterator[_Pair]:
        """Of two that may be evicted, only the later gives way; now, or when its budget allows.

        And none that is ordered before one of which no Binding of ours placed a member.
        """
        for waiting in failed:
            if not self._open[waiting].lacks_capacity:
                continue
            # Who bound itself goes before nobody; else who may not be evicted would deadlock.
            in_order = self._open[waiting].able or not self._open[waiting].ours
            for yielding in reversed(failed):
                able = self._open[yielding].may_yield(now)
                earlier = in_order and self._order.before(yielding, waiting)
                if able and waiting != yielding and not earlier:
                    yield _Pair(waiting, yielding, evicts=True)

    def _compare(self, turn: Turn, pair: _Pair, leaving: Sequence[Pod]) -> tuple[Gang, Gang] | None:
        """Look whether one gang could be completed with the capacity of another.

        Returns:
            Who gives way to whom; None = nobody does, or neither may be evicted.
        """
        waiting, yielding = (
            self._gang(key) if key in self._open and self._open[key].failed else None
            for key in (pair.waiting, pair.yielding)
        )
        if waiting is None or self._waits(turn.now, waiting, leaving):
            return None
        helps = yielding is not None and self._helps(turn.now, waiting, yielding, pair)
        if pair.evicts:
            return (yielding, waiting) if yielding is not None and helps else None
        others = [each for each in self._pairs if each.waiting == pair.waiting]
        if helps or not others:
            for each in others:
                self._pairs.remove(each)
            self._note_stuck(turn, pair.waiting, pair.yielding if helps else None)
        return None

    def _helps(self, now: float, waiting: Gang, yielding: Gang, pair: _Pair) -> bool:
        if pair.evicts and not self._open[pair.yielding].may_yield(now):
            return False
        return self._completes(now, waiting.facts, yielding.ours)

    def _note_stuck(self, turn: Turn, key: GroupKey, other: GroupKey | None) -> None:
        repair = self._open[key]
        if other != repair.stuck_with:
            repair.stuck_with = other
            turn.change(key)

    @property
    def _any_fresh(self) -> bool:
        fresh = (repair.fresh and repair.failed and repair.bound for repair in self._open.values())
        return len(self._open) > 1 and any(fresh)

    def _any_due(self, now: float) -> bool:
        return any(
            repair.failed
            and repair.bound
            and repair.deadline <= now
            and repair.may_yield(now)
            and self._victims.of(key) is None
            for key, repair in self._open.items()
        )

    # ── what became of it ────────────────────────────────────────────────────────────────────

    def expire(self, turn: Turn) -> None:
        """Take in what was answered to evictions, and plan again once nobody is waited for.

        Whoever can never be evicted is asked no sooner than a new deadline would be.
        """
        for each in self._open.values():
            if -math.inf < each.not_before <= turn.now:
                each.not_before, each.fresh = -math.inf, True
        for group, retry_at in turn.refused:
            repair, members = self._open.get(group), self._groups.get(group)
            if repair is not None and members is not None:
                at = retry_at
                if math.isinf(at):
                    at = turn.now + self.timeout(self._groups.facts(members))
                repair.not_before = max(repair.not_before, at)
        if turn.released and not self._victims:
            self._try_again(turn)

    def _try_again(self, turn: Turn) -> None:
        """Capacity came back: every such gang is planned again before anyone else gives way."""
        self._pairs.clear()
        for key, repair in self._open.items():
            repair.failed = repair.fresh = False
            repair.stuck_with = None
            item = self._queue.get(key)
            if item is not None:
                item.renew()
            turn.change(key)

    def deadline(self) -> float | None:
        """When something is to be done here; who is about to be tried comes first."""
        if not self._open or self._any_undecided:
            return None
        leaving = self._victims.leaving()
        if self._pairs or self._any_fresh:
            return 0.0
        times = (
            repair.not_before if repair.not_before > -math.inf else repair.deadline
            for key, repair in self._open.items()
            if repair.failed
            and repair.able
            and self._victims.of(key) is None
            and not self._known_to_wait(key, leaving)
        )
        return min(times, default=None)


def _needed(facts: GroupFacts) -> Sequence[Pod]:
    """The pending members that could fill the deficit: those of a role that lacks some."""
    lacking = Lacking(facts.floors)
    return [pod for pod in facts.pending if lacking.wants(pod.role)]
