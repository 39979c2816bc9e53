# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The node table says what a dict of nodes would say, through every change, cut and copy."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from enbloc.model.node import Node, NodeChange
from enbloc.model.nodes import Nodes, Rows
from enbloc.model.pods import PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.resources import ResourceSpace
from enbloc.model.taints import Effect, Taint
from tests.strategies import NAMES, RESOURCES, World, demands, nodes_named, requirements, worlds
from tests.worlds import node, nodes, spec

GPU = "nvidia.com/gpu"


class Model:
    """What the table means: nodes by name, and the pods on each."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, list[PodSpec]] = {}

    def copy(self) -> "Model":
        twin = Model()
        twin.nodes = self.nodes.copy()
        twin.pods = {name: pods.copy() for name, pods in self.pods.items()}
        return twin

    def check(self, table: Nodes) -> None:
        assert sorted(table.names) == sorted(self.nodes)
        assert len(table) == len(self.nodes)
        for row, name in enumerate(table.names):
            self._check_row(table, row, name)

    def _check_row(self, table: Nodes, row: int, name: str) -> None:
        fact, pods = self.nodes[name], self.pods[name]
        assert table.row(name) == row
        for resource in (*RESOURCES, "pods"):
            requested = sum(dict(pod.requests).get(resource, 0) for pod in pods)
            offered = dict(fact.allocatable).get(resource, 0)
            assert table.allocatable(resource)[row] == offered
            assert table.requested(resource)[row] == requested
            assert table.free(resource)[row] == offered - requested
        assert table.nonzero_cpu[row] == sum(pod.nonzero_cpu for pod in pods)
        assert table.nonzero_memory[row] == sum(pod.nonzero_memory for pod in pods)
        assert table.unschedulable[row] == fact.unschedulable
        assert table.ready[row] == fact.ready
        labels = dict(fact.labels)
        for key in ("zone", "disk", "tier"):
            assert table.has_label(key)[row] == (key in labels)
            assert table.label(key, labels.get(key, "?"))[row] == (key in labels)
        hard: Callable[[Taint], bool] = lambda taint: taint.effect is Effect.NO_EXECUTE  # noqa: E731
        assert table.taints_where(hard)[row] == any(map(hard, fact.taints))
        assert table.count_taints(hard)[row] == sum(map(hard, fact.taints))


picks = st.integers(0, 59)


class TableMachine(RuleBasedStateMachine):
    """A live table, and snapshots and forks taken from it at any time."""

    @initialize(facts=st.tuples(*map(nodes_named, NAMES[:3])), classes=st.tuples(*[demands] * 3))
    def start(self, facts: tuple[Node, ...], classes: tuple[PodSpec, ...]) -> None:
        self.table = Nodes(ResourceSpace())
        self.model = Model()
        self.kept: list[tuple[Nodes, Model]] = []
        self.classes = classes
        for fact in facts:
            self.put(fact)

    def some_row(self, pick: int) -> int:
        return pick % len(self.table)

    @rule(node=st.sampled_from(NAMES).flatmap(nodes_named))
    def put(self, node: Node) -> None:
        old = self.model.nodes.get(node.name)
        before = self.table.version
        change = self.table.put(node)
        self.model.nodes[node.name] = node
        self.model.pods.setdefault(node.name, [])
        assert (change == NodeChange.ADDED) == (old is None)
        if old is not None:
            assert (NodeChange.ALLOCATABLE in change) == (old.allocatable != node.allocatable)
            assert (NodeChange.LABELS in change) == (old.labels != node.labels)
            assert (NodeChange.TAINTS in change) == (old.taints != node.taints)
            assert (NodeChange.UNSCHEDULABLE in change) == (old.unschedulable != node.unschedulable)
            assert (NodeChange.READY in change) == (old.ready != node.ready)
        assert (self.table.version > before) == bool(change)

    @precondition(lambda self: len(self.table) > 1)
    @rule(pick=picks)
    def drop(self, pick: int) -> None:
        name, last = self.table.names[self.some_row(pick)], self.table.names[-1]
        row = self.table.row(name)
        assert self.table.drop(name) == row
        del self.model.nodes[name], self.model.pods[name]
        if last != name:
            assert self.table.row(last) == row

    @rule()
    def drop_what_is_not_there(self) -> None:
        version = self.table.version
        assert self.table.drop("nobody") is None
        assert self.table.version == version

    @rule(pick=picks, of=picks)
    def place(self, pick: int, of: int) -> None:
        row, pod = self.some_row(pick), self.classes[of % 3]
        before = self.table.placed_version
        self.table.place(row, pod)
        self.model.pods[self.table.names[row]].append(pod)
        assert self.table.placed_version > before

    @precondition(lambda self: any(self.model.pods.values()))
    @rule(pick=picks)
    def take_off(self, pick: int) -> None:
        names = [name for name in self.table.names if self.model.pods[name]]
        name = names[pick % len(names)]
        row = self.table.row(name)
        assert row is not None
        self.table.place(row, self.model.pods[name].pop(), -1)

    @rule()
    def snapshot(self) -> None:
        self.kept.append((self.table.snapshot(), self.model.copy()))

    @precondition(lambda self: bool(self.kept))
    @rule(which=picks, pick=picks, of=picks)
    def fork(self, which: int, pick: int, of: int) -> None:
        source, seen = self.kept[which % len(self.kept)]
        fork, model, pod = source.fork(), seen.copy(), self.classes[of % 3]
        row = pick % len(fork)
        fork.place(row, pod)
        model.pods[fork.names[row]].append(pod)
        self.kept.append((fork, model))

    @invariant()
    def the_table_says_what_the_model_says(self) -> None:
        self.model.check(self.table)

    def teardown(self) -> None:
        for table, model in getattr(self, "kept", []):
            model.check(table)


TestTable = TableMachine.TestCase
TestTable.settings = settings(max_examples=50, stateful_step_count=30)


@given(worlds(), st.data(), requirements)
def test_a_cut_says_what_the_whole_says_of_its_rows(
    world: World, data: st.DataObject, requirement: Requirement
) -> None:
    table = world.table()
    size = len(table)
    index = st.lists(st.integers(0, size - 1), unique=True) if size else st.just([])
    chosen = np.array(data.draw(index), np.int64)
    start, stop = sorted(data.draw(st.tuples(st.integers(-6, 6), st.integers(-6, 6))))
    step = data.draw(st.sampled_from((1, 2, -1)))
    for rows in (chosen, slice(start, stop, step), slice(None)):
        part = table.take(rows)
        assert_same(part, table, rows, requirement)
        for again in (slice(1, None), np.arange(len(part))[::-1]):
            expected = np.arange(size)[rows][again]
            assert_same(part.take(again), table, expected, requirement)


def assert_same(part: Nodes, whole: Nodes, chosen: Rows, requirement: Requirement) -> None:
    rows: list[int] = np.arange(len(whole))[chosen].tolist()
    assert len(part) == len(rows)
    assert list(part.names) == [whole.names[row] for row in rows]
    for place, row in enumerate(rows):
        assert part.row(whole.names[row]) == place
    for name in set(whole.names) - set(part.names):
        assert part.row(name) is None
    assert (part.named(NAMES[:2]) == whole.named(NAMES[:2])[rows]).all()
    assert (part.matches(requirement) == whole.matches(requirement)[rows]).all()
    for resource in RESOURCES:
        assert (part.free(resource) == whole.free(resource)[rows]).all()
        assert (part.allocatable(resource) == whole.allocatable(resource)[rows]).all()
    assert (part.unschedulable == whole.unschedulable[rows]).all()
    assert (part.ready == whole.ready[rows]).all()
    assert (part.nonzero_memory == whole.nonzero_memory[rows]).all()
    assert (part.has_label("zone") == whole.has_label("zone")[rows]).all()


@given(worlds(), requirements)
def test_a_requirement_is_answered_for_all_nodes(world: World, requirement: Requirement) -> None:
    labels = [dict(node.labels) for node in world.nodes]

    mask = world.table().matches(requirement)

    assert mask.tolist() == [requirement.matches(some.get(requirement.key)) for some in labels]


def test_a_snapshot_refuses_every_write() -> None:
    table = nodes(node("a", cpu=4, nvidia_com__gpu=8), node("b", cpu=4))
    frozen = table.snapshot()

    for column in (
        frozen.free("cpu"),
        frozen.allocatable("cpu"),
        frozen.nonzero_cpu,
        frozen.nonzero_memory,
        frozen.unschedulable,
        frozen.ready,
        frozen.take(slice(0, 1)).free("cpu"),
    ):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    with pytest.raises(TypeError, match=r"place pods on a fork\(\)"):
        frozen.place(0, spec(cpu=1))
    with pytest.raises(TypeError, match="only ClusterState changes nodes"):
        frozen.put(node("c", cpu=1))
    with pytest.raises(TypeError, match="only ClusterState changes nodes"):
        frozen.drop("a")


def test_a_plugin_cannot_write_into_a_fork_either() -> None:
    fork = nodes(node("a", cpu=4)).snapshot().fork()

    with pytest.raises(ValueError, match="read-only"):
        fork.free("cpu")[0] = 0
    fork.place(0, spec(cpu=1))
    assert fork.free("cpu")[0] == 3000


def test_a_fork_is_nobody_else_s() -> None:
    table = nodes(node("a", cpu=4), node("b", cpu=4))
    snapshot = table.snapshot()
    first, second = snapshot.fork(), snapshot.fork()
    first.place(0, spec(cpu=1))
    second.place(1, spec(cpu=2))
    table.place(0, spec(cpu=4))

    assert first.free("cpu").tolist() == [3000, 4000]
    assert second.free("cpu").tolist() == [4000, 2000]
    assert snapshot.free("cpu").tolist() == [4000, 4000]
    assert table.free("cpu").tolist() == [0, 4000]


def test_a_fork_may_lose_a_node_without_anyone_noticing() -> None:
    snapshot = nodes(node("a", cpu=4), node("b", cpu=8)).snapshot()
    fork = snapshot.fork()
    fork.drop("a")

    assert list(fork.names) == ["b"]
    assert fork.free("cpu").tolist() == [8000]
    assert list(snapshot.names) == ["a", "b"]


def test_a_pod_may_request_what_no_node_has_ever_offered() -> None:
    table = nodes(node("a", cpu=4))
    fork = table.snapshot().fork()
    for target in (table, fork):
        assert target.free(GPU).tolist() == [0]
        assert target.allocatable(GPU).tolist() == [0]
        target.place(0, spec(cpu=1, nvidia_com__gpu=2))

    assert table.free(GPU).tolist() == fork.free(GPU).tolist() == [-2]
    assert table.requested(GPU).tolist() == [2]
    table.put(node("a", cpu=4, nvidia_com__gpu=8))
    assert table.free(GPU).tolist() == [6]
    with pytest.raises(ValueError, match="read-only"):
        fork.free(GPU)[0] = 0


def test_a_name_that_no_column_of_this_table_has_reads_as_zero() -> None:
    table = nodes(node("a", cpu=4))
    before = table.snapshot()
    table.put(node("b", cpu=1, nvidia_com__gpu=8))

    assert before.free(GPU).tolist() == before.allocatable(GPU).tolist() == [0]
    assert table.free(GPU).tolist() == [0, 8]


def test_the_table_grows_as_long_as_the_cluster() -> None:
    table = nodes(*(node(f"n{i}", cpu=i, pods=1) for i in range(300)))
    table.place(299, spec(cpu=1))

    assert table.free("cpu").tolist() == [*(i * 1000 for i in range(299)), 298_000]
    assert table.row("n250") == 250


def test_a_label_that_no_node_has() -> None:
    table = nodes(node("a", cpu=1))

    assert not table.label("zone", "a").any()
    assert not table.has_label("zone").any()
    assert table.matches(Requirement("zone", Operator.DOES_NOT_EXIST)).all()


def test_labels_that_nobody_has_any_more_are_let_go() -> None:
    table = nodes(Node("a", labels=(("old", "1"),)))
    table.put(Node("a", labels=(("new", "1"),)))
    table.snapshot()
    table.put(Node("a", labels=(("new", "2"),)))

    assert not table.has_label("old").any()
    assert table.label("new", "2").all()


def test_a_heartbeat_changes_nothing() -> None:
    table = nodes(Node("a", resource_version=1))
    version = table.version

    assert table.put(Node("a", resource_version=2)) == NodeChange(0)
    assert table.version == version


def test_more_classes_than_are_remembered_are_still_counted_right() -> None:
    table = nodes(node("a", cpu=10**9))
    for number in range(8200):
        table.place(0, PodSpec(requests=(("cpu", 1),), nonzero_cpu=number))

    assert table.requested("cpu").tolist() == [8200]
