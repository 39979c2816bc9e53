# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs, including those of CronJobs, and StatefulSets: one PodGroup each.

Source of the meaning of fields: kubernetes v1.36 staging/src/k8s.io/api/batch/v1/types.go and
apps/v1/types.go.
"""

from typing import Final

import msgspec

from enbloc.client.paths import JOBS, STATEFUL_SETS
from enbloc.controller.creators import count_indexes
from enbloc.controller.sources.source import Derived, RefusedGroup, Source, SourceObject
from enbloc.controller.sources.topology_keys import with_topology
from enbloc.controller.sources.workloads import (
    Template,
    WorkloadPart,
    bounded,
    metadata_of,
    of_roles,
    requests,
)
from enbloc.wire.auto_groups import JOB, STATEFUL_SET, group_name


class JobSpec(WorkloadPart):
    """`spec` of a Job."""

    parallelism: int | None = None
    completions: int | None = None
    template: Template | None = None

    def at_once(self, failed: int = 0) -> int:
        """How many pods it runs at the same time from the start, without failed indexes."""
        most = bounded(self.parallelism)
        return most if self.completions is None else min(most, bounded(self.completions - failed))


class WorkloadJob(SourceObject):
    """A Job."""

    spec: JobSpec = msgspec.field(default_factory=JobSpec)


class _SetSpec(WorkloadPart):
    replicas: int | None = None
    pod_management_policy: str | None = None
    template: Template | None = None


class WorkloadSet(SourceObject):
    """A StatefulSet."""

    spec: _SetSpec = msgspec.field(default_factory=_SetSpec)


def job(found: WorkloadJob) -> Derived | RefusedGroup:
    """The PodGroup for the pods that a Job runs at once; a later Job of that name has another."""
    name = group_name(JOB, found.metadata.name, found.metadata.uid)
    failed = count_indexes(found.status.get("failedIndexes"))
    derived = of_roles([("", found.spec.at_once(failed))], name)
    return with_topology(derived, [("", metadata_of(found.spec.template))])


def stateful_set(found: WorkloadSet) -> Derived | RefusedGroup:
    """The PodGroup of all replicas; if OrderedReady, of the first, with capacity for all."""
    spec, name = found.spec, group_name(STATEFUL_SET, found.metadata.name, found.metadata.uid)
    replicas = bounded(spec.replicas)
    if spec.pod_management_policy == "Parallel":
        derived = of_roles([("", replicas)], name)
    else:
        reserved = requests(spec.template, replicas)
        derived = of_roles([("", min(1, replicas))], name, reserved)
    return with_topology(derived, [("", metadata_of(spec.template))])


JOB_SOURCE: Final = Source("Job", (JOBS,), WorkloadJob, job, controls=True)
STATEFUL_SET_SOURCE: Final = Source(
    "StatefulSet", (STATEFUL_SETS,), WorkloadSet, stateful_set, controls=True
)
