# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Our arrays say what a plain reading of kube-scheduler's rules says, node by node."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from enbloc.config import default_profiles
from enbloc.engine.ranking import Ranking
from enbloc.framework.status import Status
from enbloc.model.names import SCHEDULER_NAME
from enbloc.model.nodes import Mask
from enbloc.model.pods import PodSpec
from enbloc.plugins.node_affinity import NodeAffinity
from enbloc.plugins.node_name import NodeName
from enbloc.plugins.node_resources_fit import NodeResourcesFit
from enbloc.plugins.node_unschedulable import NodeUnschedulable
from enbloc.plugins.taint_toleration import TaintToleration
from tests.parity import reference
from tests.parity.cases import case
from tests.parity.reference import Host
from tests.worlds import pod, snapshot

seeds = pytest.mark.parametrize("first", range(0, 4000, 1000), ids="seeds from {}".format)


@seeds
def test_every_mask_is_the_reference_s(first: int) -> None:
    fits: Callable[[PodSpec, Host], bool] = lambda of, host: not reference.lacking(of, host)  # noqa: E731
    for seed in range(first, first + 1000):
        hosts, spec = case(seed)
        nodes, member = case(seed).table().snapshot(), pod(spec)
        verdicts: list[tuple[Mask, Callable[[PodSpec, Host], bool]]] = [
            (NodeUnschedulable().filter(member, nodes), reference.unschedulable),
            (NodeName().filter(member, nodes), reference.node_name),
            (TaintToleration().filter(member, nodes), reference.taints),
            (NodeAffinity().filter(member, nodes), reference.affinity),
            (NodeResourcesFit().filter(member, nodes), fits),
        ]
        for mask, expected in verdicts:
            assert mask.tolist() == [expected(spec, host) for host in hosts], f"seed {seed}"


@seeds
def test_every_raw_score_and_explanation_is_the_reference_s(first: int) -> None:
    fit, taints = NodeResourcesFit(), TaintToleration()
    for seed in range(first, first + 1000):
        hosts, spec = case(seed)
        nodes, member = case(seed).table().snapshot(), pod(spec)
        lacking = Counter(why for host in hosts for why in reference.lacking(spec, host))
        refused = ~fit.filter(member, nodes)
        assert fit.explain(member, nodes, refused) == lacking, f"seed {seed}"
        room = [reference.least_allocated(spec, host) for host in hosts]
        assert fit.score(member, nodes).tolist() == room, f"seed {seed}"
        soft = [reference.soft_taints(spec, host) for host in hosts]
        assert taints.score(member, nodes).tolist() == soft, f"seed {seed}"
        normal = taints.normalize(np.array(soft, np.int64)).tolist()
        assert normal == reference.reversed_by_default(soft), f"seed {seed}"


@seeds
def test_the_whole_profile_ranks_and_refuses_as_the_reference(first: int) -> None:
    profile = default_profiles()[SCHEDULER_NAME]
    for seed in range(first, first + 1000):
        hosts, spec = case(seed)
        facts = snapshot(case(seed).table())
        ranking = Ranking(pod(spec), profile, facts, facts.nodes.fork())
        totals = reference.totals(spec, hosts)
        feasible = [row for row in range(len(hosts)) if ranking.feasible(row)]
        assert feasible == sorted(totals), f"seed {seed}"
        if totals:
            best = max(totals.values())
            first_best = min(row for row, total in totals.items() if total == best)
            assert ranking.best() == first_best, f"seed {seed}"
        else:
            assert ranking.best() is None, f"seed {seed}"
            text = ranking.diagnosis().text()
            assert text == reference.fit_error(spec, hosts), f"seed {seed}"


@seeds
def test_node_affinity_is_skipped_refused_or_asked(first: int) -> None:
    for seed in range(first, first + 1000):
        spec = case(seed).spec
        answer = NodeAffinity().pre_filter(pod(spec), snapshot(case(seed).table()))
        if reference.conflict(spec):
            assert isinstance(answer, Status), f"seed {seed}"
            assert answer.message == "pod affinity terms conflict"
        elif spec.node_selector or spec.node_affinity is not None:
            assert answer == NodeAffinity(), f"seed {seed}"
        else:
            assert answer is None, f"seed {seed}"


def test_the_cases_are_worth_something() -> None:
    reasons = Counter[str]()
    placed = 0
    for seed in range(4000):
        hosts, spec = case(seed)
        placed += bool(reference.totals(spec, hosts))
        reasons.update(why for host in hosts for why in reference.refusals(spec, host))
        reasons["conflict"] += reference.conflict(spec)

    assert placed > 400
    assert min(reasons.values()) > 20
    assert len(reasons) == 4 + 1 + 4 + 1  # each filter, too many pods, each resource, conflict


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        (NodeUnschedulable, "node(s) were unschedulable"),
        (NodeName, "node(s) didn't match the requested node name"),
        (TaintToleration, "node(s) had untolerated taint(s)"),
        (NodeAffinity, "node(s) didn't match Pod's node affinity/selector"),
    ],
)
def test_reasons_are_kube_scheduler_s_to_the_letter(plugin: type, text: str) -> None:
    assert plugin.reason == text  # type: ignore[attr-defined]
