# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The order of the extension points, who is asked at each, and what ends it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from enbloc.framework import Profile, Reads
from enbloc.framework.decide import NodeSet, Scores
from enbloc.framework.hints import Action, ClusterEvent, Resource
from enbloc.framework.points import Point
from enbloc.framework.status import (
    SUCCESS,
    Code,
    Status,
    pending,
    refuse,
    refuse_for_good,
)
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from tests.world.builders import spec
from tests.world.cluster import Cluster, cluster_with, plugins_but

Log = list[str]
FOR_GOOD = Code.UNSCHEDULABLE_AND_UNRESOLVABLE


class Everywhere:
    """Is asked wherever a plugin can be asked, and writes it down."""

    name: ClassVar[str] = "A"
    reads: ClassVar[Reads] = Reads.NODE
    reason: ClassVar[str] = "node(s) were not for A"

    def __init__(self, log: Log) -> None:
        self._log = log

    def _note(self, point: str) -> None:
        self._log.append(f"{self.name}.{point}")

    def pre_enqueue(self, *_: Any) -> Status:
        self._note("preEnqueue")
        return SUCCESS

    def pre_filter(self, *_: Any) -> Any:
        self._note("preFilter")
        return self

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        self._note("filter")
        return np.ones(len(nodes), bool)

    def post_filter(self, *_: Any) -> Status:
        self._note("postFilter")
        return refuse(f"{self.name} cannot help")

    def pre_score(self, *_: Any) -> Any:
        self._note("preScore")
        return self

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        del pod
        self._note("score")
        return np.zeros(len(nodes), np.int64)

    def normalize(self, scores: Scores) -> Scores:
        self._note("normalize")
        return scores

    def reserve(self, *_: Any) -> object:
        self._note("reserve")
        return None

    def permit(self, *_: Any) -> Status:
        self._note("permit")
        return SUCCESS


class AlsoEverywhere(Everywhere):
    """Another one."""

    name: ClassVar[str] = "B"
    reason: ClassVar[str] = "node(s) were not for B"


def _cluster(plugins: tuple[Any, ...], points: dict[Point, list[str]] | None = None) -> Cluster:
    in_tree = plugins_but("DefaultPreemption")
    cluster = Cluster(
        profiles={"enbloc": Profile("enbloc", (*in_tree, *plugins), {}, points or {})}
    )
    cluster.nodes("n1 n2", cpu=8)
    return cluster


CYCLE = ("preEnqueue", "preFilter", "filter", "preScore", "score", "normalize", "permit")


def _first_seen(log: Log) -> list[str]:
    return list(dict.fromkeys(log))


def test_the_points_of_a_cycle_come_in_their_order_and_plugins_in_theirs() -> None:
    log: Log = []
    cluster = _cluster((Everywhere(log), AlsoEverywhere(log)))
    cluster.pod("p")
    cluster.step()
    order = _first_seen(log)
    for point in ("preEnqueue", "preFilter", "filter", "preScore", "permit"):
        assert order.index(f"A.{point}") < order.index(f"B.{point}"), point
    asked = [entry.removeprefix("A.") for entry in order if entry.startswith("A.")]
    assert tuple(each for each in asked if each != "reserve") == CYCLE


def test_a_plugin_is_asked_only_at_the_points_where_it_is_enabled_in_their_order() -> None:
    log: Log = []
    points = {
        Point.PRE_FILTER: ["B", "A"],
        Point.FILTER: ["A"],
        Point.PRE_SCORE: [],
        Point.SCORE: ["B"],
        Point.PRE_ENQUEUE: [],
        Point.PERMIT: ["B"],
        Point.RESERVE: [],
    }
    cluster = _cluster((Everywhere(log), AlsoEverywhere(log)), points)
    cluster.pod("p")
    cluster.step()
    assert cluster.where() == {"p": "n1"}
    assert _first_seen(log) == [
        "B.preFilter",
        "A.preFilter",
        "A.filter",
        "B.score",
        "B.normalize",
        "B.permit",
    ]


def test_post_filter_is_asked_only_when_nothing_fits_in_order() -> None:
    log: Log = []
    cluster = _cluster((Everywhere(log), AlsoEverywhere(log)))
    cluster.pod("large", spec=spec(cpu=99))
    cluster.settle()
    asked = [entry for entry in log if "post" in entry or "core" in entry]
    assert asked == ["A.postFilter", "B.postFilter"]
    assert cluster.pod_conditions("large")[0][1] == (
        "0/2 nodes are available: 2 Insufficient cpu. A cannot help B cannot help"
    )


@dataclass(frozen=True)
class Says:
    """Answers at PreFilter and PostFilter; several of these have names of their own."""

    answer: Callable[[], Any]
    log: Log = field(default_factory=list)
    name: ClassVar[str] = "One"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.NODE, Action.UPDATE_LABEL),)

    def pre_filter(self, *_: Any) -> Any:
        self.log.append(self.name)
        return self.answer()


class SaysToo(Says):
    name: ClassVar[str] = "Two"


class SaysAlso(Says):
    name: ClassVar[str] = "Three"


def _said(*answers: Any) -> tuple[Log, Cluster]:
    log: Log = []
    kinds = (Says, SaysToo, SaysAlso)
    plugins = [
        kind(lambda answer=answer: answer, log)  # type: ignore[misc]
        for kind, answer in zip(kinds, answers, strict=False)
    ]
    cluster = cluster_with(*plugins, validate=False)  # validation would ask once more
    cluster.pod("p")
    cluster.settle()
    return log, cluster


@pytest.mark.parametrize(
    ("answers", "asked", "message"),
    [
        pytest.param(
            (refuse_for_good("never"), refuse("no"), None), ["One"], "never", id="for good stops"
        ),
        pytest.param(
            (refuse("no"), refuse("not that"), None),
            ["One", "Two", "Three"],
            "not that",
            id="the last refusal counts",
        ),
        pytest.param(
            (refuse("no"), refuse_for_good("never"), None),
            ["One", "Two"],
            "never",
            id="for good after a refusal",
        ),
        pytest.param(
            (refuse("no"), None, None), ["One", "Two", "Three"], "no", id="others may have a say"
        ),
        pytest.param(
            (pending("soon"), refuse("no"), None),
            ["One", "Two", "Three"],
            "no",
            id="pending goes on",
        ),
        pytest.param(
            (NodeSet(frozenset({"n1"})), NodeSet(frozenset({"n2"})), None),
            ["One", "Two"],
            "node(s) didn't satisfy plugin(s) [One Two] simultaneously",
            id="sets without a node in common",
        ),
        pytest.param(
            (None, NodeSet(frozenset()), None),
            ["One", "Two"],
            "node(s) didn't satisfy plugin Two",
            id="an empty set",
        ),
        pytest.param(
            (NodeSet(frozenset({"nowhere"})), None, None),
            ["One", "Two", "Three"],
            "2 node(s) didn't satisfy plugin(s) [One]",
            id="a set without a node that exists",
        ),
    ],
)
def test_what_prefilter_s_answers_come_to(
    answers: tuple[Any, ...], asked: list[str], message: str
) -> None:
    log, cluster = _said(*answers)
    assert log == asked
    text = f"0/2 nodes are available: {message}."
    assert cluster.pod_conditions("p") == [("Unschedulable", text)]


def test_node_sets_are_intersected_and_nodes_outside_are_told_of() -> None:
    _, cluster = _said(NodeSet(frozenset({"n1", "n2"})), NodeSet(frozenset({"n2", "n3"})))
    assert cluster.where() == {"p": "n2"}
    cluster.pod("large", spec=spec(cpu=99))
    cluster.settle()
    assert cluster.pod_conditions("large")[0][1] == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [One Two]."
    )


def test_a_plugin_whose_set_left_a_node_out_is_one_of_those_that_refused() -> None:
    answers: list[Any] = [NodeSet(frozenset({"n3"}))]
    cluster = cluster_with(Says(lambda: answers[0]))
    cluster.pod("p")
    cluster.settle(seconds=20)
    answers[0] = None
    cluster.node("n2", cpu=8, labels=(("any", "thing"),))
    cluster.settle()
    assert cluster.where() != {}


@dataclass(frozen=True)
class Refusing:
    """Refuses one node by name."""

    node: str = "n1"
    name: ClassVar[str] = "Refusing"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) were refused"

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        mask: Mask = ~nodes.named((self.node,))
        return mask


class RefusingToo(Refusing):
    name: ClassVar[str] = "RefusingToo"
    reason: ClassVar[str] = "node(s) were refused too"


def test_a_node_counts_under_the_first_plugin_that_refused_it() -> None:
    cluster = cluster_with(Refusing(), RefusingToo(), RefusingToo("n2"))
    cluster.pod("p")
    cluster.settle()
    assert cluster.pod_conditions("p")[0][1] == (
        "0/2 nodes are available: 1 node(s) were refused, 1 node(s) were refused too."
    )


@dataclass(frozen=True)
class Helps:
    """Says at PostFilter what it did."""

    status: Status
    log: Log
    name: ClassVar[str] = "Helps"

    def post_filter(self, *_: Any) -> Status:
        self.log.append(self.name)
        return self.status


class HelpsToo(Helps):
    name: ClassVar[str] = "HelpsToo"


@pytest.mark.parametrize(
    ("status", "asked"),
    [
        pytest.param(Status(Code.SUCCESS, "made room"), ["Helps"], id="success"),
        pytest.param(Status(FOR_GOOD, "made room"), ["Helps"], id="for good"),
        pytest.param(Status(Code.ERROR, "made room"), ["Helps"], id="error"),
        pytest.param(Status(Code.UNSCHEDULABLE, "made room"), ["Helps", "HelpsToo"], id="refusal"),
    ],
)
def test_which_answers_end_postfilter(status: Status, asked: list[str]) -> None:
    log: Log = []
    cluster = cluster_with(Helps(status, log), HelpsToo(refuse("in vain"), log))
    cluster.pod("large", spec=spec(cpu=99))
    cluster.settle()
    assert log == asked
    more = " in vain" if len(asked) > 1 else ""
    message = f"0/2 nodes are available: 2 Insufficient cpu. made room{more}"
    assert cluster.pod_conditions("large") == [("Unschedulable", message)]


@dataclass
class Relative:
    """Gives each feasible node its share; remembers who was feasible."""

    seen: list[list[bool]] = field(default_factory=list)
    name: ClassVar[str] = "Relative"
    reads: ClassVar[Reads] = Reads.CLUSTER

    def score_among(self, pod: Pod, nodes: Nodes, feasible: Mask) -> Scores:
        del pod
        self.seen.append(feasible.tolist())
        assert feasible.any()
        return np.full(len(nodes), 100 // int(feasible.sum()))


@dataclass(frozen=True)
class Relating:
    """Makes one of these for each class."""

    scorer: Relative
    name: ClassVar[str] = "Relating"

    def pre_score(self, *_: Any) -> Relative:
        return self.scorer


@pytest.mark.parametrize("plugin", [Relating, lambda scorer: scorer], ids=["given", "itself"])
def test_scores_among_feasible_nodes_are_asked_again_when_other_nodes_are_feasible(
    plugin: Callable[[Relative], Any],
) -> None:
    scorer = Relative()
    cluster = cluster_with(plugin(scorer))
    cluster.gang("g", 3, spec=spec(cpu=5))  # one on each node, and one more in vain
    cluster.settle()
    assert scorer.seen[0] == [True, True]
    assert set(map(sum, scorer.seen)) == {1, 2}


def test_a_gang_of_several_kinds_tells_why_each_kind_found_no_node() -> None:
    cluster = cluster_with()
    cluster.group("g", 1)
    cluster.pod("g-0", "g", spec=spec(cpu=99))
    cluster.pod("g-1", "g", spec=spec(cpu=1, gpu=1))
    cluster.settle()
    assert cluster.condition("g")[2].endswith(
        "2 members fit no node: g-0: 0/2 nodes are available: 2 Insufficient cpu. "
        "g-1: 0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    )


class Apart:
    """Keeps pods with a label off every node until a node gets one."""

    name: ClassVar[str] = "Apart"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) did not welcome it"
    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.NODE, Action.UPDATE_LABEL),)

    def signature(self, pod: Pod) -> object:
        return pod.labels

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        return np.array([not pod.labels or bool(nodes.labels_of(r)) for r in range(len(nodes))])


class Closed:
    """Keeps pods without a label off every node."""

    name: ClassVar[str] = "Closed"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) were closed"
    events: ClassVar[tuple[ClusterEvent, ...]] = ()

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        return np.full(len(nodes), bool(pod.labels))


def test_members_of_one_spec_and_other_labels_each_name_who_can_help_them() -> None:
    cluster = cluster_with(Apart(), Closed())
    cluster.group("g", 1)
    cluster.pod("g-0", "g")
    cluster.pod("g-1", "g", labels=(("app", "x"),))
    cluster.settle()
    assert "did not welcome it" in cluster.condition("g")[2]
    cluster.node("n1", cpu=8, labels=(("welcome", "yes"),))
    cluster.settle()
    assert set(cluster.where()) == {"g-1"}


def test_what_is_left_of_a_gang_waits_for_what_could_help_any_of_it() -> None:
    cluster = cluster_with(Apart(), Closed())
    cluster.group("g", 1)
    cluster.pod("g-0", "g")
    cluster.pod("g-1", "g", labels=(("app", "x"),))
    cluster.pod("g-2", "g", labels=(("app", "x"),), node="n1")
    cluster.settle()
    assert set(cluster.where()) == {"g-2"}
    cluster.node("n1", cpu=8, labels=(("welcome", "yes"),))
    cluster.settle()
    assert set(cluster.where()) == {"g-1", "g-2"}


def test_events_are_cut_as_kube_scheduler_cuts_them_and_conditions_are_not() -> None:
    cluster = cluster_with(Says(lambda: refuse_for_good("x" * 2000)))
    cluster.pod("p")
    cluster.settle()
    [event] = cluster.events("FailedScheduling")
    assert len(event.note) == 1024
    assert event.note.endswith("xxx ...")
    assert len(cluster.pod_conditions("p")[0][1]) > 2000
