# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""GroupFacts: the state of one group when a decision begins."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from enbloc.model.groups import Group, GroupKey
from enbloc.model.pods import Pod
from enbloc.model.topology import KeepApart, TopologyLevels
from enbloc.model.trees import Tree

#: How many names a message lists.
_MOST_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class Floor:
    """A minimum, of a group or of one role, and how far it is met (semantics §1).

    Attributes:
        role: "" for the group's own minimum.
        minimum: the floor. Once a group has started, it is at most what it was then: raising the
            minimum never makes a running gang incomplete (semantics §2.5).
        pending: unbound live members that are ours and not gated.
        bound: live members with a node.
        succeeded: members that succeeded in this run.
    """

    role: str
    minimum: int
    pending: int
    bound: int
    succeeded: int

    @property
    def held(self) -> int:
        """How many members count towards the minimum already."""
        return self.bound + self.succeeded

    @property
    def deficit(self) -> int:
        """How many members a plan must place, all or none."""
        return max(0, self.minimum - self.held)

    @property
    def quorum(self) -> bool:
        """Enough members exist for the minimum to be met."""
        return self.pending + self.bound + self.succeeded >= self.minimum


#: A floor of 0.
_NO_FLOOR: Final = Floor("", 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class RoleChoice:
    """The alternatives of a group with a tree to the roles that are chosen now.

    Attributes:
        tree: which children suffice; each node needs no more than when the group started.
        others: a floor for each role that is not chosen.
        minimum: the group's own minimum, whichever roles are chosen.
    """

    tree: Tree
    others: tuple[Floor, ...]
    minimum: int


class Lacking:
    """Counts down how many members of each role a deficit still lacks.

    Args:
        floors: the group's own, then each role's.
    """

    def __init__(self, floors: Sequence[Floor]) -> None:
        total, *roles = floors
        self._of_role = {floor.role: floor.deficit for floor in roles}
        self._of_any = max(0, total.deficit - sum(self._of_role.values()))

    def wants(self, role: str) -> bool:
        """Whether another member of this role would count."""
        return self._of_any > 0 or self._of_role.get(role, 0) > 0

    def take(self, role: str) -> bool:
        """Count a member of this role if it is wanted; returns whether it is."""
        wanted = self.wants(role)
        if self._of_role.get(role, 0):
            self._of_role[role] -= 1
        elif wanted:
            self._of_any -= 1
        return wanted


@dataclass(frozen=True, slots=True)
class Locality:
    """Where members of a group must be placed in the topology of the nodes.

    Attributes:
        levels: the required and preferred levels.
        held: the nodes of its bound members, one for each.
        roles: the roles it applies to; None = all members.
        parts: further constraints of some of these roles, each within this one.
        field: the field that states it, for messages.
        apart: the groups to keep away from, each with the node labels of its domains, the outermost
            first.
        ranks: the ranks with which the members of `held` were bound; None = bound without one.
    """

    levels: TopologyLevels
    held: tuple[str, ...] = ()
    roles: frozenset[str] | None = None
    parts: tuple["Locality", ...] = ()
    field: str = "spec"
    apart: tuple[tuple[KeepApart, tuple[str, ...]], ...] = ()
    ranks: tuple[int | None, ...] = ()

    def about(self, role: str) -> bool:
        """Whether it applies to members of this role."""
        return self.roles is None or role in self.roles


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """One group at the moment of a decision.

    Attributes:
        key: with the run, if runs of the group overlap; `key.podgroup` is without it, as in
            Happening.
        group: its PodGroup; None if members name it but it does not exist. A pod without a group
            has an implied one with a minimum of 1.
        solo: it is a pod without a group.
        pending: unbound live members that are ours and not gated, oldest first.
        total: the group's own floor.
        roles: a floor for each role that has a minimum; with a tree, for each chosen role.
        members: live members.
        gated: live members that have scheduling gates.
        gates: the names of their gates, each once, those of the oldest member first.
        foreign: unbound live members that name another scheduler.
        foreign_schedulers: the names of those schedulers, sorted.
        running: live members whose phase is Running.
        bound_by_us: a Binding of ours placed a member that is held; members that were created with
            a node or bound by somebody else do not count.
        started: the floor's members were Running at the same time, since it was last relaunched.
        run_name: which run of the group's members this is (semantics §2.4).
        superseded: a newer attempt of its JobSet exists: nothing is done for it.
        crowded: too many runs of the group are live: this one waits until another ends.
        priority: lowest priority of the live members (of those that succeeded, while none is
            live), lowered by the group's class.
        queue_time: creation time of the member that completed the quorum, server seconds.
        problem: why the group cannot be scheduled as written; "" = none.
        ranks: taken by members that are held: `(first, end)`, without the end, in any order.
        choice: the alternatives to these floors; None = the group has no tree.
        coming: a floor for each role that came since the floor is fixed, and is not held yet. The
            group does not need them; each is placed whole once the group's own floor is held
            (semantics §2.5). Their members are in `pending`, but not in `total`.
        returning: when the first of its members came (server seconds), if all earlier ones are gone
            and its PodGroup is kept for another object, or if it is relaunched and would need more
            members, if more came; else None.
        locality: where its members must be placed; None = anywhere.
    """

    key: GroupKey
    group: Group | None
    solo: bool
    pending: tuple[Pod, ...]
    total: Floor
    roles: tuple[Floor, ...] = ()
    members: int = 0
    gated: int = 0
    foreign: int = 0
    running: int = 0
    bound_by_us: bool = False
    started: bool = False
    superseded: bool = False
    crowded: bool = False
    run_name: str = ""
    priority: int = 0
    queue_time: float = 0.0
    problem: str = ""
    gates: tuple[str, ...] = ()
    foreign_schedulers: tuple[str, ...] = ()
    ranks: tuple[tuple[int, int], ...] = ()
    choice: RoleChoice | None = None
    coming: tuple[Floor, ...] = ()
    returning: float | None = None
    locality: Locality | None = None

    @property
    def others(self) -> tuple[Floor, ...]:
        """The floors of the roles that are not chosen."""
        return self.choice.others if self.choice is not None else ()

    @property
    def floors(self) -> tuple[Floor, ...]:
        """The group's own floor, then each role's."""
        return (self.total, *self.roles)

    @property
    def quorum(self) -> bool:
        """Whether the group may be tried: it exists, and every floor has enough members."""
        if self.group is None or not self.total.quorum:
            return False
        return not self.roles or all(floor.quorum for floor in self.roles)

    @property
    def deficit(self) -> bool:
        """Whether some floor that the group needs is not held."""
        return self.total.deficit > 0 or any(floor.deficit for floor in self.roles)

    @property
    def lacking(self) -> int:
        """How many members a plan must place."""
        return max(self.total.deficit, sum(floor.deficit for floor in self.roles))

    @property
    def held_in_part(self) -> bool:
        """Whether some members are held but not the floor."""
        return self.total.held > 0 and self.deficit

    @property
    def in_slices(self) -> bool:
        """Whether the ranks of members decide which others they lie with (semantics §11.9)."""
        return self.locality is not None and any(n > 1 for n, _ in self.locality.levels.slices)

    @property
    def idle_roles(self) -> tuple[Floor, ...]:
        """Roles added since the start that lack members, if no other member is pending."""
        short = tuple(floor for floor in self.coming if not floor.quorum)
        roles = {floor.role for floor in short}
        if not short or self.deficit or any(pod.role not in roles for pod in self.pending):
            return ()
        return short

    @property
    def without_coming(self) -> "GroupFacts":
        """The group without the roles added since it started, and without their members."""
        roles = {floor.role for floor in self.coming}
        pending = tuple(pod for pod in self.pending if pod.role not in roles)
        return replace(self, pending=pending, coming=())

    def part(self, roles: Container[str], floors: Iterable[Floor]) -> "GroupFacts":
        """The group reduced to some roles and their members.

        Args:
            roles: their names.
            floors: the floors of those that have a minimum.
        """
        pending = tuple(pod for pod in self.pending if pod.role in roles)
        return replace(
            self, pending=pending, total=_NO_FLOOR, roles=tuple(floors), choice=None, coming=()
        )

    def _unknown_roles(self) -> list[str]:
        """A few roles that pending members name, but that their PodGroup does not list."""
        if self.group is None or self.group.derived or not self.group.roles:
            return []
        listed = {role.name for role in self.group.roles}
        return sorted({pod.role for pod in self.pending} - listed - {""})[:_MOST_NAMED]

    def missing(self) -> str:
        """What a group without a quorum waits for, with counts: "6 of 8 members exist"."""
        if self.group is None:
            return f"PodGroup {self.key} not found"
        floors = (*self.roles, self.total) if self.choice is not None else self.floors
        floors = (*self.idle_roles, *floors)
        short = next((floor for floor in floors if not floor.quorum), self.total)
        role = f" of role {short.role}" if short.role else ""
        text = f"{short.pending + short.held} of {short.minimum} members{role} exist"
        asides: list[str] = []
        if self.gated:
            asides.append(f"{self.gated} more held by scheduling gates")
        if self.foreign:
            named = ", ".join(self.foreign_schedulers)
            asides.append(f"{self.foreign} more with another schedulerName: {named}")
        if unknown := self._unknown_roles():
            asides.append(f"roles that the PodGroup does not list: {', '.join(unknown)}")
        return f"{text} ({', '.join(asides)})" if asides else text
