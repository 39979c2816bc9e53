# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A plugin that fails costs its group one pause, with its name and point; others nothing."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from enbloc.framework import Profile, Reads
from enbloc.framework.decide import NodeSet
from enbloc.framework.searching import OneDomain, SharedCapacity
from enbloc.framework.status import SUCCESS, Code, Status
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodKey, PodUID, PodVolume
from enbloc.plugins import IN_TREE
from tests.world.builders import spec
from tests.world.cluster import Cluster, cluster_with

Answer = Callable[..., Any]


def _raise(*_: Any) -> Any:
    raise ValueError("it broke")


def _victim(*arguments: Any) -> bool:
    """Whether a question is about the group "victim", the only one that the plugin fails on."""
    for argument in arguments:
        key = getattr(argument, "key", None)
        if isinstance(key, PodKey):
            return key.name.startswith("victim")
        if key is not None:
            return bool(key.name.strip("/").startswith("victim"))
        if hasattr(argument, "group"):
            return bool(argument.group.name.strip("/") == "victim")
    raise AssertionError(f"whom is this about: {arguments}")


class Fragile:
    """Fails at one point, for one group; everywhere else it says nothing."""

    name: ClassVar[str] = "Fragile"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) were fragile"


def fragile(method: str, answer: Answer, otherwise: Answer) -> Fragile:
    """A plugin with one method, and what that needs."""

    def asked(_: object, *arguments: Any) -> Any:
        return (answer if _victim(*arguments) else otherwise)(*arguments)

    def everywhere(_: object, pod: Any, nodes: Any) -> Any:
        del pod
        return np.ones(len(nodes), bool)

    def nowhere(_: object, pod: Any, nodes: Any) -> Any:
        return everywhere(_, pod, nodes) & (not _victim(pod))

    methods: dict[str, object] = {method: asked}
    if method == "explain":
        methods["filter"] = nowhere
    return type("Fragile", (Fragile,), methods)()


def _nothing(*_: Any) -> None:
    return None


def _ones(_: object, nodes: Any) -> Any:
    return np.ones(len(nodes), bool)


def _zeros(_: object, nodes: Any) -> Any:
    return np.zeros(len(nodes), np.int64)


def _success(*_: Any) -> Status:
    return SUCCESS


CASES = [
    pytest.param("pre_enqueue", _raise, _success, "PreEnqueue", "ValueError", id="PreEnqueue"),
    pytest.param(
        "pre_enqueue", _nothing, _success, "PreEnqueue", "a Status, got NoneType", id="no status"
    ),
    pytest.param(
        "pre_enqueue",
        lambda *_: Status(Code.ERROR, "it is down"),
        _success,
        "PreEnqueue",
        "it is down",
        id="PreEnqueue says error",
    ),
    pytest.param("pre_filter", _raise, _nothing, "PreFilter", "ValueError", id="PreFilter"),
    pytest.param(
        "pre_filter",
        lambda *_: Status(2, "no"),  # type: ignore[arg-type]
        _nothing,
        "PreFilter",
        "TypeError: the code of a Status must be a Code, not 2",
        id="no code",
    ),
    pytest.param(
        "pre_filter",
        lambda *_: Status(Code.ERROR, "it is down"),
        _nothing,
        "PreFilter",
        "it is down",
        id="PreFilter says error",
    ),
    pytest.param(
        "pre_filter",
        lambda *_: Status(Code.WAIT),
        _nothing,
        "PreFilter",
        "answered WAIT",
        id="PreFilter says wait",
    ),
    pytest.param(
        "pre_filter", lambda *_: object(), _nothing, "PreFilter", "has no filter", id="evaluator"
    ),
    pytest.param(
        "pre_filter",
        lambda *_: NodeSet(None),  # type: ignore[arg-type]
        _nothing,
        "PreFilter",
        "TypeError",
        id="no node set",
    ),
    pytest.param("filter", _raise, _ones, "Filter", "ValueError", id="Filter"),
    pytest.param("filter", _nothing, _ones, "Filter", "got NoneType", id="no mask"),
    pytest.param("explain", _raise, lambda *_: Counter(), "Filter", "ValueError", id="Explain"),
    pytest.param("explain", lambda *_: 1, lambda *_: Counter(), "Filter", "TypeError", id="counts"),
    pytest.param(
        "explain",
        lambda *_: {None: 1, "x": 1},
        lambda *_: Counter(),
        "Filter",
        "counts by text",
        id="no words",
    ),
    pytest.param(
        "explain", lambda *_: {"x": "1"}, lambda *_: Counter(), "Filter", "in integers", id="no int"
    ),
    pytest.param("pre_score", _raise, _nothing, "PreScore", "ValueError", id="PreScore"),
    pytest.param("score", _raise, _zeros, "Score", "ValueError", id="Score"),
    pytest.param(
        "score", lambda *_: np.zeros(9), _zeros, "Score", "got float64[9]", id="wrong shape"
    ),
    pytest.param(
        "score", lambda _, n: np.full(len(n), np.inf), _zeros, "Score", "infinity", id="infinity"
    ),
    pytest.param("permit", _raise, _success, "Permit", "ValueError", id="Permit"),
    pytest.param("permit", _nothing, _success, "Permit", "a Status, got NoneType", id="permit"),
    pytest.param(
        "permit",
        lambda *_: Status(Code.SKIP),
        _success,
        "Permit",
        "answered SKIP",
        id="Permit skips",
    ),
    pytest.param(
        "permit",
        lambda *_: Status(Code.UNSCHEDULABLE, ValueError("no")),  # type: ignore[arg-type]
        _success,
        "Permit",
        "TypeError: the message of a Status must be a str, not ValueError",
        id="no text",
    ),
    pytest.param("signature", _raise, _nothing, "Sign", "ValueError", id="Sign"),
    pytest.param("signature", lambda *_: [], _nothing, "Sign", "TypeError", id="unhashable"),
]


@pytest.mark.parametrize("solo", [pytest.param(True, id="pod"), pytest.param(False, id="gang")])
@pytest.mark.parametrize(("method", "answer", "otherwise", "point", "said"), CASES)
def test_a_failing_plugin_costs_one_group_a_pause_and_the_others_nothing(
    method: str, answer: Answer, otherwise: Answer, point: str, said: str, solo: bool
) -> None:
    broken = [answer]

    def answered(*arguments: Any) -> Any:
        return broken[0](*arguments)

    cluster = cluster_with(fragile(method, answered, otherwise))
    if solo:
        cluster.pod("victim", spec=spec(cpu=2))
    else:
        cluster.gang("victim", 2, spec=spec(cpu=2))
    cluster.gang("other", 2)
    cluster.settle()
    assert set(cluster.where()) == {"other-0", "other-1"}
    reason, message = cluster.pod_conditions("victim" if solo else "victim-0")[0]
    assert reason == "SchedulerError"
    assert message.startswith(f'plugin "Fragile" failed at {point}: ')
    assert said in message
    if method == "explain":
        return  # only words are missing, and these nobody wants once it fits
    broken[0] = otherwise
    cluster.settle(seconds=2)
    assert len(cluster.where("victim")) == (1 if solo else 2)


class Team:
    """Distinguishes pods by a label that it takes every pod to have."""

    name: ClassVar[str] = "Team"

    def signature(self, pod: Pod) -> object:
        return dict(pod.labels)["team"]


def test_a_signature_that_fails_does_not_concern_who_is_placed_after_it() -> None:
    cluster = cluster_with(Team())
    cluster.pod("big", spec=spec(cpu=100), labels=(("team", "a"),))
    cluster.settle()  # from now on the other namespace goes first
    cluster.now += 1
    cluster.pod("victim", spec=spec(cpu=1))
    cluster.now += 1
    key, team = PodKey("other", "x"), (("team", "b"),)
    other = Pod(key, PodUID("x"), spec(cpu=1), "enbloc", created=cluster.now, labels=team)
    cluster.put_pod(other)
    cluster.settle()
    assert set(cluster.where()) == {"x"}
    [(reason, message)] = cluster.pod_conditions("victim")
    assert reason == "SchedulerError"
    assert message == """plugin "Team" failed at Sign: KeyError: 'team'"""


@dataclass(frozen=True)
class Ledger:
    """A ledger that cannot be kept."""

    broken: list[bool]
    name: ClassVar[str] = "Ledger"

    def reserve(self, plan: Any, ledger: object) -> object:
        del ledger
        return _raise() if self.broken else plan.id


def test_a_ledger_that_fails_is_named_and_tried_again_after_a_pause() -> None:
    broken = [True]
    cluster = cluster_with(Ledger(broken))
    cluster.answer = lambda _: "hold"
    cluster.pod("first")
    cluster.settle()
    cluster.pod("second")
    cluster.settle()
    assert cluster.pod_conditions("second")[0][1].startswith('plugin "Ledger" failed at Reserve')
    broken.clear()
    cluster.settle(seconds=2)
    assert [bind.target.pod.name for bind in cluster.sent] == ["first", "second"]


def test_a_post_filter_that_fails_is_named() -> None:
    for answer, said in ((_raise, "ValueError"), (_nothing, "a Status, got NoneType")):
        cluster = cluster_with(fragile("post_filter", answer, _success))
        cluster.pod("filler", node="n1", spec=spec(cpu=8))
        cluster.gang("victim", 16)
        cluster.settle()
        assert f'plugin "Fragile" failed at PostFilter: {said}'[:48] in cluster.condition("victim")[
            2
        ].replace("expected ", "")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(_raise, "ValueError: it broke", id="raises"),
        pytest.param(_nothing, "expected a number of nodes, got NoneType", id="none"),
        pytest.param(lambda _: 1.5, "expected a number of nodes, got float", id="no integer"),
    ],
)
def test_a_preemption_plugin_that_cannot_tell_how_many_nodes_suffice_is_named(
    answer: Answer, said: str
) -> None:
    methods = {"candidate_nodes": lambda _, rows: answer(rows)}
    cluster = cluster_with(type("Fragile", (Fragile,), methods)())
    for node in ("n1", "n2"):
        cluster.pod(f"filler-{node}", node=node, spec=spec(cpu=8))
    cluster.pod("victim", priority=10, spec=spec(cpu=8))
    cluster.settle()
    assert cluster.pod_conditions("victim") == [
        ("SchedulerError", f'plugin "Fragile" failed at PostFilter: {said}')
    ]


def test_a_detail_that_is_no_text_is_named() -> None:
    methods = {
        "filter": lambda _, __, nodes: np.zeros(len(nodes), bool),
        "detail": lambda _, __, ___: 7,
    }
    cluster = cluster_with(type("Fragile", (Fragile,), methods)())
    cluster.pod("victim")
    cluster.settle()
    assert cluster.pod_conditions("victim") == [
        ("SchedulerError", 'plugin "Fragile" failed at Filter: expected a text as detail, got int')
    ]


def test_an_ignores_that_answers_for_each_node_is_named() -> None:
    methods = {
        "reads": Reads.CLUSTER,
        "filter": lambda _, __, nodes: np.ones(len(nodes), bool),
        "placed": lambda *_: None,
        "removed": lambda *_: None,
        "ignores": lambda *_: np.ones(2, bool),
    }
    cluster = cluster_with(type("Fragile", (Fragile,), methods)())
    cluster.gang("victim", 2)
    cluster.settle()
    assert cluster.condition("victim")[1] == "SchedulerError"
    said = 'plugin "Fragile" failed at Filter: ValueError: The truth value of an array'
    assert said in cluster.condition("victim")[2]


class Sorting:
    """Cannot sort a group the first time that it sees one."""

    name: ClassVar[str] = "Sorting"

    def __init__(self) -> None:
        self.asked = 0

    def sort_key(self, group: Any, facts: Any) -> tuple[Any, ...]:
        del group, facts
        self.asked += 1
        return _raise() if self.asked == 1 else ()


def test_a_queue_sort_that_fails_is_named_and_asked_again_after_a_pause() -> None:
    others = [factory() for name, factory in IN_TREE.items() if name != "PrioritySort"]
    cluster = Cluster(profiles={"enbloc": Profile("enbloc", (*others, Sorting()))})
    cluster.nodes("n1")
    cluster.pod("victim")
    cluster.pod("other")
    cluster.settle()
    assert set(cluster.where()) == {"other"}
    [(reason, message)] = cluster.pod_conditions("victim")
    assert reason == "SchedulerError"
    assert message == 'plugin "Sorting" failed at QueueSort: ValueError: it broke'
    cluster.settle(seconds=2)
    assert set(cluster.where()) == {"other", "victim"}


@dataclass(frozen=True)
class Comparing:
    """Compares nodes with the worst of them, and so cannot compare nobody."""

    normalized: Callable[[Any], Any] = lambda scores: scores - scores.min()
    name: ClassVar[str] = "Comparing"
    reads: ClassVar[Reads] = Reads.SPEC

    def score(self, pod: Any, nodes: Any) -> Any:
        del pod
        return np.arange(len(nodes))

    def normalize(self, scores: Any) -> Any:
        return self.normalized(scores)


def test_nobody_is_asked_to_compare_no_nodes() -> None:
    cluster = cluster_with(Comparing())
    cluster.gang("g", 20)
    cluster.settle()
    assert cluster.condition("g")[1] == "Infeasible"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(lambda _: np.zeros(9), "NormalizeScore: expected int64[2]", id="shape"),
        pytest.param(lambda s: s.astype(np.int32), "NormalizeScore: expected", id="dtype"),
        pytest.param(lambda s: s * np.nan, "NormalizeScore: the scores contain NaN", id="NaN"),
        pytest.param(lambda s: s + 100, "Score: returns an invalid score 101, it should", id="101"),
        pytest.param(_raise, "NormalizeScore: ValueError: it broke", id="raises"),
    ],
)
def test_a_normalisation_that_breaks_its_promises_is_named(answer: Answer, said: str) -> None:
    cluster = cluster_with(Comparing(answer))
    cluster.pod("p")
    cluster.settle()
    assert f'plugin "Comparing" failed at {said}' in cluster.pod_conditions("p")[0][1]


@dataclass(frozen=True)
class Keyed:
    """Sorts by the key that stands here for each group's name."""

    keys: dict[str, Any]
    version: Callable[[], object] = lambda: 0
    name: ClassVar[str] = "Keyed"

    def sort_key(self, group: Any, facts: Any) -> Any:
        del facts
        return self.keys[group.key.name.strip("/")]

    def order_version(self) -> object:
        return self.version()


def keyed(plugin: Keyed) -> Cluster:
    others = [factory() for name, factory in IN_TREE.items() if name != "PrioritySort"]
    return Cluster(profiles={"enbloc": Profile("enbloc", (*others, plugin))})


@pytest.mark.parametrize(
    "key", [(2, 5), (2,), (2, None), (2, ["c"]), (2, float("nan")), (2, (5, "c"))]
)
def test_a_sort_key_that_cannot_be_compared_with_others_costs_its_group_alone(key: Any) -> None:
    world = keyed(Keyed({"a": (1, "a"), "victim": key, "c": (2, "c"), "d": (2, "d")}))
    world.nodes("n1", cpu=3)
    for name in ("a", "victim", "c", "d"):
        world.group(name, 1, min_resources=(("cpu", 1000),))
        world.pod(f"{name}-0", name)
    world.settle()
    assert set(world.where()) == {"a-0", "c-0", "d-0"}
    reason, message = world.condition("victim")[1:]
    assert reason == "SchedulerError"
    assert 'plugin "Keyed" failed at QueueSort: TypeError: ' in message


def test_an_order_version_that_fails_leaves_the_order_as_it_is() -> None:
    world = keyed(Keyed({"a": (1,), "b": (0,)}, _raise))
    world.nodes("n1", cpu=1)
    world.pod("a", spec=spec(cpu=1))
    world.pod("b", spec=spec(cpu=1))
    world.settle()
    assert set(world.where()) == {"b"}


def test_a_group_whose_key_fails_later_keeps_its_place() -> None:
    keys: dict[str, Any] = {"first": (1,), "second": (2,), "holder": (0,)}
    world = keyed(Keyed(keys))
    world.nodes("n1", cpu=4)
    world.pod("holder", node="n1", spec=spec(cpu=4))
    world.gang("first", 1, spec=spec(cpu=4))
    world.gang("second", 1, spec=spec(cpu=4))
    world.settle()
    order = world.engine._core.order
    del keys["first"]
    world.pod("first-1", group="first", spec=spec(cpu=4))
    world.settle()
    assert order.before(GroupKey("ns", "first"), GroupKey("ns", "second"))


def _yields(*_: Any) -> Any:
    yield "cpu"
    raise ValueError("it broke")


@pytest.mark.parametrize(
    ("method", "answer", "said"),
    [
        pytest.param("takes", _nothing, "TypeError", id="takes nothing"),
        pytest.param("takes", _yields, "ValueError: it broke", id="takes raises late"),
        pytest.param("takes", lambda *_: [[]], "expected texts, got list", id="takes a list"),
        pytest.param("apart", _nothing, "TypeError", id="apart"),
        pytest.param("apart", lambda *_: [[]], "expected texts, got list", id="apart by a list"),
    ],
)
def test_a_declaration_for_searches_that_fails_is_named(
    method: str, answer: Answer, said: str
) -> None:
    methods = {method: answer, "filter": lambda _, __, nodes: np.ones(len(nodes), bool)}
    cluster = cluster_with(type("Fragile", (Fragile,), methods)())
    cluster.gang("g", 30)
    cluster.settle()
    assert cluster.condition("g")[1] == "SchedulerError"
    assert f'plugin "Fragile" failed at Filter: {said}' in cluster.condition("g")[2]


def _awkward(cluster: Cluster) -> None:
    """A gang that holds something, and fits only if its last member is placed first."""
    cluster.group("g", 3)
    for name, cpu in (("g-0", 4), ("g-1", 4), ("g-2", 8)):
        held = (PodVolume("share", "azureFile"),)
        cluster.pod(name, "g", spec=replace(spec(cpu=cpu), volumes=held))
    cluster.settle()


def _ones_of(length: int) -> Answer:
    return lambda *_: np.ones(length, np.int64)


def _shares(**wrong: Any) -> Answer:
    """Says that two nodes share ports, with some fields as they should not be."""

    def pools(_: object, pods: Any, nodes: Any, *, ever: bool) -> Any:
        del nodes, ever
        fields: dict[str, Any] = {
            "rows": np.ones(2, bool),
            "amounts": np.ones(len(pods), np.int64),
            "free": 9,
            "unit": "ports",
            "name": "of the net",
        }
        return [SharedCapacity(**{**fields, **wrong})]

    return pools


def _in_sets(**wrong: Any) -> Answer:
    """Says that pods belong on one of two nodes, with some fields as they should not be."""

    def sets(_: object, pods: Any, nodes: Any, *, ever: bool) -> Any:
        del nodes, ever
        fields: dict[str, Any] = {
            "pods": np.ones(len(pods), bool),
            "domains": np.ones(2, np.int64),
        }
        return [OneDomain(**{**fields, **wrong})]

    return sets


@pytest.mark.parametrize(
    ("method", "answer", "said"),
    [
        pytest.param("likeness", _nothing, "expected int64[2], got NoneType", id="likeness"),
        pytest.param("likeness", lambda *_: ["a", "b"], "got list", id="likeness in texts"),
        pytest.param("likeness", _ones_of(3), "expected int64[2], got int64[3]", id="alike, long"),
        pytest.param("pools", lambda *_, ever: [ever], "a SharedCapacity, got bool", id="no pool"),
        pytest.param("pools", _shares(rows=np.ones(3, bool)), "expected bool[2]", id="rows"),
        pytest.param("pools", _shares(amounts=["1"]), "expected int64[2]", id="amounts"),
        pytest.param("pools", _shares(amounts=_ones_of(7)()), "got int64[7]", id="many amounts"),
        pytest.param("pools", _shares(free="9"), "got str, str, str", id="free"),
        pytest.param("pools", _shares(name=None), "got int, str, NoneType", id="pool's name"),
        pytest.param("gathers", lambda *_: [[]], "expected texts, got list", id="gathers"),
        pytest.param("sets", lambda *_, ever: [ever], "a OneDomain, got bool", id="no domain"),
        pytest.param("sets", _in_sets(pods=None), "expected bool[2], got NoneType", id="pods"),
        pytest.param("sets", _in_sets(domains=[0.5, 1]), "expected int64[2]", id="domains"),
        pytest.param("sets", _in_sets(domains=[-1, 1]), "is negative", id="below none"),
        pytest.param("sets", _in_sets(name=7), "expected a text as name", id="domain's name"),
    ],
)
def test_a_declaration_about_what_pods_hold_that_has_a_wrong_type_is_named(
    method: str, answer: Answer, said: str
) -> None:
    methods = {method: answer, "filter": lambda _, __, nodes: np.ones(len(nodes), bool)}
    cluster = cluster_with(type("Fragile", (Fragile,), methods)())
    _awkward(cluster)
    assert cluster.condition("g")[1] == "SchedulerError"
    assert 'plugin "Fragile" failed at Filter: ' in cluster.condition("g")[2]
    assert said in cluster.condition("g")[2]


def test_declarations_of_the_right_types_break_nothing() -> None:
    methods = {
        "likeness": lambda *_: np.zeros(2, np.int64),
        "pools": _shares(),
        "sets": _in_sets(),
        "filter": lambda _, __, nodes: np.ones(len(nodes), bool),
    }
    cluster = cluster_with(type("Fragile", (Fragile,), methods)())
    _awkward(cluster)
    assert len(cluster.where()) == 3
