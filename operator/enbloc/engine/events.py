# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What happened: everything the engine can be told."""

import enum
from dataclasses import dataclass

from enbloc.model.binding import Cause
from enbloc.model.groups import Group, GroupKey
from enbloc.model.ledger import Fact
from enbloc.model.node import Node
from enbloc.model.pods import Pod, PodKey, PodUID
from enbloc.model.selectors import Labels, Selector
from enbloc.model.workloads import WorkloadKey


class Stream(enum.StrEnum):
    """The streams that must have synced before anything is decided."""

    PODS = "pods"
    NODES = "nodes"
    GROUPS = "podgroups"
    PRIORITY_CLASSES = "priorityclasses"
    NAMESPACES = "namespaces"
    SERVICES = "services"
    REPLICATION_CONTROLLERS = "replicationcontrollers"
    REPLICA_SETS = "replicasets"
    STATEFUL_SETS = "statefulsets"


@dataclass(frozen=True, slots=True)
class PodSeen:
    """A pod was added or changed."""

    pod: Pod


@dataclass(frozen=True, slots=True)
class PodGone:
    """A pod was deleted."""

    key: PodKey
    uid: PodUID


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """A node was added or changed."""

    node: Node


@dataclass(frozen=True, slots=True)
class NodeGone:
    """A node was deleted."""

    name: str


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """A PodGroup was added or changed."""

    group: Group


@dataclass(frozen=True, slots=True)
class GroupGone:
    """A PodGroup was deleted."""

    key: GroupKey
    uid: str


@dataclass(frozen=True, slots=True)
class PriorityClassSeen:
    """A PriorityClass was added or changed."""

    name: str
    value: int


@dataclass(frozen=True, slots=True)
class PriorityClassGone:
    """A PriorityClass was deleted."""

    name: str


@dataclass(frozen=True, slots=True)
class NamespaceSeen:
    """A namespace was added or changed."""

    name: str
    labels: Labels


@dataclass(frozen=True, slots=True)
class NamespaceGone:
    """A namespace was deleted."""

    name: str


@dataclass(frozen=True, slots=True)
class WorkloadSeen:
    """A Service or a controller with a selector was added or changed; None selects nothing."""

    key: WorkloadKey
    selector: Selector | None


@dataclass(frozen=True, slots=True)
class WorkloadGone:
    """A Service or a controller with a selector was deleted."""

    key: WorkloadKey


@dataclass(frozen=True, slots=True)
class FactSeen:
    """An object that tells of volumes or devices was added or changed."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class FactGone:
    """Such an object was deleted.

    Attributes:
        kind: the Kubernetes kind.
        key: its name, with "namespace/" before it where the kind has one.
    """

    kind: str
    key: str


@dataclass(frozen=True, slots=True)
class Synced:
    """A stream has delivered its whole first list."""

    stream: Stream


@dataclass(frozen=True, slots=True)
class SlotsFree:
    """The executor can take so many more Binds (its capacity at first, one per settled Bind)."""

    count: int


@dataclass(frozen=True, slots=True)
class PreBound:
    """All PreBind plugins of a member succeeded."""

    plan: str
    uid: PodUID


@dataclass(frozen=True, slots=True)
class PreBindFailed:
    """A PreBind plugin refused or failed.

    Attributes:
        plugin: the plugin that refused; its events may help. "" = it failed.
    """

    plan: str
    uid: PodUID
    message: str
    plugin: str = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """The API server accepted the Binding; the watch has yet to confirm it."""

    plan: str
    uid: PodUID


@dataclass(frozen=True, slots=True)
class BindRefused:
    """The Binding was refused, for certain: the member is not bound by it."""

    plan: str
    uid: PodUID
    cause: Cause
    message: str


@dataclass(frozen=True, slots=True)
class BindUnknown:
    """A Bind may or may not have happened; the executor is sending it again."""

    plan: str
    uid: PodUID


@dataclass(frozen=True, slots=True)
class Evicted:
    """The API server accepted to delete this pod; the watch will show it terminating."""

    uid: PodUID


@dataclass(frozen=True, slots=True)
class EvictRefused:
    """A pod was not evicted.

    Attributes:
        retry_at: when it may be asked again, engine clock; infinity = never (it is gone, another
            one, or its namespace is terminating).
    """

    uid: PodUID
    message: str
    retry_at: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What an extender said to an Ask.

    Attributes:
        question: which Ask this answers.
        feasible: the nodes that it leaves; None = it was not asked to filter.
        refused: `(node, why)`; another placing of other pods may help.
        unresolvable: `(node, why)`; nothing helps but a change of the node.
        scores: `(node, score)`, 0 to 10 as it gave them.
        problem: why the question could not be answered; "" = it was.
    """

    question: str
    feasible: tuple[str, ...] | None = None
    refused: tuple[tuple[str, str], ...] = ()
    unresolvable: tuple[tuple[str, str], ...] = ()
    scores: tuple[tuple[str, int], ...] = ()
    problem: str = ""


Event = (
    PodSeen
    | PodGone
    | NodeSeen
    | NodeGone
    | GroupSeen
    | GroupGone
    | PriorityClassSeen
    | PriorityClassGone
    | NamespaceSeen
    | NamespaceGone
    | WorkloadSeen
    | WorkloadGone
    | FactSeen
    | FactGone
    | Synced
    | SlotsFree
    | PreBound
    | PreBindFailed
    | Bound
    | BindRefused
    | BindUnknown
    | Evicted
    | EvictRefused
    | Answer
)
