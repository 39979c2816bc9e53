# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods: what scheduling reads of them."""

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
    """One term of required node affinity: all expressions and all fields must hold.

    A term with neither matches no node (upstream's rule).
    """

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class HostPort(NamedTuple):
    """A host port that a pod requests.

    Attributes:
        ip: "0.0.0.0" = every address of the node; "::" is an address like any other.
        protocol: TCP, UDP or SCTP.
    """

    ip: str
    protocol: str
    port: int


#: What a host port without an address means: every address of the node. No process of ours listens
#: on it.
ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104


class HostPorts(tuple[HostPort, ...]):  # noqa: SLOT001  # it keeps its sets
    """The host ports of one class of pods, in the pod's order.

    They are compared as sets, which are made when first needed, and no larger than the tuple.
    """

    def clash(self, held: "HostPorts") -> bool:
        """Whether any of these conflicts with those that are held."""
        return not (
            self.everywhere.isdisjoint(held.numbers)
            and held.everywhere.isdisjoint(self.numbers)
            and self.addressed.isdisjoint(held.addressed)
        )

    @cached_property
    def numbers(self) -> frozenset[tuple[str, int]]:
        """(protocol, port) of each host port."""
        return frozenset((port.protocol, port.port) for port in self)

    @cached_property
    def everywhere(self) -> frozenset[tuple[str, int]]:
        """(protocol, port) of those requested on every address of the node."""
        return frozenset((port.protocol, port.port) for port in self if port.ip == ANY_ADDRESS)

    @cached_property
    def addressed(self) -> frozenset[HostPort]:
        """Those requested on one address."""
        return frozenset(port for port in self if port.ip != ANY_ADDRESS)


NO_PORTS: Final = HostPorts()


class PodVolume(NamedTuple):
    """One of a pod's volumes that scheduling reads.

    Attributes:
        name: its name within the pod.
        kind: "claim", "ephemeral" (a claim that is made for the pod), or the field of an inline
            volume of an old kind ("gcePersistentDisk", "rbd", …).
        read_only: the pod mounts it read-only.
        disk: the fields of an inline volume, `(field, value)` in field order; lists are joined by
            commas.
    """

    name: str
    kind: str
    read_only: bool = False
    disk: tuple[tuple[str, str], ...] = ()


class PodResourceClaim(NamedTuple):
    """One of a pod's `spec.resourceClaims`.

    Attributes:
        name: its name within the pod.
        template: the ResourceClaimTemplate that its claim is made from; "" = it names a claim.
    """

    name: str
    template: str = ""


class ContainerResource(NamedTuple):
    """One container's request for a resource that devices may serve.

    Attributes:
        container: the container's place among all containers, init containers first.
        name: the container's name.
        place: the resource's place among all that the container requests, by name.
        init: it is an init container that ends before the containers start.
    """

    container: int
    name: str
    resource: str
    place: int
    amount: int
    init: bool = False


@dataclass(frozen=True, slots=True)
class PodSpec:
    """The class of a pod: everything that makes pods alike for every plugin.

    The codec interns it, so pods made from one template share one object, and a plugin is asked
    once per class.

    Attributes:
        requests: the pod's requests, `(resource name, amount)` in name order, without zeros; CPU in
            milli, everything else in whole units; always contains `("pods", 1)`.
        nonzero_cpu: CPU for scoring, in milli, with 100m for each container that requests none.
        nonzero_memory: memory for scoring, in bytes, with 200 MiB for each that requests none.
        node_selector: all of these labels must be on the node, `(key, value)` in key order.
        node_affinity: required terms, any of which suffices; None = no constraint.
        preferred_node_affinity: `(weight, term)`, weight 1 to 100.
        tolerations: in the pod's order.
        node_name: the node that the pod named before any scheduling; "" = none.
        host_ports: of containers and sidecars, in order.
        spread: `topologySpreadConstraints`.
        pod_affinity: the pods that it wants to be near.
        pod_anti_affinity: the pods that it wants to be away from.
        images: the images of its init and regular containers, each with a tag or digest, in order.
        image_volumes: the images that it mounts as volumes, each with a tag or digest.
        features: what a node must declare in `status.declaredFeatures`, sorted.
        volumes: the volumes that scheduling reads, in the pod's order; the names of their claims
            are in `Pod.claims`, so that pods of one template are of one class.
        resource_claims: in the pod's order; `Pod.resource_claims` has their names.
        extended: the containers' requests for vendors' resources and DeviceClasses, in container
            order.
        fit_scored: the amounts by which NodeResourcesFit scores the pod, `(resource, amount)` in
            name order, if pod-level requests make them differ from `requests` and the nonzero
            amounts; None = they do not.
        size: bytes of the JSON it was read from; not part of its meaning.
        holds: pods of this class have volumes or devices that scheduling decides.
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
        """Whether any of its host ports conflicts with those of another class."""
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
        spec: its class: everything that plugins compare.
        node: where it is bound; "" = not bound.
        deleting: it has a deletionTimestamp; not if it succeeded, and its Job is to count that.
        gates: the names of its scheduling gates; with any, it is not scheduled.
        priority: `spec.priority`; 0 when unset.
        created: creationTimestamp, seconds of server time since the epoch.
        scheduled_at: transition time of condition PodScheduled=True, same unit; None = not True.
        binding_record: annotation `enbloc.dev/plan` as found; "" = none.
        unschedulable: the pod has PodScheduled=False with one of OUTDATED_REASONS: outdated once it
            waits for anything else.
        resource_version: of the object this was read from, as an integer; 0 = unknown.
        restart: JobSet's uid and restart attempt, when the pod carries them.
        group_conflict: the group that its label names, if its annotation names another, which wins;
            "" = no conflict.
        hint: a likely mistake that does not prevent scheduling; "" = none.
        topology_key: a key of the pod that sets the topology of a group made for it; "" = none.
        problem: why the pod cannot be scheduled as written; "" = none.
        labels: `(key, value)` in key order.
        annotations: the annotations that some plugin declared, `(key, value)` in key order.
        own_size: approximate bytes of what it has besides its class.
        nominated: `status.nominatedNodeName`; "" = none.
        rejected: why the kubelet refused to run it (`status.reason` of a failed pod that never
            ran: OutOfcpu, NodeAffinity, UnexpectedAdmissionError, …); "" = it did not.
        rank: annotation `enbloc.dev/rank` of a bound member; None = it has none.
        gang_gate: it has the readiness gate `enbloc.dev/GangRunning`.
        gang_running: the status of that condition; None = it is absent.
        claims: the names of the PersistentVolumeClaims of its volumes of kinds "claim" and
            "ephemeral", in their order.
        resource_claims: the names of its ResourceClaims, in the order of `spec.resource_claims`;
            "" = not made yet, None = its status says that none is needed.
        pod_group: the Kubernetes PodGroup that its `spec.schedulingGroup` names; "" = none.
        extended_claim: the ResourceClaim made for extended resources that devices serve; "" = none.
        unready: it was never Ready, according to its conditions.
        ready_at: transition time of condition Ready=True, as `scheduled_at`; None = not True.
        started: `status.startTime`, same unit; None = the kubelet has not seen it yet.
        preempts: it may preempt pods of lower priority; not with `preemptionPolicy: Never`.
        grace: its termination grace period, in seconds.
        preempted: condition DisruptionTarget says that a scheduler preempts it, or that the
            Eviction API evicted it, which does not record who chose it.
        priority_class: `spec.priorityClassName`; "" = none.
        mirror: it represents a static pod, which only its kubelet can end.
        checkpointed: when its work was last saved, from its annotation, server seconds; infinity =
            the annotation is no time, None = it has none.
        admitted_with: how many pods Kueue admits together with it, itself included, from its
            annotation; 0 = unknown, or not all of them need to be there.
        limit: `spec.activeDeadlineSeconds`: its kubelet ends it this long after its start; None =
            no limit.
        expected: how many seconds it is expected to run, from its annotation; None = unknown.
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
    admitted_with: int = 0
    limit: float | None = None
    expected: float | None = None

    @property
    def size(self) -> int:
        """Approximate bytes of what it was read from: the cost of keeping it."""
        return self.spec.size + self.own_size

    @property
    def seniority(self) -> tuple[float, PodKey]:
        """The sort key of members within a group: older first, then by name."""
        return (self.created, self.key)

    @property
    def gated(self) -> bool:
        """Whether it has scheduling gates."""
        return bool(self.gates)

    @property
    def finished(self) -> bool:
        """Whether it succeeded or failed, and so holds no capacity."""
        return self.phase in (Phase.SUCCEEDED, Phase.FAILED)

    @property
    def live(self) -> bool:
        """Whether it is neither finished nor terminating."""
        return not self.finished and not self.deleting

    @property
    def bound(self) -> bool:
        """Whether it is live and has a node."""
        return self.live and self.node != ""

    def phase_after(self, before: Phase | None) -> Phase:
        """Its phase, as it counts; `before` is what counted until now, None = the pod is new.

        A pod that is deleted before it finishes may end with exit code 0, and is Succeeded then.
        Its work is not done, and its controller replaces it: it has failed.
        """
        if self.phase is Phase.SUCCEEDED and self.deleting and before is not Phase.SUCCEEDED:
            return Phase.FAILED
        return self.phase

    @property
    def bound_at(self) -> float:
        """When it was bound, according to its conditions, else created; server seconds."""
        return self.created if self.scheduled_at is None else self.scheduled_at

    @property
    def starting(self) -> bool:
        """Whether it is bound but not yet running and ready, so that dependents still wait."""
        return self.bound and (self.unready or not self.running)

    @property
    def running(self) -> bool:
        """Whether its phase is Running."""
        return self.phase is Phase.RUNNING

    @property
    def owner_key(self) -> str:
        """The owner that its labels or its controller name (semantics §1).

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
        """The UID of the pod that controls this one, as Spark drivers do executors; "" = none."""
        return self.owner.uid if self.owner and self.owner.kind == "Pod" else ""
