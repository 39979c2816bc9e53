# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups of the coscheduling plugin, `scheduling.x-k8s.io/v1alpha1`.

Source of the meaning of fields and phases: scheduler-plugins v0.34,
apis/scheduling/v1alpha1/types.go and pkg/controllers/podgroup_controller.go.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from enbloc.client.paths import Resource
from enbloc.controller.sources.resources import readable
from enbloc.controller.sources.source import (
    LONGEST_TIMEOUT,
    Derived,
    GroupView,
    RefusedGroup,
    Source,
    SourceObject,
    topology_of,
)
from enbloc.controller.sources.topology import koordinators
from enbloc.model.pods import Phase
from enbloc.model.times import time_text
from enbloc.wire.objects import Int64, Quantities

RESOURCE: Final = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")
#: Phases in which the work is over.
ENDED: Final = frozenset({"Finished", "Failed"})


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    min_member: Int64 | None = None
    min_resources: Quantities | None = None
    schedule_timeout_seconds: Int64 | None = None


class CoschedulingPodGroup(SourceObject):
    """A PodGroup of the coscheduling plugin."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def derive(found: CoschedulingPodGroup) -> Derived | RefusedGroup:
    """Our PodGroup; a timeout of 0 means the default in both, and ours is a day at most."""
    spec = found.spec
    minimum = 1 if spec.min_member is None else spec.min_member
    if minimum < 0:
        return RefusedGroup(f"spec.minMember: {minimum} is negative; use 1 or more")
    timeout = spec.schedule_timeout_seconds or 0
    if timeout < 0:
        return RefusedGroup(
            f"spec.scheduleTimeoutSeconds: {timeout} is negative; use 0 for the default"
        )
    wanted: dict[str, Any] = {"minMember": max(1, minimum)}
    resources = readable(spec.min_resources or {})
    if isinstance(resources, RefusedGroup):
        return resources
    if resources:
        wanted["minResources"] = resources
    if timeout:
        wanted["scheduleTimeoutSeconds"] = min(timeout, LONGEST_TIMEOUT)
    try:
        return Derived(wanted | topology_of(koordinators(found.metadata.annotations or {})))
    except ValueError as error:
        return RefusedGroup(str(error))


def report(found: CoschedulingPodGroup, view: GroupView) -> Mapping[str, Any]:
    """The status that its clients read: a phase, counters, and the owner of the pods.

    Every pod that names the group counts, terminating ones too. `Finished` and `Failed` stay when
    the pods are gone; unlike in the plugin, a group that is used again is counted again. As in the
    plugin, `Unknown` is never written.
    """
    before, members = found.status, view.members
    minimum = max(0, found.spec.min_member or 0)
    running, succeeded, failed = (
        sum(member.phase is phase for member in members)
        for phase in (Phase.RUNNING, Phase.SUCCEEDED, Phase.FAILED)
    )
    phase = _phase(str(before.get("phase", "")), view, minimum, running, succeeded, failed)
    counts = {"running": running, "succeeded": succeeded, "failed": failed}
    status: dict[str, Any] = {"phase": phase}
    if members or phase not in ENDED:  # a group that ended keeps its counters
        status |= {name: count for name, count in counts.items() if count or before.get(name)}
    if phase != "Pending":
        if not before.get("scheduleStartTime"):
            status["scheduleStartTime"] = time_text(view.now)
        if not before.get("occupiedBy") and (owner := _owner(found, view)):
            status["occupiedBy"] = owner
    return status


def _phase(
    before: str, view: GroupView, minimum: int, running: int, succeeded: int, failed: int
) -> str:
    if not view.members:
        if before in ENDED:
            return before
        return {"Succeeded": "Finished", "Failed": "Failed"}.get(view.reason, "Pending")
    if len(view.members) < minimum:
        return "Pending"
    if minimum and succeeded >= minimum:
        return "Finished"
    if failed and failed + running + succeeded >= minimum:
        return "Failed"
    return "Running" if running + succeeded >= max(1, minimum) else "Scheduling"


def _owner(found: CoschedulingPodGroup, view: GroupView) -> str:
    """The controller of the oldest pod, as `namespace/name`; "" = none."""
    oldest = min(view.members, key=lambda member: (member.created, member.uid), default=None)
    name = oldest.controller_name if oldest is not None else ""
    return f"{found.metadata.namespace}/{name}" if name else ""


COSCHEDULING: Final = Source(
    name="scheduler-plugins",
    resources=(RESOURCE,),
    shape=CoschedulingPodGroup,
    derive=derive,
    report=report,
    scheduler_names=frozenset({"scheduler-plugins-scheduler"}),
)
