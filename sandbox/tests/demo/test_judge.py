# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable

import pytest

from enbloc_sandbox.demo.judge import judge_alone, judge_gangs
from enbloc_sandbox.demo.observed import GroupSeen, PodSeen, Seen
from enbloc_sandbox.demo.scenario import Scenario

TWO = Scenario(gpus=1, cpu=1, memory=1, slots=3, size=2)


def pods(gang: str, at: float, phase: str, count: int = 2, node: str = "n") -> list[Seen]:
    return [PodSeen(at, f"{gang}-{i}", gang, node, phase) for i in range(count)]


def waits(gang: str, at: float, reason: str = "Unschedulable") -> GroupSeen:
    return GroupSeen(at, gang, reason, reason, "no room")


def ended(gang: str, state: str = "Succeeded") -> GroupSeen:
    return GroupSeen(7.0, gang, state, "Scheduled", "2 of 2")


RIGHT: list[Seen] = [
    *pods("a", 0.0, "Pending", node=""),
    *pods("b", 0.0, "Pending", node=""),
    *pods("a", 0.1, "Pending"),
    waits("b", 0.2),
    *pods("a", 0.3, "Running"),
    *pods("a", 3.0, "Succeeded"),
    *pods("b", 3.1, "Running"),
    *pods("b", 6.0, "Succeeded"),
    ended("a"),
    ended("b"),
]


def without(log: Iterable[Seen], *unwanted: Seen) -> list[Seen]:
    return [seen for seen in log if seen not in unwanted]


def test_one_gang_runs_then_the_other() -> None:
    assert judge_gangs(RIGHT, TWO) == []


def test_the_other_order_is_as_good() -> None:
    swapped: list[Seen] = []
    for seen in RIGHT:
        if isinstance(seen, PodSeen):
            other = "b" if seen.gang == "a" else "a"
            swapped.append(PodSeen(seen.at, other + seen.name[1:], other, seen.node, seen.phase))
        else:
            swapped.append(
                GroupSeen(seen.at, "b" if seen.name == "a" else "a", seen.state, seen.reason)
            )
    assert judge_gangs(swapped, TWO) == []


@pytest.mark.parametrize(
    ("log", "problem"),
    [
        pytest.param(
            without(RIGHT, *pods("b", 3.1, "Running")[1:], *pods("b", 6.0, "Succeeded")[1:]),
            "gang b: it was only partially placed",
            id="a gang that stays half-placed",
        ),
        pytest.param(
            [*RIGHT[:8], PodSeen(20.0, "b-0", "b", "n"), PodSeen(31.0, "b-1", "b"), *RIGHT[11:]],
            "gang b: 1 of 2 pods were on nodes 31.0 s after the start",
            id="a burst that takes too long",
        ),
        pytest.param(
            [*RIGHT[:-4], PodSeen(5.0, "b-0", "b", phase=""), *RIGHT[-4:]],
            "gang b: 1 of 2 pods were on nodes 5.0 s after the start",
            id="a gang that loses a pod",
        ),
        pytest.param(
            without(RIGHT, *pods("b", 3.1, "Running"), *pods("b", 6.0, "Succeeded")),
            "gang b: 0 of 2 pods succeeded",
            id="a gang that never starts",
        ),
        pytest.param(
            without(RIGHT, waits("b", 0.2)),
            "gang b: before it started its PodGroup said no reason, not Unschedulable",
            id="no reason given",
        ),
        pytest.param(
            [waits("b", 0.2, "Pending") if one == waits("b", 0.2) else one for one in RIGHT],
            "gang b: before it started its PodGroup said Pending, not Unschedulable",
            id="another reason given",
        ),
        pytest.param(
            without(RIGHT, ended("b")),
            "gang b: its PodGroup says Unschedulable",
            id="a PodGroup that does not say so",
        ),
        pytest.param(
            [*RIGHT, PodSeen(7.0, "b-0", "b", "n", "Failed", reason="OutOfcpu: full")],
            "pod b-0 failed: OutOfcpu: full",
            id="a pod that a kubelet refused",
        ),
    ],
)
def test_what_went_wrong_with_the_gangs_is_said(log: list[Seen], problem: str) -> None:
    assert problem in judge_gangs(log, TWO)


def alone(a: int, b: int) -> list[PodSeen]:
    placed = [PodSeen(0.0, f"a-{i}", "a", "n", "Running") for i in range(a)]
    placed += [PodSeen(0.0, f"b-{i}", "b", "n", "Running") for i in range(b)]
    return [*placed, PodSeen(0.0, "b-9", "b", waiting="no room")]


def test_two_half_placed_jobs_are_what_act_one_shows() -> None:
    scenario = Scenario(gpus=1, cpu=1, memory=1, slots=5, size=4)
    assert judge_alone(alone(3, 2), scenario) == []


@pytest.mark.parametrize(
    ("a", "b", "problem"),
    [
        pytest.param(4, 1, "job a has 4 of 4 pods on nodes", id="one job is whole"),
        pytest.param(3, 0, "job b has 0 of 4 pods on nodes", id="one job has nothing"),
        pytest.param(2, 2, "4 pods are on nodes; there is capacity for 5", id="room is left"),
        pytest.param(3, 3, "6 pods are on nodes; there is capacity for 5", id="too many"),
    ],
)
def test_what_went_wrong_one_by_one_is_said(a: int, b: int, problem: str) -> None:
    scenario = Scenario(gpus=1, cpu=1, memory=1, slots=5, size=4)
    assert any(problem in one for one in judge_alone(alone(a, b), scenario))
