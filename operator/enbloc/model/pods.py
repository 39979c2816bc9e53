# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods, as far as scheduling reads them."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple, NewType

from enbloc.model.groups import GroupKey
from enbloc.model.names import POD_TEMPLATE_HASH_KEY
from enbloc.model.requirements import Requirement
from enbloc.model.selectors import NO_AFFINITY, Labels, PodAffinity, SpreadConstraint
from enbloc.model.taints import Toleration

PodUID = NewType("PodUID", str)


class PodKey(NamedTuple):
    """The namespace and name of a pod; `str` gives `namespace/name`."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Phase(StrEnum):
    """`status.phase` of a pod."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """One term of required node affinity: all expressions and all fields hold.

    A term with neither matches no node (upstream's rule).
    """

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class HostPort(NamedTuple):
    """A port of the node that a pod wants for itself.

    Attributes:
        ip: "0.0.0.0" = every address of the node; "::" is an address like any other.
        protocol: TCP, UDP or SCTP.
    """

    ip: str
    protocol: str
    port: int


#: What pods write for every address of their node; nothing listens here.
_ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104


class HostPorts(tuple[HostPort, ...]):  # noqa: SLOT001  # it keeps its sets
    """The ports that one class of pods wants of its node, in the pod's order.

    Two of them are compared as sets, which are made when first needed and as large as they are.
    """

    def clash(self, held: "HostPorts") -> bool:
        """Whether any of these cannot be had beside those that are held."""
        return not (
            self.everywhere.isdisjoint(held.numbers)
            and held.everywhere.isdisjoint(self.numbers)
            and self.addressed.isdisjoint(held.addressed)
        )

    @cached_property
    def numbers(self) -> frozenset[tuple[str, int]]:
        """(protocol, port) of each."""
        return frozenset((port.protocol, port.port) for port in self)

    @cached_property
    def everywhere(self) -> frozenset[tuple[str, int]]:
        """The same of those that are wanted on every address of the node."""
        return frozenset((port.protocol, port.port) for port in self if port.ip == _ANY_ADDRESS)

    @cached_property
    def addressed(self) -> frozenset[HostPort]:
        """Those that are wanted on one."""
        return frozenset(port for port in self if port.ip != _ANY_ADDRESS)


NO_PORTS: Final = HostPorts()


class PodVolume(NamedTuple):
    """One of a pod's volumes that scheduling reads.

    Attributes:
        name: within the pod.
        kind: "claim", "ephemeral" (a claim that is made for the pod), or the field of an inline
            volume of an old kind ("gcePersistentDisk", "rbd", …).
        read_only: the pod says that it only reads.
        disk: of an inline volume `(field, value)` in field order; lists are joined by commas.
    """

    name: str
    kind: str
    read_only: bool = False
    disk: tuple[tuple[str, str], ...] = ()


class PodResourceClaim(NamedTuple):
    """One of a pod's `spec.resourceClaims`.

    Attributes:
        name: within the pod.
        template: the ResourceClaimTemplate that one is made from; "" = it names a claim.
    """

    name: str
    template: str = ""


class ContainerResource(NamedTuple):
    """What one container requests of a resource that devices may serve.

    Attributes:
        container: its place among all containers, init containers first.
        name: of the container.
        place: of the resource among all that the container requests, by name.
        init: it ends before the containers begin.
    """

    container: int
    name: str
    resource: str
    place: int
    amount: int
    init: bool = False


@dataclass(frozen=True, slots=True)
class PodSpec:
    """What makes two pods alike to every plugin: the class of a pod.

    Interned by the codec, so pods made from one template share one object and a plugin is asked
    once per class.

    Attributes:
        requests: what the pod asks for, `(resource name, amount)` in name order, zeros left out;
            CPU in milli, everything else in whole units; always holds `("pods", 1)`.
        nonzero_cpu: CPU for scoring, in milli, with 100m for each container that names none.
        nonzero_memory: memory for scoring, in bytes, with 200 MiB for each that names none.
        node_selector: all of these labels must be on the node, `(key, value)` in key order.
        node_affinity: required terms, any of which suffices; None = no constraint.
        preferred_node_affinity: `(weight, term)`, weight 1 to 100.
        tolerations: in the pod's order.
        node_name: the node that the pod demanded before any scheduling; "" = none.
        host_ports: of containers and sidecars, in order.
        spread: `topologySpreadConstraints`.
        pod_affinity: near which pods it wants to be.
        pod_anti_affinity: near which pods it does not.
        images: of its init and regular containers, each with a tag or digest, in order.
        image_volumes: images that it mounts as volumes, spelled likewise.
        features: what a node must declare in `status.declaredFeatures`, sorted.
        volumes: those that scheduling reads, in the pod's order; `Pod.claims` has the names of
            their claims, so that pods of one template are of one class.
        resource_claims: in the pod's order; `Pod.resource_claims` has their names.
        extended: what containers request of resources of vendors, and of DeviceClasses, in their
            order.
        fit_scored: what NodeResourcesFit scores the pod by, `(resource, amount)` in name order,
            where pod-level requests make that differ from `requests` and the nonzero amounts; None
            = it does not.
        size: bytes of what it was read from; no matter for what it means.
        holds: pods of this class have volumes or devices that scheduling decides about.
    """

    requests: tuple[tuple[str, int], ...] = (("pods", 1),)
    nonzero_cpu: int = 100
    nonzero_memory: int = 200 * 1024 * 1024
    node_selector: tuple[tuple[str, str], ...] = ()
    node_affinity: tuple[NodeSelectorTerm, ...] | None = None
    preferred_node_affinity: tuple[tuple[int, NodeSelectorTerm], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    node_name: str = ""
    host_ports: tuple[HostPort, ...] = NO_PORTS
    spread: tuple[SpreadConstraint, ...] = ()
    pod_affinity: PodAffinity = NO_AFFINITY
    pod_anti_affinity: PodAffinity = NO_AFFINITY
    images: tuple[str, ...] = ()
    image_volumes: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    volumes: tuple[PodVolume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    extended: tuple[ContainerResource, ...] = ()
    fit_scored: tuple[tuple[str, int], ...] | None = None
    size: int = field(default=0, compare=False)
    holds: bool = field(default=False, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.volumes or self.resource_claims or self.extended:
            object.__setattr__(self, "holds", True)
        if not isinstance(self.host_ports, HostPorts):
            object.__setattr__(self, "host_ports", HostPorts(self.host_ports))

    def ports_clash(self, held: "PodSpec") -> bool:
        """Whether any of its host ports cannot be had beside those of another class."""
        mine, theirs = self.host_ports, held.host_ports
        if not mine or not theirs:
            return False
        assert isinstance(mine, HostPorts)
        assert isinstance(theirs, HostPorts)
        return mine.clash(theirs)


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller owner reference of a pod."""

    kind: str
    name: str
    uid: str
    api_version: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod.

    Attributes:
        spec: its class; everything that plugins compare.
        node: where it is bound; "" = not bound.
        deleting: it has a deletionTimestamp.
        gates: names of its scheduling gates; any keeps it out of scheduling.
        priority: `spec.priority`; 0 when unset.
        created: creationTimestamp, seconds of server time since the epoch.
        scheduled_at: transition time of condition PodScheduled=True, same unit; None = no such.
        running: phase is Running (kept apart from phase for reading ease).
        binding record: annotation `enbloc.dev/plan` as found; "" = none.
        unschedulable: PodScheduled=False with one of OUTDATED_REASONS stands on the pod: outdated
            once it waits for anything else.
        resource_version: of the object this was read from, as an integer; 0 = unknown.
        restart: JobSet's uid and restart attempt, when the pod carries them.
        group_conflict: the group that its label names while its annotation names another, which
            wins; "" = they agree.
        hint: what looks like a mistake and keeps nothing from being scheduled; "" = nothing.
        topology_key: a key that it has and that says something of its group's topology, where the
            group is made for it; "" = none.
        problem: why the pod cannot be scheduled as written; "" = none.
        labels: `(key, value)` in key order.
        annotations: those that some plugin declared, `(key, value)` in key order.
        own_size: bytes of what it keeps beside its class, roughly.
        nominated: `status.nominatedNodeName`; "" = none.
        rejected: why the kubelet refused to run it (`status.reason` of a failed pod that never
            ran: OutOfcpu, NodeAffinity, UnexpectedAdmissionError, …); "" = it did not.
        rank: annotation `enbloc.dev/rank` of a bound member; None = it has none.
        gang_gate: it has the readiness gate `enbloc.dev/GangRunning`.
        gang_running: that condition as it stands; None = it is absent.
        claims: names of the PersistentVolumeClaims of its volumes of kinds "claim" and
            "ephemeral", in their order.
        resource_claims: names of its ResourceClaims, in the order of `spec.resource_claims`; "" =
            not made yet, None = its status says that none is needed.
        pod_group: the PodGroup of Kubernetes that its `spec.schedulingGroup` names; "" = none.
        extended_claim: the ResourceClaim made for extended resources that devices serve; "" = none.
        unready: it was never Ready, as far as its conditions tell.
        ready_at: transition time of condition Ready=True, as `scheduled_at`; None = no such.
        started: `status.startTime`, same unit; None = the kubelet has not seen it yet.
        preempts: pods of lower priority may give way to it; not with `preemptionPolicy: Never`.
        grace: seconds that it has to end when it is deleted.
        preempted: condition DisruptionTarget says that a scheduler has chosen it to give way, or
            that the Eviction API made it leave, which does not keep who had chosen it.
        priority_class: `spec.priorityClassName`; "" = none.
        mirror: it stands for a static pod, which its kubelet alone can end.
        checkpointed: when its work was saved last, as its annotation says, server seconds;
            infinity = that is no time, None = it says nothing.
        limit: `spec.activeDeadlineSeconds`: so long after its start its kubelet ends it; None = it
            does not.
        expected: seconds that it is expected to run, as its annotation says; None = nobody knows.
    """

    key: PodKey
    uid: PodUID
    spec: PodSpec
    scheduler: str = ""
    node: str = ""
    phase: Phase = Phase.PENDING
    deleting: bool = False
    gates: tuple[str, ...] = ()
    group: GroupKey | None = None
    role: str = ""
    priority: int = 0
    created: float = 0.0
    scheduled_at: float | None = None
    owner: Owner | None = None
    binding_record: str = ""
    unschedulable: bool = False
    resource_version: int = 0
    restart: str = ""
    problem: str = ""
    group_conflict: str = ""
    hint: str = ""
    topology_key: str = ""
    annotations_size: int = field(default=0, compare=False)
    own_size: int = field(default=0, compare=False)
    labels: Labels = ()
    annotations: Labels = ()
    nominated: str = ""
    rejected: str = ""
    rank: int | None = None
    gang_gate: bool = False
    gang_running: bool | None = None
    claims: tuple[str, ...] = ()
    resource_claims: tuple[str | None, ...] = ()
    pod_group: str = ""
    extended_claim: str = ""
    unready: bool = False
    ready_at: float | None = None
    started: float | None = None
    preempts: bool = True
    grace: float = 30.0
    preempted: bool = False
    priority_class: str = ""
    mirror: bool = False
    checkpointed: float | None = None
    limit: float | None = None
    expected: float | None = None

    @property
    def size(self) -> int:
        """Bytes of what it was read from, roughly: what it costs to remember it."""
        return self.spec.size + self.own_size

    @property
    def seniority(self) -> tuple[float, PodKey]:
        """The order of members within a group: the older first, then by name."""
        return (self.created, self.key)

    @property
    def gated(self) -> bool:
        """It has scheduling gates."""
        return bool(self.gates)

    @property
    def finished(self) -> bool:
        """It succeeded or failed, and so holds no room."""
        return self.phase in (Phase.SUCCEEDED, Phase.FAILED)

    @property
    def live(self) -> bool:
        """It is neither finished nor terminating."""
        return not self.finished and not self.deleting

    @property
    def bound(self) -> bool:
        """It is live and has a node."""
        return self.live and self.node != ""

    @property
    def bound_at(self) -> float:
        """When it was bound as far as its conditions tell, server seconds; else its creation."""
        return self.created if self.scheduled_at is None else self.scheduled_at

    @property
    def starting(self) -> bool:
        """It is bound, and does not run or is not ready: what waits for it cannot come yet."""
        return self.bound and (self.unready or not self.running)

    @property
    def running(self) -> bool:
        """Its phase is Running."""
        return self.phase is Phase.RUNNING

    @property
    def incarnation(self) -> str:
        """What its labels or its controller say of the life this pod belongs to (semantics §1).

        JobSet's labels, else the Deployment of its ReplicaSet, else its controller's UID, else ""
        (a bare pod).
        """
        if self.restart:
            return self.restart
        if self.owner is None:
            return ""
        if self.owner.kind == "ReplicaSet":
            suffix = f"-{dict(self.labels).get(POD_TEMPLATE_HASH_KEY)}"
            if self.owner.name.endswith(suffix):  # each rollout has a ReplicaSet of its own
                return f"Deployment:{self.owner.name.removesuffix(suffix)}"
        return self.owner.uid

    @property
    def owning_pod(self) -> str:
        """UID of the pod that controls this one, as a Spark driver its executors; "" = none."""
        return self.owner.uid if self.owner and self.owner.kind == "Pod" else ""
