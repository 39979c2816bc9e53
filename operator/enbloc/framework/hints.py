# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Cluster events and hints: which waiting groups could an event help?"""

import enum
from dataclasses import dataclass

import msgspec

from enbloc.model.groups import GroupKey
from enbloc.model.ledger import Fact
from enbloc.model.node import Node
from enbloc.model.pods import Pod


class Resource(enum.StrEnum):
    """What kind of object an event is about, by kube-scheduler's names."""

    POD = "Pod"
    NODE = "Node"
    NAMESPACE = "Namespace"
    SERVICE = "Service"
    POD_GROUP = "PodGroup"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "StorageClass"
    CSI_NODE = "CSINode"
    CSI_DRIVER = "CSIDriver"
    CSI_STORAGE_CAPACITY = "CSIStorageCapacity"
    VOLUME_ATTACHMENT = "VolumeAttachment"
    RESOURCE_CLAIM = "ResourceClaim"
    RESOURCE_SLICE = "ResourceSlice"
    DEVICE_CLASS = "DeviceClass"
    ANY = "*"


class Action(enum.IntFlag):
    """What happened to an object; several may be joined with `|`."""

    ADD = enum.auto()
    DELETE = enum.auto()
    UPDATE_ALLOCATABLE = enum.auto()
    UPDATE_LABEL = enum.auto()
    UPDATE_TAINT = enum.auto()
    UPDATE_CONDITION = enum.auto()
    UPDATE_ANNOTATION = enum.auto()
    UPDATE_DECLARED_FEATURE = enum.auto()
    UPDATE_SCALE_DOWN = enum.auto()
    UPDATE_TOLERATION = enum.auto()
    UPDATE_GATES = enum.auto()
    UPDATE_MINIMUM = enum.auto()
    UPDATE_GENERATED_CLAIM = enum.auto()
    UPDATE_OTHER = enum.auto()
    UPDATE = (
        UPDATE_ALLOCATABLE
        | UPDATE_LABEL
        | UPDATE_TAINT
        | UPDATE_CONDITION
        | UPDATE_ANNOTATION
        | UPDATE_DECLARED_FEATURE
        | UPDATE_SCALE_DOWN
        | UPDATE_TOLERATION
        | UPDATE_GATES
        | UPDATE_MINIMUM
        | UPDATE_GENERATED_CLAIM
        | UPDATE_OTHER
    )
    ALL = ADD | DELETE | UPDATE


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A pattern in a plugin's `events`: a resource and the actions that interest it.

    A pod that frees its capacity (deleted, finished) is `Pod`/`DELETE`.
    """

    resource: Resource
    action: Action


class Happening(msgspec.Struct, frozen=True, gc=False):
    """An event that happened, as a hint sees it.

    Attributes:
        pod: the pod as it is now (as it was, when it is gone), for events of pods.
        old_pod: the pod as it was before an update.
        node: the node as it is now (as it was, when it is gone), for events of nodes.
        old_node: the node as it was before an update.
        served: extended resources that devices serve on nodes that do not offer them, for events of
            nodes.
        group: the group concerned, for events of groups and of members, without the run: compare it
            with `facts.key.podgroup`.
        fact: the object as it is now (as it was, when it is gone), for events of volumes and
            devices.
        old_fact: the object as it was before an update.
    """

    resource: Resource
    action: Action
    pod: Pod | None = None
    old_pod: Pod | None = None
    node: Node | None = None
    old_node: Node | None = None
    served: frozenset[str] = frozenset()
    group: GroupKey | None = None
    fact: Fact | None = None
    old_fact: Fact | None = None

    def matches(self, pattern: ClusterEvent) -> bool:
        """Whether this event matches `pattern`."""
        same = pattern.resource in (self.resource, Resource.ANY)
        return same and bool(pattern.action & self.action)


class RefusalExpired(Happening, frozen=True, gc=False):
    """Refusals by a plugin's memory have expired; only that plugin is told.

    Attributes:
        group: whose refusals; None = any group's.
        plugin: the name of the plugin.
    """

    resource: Resource = Resource.ANY
    action: Action = Action.ALL
    plugin: str = ""


class Hint(enum.Enum):
    """What `hint` answers: QUEUE if the event could help the group, SKIP if it cannot."""

    QUEUE = "queue"
    SKIP = "skip"
