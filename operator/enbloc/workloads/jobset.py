# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""JobSets: their Jobs, with the labels that identify pods; dependent Jobs come in later waves.

Source: jobset v0.10 pkg/controllers/jobset_controller.go constructJob, labelAndAnnotateObject;
pkg/webhooks/jobset_webhook.go Default.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Final

from enbloc.wire.exclusive_placement import JOB_SET_KEY, copied, first_leads
from enbloc.workloads.batch import JobSpec
from enbloc.workloads.fields import Fields, MetadataFields, count, read
from enbloc.workloads.making import Maker, Owner

_KEY: Final = "jobset.sigs.k8s.io/"
_IN_ORDER: Final = "InOrder"
_COMPLETE: Final = "Complete"


class _JobTemplate(Fields):
    spec: dict[str, Any]
    metadata: MetadataFields | None = None


class _Dependency(Fields):
    name: str
    status: str = "Ready"


class _ReplicatedJob(Fields):
    name: str
    template: _JobTemplate
    replicas: int | None = None
    group_name: str | None = None
    depends_on: tuple[_Dependency, ...] | None = None


class _StartupPolicy(Fields):
    startup_policy_order: str | None = None


class _Spec(Fields):
    replicated_jobs: tuple[_ReplicatedJob, ...] = ()
    startup_policy: _StartupPolicy | None = None
    suspend: bool | None = None


class _JobSet(Fields):
    spec: _Spec


def job_set(make: Maker, owner: Owner) -> None:
    """Add all Jobs of all replicatedJobs, each in the wave of its creation."""
    spec = read(owner.body, _JobSet, owner.where).spec
    if spec.suspend:
        make.suspended(owner, "spec.suspend")
    if any(JOB_SET_KEY in _of_pods(owner, job) for job in spec.replicated_jobs):
        make.note(f"{owner.where}: annotation {JOB_SET_KEY} is not followed in this answer")
    waves = _waves(make, owner, spec)
    total = sum(_replicas(job, owner) for job in spec.replicated_jobs)
    place = 0
    for at, job in enumerate(spec.replicated_jobs):
        field = f"spec.replicatedJobs[{at}]"
        replicas, wave = _replicas(job, owner), waves.get(job.name)
        size = read(job.template.spec, JobSpec, f"{owner.where}: {field}.template.spec")
        make.check(replicas * max(1, size.at_once(owner.where)), owner, f"{field}.replicas")
        for index in range(replicas):
            keys = _keys(owner, job, index, place, total)
            place += 1
            if wave is not None:
                body = _job(owner, job, index, keys)
                make.child(owner, body, wave=owner.wave + wave, at=f"{field}.template.spec")


def _replicas(job: _ReplicatedJob, owner: Owner) -> int:
    return count(job.replicas, f"spec.replicatedJobs[{job.name}].replicas", owner.where)


def _waves(make: Maker, owner: Owner, spec: _Spec) -> Mapping[str, int]:
    """The first wave of each replicatedJob; one that waits for another's completion is left out."""
    jobs, policy = spec.replicated_jobs, spec.startup_policy
    lengths = {job.name: 1 + first_leads(_of_pods(owner, job)) for job in jobs}
    if policy is not None and policy.startup_policy_order == _IN_ORDER:
        return dict(zip(lengths, accumulate(lengths.values(), initial=0), strict=False))
    waves: dict[str, int] = {}
    for job in jobs:  # the API server allows only dependencies on earlier ones
        after = [0]
        for each in job.depends_on or ():
            if each.status == _COMPLETE or each.name not in waves:
                make.note(
                    f"{owner.where}: replicatedJob {job.name} is created once {each.name} is "
                    "complete; it is no part of the answer"
                )
                break
            after.append(waves[each.name] + lengths[each.name])
        else:
            waves[job.name] = max(after)
    return waves


def _keys(owner: Owner, job: _ReplicatedJob, index: int, place: int, total: int) -> dict[str, str]:
    """The labels, which are also the annotations, of a Job and of its pods."""
    said = {
        "jobset-name": owner.name,
        "jobset-uid": owner.uid,
        "replicatedjob-name": job.name,
        "replicatedjob-replicas": str(_replicas(job, owner)),
        "restart-attempt": "0",
        "job-index": str(index),
        "job-global-index": str(place),
        "global-replicas": str(total),
        "group-name": job.group_name or "default",
    }
    return {f"{_KEY}{key}": value for key, value in said.items()}


def _of_pods(owner: Owner, job: _ReplicatedJob) -> Mapping[str, Any]:
    """The annotations of the pods of a replicatedJob, without those that identify them."""
    template = job.template.spec.get("template")
    metadata = template.get("metadata") if isinstance(template, dict) else None
    own = metadata.get("annotations") if isinstance(metadata, dict) else None
    return {**(own if isinstance(own, dict) else {}), **_exclusive(owner, job)}


def _exclusive(owner: Owner, job: _ReplicatedJob) -> dict[str, str]:
    """The annotations that a JobSet adds to pods for exclusive placement; empty = none."""
    given = job.template.metadata or MetadataFields()
    return copied(owner.annotations, given.annotations)


def _job(owner: Owner, job: _ReplicatedJob, index: int, keys: Mapping[str, str]) -> dict[str, Any]:
    given = job.template.metadata or MetadataFields()
    template = job.template.spec.get("template")
    metadata = template.get("metadata") if isinstance(template, dict) else None
    inner = metadata if isinstance(metadata, dict) else {}
    said = {**_exclusive(owner, job), **keys}
    marked = {
        **inner,
        "labels": {**(inner.get("labels") or {}), **keys},
        "annotations": {**(inner.get("annotations") or {}), **said},
    }
    spec = {
        **job.template.spec,
        "completionMode": job.template.spec.get("completionMode") or "Indexed",
        "template": {**(template if isinstance(template, dict) else {}), "metadata": marked},
        "suspend": False,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{owner.name}-{job.name}-{index}",
            "labels": {**(given.labels or {}), **keys},
            "annotations": {**(given.annotations or {}), **said},
        },
        "spec": spec,
    }
