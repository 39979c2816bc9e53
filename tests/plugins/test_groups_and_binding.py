# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The order of groups, the words for incomplete ones, and the binder."""

from dataclasses import replace

import pytest

from enbloc.framework.act import Target
from enbloc.framework.facts import Floor, GroupFacts
from enbloc.framework.status import SUCCESS, Code, Status
from enbloc.model.groups import Group, GroupKey
from enbloc.model.pods import PodKey, PodUID
from enbloc.plugins.default_binder import DefaultBinder
from enbloc.plugins.gang_scheduling import GangScheduling
from enbloc.plugins.priority_sort import PrioritySort
from enbloc.plugins.scheduling_gates import SchedulingGates
from tests.plugins.cluster import Cluster


def facts(name: str, *, minimum: int = 2, pending: int = 2, bound: int = 0) -> GroupFacts:
    key = GroupKey("n", name)
    return GroupFacts(
        key=key, group=Group(key, min_member=minimum), solo=False, pending=(),
        total=Floor("", minimum, pending, bound, 0), roles=(), members=pending + bound, gated=0,
        foreign=0, running=0, started=False, run_name="", priority=0, queue_time=100.0,
    )  # fmt: skip


def test_groups_go_by_priority_then_held_in_part_then_age_then_name() -> None:
    urgent = replace(facts("z"), priority=10, queue_time=900.0)
    in_part = replace(facts("y", bound=1), queue_time=800.0, bound_by_us=True)
    by_others = replace(facts("v", bound=1), queue_time=850.0)
    old = facts("x")
    twin = facts("w")
    young = replace(facts("a"), queue_time=200.0)
    sort = PrioritySort()

    ordered = sorted(
        (young, old, twin, in_part, urgent, by_others),
        key=lambda of: sort.sort_key(of.group or Group(of.key), of),
    )

    assert [of.key.name for of in ordered] == ["z", "y", "w", "x", "a", "v"]


def test_a_group_with_its_quorum_may_be_tried() -> None:
    group = facts("g", minimum=3, pending=2, bound=1)

    assert GangScheduling().pre_enqueue(group.group, group) == SUCCESS


def test_an_incomplete_group_is_told_what_it_waits_for() -> None:
    group = replace(facts("g", minimum=8, pending=5, bound=1), gated=1)

    answer = GangScheduling().pre_enqueue(group.group, group)

    assert answer.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert answer.message == "6 of 8 members exist (1 more held by scheduling gates)"


def test_a_group_that_does_not_exist_is_told_so() -> None:
    group = replace(facts("g"), group=None)

    assert GangScheduling().pre_enqueue(None, group).message == "PodGroup n/g not found"


@pytest.mark.parametrize(
    ("group", "answer"),
    [
        pytest.param(
            replace(facts("g", minimum=1, pending=0), solo=True, gated=1, gates=("a", "b")),
            Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "waiting for scheduling gates: [a b]"),
            id="a pod with gates",
        ),
        pytest.param(replace(facts("g", minimum=1), solo=True), SUCCESS, id="a pod without"),
        pytest.param(
            replace(facts("g"), gated=1, gates=("a",)), SUCCESS, id="a gang with enough others"
        ),
    ],
)
def test_a_pod_waits_until_its_gates_are_gone(group: GroupFacts, answer: Status) -> None:
    assert SchedulingGates().pre_enqueue(group.group, group) == answer


class RecordingApi(Cluster):
    """Answers a Binding as told, and remembers what it was asked."""

    def __init__(self, answer: Status) -> None:
        super().__init__()
        self.answer = answer
        self.bindings: list[Target] = []

    async def bind(self, target: Target) -> Status:
        self.bindings.append(target)
        return self.answer


async def test_the_binder_leaves_everything_to_the_api_server() -> None:
    target = Target("p-1", PodKey("n", "a"), PodUID("u"), "node-1", (("enbloc.dev/plan", "{}"),))
    refusal = Status(Code.ERROR, "pod is being deleted")

    for answer in (SUCCESS, refusal):
        api = RecordingApi(answer)
        assert await DefaultBinder().bind(target, api) == answer
        assert api.bindings == [target]
