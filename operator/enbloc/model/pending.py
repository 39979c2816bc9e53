# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pending: what a group that waits, or a pod without one, is called, and since when it waits."""

from typing import Protocol

from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod


class Pending:
    """A base of who waits, which has these as fields.

    Attributes:
        key: of the group; that of the implied group for a pod without one.
        pending: its members without a node, the oldest first; one at least.
    """

    __slots__ = ()
    key: GroupKey
    pending: tuple[Pod, ...]

    @property
    def solo(self) -> bool:
        """It is a pod without a group."""
        return self.key.name.startswith("/")

    @property
    def name(self) -> str:
        """For people: `namespace/name`, with "pod " before it for a pod without a group."""
        return f"pod {self.pending[0].key}" if self.solo else str(self.key)

    @property
    def short_name(self) -> str:
        """For people, within its namespace: "pod/" before it for a pod without a group."""
        return f"pod/{self.pending[0].key.name}" if self.solo else self.key.name

    @property
    def owner(self) -> str:
        """What made its pods, as "Job/train"; "" = nothing did."""
        owner = self.pending[0].owner
        return f"{owner.kind}/{owner.name}" if owner is not None else ""

    @property
    def since(self) -> float:
        """When the first of those members was created, server seconds."""
        return min(pod.created for pod in self.pending)


class Told(Protocol):
    """Who waits, with what is told of it."""

    @property
    def reason(self) -> str:
        """Why it has no nodes, as a condition says it."""
        ...

    @property
    def message(self) -> str:
        """The same in a sentence; "" = nothing keeps it waiting."""
        ...


def why(waiting: Told) -> str:
    """Reason and message, as in a condition; "" = nothing keeps it waiting."""
    return f"{waiting.reason}: {waiting.message}" if waiting.message else ""
