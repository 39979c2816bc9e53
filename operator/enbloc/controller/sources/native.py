# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' own PodGroups and their trees, `scheduling.k8s.io`, in all versions so far.

Source of the meaning of fields: Kubernetes v1.36 and v1.37, k8s.io/api/scheduling; of when a
condition is written: pkg/scheduler/schedule_one_podgroup.go, submitPodGroupAlgorithmResult and
updatePodGroupCondition.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from enbloc.client.paths import NATIVE_POD_GROUPS, Resource
from enbloc.controller.sources.source import (
    LARGEST,
    Derived,
    GroupView,
    RefusedGroup,
    Source,
    SourceObject,
    TreeNode,
    topology_of,
)
from enbloc.controller.sources.topology import levels
from enbloc.model.names import DISRUPTION_TARGET, Condition, Reason
from enbloc.model.times import time_text
from enbloc.wire.auto_groups import group_name
from enbloc.wire.codec_groups import MOST_PARTS
from enbloc.wire.objects import Int64

COMPOSITES: Final = tuple(
    Resource("scheduling.k8s.io", version, "compositepodgroups", "CompositePodGroup")
    for version in ("v1", "v1beta1", "v1alpha3")
)
#: The condition's name by version; it was renamed after the first.
_CONDITIONS: Final[Mapping[str, str]] = {"v1alpha2": "PodGroupScheduled"}
_CONDITION: Final = "PodGroupInitiallyScheduled"
_TREE_CONDITION: Final = "CompositePodGroupInitiallyScheduled"
_TOPOLOGY: Final = "spec.schedulingConstraints.topology"
#: kube-scheduler's reasons, by our reason why the group is not scheduled. It writes nothing while
#: it waits for members.
_REASONS: Final[Mapping[str, str]] = {
    Reason.UNSCHEDULABLE: "Unschedulable",
    Reason.INFEASIBLE: "Unschedulable",
    Reason.TIMED_OUT: "Unschedulable",
    Reason.PREEMPTED: "Unschedulable",
    Reason.SCHEDULER_ERROR: "SchedulerError",
    Reason.INVALID_SPEC: "SchedulerError",
}


class _Gang(msgspec.Struct, gc=False, rename="camel"):
    min_count: Int64 | None = None


class _Policy(msgspec.Struct, gc=False, rename="camel"):
    basic: dict[str, Any] | None = None
    gang: _Gang | None = None


class _Topology(msgspec.Struct, gc=False, rename="camel"):
    key: str = ""


class _Constraints(msgspec.Struct, gc=False, rename="camel"):
    topology: tuple[_Topology, ...] | None = None


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    scheduling_policy: _Policy = msgspec.field(default_factory=_Policy)
    scheduling_constraints: _Constraints | None = None
    priority_class_name: str | None = None
    parent_composite_pod_group_name: str | None = None


class NativePodGroup(SourceObject):
    """A PodGroup of Kubernetes."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


class _TreeGang(msgspec.Struct, gc=False, rename="camel"):
    min_group_count: Int64 | None = None


class _TreePolicy(msgspec.Struct, gc=False, rename="camel"):
    basic: dict[str, Any] | None = None
    gang: _TreeGang | None = None


class _TreeSpec(msgspec.Struct, gc=False, rename="camel"):
    scheduling_policy: _TreePolicy = msgspec.field(default_factory=_TreePolicy)
    scheduling_constraints: _Constraints | None = None
    priority_class_name: str | None = None
    parent_composite_pod_group_name: str | None = None


class CompositePodGroup(SourceObject):
    """A CompositePodGroup of Kubernetes: an inner node of a tree whose leaves are PodGroups."""

    spec: _TreeSpec = msgspec.field(default_factory=_TreeSpec)


def derive(found: NativePodGroup) -> Derived | RefusedGroup | TreeNode:
    """Our PodGroup, or a role of one; policy `basic` is a minimum of 1, so pods start one by one.

    disruptionMode has no effect: the minimum is preempted as a whole, and members beyond it singly;
    a repair evicts the whole group.
    """
    spec, policy = found.spec, found.spec.scheduling_policy
    gang = policy.gang.min_count or 0 if policy.gang is not None else None
    minimum = _minimum(policy.basic, gang, "minCount", LARGEST)
    if isinstance(minimum, RefusedGroup):
        return minimum
    if parent := spec.parent_composite_pod_group_name:
        metadata = found.metadata
        created = metadata.creation_timestamp or ""
        return TreeNode(
            above=COMPOSITES[0].kind,
            parent=parent,
            composite=False,
            minimum=minimum,
            uid=metadata.uid,
            created=created,
            near=_near(spec),
            ignored=_ignored(spec),
        )
    return Derived({"minMember": minimum, **_shared(spec)}, ignored=_ignored(spec))


def derive_tree(found: CompositePodGroup) -> RefusedGroup | TreeNode:
    """An inner node of a tree, or its root, which our PodGroup is made for.

    With policy `basic` each child starts by itself, so one is enough. The PodGroup's name cannot
    clash with one that is made for a PodGroup of Kubernetes.
    """
    spec, policy, metadata = found.spec, found.spec.scheduling_policy, found.metadata
    gang = policy.gang.min_group_count or 0 if policy.gang is not None else None
    minimum = _minimum(policy.basic, gang, "minGroupCount", 2 * MOST_PARTS)
    if isinstance(minimum, RefusedGroup):
        return minimum
    return TreeNode(
        above=COMPOSITES[0].kind,
        parent=spec.parent_composite_pod_group_name or "",
        composite=True,
        minimum=minimum,
        uid=metadata.uid,
        created=metadata.creation_timestamp or "",
        group=group_name(COMPOSITES[0].kind, metadata.name),
        spec=_shared(spec),
        near=_near(spec),
        ignored=_ignored(spec),
    )


def _minimum(
    basic: Mapping[str, Any] | None, gang: int | None, field: str, most: int
) -> int | RefusedGroup:
    """The minimum of a policy; 1 for `basic`."""
    if basic is not None and gang is not None:
        return RefusedGroup(
            "spec.schedulingPolicy: basic and gang are both set; leave one of them out"
        )
    if basic is None and gang is None:
        return RefusedGroup("spec.schedulingPolicy: neither basic nor gang is set; set one of them")
    minimum = 1 if gang is None else gang
    if not 1 <= minimum <= most:
        path = f"spec.schedulingPolicy.gang.{field}"
        return RefusedGroup(f"{path}: {minimum} is not between 1 and {most}; use a number that is")
    return minimum


def _shared(spec: _Spec | _TreeSpec) -> dict[str, Any]:
    """The fields of our PodGroup that a PodGroup and the root of a tree set in the same way."""
    name = spec.priority_class_name
    wanted: dict[str, Any] = {"priorityClassName": name} if name else {}
    return wanted | topology_of(_near(spec))


def _near(spec: _Spec | _TreeSpec) -> dict[str, str]:
    """Our field `topology`; empty = none."""
    keys = _keys(spec)
    return levels(keys[0] if keys else "")


def _keys(spec: _Spec | _TreeSpec) -> list[str]:
    """The node labels whose values are domains, one of which all its pods must be in."""
    constraints = spec.scheduling_constraints
    return [each.key for each in (constraints.topology if constraints is not None else None) or ()]


def _ignored(spec: _Spec | _TreeSpec) -> str:
    if len(_keys(spec)) > 1:
        return f"{_TOPOLOGY}[1] is ignored: one key is followed; leave the others out"
    return ""


def report(found: NativePodGroup, view: GroupView) -> Mapping[str, Any] | None:
    """The conditions, including ours as kube-scheduler writes it: once True it stays True.

    The condition of a preemption stays until the minimum is bound again.
    """
    return _told(found, view, _CONDITIONS.get(view.version, _CONDITION))


def report_tree(found: CompositePodGroup, view: GroupView) -> Mapping[str, Any] | None:
    """The conditions of a composite; the reason of one that cannot be scheduled is Invalid."""
    return _told(found, view, _TREE_CONDITION)


def _told(found: SourceObject, view: GroupView, kind: str) -> Mapping[str, Any] | None:
    if not view.ours:
        return None
    standing = {str(one.get("type")): one for one in _conditions(found)}
    wanted = dict(standing)
    said = _said(view)
    if said is not None and standing.get(kind, {}).get("status") != "True":
        wanted[kind] = _condition(kind, *said, standing.get(kind, {}), found, view.now)
    preempted = view.condition(Condition.DISRUPTION_TARGET)
    before = standing.get(DISRUPTION_TARGET, {})
    if preempted:
        text = str(preempted.get("message", ""))
        wanted[DISRUPTION_TARGET] = _condition(
            DISRUPTION_TARGET, "True", Reason.PREEMPTION_BY_SCHEDULER, text, before, found, view.now
        )
    elif before.get("reason") == Reason.PREEMPTION_BY_SCHEDULER:
        del wanted[DISRUPTION_TARGET]  # its minimum is bound again
    return None if wanted == standing else {"conditions": [*wanted.values()]}


def _condition(
    kind: str,
    status: str,
    reason: str,
    message: str,
    before: Mapping[str, Any],
    found: SourceObject,
    now: float,
) -> Mapping[str, Any]:
    same = before.get("status") == status
    made = {
        "type": kind,
        "status": status,
        "lastTransitionTime": before.get("lastTransitionTime") if same else time_text(now),
        "reason": reason,
        "message": message,
    }
    if found.metadata.generation:  # v1alpha2 has no generation, and a 0 is not stored
        made["observedGeneration"] = found.metadata.generation
    return made


def _said(view: GroupView) -> tuple[str, str, str] | None:
    """Status, reason and message; None while kube-scheduler would write nothing."""
    if view.problem:
        return "False", "Invalid", view.problem
    started = view.condition(Condition.INITIALLY_SCHEDULED).get("status") == "True"
    if started or view.scheduled:  # the tree may start while one part lacks its own minimum
        return ("True", "Scheduled", "") if view.part is None or view.whole else None
    scheduled = view.condition(Condition.SCHEDULED)
    reason = _REASONS.get(str(scheduled.get("reason")))
    if scheduled.get("status") != "False" or reason is None:
        return None
    return "False", reason, str(scheduled.get("message", ""))


def _conditions(found: SourceObject) -> Sequence[Mapping[str, Any]]:
    """The conditions in its status; as a custom resource, this kind may hold anything there."""
    conditions = found.status.get("conditions")
    listed = conditions if isinstance(conditions, list) else []
    return [one for one in listed if isinstance(one, dict)]


NATIVE: Final = Source(
    name="Kubernetes",
    resources=NATIVE_POD_GROUPS,
    shape=NativePodGroup,
    derive=derive,
    report=report,
    in_trees=True,
)

COMPOSITE: Final = Source(
    name=COMPOSITES[0].kind,
    resources=COMPOSITES,
    shape=CompositePodGroup,
    derive=derive_tree,
    report=report_tree,
    controls=True,
    in_trees=True,
    answers_refusals=True,
)
