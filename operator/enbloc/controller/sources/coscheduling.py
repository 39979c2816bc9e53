# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups of the coscheduling plugin, `scheduling.x-k8s.io/v1alpha1`.

Source of the meaning of fields and phases: scheduler-plugins v0.34,
apis/scheduling/v1alpha1/types.go and pkg/controllers/podgroup_controller.go.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from enbloc.controller.sources.source import Derived, Refused, Source, SourceObject, View
from enbloc.kube.paths import Resource
from enbloc.model.names import Reason
from enbloc.model.objects import Int64, Quantities
from enbloc.model.pods import Phase
from enbloc.model.times import time_text

RESOURCE: Final = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    min_member: Int64 | None = None
    min_resources: Quantities | None = None
    schedule_timeout_seconds: Int64 | None = None


class CoschedulingPodGroup(SourceObject):
    """A PodGroup of the coscheduling plugin."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def derive(found: CoschedulingPodGroup) -> Derived | Refused:
    """Our PodGroup; a timeout of 0 is the default there and here."""
    spec = found.spec
    minimum = 1 if spec.min_member is None else spec.min_member
    if minimum < 0:
        return Refused(f"spec.minMember: {minimum} is negative; use 1 or more")
    timeout = spec.schedule_timeout_seconds or 0
    if timeout < 0:
        return Refused(f"spec.scheduleTimeoutSeconds: {timeout} is negative; use 0 for the default")
    wanted: dict[str, Any] = {"minMember": max(1, minimum)}
    if spec.min_resources:
        wanted["minResources"] = dict(spec.min_resources)
    if timeout:
        wanted["scheduleTimeoutSeconds"] = timeout
    return Derived(wanted)


def report(found: CoschedulingPodGroup, view: View) -> Mapping[str, Any]:
    """The status that its clients read: a phase, counters, and whose pods they are."""
    running = sum(member.live and member.phase is Phase.RUNNING for member in view.members)
    succeeded = sum(member.phase is Phase.SUCCEEDED for member in view.members)
    failed = sum(member.phase is Phase.FAILED for member in view.members)
    existing = sum(member.live for member in view.members) + succeeded + failed
    minimum = max(1, found.spec.min_member or 1)
    if view.reason == Reason.SUCCEEDED or (succeeded >= minimum and not running):
        phase = "Finished"
    elif view.reason == Reason.FAILED or (failed and failed + running + succeeded >= minimum):
        phase = "Failed"
    elif running + succeeded >= minimum:
        phase = "Running"
    else:
        phase = "Scheduling" if existing >= minimum else "Pending"
    status: dict[str, Any] = {
        "phase": phase,
        "running": running,
        "succeeded": succeeded,
        "failed": failed,
    }
    if phase == "Scheduling" and not (found.status or {}).get("scheduleStartTime"):
        status["scheduleStartTime"] = time_text(view.now)
    return status


COSCHEDULING: Final = Source(
    name="scheduler-plugins",
    resources=(RESOURCE,),
    shape=CoschedulingPodGroup,
    derive=derive,
    report=report,
    scheduler_names=frozenset({"scheduler-plugins-scheduler"}),
)
