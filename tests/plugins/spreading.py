# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods that spread, zones to spread over, and what PodTopologySpread says of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodKey, PodSpec
from enbloc.model.selectors import Selector, SpreadConstraint
from enbloc.model.snapshot import Snapshot
from enbloc.model.workloads import equals
from enbloc.plugins.pod_topology_spread.plugin import PodTopologySpread
from tests.world.builders import labelled, pod
from tests.world.tables import nodes

WEB = equals({"app": "web"})
EVERY_POD = Selector()
SPREAD = SpreadConstraint("zone", selector=WEB)
SKEWED = "node(s) didn't match pod topology spread constraints"
LISTED = PodTopologySpread("List", (SpreadConstraint("zone"),))
NO_KEY = "node(s) didn't match pod topology spread constraints (missing required label)"


def web(*constraints: SpreadConstraint, namespace: str = "default", **facts: Any) -> Pod:
    """A pod with label app=web."""
    facts = {"labels": (("app", "web"),), **facts}
    spec = PodSpec(spread=constraints, **facts.pop("spec", {}))
    return replace(pod(spec, **facts), key=PodKey(namespace, "pod"))


def zones(**of: str | None) -> Nodes:
    """A table of nodes, each in its zone; None = it has no such label."""
    return nodes(*(labelled(name, **({"zone": zone} if zone else {})) for name, zone in of.items()))


def each(count: int, member: Pod, name: str) -> list[tuple[Pod, str]]:
    """So many pods like that one on one node."""
    return [(member, name)] * count


def fits(member: Pod, facts: Snapshot, plugin: PodTopologySpread | None = None) -> list[bool]:
    evaluator = (plugin or PodTopologySpread()).pre_filter(member, facts)
    assert evaluator is not None
    return evaluator.filter(member, facts.nodes).tolist()


def raw(
    member: Pod,
    facts: Snapshot,
    plugin: PodTopologySpread | None = None,
    *,
    feasible: Sequence[bool] | None = None,
) -> list[int]:
    evaluator = (plugin or PodTopologySpread()).pre_score(member, facts)
    assert evaluator is not None
    mask = np.ones(len(facts.nodes), np.bool_) if feasible is None else np.array(feasible)
    return evaluator.score_among(member, facts.nodes, mask).tolist()
