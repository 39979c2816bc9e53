# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reservations: capacity on a node or in the cluster, from when, for whom, and against whom.

One ledger records everything that takes capacity without being a pod on a node in the API server:

=====================  ==================  ========================================  ==============
reserved by            what                against                                   until
=====================  ==================  ========================================  ==============
an open plan           a member's node     everyone                                  it is bound
a lost member's gang   the member's node   groups ordered later                      its deadline
a preemptor            a pod's node        groups ordered later                      it is placed
                       an amount³          groups ordered later                      it is placed
minResources           an amount²          groups ordered later, but its family¹     no progress
another scheduler      a pod's node        groups of no higher priority, or all      five minutes
=====================  ==================  ========================================  ==============

¹ groups of the same namespace and controller that have no minResources themselves share it.
² less by what is held for lost members of the same group.
³ of its minResources, less by what its pending pods request.

A reservation on a node that has begun is counted in the tables, as a pod is; a decision about a
group that may ignore it removes it from its own copy. A later one is in no table; a decision about
a group that may still run then adds it there. Amounts are summed up on demand
(`enbloc.engine.state.capacity`).
"""

import enum
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from enbloc.engine.state.order import Order
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, Happening, Resource
from enbloc.ledgers import Decisions
from enbloc.model.grouped import Grouped
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID

ReservationId = str
Amount = tuple[tuple[str, int], ...]

#: Purposes, by which a policy finds its own reservations.
PLAN: Final = "plan"
HELD: Final = "held"
NOMINATION: Final = "nomination"
MIN_RESOURCES: Final = "minResources"
PREEMPTION: Final = "preemption"


class Against(enum.Enum):
    """Which groups must respect a reservation."""

    EVERYONE = "every group"
    LATER = "groups ordered after its holder"
    NOT_ABOVE = "groups whose priority is not above its pod's"


class Reservation(NamedTuple):
    """Capacity that is reserved.

    Attributes:
        id: unique; for a pod's seat, the pod's UID.
        purpose: what it is for.
        against: the groups that must respect it; its holder never must.
        holder: the group that it is for; None = a pod of another scheduler.
        family: groups of one family (namespace and controller) share amounts, and need not respect
            each other's.
        pod: what is counted on `node`; None = it is an amount.
        node: where.
        amount: `(resource, amount)` of the cluster, on no node in particular.
        labels: for an amount of one domain, the node labels of its level and of those around it,
            outermost first; empty = it is of the whole cluster.
        nodes: for an amount of one domain, some that are in it.
        start: when it begins, engine clock; −infinity = it has begun.
        end: when it is over; infinity = not by time; NaN = the next turn sets it.
        decided: the volumes and devices that `pod` gets there; None = it has none.
    """

    id: ReservationId
    purpose: str
    against: Against
    holder: GroupKey | None = None
    family: str = ""
    pod: Pod | None = None
    node: str = ""
    amount: Amount = ()
    start: float = -math.inf
    end: float = math.inf
    decided: Decisions | None = None
    labels: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()

    @property
    def counted(self) -> bool:
        """Whether it is on a node and has begun, so that the tables count it."""
        return self.pod is not None and self.start == -math.inf

    @property
    def affects_amounts(self) -> bool:
        """Whether what may be taken of the cluster beside reserved amounts depends on it."""
        return bool(self.amount) or self.purpose == HELD

    @property
    def released(self) -> Happening:
        """What happens for the groups that it kept out, once it keeps them out no longer."""
        if self.pod is not None:
            return Happening(Resource.POD, Action.DELETE, pod=self.pod)
        group = self.holder.podgroup if self.holder else None
        return Happening(Resource.POD_GROUP, Action.UPDATE_MINIMUM, group=group)

    @property
    def timed(self) -> bool:
        """Whether it begins or ends by time, or its end is not set yet."""
        return self.start > -math.inf or self.end != math.inf

    def counts_against(self, facts: GroupFacts, order: Order) -> bool:
        """Whether a decision about this group must respect it."""
        if self.holder == facts.key:
            return False
        same = self.holder is not None and self.holder.podgroup == facts.key.podgroup
        if same and self.purpose == HELD:
            return False  # what one run of a group lost does not block another
        match self.against:
            case Against.EVERYONE:
                return True
            case Against.LATER:
                return self.holder is not None and order.before(self.holder, facts.key)
            case Against.NOT_ABOVE:
                return self.pod is not None and self.pod.priority >= facts.priority


class ReservationLedger:
    """The ledger. Tables follow it: only `ClusterState` adds and drops reservations on nodes.

    Attributes:
        plans: the reservations of open plans, by the pod's UID: many, and the same for every group.
        version: changes whenever `amounts` may have changed, or what is held for lost members.
    """

    def __init__(self) -> None:
        self.plans: dict[str, Reservation] = {}
        self.version = 0
        #: All except those of plans, by id.
        self._others: dict[ReservationId, Reservation] = {}
        #: Those of them that begin or end by time, or whose end is not set yet.
        self._timed: dict[ReservationId, Reservation] = {}
        #: The same as `_others` by purpose and holder, oldest first.
        self._of: Grouped[tuple[str, GroupKey | None], ReservationId, Reservation] = Grouped()

    def __iter__(self) -> Iterator[Reservation]:
        yield from self.plans.values()
        yield from self._others.values()

    def get(self, key: ReservationId) -> Reservation | None:
        """Return a reservation that has not ended."""
        return self.plans.get(key) or self._others.get(key)

    def put(self, reservation: Reservation) -> None:
        """Add or replace a reservation."""
        if reservation.purpose == PLAN:
            self.plans[reservation.id] = reservation
            return
        self.drop(reservation.id)
        self._others[reservation.id] = reservation
        if reservation.timed:
            self._timed[reservation.id] = reservation
        self.version += reservation.affects_amounts
        self._of.put((reservation.purpose, reservation.holder), reservation.id, reservation)

    def drop(self, key: ReservationId) -> Reservation | None:
        """Drop a reservation; return it, None if there was none."""
        found = self._others.pop(key, None)
        if found is None:
            return self.plans.pop(key, None)
        self._timed.pop(key, None)
        self.version += found.affects_amounts
        self._of.drop((found.purpose, found.holder), key)
        return found

    def of(self, purpose: str, holder: GroupKey | None = None) -> Sequence[Reservation]:
        """Return what is reserved for one purpose, other than plans, and group; oldest first."""
        return tuple(self._of.get((purpose, holder), {}).values())

    def until_placed(self, holder: GroupKey) -> Sequence[Reservation]:
        """Return what is reserved for a group against later ones until it is planned."""
        return (*self.of(HELD, holder), *self.of(PREEMPTION, holder))

    def with_purpose(self, purpose: str) -> list[Reservation]:
        """Return all reservations of one purpose, other than plans', oldest first."""
        return [each for each in self._others.values() if each.purpose == purpose]

    def fork(self) -> "ReservationLedger":
        """Return an independent copy."""
        fork = ReservationLedger()
        fork.plans = dict(self.plans)
        for each in self._others.values():
            fork.put(each)
        return fork

    # ── which of them count for a group ──────────────────────────────────────────────────────

    def set_aside(self, facts: GroupFacts, order: Order) -> list[Reservation]:
        """Return reservations counted on nodes that this group may ignore."""
        return [
            each
            for each in self._others.values()
            if each.counted and not each.counts_against(facts, order)
        ]

    def to_come(
        self, facts: GroupFacts, order: Order, until: float = math.inf
    ) -> list[Reservation]:
        """Return reservations on nodes that begin while a group may run, and that concern it.

        Args:
            facts: the group.
            order: which group precedes which.
            until: when the group ends at the latest; infinity = unknown.
        """
        return [
            each
            for each in self._others.values()
            if each.pod is not None
            and -math.inf < each.start < until
            and each.counts_against(facts, order)
        ]

    def open_to_some(self) -> list[Reservation]:
        """Return reservations that are counted on nodes, and do not count against every group."""
        return [each for each in self._others.values() if each.counted]

    # ── time ─────────────────────────────────────────────────────────────────────────────────

    def over(self, now: float) -> list[Reservation]:
        """Return reservations whose end has come."""
        return [each for each in self._timed.values() if each.end <= now]

    def begun(self, now: float) -> list[Reservation]:
        """Return reservations whose start has come, and that are not counted yet."""
        return [c for c in self._timed.values() if -math.inf < c.start <= now]

    def amounts(self) -> list[Reservation]:
        """Return reserved amounts of the cluster whose start has come."""
        return [c for c in self._others.values() if c.amount and c.start == -math.inf]

    def undated(self) -> list[Reservation]:
        """Return reservations whose end the next turn sets."""
        return [each for each in self._timed.values() if math.isnan(each.end)]

    def deadline(self) -> float:
        """Return when the next one begins or ends; 0 while one has no end yet, infinity = never."""
        times = (
            time
            for each in self._timed.values()
            for time in (each.start, 0.0 if math.isnan(each.end) else each.end)
            if time > -math.inf
        )
        return min(times, default=math.inf)


def stand_in(reservation: ReservationId, pod: Pod, node: str) -> Pod:
    """Return what is counted for a lost pod: the same requests, invisible to selectors."""
    spec = pod.spec
    room = PodSpec(
        requests=spec.requests,
        nonzero_cpu=spec.nonzero_cpu,
        nonzero_memory=spec.nonzero_memory,
        host_ports=spec.host_ports,
    )
    key = PodKey("", f"{HELD}/{pod.key.name}")
    return Pod(key=key, uid=PodUID(reservation), spec=room, node=node, role=pod.role)


def nominated(reservation: ReservationId, pod: Pod, node: str) -> Pod:
    """Return what counts for a pending pod on its future node: all by which it excludes others.

    Affinity, anti-affinity and topology spread see it as they will see the pod; it is no member of
    any group.
    """
    key = PodKey(pod.key.namespace, f"{PREEMPTION}/{pod.key.name}")
    return replace(
        pod, key=key, uid=PodUID(reservation), scheduler="", pod_group="", node=node, nominated=node
    )
