# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pod groups: the scheduling unit, its minimums, and what a PodGroup's status remembers."""

import enum
from dataclasses import dataclass
from typing import NamedTuple


class GroupKey(NamedTuple):
    """The namespace and name of a group; `str` gives `namespace/name`.

    The name of the implied group of a pod without one begins with a slash, as no PodGroup's can;
    `str` gives `namespace/name (pod)`.
    """

    namespace: str
    name: str

    def __str__(self) -> str:
        if self.name.startswith("/"):
            return f"{self.namespace}{self.name} (pod)"
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Role:
    """A role of a group, with a minimum of its own."""

    name: str
    min_member: int


class OnIncomplete(enum.StrEnum):
    """What to do when a gang is bound below its minimum (semantics §4.3)."""

    REPAIR = "Repair"
    KEEP = "Keep"
    RESTART = "Restart"


@dataclass(frozen=True, slots=True)
class Memory:
    """What status keeps of a group's present incarnation, read back at start (semantics §2.2).

    Attributes:
        incarnation: identity of the members' present life; "" = none known.
        started: server time at which the floor was first Running together, seconds since the
            epoch; None = not yet.
        succeeded: members that succeeded in this incarnation, monotonic within it.
        roles: the same per role, `(role, count)`.
        attempts: how often a plan was tried.
        initially_scheduled: condition InitiallyScheduled stands at True.
    """

    incarnation: str = ""
    started: float | None = None
    succeeded: int = 0
    roles: tuple[tuple[str, int], ...] = ()
    attempts: int = 0
    initially_scheduled: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A PodGroup object, as far as scheduling reads it.

    Attributes:
        min_member: the group's own minimum.
        roles: roles with minimums of their own; every one holds as well as the group's.
        min_resources: capacity the whole group needs before any member starts, `(name, amount)`
            in name order; CPU in milli, everything else in whole units.
        timeout: seconds that bound every wait which holds capacity; 0 = the configured default.
        priority_class: may lower the group's priority; "" = none.
        generation: metadata.generation, for observedGeneration.
        annotations: those that some plugin declared, `(key, value)` in key order.
        on_incomplete: what to do when it is bound below its minimum.
        owner: kind and UID of its controller, `kind/uid`; "" = none.
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

    @property
    def family(self) -> str:
        """Who shares reservations: the groups of one namespace and controller; "" = nobody.

        Whoever may write a PodGroup may name any controller, so the namespace is part of it.
        """
        return f"{self.key.namespace}/{self.owner}" if self.owner else ""

    def minimums(self) -> tuple[tuple[str, int], ...]:
        """Every role's minimum, `(role, minimum)`."""
        return tuple((role.name, role.min_member) for role in self.roles)
