# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a Job needs next: pods to create, pods to delete, its status. Pure.

Followed: parallelism, completions, completionMode, backoffLimit, podFailurePolicy,
podReplacementPolicy, suspend.
Not followed, and said so in `unsupported`: what makes a Job's success or failure depend on more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from enbloc.client.paths import JOBS
from enbloc_sandbox.nodes.objects import Object, reference, timestamp
from enbloc_sandbox.nodes.pod_failure_policy import counted, fatal

NAME_LABEL: Final = "batch.kubernetes.io/job-name"
UID_LABEL: Final = "batch.kubernetes.io/controller-uid"
INDEX_KEY: Final = "batch.kubernetes.io/job-completion-index"
_UNSUPPORTED: Final = (
    "activeDeadlineSeconds",
    "backoffLimitPerIndex",
    "managedBy",
    "maxFailedIndexes",
    "successPolicy",
    "ttlSecondsAfterFinished",
)


@dataclass(slots=True)
class Tally:
    """What is known of a Job's pods, also of those that are gone.

    Attributes:
        seen: UIDs of all pods that a watch has shown.
        succeeded: UIDs of pods that succeeded.
        failed: pods that failed or were gone before they finished, as last seen, by UID.
        leaving: UIDs of pods that are being deleted and have not ended.
        indexes: completion indexes that are done.
        unwanted: UIDs of pods that we deleted ourselves; these count as neither.
        failed_at: when the last failure was seen (seconds of a monotonic clock).
    """

    seen: set[str] = field(default_factory=set)
    succeeded: set[str] = field(default_factory=set)
    failed: dict[str, Object] = field(default_factory=dict[str, Object])
    leaving: set[str] = field(default_factory=set)
    indexes: set[int] = field(default_factory=set)
    unwanted: set[str] = field(default_factory=set)
    failed_at: float = 0.0

    def count(self, pod: Object, now: float, *, gone: bool = False) -> None:
        """Take in one state of a pod.

        Args:
            pod: the pod.
            now: seconds of a monotonic clock.
            gone: this was its last state.
        """
        uid = pod.metadata.uid
        self.seen.add(uid)
        if pod.phase == "Succeeded":
            self.failed.pop(uid, None)
            self.leaving.discard(uid)
            self.succeeded.add(uid)
            index = index_of(pod)
            if index is not None:
                self.indexes.add(index)
        elif uid in self.unwanted or uid in self.succeeded or uid in self.failed:
            return
        elif pod.phase == "Failed" or gone:
            self.leaving.discard(uid)
            self.failed[uid] = pod
            self.failed_at = now
        elif pod.deleting and uid not in self.leaving:
            self.leaving.add(uid)
            self.failed_at = now

    def failures(self, job: Object) -> int:
        """How many pods count against backoffLimit."""
        leaving = 0 if replaces_late(job) else len(self.leaving)
        return len(counted(job, self.failed.values())) + leaving


@dataclass(frozen=True, slots=True)
class Step:
    """What to do for a Job now.

    Attributes:
        create: completion index of each pod to create; None for a plain Job's.
        delete: pods to delete.
        status: the Job's whole new status; None when it is right already.
        again_in: seconds until a failed pod may be replaced; None = only an event changes this.
    """

    create: tuple[int | None, ...] = ()
    delete: tuple[Object, ...] = ()
    status: dict[str, Any] | None = None
    again_in: float | None = None


def index_of(pod: Object) -> int | None:
    """The completion index that a pod carries; None for a plain Job's."""
    text = pod.annotations.get(INDEX_KEY, "")
    return int(text) if text.isdecimal() else None


def unsupported(job: Object) -> list[str]:
    """The paths of fields that are set and not followed here."""
    return [f"spec.{name}" for name in _UNSUPPORTED if job.spec.get(name) is not None]


def replaces_late(job: Object) -> bool:
    """Whether a pod must have ended before it counts as failed and another one takes its place."""
    return job.spec.get("podReplacementPolicy") == "Failed"


def finished(job: Object) -> bool:
    """It is complete or has failed."""
    return _true(job, "Complete") or _true(job, "Failed")


def next_step(
    job: Object, pods: Iterable[Object], tally: Tally, now: float, retry_seconds: float
) -> Step:
    """What the Job needs.

    Args:
        job: the Job.
        pods: those of its pods that exist.
        tally: what is known of all of its pods so far.
        now: seconds of the tally's clock.
        retry_seconds: wait before the first replacement; doubled with each failure, six minutes at
            most.
    """
    if finished(job):
        return Step()
    live = [pod for pod in pods if not pod.finished]
    active = [pod for pod in live if not pod.deleting]
    outcome = _outcome(job, tally)
    if outcome is not None or job.spec.get("suspend"):
        status = _status(job, (), tally, outcome, ended=not live)
        return Step((), tuple(active), _changed(job, status))
    leaving = [pod for pod in live if pod.deleting] if replaces_late(job) else []
    create, delete, again_in = _balance(job, active, leaving, tally, now, retry_seconds)
    kept = [pod for pod in active if pod not in delete]
    status = _status(job, kept, tally, None, ended=False)
    return Step(create, tuple(delete), _changed(job, status), again_in)


def manifest(job: Object, index: int | None) -> dict[str, Any]:
    """A pod of the Job, as its template and its index say."""
    template = job.spec["template"]
    meta = template.get("metadata") or {}
    name = job.metadata.name
    labels = {
        **(meta.get("labels") or {}),
        NAME_LABEL: name,
        "job-name": name,
        UID_LABEL: job.metadata.uid,
        "controller-uid": job.metadata.uid,
    }
    annotations = dict(meta.get("annotations") or {})
    spec = dict(template["spec"])
    prefix = f"{name}-"
    if index is not None:
        labels[INDEX_KEY] = annotations[INDEX_KEY] = str(index)
        prefix = f"{name}-{index}-"
        spec.setdefault("hostname", f"{name}-{index}"[-63:])
        for field_name in ("initContainers", "containers"):
            if spec.get(field_name):
                spec[field_name] = [_with_index(one) for one in spec[field_name]]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": prefix,
            "namespace": job.metadata.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [reference(job, JOBS)],
        },
        "spec": spec,
    }


def compressed(indexes: Iterable[int]) -> str:
    """Indexes as status.completedIndexes has them: "0-3,5"."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][-1] + 1:
            runs[-1] = [runs[-1][0], index]
        else:
            runs.append([index])
    return ",".join("-".join(map(str, run)) for run in runs)


def _with_index(container: Mapping[str, Any]) -> dict[str, Any]:
    path = {"fieldPath": f"metadata.labels['{INDEX_KEY}']"}
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": path}}
    env = [one for one in container.get("env") or () if one.get("name") != variable["name"]]
    return {**container, "env": [*env, variable]}


def _balance(
    job: Object,
    active: Sequence[Object],
    leaving: Sequence[Object],
    tally: Tally,
    now: float,
    retry_seconds: float,
) -> tuple[tuple[int | None, ...], list[Object], float | None]:
    """Pods to create, pods to delete, and when to look again.

    `leaving`: pods being deleted that keep their places until they have ended.
    """
    completions = _completions(job)
    parallelism = int(job.spec.get("parallelism", 1))
    done = len(tally.indexes) if _indexed(job) else len(tally.succeeded)
    if completions is not None:
        wanted = min(parallelism, completions - done)
    else:  # a work queue: once one has succeeded, no new pods
        wanted = parallelism if not tally.succeeded else min(parallelism, len(active))
    delete = _surplus(job, active, tally, wanted)
    missing = wanted - (len(active) - len(delete)) - len(leaving)
    if missing <= 0:
        return (), delete, None
    failures = tally.failures(job)
    if failures:
        wait = min(retry_seconds * 2.0 ** (failures - 1), 360.0)
        left = tally.failed_at + wait - now
        if left > 0:
            return (), delete, left
    if not _indexed(job):
        return (None,) * missing, delete, None
    taken = tally.indexes | {index_of(pod) for pod in (*active, *leaving)}
    free = (index for index in range(int(completions or 0)) if index not in taken)
    return tuple(index for index, _ in zip(free, range(missing), strict=False)), delete, None


def _surplus(job: Object, active: Sequence[Object], tally: Tally, wanted: int) -> list[Object]:
    """Pods above parallelism, those not running and the highest indexes first.

    Of an indexed Job also pods whose index is done, or has another pod.
    """
    surplus: list[Object] = []
    kept: list[Object] = []
    taken = set(tally.indexes)
    for pod in sorted(active, key=lambda pod: (pod.phase != "Running", index_of(pod) or 0)):
        index = index_of(pod)
        if (_indexed(job) and index in taken) or len(kept) >= wanted:
            surplus.append(pod)
        else:
            kept.append(pod)
            if index is not None:
                taken.add(index)
    return surplus


def _outcome(job: Object, tally: Tally) -> tuple[str, str, str] | None:
    """(condition, reason, message) once the Job is decided."""
    if _true(job, "SuccessCriteriaMet"):
        return "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
    for kind in job.status.get("conditions") or ():
        if kind["type"] == "FailureTarget" and kind["status"] == "True":
            return "Failed", kind["reason"], kind["message"]
    ended_badly = fatal(job, tally.failed.values())
    if ended_badly is not None:
        message = f"Pod {ended_badly.key} matches a FailJob rule of podFailurePolicy"
        return "Failed", "PodFailurePolicy", message
    if tally.failures(job) > int(job.spec.get("backoffLimit", 6)):
        return "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    completions = _completions(job)
    done = len(tally.indexes) if _indexed(job) else len(tally.succeeded)
    ended = tally.succeeded | tally.failed.keys() | tally.leaving
    queue_empty = tally.succeeded and tally.seen <= ended
    if (completions is not None and done >= completions) or (completions is None and queue_empty):
        return "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
    return None


def _status(
    job: Object,
    active: Sequence[Object],
    tally: Tally,
    outcome: tuple[str, str, str] | None,
    *,
    ended: bool,
) -> dict[str, Any]:
    """The whole status. `ended`: no pod is left, so a decided Job may say so."""
    suspended = bool(job.spec.get("suspend"))
    conditions = [dict(one) for one in job.status.get("conditions") or ()]
    if suspended and outcome is None:
        _set(conditions, "Suspended", "True", "JobSuspended", "Job suspended")
    elif any(one["type"] == "Suspended" for one in conditions):
        _set(conditions, "Suspended", "False", "JobResumed", "Job resumed")
    if outcome is not None:
        kind, reason, message = outcome
        first = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
        _set(conditions, first, "True", reason, message)
        if ended:
            _set(conditions, kind, "True", reason, message)
    done = len(tally.indexes) if _indexed(job) else len(tally.succeeded)
    status: dict[str, Any] = {
        "conditions": conditions,
        "active": len(active),
        "ready": sum(_ready(pod) for pod in active),
        "succeeded": max(done, int(job.status.get("succeeded", 0))),
        "failed": max(tally.failures(job), int(job.status.get("failed", 0))),
        "startTime": None if suspended else job.status.get("startTime") or timestamp(),
        "completedIndexes": compressed(tally.indexes) if tally.indexes else None,
        "completionTime": job.status.get("completionTime")
        or (timestamp() if outcome is not None and outcome[0] == "Complete" and ended else None),
    }
    return status


def _changed(job: Object, status: dict[str, Any]) -> dict[str, Any] | None:
    """The status if anything of it differs from what the Job says; absent and zero are alike."""
    same = all((job.status.get(key) or None) == (value or None) for key, value in status.items())
    return None if same else status


def _set(
    conditions: list[dict[str, Any]], kind: str, status: str, reason: str, message: str
) -> None:
    """Put a condition in place, unless it says the same already."""
    for one in conditions:
        if one["type"] == kind:
            if one["status"] != status:
                one |= {"status": status, "reason": reason, "message": message}
                one |= {"lastTransitionTime": timestamp(), "lastProbeTime": timestamp()}
            return
    conditions.append(
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastProbeTime": timestamp(),
            "lastTransitionTime": timestamp(),
        }
    )


def _completions(job: Object) -> int | None:
    """How many pods must succeed; None for a work queue. Neither number given means one."""
    found = job.spec.get("completions", None if "parallelism" in job.spec else 1)
    return None if found is None else int(found)


def _indexed(job: Object) -> bool:
    return job.spec.get("completionMode") == "Indexed"


def _true(job: Object, kind: str) -> bool:
    return any(
        one["type"] == kind and one["status"] == "True"
        for one in job.status.get("conditions") or ()
    )


def _ready(pod: Object) -> bool:
    return any(
        one["type"] == "Ready" and one["status"] == "True"
        for one in pod.status.get("conditions") or ()
    )
