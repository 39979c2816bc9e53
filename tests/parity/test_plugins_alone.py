# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Each plugin of ours says of every node what a plain reading of kube-scheduler's rules says."""

from collections import Counter
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings

from enbloc.framework.status import Status
from tests.effort import times
from tests.parity import asking, reference, reference_nodes
from tests.parity.cases import INCOMING, Case, cases
from tests.parity.chance import Aspect

#: Worlds per question; each is asked about `INCOMING` pods.
#: Hypothesis runs inside of these tests, which it does not know.
pytestmark = pytest.mark.hypothesis
WORLDS = times(300)
checked = settings(max_examples=WORLDS, derandomize=True, database=None)


class Asked(NamedTuple):
    """A plugin, and what has to be in play in a world for it to have something to say."""

    name: str
    aspects: tuple[Aspect, ...]

    def __str__(self) -> str:
        return f"{self.name} with {' '.join(aspect.name for aspect in self.aspects)}"


FILTERS = (
    Asked("NodeUnschedulable", (Aspect.TAINTS,)),
    Asked("NodeName", (Aspect.NODE_NAME,)),
    Asked("TaintToleration", (Aspect.TAINTS,)),
    Asked("NodeAffinity", (Aspect.NODE_AFFINITY,)),
    Asked("NodeAffinity", (Aspect.NODE_AFFINITY, Aspect.SETTINGS)),
    Asked("NodePorts", (Aspect.PORTS,)),
    Asked("NodeResourcesFit", (Aspect.RESOURCES,)),
    Asked("NodeResourcesFit", (Aspect.RESOURCES, Aspect.SETTINGS)),
    Asked("PodTopologySpread", (Aspect.HARD_SPREAD,)),
    Asked("PodTopologySpread", (Aspect.HARD_SPREAD, Aspect.NODE_AFFINITY, Aspect.TAINTS)),
    Asked("PodTopologySpread", (Aspect.WORKLOADS, Aspect.SETTINGS)),
    Asked("InterPodAffinity", (Aspect.HARD_AFFINITY,)),
    Asked("NodeDeclaredFeatures", (Aspect.FEATURES,)),
)
SCORES = (
    Asked("TaintToleration", (Aspect.TAINTS,)),
    Asked("NodeAffinity", (Aspect.NODE_AFFINITY,)),
    Asked("NodeResourcesFit", (Aspect.RESOURCES,)),
    Asked("NodeResourcesFit", (Aspect.RESOURCES, Aspect.SETTINGS)),
    Asked("NodeResourcesBalancedAllocation", (Aspect.RESOURCES,)),
    Asked("NodeResourcesBalancedAllocation", (Aspect.RESOURCES, Aspect.SETTINGS)),
    Asked("PodTopologySpread", (Aspect.SOFT_SPREAD,)),
    Asked("PodTopologySpread", (Aspect.SOFT_SPREAD, Aspect.NODE_AFFINITY, Aspect.TAINTS)),
    Asked("PodTopologySpread", (Aspect.WORKLOADS,)),
    Asked("InterPodAffinity", (Aspect.SOFT_AFFINITY,)),
    Asked("InterPodAffinity", (Aspect.HARD_AFFINITY, Aspect.SETTINGS)),
    Asked("ImageLocality", (Aspect.IMAGES,)),
)


@pytest.mark.parametrize("asked", FILTERS, ids=str)
def test_a_filter_refuses_the_nodes_that_the_reference_refuses_and_says_why(asked: Asked) -> None:
    name = asked.name
    seen = Counter[str]()

    @checked
    @given(cases(*asked.aspects))
    def holds(case: Case) -> None:
        plugin, snapshot = asking.plugin_of(name, case.settings), case.world.snapshot()
        for pod in case.incoming:
            tell = partial(case.world.about, pod, case.settings)
            expected = reference.FILTERS[name](pod, case.world, case.settings)
            refused = sum(map(bool, expected))
            seen["cases"] += 1
            seen["refused somewhere"] += refused > 0
            seen["refused here and not there"] += 0 < refused < len(expected)
            evaluator = asking.filter_of(plugin, pod, snapshot)
            if isinstance(evaluator, Status):
                assert name == "NodeAffinity"
                assert reference.conflict(pod), tell()
                assert evaluator.message == "pod affinity terms conflict"
                continue
            if evaluator is None:
                assert not refused, tell()
                continue
            mask = evaluator.filter(pod, snapshot.nodes)
            assert mask.tolist() == [not reasons for reasons in expected], tell()
            why = Counter(reason for reasons in expected for reason in reasons)
            assert asking.explained(evaluator, pod, snapshot, mask) == why, tell()

    holds()
    assert seen["cases"] == WORLDS * INCOMING
    assert seen["refused somewhere"] > 0.05 * seen["cases"]
    assert seen["refused here and not there"] > 0.04 * seen["cases"]


def test_node_affinity_names_the_only_nodes_that_come_into_question() -> None:
    seen = Counter[str]()

    @checked
    @given(cases(Aspect.NODE_AFFINITY))
    def holds(case: Case) -> None:
        plugin, snapshot = asking.plugin_of("NodeAffinity", case.settings), case.world.snapshot()
        for pod in case.incoming:
            names = reference_nodes.affinity_names(pod.spec)
            seen["cases"] += 1
            seen["named"] += bool(names)
            seen["in conflict"] += names == frozenset()
            refused = isinstance(asking.filter_of(plugin, pod, snapshot), Status)
            assert refused == (names == frozenset())
            assert refused or asking.names_of(plugin, pod, snapshot) == names

    holds()
    assert seen["cases"] == WORLDS * INCOMING
    assert seen["named"] > 0.03 * seen["cases"]
    assert seen["in conflict"] > 0.003 * seen["cases"]


@pytest.mark.parametrize("asked", SCORES, ids=str)
def test_a_score_is_the_reference_s_before_and_after_it_is_normalised(asked: Asked) -> None:
    name = asked.name
    seen = Counter[str]()

    @checked
    @given(cases(*asked.aspects))
    def holds(case: Case) -> None:
        plugin, snapshot = asking.plugin_of(name, case.settings), case.world.snapshot()
        for number, pod in enumerate(case.incoming):
            # Not what is feasible, but some of the nodes: scores must not read more than these.
            rows = [row for row in range(len(case.world.hosts)) if number < 2 or row % 3 != number]
            if not rows:
                continue
            tell = partial(case.world.about, pod, case.settings)
            feasible = np.isin(np.arange(len(case.world.hosts)), rows)
            raw = reference.raw_scores(name, pod, case.world, case.settings, rows)
            final = reference.final_scores(name, pod, case.world, case.settings, rows)
            seen["cases"] += 1
            seen["varied"] += len(set(final.values())) > 1
            scores = asking.scores_of(plugin, pod, snapshot, feasible)
            if scores is None:
                assert raw is None or not any(final.values()), tell()
                continue
            if raw is not None:
                assert scores[0].tolist() == list(raw.values()), tell()
            assert scores[1].astype(int).tolist() == list(final.values()), tell()

    holds()
    assert seen["cases"] > 0.6 * WORLDS * INCOMING
    assert seen["varied"] > 0.1 * seen["cases"]
