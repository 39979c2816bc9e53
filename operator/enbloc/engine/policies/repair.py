# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Repair: what to do with a partially bound gang (semantics §4).

A gang::

    whole, or not begun ──a member is lost, a burst was cut──► in part ──deficit placed──► whole
                                                                │   ▲
                     deadline, or another gang needs it,        │   │ a budget forbids it
                     and it may be evicted                      ▼   │
                                                            evicted ──pods gone──► not begun

Eviction: before it has started, a gang with ``Repair`` or ``Restart`` may be evicted; after that
only one with ``Restart`` whose missing members exist; never one with a bound member that no
controller would recreate. One gang is evicted per turn. A gang that could use its capacity is
planned again before it is evicted itself; other groups do not wait.
"""

import math
from collections import deque
from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, permutations
from typing import Final, NamedTuple, Protocol

from enbloc.engine.effects import EventType
from enbloc.engine.eviction import Eviction, Victims
from enbloc.engine.policies.pauses import Pause, Pauses
from enbloc.engine.policies.policy import Policy
from enbloc.engine.queue import QueuePlace, SchedulingQueue
from enbloc.engine.report import PENDING, ReasonAndMessage, Reporter
from enbloc.engine.state import Groups, Order, Run
from enbloc.engine.turn import Turn
from enbloc.framework.facts import GroupFacts, Lacking
from enbloc.model.groups import GroupKey, OnIncomplete
from enbloc.model.names import EventReason, Reason
from enbloc.model.pods import Pod, PodUID

#: At most this many pairs of gangs are compared after one failed anew, one pair per turn.
_MOST_PAIRS: Final = 64
_MOST_STUCK: Final = 8
#: When a gang is looked at again whose members are evicted for another one (seconds).
_LOOK_AGAIN_SECONDS: Final = 10.0

#: The longest that an eviction waits until all partially bound gangs were tried, seconds.
_MOST_UNDECIDED: Final = 10.0

#: Why a gang could not be placed, if the capacity of another one could help.
_LACK_OF_CAPACITY: Final = (Reason.UNSCHEDULABLE, Reason.INFEASIBLE)


@dataclass(frozen=True, slots=True)
class Gang:
    """One partially bound gang in its present state.

    Attributes:
        ours: its bound members that a profile of this scheduler serves; only these may be evicted.
    """

    run: Run
    facts: GroupFacts
    ours: Sequence[Pod]

    @property
    def key(self) -> GroupKey:
        """The gang's key."""
        return self.facts.key

    @property
    def bare(self) -> bool:
        """Whether a bound member has no controller, and so would never come back."""
        return any(pod.owner is None for pod in self.run.bound)

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


class RepairPlanner(Protocol):
    """What repair calls on the decision cycle."""

    def planning(self, group: GroupKey) -> bool:
        """Whether a plan of this group is under way."""
        ...

    def stalled(self) -> Collection[str]:
        """Return the namespaces where no group is decided until a Binding of theirs is answered."""
        ...

    def completes(self, now: float, waiting: GroupFacts, without: Sequence[Pod]) -> bool:
        """Whether a group could be placed if these pods were gone."""
        ...


@dataclass(slots=True)
class _Open:
    """A partially bound gang.

    Attributes:
        since: when it was first seen so.
        bound: some member is bound, and so holds capacity; else only successes are held.
        ours: a Binding of this scheduler placed a member; else the members bound themselves.
        deadline: when its capacity is released if it may be evicted, engine clock.
        able: it may be evicted.
        failed: this process has tried to plan the deficit since then, in vain.
        why: what kept it from being placed, if so.
        fresh: it is to be compared with the others, for the first time or again.
        not_before: when a disruption budget may be asked again; -inf = now.
        stuck_with: the gang whose capacity would complete this one, while neither may be evicted.
        evicted: it was evicted before.
        counted: the expiry of its deadline is recorded for the next time.
        leaving: terminating members of other gangs when it was last compared with these.
        waits: their capacity can complete it, so it waits for that.
    """

    since: float
    bound: bool = True
    ours: bool = False
    deadline: float = math.inf
    able: bool = False
    failed: bool = False
    why: ReasonAndMessage = PENDING
    fresh: bool = False
    not_before: float = -math.inf
    stuck_with: GroupKey | None = None
    evicted: bool = False
    counted: bool = False
    leaving: frozenset[PodUID] = frozenset()
    waits: bool = False

    @property
    def lacks_capacity(self) -> bool:
        """Whether the capacity of others could complete it, as far as is known."""
        return self.failed and self.why.reason in _LACK_OF_CAPACITY

    def may_yield(self, now: float) -> bool:
        """Whether it may be evicted, and no disruption budget is known to forbid that now."""
        return self.able and self.not_before <= now


class _Pair(NamedTuple):
    """Two gangs to compare: could `waiting` be completed if `yielding` were gone?

    Attributes:
        evicts: if so, `yielding` is evicted; else neither may be evicted, and it is only reported.
    """

    waiting: GroupKey
    yielding: GroupKey
    evicts: bool


class Repair(Policy):
    """The partially bound gangs.

    Args:
        groups: the members of every group.
        order: which group precedes which.
        queue: tells whose turn is still to come.
        victims: which pods are being evicted.
        reporter: writes events.
        planner: tells whether a gang could be completed.
        default_timeout: seconds until a deadline, for groups that set none.
    """

    def __init__(
        self,
        groups: Groups,
        order: Order,
        queue: SchedulingQueue,
        victims: Victims,
        reporter: Reporter,
        planner: RepairPlanner,
        default_timeout: float,
    ) -> None:
        self._groups, self._order, self._queue = groups, order, queue
        self._victims, self._reporter, self._planner = victims, reporter, planner
        self._default_timeout = default_timeout
        #: The partially bound gangs, and no others.
        self._open: dict[GroupKey, _Open] = {}
        self._pauses = Pauses()
        #: Pairs that remain to be compared, a few per turn; some may have ended meanwhile.
        self._pairs: deque[_Pair] = deque()
        #: Since when an eviction or a comparison waits until others were tried, engine clock;
        #: infinity = none does.
        self._waits_since = math.inf

    def __len__(self) -> int:
        """Return how many partially bound gangs have bound members."""
        return sum(repair.bound for repair in self._open.values())

    def __contains__(self, key: GroupKey) -> bool:
        return key in self._open

    # ── the present state ────────────────────────────────────────────────────────────────────

    def review(self, turn: Turn, run: Run, facts: GroupFacts) -> None:
        """Record when a gang without an open plan becomes partially bound or whole again."""
        key = run.key
        if run.solo or self._planner.planning(key):
            return
        if key in self._pauses and run.runs_whole(facts):
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
        repair.deadline = self._deadline(run, facts, repair.since)
        able = self._of(run, facts).may_be_evicted
        if able != repair.able:
            repair.able, repair.fresh, repair.stuck_with = able, True, None
        if before is None and facts.started:
            note = f"{held} of {minimum} members are left"
            kind, reason = EventType.WARNING, EventReason.GANG_BELOW_MINIMUM
            self._reporter.group_event(turn, facts, kind, reason, note)

    def timeout(self, facts: GroupFacts) -> float:
        """Return the limit, in seconds, of every wait of this group that holds capacity."""
        own = facts.group.timeout if facts.group else 0
        return float(own or self._default_timeout)

    def _deadline(self, run: Run, facts: GroupFacts, since: float) -> float:
        """Return when it may be evicted, server time; restarts do not count (semantics §4.2)."""
        if facts.started:
            times = [min((pod.created for pod in _needed(facts)), default=since)]
        else:
            times = [pod.bound_at for pod in run.bound]
        return max(times, default=since) + self.timeout(facts)

    def deadline_of(self, key: GroupKey) -> float:
        """Return until when the capacity of its lost members is held; past or now = not held."""
        repair = self._open.get(key)
        return repair.deadline if repair else -math.inf

    def releasing(self, key: GroupKey) -> int:
        """Return how many members of a group are to be evicted and do not terminate yet."""
        return self._victims.staying(key)

    def failed(self, group: GroupKey, why: ReasonAndMessage) -> None:
        """Record why the deficit of this group was not placed, or that its members do not exist.

        Each time that it lacked capacity, it is compared with the others again: another gang may
        hold what it lacks now, or its members did not exist before.
        """
        repair = self._open.get(group)
        if repair is None:
            return
        first, repair.failed, repair.why = not repair.failed, True, why
        repair.fresh |= first or repair.lacks_capacity
        if not repair.lacks_capacity:
            repair.stuck_with = None

    def planned(self, turn: Turn, run: Run, facts: GroupFacts) -> None:
        """Record that a plan of this group's deficit is open."""
        del turn, facts
        repair = self._open.get(run.key)
        if repair is not None:
            repair.failed = repair.fresh = False
            repair.stuck_with = None

    def pause(self, facts: GroupFacts, now: float) -> Pause | None:
        """Return the pause of a group that released its capacity for the same cause again."""
        return self._pauses.of(facts, now)

    def remark(self, run: Run, facts: GroupFacts) -> str:
        """Return what people should know about such a gang beyond why it waits; "" = nothing."""
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
        if self._of(run, facts).bare and (restarts or not facts.started):
            return "its members are not evicted: one has no controller that would recreate it"
        return ""

    def forget(self, turn: Turn, run: Run) -> None:
        """Forget a group that is gone."""
        self._close(turn, run.key)
        if run.group is None:
            self._pauses.end(run.key)

    def _close(self, turn: Turn, key: GroupKey) -> None:
        """Drop a gang that is whole or holds nothing any more: no gang waits for its capacity."""
        if self._open.pop(key, None) is not None:
            for other, repair in self._open.items():
                if repair.stuck_with == key:
                    self._note_stuck(turn, other, None)

    # ── choosing victims ─────────────────────────────────────────────────────────────────────

    def choose(self, turn: Turn) -> None:
        """Make one partially bound gang release its capacity, if semantics §4 says so."""
        chosen = self._chosen(turn)
        if chosen is None:
            return
        gang, waiting = chosen
        facts, repair = gang.facts, self._open[gang.key]
        if all(self._victims.evicts(pod.uid) for pod in gang.ours):
            repair.not_before = turn.now + _LOOK_AGAIN_SECONDS
            return  # as members of groups that they named before
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
        """Record that the deadline of a gang has expired; make it pause if that happened before."""
        repair = self._open[gang.key]
        if not repair.counted:  # a budget may delay the eviction
            specs = frozenset(pod.spec for pod in gang.run.pods.values() if pod.live)
            self._pauses.release(gang.facts, specs, repair.why, turn.now)
            repair.counted = True
        self._pauses.begin(gang.key, self.timeout(gang.facts), turn.now)

    def _patience(self, facts: GroupFacts, waiting: Gang | None) -> float:
        """Return how many seconds to wait for evicted members, so that no group delays others."""
        waits = (self.timeout(waiting.facts),) if waiting is not None else ()
        return min(self.timeout(facts), self._default_timeout, *waits)

    def _chosen(self, turn: Turn) -> tuple[Gang, Gang | None] | None:
        """Return the gang to evict now, and the one that needs its capacity; None = evict none.

        One pair of gangs is compared per turn, which costs as much as a decision. Deadlines count
        only after all pairs were compared.
        """
        if not (self._open and (self._pairs or self._any_fresh or self._any_due(turn.now))):
            self._waits_since = math.inf
            return None
        if self._waits_for_attempts(turn.now):
            return None
        leaving = self._victims.leaving()
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

    def _waits_for_attempts(self, now: float) -> bool:
        """Whether a gang is about to be tried, and may be waited for.

        It may need no capacity of others now, or be the gang to evict. But many that change all the
        time must not keep a deadline from taking effect.
        """
        if not self._any_undecided:
            self._waits_since = math.inf
            return False
        self._waits_since = min(self._waits_since, now)
        return now < self._waits_since + _MOST_UNDECIDED

    def _known_to_wait(self, key: GroupKey, leaving: Sequence[Pod]) -> bool:
        """Whether the capacity of terminating pods is known to complete a gang."""
        repair = self._open[key]
        return repair.waits and repair.leaving == frozenset(pod.uid for pod in leaving)

    def _waits(self, now: float, gang: Gang, leaving: Sequence[Pod]) -> bool:
        """Whether the capacity of terminating pods completes a gang; other gangs do not wait."""
        repair, uids = self._open[gang.key], frozenset(pod.uid for pod in leaving)
        if repair.leaving != uids:
            repair.leaving = uids
            repair.waits = (
                repair.lacks_capacity and bool(uids) and self._completes(now, gang.facts, leaving)
            )
        return repair.waits

    def _completes(self, now: float, facts: GroupFacts, without: Sequence[Pod]) -> bool:
        able = facts.quorum and not facts.problem
        return able and self._planner.completes(now, facts, without)

    def _failed(self, now: float, *, able: bool = False) -> list[GroupKey]:
        """Return the gangs that cannot be completed now, in order; `able`: and may be evicted."""
        return self._order.first_to_last(
            key
            for key, repair in self._open.items()
            if repair.failed
            and repair.bound
            and (repair.may_yield(now) or not able)
            and not self._busy(key)
        )

    def _busy(self, key: GroupKey) -> bool:
        """Whether it is being placed or evicted."""
        return self._planner.planning(key) or self._victims.staying(key) > 0

    @property
    def _any_undecided(self) -> bool:
        """Whether a gang is about to be tried, and so may need no eviction."""
        stalled = self._planner.stalled()
        items = (self._queue.get(key) for key in self._open if key.namespace not in stalled)
        return any(item is not None and item.place is QueuePlace.ACTIVE for item in items)

    def _gang(self, key: GroupKey) -> Gang | None:
        """Return a partially bound gang, unless it is being placed or evicted."""
        run = self._groups.get(key)
        if run is None or self._busy(key):
            return None
        return self._of(run, self._groups.facts(run))

    def _of(self, run: Run, facts: GroupFacts) -> Gang:
        ours = [pod for pod in run.bound if self._groups.ours(pod)]
        return Gang(run, facts, ours)

    def _to_compare(self, turn: Turn) -> list[_Pair]:
        """Return which gangs could be helped by which, then which only wait for which.

        Pairs in which neither is fresh were compared before.
        """
        failed = self._failed(turn.now)
        fresh = {key for key in failed if self._open[key].fresh}
        for repair in self._open.values():
            repair.fresh = False
        fixed = [key for key in failed if not self._open[key].able][:_MOST_STUCK]
        if len(fixed) == 1:
            self._note_stuck(turn, fixed[0], None)
        stuck = (
            _Pair(one, two, evicts=False)
            for one, two in permutations(fixed, 2)
            if self._open[one].lacks_capacity and not fresh.isdisjoint(fixed)
        )
        helping = islice(self._helping(turn.now, failed, fresh), _MOST_PAIRS)
        return [*helping, *stuck]

    def _helping(
        self, now: float, failed: Sequence[GroupKey], fresh: Container[GroupKey]
    ) -> Iterator[_Pair]:
        """Yield pairs: of two gangs that may be evicted, only the later is, if its budget allows.

        Nor is a gang evicted for a later one that bound itself. No more gangs are looked at than
        there are pairs, and two for each that waits.

        Args:
            now: engine clock.
            failed: all that cannot be completed now, in order.
            fresh: those of them of which one is in each pair.
        """
        able = [key for key in reversed(failed) if self._open[key].may_yield(now)]
        fresh_able = [key for key in able if key in fresh]
        for waiting in failed:
            if not self._open[waiting].lacks_capacity:
                continue
            # Any other gang that may not be evicted precedes all: else it would deadlock.
            in_order = self._open[waiting].able or not self._open[waiting].ours
            for yielding in able if waiting in fresh else fresh_able:
                if in_order and self._order.before(yielding, waiting):
                    break  # so are all that follow
                if waiting != yielding:
                    yield _Pair(waiting, yielding, evicts=True)

    def _compare(self, turn: Turn, pair: _Pair, leaving: Sequence[Pod]) -> tuple[Gang, Gang] | None:
        """Check whether one gang could be completed with the capacity of another.

        Returns:
            The gang to evict and the one it helps; None = none is evicted.
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
        facts = waiting.facts
        return self._completes(now, facts, yielding.ours) and not self._completes(now, facts, ())

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
            and not self._victims.staying(key)
            for key, repair in self._open.items()
        )

    # ── outcomes ─────────────────────────────────────────────────────────────────────────────

    def expire(self, turn: Turn) -> None:
        """Process answers to evictions; plan again once no eviction is waited for.

        A gang that can never be evicted is asked for again no sooner than after another timeout.
        """
        for each in self._open.values():
            if -math.inf < each.not_before <= turn.now:
                each.not_before, each.fresh = -math.inf, True
        for group, retry_at in turn.refused:
            repair, run = self._open.get(group), self._groups.get(group)
            if repair is not None and run is not None:
                at = retry_at
                if math.isinf(at):
                    at = turn.now + self.timeout(self._groups.facts(run))
                repair.not_before = max(repair.not_before, at)
        if turn.released and not self._victims:
            self._try_again(turn)

    def _try_again(self, turn: Turn) -> None:
        """Plan every such gang again, with the freed capacity, before another one is evicted."""
        self._pairs.clear()
        for key, repair in self._open.items():
            repair.failed = repair.fresh = False
            repair.stuck_with = None
            item = self._queue.get(key)
            if item is not None:
                item.renew()
            turn.change(key)

    def deadline(self) -> float:
        """Return when to act here; later while a gang is about to be tried; infinity = never."""
        if not self._open:
            return math.inf
        after = -math.inf
        if self._any_undecided and self._waits_since < math.inf:
            after = self._waits_since + _MOST_UNDECIDED
        if self._pairs or self._any_fresh:
            return max(after, 0.0)
        leaving = self._victims.leaving()
        times = (
            max(after, repair.not_before if repair.not_before > -math.inf else repair.deadline)
            for key, repair in self._open.items()
            if repair.failed
            and repair.able
            and not self._victims.staying(key)
            and not self._known_to_wait(key, leaving)
        )
        return min(times, default=math.inf)


def _needed(facts: GroupFacts) -> Sequence[Pod]:
    """Return the pending members that could fill the deficit: those of a role that lacks some."""
    lacking = Lacking(facts.floors)
    return [pod for pod in facts.pending if lacking.wants(pod.role)]
