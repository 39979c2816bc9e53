# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pod groups: the scheduling unit, its minimums, and what a PodGroup's status remembers."""

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from enbloc.model.topology import TopologyPart, TopologyRequest
from enbloc.model.trees import Child, Tree


class GroupKey(NamedTuple):
    """The namespace and name of a group; `str` gives `namespace/name`.

    The name of the implied group of a pod without one begins with a slash, as no PodGroup's can;
    `str` gives `namespace/name (pod)`.

    Attributes:
        life: tells the lives of one PodGroup's members apart that overlap, in one process; the
            later ones are larger. What pods and PodGroups name is 0.
    """

    namespace: str
    name: str
    life: int = 0

    @property
    def podgroup(self) -> "GroupKey":
        """The same as pods and the PodGroup name it, whichever life is meant."""
        return self._replace(life=0) if self.life else self

    def __str__(self) -> str:
        if self.name.startswith("/"):
            return f"{self.namespace}{self.name} (pod)"
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Role:
    """A role of a group, with a minimum of its own.

    Attributes:
        parent: the sub-group that it is of; "" = the PodGroup.
        pod_group: pods whose `spec.schedulingGroup` names this PodGroup are members in this role;
            "" = only those are that name the group itself.
    """

    name: str
    min_member: int
    parent: str = ""
    pod_group: str = ""


@dataclass(frozen=True, slots=True)
class SubGroup:
    """Roles and sub-groups that name it as their parent, of which so many are needed.

    Attributes:
        min_group_count: how many of them; 0 = all.
        parent: another sub-group; "" = the PodGroup.
    """

    name: str
    min_group_count: int = 0
    parent: str = ""


class OnIncomplete(enum.StrEnum):
    """What to do when a gang is bound below its minimum (semantics §4.3)."""

    REPAIR = "Repair"
    KEEP = "Keep"
    RESTART = "Restart"


class LifeMemory(msgspec.Struct, frozen=True, gc=False):
    """What status keeps of one life of a group's members (semantics §2.2).

    Attributes:
        incarnation: its name.
        identities: of its members, the first 32.
        minimums: the captured floor, `(role, minimum)`, "" = the group's own; empty = none.
        group_counts: how many children were enough then, `(sub-group, count)`, "" = of the
            PodGroup; empty = there is no tree.
        scheduled: server time at which its floor was first held; None = not yet.
        started: server time at which the floor was first Running together since it was last
            without a bound member; None = not yet.
        succeeded: members that succeeded in it.
        roles: the same per role, `(role, count)`.
        queue_time: its place in the queue, server seconds; None = it has none yet.
        plan: the last plan of which a Binding was sent; "" = none was.
    """

    incarnation: str
    identities: tuple[str, ...] = ()
    minimums: tuple[tuple[str, int], ...] = ()
    scheduled: float | None = None
    started: float | None = None
    succeeded: int = 0
    roles: tuple[tuple[str, int], ...] = ()
    queue_time: float | None = None
    plan: str = ""
    group_counts: tuple[tuple[str, int], ...] = ()


#: So many lives are in status at most; the schema says so.
MOST_LIVES_KEPT: Final = 16


@dataclass(frozen=True, slots=True)
class Memory:
    """What status keeps of a group, read back at start (semantics §2.2).

    Attributes:
        incarnation: name of the members' newest life; "" = none known.
        started: server time at which the floor was first Running together, seconds since the
            epoch; None = not yet.
        succeeded: members that succeeded in this incarnation, monotonic within it.
        roles: the same per role, `(role, count)`.
        attempts: how often a plan was tried.
        initially_scheduled: condition InitiallyScheduled stands at True.
        lives: what is kept of each life that matters still, the newest last.
        expected: how many members their owners can run at once from now on, as the controller
            says; None = nobody knows.
        preempted: by whom members were preempted since the floor was bound last, as condition
            DisruptionTarget says it; "" = none were.
    """

    incarnation: str = ""
    started: float | None = None
    succeeded: int = 0
    roles: tuple[tuple[str, int], ...] = ()
    attempts: int = 0
    initially_scheduled: bool = False
    lives: tuple[LifeMemory, ...] = ()
    expected: int | None = None
    preempted: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """A PodGroup object, as far as scheduling reads it.

    Attributes:
        min_member: the group's own minimum.
        roles: roles with minimums of their own; every one holds as well as the group's, unless
            there is a tree.
        sub_groups: the inner nodes of the tree; empty where every role is needed.
        min_group_count: how many of the children that have no parent are needed; 0 = all.
        min_resources: capacity the whole group needs before any member starts, `(name, amount)`
            in name order; CPU in milli, everything else in whole units.
        timeout: seconds that bound every wait which holds capacity; 0 = the configured default.
        priority_class: may lower the group's priority; "" = none.
        generation: metadata.generation, for observedGeneration.
        annotations: those that some plugin declared, `(key, value)` in key order.
        on_incomplete: what to do when it is bound below its minimum.
        owner: kind and UID of its controller, `kind/uid`; "" = none.
        writers: the field managers of schedulers of ours that own a part of its status, in order.
        derived: it was made for an object of another project, which need not list every role that
            its pods name.
        checkpointed: when the work of all members was saved last, as `Pod.checkpointed`.
        topology: where its members are to lie; None = anywhere.
        topology_parts: where those of single roles are to lie, beside that.
        labels: of the PodGroup, `(key, value)` in key order.
    """

    key: GroupKey
    uid: str = ""
    min_member: int = 1
    roles: tuple[Role, ...] = ()
    min_resources: tuple[tuple[str, int], ...] = ()
    timeout: int = 0
    priority_class: str = ""
    generation: int = 0
    resource_version: int = 0
    created: float = 0.0
    memory: Memory = Memory()
    problem: str = ""
    annotations: tuple[tuple[str, str], ...] = ()
    on_incomplete: OnIncomplete = OnIncomplete.REPAIR
    owner: str = ""
    writers: tuple[str, ...] = ()
    derived: bool = False
    sub_groups: tuple[SubGroup, ...] = ()
    min_group_count: int = 0
    checkpointed: float | None = None
    topology: TopologyRequest | None = None
    topology_parts: tuple[TopologyPart, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def tree(self) -> Tree | None:
        """Which roles and sub-groups are enough together; None = every role is needed."""
        if not (self.sub_groups or self.min_group_count):
            return None
        return tree_of(self.roles, self.sub_groups, self.min_group_count)

    @property
    def least(self) -> int:
        """How many members are needed at least, whichever sub-groups start."""
        tree = self.tree
        least = tree.least(dict(self.minimums())) if tree is not None else 0
        return max(self.min_member, least)

    def reached(self, counts: Counter[str]) -> bool:
        """Whether so many members of each role ("" = without one) meet every minimum."""
        if counts.total() < self.min_member:
            return False
        whole = {role.name for role in self.roles if counts[role.name] >= role.min_member}
        tree = self.tree
        return tree.holds(whole.__contains__) if tree else len(whole) == len(self.roles)

    @property
    def family(self) -> str:
        """Who shares reservations: the groups of one namespace and controller; "" = nobody.

        Whoever may write a PodGroup may name any controller, so the namespace is part of it.
        """
        return f"{self.key.namespace}/{self.owner}" if self.owner else ""

    def floors(self) -> tuple[tuple[str, int], ...]:
        """Every minimum, `(role, minimum)`: the group's own with role "", then each role's."""
        return (("", self.min_member), *self.minimums())

    def minimums(self) -> tuple[tuple[str, int], ...]:
        """Every role's minimum, `(role, minimum)`."""
        return tuple((role.name, role.min_member) for role in self.roles)


@lru_cache(maxsize=4096)
def tree_of(
    roles: tuple[Role, ...], sub_groups: tuple[SubGroup, ...], min_group_count: int
) -> Tree:
    """The tree of a PodGroup that has one."""
    return _node("", min_group_count, roles, sub_groups)


def _node(name: str, needed: int, roles: Sequence[Role], groups: Sequence[SubGroup]) -> Tree:
    children: list[Child] = [role.name for role in roles if role.parent == name]
    children += [
        _node(group.name, group.min_group_count, roles, groups)
        for group in groups
        if group.parent == name
    ]
    return Tree(name, needed or len(children), tuple(children))
