# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Observations: events of nodes and kubelets for plugins that learn from them."""

from dataclasses import dataclass

import msgspec

from enbloc.model.groups import GroupKey
from enbloc.model.node import Node
from enbloc.model.pods import Pod


class PodChanged(msgspec.Struct, frozen=True, gc=False):
    """A pod came to a node, or its phase there changed.

    Attributes:
        old: the pod as it was known before; None = it was not known.
        pod: the pod as it is now, on a node.
        ours: a Binding that this process sent put it there. False for pods bound earlier: their
            binder is unknown, as whoever may write a pod may write a node and a binding record into
            it.
    """

    old: Pod | None
    pod: Pod
    ours: bool


@dataclass(frozen=True, slots=True)
class NodeChanged:
    """A node was added, changed or removed.

    Attributes:
        name: the node's name.
        old: the node as it was known before; None = it was added.
        node: the node as it is now; None = it is gone.
        gangs: the gangs that have members which we bound to it.
    """

    name: str
    old: Node | None
    node: Node | None
    gangs: tuple[GroupKey, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupGone:
    """A group has no members left to place: it finished or was deleted."""

    group: GroupKey


Observation = PodChanged | NodeChanged | GroupGone


@dataclass(frozen=True, slots=True)
class NodeNote:
    """What to write on a node as a Kubernetes event.

    Attributes:
        reason: the event's reason, in CamelCase, at most 128 characters.
        note: the event's note, one sentence without a full stop.
        warning: the event's type is Warning, not Normal.
    """

    node: str
    reason: str
    note: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Expired:
    """What `expire` has ended.

    Attributes:
        groups: the groups whose refusals may be over; a None among them = every group.
        notes: events to write on nodes.
    """

    groups: tuple[GroupKey | None, ...] = ()
    notes: tuple[NodeNote, ...] = ()
