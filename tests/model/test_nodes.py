# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The node table says what a dict of nodes would say, through every change, cut and copy."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
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
IMAGES = ("docker.io/library/a:1", "docker.io/library/b:latest", "registry.example/c@sha256:0")
FEATURES = ("GuaranteedQoSPodCPUResize", "UserNamespaces")
COLUMNS: tuple[Callable[[Nodes], npt.NDArray[Any]], ...] = (
    lambda table: table.free("cpu"),
    lambda table: table.requested("memory"),
    lambda table: table.allocatable("cpu"),
    lambda table: table.nonzero_cpu,
    lambda table: table.nonzero_memory,
    lambda table: table.unschedulable,
    lambda table: table.ready,
    lambda table: table.domains("zone"),
    lambda table: table.label("zone", "a"),
    lambda table: table.has_label("disk"),
    lambda table: table.image_bytes(IMAGES[0]),
    lambda table: table.declares(FEATURES[:1]),
)

pairs = st.dictionaries(
    st.sampled_from(("zone", "example.com/x")), st.sampled_from(("", "a", "b"))
).map(lambda found: tuple(sorted(found.items())))
images = st.dictionaries(st.sampled_from(IMAGES), st.integers(1, 9)).map(
    lambda found: tuple(sorted(found.items()))
)
features = st.sets(st.sampled_from(FEATURES)).map(lambda found: tuple(sorted(found)))


def facts_named(name: str) -> st.SearchStrategy[Node]:
    """Everything that a Node object may say."""
    return st.builds(
        lambda node, images, features, annotations: replace(
            node, images=images, features=features, annotations=annotations
        ),
        nodes_named(name),
        images,
        features,
        pairs,
    )


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

    def only(self, names: Collection[str]) -> "Model":
        part = Model()
        part.nodes = {name: self.nodes[name] for name in names}
        part.pods = {name: self.pods[name].copy() for name in names}
        return part

    def check(self, table: Nodes) -> None:
        assert sorted(table.names) == sorted(self.nodes)
        assert len(table) == len(self.nodes)
        for row, name in enumerate(table.names):
            self._check_row(table, row, name)

    def _check_row(self, table: Nodes, row: int, name: str) -> None:
        fact, pods = self.nodes[name], self.pods[name]
        assert table.row(name) == row
        assert table.node(name) == fact
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
            assert table.label_values(key)[row] == labels.get(key)
        assert table.labels_of(row) == fact.labels
        annotations = dict(fact.annotations)
        for key in ("zone", "example.com/x"):
            assert table.annotation(key, annotations.get(key, "?"))[row] == (key in annotations)
            assert table.annotation_values(key)[row] == annotations.get(key)
        for image in IMAGES:
            assert table.image_bytes(image)[row] == dict(fact.images).get(image, 0)
        for wanted in ((), FEATURES[:1], FEATURES[1:], FEATURES):
            assert table.declares(wanted)[row] == (set(wanted) <= set(fact.features))
        hard: Callable[[Taint], bool] = lambda taint: taint.effect is Effect.NO_EXECUTE  # noqa: E731
        assert table.taints_where(hard)[row] == any(map(hard, fact.taints))
        assert table.count_taints(hard)[row] == sum(map(hard, fact.taints))


picks = st.integers(0, 59)


@dataclass(frozen=True)
class Kept:
    """A table that was derived from another, and what it said then."""

    table: Nodes
    model: Model
    ours: bool = False

    @property
    def whole(self) -> bool:
        """It has every node, so that nodes may be changed in it as well."""
        return (
            self.ours
            and isinstance(self.table._rows, slice)
            and len(self.table) > 1
            and (len(self.table) == len(self.table._columns.objects))
        )


class TableMachine(RuleBasedStateMachine):
    """A live table, and what is derived from it, from that in turn, and let go at any time."""

    @initialize(facts=st.tuples(*map(facts_named, NAMES[:3])), classes=st.tuples(*[demands] * 3))
    def start(self, facts: tuple[Node, ...], classes: tuple[PodSpec, ...]) -> None:
        self.table = Nodes(ResourceSpace())
        self.model = Model()
        self.kept: list[Kept] = []
        self.arrays: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []
        self.classes = classes
        for fact in facts:
            self.put(fact)

    def some_row(self, pick: int) -> int:
        return pick % len(self.table)

    def some_table(self, pick: int) -> tuple[Nodes, Model]:
        """The live one, or one that is kept."""
        which = pick % (len(self.kept) + 1)
        if which == len(self.kept):
            return self.table, self.model
        return self.kept[which].table, self.kept[which].model

    @rule(node=st.sampled_from(NAMES).flatmap(facts_named))
    def put(self, node: Node) -> None:
        old = self.model.nodes.get(node.name)
        before, images_before = self.table.version, self.table.images_version
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
            assert (NodeChange.IMAGES in change) == (old.images != node.images)
            assert (NodeChange.FEATURES in change) == (old.features != node.features)
            assert (NodeChange.ANNOTATIONS in change) == (old.annotations != node.annotations)
        assert (self.table.version > before) == bool(change & ~NodeChange.IMAGES)
        of_images = NodeChange.ADDED | NodeChange.IMAGES
        assert (self.table.images_version > images_before) == bool(change & of_images)

    @rule(pick=picks, images=images)
    def put_images(self, pick: int, images: tuple[tuple[str, int], ...]) -> None:
        name = self.table.names[self.some_row(pick)]
        self.put(replace(self.model.nodes[name], images=images))

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

    @rule(of=picks)
    def snapshot(self, of: int) -> None:
        table, model = self.some_table(of)
        self.kept.append(Kept(table.snapshot(), model.copy()))

    @rule(of=picks)
    def fork(self, of: int) -> None:
        table, model = self.some_table(of)
        self.kept.append(Kept(table.fork(), model.copy(), ours=True))

    @rule(of=picks, rows=st.lists(st.integers(0, 4), unique=True), start=st.integers(0, 3))
    def take(self, of: int, rows: list[int], start: int) -> None:
        table, model = self.some_table(of)
        chosen = np.array([row for row in rows if row < len(table)], np.int64)
        for part in (table.take(chosen), table.take(slice(start, start + 2))):
            self.kept.append(Kept(part, model.only(part.names)))

    @precondition(lambda self: any(kept.ours and len(kept.table) for kept in self.kept))
    @rule(which=picks, pick=picks, of=picks, sign=st.sampled_from((1, 1, -1)))
    def place_on_a_fork(self, which: int, pick: int, of: int, sign: int) -> None:
        forks = [kept for kept in self.kept if kept.ours and len(kept.table)]
        fork = forks[which % len(forks)]
        row = pick % len(fork.table)
        pods = fork.model.pods[fork.table.names[row]]
        if sign > 0:
            fork.table.place(row, self.classes[of % 3])
            pods.append(self.classes[of % 3])
        elif pods:
            fork.table.place(row, pods.pop(), -1)

    def some_fork(self, which: int) -> Kept:
        forks = [kept for kept in self.kept if kept.whole]
        return forks[which % len(forks)]

    @precondition(lambda self: any(kept.whole for kept in self.kept))
    @rule(which=picks, images=images)
    def put_images_in_a_fork(self, which: int, images: tuple[tuple[str, int], ...]) -> None:
        fork = self.some_fork(which)
        name = fork.table.names[which % len(fork.table)]
        fork.model.nodes[name] = replace(fork.model.nodes[name], images=images)
        fork.table.put(fork.model.nodes[name])

    @precondition(lambda self: any(kept.whole for kept in self.kept))
    @rule(which=picks)
    def drop_from_a_fork(self, which: int) -> None:
        fork = self.some_fork(which)
        name = fork.table.names[which % len(fork.table)]
        fork.table.drop(name)
        del fork.model.nodes[name], fork.model.pods[name]

    @precondition(lambda self: self.kept)
    @rule(which=picks)
    def let_go(self, which: int) -> None:
        del self.kept[which % len(self.kept)]

    @rule(of=picks)
    def hold_arrays(self, of: int) -> None:
        table, _ = self.some_table(of)
        arrays = [column(table) for column in COLUMNS]
        self.arrays += [(array, array.copy()) for array in arrays]

    @invariant()
    def the_table_says_what_the_model_says(self) -> None:
        self.model.check(self.table)

    @invariant()
    def what_was_derived_says_what_it_said(self) -> None:
        for kept in self.kept:
            assert sorted(kept.table.names) == sorted(kept.model.nodes)
        if self.kept:
            kept = self.kept[-1]
            kept.model.check(kept.table)

    def teardown(self) -> None:
        for kept in getattr(self, "kept", []):
            kept.model.check(kept.table)
        for array, seen in getattr(self, "arrays", []):
            assert np.array_equal(array, seen)


TestTable = TableMachine.TestCase
TestTable.settings = settings(max_examples=50, stateful_step_count=40)


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
        assert part.node(name) is None
    assert (part.named(NAMES[:2]) == whole.named(NAMES[:2])[rows]).all()
    assert (part.matches(requirement) == whole.matches(requirement)[rows]).all()
    for resource in RESOURCES:
        assert (part.free(resource) == whole.free(resource)[rows]).all()
        assert (part.allocatable(resource) == whole.allocatable(resource)[rows]).all()
    assert (part.unschedulable == whole.unschedulable[rows]).all()
    assert (part.ready == whole.ready[rows]).all()
    assert (part.nonzero_memory == whole.nonzero_memory[rows]).all()
    for column in COLUMNS:
        assert np.array_equal(column(part), column(whole)[rows])
    assert [part.labels_of(place) for place in range(len(rows))] == [
        whole.labels_of(row) for row in rows
    ]
    values, annotations = whole.label_values("disk"), whole.annotation_values("zone")
    assert list(part.label_values("disk")) == [values[row] for row in rows]
    assert list(part.annotation_values("zone")) == [annotations[row] for row in rows]
    assert part.domain_count("zone") > max(part.domains("zone"), default=0)


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
    for rows in (slice(0, 1), np.array([1, 0])):
        with pytest.raises(TypeError, match="only ClusterState changes nodes"):
            frozen.take(rows).fork().drop("a")


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


def test_a_label_that_was_asked_about_is_kept_up_to_date() -> None:
    table = nodes(Node("a", labels=(("old", "1"),)), Node("b"))
    assert table.label("old", "1").tolist() == [True, False]
    table.put(Node("a", labels=(("new", "1"),)))
    table.put(Node("b", labels=(("old", "2"),)))

    assert table.label_values("old") == [None, "2"]
    assert table.label("new", "1").tolist() == [True, False]


def test_nodes_of_one_domain_have_one_code() -> None:
    labels = [(("zone", zone),) if zone else () for zone in ("a", "b", "", "a")]
    table = nodes(*(Node(f"n{row}", labels=some) for row, some in enumerate(labels)))

    codes = table.domains("zone").tolist()

    assert codes[2] == 0
    assert codes[0] == codes[3]
    assert len({0, codes[0], codes[1]}) == 3
    assert np.bincount(codes, minlength=table.domain_count("zone")).sum() == 4
    assert table.domains("rack").tolist() == [0, 0, 0, 0]
    assert table.domain_count("rack") == 1


def test_an_image_is_told_by_any_of_its_names() -> None:
    table = nodes(Node("a", images=(("x:1", 7), ("x@sha256:0", 7))), Node("b"))

    assert table.image_bytes("x:1").tolist() == table.image_bytes("x@sha256:0").tolist() == [7, 0]
    assert table.image_bytes("y:1").tolist() == [0, 0]


def test_more_images_may_be_asked_about_than_are_remembered() -> None:
    names = [f"image-{number}" for number in range(300)]
    table = nodes(Node("a", images=tuple((name, 1) for name in sorted(names))), Node("b"))

    assert all(table.image_bytes(name).tolist() == [1, 0] for name in names)
    assert all(table.image_bytes(name).tolist() == [1, 0] for name in names)


def test_images_that_come_and_go_cost_no_version() -> None:
    table = nodes(Node("a", images=(("x:1", 7),)))
    version, images_version = table.version, table.images_version

    assert table.put(Node("a", images=(("y:1", 9),))) == NodeChange.IMAGES
    assert table.version == version
    assert table.images_version > images_version
    assert table.image_bytes("x:1").tolist() == [0]
    assert table.image_bytes("y:1").tolist() == [9]


def test_a_fork_with_nodes_of_its_own_sees_no_images_that_came_later() -> None:
    table = nodes(Node("a", images=(("x:1", 7),)), Node("b"))
    fork = table.fork()
    fork.put(Node("c"))
    table.put(Node("b", images=(("x:1", 9),)))

    assert fork.image_bytes("x:1").tolist() == [7, 0, 0]
    assert table.image_bytes("x:1").tolist() == [7, 9]


def test_nothing_is_copied_when_nobody_looks_any_more() -> None:
    table = nodes(node("a", cpu=4), node("b", cpu=4))
    cells, columns = table._cells, table._columns
    snapshot = table.snapshot()
    part = snapshot.take(slice(0, 1))
    assert np.shares_memory(part._view, table._view)
    del snapshot, part
    table.place(0, spec(cpu=1))
    table.put(node("b", cpu=8))

    assert table._cells is cells
    assert table._columns is columns


def test_a_part_of_a_snapshot_keeps_what_it_looks_at() -> None:
    table = nodes(node("a", cpu=4), node("b", cpu=4))
    part = table.snapshot().take(slice(0, 1))
    table.place(0, spec(cpu=1))
    table.put(node("a", cpu=8))

    assert part.free("cpu").tolist() == part.allocatable("cpu").tolist() == [4000]


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
