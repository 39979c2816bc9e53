# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""JobSets: one PodGroup, and another for each replicatedJob that is created later.

Source of the meaning of fields: JobSet v0.10, api/jobset/v1alpha2/jobset_types.go.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

import msgspec

from enbloc.client.paths import Resource
from enbloc.controller.sources.batch import JobSpec
from enbloc.controller.sources.source import (
    MOST_GROUPS,
    Derived,
    RefusedGroup,
    Source,
    SourceObject,
)
from enbloc.controller.sources.topology_keys import PodMetadata, with_own_domain, with_topology
from enbloc.controller.sources.workloads import (
    WorkloadPart,
    bounded,
    metadata_of,
    of_roles,
    requests,
)
from enbloc.wire.auto_groups import JOB_SET, group_name
from enbloc.wire.exclusive_placement import copied, first_leads

RESOURCE: Final = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", JOB_SET)
_IN_ORDER: Final = "InOrder"
_COMPLETE: Final = "Complete"


class _JobTemplate(WorkloadPart):
    metadata: PodMetadata | None = None
    spec: JobSpec = msgspec.field(default_factory=JobSpec)


class _Dependency(WorkloadPart):
    name: str = ""
    status: str = ""


class _ReplicatedJob(WorkloadPart):
    name: str = ""
    replicas: int | None = None
    template: _JobTemplate = msgspec.field(default_factory=_JobTemplate)
    depends_on: tuple[_Dependency, ...] | None = None

    @property
    def size(self) -> int:
        """How many pods it runs at the same time."""
        return bounded(bounded(self.replicas) * self.template.spec.at_once())

    def least(self, found: "JobSet") -> int:
        """How many of these pods can exist before any has a node.

        With exclusive placement, the other pods of a Job are refused until its first has one.
        """
        of_job = self.template.metadata.annotations if self.template.metadata else None
        pods = metadata_of(self.template.spec.template)
        of_pods = (pods.annotations if pods else None) or {}
        at_once = self.template.spec.at_once()
        if first_leads({**of_pods, **copied(found.metadata.annotations, of_job)}):
            at_once = min(1, at_once)
        return bounded(bounded(self.replicas) * at_once)

    @property
    def requests(self) -> Counter[str]:
        """What these pods request together, by resource."""
        return requests(self.template.spec.template, self.size)


class _StartupPolicy(WorkloadPart):
    startup_policy_order: str | None = None


class _Spec(WorkloadPart):
    replicated_jobs: tuple[_ReplicatedJob, ...] | None = None
    startup_policy: _StartupPolicy | None = None


class JobSet(SourceObject):
    """A JobSet."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def derive(found: JobSet) -> tuple[Derived, ...] | RefusedGroup:
    """The PodGroup of the Jobs created at once, and one for each Job that is created later.

    The first has capacity for all pods, if not all can exist from the start.
    """
    jobs, name = found.spec.replicated_jobs or (), found.metadata.name
    policy = found.spec.startup_policy
    if policy is not None and policy.startup_policy_order == _IN_ORDER:
        first, later = jobs[:1], jobs[1:]
    else:
        first = tuple(job for job in jobs if not job.depends_on)
        later = tuple(job for job in jobs if job.depends_on)
    whole = group_name(JOB_SET, name)
    if len(later) >= MOST_GROUPS:
        return RefusedGroup(
            f"spec.replicatedJobs: {len(later)} are created after others; fewer than {MOST_GROUPS} "
            "are supported: use several JobSets",
            whole,
        )
    waits = later or any(job.least(found) < job.size for job in first)
    reserved = _most(jobs) if waits else None
    groups = [with_topology(of_roles(_roles(found, first), whole, reserved), _metadata(first))]
    counts_all = all(job.least(found) == job.size for job in first)
    if later and counts_all and isinstance(groups[0], Derived):
        groups[0] = with_own_domain(groups[0])
    for job in later:
        own = group_name(JOB_SET, name, part=job.name)
        part = of_roles(_roles(found, [job]), own, beside=whole)
        groups.append(with_topology(part, _metadata([job])))
    for each in groups:
        if isinstance(each, RefusedGroup):
            return replace(each, name=whole)
    return tuple(each for each in groups if isinstance(each, Derived))


def _metadata(jobs: Iterable[_ReplicatedJob]) -> list[tuple[str, PodMetadata | None]]:
    return [(job.name, metadata_of(job.template.spec.template)) for job in jobs]


def _roles(found: JobSet, jobs: Iterable[_ReplicatedJob]) -> list[tuple[str, int]]:
    return [(job.name, job.least(found)) for job in jobs]


def _most(jobs: Iterable[_ReplicatedJob]) -> Counter[str]:
    """The most that jobs request at the same time, by resource.

    A wave begins when the last one has completed, as far as jobs of the next wait for that. A job
    for whose completion none waits counts from its own wave on.

    Args:
        jobs: each after those that it depends on, as JobSet demands.
    """
    jobs = list(jobs)
    begins: dict[str, int] = {}
    ends: dict[str, int] = {}
    for job in jobs:
        waits = [(each.name, each.status == _COMPLETE) for each in job.depends_on or ()]
        wave = max((begins.get(name, 0) + ended for name, ended in waits), default=0)
        begins[job.name] = wave
        for name, ended in waits:
            if ended:
                ends[name] = min(wave, ends.get(name, wave))
    changes: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for job in jobs:
        changes[begins[job.name]].update(job.requests)
        if job.name in ends:
            changes[ends[job.name]].subtract(job.requests)
    running, most = Counter[str](), Counter[str]()
    for wave in sorted(changes):
        running.update(changes[wave])
        most |= running
    return most


JOB_SET_SOURCE: Final = Source("JobSet", (RESOURCE,), JobSet, derive, controls=True)
