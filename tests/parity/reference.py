# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What kube-scheduler answers for one pod in one world: plain and slow, node by node.

It follows kube-scheduler's sources, which each module names. Nothing here uses the tables, the
masks, or any method of the model that a plugin uses: only fields, loops and Python's numbers.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from enbloc.model.pods import Pod
from tests.parity import reference_affinity, reference_nodes, reference_resources, reference_spread
from tests.parity.hosts import Hosts
from tests.parity.settings import Settings

#: Why a plugin refuses each row of a world; nothing = it lets the pod pass.
Refusals = list[list[str]]
Scores = dict[int, int]


def _one(reasons: Sequence[str]) -> Refusals:
    return [[reason] if reason else [] for reason in reasons]


def _nodes(ask: Callable[..., str]) -> Callable[[Pod, Hosts, Settings], Refusals]:
    return lambda pod, world, _: _one([ask(pod.spec, host.node) for host in world.hosts])


#: The filters in the order in which kube-scheduler asks them. Source: kube-scheduler v1.36
#: pkg/scheduler/apis/config/v1/default_plugins.go getDefaultPlugins.
FILTERS: Final[dict[str, Callable[[Pod, Hosts, Settings], Refusals]]] = {
    "NodeUnschedulable": _nodes(reference_nodes.unschedulable),
    "NodeName": _nodes(reference_nodes.node_name),
    "TaintToleration": _nodes(reference_nodes.taints),
    "NodeAffinity": lambda pod, world, settings: _one(
        [reference_nodes.affinity(pod.spec, host.node, settings) for host in world.hosts]
    ),
    "NodePorts": lambda pod, world, _: _one(
        [reference_nodes.ports(pod.spec, host) for host in world.hosts]
    ),
    "NodeResourcesFit": lambda pod, world, settings: [
        reference_resources.lacking(pod.spec, host, settings) for host in world.hosts
    ],
    "PodTopologySpread": lambda pod, world, settings: _one(
        reference_spread.refusals(pod, world, settings)
    ),
    "InterPodAffinity": lambda pod, world, _: _one(reference_affinity.refusals(pod, world)),
    "NodeDeclaredFeatures": _nodes(reference_nodes.features),
}

#: The weight of each score plugin. Source: kube-scheduler v1.36
#: pkg/scheduler/apis/config/v1/default_plugins.go getDefaultPlugins.
WEIGHTS: Final = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}


def refusals(pod: Pod, world: Hosts, settings: Settings) -> Refusals:
    """What refuses each row: the first plugin that does, or the node set of PreFilter."""
    first: Refusals = [[] for _ in world.hosts]
    names = reference_nodes.affinity_names(pod.spec)
    if names is not None:
        for row, host in enumerate(world.hosts):
            if host.node.name not in names:
                first[row] = ["node(s) didn't satisfy plugin(s) [NodeAffinity]"]
    for ask in FILTERS.values():
        for row, reasons in enumerate(ask(pod, world, settings)):
            first[row] = first[row] or reasons
    return first


def conflict(pod: Pod) -> bool:
    """NodeAffinity's PreFilter refuses the pod as a whole."""
    return reference_nodes.affinity_names(pod.spec) == frozenset()


def feasible(pod: Pod, world: Hosts, settings: Settings) -> list[int]:
    """The rows on which the pod may go."""
    if conflict(pod):
        return []
    return [row for row, reasons in enumerate(refusals(pod, world, settings)) if not reasons]


def fit_error(pod: Pod, world: Hosts, settings: Settings) -> str:
    """The sentence for a pod that fits nowhere.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/types.go FitError.Error.
    """
    if not world.hosts:
        return "no nodes available to schedule pods"
    head = f"0/{len(world.hosts)} nodes are available:"
    if conflict(pod):
        return f"{head} pod affinity terms conflict."
    counts = Counter(reason for each in refusals(pod, world, settings) for reason in each)
    text = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"{head} {text}."


def raw_scores(
    name: str, pod: Pod, world: Hosts, settings: Settings, rows: Sequence[int]
) -> Scores | None:
    """A score plugin's answer for these feasible rows before it is normalised; None = skipped."""
    spec, hosts, nodes = pod.spec, world.hosts, [host.node for host in world.hosts]
    match name:
        case "TaintToleration":
            return {row: reference_nodes.soft_taints(spec, nodes[row]) for row in rows}
        case "NodeAffinity":
            if not spec.preferred_node_affinity and not settings.added_preferred:
                return None
            return {
                row: reference_nodes.preferred_affinity(spec, nodes[row], settings) for row in rows
            }
        case "NodeResourcesFit":
            return {row: reference_resources.fit(spec, hosts[row], settings) for row in rows}
        case "NodeResourcesBalancedAllocation":
            if reference_resources.balanced_skips(spec, settings):
                return None
            return {row: reference_resources.balanced(spec, hosts[row], settings) for row in rows}
        case "PodTopologySpread":
            return reference_spread.scores(pod, world, settings, rows)
        case "InterPodAffinity":
            return reference_affinity.scores(pod, world, settings, rows)
        case "ImageLocality":
            return {row: reference_nodes.images(spec, nodes[row], nodes) for row in rows}
        case _:
            raise KeyError(name)


def final_scores(
    name: str, pod: Pod, world: Hosts, settings: Settings, rows: Sequence[int]
) -> Scores:
    """A score plugin's share of the total before its weight, from 0 to 100."""
    raw = raw_scores(name, pod, world, settings, rows)
    if raw is None:
        return dict.fromkeys(rows, 0)
    match name:
        case "TaintToleration":
            top = max(raw.values(), default=0)
            return {row: 100 - 100 * score // top if top else 100 for row, score in raw.items()}
        case "NodeAffinity":
            top = max(raw.values(), default=0)
            return {row: 100 * score // top if top else 0 for row, score in raw.items()}
        case "PodTopologySpread":
            return reference_spread.normalised(raw)
        case "InterPodAffinity":
            return reference_affinity.normalised(raw)
        case _:
            return raw


def totals(pod: Pod, world: Hosts, settings: Settings) -> Scores:
    """The weighted total of every feasible row."""
    rows = feasible(pod, world, settings)
    total = dict.fromkeys(rows, 0)
    for name, weight in WEIGHTS.items():
        for row, score in final_scores(name, pod, world, settings, rows).items():
            total[row] += weight * score
    return total
