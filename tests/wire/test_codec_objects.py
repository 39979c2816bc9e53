# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes and PodGroups as the API server sends them become facts, and never an exception."""

from typing import Any

import msgspec
import pytest

from enbloc.model.groups import Group, GroupKey, GroupMemory, OnIncomplete, Relaunch, Role
from enbloc.model.node import Node
from enbloc.model.resources import AMOUNT_LIMIT
from enbloc.model.taints import Effect, Taint
from enbloc.wire.codec import NodeObject, PodGroupObject, group, node


def read_node(document: dict[str, Any]) -> Node:
    return node(msgspec.convert(document, NodeObject))


def read_group(spec: dict[str, Any], **more: Any) -> Group:
    metadata = {"name": "g", "namespace": "n", "uid": "u", "resourceVersion": "7"}
    return group(msgspec.convert({"metadata": metadata, "spec": spec, **more}, PodGroupObject))


# ── nodes ────────────────────────────────────────────────────────────────────────────────────


def test_a_node_says_what_it_offers_and_whom_it_refuses() -> None:
    made = read_node(
        {
            "metadata": {
                "name": "a", "uid": "u", "resourceVersion": "9", "labels": {"z": "1", "b": "2"},
            },
            "spec": {
                "unschedulable": True,
                "taints": [
                    {"key": "gpu", "value": "a100", "effect": "NoSchedule"},
                    {"key": "soft", "effect": "PreferNoSchedule", "timeAdded": None},
                ],
            },
            "status": {
                "allocatable": {"pods": "110", "cpu": "7910m", "memory": "1Ki", "huge": "99Ei"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
    )  # fmt: skip

    assert made == Node(
        name="a",
        uid="u",
        labels=(("b", "2"), ("z", "1")),
        taints=(Taint("gpu", "a100"), Taint("soft", "", Effect.PREFER_NO_SCHEDULE)),
        unschedulable=True,
        allocatable=(("cpu", 7910), ("huge", AMOUNT_LIMIT), ("memory", 1024), ("pods", 110)),
        ready=True,
        resource_version=9,
    )


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        (None, False),
        ([], False),
        ([{"type": "Ready", "status": "Unknown"}], False),
        ([{"type": "Ready", "status": "True"}], True),
    ],
)
def test_a_node_is_ready_only_when_its_kubelet_says_so(
    conditions: list[dict[str, str]] | None, *, ready: bool
) -> None:
    assert read_node({"status": {"conditions": conditions}}).ready is ready


def test_a_node_without_anything_offers_nothing() -> None:
    assert read_node({"metadata": {"name": "a"}}) == Node("a", ready=False)


def test_what_a_node_says_badly_counts_as_absent() -> None:
    made = read_node(
        {
            "metadata": {"name": "a"},
            "spec": {"taints": [{"key": "x", "effect": "Maybe"}]},
            "status": {"allocatable": {"cpu": "lots", "pods": "5"}},
        }
    )

    assert made.allocatable == (("pods", 5),)
    assert made.taints == ()
    assert 'status.allocatable[cpu]: "lots" is not a quantity' in made.problem
    assert "spec.taints[0].effect: 'Maybe' is not a valid Effect; use NoSchedule" in made.problem


def test_a_node_lists_its_images_by_each_of_their_names_and_what_it_declares() -> None:
    made = read_node(
        {
            "metadata": {"name": "a"},
            "status": {
                "images": [
                    {"names": ["b@sha256:1", "b:1"], "sizeBytes": 7},
                    {"names": ["b:1", "a:1"], "sizeBytes": 9},
                    {"names": None, "sizeBytes": 1},
                    {"names": ["c"]},
                ],
                "declaredFeatures": ["Z", "A"],
            },
        }
    )

    assert made.images == (("a:1", 9), ("b:1", 7), ("b@sha256:1", 7), ("c", 0))
    assert made.features == ("A", "Z")


# ── groups ───────────────────────────────────────────────────────────────────────────────────


def test_a_group_says_its_minimums_and_remembers() -> None:
    made = read_group(
        {
            "minMember": 8,
            "minResources": {"nvidia.com/gpu": "64", "cpu": 64},
            "scheduleTimeoutSeconds": 30,
            "roles": [{"name": "launcher", "minMember": 1}, {"name": "worker"}],
            "priorityClassName": "low",
        },
        status={
            "run": "job-1",
            "startedTime": "1970-01-01T00:01:00Z",
            "succeeded": 3,
            "attempts": 2,
            "lastAttemptTime": "1970-01-01T00:00:50Z",
            "roles": [{"name": "worker", "succeeded": 3}, {"name": "launcher"}],
            "conditions": [
                {"type": "Scheduled", "status": "False"},
                {"type": "InitiallyScheduled", "status": "True"},
                {"type": "DisruptionTarget", "status": "True", "message": "by n/high"},
            ],
        },
    )

    assert made == Group(
        key=GroupKey("n", "g"),
        uid="u",
        min_member=8,
        roles=(Role("launcher", 1), Role("worker", 0)),
        min_resources=(("cpu", 64000), ("nvidia.com/gpu", 64)),
        timeout=30,
        priority_class="low",
        resource_version=7,
        memory=GroupMemory(
            "job-1",
            60.0,
            3,
            (("worker", 3), ("launcher", 0)),
            2,
            initially_scheduled=True,
            preempted="by n/high",
            last_attempt=50.0,
        ),
    )
    assert made.minimums() == (("launcher", 1), ("worker", 0))
    assert str(made.key) == "n/g"


def test_what_status_records_of_a_run_is_read_back_but_for_numbers_below_zero() -> None:
    run = {
        "name": "job-1",
        "minMember": 4,
        "minGroupCount": -1,
        "subGroups": [
            {"name": "a", "minGroupCount": -5},
            {"name": "b", "minGroupCount": 2},
            {"name": "c", "minGroupCount": 0},  # no sub-group needs none of its children
        ],
        "roles": [{"name": "worker", "minMember": -3, "succeeded": 1}],
        "relaunch": {
            "succeeded": 2,
            "minMember": 5,
            "roles": [{"name": "worker", "minMember": 4, "succeeded": 2}],
            "lastScheduledTime": "1970-01-01T00:01:00Z",
        },
    }
    [found] = read_group({}, status={"run": "job-1", "runs": [run]}).memory.runs
    assert found.minimums == (("", 4),)
    assert found.group_counts == (("b", 2),)
    assert found.roles == (("worker", 1),)
    assert found.relaunch == Relaunch(2, (("", 5), ("worker", 4)), (("worker", 2),), 60.0)


@pytest.mark.parametrize("choice", OnIncomplete)
def test_a_group_says_what_to_do_when_it_is_incomplete(choice: OnIncomplete) -> None:
    assert read_group({"onIncomplete": str(choice)}).on_incomplete is choice


def test_a_group_belongs_to_its_controller_within_its_namespace() -> None:
    references = [{"kind": "A", "uid": "1"}, {"kind": "Job", "uid": "2", "controller": True}]
    metadata = {"name": "g", "namespace": "n", "ownerReferences": references}

    made = group(msgspec.convert({"metadata": metadata, "spec": {}}, PodGroupObject))
    assert (made.owner, made.family) == ("Job/2", "n/Job/2")


def test_a_group_that_says_nothing_has_a_minimum_of_one() -> None:
    assert read_group({}) == Group(GroupKey("n", "g"), "u", resource_version=7)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"minMember": 0}, "spec.minMember: 0 is below 1; leave it out for 1"),
        ({"minResources": {"cpu": "-1"}}, 'spec.minResources[cpu]: "-1" is negative'),
        ({"scheduleTimeoutSeconds": -1}, "spec.scheduleTimeoutSeconds: -1 is negative; use 0"),
        ({"roles": [{"name": ""}]}, 'spec.roles[0].name: "" is empty or a duplicate'),
        (
            {"onIncomplete": "Evict"},
            "spec.onIncomplete: 'Evict' is not a valid OnIncomplete; use Repair, Keep, Restart",
        ),
        (
            {"roles": [{"name": "a"}, {"name": "a"}]},
            'spec.roles[1].name: "a" is empty or a duplicate',
        ),
        ({"roles": [{"name": "a", "minMember": -1}]}, "spec.roles[0].minMember: -1 is negative"),
        (
            {"minMember": 2, "roles": [{"name": "a", "minMember": 3}]},
            "spec.roles: their minimums sum to 3; raise spec.minMember from 2",
        ),
    ],
)
def test_a_group_that_cannot_be_meant_is_told_so(spec: dict[str, Any], problem: str) -> None:
    assert read_group(spec).problem.startswith(problem)


def test_a_name_that_no_resource_has_is_told_shortly_and_escaped() -> None:
    said = read_group({"minResources": {'a"\n\x1b[31m\u202e/b': "1", "cpu": "1"}})
    assert said.problem.startswith(
        'spec.minResources: a resource name must be a name such as "example.com/name" ('
    )
    assert said.problem.endswith(r'is "a\"\n\x1b[31m\u202e/b"')
    assert said.min_resources == (("cpu", 1000),)
    assert read_group({"minResources": {"x" * 10**5: "1"}}).problem.endswith(f'"{"x" * 80}"…')
    many = read_group({"minResources": {f"?{n}": "1" for n in range(64)}}).problem
    assert many.endswith("spec.minResources: 61 more invalid names")
    assert len(many) < 1024
