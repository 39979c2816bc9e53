# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The pod table says what a dict of pods would say; snapshots and forks keep what they saw."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from enbloc.model.placed import PlacedPods
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Labels, PodAffinity, PodAffinityTerm, Selector
from tests.effort import examples
from tests.strategies import requirements
from tests.world.builders import pod, spec

NEAR = PodAffinity(preferred=((1, PodAffinityTerm("zone")),))
SPECS = (
    spec(cpu=1),
    spec(cpu=2),
    spec(cpu=2, memory="1Gi"),
    replace(spec(cpu=1), pod_affinity=NEAR),
    replace(spec(cpu=1), pod_anti_affinity=NEAR),
)
SELECTORS = (
    Selector(),
    Selector((Requirement("zone", Operator.IN, ("a",)),)),
    Selector(
        (
            Requirement("zone", Operator.NOT_IN, ("a", "b")),
            Requirement("disk", Operator.EXISTS),
        )
    ),
    Selector((Requirement("tier", Operator.DOES_NOT_EXIST),)),
)
COLUMNS: tuple[Callable[[PlacedPods], npt.NDArray[Any]], ...] = (
    lambda table: table.row,
    lambda table: table.priority[1:],
    lambda table: table.terminating,
    lambda table: table.spec,
    lambda table: table.namespace,
)
Model = dict[PodUID, tuple[Pod, int]]

uids = st.integers(0, 7).map(lambda number: PodUID(f"uid-{number}"))
labels = st.dictionaries(
    st.sampled_from(("zone", "disk", "tier")), st.sampled_from(("", "a", "b", "7"))
).map(lambda found: tuple(sorted(found.items())))
selectors = st.sampled_from(SELECTORS) | st.builds(
    Selector, st.lists(requirements, max_size=2).map(tuple)
)


def check(table: PlacedPods, model: Model) -> None:
    assert sorted(table.uids) == sorted(model)
    assert len(table) == len(model)
    specs: dict[int, PodSpec] = {}
    spaces: dict[int, str] = {}
    for place, uid in enumerate(table.uids):
        member, row = model[uid]
        assert table.row[place] == row
        assert table.priority[place] == member.priority
        assert table.terminating[place] == member.deleting
        assert specs.setdefault(int(table.spec[place]), member.spec) == member.spec
        namespace = member.key.namespace
        assert spaces.setdefault(int(table.namespace[place]), namespace) == namespace
    for row in range(4):
        assert sorted(table.on(row)) == sorted(u for u, (_, at) in model.items() if at == row)
    members = [model[uid][0] for uid in table.uids]
    check_questions(table, members)
    check_classes(table, members)


def check_questions(table: PlacedPods, members: list[Pod]) -> None:
    for selector in SELECTORS:
        found = table.matches(selector).tolist()
        assert found == [selector.matches(dict(member.labels)) for member in members]
    assert not table.matches(None).any()
    for names in ((), ("a",), ("a", "b"), ("nowhere",), ("b", "nowhere")):
        found = table.in_namespaces(names).tolist()
        assert found == [member.key.namespace in names for member in members]
    thirsty: Callable[[PodSpec], bool] = lambda spec: spec.nonzero_cpu > 1000  # noqa: E731
    assert table.specs_where(thirsty).tolist() == [thirsty(member.spec) for member in members]
    affine = [member.spec.pod_affinity or member.spec.pod_anti_affinity for member in members]
    assert table.has_affinity == any(affine)


def check_classes(table: PlacedPods, members: list[Pod]) -> None:
    for mask in (np.ones(len(members), np.bool_), table.matches(SELECTORS[1])):
        classes = table.classes(mask)
        seen: list[int] = []
        for of, namespace, places in classes:
            assert places.tolist() == sorted(places.tolist())
            for place in places:
                assert members[place].spec == of
                assert members[place].key.namespace == namespace
            seen += places.tolist()
        assert sorted(seen) == np.flatnonzero(mask).tolist()
        assert len({(of, namespace) for of, namespace, _ in classes}) == len(classes)


@dataclass(frozen=True)
class Kept:
    """A table that was derived from another, and what it said then."""

    table: PlacedPods
    model: Model
    ours: bool = False


class PlacedMachine(RuleBasedStateMachine):
    """A live table, and what is derived from it, from that in turn, and let go at any time."""

    @initialize()
    def start(self) -> None:
        self.table = PlacedPods()
        self.model: Model = {}
        self.kept: list[Kept] = []
        self.arrays: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []

    def some_table(self, pick: int, *, writable: bool) -> tuple[PlacedPods, Model]:
        """The live one, or one that is kept."""
        tables = [(kept.table, kept.model) for kept in self.kept if kept.ours or not writable]
        tables.append((self.table, self.model))
        return tables[pick % len(tables)]

    @rule(
        of=st.integers(0, 5),
        uid=uids,
        row=st.integers(0, 3),
        spec=st.sampled_from(SPECS),
        priority=st.integers(-5, 5),
        deleting=st.booleans(),
        namespace=st.sampled_from(("a", "b")),
        labels=labels,
    )
    def put(
        self, of: int, uid: PodUID, row: int, spec: PodSpec, namespace: str, **facts: Any
    ) -> None:
        table, model = self.some_table(of, writable=True)
        member = Pod(PodKey(namespace, uid), uid, spec, **facts)
        table.put(member, row)
        model[uid] = (member, row)

    @rule(
        of=st.integers(0, 5),
        some=st.lists(uids, unique=True, max_size=5),
        row=st.integers(0, 3),
        spec=st.sampled_from(SPECS),
        labels=labels,
    )
    def put_all(self, of: int, some: list[PodUID], row: int, spec: PodSpec, labels: Labels) -> None:
        table, model = self.some_table(of, writable=True)
        new = [uid for uid in some if uid not in model]
        members = [Pod(PodKey("a", uid), uid, spec, labels=labels) for uid in new]
        rows = [row + number for number in range(len(new))]
        table.put_all(members, rows)
        model.update(zip(new, zip(members, rows, strict=True), strict=True))

    @rule(of=st.integers(0, 5), uid=uids)
    def drop(self, of: int, uid: PodUID) -> None:
        table, model = self.some_table(of, writable=True)
        table.drop(uid)
        model.pop(uid, None)
        assert uid not in table.uids

    @rule(of=st.integers(0, 5), frozen=st.booleans())
    def derive(self, of: int, frozen: bool) -> None:
        table, model = self.some_table(of, writable=False)
        twin = table.snapshot() if frozen else table.fork()
        self.kept.append(Kept(twin, model.copy(), ours=not frozen))

    @precondition(lambda self: self.kept)
    @rule(which=st.integers(0, 5))
    def let_go(self, which: int) -> None:
        del self.kept[which % len(self.kept)]

    @rule(of=st.integers(0, 5))
    def hold_arrays(self, of: int) -> None:
        table, _ = self.some_table(of, writable=False)
        arrays = [column(table) for column in COLUMNS]
        self.arrays += [(array, array.copy()) for array in arrays]

    @rule(of=st.integers(0, 5), selector=selectors)
    def select(self, of: int, selector: Selector) -> None:
        table, model = self.some_table(of, writable=False)
        selected = [selector.matches(dict(model[uid][0].labels)) for uid in table.uids]
        assert table.matches(selector).tolist() == selected

    @invariant()
    def the_table_says_what_the_model_says(self) -> None:
        check(self.table, self.model)

    def teardown(self) -> None:
        for kept in getattr(self, "kept", []):
            check(kept.table, kept.model)
        for array, seen in getattr(self, "arrays", []):
            assert np.array_equal(array, seen)


TestPlaced = PlacedMachine.TestCase
TestPlaced.settings = examples(60, stateful_step_count=30)


def test_a_snapshot_refuses_every_write() -> None:
    table = PlacedPods()
    table.put(pod(name="a"), 0)
    frozen = table.snapshot()

    with pytest.raises(TypeError, match=r"change a fork\(\) of it"):
        frozen.put(pod(name="b"), 1)
    with pytest.raises(TypeError, match=r"change a fork\(\) of it"):
        frozen.drop(PodUID("a"))
    with pytest.raises(ValueError, match="read-only"):
        frozen.row[0] = 1


def test_more_pods_than_it_has_room_for_come_at_once() -> None:
    table = PlacedPods()
    members = [Pod(PodKey("a", str(n)), PodUID(str(n)), SPECS[0]) for n in range(1000)]
    table.put_all(members, range(1000))
    assert table.row.tolist() == list(range(1000))
    table.put_all([Pod(PodKey("a", "x"), PodUID("x"), SPECS[0])], [7])
    assert table.row.tolist() == [*range(1000), 7]


def test_the_table_grows_as_long_as_the_cluster() -> None:
    table = PlacedPods()
    for number in range(1000):
        table.put(pod(name=f"p{number}", priority=number), number % 7)

    assert table.priority.tolist() == list(range(1000))
    assert len(table.on(0)) == 143


def test_nothing_is_copied_when_nobody_looks_any_more() -> None:
    table = PlacedPods()
    table.put(pod(name="a"), 0)
    rows, columns = table._row, table._labels
    snapshot = table.snapshot()
    held = snapshot.row
    del snapshot
    assert np.shares_memory(held, rows)
    del held
    table.put(pod(name="b"), 1)
    table.drop(PodUID("a"))

    assert table._row is rows
    assert table._labels is columns


def test_an_array_outlives_its_table() -> None:
    table = PlacedPods()
    table.put(pod(name="a"), 3)
    held = table.snapshot().row[:1]
    table.put(pod(name="a"), 5)

    assert held.tolist() == [3]
    assert table.row.tolist() == [5]


def test_each_class_is_asked_once() -> None:
    table = PlacedPods()
    for number in range(9):
        table.put(pod(SPECS[number % 3], name=f"p{number}"), 0)
    asked: list[PodSpec] = []

    def small(spec: PodSpec) -> bool:
        asked.append(spec)
        return spec == SPECS[0]

    assert np.flatnonzero(table.specs_where(small)).tolist() == [0, 3, 6]

    assert asked == list(SPECS[:3])


def test_labels_with_a_value_of_its_own_for_each_pod() -> None:
    def indexed(number: int) -> Labels:
        return (("index", str(number)), ("job", f"j{number % 3}"))

    table = PlacedPods()
    for number in range(1000):
        table.put(pod(name=f"p{number}", labels=indexed(number)), 0)
    selector = Selector(
        (
            Requirement("index", Operator.GT, ("997",)),
            Requirement("job", Operator.IN, ("j0", "j1")),
        )
    )
    assert np.flatnonzero(table.matches(selector)).tolist() == [999]
    table.drop(PodUID("p999"))
    assert not table.matches(selector).any()
    for number in range(1000, 5000):
        table.put(pod(name="p0", labels=indexed(number)), 0)
    assert np.flatnonzero(table.matches(selector)).tolist() == [0]
