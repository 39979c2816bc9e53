# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How long plugins take, as far as it is measured."""

from typing import Any

import pytest
from prometheus_client import REGISTRY

from enbloc.config import default_profiles
from enbloc.engine import Engine
from enbloc.engine.events import GroupSeen, NodeSeen, PodSeen, SlotsFree, Stream, Synced
from enbloc.framework.status import Code, Status, refuse
from enbloc.live.plugin_times import SAMPLED, MemberCall, PluginTimes
from tests.world.builders import group, node, pod, spec


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"scheduler_{name}", labels) or 0.0


def point(name: str, status: str = "Success", profile: str = "enbloc") -> float:
    count = "framework_extension_point_duration_seconds_count"
    return value(count, extension_point=name, status=status, profile=profile)


def plugin(name: str, at: str, status: str = "Success") -> float:
    count = "plugin_execution_duration_seconds_count"
    return value(count, plugin=name, extension_point=at, status=status)


def test_of_ten_decisions_one_is_measured_at_every_point() -> None:
    engine = Engine(default_profiles(), stopwatch=PluginTimes())
    engine.apply(NodeSeen(node("n1", cpu=64, pods=110)))
    for stream in Stream:
        engine.apply(Synced(stream))
    engine.apply(SlotsFree(100))
    before = point("Filter"), point("Score"), plugin("NodeResourcesFit", "Filter")
    for number in range(2 * SAMPLED):
        name = f"g{number}"
        engine.apply(GroupSeen(group(name, 1)))
        unlike = spec(cpu=1, memory=f"{number + 1}Mi")
        member = pod(unlike, f"p{number}", group=group(name).key, scheduler="enbloc")
        engine.apply(PodSeen(member))
        engine.step(1000.0 + number)
    assert point("Filter") == before[0] + 2
    assert point("Score") == before[1] + 2
    assert plugin("NodeResourcesFit", "Filter") > before[2]


def raises(*_: object) -> Status:
    raise ValueError("broken")


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (lambda: True, "Success"),
        (lambda: refuse("no"), "Unschedulable"),
        (lambda: Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ""), "UnschedulableAndUnresolvable"),
        (raises, "Error"),
    ],
)
def test_a_call_counts_by_its_answer_which_is_handed_on(answer: Any, status: str) -> None:
    times = PluginTimes()
    before = plugin("A", "PreFilter", status), point("PreFilter", status, "p")
    assert [times.begin("p") for _ in range(SAMPLED)][-1]
    if answer is raises:
        with pytest.raises(ValueError, match="broken"):
            times.call("A", "PreFilter", answer)
    else:
        assert times.call("A", "PreFilter", answer) == answer()
    times.end()
    assert (plugin("A", "PreFilter", status), point("PreFilter", status, "p")) == (
        before[0] + 1,
        before[1] + 1,
    )


def test_evaluations_count_for_the_decisions_that_were_not_measured_too() -> None:
    times = PluginTimes()
    labels = {"plugin": "A", "extension_point": "Filter", "profile": "evaluated"}
    assert [times.begin("evaluated") for _ in range(SAMPLED)] == [False] * (SAMPLED - 1) + [True]
    times.call("A", "Filter", lambda: True)
    times.call("A", "Permit", lambda: True)
    times.end()
    assert value("plugin_evaluation_total", **labels) == SAMPLED
    assert value("plugin_evaluation_total", **{**labels, "extension_point": "Permit"}) == 0


def test_every_call_about_a_member_is_measured() -> None:
    before = plugin("B", "PreBind", "Unschedulable"), plugin("B", "PreBind", "Error")
    with MemberCall("enbloc", "B", "PreBind") as call:
        call.answered(refuse("no"))
    with MemberCall("enbloc", "B", "PreBind"):  # which is not asked
        pass
    with MemberCall("enbloc", "B", "PreBind") as call:
        raises()
    text = 'plugin "B" failed at PreBind: ValueError: broken'
    assert call.status == Status(Code.ERROR, text)
    after = plugin("B", "PreBind", "Unschedulable"), plugin("B", "PreBind", "Error")
    assert after == (before[0] + 1, before[1] + 1)
