# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A third party that watches pods and nodes only, and judges what it saw by the binding_records.

Its reflectors resume when the server ends a watch, as every client's must: who misses a Binding
proves nothing.
"""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from enbloc.client.client import Client
from enbloc.client.items import Deleted, Malformed, Seen, Synced
from enbloc.client.paths import NODES, PODS
from enbloc.client.reflector import Reflector
from enbloc.model.names import PLAN_KEY, POD_GROUP_KEY, SCHEDULER_NAME, TAINT_NOT_READY
from enbloc.model.quantity import amount

#: Tells the runs of one PodGroup apart, in tests whose gangs run again.
RUN_LABEL = "e2e.enbloc.dev/run"


#: How the names of extended resources end that no node offers, since devices serve them.
SERVED_BY_DEVICES = ".example.com/gpu"


class Meta(msgspec.Struct, rename="camel"):
    name: str
    uid: str
    namespace: str = ""
    resource_version: str = ""
    annotations: dict[str, str] = {}
    labels: dict[str, str] = {}
    deletion_timestamp: str | None = None
    owner_references: list[dict[str, object]] = []


class Resources(msgspec.Struct):
    requests: dict[str, str] = {}


class Container(msgspec.Struct):
    resources: Resources = msgspec.field(default_factory=Resources)


class SchedulingGroup(msgspec.Struct, rename="camel"):
    pod_group_name: str = ""


class Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""
    scheduling_group: SchedulingGroup = msgspec.field(default_factory=SchedulingGroup)
    scheduler_name: str = ""
    priority: int = 0
    containers: list[Container] = []


class Condition(msgspec.Struct):
    type: str
    status: str
    reason: str = ""

    @property
    def says_waiting(self) -> bool:
        return (self.type, self.status) == ("PodScheduled", "False")


class Status(msgspec.Struct):
    phase: str = "Pending"
    conditions: list[Condition] = []
    allocatable: dict[str, str] = {}


class PodView(msgspec.Struct):
    metadata: Meta
    spec: Spec = msgspec.field(default_factory=Spec)
    status: Status = msgspec.field(default_factory=Status)

    @property
    def group(self) -> str:
        ours = self.metadata.annotations.get(POD_GROUP_KEY) or self.metadata.labels.get(
            POD_GROUP_KEY
        )
        return ours or self.spec.scheduling_group.pod_group_name

    @property
    def gang(self) -> str:
        """Whose minimum it counts for: one run of a PodGroup, where a test tells them apart."""
        return self.metadata.labels.get(RUN_LABEL, self.group)

    @property
    def holds(self) -> bool:
        """Whether it counts for a minimum: it runs, will run, or has run well."""
        return bool(self.spec.node_name) and (
            self.status.phase == "Succeeded" or (self.takes_room and not self.ends)
        )

    @property
    def ends(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def plan(self) -> str:
        text = self.metadata.annotations.get(PLAN_KEY)
        return str(json.loads(text)["plan"]) if text else ""

    @property
    def waits_for(self) -> str:
        """The reason why it is said not to be scheduled, which autoscalers go by."""
        return next((one.reason for one in self.status.conditions if one.says_waiting), "")

    @property
    def waits(self) -> bool:
        """It has no node, and could get one."""
        return not self.spec.node_name and not self.ends

    @property
    def preempted(self) -> bool:
        """It was chosen to give way to a higher priority."""
        said = ("DisruptionTarget", "True", "PreemptionByScheduler")
        return said in ((one.type, one.status, one.reason) for one in self.status.conditions)

    @property
    def takes_room(self) -> bool:
        return bool(self.spec.node_name) and self.status.phase not in ("Succeeded", "Failed")

    @property
    def requests(self) -> dict[str, int]:
        total: defaultdict[str, int] = defaultdict(int, pods=1)
        for container in self.spec.containers:
            for name, text in container.resources.requests.items():
                total[name] += amount(name, text)
        return total


class Taint(msgspec.Struct):
    key: str


class NodeSpec(msgspec.Struct):
    taints: list[Taint] = []


class NodeView(msgspec.Struct):
    metadata: Meta
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: Status = msgspec.field(default_factory=Status)

    @property
    def ready(self) -> bool:
        return bool(self.status.allocatable) and TAINT_NOT_READY not in {
            taint.key for taint in self.spec.taints
        }

    @property
    def room(self) -> dict[str, int]:
        return {name: amount(name, text) for name, text in self.status.allocatable.items()}


@dataclass
class Moment:
    """The cluster just before a plan's first member was bound."""

    plan: str
    pods: dict[str, PodView]
    nodes: dict[str, NodeView]


class Observer:
    """Collects what happens; `judge` raises with everything that must not have happened.

    Args:
        client: the API.
    """

    def __init__(self, client: Client) -> None:
        self.pods: dict[str, PodView] = {}
        self.nodes: dict[str, NodeView] = {}
        #: Names of pods that the test itself deletes.
        self.deleted_by_test: set[str] = set()
        #: Names of pods that the test creates with a node.
        self.bound_by_test: set[str] = set()
        #: Notified after each change.
        self.changed = asyncio.Condition()
        self._moments: dict[str, Moment] = {}
        self._placed: defaultdict[str, dict[str, PodView]] = defaultdict(dict)
        self._vanished: list[PodView] = []
        self._problems: list[str] = []
        self._client = client
        #: Set once it has seen what was there at its start.
        self.synced = asyncio.Event()

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._watch_nodes())
            tasks.create_task(self._watch_pods())

    async def _watch_pods(self) -> None:
        async for item in Reflector(self._client, PODS, PodView).stream():
            match item:
                case Seen(_, pod):
                    self._saw(pod)
                case Deleted(meta, _):
                    self._gone(meta.uid)
                case Malformed(meta, problem):
                    self._problems.append(f"pod {meta.name} cannot be read: {problem}")
                case Synced():
                    self.synced.set()
            async with self.changed:
                self.changed.notify_all()

    async def _watch_nodes(self) -> None:
        async for item in Reflector(self._client, NODES, NodeView).stream():
            match item:
                case Seen(_, node):
                    self.nodes[node.metadata.name] = node
                case Deleted(meta, _):
                    self.nodes.pop(meta.name, None)
                case Malformed(meta, problem):
                    self._problems.append(f"node {meta.name} cannot be read: {problem}")
                case Synced():
                    pass
            async with self.changed:
                self.changed.notify_all()

    def _saw(self, pod: PodView) -> None:
        uid, name = pod.metadata.uid, pod.metadata.name
        before = self.pods.get(uid)
        if pod.spec.node_name and not (before and before.spec.node_name):
            if pod.plan:
                if pod.plan not in self._moments:
                    self._moments[pod.plan] = Moment(pod.plan, dict(self.pods), dict(self.nodes))
                self._placed[pod.plan][uid] = pod
            elif pod.spec.scheduler_name == SCHEDULER_NAME and name not in self.bound_by_test:
                self._problems.append(f"pod {name} was bound without a binding record")
        if before is not None and before.spec.node_name not in ("", pod.spec.node_name):
            self._problems.append(f"pod {name} moved to another node")
        self.pods[uid] = pod

    def _gone(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is not None:
            self._vanished.append(pod)

    # ── judgement ────────────────────────────────────────────────────────────────────────────

    def of(self, namespace: str, prefix: str = "") -> list[PodView]:
        """The pods of a namespace whose name is this, or begins with it and a dash."""
        return [
            pod
            for pod in self.pods.values()
            if pod.metadata.namespace == namespace
            and (not prefix or f"{pod.metadata.name}-".startswith(f"{prefix}-"))
        ]

    def bound(self, namespace: str, prefix: str = "") -> dict[str, str]:
        """The nodes of these pods, by pod name; finished ones keep theirs."""
        pods = self.of(namespace, prefix)
        return {pod.metadata.name: pod.spec.node_name for pod in pods if pod.spec.node_name}

    def ready_nodes(self) -> set[str]:
        """Nodes that a pod may be placed on, unless somebody else's taint says otherwise."""
        return {name for name, node in self.nodes.items() if node.ready}

    def in_part(self, namespace: str, minimums: Mapping[str, int]) -> dict[str, int]:
        """Gangs that hold something, and less than their minimum; how many members they hold."""
        held = Counter(
            pod.group
            for pod in self.of(namespace)
            if pod.spec.node_name and pod.status.phase != "Failed"
        )
        return {
            group: held[group] for group, minimum in minimums.items() if 0 < held[group] < minimum
        }

    def judge(self, namespace: str, minimums: Mapping[str, int]) -> None:
        """Raise with all that was wrong in this namespace."""
        wrong = [*self._problems, *self._bare_pods_deleted(namespace)]
        for plan in self._moments:
            wrong += self._misfits(plan)
        for group, held in self.in_part(namespace, minimums).items():
            wrong.append(f"gang {group} ended with {held} of its {minimums[group]} members")
        assert not wrong, "\n".join(wrong)

    def _bare_pods_deleted(self, namespace: str) -> Iterator[str]:
        for pod in self._vanished:
            name = pod.metadata.name
            bare = not pod.metadata.owner_references
            if bare and pod.metadata.namespace == namespace and name not in self.deleted_by_test:
                yield f"bare pod {name} was deleted"

    def _misfits(self, plan: str) -> Iterator[str]:
        """All members of a plan fit, where they ended, when the first of them was bound."""
        moment = self._moments[plan]
        used: defaultdict[tuple[str, str], int] = defaultdict(int)
        members = self._placed[plan]
        there = {uid: pod for uid, pod in moment.pods.items() if pod.takes_room}
        for pod in ({**there, **members}).values():
            for resource, count in pod.requests.items():
                used[pod.spec.node_name, resource] += count
        theirs = {pod.spec.node_name for pod in members.values()}
        for (node, resource), count in used.items():
            if node not in theirs or resource.endswith(SERVED_BY_DEVICES):
                continue  # what somebody else has done there is no fault of this plan
            room = moment.nodes[node].room.get(resource, 0) if node in moment.nodes else 0
            if count > room:
                yield f"plan {plan}: {count} {resource} on {node}, which has {room}"
