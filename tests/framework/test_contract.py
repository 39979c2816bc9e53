# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The framework's own small machinery: registry, profile, status words, PerNode, check_plugin."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from enbloc.config import default_profiles
from enbloc.errors import ConfigError, PluginError
from enbloc.framework import Diagnosis, PerNode, Profile, Reads, Registry, Status, refuse
from enbloc.framework.decide import Scores
from enbloc.framework.facts import GroupFacts
from enbloc.framework.normalizing import default_normalize, default_normalize_reversed
from enbloc.framework.observations import Expired, NodeChanged, NodeNote, Observation
from enbloc.framework.points import Point, points_of
from enbloc.framework.status import Code, pending, refuse_for_good, wait
from enbloc.framework.testing import _check_extremes
from enbloc.ledgers import Ledgers
from enbloc.model.node import Node
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.model.resources import ResourceSpace
from enbloc.model.snapshot import Snapshot
from enbloc.plugins import IN_TREE
from enbloc.testing import check_plugin
from tests.effort import slow

POD = Pod(PodKey("ns", "p"), PodUID("u"), PodSpec())


def table(*names: str) -> Nodes:
    nodes = Nodes(ResourceSpace(), Ledgers())
    for name in names:
        nodes.put(Node(name=name))
    return nodes


def test_the_default_profile_runs_the_in_tree_plugins_with_upstreams_weights() -> None:
    [profile] = default_profiles().values()
    assert profile.name == "enbloc"
    assert {plugin.name for plugin in profile.plugins} == set(IN_TREE)
    toleration = profile.plugin("TaintToleration")
    assert toleration is not None
    assert profile.weight(toleration) == 3


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        ("PrioritySort", "exactly one QueueSort plugin is needed, found none"),
        ("DefaultBinder", "at least one Bind plugin is needed; enable DefaultBinder"),
    ],
)
def test_a_profile_that_cannot_work_is_refused(left_out: str, said: str) -> None:
    plugins = [factory() for name, factory in IN_TREE.items() if name != left_out]
    with pytest.raises(ConfigError, match=said):
        Profile("enbloc", tuple(plugins))


def test_an_unknown_plugin_is_named_with_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError, match=r'Unknown "NodeNmae" .did you mean "NodeName"'):
        Registry(IN_TREE).create("NodeNmae")


def test_a_wrong_argument_of_a_plugin_is_named() -> None:
    with pytest.raises(ConfigError, match=r'"NodeName" refuses its arguments: .*colour'):
        Registry(IN_TREE).create("NodeName", {"colour": "red"})


def test_the_registry_knows_the_in_tree_plugins() -> None:
    assert set(IN_TREE) <= set(Registry(IN_TREE).names)


def test_reasons_are_sorted_as_text_like_kube_schedulers() -> None:
    diagnosis = Diagnosis(nodes=12, reasons=(("z", 2), ("a", 10)))
    assert diagnosis.text() == "0/12 nodes are available: 10 a, 2 z."
    assert Diagnosis(nodes=3, message="no").text() == "0/3 nodes are available: no."
    assert Diagnosis().text() == "no nodes available to schedule pods"


def test_statuses_say_what_the_scheduler_does_with_them() -> None:
    assert refuse("x").rejected
    assert refuse_for_good("x").rejected
    assert not wait(3).rejected
    assert wait(3).timeout == 3
    assert not Status(Code.ERROR).ok


def test_normalising_scales_to_a_hundred_and_can_be_reversed() -> None:
    scores = np.array([0, 1, 3])
    assert default_normalize(scores).tolist() == [0, 33, 100]
    assert default_normalize_reversed(scores).tolist() == [100, 67, 0]
    zeros = np.zeros(2, np.int64)
    assert default_normalize(zeros).tolist() == [0, 0]
    assert default_normalize_reversed(zeros).tolist() == [100, 100]


class EvenNodes(PerNode):
    """Written for one node at a time."""

    name: ClassVar[str] = "EvenNodes"

    def filter_node(self, pod: Pod, node: Nodes) -> Status | None:
        del pod
        return None if int(node.names[0][-1]) % 2 == 0 else refuse("node(s) were odd")

    def score_node(self, pod: Pod, node: Nodes) -> int:
        del pod
        return int(node.names[0][-1])


def test_a_plugin_for_one_node_at_a_time_works_on_all() -> None:
    nodes, plugin = table("node-0", "node-1", "node-2"), EvenNodes()
    mask = plugin.filter(POD, nodes)
    assert mask.tolist() == [True, False, True]
    assert plugin.explain(POD, nodes, ~mask) == {"node(s) were odd": 1}
    assert plugin.score(POD, nodes).tolist() == [0, 1, 2]
    assert PerNode().filter(POD, nodes).all()
    assert PerNode().score(POD, nodes).tolist() == [0, 0, 0]
    check_plugin(plugin, examples=30)


@dataclass(frozen=True)
class Answering(PerNode):
    """Answers the same about each node."""

    answer: Status
    name: ClassVar[str] = "Answering"

    def filter_node(self, pod: Pod, node: Nodes) -> Status:
        del pod, node
        return self.answer


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(Status(Code.ERROR, "the inventory is down"), "the inventory is down", id="1"),
        pytest.param(Status(Code.ERROR), "answered ERROR", id="an error without a word"),
        pytest.param(Status(Code.SKIP), "answered SKIP", id="a code of another point"),
    ],
)
def test_an_error_about_one_node_is_the_plugin_s_and_no_refusal(answer: Status, said: str) -> None:
    with pytest.raises(PluginError, match=f'plugin "Answering" failed at Filter: {said}'):
        Answering(answer).filter(POD, table("node-0"))


@pytest.mark.parametrize("answer", [refuse("full"), refuse_for_good("old"), pending("not yet")])
def test_a_refusal_of_one_node_is_no_error(answer: Status) -> None:
    nodes, plugin = table("node-0"), Answering(answer)
    assert plugin.filter(POD, nodes).tolist() == [False]
    assert plugin.explain(POD, nodes, np.ones(1, np.bool_)) == {answer.message: 1}


@dataclass(frozen=True)
class Bad:
    """Breaks one promise of the contract."""

    answer: Any
    name: ClassVar[str] = "Bad"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "bad"

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        mask: Mask = self.answer(nodes)
        return mask


@dataclass(frozen=True)
class BadScore:
    """As above, for Score."""

    answer: Any
    name: ClassVar[str] = "BadScore"
    reads: ClassVar[Reads] = Reads.SPEC

    def score(self, pod: Pod, nodes: Nodes) -> Any:
        del pod
        return self.answer(nodes)


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        (Bad(lambda n: np.ones(len(n))), "must give bool"),
        (Bad(lambda _: np.ones(99, bool)), "one bool a row"),
        (Bad(lambda n: np.arange(len(n)) == 0), "not row-wise"),
        (BadScore(lambda n: np.ones(len(n), np.int32)), "must give int64 or float64"),
        (BadScore(lambda n: np.full(len(n), 101)), "above 100"),
        (BadScore(lambda n: np.full(len(n), -1)), "below 0"),
        (BadScore(lambda n: np.arange(len(n))), "not row-wise"),
    ],
)
def test_check_plugin_says_which_promise_is_broken(plugin: Any, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_plugin(plugin)


class Compares:
    """Compares scores as it is told."""

    by_extremes: ClassVar[bool] = True

    def __init__(self, compare: Callable[[Scores], Scores]) -> None:
        self._compare = compare

    def normalize(self, scores: Scores) -> Scores:
        return self._compare(scores)


def between_the_ends(scores: Scores) -> Scores:
    if not len(scores) or scores.min() == scores.max():
        return np.zeros(len(scores), np.int64)
    scaled: Scores = (scores - scores.min()) * 100 // (scores.max() - scores.min())
    return scaled


def by_rank(scores: Scores) -> Scores:
    ranks: Scores = np.searchsorted(np.unique(scores), scores)
    return ranks * 100 // max(int(ranks.max(initial=0)), 1)


@pytest.mark.parametrize("scores", [[], [7], [1001, 1003, 1004, 1009], [-9, -4, -3, -1]])
def test_who_looks_at_the_extremes_alone_may_say_so(scores: list[int]) -> None:
    _check_extremes(Compares(between_the_ends), np.array(scores, np.int64))


def test_who_looks_at_more_than_the_extremes_is_found_out() -> None:
    with pytest.raises(AssertionError, match="looks at more than the least and the greatest"):
        _check_extremes(Compares(by_rank), np.array([1001, 1003, 1004, 1009]))


class Crowd:
    """Refuses rows with pods on them, in the way that the tests ask for."""

    reads: ClassVar[Reads] = Reads.CLUSTER
    reason: ClassVar[str] = "crowded"

    def __init__(self, facts: Snapshot, *, listens: bool) -> None:
        self._pods = np.bincount(facts.placed.row, minlength=len(facts.nodes))
        self._listens = listens

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod, nodes
        mask: Mask = self._pods == 0
        return mask

    def score_among(self, pod: Pod, nodes: Nodes, feasible: Mask) -> Scores:
        del pod, nodes
        return np.where(feasible, np.minimum(self._pods, 100), 0).astype(np.int64)

    def placed(self, pod: Pod, row: int) -> None:
        del pod
        self._pods[row] += self._listens

    def removed(self, pod: Pod, row: int) -> None:
        del pod
        self._pods[row] -= self._listens


@dataclass(frozen=True)
class Crowded:
    """Gives that evaluator, or none while the cluster is empty."""

    listens: bool = True
    waits: bool = False
    name: ClassVar[str] = "Crowded"

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Crowd | None:
        del pod
        skips = self.waits and not len(snapshot.placed)
        return None if skips else Crowd(snapshot, listens=self.listens)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> Crowd | None:
        del pod
        skips = self.waits and not len(snapshot.placed)
        return None if skips else Crowd(snapshot, listens=self.listens)


@slow("hypothesis makes what it finds small, question by question")
@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        (Crowded(listens=False), "answers otherwise than one made anew"),
        (Crowded(waits=True), "pre_filter skipped a pod, and would not after"),
    ],
)
def test_check_plugin_tells_evaluators_of_pods_that_come_and_go(plugin: Any, said: str) -> None:
    check_plugin(Crowded(), examples=30)
    with pytest.raises(AssertionError, match=said):
        check_plugin(plugin)


class Shared(Crowd):
    """Its forks share the counts."""

    def fork(self) -> "Shared":
        return copy(self)


class Forgetful(Crowd):
    """Its forks do not know who is there."""

    def fork(self) -> "Forgetful":
        made = copy(self)
        made._pods = np.zeros_like(self._pods)
        return made


class Stale(Crowd):
    """Its forks do not listen."""

    def fork(self) -> "Stale":
        made = copy(self)
        made._pods, made._listens = self._pods.copy(), False
        return made


class Right(Crowd):
    """Its forks count on their own."""

    def fork(self) -> "Right":
        made = copy(self)
        made._pods = self._pods.copy()
        return made


@dataclass(frozen=True)
class Forks:
    """Gives evaluators that fork."""

    kind: type[Crowd]
    name: ClassVar[str] = "Forks"

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Crowd:
        del pod
        return self.kind(snapshot, listens=True)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> Crowd:
        return self.pre_filter(pod, snapshot)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Shared, "what a fork hears changes what its origin answers"),
        (Forgetful, "a fork answers otherwise than its origin"),
        (Stale, "answers otherwise than one made anew, where it is a fork"),
    ],
)
def test_check_plugin_has_forks_hear_what_their_origin_does_not(
    kind: type[Crowd], said: str
) -> None:
    check_plugin(Forks(Right), examples=30)
    with pytest.raises(AssertionError, match=said):
        check_plugin(Forks(kind))


class Learned:
    """Bars the nodes on which something happened for ten seconds, but for one mistake."""

    def __init__(self, mistake: str) -> None:
        self._mistake = mistake
        self._until: dict[str, float] = {}
        self._asked = 0

    def observe(self, observation: Observation, now: float) -> Sequence[NodeNote]:
        if isinstance(observation, NodeChanged):
            self._until[observation.name] = now + 10
        return ()

    def refused(self, facts: GroupFacts, nodes: Nodes, now: float) -> Mapping[str, str]:
        del facts, nodes
        self._asked += 1
        why = "node(s) changed"
        barred = {name: why for name, until in self._until.items() if now < until}
        if self._mistake == "asked" and barred:
            return dict.fromkeys(barred, f"{why} ({self._asked})")
        return barred

    def scores(self, facts: GroupFacts, nodes: Nodes, now: float) -> Mapping[str, int]:
        del facts, nodes, now
        return dict.fromkeys(self._until, 101 if self._mistake == "score" else 99)

    def deadline(self) -> float | None:
        return min(self._until.values(), default=None)

    def expire(self, now: float) -> Expired:
        if self._mistake != "past":
            self._until = {name: end for name, end in self._until.items() if now < end}
        return Expired(() if self._mistake == "unnamed" else (None,))


@dataclass(frozen=True)
class Learns:
    """Gives that memory."""

    mistake: str = ""
    name: ClassVar[str] = "Learns"

    def new_memory(self) -> Learned:
        return SHARED if self.mistake == "shared" else Learned(self.mistake)


SHARED = Learned("")


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ("shared", "new_memory must give another object each time"),
        ("score", "scores must give 0 to 100"),
        ("past", "expire leaves a deadline that is past"),
        ("unnamed", "expire does not name it"),
        ("asked", "differs from one that was told the same, and was not asked"),
    ],
)
@slow("each mistake is found by chance, and then made as small as it can be")
def test_check_plugin_holds_a_memory_to_its_contract(mistake: str, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_plugin(Learns(mistake), examples=50)


def test_check_plugin_lets_a_memory_pass_that_keeps_its_contract() -> None:
    check_plugin(Learns(), examples=50)


class Memoryless:
    """A plugin that cannot make its memory."""

    name: ClassVar[str] = "Memoryless"

    def new_memory(self) -> Learned:
        raise OSError("no room")


def test_a_plugin_that_cannot_make_its_memory_is_refused() -> None:
    with pytest.raises(ConfigError, match=r'"Memoryless" cannot make its memory: OSError: no room'):
        Registry({"Memoryless": Memoryless}).create("Memoryless")


def test_the_memory_of_a_plugin_says_where_it_is_asked() -> None:
    assert points_of(Learns()) == {Point.FILTER, Point.SCORE}
