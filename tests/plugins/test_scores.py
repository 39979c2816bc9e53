# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Golden scores, one table per formula."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.framework import decide
from enbloc.framework.decide import Scores
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import NodeSelectorTerm, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.plugins.image_locality import ImageLocality
from enbloc.plugins.node_affinity import NodeAffinity
from enbloc.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from enbloc.plugins.node_resources_fit.plugin import NodeResourcesFit
from tests.world.builders import node, pod, spec
from tests.world.tables import nodes, snapshot

GPU = "nvidia.com/gpu"
MiB = 2**20


def scores(plugin: decide.PreScore, of: PodSpec, table: Nodes) -> Scores | None:
    scorer = plugin.pre_score(pod(of), snapshot(table))
    return None if scorer is None else scorer.score(pod(of), table)


def score(plugin: decide.PreScore, of: PodSpec, table: Nodes) -> int | None:
    """Of the first node."""
    found = scores(plugin, of, table)
    return None if found is None else int(found[0])


def offers(**amounts: int) -> Node:
    """A node with these bare amounts, `gpu` being the extended resource."""
    named = {GPU if name == "gpu" else name: value for name, value in amounts.items()}
    return Node("a", allocatable=tuple(sorted(named.items())))


def asks(cpu: int = 0, memory: int = 0, gpu: int = 0, **more: Any) -> PodSpec:
    """A class that requests and is scored by these bare amounts."""
    named = (("cpu", cpu), ("memory", memory), (GPU, gpu), ("pods", 1))
    requests = tuple((name, value) for name, value in named if value)
    return PodSpec(requests, nonzero_cpu=cpu, nonzero_memory=memory, **more)


# ── NodeResourcesFit ─────────────────────────────────────────────────────────────────────────

EVEN = ((0, 0), (100, 10))
BOTH = (("cpu", 1), ("memory", 1))


@pytest.mark.parametrize(
    ("strategy", "offered", "asked", "expected"),
    [
        pytest.param("LeastAllocated", (4000, 4000), (1000, 1000), 75, id="least: three quarters"),
        pytest.param("LeastAllocated", (3, 3), (1, 1), 66, id="least: rounded down"),
        pytest.param("LeastAllocated", (4, 4), (5, 1), 37, id="least: too much is 0, and counts"),
        pytest.param("LeastAllocated", (4, 0), (1, 1), 75, id="least: not offered"),
        pytest.param("LeastAllocated", (0, 0), (1, 1), 0, id="least: nothing is offered"),
        pytest.param("MostAllocated", (4000, 4000), (1000, 1000), 25, id="most: a quarter"),
        pytest.param("MostAllocated", (3, 3), (2, 1), 49, id="most: (66 + 33) / 2, rounded down"),
        pytest.param("MostAllocated", (4, 4), (9, 1), 62, id="most: too much is all of it"),
        pytest.param("MostAllocated", (4, 0), (1, 9), 25, id="most: not offered"),
        pytest.param("MostAllocated", (0, 0), (1, 1), 0, id="most: nothing is offered"),
        pytest.param("RequestedToCapacityRatio", (4, 4), (1, 2), 38, id="ratio: 37.5 rounds up"),
        pytest.param("RequestedToCapacityRatio", (8, 4), (1, 1), 19, id="ratio: 18.5 does"),
        pytest.param("RequestedToCapacityRatio", (100, 4), (20, 1), 23, id="ratio: 22.5 does"),
        pytest.param("RequestedToCapacityRatio", (4, 4), (2, 0), 50, id="ratio: 0 does not count"),
        pytest.param("RequestedToCapacityRatio", (4, 4), (0, 0), 0, id="ratio: nothing counts"),
        pytest.param("RequestedToCapacityRatio", (4, 4), (9, 2), 75, id="ratio: too much is all"),
        pytest.param("RequestedToCapacityRatio", (4, 0), (1, 9), 25, id="ratio: not offered"),
    ],
)  # fmt: skip
def test_fit_scores_by_how_full_the_node_gets(
    strategy: str, offered: tuple[int, int], asked: tuple[int, int], expected: int
) -> None:
    fit = NodeResourcesFit(strategy=strategy, shape=EVEN)
    table = nodes(offers(cpu=offered[0], memory=offered[1]))

    assert score(fit, asks(*asked), table) == expected


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        pytest.param("LeastAllocated", (3 * 75 + 50) // 4, id="least"),
        pytest.param("MostAllocated", (3 * 25 + 50) // 4, id="most"),
        pytest.param("RequestedToCapacityRatio", 31, id="ratio: 31.25 is rounded down"),
    ],
)
def test_fit_weighs_the_resources(strategy: str, expected: int) -> None:
    weighed = NodeResourcesFit(strategy=strategy, resources=(("cpu", 3), ("memory", 1)), shape=EVEN)

    assert score(weighed, asks(1, 2), nodes(offers(cpu=4, memory=4))) == expected


@pytest.mark.parametrize(
    ("shape", "used", "expected"),
    [
        pytest.param(((0, 10), (30, 0)), 1, 97, id="97: towards zero, not down"),
        pytest.param(((0, 0), (30, 10)), 1, 3, id="3: towards zero"),
        pytest.param(((0, 0), (40, 7), (100, 7)), 70, 70, id="a plateau"),
        pytest.param(((50, 3), (60, 9)), 10, 30, id="before the first point"),
    ],
)
def test_fit_scores_by_the_configured_line(
    shape: tuple[tuple[int, int], ...], used: int, expected: int
) -> None:
    fit = NodeResourcesFit(
        strategy="RequestedToCapacityRatio", resources=(("cpu", 1),), shape=shape
    )

    assert score(fit, asks(used), nodes(offers(cpu=100))) == expected


def test_fit_counts_an_extended_resource_only_for_those_who_request_it() -> None:
    fit = NodeResourcesFit(strategy="MostAllocated", resources=(("cpu", 1), (GPU, 9)))
    table = nodes(offers(cpu=4, gpu=8))

    assert score(fit, asks(1), table) == 25
    assert score(fit, asks(1, gpu=4), table) == (25 + 9 * 50) // 10


def test_fit_counts_storage_of_a_pod_that_requests_none() -> None:
    fit = NodeResourcesFit(strategy="MostAllocated", resources=(("ephemeral-storage", 1),))
    table = nodes(node("a", ephemeral_storage=10))
    table.place(0, PodSpec((("ephemeral-storage", 4), ("pods", 1))))

    assert score(fit, PodSpec(), table) == 40


def test_fit_scores_by_the_containers_where_pod_level_requests_differ() -> None:
    of_containers = asks(3, 3, fit_scored=(("cpu", 1), ("memory", 1)))

    assert score(NodeResourcesFit(), of_containers, nodes(offers(cpu=4, memory=4))) == 75


# ── NodeResourcesBalancedAllocation ──────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("placed", "asked", "expected"),
    [
        pytest.param((0, 0), (50, 50), 75, id="as balanced as before"),
        pytest.param((0, 0), (50, 25), 68, id="87 after 100: less balanced"),
        pytest.param((50, 0), (0, 50), 87, id="100 after 75: better balanced"),
        pytest.param((100, 0), (0, 100), 100, id="the best there is"),
        pytest.param((0, 0), (100, 0), 50, id="the worst there is"),
        pytest.param((80, 80), (90, 10), 72, id="more than all is all of it"),
        pytest.param((33, 0), (0, 1), 75, id="84 after 83: half a point is lost"),
    ],
)
def test_balance_compares_the_node_with_and_without_the_pod(
    placed: tuple[int, int], asked: tuple[int, int], expected: int
) -> None:
    table = nodes(offers(cpu=100, memory=100))
    table.place(0, asks(*placed))

    assert score(NodeResourcesBalancedAllocation(), asks(*asked), table) == expected


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        pytest.param({"cpu": 10, "memory": 10, "gpu": 10}, 66, id="83 of three: deviation"),
        pytest.param({"cpu": 10, "gpu": 10}, 70, id="90 of two: half the difference"),
        pytest.param({"gpu": 10}, 75, id="one is always in balance"),
        pytest.param({}, 75, id="none as well"),
    ],
)
def test_balance_takes_the_resources_that_the_node_offers(
    offered: dict[str, int], expected: int
) -> None:
    three = NodeResourcesBalancedAllocation(resources=("cpu", "memory", GPU))
    # Another node offers everything, so that all three are known.
    table = nodes(offers(**offered), replace(offers(cpu=10, memory=10, gpu=10), name="b"))

    found = scores(three, asks(2, 4, 6) if "memory" in offered else asks(4, 4, 6), table)

    assert found is not None
    assert found[0] == expected


def test_balance_has_nothing_to_say_of_a_pod_that_requests_nothing() -> None:
    best_effort = PodSpec()
    three = NodeResourcesBalancedAllocation(resources=("cpu", GPU))

    assert best_effort.nonzero_cpu
    assert score(NodeResourcesBalancedAllocation(), best_effort, nodes(node("a", cpu=1))) is None
    assert score(three, asks(memory=5), nodes(node("a", cpu=1))) is None


def test_balance_leaves_out_an_extended_resource_that_is_not_requested() -> None:
    both = NodeResourcesBalancedAllocation(resources=("cpu", GPU))
    table = nodes(offers(cpu=100, gpu=100))

    assert score(both, asks(50), table) == 75
    assert score(both, asks(50, gpu=50), table) == 75
    assert score(both, asks(gpu=100), table) == 50


# ── ImageLocality ────────────────────────────────────────────────────────────────────────────


def holding(*sizes: int, name: str = "a") -> Node:
    """A node that has image-0:1, image-1:1, …, of so many MiB each; 0 = not there."""
    images = tuple((f"image-{n}:1", size * MiB) for n, size in enumerate(sizes) if size)
    return Node(name, images=images)


ONE = PodSpec(images=("image-0:1",))
TWO = PodSpec(images=("image-0:1", "image-1:1"))


@pytest.mark.parametrize(
    ("of", "table", "expected"),
    [
        pytest.param(ONE, [holding(400)], 38, id="400 MiB, on every node"),
        pytest.param(ONE, [holding(400), *map(Node, "bcd")], 7, id="400 MiB, on one of four"),
        pytest.param(ONE, [holding(23)], 0, id="23 MiB are the least"),
        pytest.param(ONE, [holding(33)], 1, id="10 MiB more"),
        pytest.param(ONE, [holding(1000)], 100, id="1000 MiB are the most"),
        pytest.param(ONE, [holding(9000)], 100, id="more than the most"),
        pytest.param(TWO, [holding(1000)], 49, id="each container raises the most"),
        pytest.param(TWO, [holding(500, 500)], 49, id="images add up"),
        pytest.param(TWO, [holding(500, 500), holding(500, name="b")], 36, id="500 + 500 / 2"),
        pytest.param(
            PodSpec(images=("image-0:1", "image-0:1")), [holding(500)], 49, id="used twice"
        ),
        pytest.param(
            replace(ONE, image_volumes=("image-1:1",)),
            [holding(100, 900)],
            100,
            id="a volume does not raise the most",
        ),
        pytest.param(ONE, [holding(0, 9), Node("b")], None, id="no node has it"),
        pytest.param(PodSpec(), [holding(100)], None, id="no image is known of the pod"),
    ],
)
def test_images_that_are_there_score_by_size_and_spread(
    of: PodSpec, table: list[Node], expected: int | None
) -> None:
    assert score(ImageLocality(), of, nodes(*table)) == expected


def test_a_node_without_the_image_scores_nothing() -> None:
    found = scores(ImageLocality(), ONE, nodes(holding(1000), Node("b")))

    assert found is not None
    assert found.tolist() == [48, 0]


# ── NodeAffinity ─────────────────────────────────────────────────────────────────────────────


def zone(*values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm((Requirement("zone", Operator.IN, values),))


def test_preferred_terms_add_up_and_the_best_node_gets_100() -> None:
    table = nodes(*(Node(name, labels=(("zone", name),)) for name in "abc"))
    of = PodSpec(preferred_node_affinity=((5, zone("a", "b")), (3, zone("b")), (9, zone("x"))))
    affinity = NodeAffinity()

    found = scores(affinity, of, table)

    assert found is not None
    assert found.tolist() == [5, 8, 0]
    assert affinity.normalize(found).tolist() == [62, 100, 0]


def test_an_empty_preference_matches_no_node_and_weight_0_adds_nothing() -> None:
    table = nodes(Node("a", labels=(("zone", "a"),)))
    of = PodSpec(preferred_node_affinity=((5, NodeSelectorTerm()), (0, zone("a"))))

    assert score(NodeAffinity(), of, table) == 0


def test_the_profile_s_preference_counts_for_every_pod() -> None:
    table = nodes(Node("a", labels=(("zone", "a"),)), Node("b"))
    added = NodeAffinity(added_preferred=((7, zone("a")),))
    of = PodSpec(preferred_node_affinity=((2, zone("a")),))

    assert score(added, PodSpec(), table) == 7
    assert score(added, of, table) == 9
    assert score(NodeAffinity(), spec(cpu=1), table) is None
