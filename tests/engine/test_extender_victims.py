# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extenders that have a say in who gives way."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine.events import ExtenderAnswer
from enbloc.framework import Profile
from enbloc.framework.extenders import Extender, NodeVictims
from enbloc.model.credentials import URL
from enbloc.model.pods import PodUID
from tests.engine.extending import asks
from tests.world.builders import spec
from tests.world.cluster import Cluster, plugins_but

PREEMPTS = Extender(URL("http://preempts"), preempt_verb="preempt")


def crowded(*extenders: Extender) -> Cluster:
    """Two nodes, each full of one pod of low priority, and a pod of high priority that waits."""
    cluster = Cluster(
        profiles={"enbloc": Profile("enbloc", (*plugins_but(),), extenders=extenders)}
    )
    cluster.nodes("n1 n2", cpu=1)
    cluster.pod("low-1", node="n1", priority=1)
    cluster.pod("low-2", node="n2")
    cluster.pod("high", priority=10)
    cluster.settle()
    return cluster


def named(cluster: Cluster, **nodes: str) -> tuple[NodeVictims, ...]:
    """By node, the pods of these names, as an extender answers them."""
    return tuple(
        NodeVictims(node, tuple(cluster.pods[name].uid for name in names.split()))
        for node, names in nodes.items()
    )


def evicted(cluster: Cluster) -> list[str]:
    return [effect.pod.name for effect in cluster.evicted]


def said(cluster: Cluster) -> str:
    """What is said of preemption to the pod of high priority."""
    return cluster.pod_conditions("high")[-1][1].partition("preemption: ")[2]


def test_nobody_gives_way_before_an_extender_was_asked_about_it() -> None:
    cluster = crowded(PREEMPTS)
    (ask,) = asks(cluster)
    assert (ask.extender, ask.pod.key.name, ask.filter, ask.prioritize) == (0, "high", False, False)
    assert ask.candidates == named(cluster, n1="low-1", n2="low-2")
    assert {pod.key.name for pod in ask.victims} == {"low-1", "low-2"}
    assert not cluster.evicted
    assert cluster.decisions() == []
    cluster.tell(ExtenderAnswer(ask.question, candidates=ask.candidates))
    cluster.settle()
    assert evicted(cluster) == ["low-2"]
    assert cluster.where("high") == {"high": "n2"}
    assert cluster.engine.tally.preemption_attempts == 1


def test_a_node_that_an_extender_leaves_out_is_not_chosen() -> None:
    cluster = crowded(PREEMPTS)
    cluster.tell(ExtenderAnswer(asks(cluster)[0].question, candidates=named(cluster, n1="low-1")))
    cluster.settle()
    assert evicted(cluster) == ["low-1"]


def test_an_extender_may_choose_other_victims_on_a_node() -> None:
    cluster = crowded(PREEMPTS)
    cluster.evict_answer = lambda _: "slow"
    cluster.pod("tiny", node="n2", spec=spec(cpu=0))
    cluster.tell(
        ExtenderAnswer(asks(cluster)[0].question, candidates=named(cluster, n2="low-2 tiny"))
    )
    cluster.settle()
    assert set(evicted(cluster)) == {"low-2", "tiny"}
    assert len(asks(cluster)) == 1


def test_each_extender_is_asked_about_what_the_one_before_it_left() -> None:
    cluster = crowded(PREEMPTS, PREEMPTS)
    cluster.tell(ExtenderAnswer(asks(cluster)[0].question, candidates=named(cluster, n1="low-1")))
    cluster.settle()
    _, second = asks(cluster)
    assert (second.extender, second.candidates) == (1, named(cluster, n1="low-1"))
    cluster.tell(ExtenderAnswer(second.question, candidates=second.candidates))
    cluster.settle()
    assert evicted(cluster) == ["low-1"]


def test_what_an_extender_says_of_budgets_decides_between_nodes() -> None:
    cluster = crowded(PREEMPTS)
    one, other = asks(cluster)[0].candidates
    victims = (one, other._replace(violations=1))
    cluster.tell(ExtenderAnswer(asks(cluster)[0].question, candidates=victims))
    cluster.settle()
    assert evicted(cluster) == ["low-1"]


@pytest.mark.parametrize(
    ("extender", "asked"),
    [
        pytest.param(replace(PREEMPTS, managed={"nvidia.com/gpu": False}), 0, id="not about it"),
        pytest.param(replace(PREEMPTS, managed={"cpu": False}), 1, id="about it"),
    ],
)
def test_only_an_extender_that_is_interested_in_a_pod_is_asked(
    extender: Extender, asked: int
) -> None:
    cluster = crowded(extender)
    assert len(asks(cluster)) == asked
    assert evicted(cluster) == ([] if asked else ["low-2"])


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        pytest.param({"problem": "preempt: out of order"}, "preempt: out of order", id="an error"),
        pytest.param({}, "no candidate node for preemption", id="no node"),
        pytest.param(
            {"candidates": (NodeVictims("n1", ()),)},
            'expected at least one victim pod on node "n1"',
            id="nobody",
        ),
        pytest.param(
            {"candidates": (NodeVictims("n1", (PodUID("another"),)),)},
            'it names a pod that is not of lower priority on node "n1"',
            id="somebody else",
        ),
    ],
)
def test_what_an_extender_says_wrongly_of_victims_is_told_and_nobody_gives_way(
    wrong: dict[str, Any], text: str
) -> None:
    cluster = crowded(PREEMPTS)
    cluster.tell(ExtenderAnswer(asks(cluster)[0].question, **wrong))
    cluster.settle()
    assert not cluster.evicted
    assert said(cluster).removeprefix("http://preempts: ") == text


@pytest.mark.parametrize(
    ("wrong", "victims"),
    [
        pytest.param({"problem": "preempt: out of order"}, ["low-2"], id="an error"),
        pytest.param({"candidates": (NodeVictims("n1", ()),)}, [], id="nobody"),
        pytest.param(
            {"candidates": (NodeVictims("n1", (PodUID("another"),)),)},
            ["low-2"],
            id="somebody else",
        ),
    ],
)
def test_an_extender_that_may_be_ignored_keeps_nobody_from_giving_way_by_its_failure(
    wrong: dict[str, Any], victims: list[str]
) -> None:
    cluster = crowded(replace(PREEMPTS, ignorable=True))
    cluster.tell(ExtenderAnswer(asks(cluster)[0].question, **wrong))
    cluster.settle()
    assert evicted(cluster) == victims


def test_of_a_gang_of_which_an_extender_names_a_pod_all_give_way() -> None:
    cluster = Cluster(
        profiles={"enbloc": Profile("enbloc", (*plugins_but(),), extenders=(PREEMPTS,))}
    )
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2)
    cluster.settle()
    cluster.pod("high", priority=10)
    cluster.settle()
    (ask,) = asks(cluster)
    assert {len(each.pods) for each in ask.candidates} == {2}
    cluster.tell(ExtenderAnswer(ask.question, candidates=(ask.candidates[0]._replace(
        pods=ask.candidates[0].pods[:1]
    ),)))  # fmt: skip
    cluster.settle()
    assert sorted(evicted(cluster)) == ["low-0", "low-1"]


def test_an_extender_is_asked_again_about_others_than_it_was_asked_about_a_few_times() -> None:
    cluster = crowded(PREEMPTS)
    for number in range(3):
        assert cluster.decisions() == []
        (*_, ask) = asks(cluster)
        assert len(asks(cluster)) == number + 1
        cluster.delete("low-2" if not number else f"low-2-{number}")
        cluster.pod(f"low-2-{number + 1}", node="n2")
        cluster.tell(ExtenderAnswer(ask.question, candidates=ask.candidates))
        cluster.settle()
    assert len(cluster.decisions()) == 1
    assert "not of lower priority" in said(cluster)
    assert not cluster.evicted


def test_extenders_are_not_asked_who_gives_way_to_a_gang() -> None:
    cluster = crowded(PREEMPTS)
    cluster.delete("high")
    before = len(asks(cluster))
    cluster.gang("gang", 2, priority=10)
    cluster.settle()
    assert len(asks(cluster)) == before
    assert sorted(evicted(cluster)) == ["low-1", "low-2"]
