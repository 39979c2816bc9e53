# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Each plugin of ours says of every node what a plain reading of kube-scheduler's rules says."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from enbloc.framework.status import Status
from tests.parity import asking, reference, reference_nodes
from tests.parity.cases import INCOMING, Case, cases
from tests.parity.chance import Aspect

#: Worlds per plugin; each is asked about `INCOMING` pods.
WORLDS = 350
checked = settings(max_examples=WORLDS, deadline=None, derandomize=True, database=None)

#: What has to be in play for a plugin to have something to say.
FILTER_ASPECTS = {
    "NodeUnschedulable": (Aspect.TAINTS,),
    "NodeName": (Aspect.NODE_NAME,),
    "TaintToleration": (Aspect.TAINTS,),
    "NodeAffinity": (Aspect.NODE_AFFINITY,),
    "NodePorts": (Aspect.PORTS,),
    "NodeResourcesFit": (Aspect.RESOURCES,),
    "PodTopologySpread": (Aspect.HARD_SPREAD,),
    "InterPodAffinity": (Aspect.HARD_AFFINITY,),
    "NodeDeclaredFeatures": (Aspect.FEATURES,),
}
SCORE_ASPECTS = {
    "TaintToleration": (Aspect.TAINTS,),
    "NodeAffinity": (Aspect.NODE_AFFINITY,),
    "NodeResourcesFit": (Aspect.RESOURCES,),
    "NodeResourcesBalancedAllocation": (Aspect.RESOURCES,),
    "PodTopologySpread": (Aspect.SOFT_SPREAD,),
    "InterPodAffinity": (Aspect.SOFT_AFFINITY,),
    "ImageLocality": (Aspect.IMAGES,),
}


@pytest.mark.parametrize("name", FILTER_ASPECTS)
def test_a_filter_refuses_the_nodes_that_the_reference_refuses_and_says_why(name: str) -> None:
    seen = Counter[str]()

    @checked
    @given(cases(*FILTER_ASPECTS[name]))
    def holds(case: Case) -> None:
        plugin, snapshot = asking.plugin_of(name, case.settings), case.world.snapshot()
        for pod in case.incoming:
            expected = reference.FILTERS[name](pod, case.world, case.settings)
            refused = sum(map(bool, expected))
            seen["cases"] += 1
            seen["refused somewhere"] += refused > 0
            seen["refused here and not there"] += 0 < refused < len(expected)
            evaluator = asking.filter_of(plugin, pod, snapshot)
            if isinstance(evaluator, Status):
                assert name == "NodeAffinity"
                assert reference.conflict(pod), pod
                assert evaluator.message == "pod affinity terms conflict"
                continue
            if evaluator is None:
                assert not refused, pod
                continue
            mask = evaluator.filter(pod, snapshot.nodes)
            assert mask.tolist() == [not reasons for reasons in expected], pod
            why = Counter(reason for reasons in expected for reason in reasons)
            assert asking.explained(evaluator, pod, snapshot, mask) == why, pod

    holds()
    assert seen["cases"] == WORLDS * INCOMING
    assert seen["refused somewhere"] > 0.15 * seen["cases"]
    assert seen["refused here and not there"] > 0.1 * seen["cases"]


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


@pytest.mark.parametrize("name", SCORE_ASPECTS)
def test_a_score_is_the_reference_s_before_and_after_it_is_normalised(name: str) -> None:
    seen = Counter[str]()

    @checked
    @given(cases(*SCORE_ASPECTS[name]))
    def holds(case: Case) -> None:
        plugin, snapshot = asking.plugin_of(name, case.settings), case.world.snapshot()
        for number, pod in enumerate(case.incoming):
            # Not what is feasible, but some of the nodes: scores must not read more than these.
            rows = [row for row in range(len(case.world.hosts)) if number < 2 or row % 3 != number]
            if not rows:
                continue
            feasible = np.isin(np.arange(len(case.world.hosts)), rows)
            raw = reference.raw_scores(name, pod, case.world, case.settings, rows)
            final = reference.final_scores(name, pod, case.world, case.settings, rows)
            seen["cases"] += 1
            seen["varied"] += len(set(final.values())) > 1
            scores = asking.scores_of(plugin, pod, snapshot, feasible)
            if scores is None:
                assert raw is None or not any(final.values()), pod
                continue
            if raw is not None:
                assert scores[0].tolist() == list(raw.values()), pod
            assert scores[1].astype(int).tolist() == list(final.values()), pod

    holds()
    assert seen["cases"] > 0.6 * WORLDS * INCOMING
    assert seen["varied"] > 0.25 * seen["cases"]
