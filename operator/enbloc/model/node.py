# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Node: what one Node object says, and what makes two of them differ."""

import enum
from dataclasses import dataclass

from enbloc.model.taints import Taint


@dataclass(frozen=True, slots=True)
class Node:
    """A Node object, as far as scheduling reads it.

    Attributes:
        labels: `(key, value)` in key order.
        unschedulable: `spec.unschedulable` (cordoned).
        allocatable: `(resource name, amount)` in name order; CPU in milli, the rest in whole units.
        ready: its condition Ready is True.
        resource_version: of the object this was read from, as an integer; 0 = unknown.
        problem: what could not be read, with the fix; "" = nothing. That part counts as absent.
    """

    name: str
    uid: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    allocatable: tuple[tuple[str, int], ...] = ()
    ready: bool = True
    resource_version: int = 0
    problem: str = ""


class NodeChange(enum.IntFlag):
    """What `Nodes.put` changed; 0 = nothing that scheduling reads."""

    ADDED = enum.auto()
    ALLOCATABLE = enum.auto()
    LABELS = enum.auto()
    TAINTS = enum.auto()
    UNSCHEDULABLE = enum.auto()
    READY = enum.auto()


def difference(old: Node | None, new: Node) -> NodeChange:
    """What makes `new` differ from `old` for scheduling."""
    if old is None:
        return NodeChange.ADDED
    change = NodeChange(0)
    if old.allocatable != new.allocatable:
        change |= NodeChange.ALLOCATABLE
    if old.labels != new.labels:
        change |= NodeChange.LABELS
    if old.taints != new.taints:
        change |= NodeChange.TAINTS
    if old.unschedulable != new.unschedulable:
        change |= NodeChange.UNSCHEDULABLE
    if old.ready != new.ready:
        change |= NodeChange.READY
    return change
