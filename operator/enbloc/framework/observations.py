# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Observations: what nodes and kubelets do, as a plugin that learns from it is told."""

from dataclasses import dataclass

import msgspec

from enbloc.model.groups import GroupKey
from enbloc.model.node import Node
from enbloc.model.pods import Pod


class PodChanged(msgspec.Struct, frozen=True, gc=False):
    """A pod came to a node, or its phase there changed.

    Attributes:
        old: as it was known before; None = it was not known.
        pod: as it is; it is on a node.
        ours: a Binding that this process sent put it there. Of a pod that was bound before, nobody
            can tell who did: whoever may write a pod may write a node and a binding record into it.
    """

    old: Pod | None
    pod: Pod
    ours: bool


@dataclass(frozen=True, slots=True)
class NodeChanged:
    """A node was added, is another than before, or is gone.

    Attributes:
        name: its name.
        old: as it was known before; None = it was added.
        node: as it is; None = it is gone.
        gangs: the gangs with members of ours bound to it.
    """

    name: str
    old: Node | None
    node: Node | None
    gangs: tuple[GroupKey, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupGone:
    """A group has no members that could be placed any more: it finished, or was deleted."""

    group: GroupKey


Observation = PodChanged | NodeChanged | GroupGone


@dataclass(frozen=True, slots=True)
class NodeNote:
    """What to write on a node as a Kubernetes event.

    Attributes:
        reason: in CamelCase, 128 characters at most.
        note: one sentence without a full stop.
        warning: the event's type is Warning, not Normal.
    """

    node: str
    reason: str
    note: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Expired:
    """What time has ended.

    Attributes:
        groups: whose refusals may be over; None stands for every group.
        notes: what to write on nodes.
    """

    groups: tuple[GroupKey | None, ...] = ()
    notes: tuple[NodeNote, ...] = ()
