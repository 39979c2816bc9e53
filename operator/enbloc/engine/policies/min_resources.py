# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""MinResources: capacity that an admitted group may still take is reserved for it.

`reservations` tracks what is left of it and when that ends; this module keeps it in step with the
groups. Both clocks start from what the API server records, so a new process that reviews every
admitted group makes the same reservations. Only how long reservations that are gone had lasted is
unknown to it.

Source: semantics §5.1.
"""

from collections import Counter
from typing import Final, NamedTuple

from enbloc.engine.binding import Plans
from enbloc.engine.effects import EventType
from enbloc.engine.policies.policy import Policy
from enbloc.engine.policies.reservations import MinResourcesReservations, ReservationTerms
from enbloc.engine.report import Reporter
from enbloc.engine.settings import Settings
from enbloc.engine.state import (
    ClusterState,
    GroupAmount,
    Groups,
    Members,
    Order,
    ReservedAmounts,
)
from enbloc.engine.turn import Turn
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason

_UNUSED: Final = (
    "reserved capacity of minResources went unused for scheduleTimeoutSeconds and was released"
)


class _Filled(NamedTuple):
    """What the groups of a family that have no minResources hold.

    Attributes:
        latest: when they last progressed, as `_latest` returns it.
        starting: as in `ReservationTerms`.
    """

    held: Counter[str]
    latest: float | None
    starting: bool


class MinResources(Policy):
    """Keeps the reservations in step with the groups.

    Args:
        state: holds the reservations.
        groups: the members of every group.
        plans: what is being bound.
        order: which group precedes which.
        reporter: writes events.
        settings: how long capacity is reserved, and how much.
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
        self._reservations = MinResourcesReservations(state.reservations, order, longest, limits)
        self._never_longer = (
            "reserved capacity of minResources was not used up within reservationSeconds "
            f"({longest:g} s) and was released"
        )
        #: By group, why its reservation is over; until the group has another one.
        self._expired: dict[GroupKey, str] = {}
        #: By family, what filled its reservations at the last review.
        self._seen: dict[str, _Filled] = {}

    def capacity(self) -> ReservedAmounts:
        """Return what is reserved now."""
        return self._reservations.capacity()

    def deadline(self) -> float | None:
        """Return when the next reservation expires."""
        return self._reservations.deadline()

    def expire(self, turn: Turn) -> None:
        """Process reservations that ended: by time, or because an earlier group took capacity."""
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
        """Return why a group's reservation was released, for its condition; "" = it was not."""
        return self._expired.get(key, "")

    # ── one group ────────────────────────────────────────────────────────────────────────────

    def wanted(self, members: Members, facts: GroupFacts) -> GroupAmount | None:
        """Return what a group wants at a decision; None if nothing is reserved or wanted.

        Raises:
            PluginError: QueueSort failed.
        """
        group = members.group
        if not self.capacity() and (group is None or not group.min_resources):
            return None
        key = self._order.of(facts.key)
        order = self._order.key(facts) if key is None else key
        shares = "" if group is not None and group.min_resources else _family(members)
        return GroupAmount(members.key, shares, order, self._due(members))

    def renewed(self, members: Members, wanted: GroupAmount) -> GroupAmount:
        """Return what a group wants, after other groups of its family may have got members."""
        order = self._order.of(members.key) or wanted.order
        return wanted._replace(order=order, due=self._due(members))

    def _due(self, members: Members) -> Counter[str]:
        wanted = Counter(dict(members.group.min_resources if members.group else ()))
        if not wanted:
            return wanted
        return wanted - self._taken(members) - self._filled(_family(members)).held

    def review(self, turn: Turn, members: Members, facts: GroupFacts) -> None:
        """Review a changed group's reservation, or those that it helps to use up."""
        del facts
        group = members.group
        if members.solo:
            return
        if group is not None and group.min_resources:
            self._review(turn, members, self._filled(_family(members)))
            return
        self._drop(turn, members)
        family = _family(members)
        holders = self._reservations.holders(family) if family else []
        if not holders:
            self._seen.pop(family, None)
            return
        filled = self._filled(family)
        if self._seen.get(family) != filled:
            self._seen[family] = filled
            for key in holders:
                holder = self._groups.get(key)
                if holder is not None:
                    self._review(turn, holder, filled)

    def planned(self, turn: Turn, members: Members, facts: GroupFacts) -> None:
        """Review a group whose plan is open, which admits it."""
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
        labels, nodes = self._domain(members)
        terms = ReservationTerms(
            family=_family(members),
            order=self._order.of(key),
            wanted=group.min_resources,
            due=Counter(dict(group.min_resources)) - self._taken(members) - filled.held,
            progress_at=turn.now if opened else max(latest, default=turn.now),
            timeout=float(group.timeout or self._default_timeout),
            run_name=members.run_name,
            since=min(_held_since(members), default=turn.now),
            starting=filled.starting or _starting(members),
            labels=labels,
            nodes=nodes,
            elsewhere=filled.held,
        )
        before = self._reservations.deadline_of(key)
        self._reservations.review(key, terms, turn)
        if self._reservations.deadline_of(key) != before:
            self._expired.pop(key, None)
        if opened and terms.due and self._reservations.exhausted(key):
            self._expired[key] = self._never_longer

    def forget(self, turn: Turn, members: Members) -> None:
        """Drop the reservation and the clock of a group that is gone."""
        if members.solo:
            return
        self._drop(turn, members)
        self._reservations.forget(members.key)

    def _drop(self, turn: Turn, members: Members) -> None:
        """Drop the reservation of a group that may take nothing any more."""
        self._reservations.drop(members.key, turn)
        self._expired.pop(members.key, None)

    def _domain(self, members: Members) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return `labels` and `nodes` of the reservation of a group."""
        locality = self._groups.facts(members).locality
        if locality is None or locality.levels.required is None:
            return (), ()
        planned = self._state.reservations.plans
        nodes = {pod.node for pod in members.bound}
        nodes |= {planned[uid].node for uid in members.live if uid in planned}
        return locality.levels.labels[: locality.levels.required + 1], tuple(sorted(nodes))

    # ── what is held ─────────────────────────────────────────────────────────────────────────

    def _filled(self, family: str) -> _Filled:
        """Return what fills every reservation of a family; without one, nothing does."""
        held: Counter[str] = Counter()
        latest: list[float] = []
        starting = False
        for each in self._groups.of_family(family) if family else ():
            if each.group is not None and not each.group.min_resources:
                held.update(self._taken(each))
                time = _latest(each)
                latest += () if time is None else (time,)
                starting = starting or _starting(each)
        return _Filled(held, max(latest, default=None), starting)

    def _taken(self, members: Members) -> Counter[str]:
        """Return the requests of the members of a group that are held or planned."""
        planned = self._state.reservations.plans
        held = Counter(members.done.requests)
        for pod in members.live.values():
            if pod.node or pod.uid in planned:
                held.update(dict(pod.spec.requests))
        return held


def _latest(members: Members) -> float | None:
    """Return when a member of a group was last bound or became ready; None = never."""
    bound = members.bound
    times = [pod.bound_at for pod in bound]
    times += (pod.ready_at for pod in bound if pod.ready_at is not None)
    if members.done.latest is not None:
        times.append(members.done.latest)
    return max(times, default=None)


def _starting(members: Members) -> bool:
    """Whether a member of a group is bound but does not run yet."""
    return any(pod.starting for pod in members.live.values())


def _held_since(members: Members) -> list[float]:
    """Return times at which a group certainly held a member in this run."""
    times = [pod.bound_at for pod in members.bound]
    if members.done.earliest is not None:
        times.append(members.done.earliest)
    return times if members.started is None else [*times, members.started]


def _family(members: Members) -> str:
    return members.group.family if members.group is not None else ""
