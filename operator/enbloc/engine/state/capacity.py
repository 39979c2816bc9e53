# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Capacity: how much of the cluster a group may take where others have reserved amounts of it.

A reservation is an amount that an admitted group may still take, on no node in particular. It is
kept whole, whatever is free; what *stands* of it is cut to what is free, in the holders' order. So
a group earlier in the order takes capacity without asking, and the last reservations in the order
are cut, only as far as capacity is lacking; freed capacity goes to them before it goes to any group
later in the order. The other groups of the holder's family share a reservation, unless they have or
want one of their own.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from enbloc.engine.plan import Assignment
from enbloc.engine.state.order import Key, Order
from enbloc.engine.state.reservations import MIN_RESOURCES, Reservation
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.ledgers import ledgers_of
from enbloc.model.amounts import Amounts, sums
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from enbloc.model.quantity import render
from enbloc.model.text import several

_MOST_NAMES = 3


class GroupAmount(NamedTuple):
    """What one group may still take of the cluster, or wants to.

    Attributes:
        family: of the holder, "" = none; of an asking group, the one whose reservations it shares,
            "" = none: it has no controller, or minResources of its own.
        order: its position in the order; the smaller is served first, no two groups share one.
        due: amounts by resource; only what is above zero.
        labels: node labels of the level in one domain of which it is to be taken, and of those
            around it, outermost first; empty = anywhere.
        nodes: in that domain, of held members.
    """

    group: GroupKey
    family: str
    order: Key
    due: Counter[str]
    labels: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()

    def shared_by(self, asking: "GroupAmount") -> bool:
        """Whether the asking group uses this reservation, and so is not held back by it."""
        return self.group == asking.group or (self.family == asking.family != "")


class ReservedAmounts:
    """The amounts that are reserved at one moment.

    Args:
        amounts: one for each group that has a reservation.
    """

    def __init__(self, amounts: Iterable[GroupAmount] = ()) -> None:
        self.amounts = sorted(amounts, key=lambda each: each.order)

    def __bool__(self) -> bool:
        """Whether anything is reserved; if not, callers can skip the rest."""
        return bool(self.amounts)

    def earlier(self, wanted: GroupAmount) -> Iterator[GroupAmount]:
        """Yield others' reservations that precede the asking group."""
        for each in self.amounts:
            if each.order < wanted.order and not each.shared_by(wanted):
                yield each

    def without(self, groups: Container[GroupKey]) -> "ReservedAmounts":
        """Return the amounts that are reserved for all but these groups."""
        return ReservedAmounts(each for each in self.amounts if each.group not in groups)

    # ── what others may take ─────────────────────────────────────────────────────────────────

    def admits(self, wanted: GroupAmount, nodes: Nodes) -> str:
        """Return why the capacity a group wants before any member starts is not free for it.

        Args:
            wanted: of a group that is not admitted yet.
            nodes: the cluster as the group sees it.

        Returns:
            "" if it is free, or a sentence that names what is lacking and which groups have
            reserved it.
        """
        if not wanted.due:
            return ""
        left = self._left(wanted, nodes, tuple(sorted(wanted.due)))
        for resource, amount in left.items():
            if wanted.due[resource] > amount:
                free = max(0, free_capacity(nodes, (resource,))[resource])
                short = short_of(resource, wanted.due[resource], free)
                return short + self._whose(wanted, resource)
        return ""

    def kept(
        self, wanted: GroupAmount, assignments: Sequence[Assignment], nodes: Nodes, *, in_turn: bool
    ) -> tuple[Sequence[Assignment], str]:
        """Return what of a plan fits beside the capacity that others have reserved.

        Args:
            wanted: of the group that is planned.
            assignments: the plan's, the needed ones first; these stay all or none, others as far as
                they fit.
            nodes: the cluster as the group sees it, without the plan.
            in_turn: no surplus member stays after one that cannot.

        Returns:
            The assignments that stay, and why the others cannot; "" when all do.
        """
        before = self._before(wanted)
        if not before:
            return assignments, ""
        left = self._left(wanted, nodes, tuple(sorted(before)))
        needed: Counter[str] = Counter()
        for assignment in assignments:
            if assignment.needed:
                needed.update(dict(assignment.pod.spec.requests))
        for resource, amount in left.items():
            if needed[resource] > max(0, amount):
                return (), self._refusal(wanted, resource, needed[resource], nodes)
            left[resource] -= needed[resource]
        stay: list[Assignment] = []
        refusal = ""
        for assignment in assignments:
            asked = {} if assignment.needed else dict(assignment.pod.spec.requests)
            lacking = next((r for r, amount in left.items() if 0 < asked.get(r, 0) > amount), "")
            if lacking:
                refusal = refusal or self._refusal(wanted, lacking, asked[lacking], nodes)
                if in_turn:
                    break
                continue
            stay.append(assignment)
            for resource in left:
                left[resource] -= asked.get(resource, 0)
        return stay, refusal

    def spares(
        self, wanted: GroupAmount, nodes: Nodes
    ) -> Callable[[Iterable[Pod], Iterable[Pod]], bool]:
        """Return a test whether pods of a group spare what is reserved, once others have left.

        Args:
            wanted: of the group.
            nodes: the cluster as the group sees it, with those others.
        """
        resources = tuple(sorted(self._before(wanted)))
        left = self._left(wanted, nodes, resources) if resources else {}

        def spared(coming: Iterable[Pod], leaving: Iterable[Pod]) -> bool:
            found = Counter(left)
            for pod in leaving:
                found.update(dict(pod.spec.requests))
            asked: Counter[str] = Counter()
            for pod in coming:
                asked.update(dict(pod.spec.requests))
            return all(asked[name] <= max(0, found[name]) for name in left)

        return spared

    def _left(
        self, wanted: GroupAmount, nodes: Nodes, resources: tuple[str, ...]
    ) -> dict[str, int]:
        """Return how much of each resource a group may take.

        That is what is free and not reserved by groups earlier in the order; but at least what is
        left of earlier reservations that it shares, at their place in the order.
        """
        free = free_capacity(nodes, resources)
        before: Counter[str] = Counter()
        shared: dict[str, int] = {}
        for each in self.amounts:  # once for all: one owner may have thousands of them
            if not each.order < wanted.order:
                break
            if each.shared_by(wanted):
                for resource, amount in free.items():
                    own = min(each.due[resource], amount - before[resource])
                    shared[resource] = max(shared.get(resource, own), own)
            else:
                _add(before, each.due)
        left = {resource: amount - before[resource] for resource, amount in free.items()}
        return {name: max(amount, shared.get(name, amount)) for name, amount in left.items()}

    def _before(self, wanted: GroupAmount) -> Counter[str]:
        """Return what groups earlier in the order are due."""
        total: Counter[str] = Counter()
        for each in self.earlier(wanted):
            _add(total, each.due)
        return total

    # ── what stands ──────────────────────────────────────────────────────────────────────────

    def standing(self, nodes: Nodes) -> dict[GroupKey, Counter[str]]:
        """Return what stands of each reservation, the earliest in the order first.

        The sum never exceeds what is free: earlier ones are served first.
        """
        resources = sorted({resource for each in self.amounts for resource in each.due})
        free = free_capacity(nodes, tuple(resources)) if resources else {}
        left = Counter({resource: max(0, amount) for resource, amount in free.items()})
        found: dict[GroupKey, Counter[str]] = {}
        for each in self.amounts:
            found[each.group] = each.due & left
            left -= found[each.group]
        return found

    def check(self, nodes: Nodes) -> None:
        """Assert that what is requested and what stands reserved is within what is offered.

        Raises:
            AssertionError: an invariant is broken.
        """
        standing = self.standing(nodes)
        for each in self.amounts:
            assert each.due, f"{each.group}: a reservation that was used up was kept"
        for resource in {resource for amounts in standing.values() for resource in amounts}:
            reserved = sum(amounts[resource] for amounts in standing.values())
            allocatable = nodes.allocatable(resource)
            counted = np.minimum(nodes.requested(resource), allocatable)
            requested, offered = sums(np.stack([counted, allocatable]))
            assert requested + reserved <= offered, (
                f"{resource}: {requested} requested and {reserved} reserved of {offered}"
            )

    # ── words ────────────────────────────────────────────────────────────────────────────────

    def _refusal(self, wanted: GroupAmount, resource: str, asked: int, nodes: Nodes) -> str:
        free = max(0, free_capacity(nodes, (resource,))[resource])
        return (
            f"{render(resource, asked)} {resource} requested, {render(resource, free)} free in "
            f"the cluster{self._whose(wanted, resource)}"
        )

    def _whose(self, wanted: GroupAmount, resource: str) -> str:
        """Return which groups have reserved a resource before this group; "" = none."""
        amount = self._before(wanted)[resource]
        if not amount:
            return ""
        names = [str(each.group) for each in self.earlier(wanted) if each.due[resource]]
        return f", {render(resource, amount)} reserved for {several(names, _MOST_NAMES)}"


def _add(total: Counter[str], more: Counter[str]) -> None:
    """Add amounts to others, in half the time of `update`."""
    for name, amount in more.items():
        total[name] += amount


def reserved_amounts(
    reservations: Iterable[Reservation], order: Order, limits: Mapping[str, int]
) -> ReservedAmounts:
    """Return what these reservations leave; holders without a place in the order hold nothing.

    Args:
        reservations: of amounts of the cluster; what a group's minResources reserve includes what
            others reserve for it.
        order: which group precedes which.
        limits: the most of a resource that minResources reserve in one namespace; the last in the
            order are cut.
    """
    found: dict[GroupKey, GroupAmount] = {}
    subject: set[GroupKey] = set()
    for reservation in reservations:
        holder = reservation.holder
        if reservation.amount and holder is not None and holder not in subject:
            key = order.of(holder)
            if key is not None:
                due = Counter(dict(reservation.amount))
                where = reservation.labels, reservation.nodes
                found[holder] = GroupAmount(holder, reservation.family, key, due, *where)
            if reservation.purpose == MIN_RESOURCES:
                subject.add(holder)
    amounts = found.values()
    return ReservedAmounts(_within(limits, amounts, subject) if limits else amounts)


def _within(
    limits: Mapping[str, int], amounts: Iterable[GroupAmount], subject: Container[GroupKey]
) -> Iterator[GroupAmount]:
    """Yield what the limits of each namespace leave of these, in their order."""
    left: dict[str, dict[str, int]] = {}
    for each in sorted(amounts, key=lambda each: each.order):
        if each.group not in subject:
            yield each
            continue
        mine = left.setdefault(each.group.namespace, dict(limits))
        kept = Counter({name: min(due, mine.get(name, due)) for name, due in each.due.items()})
        for name in mine:
            mine[name] -= kept[name]
        if +kept:
            yield each._replace(due=+kept)


def to_be_admitted(facts: GroupFacts) -> bool:
    """Whether the capacity that the group wants before any member starts must be free.

    What a started gang has lost is placed again, whatever else it may want: it was admitted.
    A gang that has lost everything has nothing reserved, and is admitted again (semantics §5.1).
    """
    return facts.deficit and not (facts.started and facts.held_in_part)


def reservable(
    resources: Iterable[tuple[str, int]], profile: Profile, nodes: Nodes
) -> Counter[str]:
    """Return what of minResources the nodes must have; the rest is not judged by them.

    Missing are what the profile leaves out, and what devices serve if the nodes offer too little.

    Args:
        resources: the minResources, `(resource, amount)`.
        profile: of the group.
        nodes: the cluster.
    """
    served = ledgers_of(nodes).devices.served_by_devices
    return Counter(
        {
            name: amount
            for name, amount in resources
            if not profile.leaves_out(name)
            and not (served(name) and amount > sums(nodes.allocatables((name,)))[0])
        }
    )


def free_capacity(nodes: Nodes, resources: tuple[str, ...]) -> dict[str, int]:
    """Return how much of each resource can be reserved: what is free on nodes that take pods.

    These are ready and not cordoned. What one node lacks is not taken from others: whoever may
    create pods with a node may write any request.
    """
    return dict(zip(resources, sums(free_amounts(nodes, resources)), strict=True))


def free_amounts(nodes: Nodes, resources: tuple[str, ...]) -> Amounts:
    """Return int64[R, N]: what is free on each node; 0 on those that take no pods."""
    return nodes.frees(resources).clip(min=0) * (nodes.ready & ~nodes.unschedulable)


def beyond(resource: str, needed: int, offered: int, who: str = "all nodes together have") -> str:
    """Return that minResources can never be met on the present nodes, with the number."""
    return (
        f"minResources needs {render(resource, needed)} {resource}; {who} "
        f"{render(resource, offered)}"
    )


def short_of(resource: str, needed: int, free: int) -> str:
    """Return that minResources cannot be met now, with the number."""
    return (
        f"minResources needs {render(resource, needed)} {resource} free in the cluster; "
        f"{render(resource, free)} is free"
    )
