# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The node table against a naive model, whoever looks at it meanwhile."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from enbloc.ledgers import Ledgers
from enbloc.model.node import Node, NodeChange
from enbloc.model.nodes import Nodes
from enbloc.model.pods import PodSpec
from enbloc.model.resources import ResourceSpace
from enbloc.model.taints import Effect, Taint
from tests.effort import examples
from tests.model.columns import COLUMNS, FEATURES, IMAGES
from tests.strategies import NAMES, RESOURCES, demands, nodes_named

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
        space = ResourceSpace()
        for resource in RESOURCES:  # pods may be placed before a node offers what they request
            space.column(resource)
        self.table = Nodes(space, Ledgers())
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
TestTable.settings = examples(50, stateful_step_count=40)
