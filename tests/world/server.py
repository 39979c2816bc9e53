# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What an API server keeps, as objects of our model: whoever watches takes `changed`."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from enbloc.engine.events import (
    Event,
    GroupGone,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
    Stream,
)
from enbloc.framework.act import Target
from enbloc.model.groups import Group, GroupKey, Role
from enbloc.model.names import PLAN_KEY, RANK_KEY
from enbloc.model.node import Node
from enbloc.model.pods import Phase, Pod, PodKey, PodUID
from tests.world import builders

#: The streams that show objects of the Server.
SHOWN = (Stream.PODS, Stream.NODES, Stream.GROUPS)


class Server:
    """Nodes, pods and PodGroups of one namespace by name, each with a version of its own.

    Attributes:
        now: seconds on the server's clock.
        hosts: the nodes.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.hosts: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.groups: dict[str, Group] = {}
        self._version = 0
        self._uids = 0

    def changed(self, event: Event) -> None:
        """Something changed."""

    def listed(self, stream: Stream) -> list[Event]:
        """All objects of a stream, as a list shows them: by name."""
        if stream is Stream.PODS:
            return [PodSeen(self.pods[name]) for name in sorted(self.pods)]
        if stream is Stream.NODES:
            return [NodeSeen(self.hosts[name]) for name in sorted(self.hosts)]
        if stream is Stream.GROUPS:
            return [GroupSeen(self.groups[name]) for name in sorted(self.groups)]
        return []

    def keep(self, other: "Server") -> None:
        """Have what another one has, and nobody is told."""
        self.now, self._version, self._uids = other.now, other._version, other._uids
        self.hosts, self.pods = dict(other.hosts), dict(other.pods)
        self.groups = dict(other.groups)

    # ── nodes ────────────────────────────────────────────────────────────────────────────────

    def node(self, name: str, cpu: int = 8, **of: Any) -> None:
        """Create or replace a node of so many CPUs; more as builders.node takes it."""
        self.put_node(builders.node(name, **{"cpu": cpu, "memory": "64Gi", "uid": name, **of}))

    def nodes(self, names: str, **of: Any) -> None:
        """Nodes of these names, alike."""
        for name in names.split():
            self.node(name, **of)

    def put_node(self, node: Node) -> None:
        node = replace(node, resource_version=self._next())
        self.hosts[node.name] = node
        self.changed(NodeSeen(node))

    def drop_node(self, name: str) -> None:
        del self.hosts[name]
        self.changed(NodeGone(name))

    # ── groups ───────────────────────────────────────────────────────────────────────────────

    def group(self, name: str, minimum: int = 1, **of: Any) -> Group:
        """Create or replace a PodGroup, as builders.group makes it."""
        self.put_group(builders.group(name, minimum, **of))
        return self.groups[name]

    def put_group(self, group: Group) -> None:
        group = replace(group, resource_version=self._next())
        self.groups[group.key.name] = group
        self.changed(GroupSeen(group))

    def alter(self, name: str, **of: Any) -> None:
        """Change the spec of a PodGroup; the words are builders.group's."""
        group = self.groups[name]
        if "minimum" in of:
            of["min_member"] = of.pop("minimum")
        if "roles" in of:
            of["roles"] = tuple(Role(*role) for role in of["roles"])
        self.put_group(replace(group, **{"generation": group.generation + 1, **of}))

    def drop_group(self, name: str) -> None:
        group = self.groups.pop(name)
        self.changed(GroupGone(group.key, group.uid))

    # ── pods ─────────────────────────────────────────────────────────────────────────────────

    def pod(self, name: str, group: str | None = None, **of: Any) -> Pod:
        """Create a pod of ours, of one CPU unless it says otherwise."""
        self._uids += 1
        fields: dict[str, Any] = {
            "key": PodKey("ns", name),
            "uid": PodUID(f"{name}-{self._uids}"),
            "spec": builders.spec(cpu=1),
            "scheduler": "enbloc",
            "group": GroupKey("ns", group) if group else None,
            "created": self.now,
        }
        pod = Pod(**{**fields, **of})
        self.put_pod(pod)
        return self.pods[name]

    def gang(self, name: str, pods: int, minimum: int | None = None, **of: Any) -> None:
        """A group and so many members."""
        self.group(name, pods if minimum is None else minimum)
        for index in range(pods):
            self.pod(f"{name}-{index}", name, **of)

    def put_pod(self, pod: Pod) -> None:
        pod = replace(pod, resource_version=self._next())
        self.pods[pod.key.name] = pod
        self.changed(PodSeen(pod))

    def change(self, name: str, **of: Any) -> Pod:
        """Change a pod."""
        self.put_pod(replace(self.pods[name], **of))
        return self.pods[name]

    def run_pods(self, names: Iterable[str]) -> None:
        for name in names:
            self.change(name, phase=Phase.RUNNING)

    def finish(self, name: str, phase: Phase = Phase.SUCCEEDED) -> None:
        self.change(name, phase=phase)

    def delete(self, name: str) -> None:
        """Delete a pod for good, as its kubelet would confirm it."""
        pod = self.pods.pop(name)
        self.changed(PodGone(pod.key, pod.uid))

    def bind(self, target: Target) -> bool:
        """Take a Binding; False if the pod is not there, or not there to be bound."""
        pod = self.pods.get(target.pod.name)
        if pod is None or pod.uid != target.uid or pod.node or pod.deleting or pod.gates:
            return False
        given = dict(target.annotations)
        rank = int(given[RANK_KEY]) if RANK_KEY in given else pod.rank
        record = given.get(PLAN_KEY, "")
        self.put_pod(
            replace(
                pod,
                node=target.node,
                binding_record=record,
                rank=rank,
                scheduled_at=self.now,
            )
        )
        return True

    def _next(self) -> int:
        self._version += 1
        return self._version
