# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Node: the content of one Node object, and how two of them differ."""

import enum
from dataclasses import dataclass

from enbloc.model.taints import Taint


@dataclass(frozen=True, slots=True)
class Node:
    """The parts of a Node object that scheduling reads.

    Attributes:
        labels: `(key, value)` in key order.
        unschedulable: `spec.unschedulable` (cordoned).
        allocatable: `(resource name, amount)` in name order; CPU in milli, the rest in whole units.
        ready: its condition Ready is True.
        images: every name of every image on it, `(name, bytes)` in name order.
        features: `status.declaredFeatures`, sorted.
        annotations: the annotations that some plugin declared, `(key, value)` in key order.
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
    images: tuple[tuple[str, int], ...] = ()
    features: tuple[str, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()
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
    IMAGES = enum.auto()
    FEATURES = enum.auto()
    ANNOTATIONS = enum.auto()


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
    if old.images != new.images:
        change |= NodeChange.IMAGES
    if old.features != new.features:
        change |= NodeChange.FEATURES
    if old.annotations != new.annotations:
        change |= NodeChange.ANNOTATIONS
    return change
