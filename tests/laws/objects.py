# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The API server of a world, and the owners that create members: naive, and always right."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from enbloc.engine.events import (
    Event,
    GroupGone,
    GroupSeen,
    NodeGone,
    NodeSeen,
    PodGone,
    PodSeen,
)
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import TAINT_NOT_READY
from enbloc.model.node import Node
from enbloc.model.pods import NodeSelectorTerm, Owner, Phase, Pod, PodKey, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.taints import Effect as TaintEffect
from enbloc.model.taints import Taint
from tests.engine.cluster import spec
from tests.laws.naive import View

ZONE = ("zone", "a")
NOT_READY = Taint(TAINT_NOT_READY, "", TaintEffect.NO_EXECUTE)


@dataclass(frozen=True, slots=True)
class Part:
    """So many alike members of a gang."""

    role: str
    count: int
    cpu: int


@dataclass(slots=True)
class Job:
    """A naive Job controller: so many members exist at any time, until enough succeeded.

    Attributes:
        done: how many succeeded, by role.
        zone: its members want a node with the label ZONE.
        keeps_names: a replacement has the name of whom it replaces, and so comes when that is gone.
    """

    parts: tuple[Part, ...]
    uid: str
    priority: int = 0
    gates: tuple[str, ...] = ()
    done: Counter[str] = field(default_factory=Counter)
    keeps_names: bool = False
    zone: bool = False


class Objects:
    """What the API server holds. Whoever watches takes `changed`."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.groups: dict[str, Group] = {}
        self.owners: dict[str, Job] = {}
        self.truth = View(settled=True)
        self.serials: Counter[str] = Counter()
        self.version = 0
        self.reached: Counter[str] = Counter()

    def changed(self, event: Event) -> None:
        """Something changed; at once known to the naive model of what is true."""
        self.truth.apply(event)
        self.truth.look()

    def name(self, kind: str) -> str:
        self.serials[kind] += 1
        return f"{kind}{self.serials[kind]}"

    def put_node(self, node: Node) -> None:
        self.version += 1
        node = replace(node, resource_version=self.version)
        self.nodes[node.name] = node
        self.changed(NodeSeen(node))

    def drop_node(self, name: str) -> None:
        del self.nodes[name]
        self.changed(NodeGone(name))

    def put_group(self, group: Group) -> None:
        self.version += 1
        group = replace(group, resource_version=self.version)
        self.groups[group.key.name] = group
        self.changed(GroupSeen(group))

    def drop_group(self, name: str) -> None:
        group = self.groups.pop(name)
        self.changed(GroupGone(group.key, group.uid))

    def put_pod(self, pod: Pod) -> None:
        self.version += 1
        pod = replace(pod, resource_version=self.version)
        owner = self.owners.get(pod.group.name) if pod.group else None
        before = self.pods.get(pod.key.name)
        if owner and pod.owner and pod.owner.uid == owner.uid and pod.phase is Phase.SUCCEEDED:
            owner.done[pod.role] += before is None or before.phase is not Phase.SUCCEEDED
        self.pods[pod.key.name] = pod
        self.changed(PodSeen(pod))

    def change(self, name: str, **more: object) -> None:
        self.put_pod(replace(self.pods[name], **more))  # type: ignore[arg-type]

    def drop_pod(self, name: str) -> None:
        pod = self.pods.pop(name)
        self.changed(PodGone(pod.key, pod.uid))

    def delete_pod(self, name: str) -> None:
        """DELETE: what never ran is gone at once, the rest terminates first."""
        if self.pods[name].node:
            self.change(name, deleting=True)
        else:
            self.drop_pod(name)

    # ── others ───────────────────────────────────────────────────────────────────────────────

    def add_node(self, name: str, cpu: int, pods: int = 20, *, zone: bool = True) -> None:
        room = (("cpu", cpu * 1000), ("memory", 2**36), ("pods", pods))
        labels = (ZONE,) if zone else ()
        self.put_node(Node(name=name, uid=name, allocatable=room, labels=labels))

    def label(self, name: str, zone: bool) -> None:
        self.put_node(replace(self.nodes[name], labels=(ZONE,) if zone else ()))

    def ready(self, name: str, ready: bool) -> None:
        taints = () if ready else (NOT_READY,)
        self.put_node(replace(self.nodes[name], ready=ready, taints=taints))

    def cordon(self, name: str, cordoned: bool) -> None:
        self.put_node(replace(self.nodes[name], unschedulable=cordoned))

    def add_group(self, name: str, minimum: int, **more: object) -> None:
        fields = {
            "uid": self.name(f"pg-{name}."),
            "min_member": minimum,
            "generation": 1,
            "created": self.now,
        }
        self.put_group(Group(GroupKey("ns", name), **{**fields, **more}))  # type: ignore[arg-type]

    def add_owner(self, name: str, parts: Iterable[Part], **more: object) -> None:
        self.owners[name] = Job(tuple(parts), self.name(f"job-{name}."), **more)  # type: ignore[arg-type]

    def add_pod(
        self,
        name: str,
        *,
        cpu: int,
        group: str | None,
        role: str = "",
        zone: bool = False,
        **more: object,
    ) -> Pod:
        fields: dict[str, object] = {
            "key": PodKey("ns", name),
            "uid": PodUID(self.name(name + ".")),
            "spec": spec(cpu=cpu, node_selector=(ZONE,) if zone else ()),
            "scheduler": "enbloc",
            "group": GroupKey("ns", group) if group else None,
            "role": role,
            "created": self.now,
        }
        self.put_pod(Pod(**{**fields, **more}))  # type: ignore[arg-type]
        return self.pods[name]

    def add_daemon(self, name: str, cpu: int, node: str) -> None:
        """What the DaemonSet controller creates for one node, for another scheduler."""
        field = Requirement("metadata.name", Operator.IN, (node,))
        self.add_pod(name, cpu=cpu, group=None, scheduler="other")
        pinned = replace(self.pods[name].spec, node_affinity=(NodeSelectorTerm(fields=(field,)),))
        self.change(name, spec=pinned)

    def members(self, group: str) -> list[Pod]:
        return [p for p in self.pods.values() if p.group == GroupKey("ns", group)]

    def reconcile(self, name: str) -> bool:
        """The owner creates what is missing; whether anything was."""
        owner = self.owners[name]
        created = False
        for part in owner.parts:
            mine = [
                pod
                for pod in self.members(name)
                if pod.role == part.role and pod.owner and pod.owner.uid == owner.uid
            ]
            live = sum(pod.live for pod in mine)
            for index in range(part.count - owner.done[part.role] - live):
                pod = self._new_member(name, owner, part, index)
                created = created or pod
        return created

    def _new_member(self, name: str, owner: Job, part: Part, index: int) -> bool:
        called = self.name(f"{name}-")
        if owner.keeps_names:
            taken = {pod.key.name for pod in self.members(name)}
            names = (f"{name}-{part.role}{n}" for n in range(part.count))
            called = next((each for each in names if each not in taken), "")
            if not called:
                return False  # the old one of that name is not gone yet
        self.add_pod(
            called,
            cpu=part.cpu,
            group=name,
            role=part.role,
            zone=owner.zone,
            owner=Owner("Job", f"job-{name}", owner.uid),
            priority=owner.priority,
            gates=owner.gates if index == 0 else (),
        )
        return True

    def restart_job(self, name: str) -> None:
        """Every member is deleted; those of another life come (JobSet Recreate)."""
        for pod in self.members(name):
            if not pod.deleting:
                self.delete_pod(pod.key.name)
        owner = self.owners[name]
        owner.uid, owner.done = self.name(f"job-{name}."), Counter()
        self.reconcile(name)
