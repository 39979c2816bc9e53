# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs of the training operator and of the MPI operator: one PodGroup each.

A TrainJob has the PodGroup of its JobSet. Source of the meaning of fields: training-operator v1.9,
pkg/apis/kubeflow.org/v1; mpi-operator v0.6, pkg/apis/kubeflow/v2beta1/types.go.
"""

from typing import Any, Final

import msgspec

from enbloc.client.paths import Resource
from enbloc.controller.sources.source import Derived, RefusedGroup, Source, SourceObject
from enbloc.controller.sources.topology_keys import with_topology
from enbloc.controller.sources.workloads import (
    Template,
    WorkloadPart,
    bounded,
    metadata_of,
    minimum_of,
    of_roles,
    requests,
)
from enbloc.wire.auto_groups import LAUNCHER, MPI_JOB, TRAINING, WORKER, group_name

_GROUP: Final = "kubeflow.org"
_WAITS: Final = "WaitForWorkersReady"


class _Replicas(WorkloadPart):
    replicas: int | None = None
    template: Template | None = None


class _SchedulingPolicy(WorkloadPart):
    min_available: int | None = None


class _RunPolicy(WorkloadPart):
    scheduling_policy: _SchedulingPolicy | None = None


class _Elastic(WorkloadPart):
    min_replicas: int | None = None


class _Spec(WorkloadPart):
    run_policy: _RunPolicy | None = None
    elastic_policy: _Elastic | None = None
    launcher_creation_policy: str | None = None
    pytorch: dict[str, _Replicas] | None = msgspec.field(default=None, name="pytorchReplicaSpecs")
    tf: dict[str, _Replicas] | None = msgspec.field(default=None, name="tfReplicaSpecs")
    xgb: dict[str, _Replicas] | None = msgspec.field(default=None, name="xgbReplicaSpecs")
    paddle: dict[str, _Replicas] | None = msgspec.field(default=None, name="paddleReplicaSpecs")
    jax: dict[str, _Replicas] | None = msgspec.field(default=None, name="jaxReplicaSpecs")
    mpi: dict[str, _Replicas] | None = msgspec.field(default=None, name="mpiReplicaSpecs")

    @property
    def replicas(self) -> dict[str, _Replicas]:
        """Its replicas by role."""
        kinds = (self.pytorch, self.tf, self.xgb, self.paddle, self.jax, self.mpi)
        found = next((each for each in kinds if each), {})
        return {role.lower(): each for role, each in sorted(found.items())}

    @property
    def least(self) -> int | None:
        """Its `minAvailable`: how many pods suffice in all; None = not set."""
        policy = self.run_policy and self.run_policy.scheduling_policy
        return policy.min_available if policy else None


class TrainingJob(SourceObject):
    """A job of the training operator, or an MPIJob."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def training(kind: str, found: TrainingJob) -> Derived | RefusedGroup:
    """The PodGroup of all replicas; elastic workers count by their minimum, all by minAvailable."""
    spec, roles = found.spec, _roles(found.spec)
    elastic = spec.elastic_policy
    if elastic is not None and elastic.min_replicas is not None and WORKER in roles:
        roles[WORKER] = min(roles[WORKER], bounded(elastic.min_replicas))
    name = group_name(kind, found.metadata.name, found.metadata.uid)
    return _derived(spec, roles, name)


def mpi(found: TrainingJob) -> Derived | RefusedGroup:
    """The PodGroup of launcher and workers; a launcher that waits only has capacity reserved."""
    spec, roles = found.spec, _roles(found.spec)
    name = group_name(MPI_JOB, found.metadata.name)
    if spec.launcher_creation_policy != _WAITS:
        return _derived(spec, roles, name)
    parts = [requests(each.template, bounded(each.replicas)) for each in spec.replicas.values()]
    reserved = sum(parts[1:], parts[0]) if parts else None
    return _derived(spec, {**roles, LAUNCHER: 0}, name, reserved)


def _roles(spec: _Spec) -> dict[str, int]:
    return {role: bounded(each.replicas) for role, each in spec.replicas.items()}


def _derived(
    spec: _Spec, roles: dict[str, int], name: str, reserved: Any = None
) -> Derived | RefusedGroup:
    least, pods = spec.least, sum(_roles(spec).values())
    if least is not None and 0 < least < sum(roles.values()):
        roles = dict.fromkeys(roles, 0)
        derived = Derived({**minimum_of(roles.items(), reserved), "minMember": least}, name)
    else:
        derived = of_roles(roles.items(), name, reserved, pods=pods)
    metadata = ((role, metadata_of(each.template)) for role, each in spec.replicas.items())
    return with_topology(derived, metadata)


def _training_source(kind: str) -> Source[TrainingJob]:
    resource = Resource(_GROUP, "v1", f"{kind.lower()}s", kind)

    def derive(found: TrainingJob) -> Derived | RefusedGroup:
        return training(kind, found)

    return Source(kind, (resource,), TrainingJob, derive, controls=True)


TRAINING_SOURCES: Final = tuple(map(_training_source, TRAINING))
MPI_JOB_SOURCE: Final = Source(
    MPI_JOB,
    tuple(Resource(_GROUP, version, "mpijobs", MPI_JOB) for version in ("v2beta1", "v1")),
    TrainingJob,
    mpi,
    controls=True,
)
