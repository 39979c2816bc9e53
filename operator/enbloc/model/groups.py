# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pod groups: the scheduling unit, its minimums, and what a PodGroup's status stores."""

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
        run_number: distinguishes overlapping runs of one PodGroup, within one process; later ones
            are larger. 0 = as pods and PodGroups name it.
    """

    namespace: str
    name: str
    run_number: int = 0

    @property
    def podgroup(self) -> "GroupKey":
        """The key as pods and the PodGroup name it, without the run."""
        return self._replace(run_number=0) if self.run_number else self

    def __str__(self) -> str:
        if self.name.startswith("/"):
            return f"{self.namespace}{self.name} (pod)"
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Role:
    """A role of a group, with a minimum of its own.

    Attributes:
        parent: the sub-group that it belongs to; "" = the PodGroup.
        pod_group: pods whose `spec.schedulingGroup` names this PodGroup are members in this role;
            "" = only pods that name the group itself are.
    """

    name: str
    min_member: int
    parent: str = ""
    pod_group: str = ""


@dataclass(frozen=True, slots=True)
class SubGroup:
    """An inner node of a group's tree: how many of its children must start.

    Attributes:
        min_group_count: how many of the roles and sub-groups that name it as parent; 0 = all.
        parent: another sub-group; "" = the PodGroup.
    """

    name: str
    min_group_count: int = 0
    parent: str = ""


class OnIncomplete(enum.StrEnum):
    """What to do if a gang is bound below its minimum (semantics §4.3)."""

    REPAIR = "Repair"
    KEEP = "Keep"
    RESTART = "Restart"


class Relaunch(msgspec.Struct, frozen=True, gc=False):
    """What status stores about a run that was relaunched: no member of it was bound any more.

    Attributes:
        succeeded: members that had succeeded by then; they are not held.
        minimums: the captured floor of its first start, `(role, minimum)`, "" = the group's own;
            empty = it never started.
        roles: of these members, those of each role, `(role, count)`.
        latest: server time at which the last of these members was bound; None = unknown.
    """

    succeeded: int
    minimums: tuple[tuple[str, int], ...] = ()
    roles: tuple[tuple[str, int], ...] = ()
    latest: float | None = None


class RunMemory(msgspec.Struct, frozen=True, gc=False):
    """What status stores about one run of a group's members (semantics §2.2).

    Attributes:
        name: of the run.
        owners: its members' owners, the first 32.
        minimums: the captured floor, `(role, minimum)`, "" = the group's own; empty = none.
        group_counts: how many children sufficed then, `(sub-group, count)`, "" = the PodGroup;
            empty = there is no tree.
        scheduled: server time when its floor was first held; None = not yet.
        started: server time when the floor last began to run together; None = not yet, or no
            member has been bound since.
        succeeded: members that succeeded in it.
        roles: succeeded members per role, `(role, count)`.
        queue_time: its place in the queue, server seconds; None = it has none yet.
        plan: the last plan for which a Binding was sent; "" = none.
        relaunch: what was known when it was last relaunched; None = it was not.
    """

    name: str
    owners: tuple[str, ...] = ()
    minimums: tuple[tuple[str, int], ...] = ()
    scheduled: float | None = None
    started: float | None = None
    succeeded: int = 0
    roles: tuple[tuple[str, int], ...] = ()
    queue_time: float | None = None
    plan: str = ""
    group_counts: tuple[tuple[str, int], ...] = ()
    relaunch: Relaunch | None = None


#: How many runs status holds at most, as in the schema.
MOST_RUNS_KEPT: Final = 16


@dataclass(frozen=True, slots=True)
class GroupMemory:
    """What status stores about a group, read back at start (semantics §2.2).

    Attributes:
        run_name: of the members' newest run; "" = none known.
        started: as in `RunMemory`, of this run.
        succeeded: members that succeeded in this run, monotonic within it.
        roles: succeeded members per role, `(role, count)`.
        attempts: how often a plan was tried for this run.
        initially_scheduled: condition InitiallyScheduled is True.
        runs: the runs that still matter, the newest last.
        expected: how many members the owners of the newest run can run at once from now on,
            according to the controller; None = unknown.
        preempted: who preempted members since the floor was last bound, as condition
            DisruptionTarget says it; "" = none were preempted.
        last_attempt: when a plan was last tried for this run, server seconds; None = never.
    """

    run_name: str = ""
    started: float | None = None
    succeeded: int = 0
    roles: tuple[tuple[str, int], ...] = ()
    attempts: int = 0
    initially_scheduled: bool = False
    runs: tuple[RunMemory, ...] = ()
    expected: int | None = None
    preempted: str = ""
    last_attempt: float | None = None

    def expected_of(self, run_name: str) -> int | None:
        """How many members the owners of this run can run at once; None = unknown."""
        return self.expected if self.run_name in ("", run_name) else None


@dataclass(frozen=True, slots=True)
class Group:
    """The parts of a PodGroup object that scheduling reads.

    Attributes:
        min_member: the group's own minimum.
        roles: roles with minimums of their own, which apply in addition to the group's; with a
            tree, only those of chosen roles do.
        sub_groups: the inner nodes of the tree.
        min_group_count: how many of the children without a parent are needed; 0 = all.
        min_resources: capacity the whole group needs before any member starts, `(name, amount)`
            in name order; CPU in milli, everything else in whole units.
        timeout: limit of every wait that holds capacity, in seconds; 0 = the configured default.
        priority_class: may lower the group's priority; "" = none.
        generation: metadata.generation, for observedGeneration.
        annotations: the annotations that some plugin declared, `(key, value)` in key order.
        on_incomplete: what to do if it is bound below its minimum.
        owner: the kind and UID of its controller, `kind/uid`; "" = none.
        writers: the field managers of enbloc schedulers that own a part of its status, in order.
        derived: it was made for another object, which need not list every role that its pods name.
        checkpointed: when the work of all members was last saved, as `Pod.checkpointed`.
        topology: where its members must be placed; None = anywhere.
        topology_parts: further constraints for the members of single roles.
        labels: the PodGroup's labels, `(key, value)` in key order.
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
    memory: GroupMemory = GroupMemory()
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
    def structure(self) -> Tree | None:
        """Its roles and sub-groups, even if all are needed; None = it counts only roles."""
        if not (self.sub_groups or self.min_group_count):
            return None
        return tree_of(self.roles, self.sub_groups, self.min_group_count)

    @property
    def tree(self) -> Tree | None:
        """Which roles and sub-groups together suffice; None = every role is needed."""
        tree = self.structure
        return tree if tree is not None and tree.chooses else None

    @property
    def least(self) -> int:
        """The fewest members that are needed, whichever sub-groups start."""
        tree = self.tree
        least = tree.least(dict(self.minimums())) if tree is not None else 0
        return max(self.min_member, least)

    def reached(self, counts: Counter[str]) -> bool:
        """Whether these counts of members by role ("" = without one) meet every minimum."""
        if counts.total() < self.min_member:
            return False
        whole = {role.name for role in self.roles if counts[role.name] >= role.min_member}
        tree = self.tree
        return tree.holds(whole.__contains__) if tree else len(whole) == len(self.roles)

    @property
    def owner_uid(self) -> str:
        """The UID of its controller; "" = none."""
        return self.owner.partition("/")[2]

    @property
    def family(self) -> str:
        """Groups with the same family (namespace and controller) share reservations; "" = none.

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
    """Build the tree of a PodGroup that has one."""
    return _node("", min_group_count, roles, sub_groups)


def _node(name: str, needed: int, roles: Sequence[Role], groups: Sequence[SubGroup]) -> Tree:
    children: list[Child] = [role.name for role in roles if role.parent == name]
    children += [
        _node(group.name, group.min_group_count, roles, groups)
        for group in groups
        if group.parent == name
    ]
    return Tree(name, needed or len(children), tuple(children))
