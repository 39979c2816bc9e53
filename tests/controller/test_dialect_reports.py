# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What PodGroups of the coscheduling plugin and of Volcano call for, and what they are told."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from enbloc.controller.members import Member
from enbloc.controller.sources import coscheduling, volcano
from enbloc.controller.sources.derived_groups import checked
from enbloc.controller.sources.reading import called_for
from enbloc.controller.sources.source import Derived, GroupView, RefusedGroup
from enbloc.model.pods import Phase, PodUID

NOW = 1_800_000_000.0
NOW_TEXT = "2027-01-15T08:00:00Z"
STATES = {
    "waiting": {},
    "bound": {"bound": True},
    "running": {"bound": True, "phase": Phase.RUNNING},
    "leaving": {"live": False, "phase": Phase.RUNNING},
    "succeeded": {"live": False, "phase": Phase.SUCCEEDED},
    "failed": {"live": False, "phase": Phase.FAILED},
}


def members(*states: str, role: str = "") -> list[Member]:
    """Pods in these states, the oldest first."""
    return [
        Member(
            uid=PodUID(f"{role}{index}"),
            role=role,
            controller="u",
            controller_name="train",
            created=float(index),
            **STATES[state],  # type: ignore[arg-type]
        )
        for index, state in enumerate(states)
    ]


def view(pods: list[Member], *, scheduled: Mapping[str, Any] | None = None) -> GroupView:
    """What is known, with this condition Scheduled."""
    conditions = [{"type": "Scheduled", **scheduled}] if scheduled else []
    return GroupView(status={"conditions": conditions}, members=pods, now=NOW)


# ── the coscheduling plugin ──────────────────────────────────────────────────────────────────


def theirs(status: Any = None, **spec: Any) -> coscheduling.CoschedulingPodGroup:
    found = {"metadata": {"name": "g", "namespace": "ns"}, "spec": spec, "status": status}
    return msgspec.json.decode(msgspec.json.encode(found), type=coscheduling.CoschedulingPodGroup)


@pytest.mark.parametrize(
    ("states", "phase"),
    [
        ((), "Pending"),
        (("waiting",), "Pending"),
        (("waiting", "waiting"), "Scheduling"),
        (("running", "bound"), "Scheduling"),
        (("running", "running"), "Running"),
        (("running", "succeeded"), "Running"),
        (("running", "leaving"), "Running"),
        (("running", "failed"), "Failed"),
        (("failed", "waiting"), "Scheduling"),
        (("succeeded", "succeeded"), "Finished"),
        (("succeeded", "succeeded", "failed"), "Finished"),
    ],
)
def test_the_phase_is_the_one_that_the_coscheduling_controller_writes(
    states: tuple[str, ...], phase: str
) -> None:
    told = coscheduling.report(theirs(minMember=2), view(members(*states)))
    assert told["phase"] == phase


def test_whose_the_pods_are_and_since_when_they_are_scheduled_is_told_once() -> None:
    first = coscheduling.report(theirs(minMember=1), view(members("waiting")))
    assert (first["occupiedBy"], first["scheduleStartTime"]) == ("ns/train", NOW_TEXT)
    later = coscheduling.report(theirs(dict(first), minMember=1), view(members("running")))
    assert later == {"phase": "Running", "running": 1}


@pytest.mark.parametrize("phase", ["Finished", "Failed"])
def test_what_has_ended_keeps_its_phase_and_counters_when_its_pods_go(phase: str) -> None:
    status = {"phase": phase, "succeeded": 2, "scheduleStartTime": "t", "occupiedBy": "ns/train"}
    assert coscheduling.report(theirs(status, minMember=2), view([])) == {"phase": phase}


def test_a_group_that_is_used_again_is_counted_again() -> None:
    status = {"phase": "Finished", "succeeded": 2, "scheduleStartTime": "t", "occupiedBy": "ns/x"}
    told = coscheduling.report(theirs(status, minMember=2), view(members("waiting", "waiting")))
    assert told == {"phase": "Scheduling", "succeeded": 0}


def test_a_timeout_of_zero_is_the_default() -> None:
    found = coscheduling.derive(theirs(minMember=2, scheduleTimeoutSeconds=0))
    assert found == Derived({"minMember": 2})


def test_a_timeout_of_more_than_a_day_counts_as_a_day() -> None:
    """Semantics §6.5: the field has no limit there."""
    found = checked(coscheduling.derive(theirs(minMember=2, scheduleTimeoutSeconds=604_800)))
    assert found == Derived({"minMember": 2, "scheduleTimeoutSeconds": 86_400})


# ── Volcano ──────────────────────────────────────────────────────────────────────────────────


def volcanos(status: Any = None, **spec: Any) -> volcano.VolcanoPodGroup:
    found = {
        "metadata": {"name": "g", "namespace": "ns", "uid": "u"},
        "spec": spec,
        "status": status,
    }
    return msgspec.json.decode(msgspec.json.encode(found), type=volcano.VolcanoPodGroup)


def spec_of(**spec: Any) -> Mapping[str, Any]:
    found = checked(volcano.derive(volcanos(**spec)))
    assert isinstance(found, Derived)
    return found.spec


def test_a_minimum_of_zero_lets_each_pod_start_on_its_own() -> None:
    assert spec_of(minMember=0, minResources={}) == {"minMember": 1}
    assert spec_of() == {"minMember": 1}


def test_tasks_with_a_minimum_are_roles() -> None:
    spec = spec_of(minMember=3, minTaskMember={"worker": 2, "master": 1}, priorityClassName="high")
    assert spec == {
        "minMember": 3,
        "roles": [{"name": "master", "minMember": 1}, {"name": "worker", "minMember": 2}],
        "priorityClassName": "high",
    }


def test_tasks_count_for_nothing_where_the_minimum_does_not_cover_them() -> None:
    assert spec_of(minMember=2, minTaskMember={"worker": 2, "master": 1}) == {"minMember": 2}


def sub_group(role: str, size: int, count: int = 1, key: str = "grove.io/podclique") -> Any:
    """As Grove writes one for Volcano."""
    return {
        "name": role,
        "labelSelector": {"matchLabels": {key: role}},
        "matchLabelKeys": [key],
        "subGroupSize": size,
        "minSubGroups": count,
    }


def test_a_sub_group_that_is_needed_and_can_be_only_one_is_a_role() -> None:
    spec = spec_of(minMember=3, subGroupPolicy=[sub_group("decode", 4), sub_group("prefill", 2)])
    assert spec == {
        "minMember": 6,
        "roles": [{"name": "decode", "minMember": 4}, {"name": "prefill", "minMember": 2}],
    }
    task = sub_group("worker", 4, key="volcano.sh/task-spec")
    spec = spec_of(minMember=5, minTaskMember={"worker": 2, "master": 1}, subGroupPolicy=[task])
    assert spec["roles"] == [{"name": "master", "minMember": 1}, {"name": "worker", "minMember": 4}]
    assert spec_of(minMember=1, subGroupPolicy=[sub_group("a", 2, 0)]) == {"minMember": 1}


def partitions(task: str, size: int, count: int) -> Any:
    """As Volcano's job controller writes one."""
    policy = sub_group(task, size, count, "volcano.sh/task-spec")
    return {**policy, "matchLabelKeys": ["volcano.sh/partition-id"]}


def test_partitions_of_a_task_are_roles_of_which_some_are_enough() -> None:
    spec = spec_of(
        minMember=1, minTaskMember={"master": 1}, subGroupPolicy=[partitions("worker", 4, 2)]
    )
    assert (spec["minMember"], "minGroupCount" in spec) == (1, False)
    assert spec["subGroups"] == [{"name": "worker", "minGroupCount": 2}]
    assert spec["roles"][:2] == [
        {"name": "master", "minMember": 1},
        {"name": "worker-0", "minMember": 4, "parent": "worker"},
    ]
    assert len(spec["roles"]) == 16


def test_as_many_partitions_are_needed_as_the_minimum_of_their_task_fills() -> None:
    policy = [partitions("worker", 4, 0)]
    spec = spec_of(minMember=7, minTaskMember={"worker": 7}, subGroupPolicy=policy)
    assert (spec["minMember"], spec["minGroupCount"]) == (7, 2)
    assert spec_of(minMember=7, subGroupPolicy=policy) == {"minMember": 7}


def test_partitions_that_cannot_all_be_roles_count_for_the_minimum_of_the_group_alone() -> None:
    for more in (
        {"minTaskMember": {"worker": 40}},
        {"minTaskMember": {"worker-0": 1, "worker": 8}},
    ):
        given = volcanos(minMember=40, subGroupPolicy=[partitions("worker", 2, 0)], **more)
        found = checked(volcano.derive(given))
        assert isinstance(found, Derived)
        assert found.spec["minMember"] == 40
        assert not any(role["name"] == "worker" for role in found.spec.get("roles", ()))
        assert "the minimum of task worker has no effect" in found.ignored


def test_a_group_of_partitions_runs_once_enough_of_them_are_bound() -> None:
    found = volcanos(minMember=1, subGroupPolicy=[partitions("worker", 2, 1)])
    apart = [*members("running", role="worker-0"), *members("running", role="worker-1")]
    status = volcano.report(found, GroupView(members=apart))
    assert status["phase"] == "Unknown"
    assert "worker: 0/1 partitions" in status["conditions"][0]["message"]
    whole = members("running", "running", role="worker-1")
    assert volcano.report(found, GroupView(members=whole))["phase"] == "Running"


def test_of_the_names_of_a_quota_those_count_that_nodes_have() -> None:
    given = {
        "cpu": "4",
        "requests.cpu": "4",
        "limits.cpu": "8",
        "count/pods": "2",
        "pods": "2",
        "requests.nvidia.com/gpu": "8",
    }
    spec = spec_of(minMember=2, minResources=given)
    assert spec["minResources"] == {"cpu": "4", "pods": "2", "nvidia.com/gpu": "8"}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"minMember": -1}, "spec.minMember: -1 is negative; use 0 or more"),
        (
            {"minMember": 1, "minTaskMember": {"w": -2}},
            "spec.minTaskMember[w]: -2 is negative; use 0 or more",
        ),
        (
            {"minMember": 20, "minTaskMember": {f"t{n}": 1 for n in range(17)}},
            "spec.minTaskMember: 17 tasks; use at most 16",
        ),
        (
            {"subGroupPolicy": [sub_group("a", 0)]},
            "spec.subGroupPolicy[0].subGroupSize: 0 is not between 1 and 100000",
        ),
        (
            {"subGroupPolicy": [sub_group("a", 1, -1)]},
            "spec.subGroupPolicy[0].minSubGroups: -1 is negative; use 0 or more",
        ),
        (
            {"subGroupPolicy": [sub_group("a", 1, 2)]},
            "spec.subGroupPolicy[0].minSubGroups: 2 are needed, and its labels allow one alone",
        ),
        (
            {"subGroupPolicy": [sub_group(f"t{n}", 1) for n in range(17)]},
            "spec.subGroupPolicy: 17 tasks; use at most 16",
        ),
        ({"minResources": {"cpu": "1x"}}, 'spec.minResources[cpu]: "1x" is not a quantity'),
        ({"minMember": 100_001}, "spec.minMember: Input should be less than or equal to 100000"),
        ({"priorityClassName": "Not Valid"}, "spec.priorityClassName: String should match"),
    ],
)
def test_what_cannot_be_followed_names_the_field(spec: Any, problem: str) -> None:
    found = checked(volcano.derive(volcanos(**spec)))
    assert isinstance(found, RefusedGroup)
    assert problem in found.problem


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        ({"queue": "research"}, 'spec.queue: "research" has no effect'),
        (
            {"subGroupPolicy": [{**sub_group("a", 2), "matchLabelKeys": ["example.com/slice"]}]},
            "spec.subGroupPolicy[].minSubGroups has no effect where sub-groups are told apart by",
        ),
        (
            {"subGroupPolicy": [{"name": "a", "networkTopology": {"mode": "hard"}}]},
            "spec.subGroupPolicy[0].networkTopology is ignored: its sub-groups are no roles; ",
        ),
    ],
)
def test_what_has_no_effect_is_said(spec: Any, note: str) -> None:
    found = volcano.derive(volcanos(minMember=1, **spec))
    assert isinstance(found, Derived)
    assert found.ignored.startswith(note)


TIERS = "topology.volcano.sh/hypernodes"
#: The same, if there are any.
SOME_TIERS = "topology.volcano.sh/*"


@pytest.mark.parametrize(
    ("asked", "topology"),
    [
        ({"mode": "hard", "highestTierAllowed": 2}, {"name": TIERS, "required": "tier-2"}),
        ({"highestTierAllowed": 1}, {"name": TIERS, "required": "tier-1"}),
        ({"mode": "hard", "highestTierName": "spine"}, {"name": TIERS, "required": "spine"}),
        ({"mode": "soft", "highestTierAllowed": 2}, {"name": SOME_TIERS, "preferred": "tier-1"}),
        ({"mode": "hard"}, {"name": SOME_TIERS, "preferred": "tier-1"}),
        ({}, {"name": SOME_TIERS, "preferred": "tier-1"}),
    ],
    ids=["hard", "hard by default", "by name", "soft", "hard without a tier", "empty"],
)
def test_a_tier_of_hyper_nodes_is_a_level(asked: Any, topology: Any) -> None:
    found = checked(volcano.derive(volcanos(minMember=2, networkTopology=asked)))
    assert found == Derived({"minMember": 2, "topology": topology})


def test_sub_groups_lie_in_hyper_nodes_of_their_own() -> None:
    """Partitions of a task, and a task by itself; the latter though none of it is needed."""
    near = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    task = {"matchLabels": {"volcano.sh/task-spec": "worker"}}
    parted = {
        "name": "worker",
        "subGroupSize": 2,
        "minSubGroups": 2,
        "labelSelector": task,
        "matchLabelKeys": ["volcano.sh/partition-id"],
        **near,
    }
    found = checked(volcano.derive(volcanos(minMember=4, subGroupPolicy=[parted])))
    assert isinstance(found, Derived)
    assert {str(role.get("topology")) for role in found.spec["roles"]} == {"{'required': 'tier-1'}"}
    assert found.spec["topology"] == {"name": TIERS}
    assert not found.ignored
    keys = ["volcano.sh/task-spec"]
    whole = {"name": "worker", "labelSelector": task, "matchLabelKeys": keys, **near}
    found = checked(volcano.derive(volcanos(minMember=4, subGroupPolicy=[whole])))
    assert isinstance(found, Derived)
    assert found.spec["roles"] == [
        {"name": "worker", "minMember": 0, "topology": {"required": "tier-1"}}
    ]
    assert not found.ignored


def test_who_says_the_topology_in_words_of_ours_names_no_tier() -> None:
    group = volcanos(minMember=1, networkTopology={"mode": "hard"})
    group.metadata.annotations = {"enbloc.dev/topology-required": "x/rack"}
    found = called_for(volcano.VOLCANO, group)
    assert found == Derived({"minMember": 1, "topology": {"required": "x/rack"}})


@pytest.mark.parametrize(
    ("annotations", "labels", "said"),
    [
        ({"volcano.sh/preemptable": "false"}, None, True),
        (None, {"volcano.sh/preemptable": "False"}, True),
        ({"volcano.sh/preemptable": "true"}, {"volcano.sh/preemptable": "false"}, False),
        ({"volcano.sh/preemptable": "perhaps"}, None, False),
        (None, None, False),
    ],
)
def test_who_is_not_to_give_way_in_volcano_is_told_that_priority_decides(
    annotations: dict[str, str] | None, labels: dict[str, str] | None, said: bool
) -> None:
    group = volcanos(minMember=1)
    group.metadata.annotations, group.metadata.labels = annotations, labels
    found = volcano.derive(group)
    assert isinstance(found, Derived)
    text = "volcano.sh/preemptable: false has no effect: who gives way is decided by priority alone"
    assert found.ignored.startswith(text) is said


def test_the_default_queue_is_nothing_to_speak_of() -> None:
    assert volcano.derive(volcanos(minMember=1, queue="default")) == Derived({"minMember": 1})


@pytest.mark.parametrize(
    ("before", "minimum", "states", "phase"),
    [
        ("Pending", 2, (), "Inqueue"),
        ("Pending", 2, ("waiting", "waiting"), "Inqueue"),
        ("Inqueue", 2, ("bound", "waiting"), "Inqueue"),
        ("Inqueue", 2, ("bound", "bound"), "Running"),
        ("Running", 2, ("running", "succeeded"), "Running"),
        ("Running", 2, ("running", "failed"), "Unknown"),
        ("Running", 2, ("running", "waiting"), "Unknown"),
        ("Running", 2, ("succeeded", "succeeded"), "Completed"),
        ("Running", 2, ("failed", "failed"), "Inqueue"),
        ("Running", 2, (), "Inqueue"),
        ("Completed", 2, (), "Completed"),
        ("Completed", 2, ("waiting", "waiting"), "Inqueue"),
        ("Running", 0, (), "Completed"),
        ("Pending", 0, (), "Inqueue"),
        ("Inqueue", 0, ("waiting", "bound"), "Running"),
    ],
)
def test_the_phase_lets_clients_create_their_pods_and_says_what_became_of_them(
    before: str, minimum: int, states: tuple[str, ...], phase: str
) -> None:
    found = volcanos({"phase": before}, minMember=minimum)
    assert volcano.report(found, view(members(*states)))["phase"] == phase


REFUSED = {"status": "False", "reason": "Unschedulable", "message": "2 members do not fit"}


@pytest.mark.parametrize(
    ("pods", "scheduled", "reason", "message"),
    [
        (members("waiting"), REFUSED, "NotEnoughTasks", "valid: 1, min: 2"),
        (
            members("waiting", "waiting", role="master"),
            REFUSED,
            "NotEnoughPodsOfTask",
            "worker: 0/1",
        ),
        (
            members("waiting", "waiting", role="worker"),
            REFUSED,
            "NotEnoughResources",
            "2 members do not fit",
        ),
        (
            members("waiting", "waiting", role="worker"),
            {"status": "False", "reason": "Preempted", "message": "preempted by pod ns/high"},
            "NotEnoughResources",
            "preempted by pod ns/high",
        ),
        (
            members("waiting", "waiting", role="worker"),
            {"status": "False", "reason": "InvalidSpec", "message": "spec is invalid"},
            "InvalidSpec",
            "spec is invalid",
        ),
    ],
)
def test_why_a_group_waits_is_told_in_the_words_of_volcano(
    pods: list[Member], scheduled: Mapping[str, Any], reason: str, message: str
) -> None:
    found = volcanos(minMember=2, minTaskMember={"worker": 1})
    [condition] = volcano.report(found, view(pods, scheduled=scheduled))["conditions"]
    assert (condition["type"], condition["status"]) == ("Unschedulable", "True")
    assert condition["reason"] == reason
    assert message in condition["message"]
    assert condition["lastTransitionTime"] == NOW_TEXT


def test_nothing_is_said_before_the_scheduler_has_decided() -> None:
    told = volcano.report(volcanos(minMember=1), view(members("waiting")))
    assert told == {"phase": "Inqueue"}


def test_a_group_that_starts_is_scheduled_and_no_longer_unschedulable() -> None:
    waits = volcano.report(volcanos(minMember=2), view(members("waiting")))
    [before] = waits["conditions"]
    other = {"type": "Theirs", "status": "True"}
    found = volcanos({**waits, "conditions": [other, before]}, minMember=2)
    told = volcano.report(found, view(members("running", "bound")))
    kept, unschedulable, scheduled = told["conditions"]
    assert kept == other
    assert (unschedulable["type"], unschedulable["status"]) == ("Unschedulable", "False")
    assert (scheduled["type"], scheduled["status"]) == ("Scheduled", "True")
    ids = {each["transitionID"] for each in (before, unschedulable, scheduled)}
    assert len(ids) == 3
    again = volcano.report(volcanos(dict(told), minMember=2), view(members("running", "bound")))
    assert again == told


def test_the_pods_are_counted_by_phase() -> None:
    pods = members("running", "running", "leaving", "succeeded", "failed", "waiting")
    told = volcano.report(volcanos(minMember=2), view(pods))
    assert (told["running"], told["succeeded"], told["failed"]) == (2, 1, 1)


@pytest.mark.parametrize("status", [7, "x", [{}], {"phase": {}}, {"conditions": {"a": []}}, None])
def test_a_status_that_is_none_is_told_anew(status: Any) -> None:
    """Whoever makes such an object may write anything there."""
    assert volcano.report(volcanos(status, minMember=1), view([]))["phase"] == "Inqueue"
    assert coscheduling.report(theirs(status, minMember=1), view([]))["phase"] == "Pending"


def test_a_status_is_kept_as_it_was_sent() -> None:
    """Read, it takes ten times the memory; and a page of a list is not kept for one of it."""
    sent = msgspec.json.encode({"metadata": {"name": "g"}, "status": {"conditions": [{}] * 999}})
    found = msgspec.json.decode(sent, type=volcano.VolcanoPodGroup)
    assert len(bytes(found.raw_status)) < len(sent)
    assert found.status == {"conditions": [{}] * 999}
