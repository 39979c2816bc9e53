# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Events: everything that the engine can be told."""

import enum
import math

import msgspec

from enbloc.framework.extenders import NodeVictims
from enbloc.model.binding import RefusalCause
from enbloc.model.budgets import Budget
from enbloc.model.groups import Group, GroupKey
from enbloc.model.ledger import Fact
from enbloc.model.node import Node
from enbloc.model.pods import Pod, PodKey, PodUID
from enbloc.model.selectors import Labels, Selector
from enbloc.model.topology import Topology
from enbloc.model.workloads import WorkloadKey


class Stream(enum.StrEnum):
    """The streams that must have synced before anything is decided.

    LEASE has no objects: it syncs when this process may decide. Until then, whatever this process
    is told counts as part of the first lists. So when a standby takes over, it knows of each group
    what a process that starts at that moment would know.
    """

    PODS = "pods"
    NODES = "nodes"
    GROUPS = "podgroups"
    PRIORITY_CLASSES = "priorityclasses"
    NAMESPACES = "namespaces"
    SERVICES = "services"
    REPLICATION_CONTROLLERS = "replicationcontrollers"
    REPLICA_SETS = "replicasets"
    STATEFUL_SETS = "statefulsets"
    POD_DISRUPTION_BUDGETS = "poddisruptionbudgets"
    LEASE = "lease"


class PodSeen(msgspec.Struct, frozen=True):
    """A pod was added or changed."""

    pod: Pod


class PodGone(msgspec.Struct, frozen=True):
    """A pod was deleted."""

    key: PodKey
    uid: PodUID


class NodeSeen(msgspec.Struct, frozen=True):
    """A node was added or changed."""

    node: Node


class NodeGone(msgspec.Struct, frozen=True):
    """A node was deleted."""

    name: str


class GroupSeen(msgspec.Struct, frozen=True):
    """A PodGroup was added or changed."""

    group: Group


class GroupGone(msgspec.Struct, frozen=True):
    """A PodGroup was deleted."""

    key: GroupKey
    uid: str


class PriorityClassSeen(msgspec.Struct, frozen=True):
    """A PriorityClass was added or changed.

    Attributes:
        preempts: its pods may preempt lower priorities; not with `preemptionPolicy: Never`.
        default: it is the class of pods that name none (`globalDefault`).
    """

    name: str
    value: int
    preempts: bool = True
    default: bool = False


class PriorityClassGone(msgspec.Struct, frozen=True):
    """A PriorityClass was deleted."""

    name: str


class NamespaceSeen(msgspec.Struct, frozen=True):
    """A namespace was added or changed."""

    name: str
    labels: Labels


class NamespaceGone(msgspec.Struct, frozen=True):
    """A namespace was deleted."""

    name: str


class WorkloadSeen(msgspec.Struct, frozen=True):
    """A Service or a controller with a selector was added or changed; None selects nothing."""

    key: WorkloadKey
    selector: Selector | None


class WorkloadGone(msgspec.Struct, frozen=True):
    """A Service or a controller with a selector was deleted."""

    key: WorkloadKey


class FactSeen(msgspec.Struct, frozen=True):
    """An object about volumes or devices was added or changed."""

    fact: Fact


class FactGone(msgspec.Struct, frozen=True):
    """An object about volumes or devices was deleted.

    Attributes:
        kind: the Kubernetes kind.
        key: its name, preceded by "namespace/" if the kind is namespaced.
    """

    kind: str
    key: str


#: The objects of which tables are made, as the API server shows them; the log and dumps hold these.
ClusterFact = (
    NodeSeen
    | NodeGone
    | NamespaceSeen
    | NamespaceGone
    | WorkloadSeen
    | WorkloadGone
    | FactSeen
    | FactGone
)


class BudgetSeen(msgspec.Struct, frozen=True):
    """A PodDisruptionBudget was added or changed."""

    budget: Budget


class BudgetGone(msgspec.Struct, frozen=True):
    """A PodDisruptionBudget was deleted.

    Attributes:
        key: "namespace/name".
    """

    key: str


class TopologySeen(msgspec.Struct, frozen=True):
    """A Topology was added or changed."""

    topology: Topology


class TopologyGone(msgspec.Struct, frozen=True):
    """A Topology was deleted."""

    name: str


class Synced(msgspec.Struct, frozen=True):
    """A stream has delivered its whole first list; for LEASE, this process may decide."""

    stream: Stream


class SlotsFree(msgspec.Struct, frozen=True):
    """The executor can take so many more Binds (its capacity at first, then as Binds settle)."""

    count: int


class PreBound(msgspec.Struct, frozen=True):
    """All PreBind plugins of a member succeeded."""

    plan: str
    uid: PodUID


class PreBindFailed(msgspec.Struct, frozen=True):
    """A PreBind plugin refused or failed.

    Attributes:
        plugin: the plugin that refused; its events may help. "" = it failed.
    """

    plan: str
    uid: PodUID
    message: str
    plugin: str = ""


class Unreserved(msgspec.Struct, frozen=True):
    """What PreBind plugins did for a member of an abandoned plan is undone, as far as possible.

    None of their requests is under way any more.
    """

    plan: str
    uid: PodUID


class Bound(msgspec.Struct, frozen=True, gc=False):
    """The API server accepted the Binding; the watch has yet to confirm it."""

    plan: str
    uid: PodUID


class BindRefused(msgspec.Struct, frozen=True):
    """The Binding was refused, for certain: the member is not bound by it."""

    plan: str
    uid: PodUID
    cause: RefusalCause
    message: str


class BindUnknown(msgspec.Struct, frozen=True):
    """A Bind may or may not have happened; the executor is sending it again."""

    plan: str
    uid: PodUID


class Evicted(msgspec.Struct, frozen=True):
    """The API server accepted the eviction of this pod; the watch will show it terminating."""

    uid: PodUID


class EvictRefused(msgspec.Struct, frozen=True):
    """A pod was not evicted.

    Attributes:
        retry_at: when it may be requested again, engine clock; infinity = never.
    """

    uid: PodUID
    message: str
    retry_at: float

    @property
    def final(self) -> bool:
        """Whether it is not requested again: the pod is gone or another, or its namespace ends."""
        return self.retry_at == math.inf


class EvictStopped(msgspec.Struct, frozen=True):
    """Nothing was sent to delete this pod, nor will be: its eviction was stopped."""

    uid: PodUID


class ExtenderAnswer(msgspec.Struct, frozen=True):
    """An extender's answer to an AskExtender.

    Attributes:
        question: that of the AskExtender which this answers.
        feasible: the nodes that it leaves; None = it was not asked to filter.
        refused: `(node, why)`; another placement of other pods may help.
        unresolvable: `(node, why)`; only a change of the node helps.
        scores: `(node, score)`, 0 to 10 as it gave them.
        candidates: those that it leaves, with its victims, which may differ.
        problem: why the question could not be answered; "" = it was.
    """

    question: str
    feasible: tuple[str, ...] | None = None
    refused: tuple[tuple[str, str], ...] = ()
    unresolvable: tuple[tuple[str, str], ...] = ()
    scores: tuple[tuple[str, int], ...] = ()
    candidates: tuple[NodeVictims, ...] = ()
    problem: str = ""


Event = (
    PodSeen
    | PodGone
    | ClusterFact
    | GroupSeen
    | GroupGone
    | PriorityClassSeen
    | PriorityClassGone
    | BudgetSeen
    | BudgetGone
    | TopologySeen
    | TopologyGone
    | Synced
    | SlotsFree
    | PreBound
    | PreBindFailed
    | Unreserved
    | Bound
    | BindRefused
    | BindUnknown
    | Evicted
    | EvictRefused
    | EvictStopped
    | ExtenderAnswer
)
