# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""From the streams of the API server to the engine's events."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, assert_never

import msgspec
from msgspec import Raw

from enbloc.engine.events import (
    Event,
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
    Synced,
    WorkloadGone,
    WorkloadSeen,
)
from enbloc.framework.profile import Profile
from enbloc.kube import items
from enbloc.kube.backoff import Backoff
from enbloc.kube.client import Client
from enbloc.kube.errors import APIError
from enbloc.kube.items import HasMeta, Meta, MetaLike, Timing
from enbloc.kube.paths import (
    NAMESPACES,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    SERVICES,
    STATEFUL_SETS,
    Resource,
)
from enbloc.kube.reflector import Reflector
from enbloc.live.group_status import GroupObject
from enbloc.live.inbox import Inbox
from enbloc.live.malformed import MalformedObjects
from enbloc.live.statuses import GroupStatuses, PodConditions
from enbloc.live.whole import WholeNode
from enbloc.model import codec
from enbloc.model.codec import NodeObject, PodGroupObject, PodObject
from enbloc.model.groups import GroupKey
from enbloc.model.objects import (
    Identity,
    NamespaceObject,
    ReplicaSetObject,
    ReplicationControllerObject,
    ServiceObject,
    StatefulSetObject,
)
from enbloc.model.pods import PodKey, PodUID
from enbloc.model.selectors import Selector
from enbloc.model.workloads import WorkloadKey
from enbloc.telemetry import Troubles

T = TypeVar("T", bound=HasMeta)

logger = logging.getLogger(__name__)


class PriorityClassObject(msgspec.Struct, gc=False):
    """A PriorityClass as the API server sends it."""

    metadata: Identity = msgspec.field(default_factory=Identity)
    value: int = 0


class Feed(Generic[T]):
    """One stream on its way into the inbox.

    Args:
        stream: which of the engine's streams this is.
        reflector: where the objects come from.
        seen: what an object means to the engine.
        gone: what the end of an object means to the engine.
        inbox: where the events go.
        malformed: told of objects that cannot be read, or not in full.
        problem: what counts as absent in an object, by the event that it became; "" = nothing.
    """

    def __init__(
        self,
        stream: Stream,
        reflector: Reflector[T],
        seen: Callable[[T], Event],
        gone: Callable[[Meta], Event],
        inbox: Inbox,
        malformed: MalformedObjects,
        problem: Callable[[Event], str],
    ) -> None:
        self.stream = stream
        self.reflector = reflector
        self._seen = seen
        self._gone = gone
        self._inbox = inbox
        self._malformed = malformed
        self._problem = problem
        #: Set once the first list is in the inbox.
        self.synced = asyncio.Event()

    async def confirm(self) -> None:
        """Return once the inbox has all that had happened when this was called."""
        backoff = Backoff(cap=5.0)
        while True:
            try:
                await self.reflector.confirm()
            except APIError as error:
                logger.debug("Cannot confirm the stream of %s yet: %s", self.stream, error)
                await asyncio.sleep(backoff.next())
            else:
                return

    async def run(self) -> None:
        """Feed the inbox until cancelled."""
        resource = self.reflector.resource
        async for item in self.reflector.stream():
            match item:
                case items.Added() | items.Modified():
                    event = self._seen(item.object)
                    self._malformed.seen(resource, item.meta, self._problem(event))
                    self._inbox.put(event)
                case items.Deleted():
                    self._malformed.gone(resource, item.meta)
                    self._inbox.put(self._gone(item.meta))
                case items.Malformed():
                    logger.warning(
                        "Ignored a malformed object: %s",
                        item.problem,
                        extra={"object": f"{resource.kind} {item.meta.name}"},
                    )
                    self._malformed.ignored(resource, item.meta, item.problem)
                case items.Synced():
                    self._inbox.put(Synced(self.stream))
                    self.synced.set()
                case _:
                    assert_never(item)


@dataclass(frozen=True, slots=True)
class Feeds:
    """Makes the feeds that the engine decides by.

    Attributes:
        client: the API.
        inbox: where the events go.
        malformed: told of objects that cannot be read, or not in full.
        profiles: by schedulerName; a pod that names another is not ours to speak of.
        troubles: told what keeps a stream from its work.
        timing: how long the reflectors wait.
    """

    client: Client
    inbox: Inbox
    malformed: MalformedObjects
    profiles: Mapping[str, Profile]
    troubles: Troubles
    timing: Timing | None = None

    def pods(self, conditions: PodConditions) -> Feed[PodObject]:
        """All pods; `conditions` learns what they show."""
        keep = self._declared()

        def seen(shown: PodObject) -> Event:
            pod = codec.pod(shown, keep)
            conditions.seen(pod)
            return PodSeen(pod)

        def gone(meta: Meta) -> Event:
            conditions.gone(PodUID(meta.uid))
            return PodGone(PodKey(meta.namespace, meta.name), PodUID(meta.uid))

        return self._feed(Stream.PODS, PODS, PodObject, seen, gone)

    def nodes(self, whole: dict[str, Raw] | None = None) -> Feed[Any]:
        """All nodes; `whole`, if given, is kept as a map of all of them as JSON, by name."""
        keep = self._declared()
        if whole is not None:
            return self._whole_nodes(whole, keep)
        return self._feed(
            Stream.NODES,
            NODES,
            NodeObject,
            lambda shown: NodeSeen(codec.node(shown, keep)),
            lambda meta: NodeGone(meta.name),
        )

    def _whole_nodes(self, whole: dict[str, Raw], keep: tuple[str, ...]) -> Feed[WholeNode]:
        def seen(shown: WholeNode) -> Event:
            whole[shown.metadata.name] = shown.json
            return NodeSeen(codec.node(shown.plain, keep))

        def gone(meta: Meta) -> Event:
            whole.pop(meta.name, None)
            return NodeGone(meta.name)

        return self._feed(Stream.NODES, NODES, WholeNode, seen, gone)

    def groups(self, statuses: GroupStatuses) -> Feed[GroupObject]:
        """All PodGroups; `statuses` learns what they show."""
        keep = self._declared()

        def seen(shown: GroupObject) -> Event:
            statuses.seen(shown)
            plain = PodGroupObject(shown.metadata, shown.spec, shown.status)
            return GroupSeen(codec.group(plain, keep))

        def gone(meta: Meta) -> Event:
            key = GroupKey(meta.namespace, meta.name)
            statuses.gone(key)
            return GroupGone(key, meta.uid)

        return self._feed(Stream.GROUPS, POD_GROUPS, GroupObject, seen, gone)

    def priority_classes(self) -> Feed[PriorityClassObject]:
        """All PriorityClasses."""
        return self._feed(
            Stream.PRIORITY_CLASSES,
            PRIORITY_CLASSES,
            PriorityClassObject,
            lambda shown: PriorityClassSeen(shown.metadata.name, shown.value),
            lambda meta: PriorityClassGone(meta.name),
        )

    def namespaces(self) -> Feed[NamespaceObject]:
        """All namespaces."""
        return self._feed(
            Stream.NAMESPACES,
            NAMESPACES,
            NamespaceObject,
            lambda shown: NamespaceSeen(shown.metadata.name, codec.namespace_labels(shown)),
            lambda meta: NamespaceGone(meta.name),
        )

    def workloads(self) -> tuple[Feed[Any], ...]:
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

    def _selecting(
        self,
        stream: Stream,
        resource: Resource,
        shape: type[T],
        selector: Callable[[T], Selector | None],
    ) -> Feed[T]:
        def key(meta: MetaLike) -> WorkloadKey:
            return WorkloadKey(resource.kind, meta.namespace or "", meta.name)

        return self._feed(
            stream,
            resource,
            shape,
            lambda shown: WorkloadSeen(key(shown.metadata), selector(shown)),
            lambda meta: WorkloadGone(key(meta)),
        )

    def _feed(
        self,
        stream: Stream,
        resource: Resource,
        shape: type[T],
        seen: Callable[[T], Event],
        gone: Callable[[Meta], Event],
    ) -> Feed[T]:
        report = partial(self.troubles.say, f"watching {resource.label()}")
        reflector = Reflector(self.client, resource, shape, timing=self.timing, report=report)
        return Feed(stream, reflector, seen, gone, self.inbox, self.malformed, self._problem)

    def _declared(self) -> tuple[str, ...]:
        """The prefixes of the annotations that some plugin reads."""
        declared = {prefix for profile in self.profiles.values() for prefix in profile.annotations}
        return tuple(sorted(declared))

    def _problem(self, event: Event) -> str:
        """What counts as absent in an object, where the engine does not say so on it."""
        match event:
            case NodeSeen(node):
                return node.problem
            case PodSeen(pod) if pod.group is not None and pod.scheduler in self.profiles:
                return pod.problem  # the engine says it on its group
            case _:
                return ""
