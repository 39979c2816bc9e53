# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from typing import Any

from enbloc_sandbox.nodes.node_lifecycle import Verdict, judge
from enbloc_sandbox.nodes.objects import Metadata, Object

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
FOREIGN = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}


def node(ready: str | None = "True", *taints: dict[str, str], **spec: Any) -> Object:
    conditions = [] if ready is None else [{"type": "Ready", "status": ready}]
    return Object(Metadata("u", "n"), {"taints": list(taints), **spec}, {"conditions": conditions})


def keys(verdict: Verdict) -> set[tuple[str, str]]:
    assert verdict.taints is not None
    return {(one["key"].rpartition("/")[2], one["effect"]) for one in verdict.taints}


def test_a_ready_node_with_a_fresh_heartbeat_loses_its_taint() -> None:
    assert judge(node("True", NOT_READY), fresh=True) == Verdict(taints=[])


def test_a_ready_node_without_taints_is_left_alone() -> None:
    assert judge(node(), fresh=True) == Verdict()


def test_a_node_that_never_reported_keeps_the_taint_of_admission() -> None:
    assert judge(node(None, NOT_READY), fresh=True) == Verdict()


def test_a_node_that_says_it_is_not_ready_is_tainted() -> None:
    verdict = judge(node("False"), fresh=True)
    assert keys(verdict) == {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}


def test_a_silent_node_is_unreachable_and_its_conditions_unknown() -> None:
    verdict = judge(node("True", FOREIGN), fresh=False)
    assert keys(verdict) == {
        ("dedicated", "NoSchedule"),
        ("unreachable", "NoSchedule"),
        ("unreachable", "NoExecute"),
    }
    assert verdict.conditions is not None
    assert {one["status"] for one in verdict.conditions} == {"Unknown"}
    assert "Ready" in {one["type"] for one in verdict.conditions}


def test_a_node_that_came_back_loses_our_taints_and_keeps_others() -> None:
    gone = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    assert judge(node("True", FOREIGN, gone), fresh=True) == Verdict(taints=[FOREIGN])


def test_a_cordoned_node_has_its_taint_until_it_is_uncordoned() -> None:
    verdict = judge(node("True", unschedulable=True), fresh=True)
    assert keys(verdict) == {("unschedulable", "NoSchedule")}
    cordoned = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    assert judge(node("True", cordoned), fresh=True) == Verdict(taints=[])
