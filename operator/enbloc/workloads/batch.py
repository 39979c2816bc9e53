# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs and CronJobs: the pods that the Job controller makes first.

Source: kubernetes v1.36 pkg/controller/job/job_controller.go manageJob, indexed_job_utils.go;
pkg/controller/cronjob/utils.go getJobFromTemplate2.
"""

from typing import Any, Final

from enbloc.wire.exclusive_placement import first_leads
from enbloc.workloads.fields import Fields, MetadataFields, Template, count, read
from enbloc.workloads.making import Maker, Owner

_INDEX: Final = "batch.kubernetes.io/job-completion-index"
_LABELLED: Final = ("batch.kubernetes.io/", "")
_JOB_SET: Final = "jobset.sigs.k8s.io/jobset-name"


class JobSpec(Fields):
    """`spec` of a Job."""

    template: Template
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    suspend: bool | None = None

    def at_once(self, where: str) -> int:
        """How many pods it runs at the same time."""
        most = count(self.parallelism, "spec.parallelism", where)
        if self.completions is None:
            return most
        return min(most, count(self.completions, "spec.completions", where))


class _Job(Fields):
    spec: JobSpec


class _JobTemplate(Fields):
    spec: dict[str, Any]
    metadata: MetadataFields | None = None


class _CronSpec(Fields):
    job_template: _JobTemplate
    suspend: bool | None = None


class _CronJob(Fields):
    spec: _CronSpec


def job(make: Maker, owner: Owner) -> None:
    """Add the pods that a Job runs at once, each with its index if the Job is Indexed."""
    spec = read(owner.body, _Job, owner.where).spec
    number = spec.at_once(owner.where)
    make.check(number, owner, "spec.parallelism")
    if spec.suspend:
        make.suspended(owner, "spec.suspend")
    labels = {
        f"{prefix}{key}": value
        for prefix in _LABELLED
        for key, value in (("job-name", owner.name), ("controller-uid", owner.uid))
    }
    indexed = spec.completion_mode == "Indexed"
    annotations = spec.template.annotations
    waits = _JOB_SET in annotations and first_leads(annotations)
    for index in range(number):
        own = {_INDEX: str(index)} if indexed else {}
        make.pod(
            owner,
            spec.template,
            f"{owner.name}-{index}",
            at="spec.template.spec",
            labels={**labels, **own},
            annotations=own,
            wave=owner.wave + (waits and index > 0),
        )


def cron_job(make: Maker, owner: Owner) -> None:
    """Add the Job and the pods of one run of a CronJob."""
    spec = read(owner.body, _CronJob, owner.where).spec
    if spec.suspend:
        make.suspended(owner, "spec.suspend")
    make.note(f"{owner.where}: the answer is for one run that starts now")
    metadata = spec.job_template.metadata or MetadataFields()
    body = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"{owner.name}-0",
            "labels": metadata.labels or {},
            "annotations": metadata.annotations or {},
        },
        "spec": spec.job_template.spec,
    }
    make.child(owner, body, at="spec.jobTemplate.spec")
