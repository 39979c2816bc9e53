# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pending: the name of a waiting group or pod without a group, and since when it waits."""

from typing import Protocol

from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod


def name_of(key: GroupKey) -> str:
    """A group for people, `namespace/name`; an implied one as "pod namespace/name"."""
    solo = key.name.startswith("/")
    return f"pod {key.namespace}{key.name}" if solo else str(key)


class Pending:
    """Base class of waiting groups, and of waiting pods without one; subclasses have these fields.

    Attributes:
        key: the group's key; for a pod without a group, that of its implied group.
        pending: its members without a node, the oldest first; one at least.
    """

    __slots__ = ()
    key: GroupKey
    pending: tuple[Pod, ...]

    @property
    def solo(self) -> bool:
        """Whether it is a pod without a group."""
        return self.key.name.startswith("/")

    @property
    def name(self) -> str:
        """For people: `namespace/name`, with "pod " before it for a pod without a group."""
        return name_of(self.key)

    @property
    def short_name(self) -> str:
        """For people, within its namespace: "pod/" before it for a pod without a group."""
        return f"pod/{self.pending[0].key.name}" if self.solo else self.key.name

    @property
    def owner(self) -> str:
        """The owner of its pods, as "Job/train"; "" = none."""
        owner = self.pending[0].owner
        return f"{owner.kind}/{owner.name}" if owner is not None else ""

    @property
    def since(self) -> float:
        """When the first of those members was created, server seconds."""
        return min(pod.created for pod in self.pending)


class WaitReport(Protocol):
    """A waiting group or pod, with the reason and message to report."""

    @property
    def reason(self) -> str:
        """Why it has no nodes, as a condition's reason."""
        ...

    @property
    def message(self) -> str:
        """Why it has no nodes, as a sentence; "" = nothing keeps it waiting."""
        ...


def why(waiting: WaitReport) -> str:
    """Reason and message, as in a condition; "" = nothing keeps it waiting."""
    return f"{waiting.reason}: {waiting.message}" if waiting.message else ""
