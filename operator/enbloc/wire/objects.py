# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The fields of Kubernetes objects that scheduling reads, as typed Structs to decode into.

Unknown fields are skipped without being built. A field that a server may send as `null` is
optional here, so decoding fails only on a value of the wrong type or a number beyond what the API
allows. `gc=False`: none of these can form a cycle.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from enbloc.wire.topology_objects import PartTopologyObject, TopologyRequestObject

Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Quantities: TypeAlias = dict[str, str | Int64 | float]
Texts: TypeAlias = dict[str, str]

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


class _Struct(msgspec.Struct, gc=False, rename="camel"):
    """Base class of all: camelCase names, outside the garbage collector."""


class Present(_Struct):
    """An object of which only its presence matters."""


class Named(_Struct):
    """An object of which only its name matters."""

    name: str = ""


class OwnerReference(_Struct):
    """`metadata.ownerReferences[]`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


def controller_of(owners: Iterable[OwnerReference] | None) -> OwnerReference | None:
    """The controller among an object's owners; None = it has none."""
    for each in owners or ():
        if each.controller:
            return each
    return None


class Metadata(_Struct):
    """`metadata`."""

    name: str = ""
    namespace: str | None = None
    uid: str = ""
    resource_version: str | None = None
    generation: Int64 | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: Texts | None = None
    annotations: Texts | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class ConditionObject(_Struct):
    """`status.conditions[]`."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    last_transition_time: str | None = None


# ── pods ─────────────────────────────────────────────────────────────────────────────────────


class ResourceRequirements(_Struct, omit_defaults=True):
    """`resources` of a container or a pod."""

    requests: Quantities | None = None


class ContainerPort(_Struct, omit_defaults=True):
    """`ports[]` of a container."""

    host_port: Int32 | None = None
    host_ip: str | None = msgspec.field(default=None, name="hostIP")
    protocol: str | None = "TCP"


class RestartRule(_Struct, omit_defaults=True):
    """`restartPolicyRules[]` of a container."""

    action: str = ""


class Container(_Struct, omit_defaults=True):
    """`spec.containers[]` and `spec.initContainers[]`."""

    name: str = ""
    image: str | None = None
    resources: ResourceRequirements | None = None
    ports: tuple[ContainerPort, ...] | None = None
    restart_policy: str | None = None
    restart_policy_rules: tuple[RestartRule, ...] | None = None


class Expression(_Struct, omit_defaults=True):
    """One requirement of a node selector term or a label selector."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class LabelSelectorObject(_Struct, omit_defaults=True):
    """A label selector."""

    match_labels: Texts | None = None
    match_expressions: tuple[Expression, ...] | None = None


class SelectorTerm(_Struct, omit_defaults=True):
    """`nodeSelectorTerms[]`."""

    match_expressions: tuple[Expression, ...] | None = None
    match_fields: tuple[Expression, ...] | None = None


class PreferredTerm(_Struct, omit_defaults=True):
    """One term of preferred node affinity."""

    weight: Int32 = 0
    preference: SelectorTerm | None = None


class NodeSelector(_Struct, omit_defaults=True):
    """Required node affinity."""

    node_selector_terms: tuple[SelectorTerm, ...] | None = None


class NodeAffinityObject(_Struct, omit_defaults=True):
    """`spec.affinity.nodeAffinity`."""

    required: NodeSelector | None = msgspec.field(default=None, name=REQUIRED)
    preferred: tuple[PreferredTerm, ...] | None = msgspec.field(default=None, name=PREFERRED)


class PodTermObject(_Struct, omit_defaults=True):
    """One term of pod affinity.

    `matchLabelKeys` and `mismatchLabelKeys` are not here: the API server has put them into the
    selector.
    """

    topology_key: str = ""
    label_selector: LabelSelectorObject | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelectorObject | None = None


class PreferredPodTerm(_Struct, omit_defaults=True):
    """One term of preferred pod affinity."""

    weight: Int32 = 0
    pod_affinity_term: PodTermObject | None = None


class PodAffinityObject(_Struct, omit_defaults=True):
    """`spec.affinity.podAffinity` and `podAntiAffinity`."""

    required: tuple[PodTermObject, ...] | None = msgspec.field(default=None, name=REQUIRED)
    preferred: tuple[PreferredPodTerm, ...] | None = msgspec.field(default=None, name=PREFERRED)


class Affinity(_Struct, omit_defaults=True):
    """`spec.affinity`."""

    node_affinity: NodeAffinityObject | None = None
    pod_affinity: PodAffinityObject | None = None
    pod_anti_affinity: PodAffinityObject | None = None


class TolerationObject(_Struct, omit_defaults=True):
    """`spec.tolerations[]`."""

    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class SpreadObject(_Struct, omit_defaults=True):
    """`spec.topologySpreadConstraints[]`."""

    topology_key: str = ""
    max_skew: Int32 = 0
    when_unsatisfiable: str = ""
    label_selector: LabelSelectorObject | None = None
    min_domains: Int32 | None = None
    match_label_keys: tuple[str, ...] | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class ImageVolume(_Struct, omit_defaults=True):
    """`spec.volumes[].image`."""

    reference: str | None = None


class ReadinessGate(_Struct):
    """`spec.readinessGates[]`."""

    condition_type: str = ""


class ClaimVolume(_Struct):
    """`spec.volumes[].persistentVolumeClaim`."""

    claim_name: str = ""
    read_only: bool | None = None


#: The fields of a disk that a pod names inline, in an old kind of volume.
Disk: TypeAlias = dict[str, Any]


class Volume(_Struct):
    """`spec.volumes[]`."""

    name: str = ""
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: Present | None = None
    image: ImageVolume | None = None
    gce_persistent_disk: Disk | None = None
    aws_elastic_block_store: Disk | None = None
    azure_disk: Disk | None = None
    azure_file: Disk | None = None
    cinder: Disk | None = None
    vsphere_volume: Disk | None = None
    portworx_volume: Disk | None = None
    iscsi: Disk | None = None
    rbd: Disk | None = None


class PodResourceClaimObject(_Struct):
    """`spec.resourceClaims[]`."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class SchedulingGroupObject(_Struct):
    """`spec.schedulingGroup` of a pod: Kubernetes' own gangs."""

    pod_group_name: str | None = None


class PodSpecObject(_Struct):
    """`spec` of a pod."""

    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    resources: ResourceRequirements | None = None
    overhead: Quantities | None = None
    node_selector: Texts | None = None
    affinity: Affinity | None = None
    tolerations: tuple[TolerationObject, ...] | None = None
    topology_spread_constraints: tuple[SpreadObject, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    resource_claims: tuple[PodResourceClaimObject, ...] | None = None
    scheduling_gates: tuple[Named, ...] | None = None
    readiness_gates: tuple[ReadinessGate, ...] | None = None
    host_network: bool | None = None
    host_users: bool | None = None
    scheduler_name: str | None = None
    node_name: str | None = None
    priority: Int32 | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    termination_grace_period_seconds: Int64 | None = None
    active_deadline_seconds: Int64 | None = None
    scheduling_group: SchedulingGroupObject | None = None
    workload_ref: Present | None = None


class ContainerStatus(_Struct, omit_defaults=True):
    """`status.containerStatuses[]`: what an in-place resize has really given."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities | None = None


class ClaimStatus(_Struct):
    """`status.resourceClaimStatuses[]`, and `status.extendedResourceClaimStatus`."""

    name: str = ""
    resource_claim_name: str | None = None


class PodStatusObject(_Struct):
    """`status` of a pod."""

    phase: str | None = None
    reason: str | None = None
    nominated_node_name: str | None = None
    start_time: str | None = None
    conditions: tuple[ConditionObject, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities | None = None
    resource_claim_statuses: tuple[ClaimStatus, ...] | None = None
    extended_resource_claim_status: ClaimStatus | None = None


class PodObject(_Struct):
    """A Pod as the API server sends it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: PodSpecObject | None = None
    status: PodStatusObject | None = None


# ── nodes ────────────────────────────────────────────────────────────────────────────────────


class TaintObject(_Struct):
    """`spec.taints[]`."""

    key: str = ""
    value: str | None = None
    effect: str = ""


class NodeSpecObject(_Struct):
    """`spec` of a node."""

    unschedulable: bool | None = None
    taints: tuple[TaintObject, ...] | None = None


class ImageObject(_Struct):
    """`status.images[]` of a node."""

    names: tuple[str, ...] | None = None
    size_bytes: Int64 | None = None


class NodeStatusObject(_Struct):
    """`status` of a node."""

    allocatable: Quantities | None = None
    conditions: tuple[ConditionObject, ...] | None = None
    images: tuple[ImageObject, ...] | None = None
    declared_features: tuple[str, ...] | None = None


class NodeObject(_Struct):
    """A Node as the API server sends it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: NodeSpecObject | None = None
    status: NodeStatusObject | None = None


# ── pod groups ───────────────────────────────────────────────────────────────────────────────


class RoleObject(_Struct):
    """`spec.roles[]` of a PodGroup."""

    name: str = ""
    min_member: Int64 | None = None
    parent: str | None = None
    pod_group_name: str | None = None
    topology: PartTopologyObject | None = None


class SubGroupObject(_Struct):
    """`spec.subGroups[]` of a PodGroup."""

    name: str = ""
    min_group_count: Int64 | None = None
    parent: str | None = None
    topology: PartTopologyObject | None = None


class PodGroupSpecObject(_Struct):
    """`spec` of a PodGroup."""

    min_member: Int64 | None = None
    min_resources: Quantities | None = None
    schedule_timeout_seconds: Int64 | None = None
    roles: tuple[RoleObject, ...] | None = None
    priority_class_name: str | None = None
    on_incomplete: str | None = None
    sub_groups: tuple[SubGroupObject, ...] | None = None
    min_group_count: Int64 | None = None
    topology: TopologyRequestObject | None = None


class RoleStatusObject(_Struct):
    """`status.roles[]` of a PodGroup."""

    name: str = ""
    succeeded: Int64 | None = None


class GroupConditionObject(_Struct):
    """`status.conditions[]` of a PodGroup, all six fields."""

    type: str = ""
    status: str = ""
    observed_generation: Int64 | None = None
    last_transition_time: str | None = None
    reason: str = ""
    message: str | None = None


class RunRoleObject(_Struct, omit_defaults=True):
    """`status.runs[].roles[]` of a PodGroup."""

    name: str = ""
    min_member: Int64 | None = None
    succeeded: Int64 | None = None


class RunSubGroupObject(_Struct, omit_defaults=True):
    """`status.runs[].subGroups[]` of a PodGroup."""

    name: str = ""
    min_group_count: Int64 | None = None


class RelaunchObject(_Struct, omit_defaults=True):
    """`status.runs[].relaunch` of a PodGroup."""

    succeeded: Int64 | None = None
    last_scheduled_time: str | None = None
    min_member: Int64 | None = None
    roles: tuple[RunRoleObject, ...] | None = None


class RunObject(_Struct, omit_defaults=True):
    """`status.runs[]` of a PodGroup."""

    name: str = ""
    owners: tuple[str, ...] | None = None
    min_member: Int64 | None = None
    scheduled_time: str | None = None
    started_time: str | None = None
    succeeded: Int64 | None = None
    roles: tuple[RunRoleObject, ...] | None = None
    queue_time: str | None = None
    plan: str | None = None
    min_group_count: Int64 | None = None
    sub_groups: tuple[RunSubGroupObject, ...] | None = None
    relaunch: RelaunchObject | None = None


class PodGroupStatusObject(_Struct):
    """`status` of a PodGroup: what the scheduler must read back at start."""

    run: str | None = None
    started_time: str | None = None
    succeeded: Int64 | None = None
    attempts: Int64 | None = None
    last_attempt_time: str | None = None
    roles: tuple[RoleStatusObject, ...] | None = None
    conditions: tuple[GroupConditionObject, ...] | None = None
    expected: Int64 | None = None
    runs: tuple[RunObject, ...] | None = None


class FieldsOwned(_Struct):
    """`metadata.managedFields[]`."""

    manager: str = ""
    subresource: str = ""


class PodGroupMetadata(Metadata):
    """`metadata` of a PodGroup, with the writers of its fields."""

    managed_fields: tuple[FieldsOwned, ...] | None = None


class PodGroupObject(_Struct):
    """A PodGroup of ours as the API server sends it."""

    metadata: PodGroupMetadata = msgspec.field(default_factory=PodGroupMetadata)
    spec: PodGroupSpecObject | None = None
    status: PodGroupStatusObject | None = None


# ── namespaces, and what has a selector ──────────────────────────────────────────────────────


class Identity(_Struct):
    """The part of `metadata` that identifies an object and its state."""

    name: str = ""
    namespace: str | None = None
    uid: str = ""
    resource_version: str | None = None


class LabelledIdentity(Identity):
    """An Identity with the labels."""

    labels: Texts | None = None


class NamespaceObject(_Struct):
    """A Namespace as the API server sends it."""

    metadata: LabelledIdentity = msgspec.field(default_factory=LabelledIdentity)


class LabelsSpec(_Struct):
    """`spec` of what selects by labels alone."""

    selector: Texts | None = None


class ServiceObject(_Struct):
    """A Service as the API server sends it."""

    metadata: Identity = msgspec.field(default_factory=Identity)
    spec: LabelsSpec | None = None


class ReplicationControllerObject(_Struct):
    """A ReplicationController as the API server sends it."""

    metadata: Identity = msgspec.field(default_factory=Identity)
    spec: LabelsSpec | None = None


class SelectorSpec(_Struct):
    """`spec` of what has a label selector."""

    selector: LabelSelectorObject | None = None


class ReplicaSetObject(_Struct):
    """A ReplicaSet as the API server sends it."""

    metadata: Identity = msgspec.field(default_factory=Identity)
    spec: SelectorSpec | None = None


class StatefulSetObject(_Struct):
    """A StatefulSet as the API server sends it."""

    metadata: Identity = msgspec.field(default_factory=Identity)
    spec: SelectorSpec | None = None
