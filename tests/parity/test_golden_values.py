# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Scores worked out by hand from kube-scheduler's formulas, of our plugins.

They stand apart from the reference, so that a misreading which both share shows here.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from enbloc.model.node import Node
from enbloc.model.pods import NodeSelectorTerm, Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector, SpreadConstraint
from enbloc.model.taints import Effect, Taint
from tests.parity import asking
from tests.parity.hosts import Host, Hosts
from tests.parity.settings import Settings

GI = 2**30
MI = 2**20
#: A quarter of the node's cpu, half of its memory.
NODE = Node("n", allocatable=(("cpu", 4000), ("memory", 10 * GI), ("pods", 110)))
ASKED = (("cpu", 1000), ("memory", 5 * GI), ("pods", 1))
QUARTER_AND_HALF = PodSpec(requests=ASKED, nonzero_cpu=1000, nonzero_memory=5 * GI)
WEB = Selector((Requirement("app", Operator.IN, ("web",)),))


def pod(spec: PodSpec | None = None, name: str = "pod", **facts: Any) -> Pod:
    made = Pod(PodKey("default", name), PodUID(name), spec or PodSpec(), labels=(("app", "web"),))
    return replace(made, **facts)


def scores(
    name: str, who: Pod, *hosts: Host, settings: Settings | None = None
) -> tuple[list[int], list[int]]:
    """Raw and normalised, every node being feasible."""
    settings = settings or Settings()
    snapshot = Hosts(hosts, {"default": ()}).snapshot()
    plugin, every = asking.plugin_of(name, settings), np.ones(len(hosts), np.bool_)
    found = asking.scores_of(plugin, who, snapshot, every)
    if found is None:  # skipped: the plugin adds nothing to any node
        return [0] * len(hosts), [0] * len(hosts)
    return found[0].astype(int).tolist(), found[1].astype(int).tolist()


def on(node: Node, *pods: Pod) -> Host:
    return Host(node, tuple(replace(each, node=node.name) for each in pods))


@pytest.mark.parametrize(
    ("settings", "score"),
    [
        (Settings(fit_resources=(("cpu", 1),)), 75),
        (Settings(), (75 + 50) // 2),
        (Settings(fit_resources=(("cpu", 3), ("memory", 1))), (3 * 75 + 50) // 4),
        (Settings(strategy="MostAllocated"), (25 + 50) // 2),
        # (25 + 50) / 2 = 37.5, rounded away from zero
        (Settings(strategy="RequestedToCapacityRatio", shape=((0, 0), (100, 10))), 38),
        # cpu: 100 + (−100 × 25) / 40 = 100 − 62.5, truncated to 100 − 62; memory: 0, not counted
        (Settings(strategy="RequestedToCapacityRatio", shape=((0, 10), (40, 0))), 38),
    ],
)
def test_resources_score_by_each_strategy(settings: Settings, score: int) -> None:
    who = pod(QUARTER_AND_HALF)
    assert scores("NodeResourcesFit", who, on(NODE), settings=settings)[0] == [score]


def test_a_container_that_names_nothing_counts_as_100_milli_and_200_mebibytes() -> None:
    who = pod(PodSpec(nonzero_cpu=100, nonzero_memory=200 * MI))
    sits = pod(PodSpec(nonzero_cpu=100, nonzero_memory=200 * MI), "sits")
    # cpu: 3800 / 4000 = 95; memory: (10240 − 400) / 10240 = 96.09…
    assert scores("NodeResourcesFit", who, on(NODE, sits))[0] == [(95 + 96) // 2]


def test_balance_compares_how_even_the_node_is_with_the_pod_and_without() -> None:
    # With it σ = |0.25 − 0.5| / 2 = 0.125, so 87; without it 100: 50 + (50 + 87 − 100) // 2
    even = pod(QUARTER_AND_HALF, "sits")
    lone = pod(PodSpec(requests=(("cpu", 1000), ("pods", 1))), "sits")
    assert scores("NodeResourcesBalancedAllocation", pod(QUARTER_AND_HALF), on(NODE))[0] == [68]
    # Before 87, with both 0.5 and 1.0: σ = 0.25, so 75: 50 + (50 + 75 − 87) // 2
    assert scores("NodeResourcesBalancedAllocation", pod(QUARTER_AND_HALF), on(NODE, even))[0] == [
        69
    ]
    # Before |0.25 − 0| / 2, so 87; with it both are 0.5, so 100: 50 + (50 + 100 − 87) // 2
    assert scores("NodeResourcesBalancedAllocation", pod(QUARTER_AND_HALF), on(NODE, lone))[0] == [
        81
    ]


def test_the_fewest_soft_taints_are_best() -> None:
    taint = Taint("spot", "", Effect.PREFER_NO_SCHEDULE)
    hosts = [
        on(Node(f"n{count}", taints=tuple(replace(taint, value=str(n)) for n in range(count))))
        for count in (0, 1, 3)
    ]
    assert scores("TaintToleration", pod(), *hosts) == ([0, 1, 3], [100, 67, 0])


def test_preferred_node_affinity_adds_weights_up() -> None:
    def prefers(weight: int, *zones: str) -> tuple[int, NodeSelectorTerm]:
        return weight, NodeSelectorTerm((Requirement("zone", Operator.IN, zones),))

    who = pod(PodSpec(preferred_node_affinity=(prefers(1, "a", "b"), prefers(2, "b", "c"))))
    hosts = [on(Node(zone, labels=(("zone", zone),))) for zone in "abcd"]
    assert scores("NodeAffinity", who, *hosts) == ([1, 3, 2, 0], [33, 100, 66, 0])


@pytest.mark.parametrize(
    ("max_skew", "raw", "final"),
    [
        # Three zones: the weight is ln 5 = 1.609…
        (1, [3, 2, 0], [0, 33, 100]),
        (5, [7, 6, 4], [57, 71, 100]),
    ],
)
def test_soft_spreading_weighs_counts_by_the_number_of_domains(
    max_skew: int, raw: list[int], final: list[int]
) -> None:
    constraint = SpreadConstraint("zone", max_skew, hard=False, selector=WEB)
    sitting = [pod(name=f"sits-{number}") for number in range(3)]
    hosts = [
        on(Node(zone, labels=(("zone", zone),)), *sitting[first:last])
        for zone, first, last in (("a", 0, 2), ("b", 2, 3), ("c", 0, 0))
    ]
    lacking = on(Node("d"), pod(name="elsewhere"))
    who = pod(PodSpec(spread=(constraint,)))
    assert scores("PodTopologySpread", who, *hosts, lacking) == ([*raw, -1], [*final, 0])


def test_inter_pod_affinity_is_normalised_by_a_quotient_of_floats() -> None:
    def drawn(weight: int, name: str) -> Pod:
        term = PodAffinityTerm("zone", WEB)
        return pod(PodSpec(pod_affinity=PodAffinity(preferred=((weight, term),))), name)

    hosts = [
        on(Node("a", labels=(("zone", "a"),))),
        on(Node("b", labels=(("zone", "b"),)), drawn(29, "draws-a-little")),
        on(Node("c", labels=(("zone", "c"),)), drawn(100, "draws-a-lot")),
    ]
    # 100 × (29 / 100) = 28.999…
    assert scores("InterPodAffinity", pod(), *hosts) == ([0, 29, 100], [0, 28, 100])


@pytest.mark.parametrize(
    ("images", "size", "score"),
    [
        (("a:1",), 46 * MI, 0),  # half of it is the least that counts
        (("a:1",), 500 * MI, 100 * (250 - 23) // (1000 - 23)),
        (("a:1",), 4000 * MI, 100),
        (("a:1", "a:1"), 500 * MI, 100 * (500 - 23) // (2000 - 23)),
        (("b:1",), 500 * MI, 0),
    ],
)
def test_images_count_by_size_and_by_how_many_nodes_have_them(
    images: tuple[str, ...], size: int, score: int
) -> None:
    hosts = (on(Node("a", images=(("a:1", size),))), on(Node("b")))
    assert scores("ImageLocality", pod(PodSpec(images=images)), *hosts)[0] == [score, 0]
