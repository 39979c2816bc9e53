# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups of Volcano, `scheduling.volcano.sh/v1beta1`.

The kind has no status subresource: clients create a PodGroup with `status.phase: Pending`, and some
make no pod before they read `Inqueue`.

Source of the meaning of fields, phases and conditions: volcano.sh/apis v1.13.0
pkg/apis/scheduling/v1beta1/types.go; volcano v1.10.0 pkg/scheduler/framework/session.go jobStatus
and pkg/scheduler/plugins/gang/gang.go.
"""

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec

from enbloc.client.paths import Resource
from enbloc.controller.members import Member
from enbloc.controller.sources.resources import readable
from enbloc.controller.sources.role_trees import tree_spec, unsaid
from enbloc.controller.sources.source import (
    LARGEST,
    MOST_ROLES,
    Derived,
    GroupView,
    RefusedGroup,
    Source,
    SourceObject,
    topology_of,
)
from enbloc.controller.sources.topology import in_hyper_nodes
from enbloc.model.dialects import part_of
from enbloc.model.dns_names import LABEL
from enbloc.model.names import Condition, Reason
from enbloc.model.pods import Phase
from enbloc.model.times import time_text
from enbloc.model.trees import Child, Tree
from enbloc.wire.objects import Int64, Quantities

RESOURCE: Final = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
QUEUES: Final = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)
SCHEDULER_NAME: Final = "volcano"
#: The default queue; clients check that it exists.
DEFAULT_QUEUE: Final[Mapping[str, Any]] = {
    "apiVersion": QUEUES.api_version,
    "kind": QUEUES.kind,
    "metadata": {"name": "default"},
    "spec": {"weight": 1, "reclaimable": True},
}
#: Volcano's own reason of condition Scheduled.
READY: Final = "tasks in gang are ready to be scheduled"
#: The pods' labels that are their role: Volcano's, and Grove's on pods that it makes for Volcano.
_TASK: Final = "volcano.sh/task-spec"
_PARTITION: Final = "volcano.sh/partition-id"
_ROLE_KEYS: Final = frozenset({_TASK, "grove.io/podclique"})
#: The annotation or label that says whether pods may be preempted; the annotation takes precedence.
_PREEMPTABLE: Final = "volcano.sh/preemptable"
_FALSE: Final = ("false", "f", "0")
#: The lowest tier: its nodes are nearest to each other.
_LOWEST: Final = "tier-1"
#: Prefixes of names that only count for a quota, and are no resource of a node.
_QUOTA: Final = ("count/", "limits.")
_REQUESTS: Final = "requests."
_LACK: Final = frozenset(
    {Reason.UNSCHEDULABLE, Reason.INFEASIBLE, Reason.TIMED_OUT, Reason.PREEMPTED}
)
#: The reasons of condition Scheduled that are no refusal yet.
_UNDECIDED: Final = frozenset({"", Reason.PENDING, Reason.BINDING, Reason.WAITING_FOR_MEMBERS})


class _Selector(msgspec.Struct, gc=False, rename="camel"):
    match_labels: dict[str, str] | None = None
    match_expressions: tuple[Any, ...] | None = None


class _NetworkTopology(msgspec.Struct, gc=False, rename="camel"):
    mode: str | None = None
    highest_tier_allowed: Int64 | None = None
    highest_tier_name: str | None = None

    @property
    def near(self) -> dict[str, str]:
        """Our field `topology`; a required tier implies a preference for the tiers below it.

        As in Volcano, mode hard without a tier allows all tiers.
        """
        tier = self.highest_tier_name or ""
        if not tier and self.highest_tier_allowed is not None:
            tier = f"tier-{self.highest_tier_allowed}"
        return {"required": tier} if tier and self.mode != "soft" else {"preferred": _LOWEST}


class _SubGroupPolicy(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    label_selector: _Selector | None = None
    match_label_keys: tuple[str, ...] | None = None
    sub_group_size: Int64 | None = None
    min_sub_groups: Int64 | None = None
    network_topology: _NetworkTopology | None = None

    @property
    def size(self) -> int:
        """How many pods a sub-group needs."""
        return 1 if self.sub_group_size is None else self.sub_group_size

    @property
    def role(self) -> str:
        """The role of its pods, if it makes exactly one sub-group; "" = it may make several."""
        key, value = self._selected
        return value if {key} == set(self.match_label_keys or ()) else ""

    @property
    def task(self) -> str:
        """The task whose partitions are its sub-groups; "" = they are not partitions of a task."""
        key, value = self._selected
        keys = {*(self.match_label_keys or ()), _TASK}
        return value if key == _TASK and keys == {_TASK, _PARTITION} else ""

    @property
    def _selected(self) -> tuple[str, str]:
        """Key and value of the one label that selects a role; empty strings = there is none."""
        selector = self.label_selector or _Selector()
        labels = selector.match_labels or {}
        if selector.match_expressions or len(labels) != 1:
            return "", ""
        [(key, value)] = labels.items()
        return (key, value) if key in _ROLE_KEYS and LABEL.fullmatch(value) else ("", "")


class _Spec(msgspec.Struct, gc=False, rename="camel"):
    min_member: Int64 | None = None
    min_task_member: dict[str, Int64] | None = None
    queue: str | None = None
    priority_class_name: str | None = None
    min_resources: Quantities | None = None
    network_topology: _NetworkTopology | None = None
    sub_group_policy: tuple[_SubGroupPolicy, ...] | None = None


class VolcanoPodGroup(SourceObject):
    """A PodGroup of Volcano."""

    spec: _Spec = msgspec.field(default_factory=_Spec)


# ── PodGroup ─────────────────────────────────────────────────────────────────────────────────


def derive(found: VolcanoPodGroup) -> Derived | RefusedGroup:
    """Our PodGroup.

    A minimum of 0, which clients write once their job is over, lets each pod start on its own; it
    becomes 1, which does the same. As in Volcano, the minimums of tasks count only if minMember
    covers them. A needed sub-group is a role with the sub-group's size as its minimum; the
    partitions of a task are the roles of a sub-group. Volcano's PodGroup does not say how many
    partitions a task has, so as many as possible are listed.
    """
    spec = found.spec
    minimum, tasks = spec.min_member or 0, spec.min_task_member or {}
    if minimum < 0:
        return RefusedGroup(f"spec.minMember: {minimum} is negative; use 0 or more")
    for name, least in tasks.items():
        if least < 0:
            return RefusedGroup(f"spec.minTaskMember[{name}]: {least} is negative; use 0 or more")
    problem = next(_problems(spec.sub_group_policy or ()), "")
    if problem:
        return RefusedGroup(problem)
    needs = _Needs.of(spec)
    if len(needs.roles) > MOST_ROLES:
        field = "spec.minTaskMember" if len(tasks) > MOST_ROLES else "spec.subGroupPolicy"
        return RefusedGroup(f"{field}: {len(needs.roles)} tasks; use at most {MOST_ROLES}")
    resources = readable(_of_nodes(spec.min_resources or {}))
    if isinstance(resources, RefusedGroup):
        return resources
    near = dict(_near(needs, spec.sub_group_policy or ()))
    wanted = tree_spec(needs.tree, needs.minimums, max(1, minimum), near)
    if isinstance(wanted, RefusedGroup):
        return RefusedGroup(f"spec.subGroupPolicy: {wanted.problem}")
    wanted |= topology_of(spec.network_topology.near if spec.network_topology else {})
    lost = unsaid(near, wanted)
    wanted = in_hyper_nodes(wanted)
    if resources:
        wanted["minResources"] = resources
    if spec.priority_class_name:
        wanted["priorityClassName"] = spec.priority_class_name
    return Derived(wanted, ignored="; ".join(_ignored(found, near.keys() - lost)))


def _near(needs: "_Needs", policies: Sequence[_SubGroupPolicy]) -> Iterator[tuple[str, Any]]:
    """The topology of each role that has one of its own."""
    for each in policies:
        if each.network_topology is not None:
            for role in needs.roles_of(each):
                yield role, each.network_topology.near


def _parts(task: str, count: int) -> tuple[str, ...]:
    """The roles of the first partitions of a task."""
    return tuple(part_of(task, number) for number in range(count))


class _Partitions(NamedTuple):
    """How many partitions of a task are needed, and how many pods each needs."""

    needed: int
    size: int


@dataclass(frozen=True, slots=True)
class _Needs:
    """What must start together in a PodGroup.

    Attributes:
        roles: the minimum of each role.
        partitions: for each task that is divided, the partitions that it needs.
    """

    roles: Mapping[str, int]
    partitions: Mapping[str, _Partitions]

    @classmethod
    def of(cls, spec: _Spec) -> "_Needs":
        """The needs of a spec; a task needs at least the partitions that its own minimum fills."""
        tasks = spec.min_task_member or {}
        covered = sum(tasks.values()) <= max(1, spec.min_member or 0)
        roles, partitions = dict(tasks) if covered else {}, dict[str, _Partitions]()
        for policy in spec.sub_group_policy or ():
            count = policy.min_sub_groups or 0
            if policy.role and (count or policy.network_topology):
                least = policy.size if count else 0
                roles[policy.role] = max(least, roles.get(policy.role, 0))
            elif task := policy.task:
                count = max(count, -(-roles.pop(task, 0) // policy.size))
                if count:
                    partitions[task] = _Partitions(count, policy.size)
        room = (MOST_ROLES - len(roles)) // max(1, len(partitions))
        few = {
            task: each
            for task, each in partitions.items()
            if each.needed <= room and len({*_parts(task, room), *roles}) == room + len(roles)
        }
        return cls(roles, few)

    @property
    def room(self) -> int:
        """How many roles are available for the partitions of one task."""
        return (MOST_ROLES - len(self.roles)) // max(1, len(self.partitions))

    def roles_of(self, policy: _SubGroupPolicy) -> tuple[str, ...]:
        """The roles of its sub-groups; none if other labels distinguish those."""
        if policy.role in self.roles:
            return (policy.role,)
        return _parts(policy.task, self.room) if policy.task in self.partitions else ()

    @property
    def tree(self) -> Tree:
        """The tree of the roles that must start together."""
        children: list[Child] = [
            *sorted(self.roles),
            *(
                Tree(task, each.needed, _parts(task, self.room))
                for task, each in sorted(self.partitions.items())
            ),
        ]
        return Tree("", len(children), tuple(children))

    @property
    def minimums(self) -> Mapping[str, int]:
        """The minimum of each role in the tree."""
        sizes = {
            role: self.partitions[node.name].size
            for node in self.tree.nodes()
            if node.name
            for role in node.roles()
        }
        return {**self.roles, **sizes}

    def short(self, counts: Counter[str]) -> Iterator[str]:
        """What is missing, given how many pods each role has."""
        for role, least in sorted(self.roles.items()):
            if counts[role] < least:
                yield f"{role}: {counts[role]}/{least}"
        for task, (needed, size) in sorted(self.partitions.items()):
            whole = sum(
                count >= size
                for role, count in counts.items()
                if role.rpartition("-")[0] == task and role.rpartition("-")[2].isdecimal()
            )
            if whole < needed:
                yield f"{task}: {whole}/{needed} partitions"


def _problems(policies: Sequence[_SubGroupPolicy]) -> Iterator[str]:
    """Why no PodGroup can be made for these sub-groups, each reason with its field."""
    for index, each in enumerate(policies):
        path, size, count = (
            f"spec.subGroupPolicy[{index}]",
            each.sub_group_size,
            each.min_sub_groups,
        )
        if size is not None and not 1 <= size <= LARGEST:
            yield f"{path}.subGroupSize: {size} is not between 1 and {LARGEST}"
        if count is not None and count < 0:
            yield f"{path}.minSubGroups: {count} is negative; use 0 or more"
        if each.role and (count or 0) > 1:
            yield (
                f"{path}.minSubGroups: {count} are needed, and its labels allow one alone; "
                "lower it to 1"
            )


def _of_nodes(given: Quantities) -> Quantities:
    """The amounts of node resources only: Volcano's controllers also write those of a quota."""
    kept = {name: value for name, value in given.items() if not name.startswith(_QUOTA)}
    plain = {name: value for name, value in kept.items() if not name.startswith(_REQUESTS)}
    asked = {name.removeprefix(_REQUESTS): value for name, value in kept.items()}
    return {**asked, **plain}


def _ignored(found: VolcanoPodGroup, placed: AbstractSet[str]) -> Iterator[str]:
    """Notes on the fields of a PodGroup that have no effect, for an event on it.

    Args:
        found: the PodGroup.
        placed: the roles that have a topology of their own.
    """
    spec, metadata = found.spec, found.metadata
    labels, annotations = metadata.labels or {}, metadata.annotations or {}
    if {**labels, **annotations}.get(_PREEMPTABLE, "").lower() in _FALSE:
        yield (
            f"{_PREEMPTABLE}: false has no effect: who gives way is decided by priority alone; use "
            "a PriorityClass, or minRuntimes of EnblocConfiguration"
        )
    if spec.queue not in (None, "", "default"):
        yield (
            f'spec.queue: "{spec.queue}" has no effect, for enbloc has no queues; limit what a '
            "namespace may use by a ResourceQuota or by Kueue"
        )
    policies = spec.sub_group_policy or ()
    if any(each.min_sub_groups and not (each.role or each.task) for each in policies):
        yield (
            "spec.subGroupPolicy[].minSubGroups has no effect where sub-groups are told apart by "
            f"other labels than {_TASK} and {_PARTITION}; use spec.minTaskMember for a minimum per "
            "task"
        )
    needs = _Needs.of(spec)
    divided = [each.task for each in policies if each.task and each.task not in needs.partitions]
    if any(task in (spec.min_task_member or {}) for task in divided) or any(
        each.min_sub_groups for each in policies if each.task in divided
    ):
        yield (
            f"the minimum of task {divided[0]} has no effect: more partitions are needed than "
            f"the {MOST_ROLES} roles of a PodGroup; make them larger"
        )
    for index, each in enumerate(policies):
        if each.network_topology and placed.isdisjoint(needs.roles_of(each)):
            yield (
                f"spec.subGroupPolicy[{index}].networkTopology is ignored: its sub-groups are no "
                f"roles; select them by label {_TASK}, or by it and {_PARTITION} with minSubGroups"
            )
            break


# ── status ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Counts:
    """The pods of a group as Volcano counts them.

    Attributes:
        valid: how many are live or succeeded.
        allocated: how many are bound or succeeded.
        short: the tasks with fewer valid pods than their minimum; "" = none.
        ready: the minimum, and that of each task, is allocated.
    """

    minimum: int
    valid: int
    allocated: int
    live: int
    running: int
    succeeded: int
    failed: int
    short: str
    ready: bool

    @classmethod
    def of(cls, spec: _Spec, members: Sequence[Member]) -> "_Counts":
        minimum, needs = max(0, spec.min_member or 0), _Needs.of(spec)
        succeeded = [each for each in members if each.phase is Phase.SUCCEEDED]
        live = [each for each in members if each.live]
        allocated = [each for each in live if each.bound] + succeeded
        valid, placed = _roles([*live, *succeeded]), _roles(allocated)
        return cls(
            minimum=minimum,
            valid=len(live) + len(succeeded),
            allocated=len(allocated),
            live=len(live),
            running=sum(each.phase is Phase.RUNNING for each in live),
            succeeded=len(succeeded),
            failed=sum(each.phase is Phase.FAILED for each in members),
            short=", ".join(needs.short(valid)),
            ready=bool(allocated) and len(allocated) >= minimum and not any(needs.short(placed)),
        )


def _roles(members: Sequence[Member]) -> Counter[str]:
    return Counter(member.role for member in members)


def report(found: VolcanoPodGroup, view: GroupView) -> Mapping[str, Any]:
    """The status that its clients read: a phase, counters, and why it waits."""
    before = found.status
    counts = _Counts.of(found.spec, tuple(view.members))
    status: dict[str, Any] = {"phase": _phase(str(before.get("phase", "")), counts)}
    for name in ("running", "succeeded", "failed"):
        count = getattr(counts, name)
        if count or before.get(name):
            status[name] = count
    if (told := _told(counts, view)) is not None:
        standing = before.get("conditions")
        status["conditions"] = list(
            _conditions(standing if isinstance(standing, list) else [], told, found, view.now)
        )
    return status


def _phase(before: str, counts: _Counts) -> str:
    """The phase; never `Pending`, as some clients would then never create their pods."""
    if not counts.live:
        done = counts.succeeded > 0 and counts.succeeded >= counts.minimum
        emptied = not counts.minimum and before == "Running"  # a client that withdrew its job
        if done or emptied or (before == "Completed" and not counts.failed):
            return "Completed"
        return "Inqueue"
    if counts.ready:
        return "Running"
    return "Unknown" if counts.running else "Inqueue"


@dataclass(frozen=True, slots=True)
class _TrueCondition:
    """The condition that is True; the other of the two is False."""

    kind: str
    reason: str
    message: str


def _told(counts: _Counts, view: GroupView) -> _TrueCondition | None:
    """Why the group waits, or that it does not; None = keep the conditions as they are."""
    if counts.ready:
        return _TrueCondition("Scheduled", READY, "")
    if counts.valid < max(1, counts.minimum):
        text = (
            "Not enough valid tasks for gang-scheduling, "
            f"valid: {counts.valid}, min: {max(1, counts.minimum)}"
        )
        return _TrueCondition("Unschedulable", "NotEnoughTasks", text)
    if counts.short:
        text = f"Not enough valid pods of each task for gang-scheduling, {counts.short}"
        return _TrueCondition("Unschedulable", "NotEnoughPodsOfTask", text)
    condition = view.condition(Condition.SCHEDULED)
    reason = str(condition.get("reason", ""))
    if condition.get("status") != "False" or reason in _UNDECIDED:
        return None
    why = "NotEnoughResources" if reason in _LACK else reason
    return _TrueCondition("Unschedulable", why, str(condition.get("message", "")))


def _conditions(
    standing: Sequence[Any], told: _TrueCondition, found: VolcanoPodGroup, now: float
) -> Iterator[Mapping[str, Any]]:
    """All conditions: others' unchanged, and ours updated."""
    said = False
    for condition in standing:
        kind = condition.get("type") if isinstance(condition, dict) else None
        if kind == told.kind:
            said = True
            yield _condition(condition, "True", told, found, now)
        elif kind in ("Scheduled", "Unschedulable") and condition.get("status") != "False":
            past = _TrueCondition(str(kind), told.reason, told.message)
            yield _condition(condition, "False", past, found, now)
        else:
            yield condition
    if not said:
        yield _condition({}, "True", told, found, now)


def _condition(
    before: Mapping[str, Any], status: str, told: _TrueCondition, found: VolcanoPodGroup, now: float
) -> Mapping[str, Any]:
    """One condition; each change of its status or reason gets a new transitionID."""
    wanted = {"type": told.kind, "status": status, "reason": told.reason}
    if told.message:
        wanted["message"] = told.message
    if all(before.get(name) == wanted[name] for name in ("status", "reason")):
        return {**before, **wanted}
    since = time_text(now)
    text = f"{found.metadata.uid}/{told.kind}/{status}/{told.reason}/{now}"
    transition = str(uuid.uuid5(uuid.NAMESPACE_OID, text))
    return {**wanted, "lastTransitionTime": since, "transitionID": transition}


VOLCANO: Final = Source(
    name="Volcano",
    resources=(RESOURCE,),
    shape=VolcanoPodGroup,
    derive=derive,
    report=report,
    subresource="",
    scheduler_names=frozenset({SCHEDULER_NAME}),
    beside=((QUEUES, DEFAULT_QUEUE),),
)
