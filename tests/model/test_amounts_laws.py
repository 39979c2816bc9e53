# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""No amount that the API takes makes a sum wrap: the tables against integers without end."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from enbloc.config import default_profiles
from enbloc.engine.state.capacity import free_capacity
from enbloc.engine.trial import Trial
from enbloc.ledgers import Ledgers
from enbloc.model.amounts import sums
from enbloc.model.nodes import Nodes
from enbloc.model.placed import PlacedPods
from enbloc.model.pods import Pod
from enbloc.model.resources import AMOUNT_LIMIT, REQUEST_LIMIT, ResourceSpace
from enbloc.model.snapshot import Snapshot
from enbloc.model.workloads import Workloads
from enbloc.wire.codec import NodeObject, PodObject, node, pod
from tests.effort import examples

RESOURCES = ("cpu", "memory", "ephemeral-storage", "example.com/x", "hugepages-2Mi")
MOST_SCORE = 10_000

quantities = st.one_of(
    st.integers(0, 2**64).map(str),
    st.builds(
        "{}{}".format,
        st.integers(0, 10**12),
        st.sampled_from(["m", "k", "Mi", "Gi", "Ti", "Pi", "Ei", "E", "e3", "e15", "e18", "e-3"]),
    ),
    st.sampled_from(["9223372036854775807", "9223372036854775807m", "64Pi", "8Ei", "1e19", "0"]),
)
some = st.dictionaries(st.sampled_from(RESOURCES), quantities, min_size=1, max_size=5)


def read_pod(name: str, requests: Mapping[str, str]) -> Pod:
    spec = {"containers": [{"name": "c", "resources": {"requests": requests}}]}
    meta = {"name": name, "namespace": "n", "uid": name}
    return pod(msgspec.convert({"metadata": meta, "spec": spec}, PodObject))


def table(offered: list[Mapping[str, str]]) -> Nodes:
    nodes = Nodes(ResourceSpace(), Ledgers())
    for index, each in enumerate(offered):
        meta, ready = {"name": f"n{index}", "uid": ""}, [{"type": "Ready", "status": "True"}]
        status = {"allocatable": {"pods": "110", **each}, "conditions": ready}
        nodes.put(node(msgspec.convert({"metadata": meta, "status": status}, NodeObject)))
    return nodes


@given(
    offered=st.lists(some, min_size=1, max_size=4),
    asked=st.lists(some, min_size=1, max_size=4),
    often=st.sampled_from([1, 3, 130, 700]),
    copied=st.booleans(),
)
@examples(60)
def test_what_is_free_is_what_integers_without_end_say_so_far_as_it_can_be_told(
    offered: list[Mapping[str, str]],
    asked: list[Mapping[str, str]],
    often: int,
    copied: bool,
) -> None:
    """Exact while it is above −2⁶⁰, below that no less short; and all that came may leave again."""
    nodes, pods = table(offered), [read_pod(f"p{n}", each) for n, each in enumerate(asked)]
    before = {name: nodes.free(name).tolist() for name in RESOURCES}
    rooms = {name: list(free) for name, free in before.items()}
    nonzero = [[int(each) for each in line] for line in nodes.nonzeros]
    for _ in range(often):
        for number, each in enumerate(pods):
            row = number % len(nodes)
            nodes.place(row, each.spec)
            for name, amount in each.spec.requests:
                if name in rooms and nodes.space.find(name) is not None:
                    rooms[name][row] -= amount
            nonzero[0][row] += each.spec.nonzero_cpu
            nonzero[1][row] += each.spec.nonzero_memory
    tables = nodes.snapshot().fork() if copied else nodes
    for name, free in rooms.items():
        for told, exact in zip(tables.free(name).tolist(), free, strict=True):
            assert told == exact or (exact <= told <= -(2**59)), name
    counted = [each for line in nonzero for each in line]
    for told, exact in zip(tables.nonzeros.ravel().tolist(), counted, strict=True):
        assert told == exact or exact >= told >= 2**59
    _ask(tables, pods)
    for number, each in enumerate(pods):
        for _ in range(often):
            tables.place(number % len(nodes), each.spec, -1)
    assert {name: tables.free(name).tolist() for name in RESOURCES} == before


def _ask(nodes: Nodes, pods: list[Pod]) -> None:
    """Every plugin answers with scores in its range, and nobody goes where he does not fit."""
    [profile] = default_profiles().values()
    snapshot = Snapshot(nodes.snapshot(), PlacedPods(), {}, Workloads(), {})
    for each in pods:
        ranking = Trial(profile, snapshot).ranking(each)
        assert ranking.totals.max(initial=0) <= MOST_SCORE
        for row in np.flatnonzero(ranking.mask).tolist():
            assert all(nodes.free(name)[row] >= amount for name, amount in each.spec.requests)
    free_capacity(nodes, RESOURCES[:3])


@given(asked=some)
@examples(100)
def test_a_request_above_what_the_tables_hold_fits_no_node(asked: Mapping[str, str]) -> None:
    """Semantics §9.5."""
    nodes = table([dict.fromkeys(RESOURCES, "9223372036854775807")])
    each = read_pod("p", asked)
    assert all(amount <= REQUEST_LIMIT for _, amount in each.spec.requests)
    assert all(nodes.allocatable(name)[0] == AMOUNT_LIMIT for name in RESOURCES[1:])
    [profile] = default_profiles().values()
    snapshot = Snapshot(nodes.snapshot(), PlacedPods(), {}, Workloads(), {})
    fits = all(amount <= AMOUNT_LIMIT for _, amount in each.spec.requests)
    assert bool(Trial(profile, snapshot).ranking(each).mask.any()) is fits


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=3, max_size=3), max_size=4))
@examples(200)
def test_sums_over_nodes_are_exact(lines: list[list[int]]) -> None:
    matrix = np.array(lines, np.int64).reshape(-1, 3)
    assert sums(matrix) == [sum(line) for line in lines]


def test_a_row_that_moves_takes_its_huge_amounts_along() -> None:
    nodes = table([{"memory": "1Gi"}] * 3)
    huge = read_pod("p", {"memory": "64Pi"}).spec
    for _ in range(200):
        nodes.place(2, huge)
        nodes.place(0, huge)
    nodes.drop("n0")
    assert nodes.row("n2") == 0
    for _ in range(199):
        nodes.place(0, huge, -1)
    assert nodes.free("memory")[0] == 2**30 - 2**56
    nodes.place(0, huge, -1)
    assert nodes.free("memory").tolist() == [2**30, 2**30]


def test_columns_of_resources_that_no_node_offers_any_more_are_given_back() -> None:
    """Semantics §9.4: names of resources come and go with nodes and their devices."""
    nodes = table([{"memory": "8Gi", "example.com/kept": "9"}])
    kept, huge = (
        read_pod("a", {"memory": "1Gi", "example.com/kept": "2", "example.com/r7-3": "1"}).spec,
        read_pod("b", {"memory": "64Pi", "example.com/kept": "64Pi"}).spec,
    )
    nodes.place(0, kept)
    nodes.place(0, huge)
    looking = nodes.snapshot()
    for number in range(100):
        offers = tuple(sorted((f"example.com/r{number}-{n}", 4) for n in range(50)))
        first = nodes.node("n0")
        assert first is not None
        nodes.put(replace(first, name="n1", allocatable=offers))
        assert len(nodes.space) <= 200
    nodes.drop("n1")
    assert looking.free("example.com/kept")[0] == 9 - 2 - 2**56
    assert nodes.free("example.com/kept")[0] == 9 - 2 - 2**56
    nodes.place(0, huge, -1)
    nodes.place(0, kept, -1)
    assert nodes.free("memory")[0] == 8 * 2**30
    assert nodes.free("example.com/kept")[0] == 9
