# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs, StatefulSets and ReplicaSets from the API server, and the `Creator` made from each."""

from dataclasses import replace
from typing import Final

import msgspec

from enbloc.client.paths import JOBS, STATEFUL_SETS
from enbloc.controller.creators import JOB, REPLICA_SET, STATEFUL_SET, Creator, count_indexes
from enbloc.model.dialects import membership, readable
from enbloc.model.groups import GroupKey
from enbloc.model.names import DISRUPTION_TARGET
from enbloc.model.text import clipped
from enbloc.model.times import seconds_of
from enbloc.wire.auto_groups import auto_group
from enbloc.wire.codec import restart_of
from enbloc.wire.objects import (
    ConditionObject,
    Identity,
    OwnerReference,
    SchedulingGroupObject,
    Texts,
    controller_of,
)

#: The conditions that end a Job, and whether each means that it is complete.
_ENDS: Final = {"Complete": True, "Failed": False}
#: The most characters of an owner's name that are kept; the API server does not limit it.
_MOST_NAMED: Final = 253
#: The most digits of a count of replicas.
_MOST_DIGITS: Final = 10
#: The annotation in which a Deployment notes its own replicas on its ReplicaSet.
_DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
_API_VERSIONS: Final = {each.kind: each.api_version for each in (JOBS, STATEFUL_SETS)}


class _Struct(msgspec.Struct, gc=False, rename="camel"):
    """camelCase names, outside the garbage collector."""


class _Metadata(Identity):
    generation: int | None = None
    creation_timestamp: str | None = None
    annotations: Texts | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class _TemplateMetadata(_Struct):
    labels: Texts | None = None
    annotations: Texts | None = None


class _TemplateSpec(_Struct):
    scheduling_group: SchedulingGroupObject | None = None


class _Template(_Struct):
    metadata: _TemplateMetadata | None = None
    spec: _TemplateSpec | None = None


class _PodCondition(_Struct):
    type: str = ""
    status: str | None = None


class _FailureRule(_Struct):
    action: str = ""
    on_pod_conditions: tuple[_PodCondition, ...] | None = None


class _FailurePolicy(_Struct):
    rules: tuple[_FailureRule, ...] | None = None


class _JobSpec(_Struct):
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    suspend: bool | None = None
    pod_failure_policy: _FailurePolicy | None = None
    template: _Template | None = None


class _JobStatus(_Struct):
    succeeded: int | None = None
    failed_indexes: str | None = None
    conditions: tuple[ConditionObject, ...] | None = None


class JobObject(_Struct):
    """A Job, with the fields that describe its members and its end."""

    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _JobSpec | None = None
    status: _JobStatus | None = None


class _SetSpec(_Struct):
    replicas: int | None = None
    pod_management_policy: str | None = None
    template: _Template | None = None


class SetObject(_Struct):
    """A StatefulSet or a ReplicaSet, with the fields that describe its members."""

    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _SetSpec | None = None


def job(found: JobObject) -> Creator:
    """The Creator for a Job."""
    spec, status = found.spec or _JobSpec(), found.status or _JobStatus()
    completions = spec.completions
    if completions is None and spec.parallelism is None:
        completions = 1
    limit = 6 if spec.backoff_limit is None else spec.backoff_limit
    forgives = _forgives(spec.pod_failure_policy)
    return replace(
        _creator(JOB, found.metadata, spec.template),
        pods=1 if spec.parallelism is None else spec.parallelism,
        completions=completions,
        succeeded=status.succeeded or 0,
        failed=count_indexes(status.failed_indexes),
        ended=_ended(status),
        indexed=spec.completion_mode == "Indexed",
        suspended=bool(spec.suspend),
        backoff_limit=None if forgives else limit,
        index_limit=None if forgives else spec.backoff_limit_per_index,
    )


def stateful_set(found: SetObject) -> Creator:
    """The Creator for a StatefulSet."""
    spec = found.spec or _SetSpec()
    return replace(
        _set(STATEFUL_SET, found.metadata, spec),
        ordered=spec.pod_management_policy != "Parallel",
    )


def replica_set(found: SetObject) -> Creator:
    """The Creator for a ReplicaSet; during a rollout, with the replicas of its Deployment."""
    creator = _set(REPLICA_SET, found.metadata, found.spec or _SetSpec())
    desired = (found.metadata.annotations or {}).get(_DESIRED, "")
    if not creator.pods or not desired.isdecimal() or len(desired) > _MOST_DIGITS:
        return creator
    return replace(creator, pods=max(creator.pods, int(desired)))


def _set(kind: str, metadata: _Metadata, spec: _SetSpec) -> Creator:
    replicas = 1 if spec.replicas is None else spec.replicas
    return replace(_creator(kind, metadata, spec.template), pods=replicas)


def _creator(kind: str, metadata: _Metadata, template: _Template | None) -> Creator:
    """A Creator with the fields that all kinds have in common."""
    of = (template and template.metadata) or _TemplateMetadata()
    native = template.spec.scheduling_group if template and template.spec else None
    named = (native.pod_group_name if native else None) or ""
    member = readable(membership(of.labels or {}, of.annotations or {}, named))
    group, wave, role = member.group, "", member.role
    if not group:
        owner = OwnerReference(_API_VERSIONS.get(kind, ""), kind, metadata.name, metadata.uid)
        auto = auto_group(of.labels or {}, owner)
        group, wave, role = (auto.name, auto.wave, auto.role) if auto else ("", "", "")
    namespace = metadata.namespace or ""
    above = controller_of(metadata.owner_references) or OwnerReference()
    return Creator(
        kind=kind,
        name=metadata.name,
        uid=metadata.uid,
        group=GroupKey(namespace, group) if group else None,
        wave=GroupKey(namespace, wave) if wave else None,
        role=role,
        by_field=bool(named) and group == named,
        above_kind=clipped(above.kind, _MOST_NAMED),
        above_name=clipped(above.name, _MOST_NAMED),
        restart=restart_of(of.labels or {}),
        created=seconds_of(metadata.creation_timestamp or "") or 0.0,
        generation=metadata.generation or 0,
    )


def _ended(status: _JobStatus) -> bool | None:
    """Whether a Job is complete (True) or failed (False); None = it has not ended."""
    for condition in status.conditions or ():
        if condition.type in _ENDS and condition.status == "True":
            return _ENDS[condition.type]
    return None


def _forgives(policy: _FailurePolicy | None) -> bool:
    """Whether the limits of failures do not count pods that a scheduler deletes.

    The first rule that such a pod matches decides.
    """
    for rule in (policy.rules if policy else None) or ():
        for condition in rule.on_pod_conditions or ():
            if condition.type == DISRUPTION_TARGET and condition.status in (None, "True"):
                return rule.action == "Ignore"
    return False
