# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluators: what filters and scores the nodes for one pod, as plugins return it."""

from collections.abc import Iterable, Mapping
from typing import Any

from enbloc.engine.trial.parts import Scorer
from enbloc.engine.trial.plugin_calls import asked, shape_of
from enbloc.errors import PluginError
from enbloc.framework import decide
from enbloc.framework.declarations import EVALUATOR, misdeclared
from enbloc.framework.profile import Profile
from enbloc.framework.status import Status
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot


def of_claims(
    pod: Pod, profile: Profile, snapshot: Snapshot, *, scored: bool
) -> list[tuple[str, Any]] | None:
    """Return the filters, then the scorers, by a pod's claims; None = the pod is refused."""
    found: dict[str, object] = {}
    for plugin in profile.pre_filter:
        if plugin.name in profile.reads_claims:
            answer = asked(plugin.name, "PreFilter", plugin.pre_filter, pod, snapshot)
            if isinstance(answer, Status | decide.NodeSet):
                return None
            found[plugin.name] = answer
    reading = [plugin for plugin in profile.filter if plugin.name in profile.reads_claims]
    evaluators: list[tuple[str, Any]] = [*evaluators_of(reading, found)]
    if scored:
        found = {
            plugin.name: asked(plugin.name, "PreScore", plugin.pre_score, pod, snapshot)
            for plugin in profile.pre_score
            if plugin.name in profile.reads_claims
        }
        scoring = [plugin for plugin in profile.score if plugin.name in profile.reads_claims]
        evaluators += [(plugin.name, scorer) for plugin, scorer in scorers_of(scoring, found)]
    return evaluators


def same(one: object, other: object) -> bool:
    """Whether one equals the other, by its own `__eq__`."""
    return bool(one == other)


def evaluators_of(
    plugins: Iterable[decide.Plugin], found: Mapping[str, object]
) -> list[tuple[str, decide.Filter]]:
    """Return the filters in Filter's order: what PreFilter returned, or the plugin itself."""
    evaluators: list[tuple[str, decide.Filter]] = []
    for plugin in plugins:
        evaluator: object = found.get(plugin.name, plugin)
        if decide.implements(evaluator, decide.Filter):
            _check(plugin.name, "PreFilter", evaluator)
            evaluators.append((plugin.name, evaluator))
        elif evaluator is not None and evaluator is not plugin:
            detail = f"{shape_of(evaluator)} has no filter, reads and reason"
            raise PluginError(plugin.name, "PreFilter", detail)
    return evaluators


def scorers_of(
    plugins: Iterable[decide.Plugin], found: Mapping[str, object]
) -> list[tuple[decide.Plugin, Scorer]]:
    """Return the scorers in Score's order: what PreScore returned, or the plugin itself."""
    scorers: list[tuple[decide.Plugin, Scorer]] = []
    for plugin in plugins:
        scorer: object = found.get(plugin.name, plugin)
        if decide.implements(scorer, decide.ScoreAmong) or decide.implements(scorer, decide.Score):
            _check(plugin.name, "PreScore", scorer)
            scorers.append((plugin, scorer))
        elif scorer is not None and scorer is not plugin:
            detail = f"{shape_of(scorer)} has no score, reads"
            raise PluginError(plugin.name, "PreScore", detail)
    return scorers


def _check(plugin: str, point: str, evaluator: object) -> None:
    """Raise PluginError if an attribute of an evaluator cannot be used."""
    if wrong := asked(plugin, point, misdeclared, evaluator, EVALUATOR):
        raise PluginError(plugin, point, wrong)
