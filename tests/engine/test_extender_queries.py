# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extenders as the engine sees them: what it asks, when it decides, what an answer counts for."""

from dataclasses import replace
from typing import ClassVar

import pytest

from enbloc.engine.events import ExtenderAnswer, GroupSeen
from enbloc.engine.replay import DumpFile, decoded, encoded
from enbloc.engine.replay.replay import replayed
from enbloc.framework.decide import Proposal
from enbloc.framework.extenders import Extender
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, ClusterEvent, Resource
from enbloc.framework.status import SUCCESS, Status, refuse, wait
from enbloc.model.credentials import URL
from enbloc.model.groups import Group
from tests.engine.extending import answer, asks, consulting
from tests.world.builders import spec

FILTERS = Extender(URL("http://filters"), filter_verb="filter")
SCORES = Extender(URL("http://scores"), prioritize_verb="prioritize", weight=3)
BOTH = Extender(URL("http://both"), filter_verb="filter", prioritize_verb="prioritize")


def test_extenders_are_asked_in_order_each_about_what_the_ones_before_it_left() -> None:
    cluster = consulting(FILTERS, BOTH)
    cluster.node("n3", cpu=1)
    cluster.pod("p", spec=spec(cpu=2))
    cluster.settle()
    [first] = asks(cluster)
    assert (first.profile, first.extender, first.nodes) == ("enbloc", 0, ("n1", "n2"))
    assert (first.filter, first.prioritize) == (True, False)
    answer(cluster, first, ("n2",))
    second = asks(cluster)[1]
    assert (second.extender, second.nodes) == (1, ("n2",))
    assert (second.filter, second.prioritize) == (True, True)
    assert second.question != first.question
    assert cluster.where() == {}
    assert cluster.decisions() == []
    answer(cluster, second)
    assert cluster.where() == {"p": "n2"}
    assert len(cluster.decisions()) == 1


def test_a_group_that_asks_holds_nothing() -> None:
    cluster = consulting(Extender(URL("http://gpu"), "filter", managed={"nvidia.com/gpu": False}))
    cluster.nodes("n1 n2", cpu=8, gpu=8)
    cluster.gang("asking", 16, spec=spec(cpu=1, gpu=1))
    cluster.settle()
    assert len(asks(cluster)) == 1
    cluster.gang("quick", 16)
    cluster.settle()
    assert len(cluster.where("quick")) == 16
    answer(cluster, asks(cluster)[0])
    assert cluster.where("asking") == {}
    assert "Insufficient cpu" in cluster.condition("asking")[2]


def test_each_class_of_a_gang_is_asked_about_once_and_the_gang_decided_once() -> None:
    cluster = consulting(FILTERS)
    cluster.group("g", 4)
    for index, cpu in enumerate((1, 1, 2, 2)):
        cluster.pod(f"g-{index}", "g", spec=spec(cpu=cpu))
    cluster.settle()
    one, two = asks(cluster)
    answer(cluster, two, ("n1",))
    assert cluster.where() == {}
    answer(cluster, one, ("n2",))
    assert cluster.where() == {"g-0": "n2", "g-1": "n2", "g-2": "n1", "g-3": "n1"}
    assert len(cluster.decisions()) == 1


@pytest.mark.parametrize("weight", [1, 7])
def test_a_score_counts_ten_times_itself_times_the_weight_of_its_extender(weight: int) -> None:
    cluster = consulting(replace(SCORES, weight=weight))
    cluster.node("n2", cpu=8, labels=(("x", "y"),))
    cluster.pod("filler", node="n1", spec=spec(cpu=4), scheduler="other")
    cluster.pod("p")
    cluster.settle()
    [ask] = asks(cluster)
    assert (ask.filter, ask.prioritize) == (False, True)
    answer(cluster, ask, scores=(("n1", 10), ("n2", 0), ("gone", 9)))
    # Without it n2, which is empty, wins by less than a hundred.
    assert cluster.where()["p"] == "n1"
    assert cluster.engine.wakeup() is None


def test_an_extender_s_refusals_are_told_like_a_plugin_s() -> None:
    cluster = consulting(FILTERS)
    cluster.node("n3", cpu=0)
    cluster.pod("p")
    cluster.settle()
    refusals = {"refused": (("n1", "on a blocklist"),), "unresolvable": (("n2", "no such driver"),)}
    answer(cluster, asks(cluster)[0], (), **refusals)
    assert cluster.pod_conditions("p") == [
        (
            "Unschedulable",
            "0/3 nodes are available: 1 Insufficient cpu, 1 no such driver, 1 on a blocklist.",
        )
    ]


def test_a_node_left_out_without_a_word_counts_as_refused_by_an_extender() -> None:
    cluster = consulting(FILTERS)
    cluster.pod("p")
    cluster.settle()
    answer(cluster, asks(cluster)[0], ())
    assert cluster.pod_conditions("p")[0][1] == (
        "0/2 nodes are available: 2 node(s) were refused by an extender."
    )


def test_any_event_makes_a_group_that_an_extender_refused_ask_again() -> None:
    cluster = consulting(FILTERS)
    cluster.gang("g", 2)
    cluster.settle()
    answer(cluster, asks(cluster)[0], ())
    assert len(asks(cluster)) == 1
    cluster.node("n1", cpu=8, labels=(("some", "thing"),))
    cluster.settle()
    answer(cluster, asks(cluster)[1])
    assert len(cluster.where()) == 2


def test_no_question_is_asked_when_nothing_is_left_to_ask_about() -> None:
    cluster = consulting(FILTERS, BOTH)
    cluster.pod("large", spec=spec(cpu=99))
    cluster.settle()
    assert asks(cluster) == []
    assert cluster.pod_conditions("large")[0][1] == "0/2 nodes are available: 2 Insufficient cpu."
    cluster.pod("p")
    cluster.settle()
    answer(cluster, asks(cluster)[0], ())
    assert len(asks(cluster)) == 1


@pytest.mark.parametrize("ignorable", [True, False])
def test_a_failing_extender_is_an_error_unless_it_may_be_ignored(ignorable: bool) -> None:
    cluster = consulting(replace(FILTERS, ignorable=ignorable))
    cluster.pod("p")
    cluster.settle()
    answer(cluster, asks(cluster)[0], problem="connection refused")
    if ignorable:
        assert "p" in cluster.where()
        return
    assert cluster.pod_conditions("p") == [
        (
            "SchedulerError",
            'plugin "Extender" failed at Filter: http://filters: connection refused',
        )
    ]
    cluster.settle(seconds=2)
    answer(cluster, asks(cluster)[1])
    assert "p" in cluster.where()


def test_an_extender_that_manages_resources_is_asked_only_about_pods_that_want_them() -> None:
    cluster = consulting(replace(FILTERS, managed={"nvidia.com/gpu": False}))
    cluster.node("n1", cpu=8, gpu=1)
    cluster.pod("plain")
    cluster.pod("special", spec=spec(cpu=1, gpu=1))
    cluster.settle()
    assert set(cluster.where()) == {"plain"}
    assert [ask.pod.key.name for ask in asks(cluster)] == ["special"]


def test_an_extender_without_a_verb_for_it_is_never_asked() -> None:
    cluster = consulting(Extender(URL("http://binds"), bind_verb="bind"))
    cluster.pod("p")
    cluster.settle()
    assert asks(cluster) == []
    assert "p" in cluster.where()


def test_nodes_that_change_meanwhile_make_the_group_ask_anew_three_times_at_most() -> None:
    cluster = consulting(FILTERS)
    cluster.pod("p")
    cluster.settle()
    for times in (1, 2, 3):
        assert len(asks(cluster)) == times
        cluster.node("n1", cpu=8, labels=(("round", str(times)),))
        answer(cluster, asks(cluster)[-1], ("n2", "a-node-that-is-gone"))
    assert len(asks(cluster)) == 3
    assert cluster.where() == {"p": "n2"}


def test_a_group_that_changes_while_it_asks_asks_about_what_is_new_only() -> None:
    cluster = consulting(FILTERS)
    cluster.gang("g", 2)
    cluster.settle()
    cluster.pod("g-extra", "g", spec=spec(cpu=3))
    cluster.settle()
    first, second = asks(cluster)
    assert second.pod.key.name == "g-extra"
    answer(cluster, first, ("n1",))
    assert cluster.where() == {}
    answer(cluster, second, ("n2",))
    assert cluster.where() == {"g-0": "n1", "g-1": "n1", "g-extra": "n2"}


def test_an_answer_for_a_gang_whose_podgroup_is_gone_places_nobody() -> None:
    cluster = consulting(FILTERS)
    cluster.gang("g", 3)
    cluster.settle()
    cluster.drop_group("g")
    cluster.settle()
    answer(cluster, asks(cluster)[0])
    assert cluster.where() == {}
    cluster.group("g", 3)
    cluster.settle()
    answer(cluster, asks(cluster)[1])
    assert len(cluster.where()) == 3


def test_an_answer_for_a_gang_that_lost_a_member_is_an_old_story() -> None:
    cluster = consulting(FILTERS)
    cluster.gang("g", 3)
    cluster.settle()
    cluster.delete("g-0")
    cluster.settle()
    answer(cluster, asks(cluster)[0])
    assert cluster.condition("g")[1] == "WaitingForMembers"
    assert cluster.decisions() == []
    told = cluster.now + cluster.settings.waiting_grace
    assert cluster.engine.wakeup() == told, "its members are told; nothing is to be decided"


def test_an_answer_for_pods_that_are_gone_or_bound_by_others_is_an_old_story() -> None:
    cluster = consulting(FILTERS)
    cluster.gang("g", 1)
    cluster.pod("p")
    cluster.settle()
    first, second = asks(cluster)
    cluster.delete("p")
    cluster.change("g-0", node="n1")
    cluster.settle()
    answer(cluster, first)
    answer(cluster, second)
    assert cluster.decisions() == []
    assert cluster.condition("g")[1] == "Scheduled"


def test_late_and_unknown_answers_change_nothing() -> None:
    cluster = consulting(FILTERS)
    cluster.pod("p")
    cluster.settle()
    [ask] = asks(cluster)
    cluster.tell(ExtenderAnswer("nobody asked", ("n1",)))
    cluster.settle()
    assert cluster.where() == {}
    answer(cluster, ask, ("n1",))
    answer(cluster, ask, ("n2",))
    assert cluster.where() == {"p": "n1"}
    assert len(cluster.decisions()) == 1


class Barrier:
    """Holds gang "held" until a node is labelled, then refuses it."""

    name: ClassVar[str] = "Barrier"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.NODE, Action.UPDATE_LABEL),)

    def __init__(self) -> None:
        self.open = True

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        del plan
        if facts.key.name != "held":
            return SUCCESS
        return wait(30) if self.open else refuse("no more")


def test_events_are_remembered_for_each_of_several_groups_that_ask_and_hold() -> None:
    cluster = consulting(FILTERS, plugins=(barrier := Barrier(),))
    cluster.answer = lambda _: "hold"
    cluster.gang("slow", 2)
    cluster.settle()
    cluster.gang("held", 2, spec=spec(cpu=2))
    cluster.settle()
    slow, held = asks(cluster)
    answer(cluster, held)
    assert cluster.condition("held")[1] == "WaitingOnPermit"
    for name in ("one", "two"):
        cluster.pod(name, node="n1", scheduler="other")
        cluster.settle()
    answer(cluster, slow)
    assert len(cluster.sent) == 2
    cluster.pod("large", spec=spec(cpu=99))
    cluster.settle()
    barrier.open = False
    cluster.settle(seconds=31)
    assert cluster.condition("held")[1] == "WaitingOnPermit"


class Night:
    """Lets nobody in at night."""

    name: ClassVar[str] = "Night"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.NODE, Action.UPDATE_LABEL),)

    def __init__(self) -> None:
        self.day = True

    def pre_enqueue(self, group: Group | None, facts: GroupFacts) -> Status:
        del group, facts
        return SUCCESS if self.day else refuse("it is night")


def test_preenqueue_is_asked_again_when_the_answers_are_there() -> None:
    cluster = consulting(FILTERS, plugins=(night := Night(),))
    cluster.gang("g", 2)
    cluster.settle()
    night.day = False
    answer(cluster, asks(cluster)[0])
    assert cluster.condition("g")[2] == "it is night"
    assert cluster.decisions() == []
    night.day = True
    cluster.node("n1", cpu=8, labels=(("day", "yes"),))
    cluster.settle()
    answer(cluster, asks(cluster)[1])
    assert len(cluster.where()) == 2


def test_a_lowered_minimum_while_asking_is_decided_with_the_same_answers() -> None:
    cluster = consulting(FILTERS)
    cluster.gang("g", 20)
    cluster.settle()
    cluster.tell(GroupSeen(replace(cluster.groups["g"], min_member=2)))
    cluster.settle()
    assert len(asks(cluster)) == 1
    answer(cluster, asks(cluster)[0], ("n1",))
    assert set(cluster.where().values()) == {"n1"}
    assert len(cluster.where()) == 8


@pytest.mark.parametrize(
    "scores",
    [
        pytest.param((("n1", -9), ("n2", -1)), id="below 0"),
        pytest.param((("n1", 3), ("n2", 90)), id="above 10"),
        pytest.param((("n1", -9),), id="none is 0"),
    ],
)
def test_scores_outside_of_the_usual_range_count_by_their_differences(
    scores: tuple[tuple[str, int], ...],
) -> None:
    cluster = consulting(SCORES)
    cluster.pod("filler", node="n2", spec=spec(cpu=4), scheduler="other")
    cluster.pod("p", spec=spec(cpu=1))
    cluster.settle()
    [ask] = asks(cluster)
    answer(cluster, ask, scores=scores)
    # Without them n1, which is empty, wins.
    assert cluster.where()["p"] == "n2"


def test_a_decision_with_such_scores_is_replayed_as_it_was() -> None:
    cluster = consulting(SCORES)
    cluster.pod("p", spec=spec(cpu=1))
    cluster.settle()
    answer(cluster, asks(cluster)[0], scores=(("n1", -9), ("n2", 90)))
    dump = decoded(encoded(DumpFile("", "", [], cluster.engine.dump()))).dump
    [(decision, tables)] = dump.forwards()
    assert [each.node for each in decision.plan.assignments] == ["n2"]
    again = replayed(decision, tables, cluster.profiles, dump.search_steps)
    assert not [*again.differences]


LEAST, MOST = -(2**63), 2**63 - 1


@pytest.mark.parametrize(
    "scores",
    [
        pytest.param((("n1", 0), ("n2", MOST)), id="highest"),
        pytest.param((("n1", LEAST), ("n2", 0)), id="lowest"),
        pytest.param((("n1", LEAST), ("n2", MOST)), id="both"),
    ],
)
@pytest.mark.parametrize("weight", [1, 2**31 - 1])
def test_of_scores_beyond_all_bounds_the_highest_wins_and_nothing_overflows(
    scores: tuple[tuple[str, int], ...], weight: int
) -> None:
    cluster = consulting(*[replace(SCORES, weight=weight)] * 3)
    cluster.pod("p", spec=spec(cpu=1))
    cluster.settle()
    for index in range(3):
        answer(cluster, asks(cluster)[index], scores=scores)
    assert cluster.where() == {"p": "n2"}
