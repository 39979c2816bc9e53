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

While it is open, a claim of that amount is in the ledger. Nothing here remembers a clock that the
API server does not: a new process that reviews every admitted group makes the same reservations.

Source: semantics §5.1.
"""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from enbloc.engine.binding import Plans
from enbloc.engine.effects import EventType
from enbloc.engine.policies.policy import Policy
from enbloc.engine.report import Reporter
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


@dataclass(frozen=True, slots=True)
class Terms:
    """What one group is owed, as far as it is known at a review.

    Attributes:
        owner: whose other groups share it, as of `Reservation`.
        order: the group's place in the order.
        wanted: its minResources, `(resource, amount)`.
        due: what of them it may still take.
        progress_at: server time at which the owner got further as far as the API server tells: its
            latest PodScheduled=True; the present while the group is being admitted.
        timeout: seconds without progress after which the reservation is over.
    """

    owner: str
    order: Key | None
    wanted: tuple[tuple[str, int], ...]
    due: Counter[str]
    progress_at: float
    timeout: float


@dataclass(slots=True)
class _Progress:
    """How far one reservation is used up.

    Attributes:
        least: the smallest that `due` ever was, per resource: below it is progress.
        open: not expired.
        whole: all of it stood when somebody asked last.
    """

    terms: Terms
    least: Counter[str]
    progress_at: float
    open: bool
    whole: bool = True

    @property
    def deadline(self) -> float:
        return self.progress_at + self.terms.timeout

    def update(self, terms: Terms, now: float) -> None:
        if terms.wanted != self.terms.wanted:  # to want less is no progress
            self.least = terms.due
        elif any(terms.due[resource] < amount for resource, amount in self.least.items()):
            self.progress_at, self.open = now, True
        self.terms, self.least = terms, self.least & terms.due


class Reservations:
    """Every reservation, open or expired; of the open ones a claim stands in the ledger.

    Args:
        claims: the ledger.
        order: who is before whom.
    """

    def __init__(self, claims: Claims, order: Order) -> None:
        self._claims = claims
        self._order = order
        self._progress: dict[GroupKey, _Progress] = {}

    def __bool__(self) -> bool:
        """Anybody holds one, or held one that expired; if not, nothing here needs to be asked."""
        return bool(self._progress)

    def review(self, group: GroupKey, terms: Terms, turn: Turn) -> None:
        """Look again at what is left to an admitted group; the first review reserves it.

        It must not be called for a group that was not admitted.
        """
        known = self._progress.get(group)
        if known is not None and known.open and _changed(known.terms, terms):
            turn.happened.append(_released(group))
        if not terms.due:
            self._progress.pop(group, None)
        elif known is None:
            fresh = turn.now < terms.progress_at + terms.timeout
            self._progress[group] = _Progress(terms, terms.due, terms.progress_at, fresh)
        else:
            known.update(terms, turn.now)
        self._enter(group)

    def _enter(self, group: GroupKey) -> None:
        """Let the ledger say what is reserved."""
        name = f"{MIN_RESOURCES}/{group}"
        progress = self._progress.get(group)
        if progress is None or not progress.open:
            self._claims.drop(name)
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
            self._enter(group)
            if progress.open:
                turn.happened.append(_released(group))

    def expire(self, turn: Turn) -> list[GroupKey]:
        """End the reservations that saw no progress for too long; whose they were, in order."""
        over = [key for key, p in self._progress.items() if p.open and p.deadline <= turn.now]
        for group in over:
            self._progress[group].open = False
            self._enter(group)
            turn.happened.append(_released(group))
        return self._order.first_to_last(over)

    def deadline(self) -> float | None:
        """When the next one expires unless there is progress, server seconds; None = never."""
        return min((p.deadline for p in self._progress.values() if p.open), default=None)

    def deadline_of(self, group: GroupKey) -> float | None:
        """When this group's expires; None = it has none, or it has expired."""
        progress = self._progress.get(group)
        return progress.deadline if progress is not None and progress.open else None

    def holders(self, owner: str) -> list[GroupKey]:
        """The groups of an owner that have one: what its other groups hold concerns them."""
        return [key for key, p in self._progress.items() if p.terms.owner == owner]

    def capacity(self) -> Capacity:
        """What is reserved now."""
        return reserved(self._claims.amounts(), self._order)

    def revoked(self, capacity: Capacity, standing: dict[GroupKey, Counter[str]]) -> list[GroupKey]:
        """Whose reservations do not stand whole any more, the last by order first.

        Each is named once, until it has stood whole again.
        """
        found: list[GroupKey] = []
        for each in reversed(capacity.reservations):
            progress = self._progress.get(each.group)
            if progress is None:
                continue  # another policy's
            whole = standing[each.group] == each.due
            if progress.whole and not whole:
                found.append(each.group)
            progress.whole = whole
        return found


def _released(group: GroupKey) -> Happening:
    """Those who were refused because of a reservation can be tried again."""
    return Happening(Resource.POD_GROUP, Action.UPDATE_MINIMUM, group=group)


def _changed(old: Terms, new: Terms) -> bool:
    """Whether a reservation is about something else, apart from how far it is used up."""
    return (old.owner, old.order, old.wanted) != (new.owner, new.order, new.wanted)


class _Filled(NamedTuple):
    """What the groups of an owner that have no minResources hold, and when they got it last."""

    held: Counter[str]
    latest: float | None


class MinResources(Policy):
    """Keeps the reservations in step with the groups.

    Args:
        state: where claims are entered.
        groups: the members of every group.
        plans: what is being bound.
        order: who is before whom.
        reporter: writes events.
        default_timeout: seconds without progress after which a reservation ends.
    """

    def __init__(
        self,
        state: ClusterState,
        groups: Groups,
        plans: Plans,
        order: Order,
        reporter: Reporter,
        default_timeout: float,
    ) -> None:
        self._state, self._groups, self._plans = state, groups, plans
        self._order, self._reporter = order, reporter
        self._default_timeout = default_timeout
        self._reservations = Reservations(state.claims, order)
        self._expired: dict[GroupKey, str] = {}
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
            self._expired[key] = (
                "reserved capacity of minResources went unused for scheduleTimeoutSeconds and was "
                "released"
            )
            self._report(turn, key, self._expired[key])
        if self._reservations:
            capacity = self.capacity()
            standing = capacity.standing(self._state.nodes)
            for key in self._reservations.revoked(capacity, standing):
                self._report(
                    turn, key, "reserved capacity of minResources went to a group ordered earlier"
                )

    def _report(self, turn: Turn, key: GroupKey, note: str) -> None:
        members = self._groups.get(key)
        if members is not None:
            facts = self._groups.facts(members)
            reason = EventReason.RESERVATION_EXPIRED
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
        self.forget(turn, members)
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
            self.forget(turn, members)
            return
        latest = [time for time in (_latest(members), filled.latest) if time is not None]
        terms = Terms(
            owner=_owner(members),
            order=self._order.of(key),
            wanted=group.min_resources,
            due=Counter(dict(group.min_resources)) - self._held(members) - filled.held,
            progress_at=turn.now if opened else max(latest, default=turn.now),
            timeout=float(group.timeout or self._default_timeout),
        )
        before = self._reservations.deadline_of(key)
        self._reservations.review(key, terms, turn)
        if self._reservations.deadline_of(key) != before:
            self._expired.pop(key, None)

    def forget(self, turn: Turn, members: Members) -> None:
        """A group has nothing to take any more."""
        self._reservations.drop(members.key, turn)
        self._expired.pop(members.key, None)

    # ── who holds what ───────────────────────────────────────────────────────────────────────

    def _filled(self, owner: str) -> _Filled:
        """What fills every reservation of an owner; nothing does without one."""
        held: Counter[str] = Counter()
        latest: list[float] = []
        for each in self._groups.of_owner(owner) if owner else ():
            if each.group is not None and not each.group.min_resources:
                held.update(self._held(each))
                time = _latest(each)
                latest += () if time is None else (time,)
        return _Filled(held, max(latest, default=None))

    def _held(self, members: Members) -> Counter[str]:
        """What the held members of a group request."""
        planned = self._state.claims.plans
        held = Counter(members.done.requests)
        for pod in members.live.values():
            if pod.node or pod.uid in planned:
                held.update(dict(pod.spec.requests))
        return held


def _latest(members: Members) -> float | None:
    """When a group got a member last; None = it has none."""
    times = [pod.scheduled_at or pod.created for pod in members.bound]
    if members.done.latest is not None:
        times.append(members.done.latest)
    return max(times, default=None)


def _owner(members: Members) -> str:
    return members.group.family if members.group is not None else ""
