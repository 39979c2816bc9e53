# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes objects to model facts; total: what cannot be read becomes a problem, not an error.

A problem names the field and the fix. The part that it concerns counts as absent.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import starmap
from typing import Final, NamedTuple, TypeAlias

from enbloc.model import kai
from enbloc.model.binding_record import (
    BindingRecord,
    binding_record,
    read_binding_record,
    short_record,
)
from enbloc.model.dialects import YIELDING, membership, readable
from enbloc.model.field_managers import schedulers_among
from enbloc.model.groups import Group, GroupKey, OnIncomplete
from enbloc.model.limits import offered
from enbloc.model.names import (
    DERIVED_KEY,
    DISRUPTION_TARGET,
    GANG_RUNNING,
    JOBSET_RESTART_KEY,
    JOBSET_UID_KEY,
    MIRROR_POD_KEY,
    OUTDATED_REASONS,
    PLAN_KEY,
    RANK_KEY,
)
from enbloc.model.node import Node
from enbloc.model.pods import NodeSelectorTerm, Owner, Phase, Pod, PodKey, PodUID
from enbloc.model.qualified_names import qualified_name_problem
from enbloc.model.resources import AMOUNT_LIMIT
from enbloc.model.runs import short
from enbloc.model.selectors import Labels, Selector
from enbloc.model.taints import Effect, Taint
from enbloc.model.text import clipped, whole_number
from enbloc.model.versions import version_of
from enbloc.model.workloads import equals
from enbloc.wire.checkpoints import checkpointed
from enbloc.wire.codec_groups import parts
from enbloc.wire.codec_memory import memory
from enbloc.wire.codec_selectors import (
    label_selector,
    preferred_node_terms,
    required_node_terms,
)
from enbloc.wire.codec_specs import pod_class
from enbloc.wire.codec_volumes import claim_names, resource_claim_names
from enbloc.wire.durations import expected, limit
from enbloc.wire.kueue import admitted_with
from enbloc.wire.objects import (
    PREFERRED,
    REQUIRED,
    ConditionObject,
    ImageObject,
    Metadata,
    NamespaceObject,
    NodeAffinityObject,
    NodeObject,
    NodeStatusObject,
    PodGroupMetadata,
    PodGroupObject,
    PodGroupSpecObject,
    PodGroupStatusObject,
    PodObject,
    PodSpecObject,
    PodStatusObject,
    ReplicaSetObject,
    ReplicationControllerObject,
    ServiceObject,
    StatefulSetObject,
    TaintObject,
    Texts,
)
from enbloc.wire.pod_ends import admission_refusal, deleted_before_end, preempted
from enbloc.wire.problems import Problems, quantities
from enbloc.wire.times import seconds_of_text
from enbloc.wire.topologies import topology_parts, topology_request

__all__ = [
    "BindingRecord",
    "NodeAffinityTerms",
    "NodeObject",
    "PodGroupObject",
    "PodObject",
    "binding_record",
    "controller_selector",
    "group",
    "namespace_labels",
    "node",
    "node_affinity",
    "pod",
    "read_binding_record",
    "service_selector",
    "status_writers",
]

Prefixes: TypeAlias = tuple[str, ...]

_EMPTY: Final[Texts] = {}
_NO_SPEC: Final = PodSpecObject()
_NO_STATUS: Final = PodStatusObject()
_NO_NODE_STATUS: Final = NodeStatusObject()
_PHASES: Final = {str(phase): phase for phase in Phase}
_MOST_SHARED: Final = 65536
#: Approximate bytes of a label or a gate.
_NAME_BYTES: Final = 256
#: The API server's limit for names, and a little more (characters).
_LONGEST_SHARED: Final = 512
#: Digits of a rank: no gang has more than 100,000 members.
_MOST_DIGITS: Final = 6
#: How many names a problem lists.
_MOST_TOLD: Final = 3
#: Characters of a shared text that is kept; the API server does not limit owners' names.
_MOST_NAMED: Final = 1024
#: Characters that a problem quotes of an object.
_QUOTED: Final = 64
#: The longest wait of a preemptor for a pod to end (seconds).
_LONGEST_GRACE: Final = 3600
#: A kubelet writes the first status of a pod within this after it was bound (seconds).
_FIRST_STATUS_SECONDS: Final = 30.0


class NodeAffinityTerms(NamedTuple):
    """Node affinity outside a pod.

    Attributes:
        required: terms, any of which suffices; None = no constraint.
        preferred: `(weight, term)`.
        problems: what could not be read, each with its field and the fix.
    """

    required: tuple[NodeSelectorTerm, ...] | None
    preferred: tuple[tuple[int, NodeSelectorTerm], ...]
    problems: Sequence[str]


def pod(obj: PodObject, keep: Prefixes = ()) -> Pod:
    """A Pod; its class is shared with all pods alike.

    Only annotations whose keys begin with one of `keep` are kept, as for nodes and groups.
    """
    metadata, spec, status = obj.metadata, obj.spec or _NO_SPEC, obj.status or _NO_STATUS
    labels, annotations = metadata.labels or _EMPTY, metadata.annotations or _EMPTY
    pod_spec, problem = pod_class(obj)
    native = (spec.scheduling_group.pod_group_name if spec.scheduling_group else "") or ""
    scheduler = _shared(spec.scheduler_name or "")
    # KAI's pod grouper names the group of these pods too, in an annotation.
    workload = spec.workload_ref is not None and scheduler != kai.SCHEDULER
    member = readable(membership(labels, annotations, native, workload=workload))
    part_of_gpu = kai.part_of_gpu(scheduler, annotations)
    problems = Problems()
    problems += filter(None, (problem, member.problem, part_of_gpu))
    group = member.group
    unnamed = not group or member.key in YIELDING
    if unnamed and not problems and kai.awaits_group(scheduler, annotations):
        group = kai.UNNAMED
    namespace = _shared(metadata.namespace or "")
    scheduled = _condition(status.conditions, "PodScheduled")
    ready = _condition(status.conditions, "Ready")
    kept_annotations = _kept(annotations, keep)
    gang_gate = bool(spec.readiness_gates) and _has_gang_gate(spec)
    extended = status.extended_resource_claim_status
    return Pod(
        key=PodKey(namespace, metadata.name),
        uid=PodUID(metadata.uid),
        spec=pod_spec,
        scheduler=scheduler,
        node=_shared(spec.node_name or ""),
        phase=_PHASES.get(status.phase or Phase.PENDING, Phase.UNKNOWN),
        deleting=deleted_before_end(metadata, status),
        gates=_gates(spec) if spec.scheduling_gates else (),
        group=_group_key(namespace, group) if group else None,
        role=_shared(member.role) if member.role else "",
        group_conflict=member.conflict,
        hint=member.hint,
        topology_key=member.topology_key,
        priority=spec.priority or 0,
        created=_time(metadata, problems),
        scheduled_at=_since(scheduled, "True"),
        owner=_owner(metadata),
        binding_record=short_record(annotations.get(PLAN_KEY, "")),
        unschedulable=_refused(scheduled),
        resource_version=_version(metadata, problems),
        restart=restart_of(labels),
        problem=problems.text(),
        annotations_size=_size(annotations),
        own_size=_own_size(labels, spec, kept_annotations),
        labels=_pairs(labels),
        annotations=kept_annotations,
        nominated=_node_name(status.nominated_node_name or ""),
        rejected=admission_refusal(status) if status.reason else "",
        rank=_rank(annotations) if spec.node_name else None,
        gang_gate=gang_gate,
        gang_running=_gang_running(status) if gang_gate else None,
        claims=claim_names(spec.volumes, metadata.name) if pod_spec.volumes else (),
        resource_claims=resource_claim_names(spec, status) if pod_spec.resource_claims else (),
        pod_group=_shared(native) if native else "",
        extended_claim=extended.resource_claim_name or "" if extended else "",
        unready=_never_ready(ready, scheduled),
        ready_at=_since(ready, "True"),
        started=seconds_of_text(status.start_time),
        preempts=spec.preemption_policy != "Never",
        grace=_grace(spec),
        preempted=preempted(
            _condition(status.conditions, DISRUPTION_TARGET),
            deleting=metadata.deletion_timestamp is not None,
        ),
        priority_class=_shared(spec.priority_class_name) if spec.priority_class_name else "",
        mirror=MIRROR_POD_KEY in annotations,
        checkpointed=checkpointed(annotations) if annotations else None,
        admitted_with=admitted_with(annotations) if annotations else 0,
        limit=limit(spec),
        expected=expected(annotations) if annotations else None,
    )


def node(obj: NodeObject, keep: Prefixes = ()) -> Node:
    """A Node; amounts above 64 PiB are clamped to that."""
    metadata, status, problems = obj.metadata, obj.status or _NO_NODE_STATUS, Problems()
    allocatable = offered(quantities(status.allocatable, "status.allocatable", problems), problems)
    ready = _condition(status.conditions, "Ready")
    return Node(
        name=metadata.name,
        uid=metadata.uid,
        labels=_pairs(metadata.labels or _EMPTY),
        taints=_taints((obj.spec.taints if obj.spec else None) or (), problems),
        unschedulable=bool(obj.spec and obj.spec.unschedulable),
        allocatable=tuple(
            (name, min(allocatable[name], AMOUNT_LIMIT)) for name in sorted(allocatable)
        ),
        ready=ready is not None and ready.status == "True",
        images=_images(status.images or ()),
        features=tuple(map(_shared, sorted(status.declared_features or ()))),
        annotations=_kept(metadata.annotations or _EMPTY, keep),
        resource_version=_version(metadata, problems),
        problem=problems.text(),
    )


def group(obj: PodGroupObject, keep: Prefixes = ()) -> Group:
    """A PodGroup of ours, with what its status stores."""
    metadata, spec, problems = obj.metadata, obj.spec or PodGroupSpecObject(), Problems()
    minimum = 1 if spec.min_member is None else spec.min_member
    if minimum < 1:
        problems.append(f"spec.minMember: {minimum} is below 1; leave it out for 1")
        minimum = 1
    needed = parts(spec, minimum, problems)
    timeout = spec.schedule_timeout_seconds or 0
    if timeout < 0:
        problems.append(
            f"spec.scheduleTimeoutSeconds: {timeout} is negative; use 0 for the default"
        )
        timeout = 0
    resources = _min_resources(spec, problems)
    created, version = _time(metadata, problems), _version(metadata, problems)
    on_incomplete, owner = _on_incomplete(spec, problems), _owner(metadata)
    near, parts_near = topology_request(spec, problems), topology_parts(spec, problems)
    return Group(
        key=_group_key(metadata.namespace or "", metadata.name),
        uid=metadata.uid,
        min_member=needed.min_member,
        roles=needed.roles,
        min_resources=tuple(sorted(resources.items())),
        timeout=timeout,
        priority_class=spec.priority_class_name or "",
        generation=metadata.generation or 0,
        resource_version=version,
        created=created,
        memory=memory(obj.status or PodGroupStatusObject()),
        problem=problems.text(),
        annotations=_kept(metadata.annotations or _EMPTY, keep),
        on_incomplete=on_incomplete,
        owner=f"{owner.kind}/{owner.uid}" if owner else "",
        writers=status_writers(metadata),
        derived=DERIVED_KEY in (metadata.labels or _EMPTY),
        sub_groups=needed.sub_groups,
        min_group_count=needed.min_group_count,
        checkpointed=checkpointed(metadata.annotations or _EMPTY),
        topology=near,
        topology_parts=parts_near,
        labels=_pairs(metadata.labels or _EMPTY),
    )


def status_writers(metadata: PodGroupMetadata) -> tuple[str, ...]:
    """The field managers of enbloc schedulers that own a part of a PodGroup's status."""
    owned = metadata.managed_fields or ()
    return schedulers_among(each.manager for each in owned if each.subresource == "status")


def namespace_labels(obj: NamespaceObject) -> Labels:
    """The labels of a namespace, `(key, value)` in key order."""
    return _pairs(obj.metadata.labels or _EMPTY)


def service_selector(obj: ServiceObject | ReplicationControllerObject) -> Selector | None:
    """The selector of a Service; None = it has none, and selects nothing."""
    selector = obj.spec.selector if obj.spec else None
    return None if selector is None else equals(selector)


def controller_selector(
    obj: ReplicationControllerObject | ReplicaSetObject | StatefulSetObject,
) -> Selector | None:
    """The selector of a controller of pods; None = it has none, or it cannot be read."""
    if isinstance(obj, ReplicationControllerObject):
        return service_selector(obj)
    problems = Problems()
    selector = label_selector(obj.spec.selector if obj.spec else None, "spec.selector", problems)
    return None if problems else selector


def node_affinity(obj: NodeAffinityObject, path: str = "addedAffinity") -> NodeAffinityTerms:
    """Node affinity; `path` is the field that holds it, for the problems."""
    problems = Problems()
    return NodeAffinityTerms(
        required_node_terms(obj.required, f"{path}.{REQUIRED}", problems),
        preferred_node_terms(obj.preferred or (), f"{path}.{PREFERRED}", problems),
        problems,
    )


# ── parts ────────────────────────────────────────────────────────────────────────────────────


def _min_resources(spec: PodGroupSpecObject, problems: Problems) -> dict[str, int]:
    """The group's total resources by name; the CRD accepts any text as a name."""
    given = spec.min_resources or {}
    named = {name: text for name, text in given.items() if not qualified_name_problem(name)}
    wrong = [name for name in given if name not in named]
    for name in wrong[:_MOST_TOLD]:
        problems.append(f"spec.minResources: a resource name {qualified_name_problem(name)}")
    if len(wrong) > _MOST_TOLD:
        problems.append(f"spec.minResources: {len(wrong) - _MOST_TOLD} more invalid names")
    return quantities(named, "spec.minResources", problems)


def _on_incomplete(spec: PodGroupSpecObject, problems: Problems) -> OnIncomplete:
    try:
        return OnIncomplete(spec.on_incomplete or OnIncomplete.REPAIR)
    except ValueError as error:
        problems.append(f"spec.onIncomplete: {error}; use {', '.join(OnIncomplete)}")
        return OnIncomplete.REPAIR


def _taints(given: tuple[TaintObject, ...], problems: Problems) -> tuple[Taint, ...]:
    taints: list[Taint] = []
    for position, each in enumerate(given):
        try:
            taints.append(Taint(each.key, each.value or "", Effect(each.effect)))
        except ValueError as error:
            problems.append(f"spec.taints[{position}].effect: {error}; use {', '.join(Effect)}")
    return tuple(taints)


def _gates(spec: PodSpecObject) -> tuple[str, ...]:
    return tuple([gate.name for gate in spec.scheduling_gates or ()])


def _own_size(labels: Texts, spec: PodSpecObject, annotations: Labels) -> int:
    gates = len(spec.scheduling_gates) if spec.scheduling_gates else 0
    texts = sum(len(key) + len(value) for key, value in annotations) if annotations else 0
    return _NAME_BYTES * (len(labels) + gates) + texts


def _node_name(name: str) -> str:
    """The name of a node; "" if no node can have it."""
    return _shared(name) if len(name) <= _LONGEST_SHARED else ""


def _owner(metadata: Metadata) -> Owner | None:
    for reference in metadata.owner_references or ():
        if reference.controller:
            named = reference.kind, reference.name, reference.uid, reference.api_version
            # Anybody may write such an owner; none has such a name.
            return _shared_owner(
                *named if sum(map(len, named)) <= _MOST_NAMED else map(short, named)
            )
    return None


def _rank(annotations: Texts) -> int | None:
    """The rank of a bound member within its gang; None = none, or it cannot be read."""
    return whole_number(annotations.get(RANK_KEY, ""), _MOST_DIGITS)


def _has_gang_gate(spec: PodSpecObject) -> bool:
    return any(gate.condition_type == GANG_RUNNING for gate in spec.readiness_gates or ())


def _gang_running(status: PodStatusObject) -> bool | None:
    condition = _condition(status.conditions, GANG_RUNNING)
    return None if condition is None else condition.status == "True"


def restart_of(labels: Texts) -> str:
    """The owner that JobSet gives the pods of one attempt; "" = they are not of a JobSet."""
    jobset = labels.get(JOBSET_UID_KEY)
    return _shared(f"{jobset}/{labels.get(JOBSET_RESTART_KEY, '0')}") if jobset else ""


def _condition(conditions: tuple[ConditionObject, ...] | None, kind: str) -> ConditionObject | None:
    for condition in conditions or ():
        if condition.type == kind:
            return condition
    return None


def _since(condition: ConditionObject | None, status: str) -> float | None:
    if condition is None or condition.status != status:
        return None
    return seconds_of_text(condition.last_transition_time)


def _grace(spec: PodSpecObject) -> float:
    seconds = spec.termination_grace_period_seconds
    return 30.0 if seconds is None else float(min(max(seconds, 0), _LONGEST_GRACE))


def _never_ready(ready: ConditionObject | None, scheduled: ConditionObject | None) -> bool:
    """Whether a pod has not been Ready since it was bound, whatever probes say later."""
    if ready is None or ready.status == "True":
        return False
    since, bound = _since(ready, ready.status), _since(scheduled, "True")
    return since is None or bound is None or since <= bound + _FIRST_STATUS_SECONDS


def _refused(condition: ConditionObject | None) -> bool:
    if condition is None:
        return False
    return condition.status == "False" and condition.reason in OUTDATED_REASONS


def _time(metadata: Metadata, problems: Problems) -> float:
    text = metadata.creation_timestamp
    if not text:
        return 0.0
    seconds = seconds_of_text(text)
    if seconds is None:
        quoted = clipped(text, _QUOTED)
        problems.append(f'metadata.creationTimestamp: "{quoted}" is not an RFC 3339 time')
    return seconds or 0.0


def _version(metadata: Metadata, problems: Problems) -> int:
    text = metadata.resource_version or "0"
    version = version_of(text)
    if not version and text != "0":
        problems.append(
            f'metadata.resourceVersion: "{clipped(text, _QUOTED)}" is not a 64-bit integer'
        )
    return version


def _kept(annotations: Texts, keep: Prefixes) -> Labels:
    """The annotations whose keys begin with one of these prefixes."""
    if not keep:
        return ()
    return tuple(sorted(pair for pair in annotations.items() if pair[0].startswith(keep)))


def _images(given: Sequence[ImageObject]) -> tuple[tuple[str, int], ...]:
    """The size of each image by each of its names; the first to have a name counts."""
    sizes = {name: image.size_bytes or 0 for image in reversed(given) for name in image.names or ()}
    return tuple(sorted(starmap(_shared_image, sizes.items())))


def _size(annotations: Texts) -> int:
    """The bytes that the API server counts against its limit for annotations."""
    text = "".join((*annotations, *annotations.values()))
    return len(text) if text.isascii() else len(text.encode())


# ── one object for equal values: many pods share them ────────────────────────────────────────


@lru_cache(maxsize=_MOST_SHARED)
def _kept_text(text: str) -> str:
    return text


def _shared(text: str) -> str:
    """The one text that stands for all equal ones, unless it is implausibly long."""
    return _kept_text(text) if len(text) <= _LONGEST_SHARED else text


def _pairs(labels: Texts) -> Labels:
    """Labels in key order."""
    return tuple(sorted(starmap(_shared_pair, labels.items())))


@lru_cache(maxsize=_MOST_SHARED)
def _shared_pair(key: str, value: str) -> tuple[str, str]:
    return key, value


@lru_cache(maxsize=_MOST_SHARED)
def _kept_image(name: str, size: int) -> tuple[str, int]:
    return name, size


def _shared_image(name: str, size: int) -> tuple[str, int]:
    return _kept_image(name, size) if len(name) <= _LONGEST_SHARED else (name, size)


@lru_cache(maxsize=_MOST_SHARED)
def _group_key(namespace: str, name: str) -> GroupKey:
    return GroupKey(namespace, name)


@lru_cache(maxsize=_MOST_SHARED)
def _shared_owner(kind: str, name: str, uid: str, api_version: str) -> Owner:
    return Owner(kind, name, uid, api_version)
