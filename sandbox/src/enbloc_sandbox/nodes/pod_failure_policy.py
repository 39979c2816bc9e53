# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a failed pod counts for in its Job: podFailurePolicy. Pure.

`FailIndex` needs backoffLimitPerIndex, which is not followed, so it counts like any failure.

Source: kubernetes-website v1.36 content/en/docs/concepts/workloads/controllers/job.md.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from enbloc_sandbox.nodes.objects import Object

IGNORE = "Ignore"
FAIL_JOB = "FailJob"
COUNT = "Count"


def action(job: Object, pod: Object) -> str:
    """What the first rule that fits a failed pod asks for; Count if none does."""
    for rule in _rules(job):
        if _by_condition(rule, pod) or _by_exit_code(rule, pod):
            return str(rule["action"])
    return COUNT


def counted(job: Object, failed: Iterable[Object]) -> list[Object]:
    """The failed pods that count against backoffLimit."""
    return [pod for pod in failed if action(job, pod) != IGNORE]


def fatal(job: Object, failed: Iterable[Object]) -> Object | None:
    """A pod whose failure fails the Job at once; None = there is none."""
    return next((pod for pod in failed if action(job, pod) == FAIL_JOB), None)


def _rules(job: Object) -> Iterable[Mapping[str, Any]]:
    return (job.spec.get("podFailurePolicy") or {}).get("rules") or ()


def _by_condition(rule: Mapping[str, Any], pod: Object) -> bool:
    stands = {
        (one["type"], one["status"]) for one in pod.status.get("conditions") or ()
    }  # a pattern without a status means True
    return any(
        (pattern["type"], pattern.get("status") or "True") in stands
        for pattern in rule.get("onPodConditions") or ()
    )


def _by_exit_code(rule: Mapping[str, Any], pod: Object) -> bool:
    wanted = rule.get("onExitCodes")
    if not wanted:
        return False
    values: list[int] = wanted.get("values") or []
    return any(
        code != 0 and (code in values) == (wanted["operator"] == "In")
        for name, code in _exit_codes(pod)
        if wanted.get("containerName") in (None, name)
    )


def _exit_codes(pod: Object) -> Iterable[tuple[str, int]]:
    for field in ("initContainerStatuses", "containerStatuses"):
        for one in pod.status.get(field) or ():
            ended = (one.get("state") or {}).get("terminated")
            if ended is not None:
                yield one["name"], int(ended["exitCode"])
