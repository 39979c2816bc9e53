# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The node table says what a dict of nodes would say, through every change, cut and copy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.node import Node, NodeChange
from enbloc.model.nodes import Nodes, Rows
from enbloc.model.pods import PodSpec
from enbloc.model.requirements import Operator, Requirement
from tests.model.columns import COLUMNS, GPU
from tests.strategies import NAMES, RESOURCES, Layout, layouts, requirements
from tests.world.builders import node, spec
from tests.world.tables import nodes


@given(layouts(), st.data(), requirements)
def test_a_cut_says_what_the_whole_says_of_its_rows(
    layout: Layout, data: st.DataObject, requirement: Requirement
) -> None:
    table = layout.table()
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


@given(layouts(), requirements)
def test_a_requirement_is_answered_for_all_nodes(layout: Layout, requirement: Requirement) -> None:
    labels = [dict(node.labels) for node in layout.nodes]

    mask = layout.table().matches(requirement)

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


def test_what_pods_request_and_no_node_has_ever_offered_takes_no_column() -> None:
    table = nodes(node("a", cpu=4))
    columns = len(table.space)
    table.place(0, spec(cpu=1, nvidia_com__gpu=2))
    fork = table.fork()
    assert table.free(GPU).tolist() == fork.free(GPU).tolist() == [0]
    assert len(table.space) == columns


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


@given(layouts())
def test_several_resources_at_once_are_read_as_one_by_one(layout: Layout) -> None:
    table = layout.table()
    names = ("memory", "nobody/has-this", "cpu", GPU)
    for asked in (names, ("cpu", "memory"), (GPU,)):
        for part in (table, table.take(np.arange(len(table))[::-1].copy())):
            assert part.frees(asked).tolist() == [part.free(name).tolist() for name in asked]
            offered = [part.allocatable(name).tolist() for name in asked]
            assert part.allocatables(asked).tolist() == offered
    assert table.nonzeros.tolist() == [table.nonzero_cpu.tolist(), table.nonzero_memory.tolist()]
