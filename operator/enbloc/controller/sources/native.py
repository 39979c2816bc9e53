# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' own PodGroups, `scheduling.k8s.io`, in every version that has been served.

Source of the meaning of fields: Kubernetes v1.36 and v1.37, k8s.io/api/scheduling; of when a
condition is written: pkg/scheduler/schedule_one_podgroup.go, submitPodGroupAlgorithmResult and
updatePodGroupCondition.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from enbloc.controller.sources.source import LARGEST, Derived, Refused, Source, SourceObject, View
from enbloc.kube.paths import Resource
from enbloc.model.names import Condition, Reason
from enbloc.model.objects import Int64
from enbloc.model.times import time_text

VERSIONS: Final = tuple(
    Resource("scheduling.k8s.io", version, "podgroups", "PodGroup")
    for version in ("v1", "v1beta1", "v1alpha3", "v1alpha2")
)
#: The condition of a version; it was renamed after the first.
_CONDITIONS: Final[Mapping[str, str]] = {"v1alpha2": "PodGroupScheduled"}
_CONDITION: Final = "PodGroupInitiallyScheduled"
#: By why the group is not scheduled: the reason that kube-scheduler gives. It writes nothing while
#: it waits for members.
_REASONS: Final[Mapping[str, str]] = {
    Reason.UNSCHEDULABLE: "Unschedulable",
    Reason.INFEASIBLE: "Unschedulable",
    Reason.TIMED_OUT: "Unschedulable",
    Reason.SCHEDULER_ERROR: "SchedulerError",
    Reason.INVALID_SPEC: "SchedulerError",
}


class _Gang(msgspec.Struct, gc=False, rename="camel"):
    min_count: Int64 | None = None


class _Policy(msgspec.Struct, gc=False, rename="camel"):
    basic: dict[str, Any] | None = None
    gang: _Gang | None = None


class _Constraints(msgspec.Struct, gc=False, rename="camel"):
    topology: tuple[Any, ...] | None = None


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    scheduling_policy: _Policy = msgspec.field(default_factory=_Policy)
    scheduling_constraints: _Constraints | None = None
    resource_claims: tuple[Any, ...] | None = None
    priority_class_name: str | None = None
    parent_composite_pod_group_name: str | None = None


class NativePodGroup(SourceObject):
    """A PodGroup of Kubernetes."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


def derive(found: NativePodGroup) -> Derived | Refused:
    """Our PodGroup: a basic one has a minimum of 1, so its pods start one by one.

    Both values of disruptionMode hold without a word of ours: nobody is preempted, and what is
    repaired is evicted whole.
    """
    spec, policy = found.spec, found.spec.scheduling_policy
    if spec.parent_composite_pod_group_name:
        return Refused(
            "spec.parentCompositePodGroupName: CompositePodGroups are not supported, and alone the "
            "group could start without its siblings; create it without a parent"
        )
    if policy.basic is not None and policy.gang is not None:
        return Refused("spec.schedulingPolicy: basic and gang are both set; leave one of them out")
    if policy.gang is None and policy.basic is None:
        return Refused("spec.schedulingPolicy: neither basic nor gang is set; set one of them")
    minimum = 1 if policy.gang is None else policy.gang.min_count or 0
    if not 1 <= minimum <= LARGEST:
        field = "spec.schedulingPolicy.gang.minCount"
        return Refused(f"{field}: {minimum} is not between 1 and {LARGEST}; use a number that is")
    wanted: dict[str, Any] = {"minMember": minimum}
    if spec.priority_class_name:
        wanted["priorityClassName"] = spec.priority_class_name
    return Derived(wanted, ignored="; ".join(_ignored(spec)))


def _ignored(spec: _Spec) -> Iterator[str]:
    if spec.scheduling_constraints is not None and spec.scheduling_constraints.topology:
        yield (
            "spec.schedulingConstraints.topology is ignored: members may be placed in several "
            "domains; use a node selector or affinity in the pods"
        )
    if spec.resource_claims:
        yield "spec.resourceClaims is ignored: only claims of the pods themselves count"


def report(found: NativePodGroup, view: View) -> Mapping[str, Any] | None:
    """Conditions with ours among them, as kube-scheduler writes it: once True it stays True."""
    if not view.ours:
        return None
    kind = _CONDITIONS.get(view.version, _CONDITION)
    conditions = _conditions(found)
    standing = next((one for one in conditions if one.get("type") == kind), None)
    before = {} if standing is None else standing
    said = _said(view)
    if before.get("status") == "True" or said is None:
        return None
    status, reason, message = said
    same = before.get("status") == status
    wanted = {
        "type": kind,
        "status": status,
        "lastTransitionTime": before.get("lastTransitionTime") if same else time_text(view.now),
        "reason": reason,
        "message": message,
    }
    if found.metadata.generation:  # v1alpha2 counts none, and a 0 is not kept
        wanted["observedGeneration"] = found.metadata.generation
    others = [wanted if one is standing else one for one in conditions]
    return {"conditions": others if standing is not None else [*conditions, wanted]}


def _said(view: View) -> tuple[str, str, str] | None:
    """Status, reason and message; None while kube-scheduler would say nothing."""
    started = view.condition(Condition.INITIALLY_SCHEDULED).get("status") == "True"
    if started or view.scheduled:
        return "True", "Scheduled", ""
    scheduled = view.condition(Condition.SCHEDULED)
    reason = _REASONS.get(str(scheduled.get("reason")))
    if scheduled.get("status") != "False" or reason is None:
        return None
    return "False", reason, str(scheduled.get("message", ""))


def _conditions(found: NativePodGroup) -> Sequence[Mapping[str, Any]]:
    """What its status holds; a server that serves this kind as a custom one may have anything."""
    conditions = found.status.get("conditions")
    listed = conditions if isinstance(conditions, list) else []
    return [one for one in listed if isinstance(one, dict)]


NATIVE: Final = Source(
    name="Kubernetes",
    resources=VERSIONS,
    shape=NativePodGroup,
    derive=derive,
    report=report,
)
