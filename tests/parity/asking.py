# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Ask one plugin of ours by the contract of `framework/decide.py`, without the engine."""

from collections import Counter
from dataclasses import replace
from typing import Any, cast

from enbloc.config import default_profiles
from enbloc.framework import decide
from enbloc.framework.profile import Profile
from enbloc.framework.status import Status
from enbloc.model.names import SCHEDULER_NAME
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from enbloc.plugins import IN_TREE
from tests.parity.settings import Settings


def plugin_of(name: str, settings: Settings) -> decide.Plugin:
    """A plugin of ours, made with its arguments."""
    arguments: dict[str, dict[str, Any]] = {
        "NodeAffinity": {
            "added_required": settings.added_required,
            "added_preferred": settings.added_preferred,
        },
        "NodeResourcesFit": {
            "ignored_resources": settings.ignored_resources,
            "ignored_resource_groups": settings.ignored_groups,
            "strategy": settings.strategy,
            "resources": settings.fit_resources,
            "shape": settings.shape,
        },
        "NodeResourcesBalancedAllocation": {"resources": settings.balanced_resources},
        "InterPodAffinity": {
            "hard_pod_affinity_weight": settings.hard_pod_affinity_weight,
            "ignore_preferred_terms_of_existing_pods": settings.ignore_preferred,
        },
        "PodTopologySpread": {
            "defaulting_type": settings.spread_defaults,
            "default_constraints": settings.spread_constraints,
        },
    }
    return IN_TREE[name](**arguments.get(name, {}))


def profile_of(settings: Settings) -> Profile:
    """The default profile, its plugins made with these arguments."""
    default = default_profiles()[SCHEDULER_NAME]
    return replace(
        default, plugins=tuple(plugin_of(each.name, settings) for each in default.plugins)
    )


def filter_of(plugin: decide.Plugin, pod: Pod, snapshot: Snapshot) -> decide.Filter | Status | None:
    """What filters this pod, its refusal as a whole, or None; a node set is a filter of names."""
    if not decide.implements(plugin, decide.PreFilter):
        return cast("decide.Filter", plugin)
    answer = plugin.pre_filter(pod, snapshot)
    return answer.then if isinstance(answer, decide.NodeSet) else answer


def names_of(plugin: decide.Plugin, pod: Pod, snapshot: Snapshot) -> frozenset[str] | None:
    """The node set of PreFilter; None = all nodes."""
    answer = plugin.pre_filter(pod, snapshot) if decide.implements(plugin, decide.PreFilter) else 0
    return answer.names if isinstance(answer, decide.NodeSet) else None


def explained(evaluator: decide.Filter, pod: Pod, snapshot: Snapshot, mask: Mask) -> Counter[str]:
    """The reasons of every refused row, counted."""
    refused = ~mask
    if not refused.any():
        return Counter()
    if decide.implements(evaluator, decide.Explain):
        return evaluator.explain(pod, snapshot.nodes, refused)
    return Counter({evaluator.reason: int(refused.sum())})


def scores_of(
    plugin: decide.Plugin, pod: Pod, snapshot: Snapshot, feasible: Mask
) -> tuple[decide.Scores, decide.Scores] | None:
    """The scores of the feasible rows, raw and normalised; None = the plugin skips the pod."""
    scorer: object = plugin
    if decide.implements(plugin, decide.PreScore):
        scorer = plugin.pre_score(pod, snapshot)
    return None if scorer is None else scored(plugin, scorer, pod, snapshot.nodes, feasible)


def scored(
    plugin: decide.Plugin, scorer: object, pod: Pod, nodes: Nodes, feasible: Mask
) -> tuple[decide.Scores, decide.Scores]:
    """As `scores_of`, of a scorer that is at hand."""
    if decide.implements(scorer, decide.ScoreAmong):
        raw = scorer.score_among(pod, nodes, feasible)[feasible]
    else:
        raw = cast("decide.Score", scorer).score(pod, nodes)[feasible]
    for part in (scorer, plugin):
        if decide.implements(part, decide.NormalizeScore):
            return raw, part.normalize(raw)
    return raw, raw
