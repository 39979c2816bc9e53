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
from collections.abc import Iterable
from typing import Final

from enbloc.engine.binding import Plans
from enbloc.engine.effects import EventType
from enbloc.engine.policies.families import Families, Filled, latest, starting
from enbloc.engine.policies.policy import Policy
from enbloc.engine.policies.reservations import MinResourcesReservations, ReservationTerms
from enbloc.engine.report import Reporter
from enbloc.engine.settings import Settings
from enbloc.engine.state import (
    ClusterState,
    GroupAmount,
    Groups,
    Order,
    ReservedAmounts,
    Run,
    reservable,
    to_be_admitted,
)
from enbloc.engine.turn import Turn
from enbloc.framework.facts import GroupFacts
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason
from enbloc.model.pods import PodUID

_UNUSED: Final = (
    "reserved capacity of minResources went unused for scheduleTimeoutSeconds and was released"
)


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
        self._reservations = MinResourcesReservations(
            state.reservations, order, longest, limits, self._takes_pods
        )
        self._never_longer = (
            "reserved capacity of minResources was not used up within reservationSeconds "
            f"({longest:g} s) and was released"
        )
        #: By group, why its reservation is over; until the group has another one.
        self._expired: dict[GroupKey, str] = {}
        self._families = Families(groups, state.reservations)
        #: By family, what filled its reservations at the last review.
        self._seen: dict[str, Filled] = {}
        #: Families whose reservations are to be reviewed, each with the turn in which others of its
        #: groups changed; empty between turns.
        self._stale: dict[str, Turn] = {}

    def _takes_pods(self, name: str) -> bool:
        node = self._state.nodes.node(name)
        return node is not None and node.ready and not node.unschedulable

    def capacity(self) -> ReservedAmounts:
        """Return what is reserved now."""
        self._catch_up()
        return self._reservations.capacity()

    def deadline(self) -> float:
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
        run = self._groups.get(key)
        if run is not None:
            facts = self._groups.facts(run)
            self._reporter.group_event(turn, facts, EventType.WARNING, reason, note)
            turn.change(key)

    def expired(self, key: GroupKey) -> str:
        """Return why a group's reservation was released, for its condition; "" = it was not."""
        return self._expired.get(key, "")

    # ── one group ────────────────────────────────────────────────────────────────────────────

    def wanted(self, run: Run, facts: GroupFacts) -> GroupAmount | None:
        """Return what a group wants at a decision; None if nothing is reserved or wanted.

        Raises:
            PluginError: QueueSort failed.
        """
        group = run.group
        if not self.capacity() and (group is None or not group.min_resources):
            return None
        key = self._order.of(facts.key)
        order = self._order.key(facts) if key is None else key
        shares = "" if group is not None and group.min_resources else _family(run)
        return GroupAmount(run.key, shares, order, self._due(run))

    def renewed(self, run: Run, wanted: GroupAmount) -> GroupAmount:
        """Return what a group wants, after other groups of its family may have got members."""
        order = self._order.of(run.key) or wanted.order
        return wanted._replace(order=order, due=self._due(run))

    def to_be_free(self, facts: GroupFacts, leaving: Iterable[PodUID]) -> Counter[str]:
        """Return what must be free for a group before it may start, with what its pods request.

        Args:
            facts: the group.
            leaving: pods that count as gone: what they fill is to be free again.
        """
        run = self._groups.get(facts.key)
        return self._due(run, leaving) if run is not None and to_be_admitted(facts) else Counter()

    def whole(self, run: Run) -> Counter[str]:
        """Return what a group that holds nothing wants reserved."""
        resources = run.group.min_resources if run.group else ()
        if not resources:
            return Counter()
        return reservable(resources, self._groups.profile_of(run), self._state.nodes)

    def _due(self, run: Run, leaving: Iterable[PodUID] = ()) -> Counter[str]:
        wanted = self.whole(run)
        if not wanted:
            return wanted
        filled = self._families.filled(_family(run), run.key, leaving)
        return wanted - self._families.taken(run) - filled.held

    def burst(self, turn: Turn, run: Run) -> None:
        """Take in what a group holds that fills the reservations of others."""
        del turn
        if not run.solo:
            self._families.look(run)

    def review(self, turn: Turn, run: Run, facts: GroupFacts) -> None:
        """Review a changed group's reservation; later in the turn those that it helps to use."""
        del facts
        group = run.group
        if run.solo:
            return
        self._families.look(run)
        if group is not None and group.min_resources:
            self._review(turn, run, self._families.filled(_family(run), run.key))
            return
        self._drop(turn, run)
        if family := _family(run):
            self._stale[family] = turn

    def _catch_up(self) -> None:
        """Review the reservations that changed groups help to use up, once for all of these.

        A family may have thousands of either.
        """
        stale, self._stale = self._stale, {}
        for family, turn in stale.items():
            holders = self._reservations.holders(family)
            if not holders:
                self._seen.pop(family, None)
                continue
            filled = self._families.filled(family, holders[0])
            if self._seen.get(family) != filled:
                self._seen[family] = filled
                for key in holders:
                    holder = self._groups.get(key)
                    if holder is not None:
                        self._review(turn, holder, filled)

    def choose(self, turn: Turn) -> None:
        """Leave no reservation to be reviewed; nothing is evicted for any."""
        del turn
        self._catch_up()

    def planned(self, turn: Turn, run: Run, facts: GroupFacts) -> None:
        """Review a group whose plan is open, which admits it."""
        self.review(turn, run, facts)

    def _review(self, turn: Turn, run: Run, filled: Filled) -> None:
        key, group = run.key, run.group
        opened = self._plans.of(key) is not None
        admitted = opened or bool(run.bound) or run.held_succeeded > 0
        over = group is None or run.superseded or not (group.owner or run.live)
        if group is None or not admitted or over:
            self._drop(turn, run)
            return
        times = [time for time in (latest(run), filled.latest) if time is not None]
        labels, nodes = self._domain(run)
        terms = ReservationTerms(
            family=_family(run),
            order=self._order.of(key),
            wanted=group.min_resources,
            due=self.whole(run) - self._families.taken(run) - filled.held,
            progress_at=turn.now if opened else max(times, default=turn.now),
            timeout=float(group.timeout or self._default_timeout),
            run_name=run.run_name,
            since=min(_held_since(run), default=turn.now),
            starting=filled.starting or starting(run),
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

    def forget(self, turn: Turn, run: Run) -> None:
        """Drop the reservation and the clock of a group that is gone."""
        if run.solo:
            return
        self._drop(turn, run)
        self._reservations.forget(run.key)
        self._families.forget(run.key)

    def _drop(self, turn: Turn, run: Run) -> None:
        """Drop the reservation of a group that may take nothing any more."""
        self._reservations.drop(run.key, turn)
        self._expired.pop(run.key, None)

    def _domain(self, run: Run) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return `labels` and `nodes` of the reservation of a group."""
        locality = self._groups.facts(run).locality if run.in_topology else None
        labels = locality.levels.required_labels if locality is not None else ()
        if not labels:
            return (), ()
        planned = self._state.reservations.plans
        nodes = {pod.node for pod in run.bound}
        nodes |= {planned[uid].node for uid in run.live if uid in planned}
        return labels, tuple(sorted(nodes))


def _held_since(run: Run) -> list[float]:
    """Return times at which a group certainly held a member in this run."""
    times = [pod.bound_at for pod in run.bound]
    if run.done.earliest is not None:
        times.append(run.done.earliest)
    return times if run.started is None else [*times, run.started]


def _family(run: Run) -> str:
    return run.group.family if run.group is not None else ""
