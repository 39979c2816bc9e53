# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Informers: turn the API server's streams into the engine's events."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from operator import attrgetter
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Raw

from enbloc.client import items
from enbloc.client.client import Client
from enbloc.client.items import HasMeta, Meta, MetaLike, Timing
from enbloc.client.paths import (
    HYPER_NODES,
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    SERVICES,
    STATEFUL_SETS,
    Resource,
)
from enbloc.client.reflector import Reflector
from enbloc.engine.events import (
    BudgetGone,
    BudgetSeen,
    Event,
    FactSeen,
    GroupGone,
    GroupSeen,
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    PriorityClassGone,
    PriorityClassSeen,
    Stream,
    TopologyGone,
    TopologySeen,
    WorkloadGone,
    WorkloadSeen,
)
from enbloc.framework.profile import Profile
from enbloc.live.event_queue import EventQueue
from enbloc.live.fact_informers import DiscoveredInformer, FactKind, wanted
from enbloc.live.group_status import GroupObject
from enbloc.live.informer import Informer, OptionalObjects
from enbloc.live.malformed import MalformedObjects
from enbloc.live.object_watches import ObjectWatches
from enbloc.live.raw_nodes import RawNode
from enbloc.live.statuses import GroupStatuses, PodConditions
from enbloc.live.topology_kinds import TOPOLOGY_KINDS, TopologyKind
from enbloc.model.adoptions import adopted
from enbloc.model.groups import GroupKey
from enbloc.model.names import API_GROUP
from enbloc.model.node import Node
from enbloc.model.pods import Pod, PodKey, PodUID
from enbloc.model.selectors import Selector
from enbloc.model.topology import Topology, unread_name
from enbloc.model.workloads import WorkloadKey
from enbloc.telemetry import ActiveProblems
from enbloc.topology import HyperNodes
from enbloc.wire import codec
from enbloc.wire.auto_groups import AutoGroups
from enbloc.wire.budgets import BudgetObject, budget
from enbloc.wire.codec import NodeObject, PodGroupObject, PodObject
from enbloc.wire.hyper_nodes import HyperNodeObject, hyper_node
from enbloc.wire.objects import (
    Identity,
    NamespaceObject,
    ReplicaSetObject,
    ReplicationControllerObject,
    ServiceObject,
    StatefulSetObject,
)
from enbloc.wire.topologies import TopologyObject

T = TypeVar("T", bound=HasMeta)

#: What does not work without each resource that pods without a group do not need.
OPTIONAL: Final = {
    POD_GROUPS: OptionalObjects("pods without a group are scheduled, and groups are not"),
    PRIORITY_CLASSES: OptionalObjects("spec.priorityClassName of PodGroups has no effect"),
    POD_DISRUPTION_BUDGETS: OptionalObjects(
        "victims of a preemption are chosen without regard to them"
    ),
}
#: All fields of a pod except its resourceVersion.
_BUT_VERSION: Final = attrgetter(*(f.name for f in fields(Pod) if f.name != "resource_version"))


class PriorityClassObject(msgspec.Struct, gc=False):
    """A PriorityClass as the API server sends it."""

    metadata: Identity = msgspec.field(default_factory=Identity)
    value: int = 0
    preemption_policy: str | None = msgspec.field(default=None, name="preemptionPolicy")
    global_default: bool = msgspec.field(default=False, name="globalDefault")


@dataclass(frozen=True, slots=True)
class Informers:
    """Makes the informers that feed the engine.

    Attributes:
        client: the API.
        queue: where the events go.
        malformed: told of objects that cannot be read, or not in full.
        profiles: by schedulerName; problems of pods that name another are not reported.
        problems: told what keeps a stream from working.
        timing: how long the reflectors wait.
        auto: the groups of pods that name none.
        hyper_nodes: which HyperNodes the nodes are in.
    """

    client: Client
    queue: EventQueue
    malformed: MalformedObjects
    profiles: Mapping[str, Profile]
    problems: ActiveProblems
    timing: Timing | None = None
    auto: AutoGroups = field(default_factory=lambda: AutoGroups(unknown=True))
    hyper_nodes: HyperNodes = field(default_factory=HyperNodes)

    def every(
        self,
        conditions: PodConditions | None = None,
        statuses: GroupStatuses | None = None,
        raw: dict[str, Raw] | None = None,
        pods: Callable[[items.Item[PodObject]], None] | None = None,
        watches: ObjectWatches | None = None,
    ) -> tuple[Informer[Any], ...]:
        """All informers of the engine, that of pods first.

        Each argument, if given, is fed by its stream.
        """
        return (
            self.pods(conditions, pods),
            self.nodes(raw),
            self.groups(statuses),
            self.priority_classes(),
            self.budgets(),
            *self.topologies(),
            self.namespaces(),
            *self.workloads(),
            *self.facts(watches),
        )

    def pods(
        self,
        conditions: PodConditions | None = None,
        also: Callable[[items.Item[PodObject]], None] | None = None,
    ) -> Informer[PodObject]:
        """All pods; `conditions`, if given, learns what they show, and `also` gets each item.

        A change of a bound pod becomes an event only if a field that is read changed: most of what
        its kubelet writes changes none.
        """
        keep = self._declared()
        bound: dict[PodUID, Pod] = {}

        def seen(shown: PodObject) -> Event | None:
            pod = self.auto.pod(shown, codec.pod(shown, keep))
            if conditions is not None:
                conditions.seen(pod)
            if pod.node:
                known = bound.get(pod.uid)
                nothing_new = known is not None and _alike(known, pod)
                if nothing_new and not self.malformed.stands(PODS, shown.metadata):
                    return None
                bound[pod.uid] = pod
            else:  # a server that lags, or was restored, may show a bound pod as unbound
                bound.pop(pod.uid, None)
            return PodSeen(pod)

        def gone(meta: Meta) -> Event:
            bound.pop(PodUID(meta.uid), None)
            self.auto.gone(PodUID(meta.uid))
            if conditions is not None:
                conditions.gone(PodUID(meta.uid))
            return PodGone(PodKey(meta.namespace, meta.name), PodUID(meta.uid))

        informer = self._informer(Stream.PODS, PODS, PodObject, seen, gone)
        informer.also = also
        return informer

    def nodes(self, raw: dict[str, Raw] | None = None) -> Informer[Any]:
        """All nodes; `raw`, if given, is kept up to date with their JSON, by name."""
        keep = self._declared()
        if raw is not None:
            return self._raw_nodes(raw, keep)
        return self._informer(
            Stream.NODES,
            NODES,
            NodeObject,
            lambda shown: self._node(codec.node(shown, keep)),
            lambda meta: self._node_gone(meta.name),
        )

    def _node(self, node: Node) -> Event:
        return NodeSeen(self.hyper_nodes.node(node))

    def _node_gone(self, name: str) -> Event:
        self.hyper_nodes.node_gone(name)
        return NodeGone(name)

    def _raw_nodes(self, raw: dict[str, Raw], keep: tuple[str, ...]) -> Informer[RawNode]:
        def seen(shown: RawNode) -> Event:
            raw[shown.metadata.name] = shown.json
            return self._node(codec.node(shown.plain, keep))

        def gone(meta: Meta) -> Event:
            raw.pop(meta.name, None)
            return self._node_gone(meta.name)

        return self._informer(Stream.NODES, NODES, RawNode, seen, gone)

    def groups(self, statuses: GroupStatuses | None = None) -> Informer[GroupObject]:
        """All PodGroups; `statuses`, if given, learns what they show."""
        keep = self._declared()

        def seen(shown: GroupObject) -> Event:
            if statuses is not None:
                statuses.seen(shown)
            plain = PodGroupObject(shown.metadata, shown.spec, shown.status)
            group = codec.group(plain, keep)
            self._regroup(self.auto.group(group.key, adopted(group.roles)))
            return GroupSeen(group)

        def gone(meta: Meta) -> Event:
            key = GroupKey(meta.namespace, meta.name)
            self._regroup(self.auto.group_gone(key))
            if statuses is not None:
                statuses.gone(key)
            return GroupGone(key, meta.uid)

        return self._informer(Stream.GROUPS, POD_GROUPS, GroupObject, seen, gone)

    def priority_classes(self) -> Informer[PriorityClassObject]:
        """All PriorityClasses."""
        return self._informer(
            Stream.PRIORITY_CLASSES,
            PRIORITY_CLASSES,
            PriorityClassObject,
            lambda shown: PriorityClassSeen(
                shown.metadata.name,
                shown.value,
                shown.preemption_policy != "Never",
                shown.global_default,
            ),
            lambda meta: PriorityClassGone(meta.name),
        )

    def budgets(self) -> Informer[BudgetObject]:
        """All PodDisruptionBudgets."""
        return self._informer(
            Stream.POD_DISRUPTION_BUDGETS,
            POD_DISRUPTION_BUDGETS,
            BudgetObject,
            lambda shown: BudgetSeen(budget(shown)),
            lambda meta: BudgetGone(f"{meta.namespace}/{meta.name}"),
        )

    def topologies(self) -> tuple[Informer[Any], ...]:
        """All Topologies, then other projects' kinds of them; the server may lack any kind."""
        return *map(self._topologies, TOPOLOGY_KINDS), self._hyper_nodes()

    def _topologies(self, kind: TopologyKind) -> Informer[TopologyObject]:
        return self._discovered(
            kind.resource,
            TopologyObject,
            (
                lambda shown: TopologySeen(kind.read(shown)),
                lambda meta: TopologyGone(kind.called(meta.name)),
            ),
            kind.versions,
            OptionalObjects(kind.without, kind.expendable, _unread_topologies(kind.resource)),
        )

    def _hyper_nodes(self) -> Informer[HyperNodeObject]:
        #: The problem of the last HyperNode seen. It is asked for right afterwards, and the event
        #: is about the Topology that all HyperNodes form, so it does not hold it.
        problem = ""

        def changed(nodes: Iterable[Node]) -> Event:
            for node in nodes:  # often all nodes, repeatedly
                self.queue.put_newest(node.name, NodeSeen(node))
            topology = self.hyper_nodes.topology
            return TopologySeen(topology) if topology else TopologyGone(HyperNodes.TOPOLOGY)

        def seen(shown: HyperNodeObject) -> Event:
            nonlocal problem
            found = hyper_node(shown)
            problem = found.problem
            return changed(self.hyper_nodes.put(found))

        def gone(meta: Meta) -> Event:
            return changed(self.hyper_nodes.remove(meta.name))

        return self._discovered(
            HYPER_NODES,
            HyperNodeObject,
            (seen, gone),
            (HYPER_NODES.version,),
            OptionalObjects(
                "PodGroups can name none of their tiers",
                expendable=True,
                unread=_unread_topologies(HYPER_NODES),
            ),
            lambda _: problem,
        )

    def namespaces(self) -> Informer[NamespaceObject]:
        """All namespaces; their labels say which workloads get groups."""

        def seen(shown: NamespaceObject) -> Event:
            name, labels = shown.metadata.name, shown.metadata.labels
            self._regroup(self.auto.namespace(name, labels or {}))
            return NamespaceSeen(name, codec.namespace_labels(shown))

        def gone(meta: Meta) -> Event:
            self.auto.namespace_gone(meta.name)
            return NamespaceGone(meta.name)

        return self._informer(Stream.NAMESPACES, NAMESPACES, NamespaceObject, seen, gone)

    def _regroup(self, pods: Iterable[Pod]) -> None:
        """Report pods that changed their group without a change of their own."""
        for pod in pods:
            self.queue.put(PodSeen(pod))

    def workloads(self) -> tuple[Informer[Any], ...]:
        """All Services, ReplicationControllers, ReplicaSets and StatefulSets, for selectors."""
        controller = codec.controller_selector
        return (
            self._selecting(Stream.SERVICES, SERVICES, ServiceObject, codec.service_selector),
            self._selecting(
                Stream.REPLICATION_CONTROLLERS,
                REPLICATION_CONTROLLERS,
                ReplicationControllerObject,
                controller,
            ),
            self._selecting(Stream.REPLICA_SETS, REPLICA_SETS, ReplicaSetObject, controller),
            self._selecting(Stream.STATEFUL_SETS, STATEFUL_SETS, StatefulSetObject, controller),
        )

    def facts(self, watches: ObjectWatches | None = None) -> tuple[Informer[Any], ...]:
        """All objects that describe volumes and devices; `watches`, if given, gets each item."""
        return tuple(self._facts(kind, watches) for kind in wanted(self.profiles.values()))

    def _facts(self, kind: FactKind, watches: ObjectWatches | None) -> Informer[Any]:
        informer = self._discovered(
            kind.resource,
            kind.shape,
            (kind.seen, kind.gone),
            kind.versions,
            OptionalObjects(kind.without),
        )
        if watches is not None:
            watches.follow(informer.reflector)
            informer.also = partial(watches.took, kind.resource.kind)
        return informer

    def _discovered(
        self,
        resource: Resource,
        shape: type[T],
        means: tuple[Callable[[T], Event], Callable[[Meta], Event]],
        versions: Sequence[str],
        optional: OptionalObjects,
        problem: Callable[[Event], str] | None = None,
    ) -> Informer[T]:
        return DiscoveredInformer(
            self.client,
            versions,
            self._reflector(resource, shape),
            means,
            self.queue,
            self.malformed,
            problem or self._problem,
            optional,
        )

    def _selecting(
        self,
        stream: Stream,
        resource: Resource,
        shape: type[T],
        selector: Callable[[T], Selector | None],
    ) -> Informer[T]:
        def key(meta: MetaLike) -> WorkloadKey:
            return WorkloadKey(resource.kind, meta.namespace or "", meta.name)

        return self._informer(
            stream,
            resource,
            shape,
            lambda shown: WorkloadSeen(key(shown.metadata), selector(shown)),
            lambda meta: WorkloadGone(key(meta)),
        )

    def _informer(
        self,
        stream: Stream,
        resource: Resource,
        shape: type[T],
        seen: Callable[[T], Event | None],
        gone: Callable[[Meta], Event],
    ) -> Informer[T]:
        return Informer(
            stream,
            self._reflector(resource, shape),
            seen,
            gone,
            self.queue,
            self.malformed,
            self._problem,
            OPTIONAL.get(resource),
        )

    def _reflector(self, resource: Resource, shape: type[T]) -> Reflector[T]:
        report = partial(self.problems.report, f"watching {resource.label()}")
        return Reflector(self.client, resource, shape, timing=self.timing, report=report)

    def _declared(self) -> tuple[str, ...]:
        """The prefixes of the annotations that plugins read."""
        declared = {prefix for profile in self.profiles.values() for prefix in profile.annotations}
        return tuple(sorted(declared))

    def _problem(self, event: Event) -> str:
        """The ignored fields of an object, where the engine does not report them on the object."""
        match event:
            case NodeSeen(node):
                return node.problem
            case PodSeen(pod) if pod.group is not None and pod.scheduler in self.profiles:
                return pod.problem  # the engine reports it on the group only
            case BudgetSeen(found):
                return found.problem
            case TopologySeen(levels):
                return levels.problem
            case FactSeen(fact):
                return str(getattr(fact, "problem", ""))
            case _:
                return ""


def _unread_topologies(resource: Resource) -> Callable[[bool], Event]:
    """Events that say whether topologies cannot be read, by one that has the place of them all."""
    name = unread_name("" if resource.group == API_GROUP else resource.group)
    problem = f"the scheduler cannot read {resource.label()}; its log says why"

    def unread(given: bool) -> Event:
        return TopologySeen(Topology(name, problem=problem)) if given else TopologyGone(name)

    return unread


def _alike(known: Pod, pod: Pod) -> bool:
    """Whether no field of a pod but its resourceVersion has changed."""
    return known.phase is pod.phase and bool(_BUT_VERSION(known) == _BUT_VERSION(pod))
