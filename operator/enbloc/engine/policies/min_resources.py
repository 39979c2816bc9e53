# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""MinResources: capacity that an admitted group may still take, reserved for it.

A reservation is what is left of a group's minResources once its held members are counted, and
those of the groups of its owner that have no minResources themselves::

    admitted ──► OPEN ──what is left reaches nothing──► gone (used up)
                 │  ▲
      no progress│  │progress      finished, evicted or deleted: gone from either
                 ▼  │
               EXPIRED

While it is open, a claim of that amount is in the ledger, and a clock of the group's life runs;
once that is at the administrator's limit, nothing opens it again for this life. Both clocks begin
with what the API server remembers, so a new process that reviews every admitted group makes the
same reservations. All it does not know is for how long those were reserved that are gone.

Source: semantics §5.1.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from enbloc.engine.binding import Plans
from enbloc.engine.effects import EventType
from enbloc.engine.policies.policy import Policy
from enbloc.engine.report import Reporter
from enbloc.engine.settings import Settings
from enbloc.engine.state import (
    MIN_RESOURCES,
    Against,
    Capacity,
    Claim,
    Claims,
    ClusterState,
    Groups,
    Key,
    Members,
    Order,
    Reservation,
    reserved,
)
from enbloc.engine.turn import Turn
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, Happening, Resource
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason
from enbloc.model.quantity import render

_UNUSED: Final = (
    "reserved capacity of minResources went unused for scheduleTimeoutSeconds and was released"
)


@dataclass(frozen=True, slots=True)
class ReservationTerms:
    """What one group is owed, as far as it is known at a review.

    Attributes:
        owner: whose other groups share it, as of `Reservation`.
        order: the group's place in the order.
        wanted: its minResources, `(resource, amount)`.
        due: what of them it may still take.
        progress_at: server time at which the owner got further as far as the API server tells: its
            latest PodScheduled=True or Ready=True; the present while the group is being admitted.
        starting: a member that is held does not run yet, and those to come may wait for it.
        timeout: seconds without progress after which the reservation is over.
        life: the incarnation of the group's members, in all of which it lasts so long only.
        since: server time at which it began as far as the API server tells: the first
            PodScheduled=True of the members that are held; the present without any.
    """

    owner: str
    order: Key | None
    wanted: tuple[tuple[str, int], ...]
    due: Counter[str]
    progress_at: float
    timeout: float
    life: str
    since: float
    starting: bool = False


@dataclass(slots=True)
class _Clock:
    """For how long anything may be reserved for one life of a group.

    Attributes:
        left: seconds, when it was stopped last.
        since: when it was started, server time; None = it stands.
    """

    life: str
    left: float
    since: float | None = None

    @property
    def ends(self) -> float:
        """When nothing is left, server time; infinity while it stands."""
        return math.inf if self.since is None else self.since + self.left

    @property
    def used_up(self) -> bool:
        """It stands, and nothing is left."""
        return self.since is None and self.left <= 0.0

    def run(self, since: float) -> None:
        """Start, unless it runs."""
        self.since = since if self.since is None else self.since

    def stop(self, now: float) -> None:
        """Stop, if it runs."""
        if self.since is not None:
            self.left = 0.0 if self.ends <= now else self.left - max(0.0, now - self.since)
            self.since = None


@dataclass(slots=True)
class _Progress:
    """How far one reservation is used up.

    Attributes:
        least: the smallest that `due` ever was, per resource: below it is progress.
        open: not expired.
        whole: all of it stood when somebody asked last.
    """

    terms: ReservationTerms
    least: Counter[str]
    progress_at: float
    open: bool
    whole: bool = True

    def update(self, terms: ReservationTerms, now: float) -> None:
        if terms.wanted != self.terms.wanted:  # to want less is no progress
            self.least = terms.due
        elif any(terms.due[resource] < amount for resource, amount in self.least.items()):
            self.progress_at, self.open = now, True
        if self.terms.starting and not terms.starting:  # who waits for them can come only now
            self.progress_at = max(self.progress_at, terms.progress_at)
        self.terms, self.least = terms, self.least & terms.due


class Reservations:
    """Every reservation, open or expired; of the open ones a claim stands in the ledger.

    Args:
        claims: the ledger.
        order: who is before whom.
        longest: seconds for which anything is reserved in one life of a group, in all.
        limits: how much of a resource the reservations of one namespace keep at most.
    """

    def __init__(
        self,
        claims: Claims,
        order: Order,
        longest: float,
        limits: Mapping[str, int],
    ) -> None:
        self._claims = claims
        self._order = order
        self._longest = longest
        self._limits = limits
        #: Every reservation of a life that goes on, open or expired; of an open one a claim stands.
        self._progress: dict[GroupKey, _Progress] = {}
        #: Of the present life of each group; it stands while nothing is reserved.
        self._clocks: dict[GroupKey, _Clock] = {}
        #: Whose reservation is over the limit of its namespace, as far as it was told.
        self._limited: dict[GroupKey, None] = {}

    def __bool__(self) -> bool:
        """Anybody holds one, or held one that expired; if not, nothing here needs to be asked."""
        return bool(self._progress)

    def review(self, group: GroupKey, terms: ReservationTerms, turn: Turn) -> None:
        """Look again at what is left to an admitted group; the first review reserves it.

        It must not be called for a group that was not admitted.
        """
        known = self._progress.get(group)
        if known is not None and known.open and _changed(known.terms, terms):
            turn.happened.append(_released(group))
        if not terms.due:
            self._progress.pop(group, None)
        elif known is None:
            fresh = terms.starting or turn.now < terms.progress_at + terms.timeout
            self._progress[group] = _Progress(terms, terms.due, terms.progress_at, fresh)
        else:
            known.update(terms, turn.now)
        self._keep_time(group, terms, turn.now)
        self._enter(group)

    def _keep_time(self, group: GroupKey, terms: ReservationTerms, now: float) -> None:
        """Let the life's clock run while anything is reserved, and reserve nothing beyond it."""
        clock, since = self._clocks.get(group), now
        if clock is None or clock.life != terms.life:
            clock = self._clocks[group] = _Clock(terms.life, self._longest)
            since = terms.since
        progress = self._progress.get(group)
        if progress is None or not progress.open:
            clock.stop(now)
            return
        clock.run(since)
        if clock.ends <= now:
            progress.open = False
            clock.stop(now)

    def _enter(self, group: GroupKey) -> None:
        """Let the ledger say what is reserved."""
        name = f"{MIN_RESOURCES}/{group}/{group.life}"
        progress = self._progress.get(group)
        if progress is None or not progress.open:
            self._claims.drop(name)
            self._limited.pop(group, None)
            return
        terms = progress.terms
        claim = Claim(
            name,
            MIN_RESOURCES,
            Against.LATER,
            holder=group,
            owner=terms.owner,
            amount=tuple(sorted(terms.due.items())),
        )
        if self._claims.get(name) != claim:
            self._claims.put(claim)

    def drop(self, group: GroupKey, turn: Turn) -> None:
        """A group has nothing to take any more: finished, gone, evicted, or never admitted."""
        progress = self._progress.pop(group, None)
        if progress is not None:
            self._clocks[group].stop(turn.now)
            self._enter(group)
            if progress.open:
                turn.happened.append(_released(group))

    def forget(self, group: GroupKey) -> None:
        """A group is gone that was dropped: no life of it goes on."""
        self._clocks.pop(group, None)

    def expire(self, turn: Turn) -> list[GroupKey]:
        """End the reservations that saw no progress for too long, or lasted for too long in all.

        Returns:
            Whose they were, in order.
        """
        over = [g for g, p in self._progress.items() if p.open and self._end(g, p) <= turn.now]
        for group in over:
            self._progress[group].open = False
            self._clocks[group].stop(turn.now)
            self._enter(group)
            turn.happened.append(_released(group))
        return self._order.first_to_last(over)

    def _end(self, group: GroupKey, progress: _Progress) -> float:
        """When an open reservation expires unless there is progress, server seconds."""
        ends = self._clocks[group].ends
        if progress.terms.starting:
            return ends
        return min(progress.progress_at + progress.terms.timeout, ends)

    def exhausted(self, group: GroupKey) -> bool:
        """Whether a reservation is over for this life of its group, whatever its progress."""
        clock = self._clocks.get(group)
        return clock is not None and clock.used_up

    def deadline(self) -> float | None:
        """When the next one expires unless there is progress, server seconds; None = never."""
        ends = (self._end(group, p) for group, p in self._progress.items() if p.open)
        return min(ends, default=None)

    def deadline_of(self, group: GroupKey) -> float | None:
        """When this group's expires; None = it has none, or it has expired."""
        progress = self._progress.get(group)
        return self._end(group, progress) if progress is not None and progress.open else None

    def holders(self, owner: str) -> list[GroupKey]:
        """The groups of an owner that have one: what its other groups hold concerns them."""
        return [key for key, p in self._progress.items() if p.terms.owner == owner]

    def capacity(self) -> Capacity:
        """What is reserved now."""
        return reserved(self._claims.amounts(), self._order, self._limits)

    def limited(self, capacity: Capacity) -> list[tuple[GroupKey, str]]:
        """Whose reservations a limit cuts, with the words for it.

        Each is named once, until it has been reserved whole again.
        """
        found: list[tuple[GroupKey, str]] = []
        if not self._limits:
            return found
        kept = {each.group: each.due for each in capacity.reservations}
        for group, progress in self._progress.items():
            if not progress.open or self._order.of(group) is None:
                continue
            due = progress.terms.due
            left_out = due - kept.get(group, Counter())
            if not left_out:
                self._limited.pop(group, None)
            elif group not in self._limited:
                self._limited[group] = None
                found.append((group, self._beyond_limit(group, min(left_out), left_out, due)))
        return found

    def _beyond_limit(
        self, group: GroupKey, resource: str, left_out: Counter[str], due: Counter[str]
    ) -> str:
        """That some of a reservation is not kept."""
        limit = render(resource, self._limits[resource])
        return (
            f"{render(resource, left_out[resource])} of {render(resource, due[resource])} "
            f"{resource} of minResources are not reserved: the configuration limits the "
            f"reservations of namespace {group.namespace} to {limit} {resource} (reservationLimits)"
        )

    def revoked(
        self, capacity: Capacity, standing: dict[GroupKey, Counter[str]]
    ) -> list[tuple[GroupKey, str]]:
        """Whose reservations do not stand whole any more, the last by order first; and the words.

        Each is named once, until it has stood whole again.
        """
        found: list[tuple[GroupKey, str]] = []
        for each in reversed(capacity.reservations):
            progress = self._progress.get(each.group)
            if progress is None:
                continue  # another policy's
            whole = standing[each.group] == each.due
            if progress.whole and not whole:
                found.append((each.group, _revoked(each.due, standing[each.group])))
            progress.whole = whole
        return found


def _revoked(due: Counter[str], stands: Counter[str]) -> str:
    """That less can be kept than is to be reserved."""
    resource = min(due - stands)
    return (
        f"{render(resource, stands[resource])} of {render(resource, due[resource])} {resource} can "
        "be kept for minResources: a group ordered earlier has taken the rest, or no node has it"
    )


def _released(group: GroupKey) -> Happening:
    """Those who were refused because of a reservation can be tried again."""
    return Happening(Resource.POD_GROUP, Action.UPDATE_MINIMUM, group=group)


def _changed(old: ReservationTerms, new: ReservationTerms) -> bool:
    """Whether a reservation is about something else, apart from how far it is used up."""
    return (old.owner, old.order, old.wanted) != (new.owner, new.order, new.wanted)


class _Filled(NamedTuple):
    """What the groups of an owner that have no minResources hold.

    Attributes:
        latest: when they got on last, as of `_latest`.
        starting: as of `ReservationTerms`.
    """

    held: Counter[str]
    latest: float | None
    starting: bool


class MinResources(Policy):
    """Keeps the reservations in step with the groups.

    Args:
        state: where claims are entered.
        groups: the members of every group.
        plans: what is being bound.
        order: who is before whom.
        reporter: writes events.
        settings: for how long anything is reserved, and how much.
    """

    def __init__(
        self,
        state: ClusterState,
        groups: Groups,
        plans: Plans,
        order: Order,
        reporter: Reporter,
        settings: Settings,
    ) -> None:
        self._state, self._groups, self._plans = state, groups, plans
        self._order, self._reporter = order, reporter
        self._default_timeout = settings.schedule_timeout
        longest, limits = settings.reservation_seconds, dict(settings.reservation_limits)
        self._reservations = Reservations(state.claims, order, longest, limits)
        self._never_longer = (
            "reserved capacity of minResources was not used up within reservationSeconds "
            f"({longest:g} s) and was released"
        )
        #: Of each group whose reservation is over, why; until it has another one.
        self._expired: dict[GroupKey, str] = {}
        #: By owner, what of its reservations was in use when that was looked at last.
        self._seen: dict[str, _Filled] = {}

    def capacity(self) -> Capacity:
        """What is reserved now."""
        return self._reservations.capacity()

    def deadline(self) -> float | None:
        """When the next reservation expires."""
        return self._reservations.deadline()

    def expire(self, turn: Turn) -> None:
        """Take in that reservations ended: by time, or because an earlier group took capacity."""
        for key in self._reservations.expire(turn):
            exhausted = self._reservations.exhausted(key)
            self._expired[key] = self._never_longer if exhausted else _UNUSED
            self._report(turn, key, self._expired[key])
        if self._reservations:
            capacity = self.capacity()
            for key, note in self._reservations.limited(capacity):
                self._report(turn, key, note, EventReason.RESERVATION_LIMITED)
            standing = capacity.standing(self._state.nodes)
            for key, note in self._reservations.revoked(capacity, standing):
                self._report(turn, key, note)

    def _report(
        self,
        turn: Turn,
        key: GroupKey,
        note: str,
        reason: EventReason = EventReason.RESERVATION_EXPIRED,
    ) -> None:
        members = self._groups.get(key)
        if members is not None:
            facts = self._groups.facts(members)
            self._reporter.group_event(turn, facts, EventType.WARNING, reason, note)
            turn.change(key)

    def expired(self, key: GroupKey) -> str:
        """That a group's reservation was given up, for its condition; "" = it was not."""
        return self._expired.get(key, "")

    # ── one group ────────────────────────────────────────────────────────────────────────────

    def wanted(self, members: Members, facts: GroupFacts) -> Reservation | None:
        """What a group wants at a decision; None while nobody has reserved or wants anything.

        Raises:
            PluginError: QueueSort failed.
        """
        group = members.group
        if not self.capacity() and (group is None or not group.min_resources):
            return None
        key = self._order.of(facts.key)
        order = self._order.key(facts) if key is None else key
        shares = "" if group is not None and group.min_resources else _owner(members)
        return Reservation(members.key, shares, order, self._due(members))

    def renewed(self, members: Members, wanted: Reservation) -> Reservation:
        """What a group wants, after other groups of its owner may have got members."""
        order = self._order.of(members.key) or wanted.order
        return wanted._replace(order=order, due=self._due(members))

    def _due(self, members: Members) -> Counter[str]:
        wanted = Counter(dict(members.group.min_resources if members.group else ()))
        if not wanted:
            return wanted
        return wanted - self._held(members) - self._filled(_owner(members)).held

    def review(self, turn: Turn, members: Members, facts: GroupFacts) -> None:
        """A group changed: review its reservation, or those that it helps to use up."""
        del facts
        group = members.group
        if members.solo:
            return
        if group is not None and group.min_resources:
            self._review(turn, members, self._filled(_owner(members)))
            return
        self._drop(turn, members)
        owner = _owner(members)
        holders = self._reservations.holders(owner) if owner else []
        if not holders:
            self._seen.pop(owner, None)
            return
        filled = self._filled(owner)
        if self._seen.get(owner) != filled:
            self._seen[owner] = filled
            for key in holders:
                holder = self._groups.get(key)
                if holder is not None:
                    self._review(turn, holder, filled)

    def planned(self, turn: Turn, members: Members, facts: GroupFacts) -> None:
        """A plan is open, and so the group is admitted."""
        self.review(turn, members, facts)

    def _review(self, turn: Turn, members: Members, filled: _Filled) -> None:
        key, group = members.key, members.group
        opened = self._plans.of(key) is not None
        admitted = opened or bool(members.bound) or members.held_succeeded > 0
        over = group is None or members.superseded or not (group.owner or members.live)
        if group is None or not admitted or over:
            self._drop(turn, members)
            return
        latest = [time for time in (_latest(members), filled.latest) if time is not None]
        terms = ReservationTerms(
            owner=_owner(members),
            order=self._order.of(key),
            wanted=group.min_resources,
            due=Counter(dict(group.min_resources)) - self._held(members) - filled.held,
            progress_at=turn.now if opened else max(latest, default=turn.now),
            timeout=float(group.timeout or self._default_timeout),
            life=members.incarnation,
            since=min(_held_since(members), default=turn.now),
            starting=filled.starting or _starting(members),
        )
        before = self._reservations.deadline_of(key)
        self._reservations.review(key, terms, turn)
        if self._reservations.deadline_of(key) != before:
            self._expired.pop(key, None)
        if opened and terms.due and self._reservations.exhausted(key):
            self._expired[key] = self._never_longer

    def forget(self, turn: Turn, members: Members) -> None:
        """A group is gone."""
        if members.solo:
            return
        self._drop(turn, members)
        self._reservations.forget(members.key)

    def _drop(self, turn: Turn, members: Members) -> None:
        """A group has nothing to take any more."""
        self._reservations.drop(members.key, turn)
        self._expired.pop(members.key, None)

    # ── who holds what ───────────────────────────────────────────────────────────────────────

    def _filled(self, owner: str) -> _Filled:
        """What fills every reservation of an owner; nothing does without one."""
        held: Counter[str] = Counter()
        latest: list[float] = []
        starting = False
        for each in self._groups.of_owner(owner) if owner else ():
            if each.group is not None and not each.group.min_resources:
                held.update(self._held(each))
                time = _latest(each)
                latest += () if time is None else (time,)
                starting = starting or _starting(each)
        return _Filled(held, max(latest, default=None), starting)

    def _held(self, members: Members) -> Counter[str]:
        """What the held members of a group request."""
        planned = self._state.claims.plans
        held = Counter(members.done.requests)
        for pod in members.live.values():
            if pod.node or pod.uid in planned:
                held.update(dict(pod.spec.requests))
        return held


def _latest(members: Members) -> float | None:
    """When a member of a group was bound or became ready last; None = it has none."""
    bound = members.bound
    times = [pod.bound_at for pod in bound]
    times += (pod.ready_at for pod in bound if pod.ready_at is not None)
    if members.done.latest is not None:
        times.append(members.done.latest)
    return max(times, default=None)


def _starting(members: Members) -> bool:
    """Whether a member of a group is bound and does not run yet."""
    return any(pod.starting for pod in members.live.values())


def _held_since(members: Members) -> list[float]:
    """Times at which a group surely held a member in this life."""
    times = [pod.bound_at for pod in members.bound]
    if members.done.earliest is not None:
        times.append(members.done.earliest)
    return times if members.started is None else [*times, members.started]


def _owner(members: Members) -> str:
    return members.group.family if members.group is not None else ""
