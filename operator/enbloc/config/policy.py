# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Policy: predicates and priorities of former releases, as the plugins that do the same.

Predicates become the filters, in the order in which they were checked, priorities the scores;
what was not named is switched off, as then. Everything else stays as it is by default.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from enbloc.config.documents import stamped
from enbloc.config.findings import Findings, SettingOutcome, unknown
from enbloc.config.models import KIND, VERSION
from enbloc.config.policy_models import (
    LegacyExtender,
    Policy,
    Predicate,
    Priority,
    Ratio,
    spelled,
)
from enbloc.config.strict import decode, duration

POLICY_KIND: Final = "Policy"
POLICY_VERSION: Final = "v1"

_PRESENCE: Final = "CheckNodeLabelPresence"
_SERVICE: Final = "CheckServiceAffinity"
#: Other names of the same.
ALIASES: Final[Mapping[str, str]] = {
    "PodFitsPorts": "PodFitsHostPorts",
    "ServiceSpreadingPriority": "SelectorSpreadPriority",
    "RequestedToCapacityRatio": "RequestedToCapacityRatioPriority",
}
#: Predicate → its plugins, in the order in which predicates were checked.
PREDICATES: Final[Mapping[str, tuple[str, ...]]] = {
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "GeneralPredicates": ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
    "HostName": ("NodeName",),
    "PodFitsHostPorts": ("NodePorts",),
    "MatchNodeSelector": ("NodeAffinity",),
    "PodFitsResources": ("NodeResourcesFit",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    _PRESENCE: ("NodeAffinity",),
    _SERVICE: (),
    "MaxEBSVolumeCount": ("NodeVolumeLimits",),
    "MaxGCEPDVolumeCount": ("NodeVolumeLimits",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "MaxAzureDiskVolumeCount": ("NodeVolumeLimits",),
    "MaxCinderVolumeCount": ("NodeVolumeLimits",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "EvenPodsSpread": ("PodTopologySpread",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
}
_ALWAYS: Final = ("CheckNodeUnschedulable", "PodToleratesNodeTaints")
#: Those that count when the file has no list of predicates.
_DEFAULT_PREDICATES: Final = (
    *_ALWAYS,
    "NoVolumeZoneConflict",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxAzureDiskVolumeCount",
    "MaxCSIVolumeCountPred",
    "MatchInterPodAffinity",
    "NoDiskConflict",
    "GeneralPredicates",
    "CheckVolumeBinding",
    "EvenPodsSpread",
)
_RATIO: Final = "RequestedToCapacityRatioPriority"
_SYSTEM_SPREAD: Final = "SelectorSpreadPriority"
_EVEN_SPREAD: Final = "EvenPodsSpreadPriority"
#: Priority → its plugin.
PRIORITIES: Final[Mapping[str, str]] = {
    _SYSTEM_SPREAD: "PodTopologySpread",
    "InterPodAffinityPriority": "InterPodAffinity",
    "LeastRequestedPriority": "NodeResourcesFit",
    "MostRequestedPriority": "NodeResourcesFit",
    _RATIO: "NodeResourcesFit",
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "NodeAffinityPriority": "NodeAffinity",
    "TaintTolerationPriority": "TaintToleration",
    "ImageLocalityPriority": "ImageLocality",
    _EVEN_SPREAD: "PodTopologySpread",
}
#: Priorities that no plugin stands for, and why.
NO_PRIORITY: Final[Mapping[str, str]] = {
    "EqualPriority": "it gave every node the same score, so nothing is lost",
    "NodePreferAvoidPodsPriority": "taint such nodes with effect PreferNoSchedule instead",
}
_STRATEGIES: Final[Mapping[str, str]] = {
    "LeastRequestedPriority": "LeastAllocated",
    "MostRequestedPriority": "MostAllocated",
    _RATIO: "RequestedToCapacityRatio",
}
_DEFAULT_PRIORITIES: Final[Mapping[str, int]] = {
    _SYSTEM_SPREAD: 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    _EVEN_SPREAD: 2,
}
_SPREAD_BY_SERVICE: Final = (
    "scores by Service and node label: PodTopologySpread's argument defaultConstraints comes near"
)
_PREFER_LABEL: Final = (
    "prefers nodes by a label: NodeAffinity's argument addedAffinity, preferred, comes near"
)
_AFFINITY_BY_SERVICE: Final = (
    "no plugin keeps the pods of a Service on nodes of equal labels: write required pod affinity "
    "with topologyKey into the pods, and remove this predicate"
)


def from_policy(document: dict[str, Any], findings: Findings) -> dict[str, Any]:
    """A v1 document that does what this Policy does; what cannot be done is noted."""
    policy = decode(Policy, spelled(document), findings)
    made: dict[str, Any] = stamped(_Conversion(policy, findings).document())
    return made


class _Conversion:
    """The conversion of one Policy."""

    def __init__(self, policy: Policy, findings: Findings) -> None:
        self._policy = policy
        self._findings = findings
        self._labels: list[dict[str, Any]] = []
        self._ratio: Ratio | None = None

    def document(self) -> dict[str, Any]:
        """The v1 document."""
        filters = self._filters()
        scores = self._scores()
        profile: dict[str, Any] = {"plugins": _plugins(filters, scores)}
        arguments = list(self._arguments(scores))
        if arguments:
            profile["pluginConfig"] = arguments
        made: dict[str, Any] = {"apiVersion": VERSION, "kind": KIND, "profiles": [profile]}
        extenders = [*self._policy.extenders, *self._policy.extender_configs]
        if extenders:
            made["extenders"] = [_extender(each) for each in extenders]
        if self._policy.always_check_all_predicates:
            text = (
                "accepted and not honoured: a node gets the reason of the first filter that "
                "rejects it"
            )
            self._findings.warning("alwaysCheckAllPredicates", text, SettingOutcome.NOT_NEEDED)
        return made

    # ── predicates ───────────────────────────────────────────────────────────────────────────
    def _filters(self) -> list[str]:
        """The plugins that filter, each once, in the order in which predicates were checked."""
        if self._policy.predicates is None:
            wanted = set(_DEFAULT_PREDICATES)
        else:
            wanted = {*_ALWAYS, *filter(None, map(self._predicate, self._policy.predicates))}
        found = (name for key, names in PREDICATES.items() if key in wanted for name in names)
        return list(dict.fromkeys(found))

    def _predicate(self, predicate: Predicate) -> str:
        """The predicate's name today; "" if nothing stands for it."""
        name = ALIASES.get(predicate.name, predicate.name)
        argument = predicate.argument
        if argument is not None:
            given = [argument.service_affinity, argument.labels_presence]
            if sum(each is not None for each in given) != 1:
                text = "must hold exactly one of serviceAffinity and labelsPresence"
                self._findings.problem(argument.where, text)
            if argument.service_affinity is not None:
                name = _SERVICE
            elif argument.labels_presence is not None:
                name = _PRESENCE
                presence = argument.labels_presence
                operator = "Exists" if presence.presence else "DoesNotExist"
                self._labels += [{"key": key, "operator": operator} for key in presence.labels]
        if name == _SERVICE:
            text = f'"{predicate.name}" has no equivalent: {_AFFINITY_BY_SERVICE}'
            self._findings.problem(predicate.where, text)
            return ""
        if name == _PRESENCE:
            return name if self._labels else ""
        if name not in PREDICATES:
            self._findings.problem(predicate.at("name"), unknown("predicate ", name, PREDICATES))
            return ""
        text = f"{' and '.join(PREDICATES[name])} at filter"
        self._findings.note(predicate.where, SettingOutcome.KEPT, text)
        return name

    # ── priorities ───────────────────────────────────────────────────────────────────────────
    def _scores(self) -> dict[str, int]:
        """Priority → weight, for those that a plugin stands for."""
        if self._policy.priorities is None:
            return dict(_DEFAULT_PRIORITIES)
        scores: dict[str, int] = {}
        strategy = ""
        for each in self._policy.priorities:
            name = self._priority(each)
            if not name:
                continue
            if name in scores:
                self._findings.problem(each.at("name"), f'Duplicate "{each.name}"')
            elif name in _STRATEGIES and strategy:
                text = (
                    f'"{each.name}" and "{strategy}" cannot both score: NodeResourcesFit has one '
                )
                self._findings.problem(each.at("name"), f"{text}scoringStrategy; keep one of them")
            else:
                scores[name] = each.weight
                text = f"{PRIORITIES[name]} at score, weight {each.weight}"
                self._findings.note(each.where, SettingOutcome.KEPT, text)
                strategy = each.name if name in _STRATEGIES else strategy
        return scores

    def _priority(self, priority: Priority) -> str:
        """The priority's name today; "" if nothing stands for it."""
        name = ALIASES.get(priority.name, priority.name)
        argument = priority.argument
        if argument is not None:
            ratio = argument.requested_to_capacity_ratio_arguments
            given = [argument.service_anti_affinity, argument.label_preference, ratio]
            if sum(each is not None for each in given) != 1:
                text = (
                    "must hold exactly one of serviceAntiAffinity, labelPreference and "
                    "requestedToCapacityRatioArguments"
                )
                self._findings.problem(argument.where, text)
                return ""
            if ratio is None:
                service = argument.service_anti_affinity is not None
                why = _SPREAD_BY_SERVICE if service else _PREFER_LABEL
                text = f'"{priority.name}" has no equivalent, and scores nothing: it {why}'
                self._findings.warning(priority.where, text)
                return ""
            name, self._ratio = _RATIO, ratio
        if name in NO_PRIORITY:
            text = f'"{priority.name}" has no equivalent: {NO_PRIORITY[name]}'
            nothing = name == "EqualPriority"
            outcome = SettingOutcome.NOT_NEEDED if nothing else SettingOutcome.LOST
            self._findings.warning(priority.where, text, outcome)
            return ""
        if name not in PRIORITIES:
            known = (*PRIORITIES, *NO_PRIORITY)
            self._findings.problem(priority.at("name"), unknown("priority ", name, known))
            return ""
        if name == _RATIO and self._ratio is None:
            text = "Required: requestedToCapacityRatioArguments with a shape"
            self._findings.problem(priority.at("argument"), text)
            return ""
        return name

    # ── arguments ────────────────────────────────────────────────────────────────────────────
    def _arguments(self, scores: Mapping[str, int]) -> Iterator[dict[str, Any]]:
        strategy = next((name for name in scores if name in _STRATEGIES), None)
        if strategy is not None:
            yield {
                "name": "NodeResourcesFit",
                "args": {"scoringStrategy": self._strategy(strategy)},
            }
        if _EVEN_SPREAD in scores and _SYSTEM_SPREAD not in scores:
            yield {"name": "PodTopologySpread", "args": {"defaultingType": "List"}}
        weight = self._policy.hard_pod_affinity_symmetric_weight
        if weight:
            yield {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": weight}}
        if self._labels:
            terms = {"nodeSelectorTerms": [{"matchExpressions": self._labels}]}
            affinity = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
            yield {"name": "NodeAffinity", "args": {"addedAffinity": affinity}}

    def _strategy(self, priority: str) -> dict[str, Any]:
        made: dict[str, Any] = {"type": _STRATEGIES[priority]}
        ratio = self._ratio
        if priority == _RATIO and ratio is not None:
            shape = [{"utilization": p.utilization, "score": p.score} for p in ratio.shape]
            made["requestedToCapacityRatio"] = {"shape": shape}
            if ratio.resources:
                made["resources"] = [
                    {"name": each.name, "weight": each.weight or 1} for each in ratio.resources
                ]
        return made


#: Scores that came after the last release with policies.
_NO_PRIORITY: Final = ("VolumeBinding", "DynamicResources")


def _plugins(filters: list[str], scores: Mapping[str, int]) -> dict[str, Any]:
    """Each point that predicates and priorities speak of; what was not named is off there."""
    filterers = dict.fromkeys(name for names in PREDICATES.values() for name in names)
    weights: dict[str, int] = {}
    for priority, weight in scores.items():
        name = PRIORITIES[priority]
        weights[name] = max(weight, weights.get(name, 0))
    not_filtering = _named(name for name in filterers if name not in filters)
    scorers = dict.fromkeys((*PRIORITIES.values(), *_NO_PRIORITY))
    not_scoring = _named(name for name in scorers if name not in weights)
    plugins: dict[str, Any] = {
        "filter": {"enabled": _named(filters), "disabled": not_filtering},
        "score": {
            "enabled": [{"name": name, "weight": weight} for name, weight in weights.items()],
            "disabled": not_scoring,
        },
    }
    if not_filtering:
        plugins["preFilter"] = {"disabled": not_filtering}
    if not_scoring:
        plugins["preScore"] = {"disabled": not_scoring}
    if "VolumeBinding" not in filters:
        off = {"disabled": _named(["VolumeBinding"])}
        plugins |= {"reserve": off, "preBind": dict(off)}
    return plugins


def _named(names: Any) -> list[dict[str, Any]]:
    return [{"name": name} for name in names]


def _extender(given: LegacyExtender) -> dict[str, Any]:
    made = given.model_dump(by_alias=True, exclude_defaults=True)
    if given.http_timeout:
        made["httpTimeout"] = duration(given.http_timeout / 1e9)
    return made
