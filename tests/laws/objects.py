# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The API server of a world, and the owners that create members: naive, and always right."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from enbloc.engine.events import Event
from enbloc.model.groups import GroupKey
from enbloc.model.names import TAINT_NOT_READY
from enbloc.model.pods import NodeSelectorTerm, Owner, Phase, Pod, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.taints import Effect as TaintEffect
from enbloc.model.taints import Taint
from tests.laws.naive import View
from tests.world.builders import spec
from tests.world.server import Server

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
        idle: it is scaled to zero, or suspended.
    """

    parts: tuple[Part, ...]
    uid: str
    priority: int = 0
    gates: tuple[str, ...] = ()
    done: Counter[str] = field(default_factory=Counter)
    keeps_names: bool = False
    zone: bool = False
    idle: bool = False


class Objects(Server):
    """A server with owners, and the naive model of what is true."""

    def __init__(self) -> None:
        super().__init__()
        self.owners: dict[str, Job] = {}
        self.truth = View(settled=True)
        self.serials: Counter[str] = Counter()
        self.reached: Counter[str] = Counter()

    def changed(self, event: Event) -> None:
        self.truth.apply(event)
        self.truth.look()

    def name(self, kind: str) -> str:
        self.serials[kind] += 1
        return f"{kind}{self.serials[kind]}"

    def put_pod(self, pod: Pod) -> None:
        owner = self.owners.get(pod.group.name) if pod.group else None
        before = self.pods.get(pod.key.name)
        done = pod.phase is Phase.SUCCEEDED and not pod.deleting
        if owner and pod.owner and pod.owner.uid == owner.uid and done:
            owner.done[pod.role] += before is None or before.phase is not Phase.SUCCEEDED
        super().put_pod(pod)

    def end(self, name: str) -> None:
        """Ask for a pod's end: what does not run is gone at once, the rest terminates first."""
        if self.pods[name].node and not self.pods[name].finished:
            self.change(name, deleting=True)
        else:
            self.delete(name)

    # ── others ───────────────────────────────────────────────────────────────────────────────

    def add_node(self, name: str, cpu: int, pods: int = 20, *, zone: bool = True) -> None:
        self.node(name, cpu=cpu, pods=pods, labels=(ZONE,) if zone else ())

    def label(self, name: str, zone: bool) -> None:
        self.put_node(replace(self.hosts[name], labels=(ZONE,) if zone else ()))

    def ready(self, name: str, ready: bool) -> None:
        taints = () if ready else (NOT_READY,)
        self.put_node(replace(self.hosts[name], ready=ready, taints=taints))

    def cordon(self, name: str, cordoned: bool) -> None:
        self.put_node(replace(self.hosts[name], unschedulable=cordoned))

    def add_group(self, name: str, minimum: int, **of: Any) -> None:
        """A PodGroup with a UID of its own each time."""
        of = {"owner": f"MPIJob/{name}", **of}  # so that all of its members are of one run
        self.group(name, minimum, uid=self.name(f"pg-{name}."), created=self.now, **of)

    def add_owner(self, name: str, parts: Iterable[Part], **more: Any) -> None:
        self.owners[name] = Job(tuple(parts), self.name(f"job-{name}."), **more)

    def add_pod(
        self,
        name: str,
        *,
        cpu: int,
        group: str | None,
        role: str = "",
        zone: bool = False,
        **of: Any,
    ) -> Pod:
        """A pod with a UID of its own each time."""
        asked = spec(cpu=cpu, node_selector=(ZONE,) if zone else ())
        uid = PodUID(self.name(name + "."))
        return self.pod(name, group, uid=uid, spec=asked, role=role, **of)

    def add_daemon(self, name: str, cpu: int, node: str) -> None:
        """What the DaemonSet controller creates for one node, for another scheduler."""
        field = Requirement("metadata.name", Operator.IN, (node,))
        self.add_pod(name, cpu=cpu, group=None, scheduler="default-scheduler")
        pinned = replace(self.pods[name].spec, node_affinity=(NodeSelectorTerm(fields=(field,)),))
        self.change(name, spec=pinned, owner=Owner("DaemonSet", "d", "d", "apps/v1"))

    def members(self, group: str) -> list[Pod]:
        return [p for p in self.pods.values() if p.group == GroupKey("ns", group)]

    def reconcile(self, name: str) -> bool:
        """The owner creates what is missing; whether anything was."""
        owner = self.owners[name]
        created = False
        if owner.idle:
            return False
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
        """Every member is deleted; those of another run come (JobSet Recreate)."""
        for pod in self.members(name):
            if not pod.deleting:
                self.end(pod.key.name)
        owner = self.owners[name]
        owner.uid, owner.done = self.name(f"job-{name}."), Counter()
        self.reconcile(name)
