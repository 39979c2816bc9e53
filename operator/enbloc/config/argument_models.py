# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of the in-tree plugins: fields, defaults, validation; upstream's where it has it.

Source: kube-scheduler v1.36 pkg/scheduler/apis/config/types_pluginargs.go.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from enbloc.config.affinity_models import NodeAffinityTerms
from enbloc.config.findings import Findings
from enbloc.config.strict import Duration, Int32, Int64, Strict
from enbloc.model.qualified_names import qualified_name_problem
from enbloc.model.resources import CPU, MEMORY
from enbloc.model.selectors import SpreadConstraint

Percentage = Annotated[int, Field(ge=0, le=100)]
#: A year at most.
Seconds = Annotated[int, Field(ge=1, le=31_536_000)]
_ALL_POINTS: Final = 100
_RATIO: Final = "RequestedToCapacityRatio"


class Args(Strict):
    """The arguments of one plugin."""

    def check(self, findings: Findings) -> None:
        """Note what types alone do not tell."""

    def fields(self) -> Mapping[str, Any]:
        """The plugin's constructor arguments."""
        return {}

    def shown(self) -> dict[str, Any]:
        """As a file has them, with every default filled in."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class NoArgs(Args):
    """A plugin that has none."""


class ResourceSpec(Strict):
    """A resource and its weight; 0 means 1."""

    name: str
    weight: Annotated[Int64, AfterValidator(lambda weight: weight or 1)] = 1


def _default_resources() -> list[ResourceSpec]:
    return [ResourceSpec(name=name) for name in (CPU, MEMORY)]


#: No resources are the default ones.
Resources = Annotated[
    list[ResourceSpec],
    AfterValidator(lambda found: found or _default_resources()),
]


class ShapePoint(Strict):
    """One point of a piecewise linear function: utilization in percent, score from 0 to 10."""

    utilization: Percentage = 0
    score: Annotated[int, Field(ge=0, le=10)] = 0


class RatioParam(Strict):
    """The piecewise linear function from utilization to score."""

    shape: list[ShapePoint] = Field(default_factory=list[ShapePoint])


class ScoringStrategy(Strict):
    """How the utilization of a node determines its score."""

    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] = "LeastAllocated"
    resources: Resources = Field(default_factory=_default_resources)
    requested_to_capacity_ratio: RatioParam | None = None


class NodeResourcesFitArgs(Args):
    """Resources that the filter ignores, and how nodes are scored."""

    ignored_resources: list[str] = Field(default_factory=list[str])
    ignored_resource_groups: list[str] = Field(default_factory=list[str])
    scoring_strategy: ScoringStrategy = Field(default_factory=ScoringStrategy)

    def check(self, findings: Findings) -> None:
        """Names, weights, and a shape exactly where the strategy has one."""
        for field, names in (
            ("ignoredResources", self.ignored_resources),
            ("ignoredResourceGroups", self.ignored_resource_groups),
        ):
            for index, name in enumerate(names):
                path = self.at(f"{field}[{index}]")
                problem = qualified_name_problem(name)
                if field == "ignoredResourceGroups" and "/" in name:
                    problem = f'a resource group has no "/", is "{name}"'
                if problem:
                    findings.problem(path, problem)
        strategy = self.scoring_strategy
        _check_weights(strategy.resources, findings)
        ratio = strategy.requested_to_capacity_ratio
        path = f"{self.at('scoringStrategy')}.requestedToCapacityRatio"
        if strategy.type != _RATIO:
            if ratio is not None:
                text = f"must be absent, as the strategy's type is {strategy.type}, not {_RATIO}"
                findings.problem(path, text)
        elif ratio is None:
            findings.problem(path, f"Required: the strategy's type is {_RATIO}")
        else:
            check_shape(ratio.shape, f"{path}.shape", findings)

    def fields(self) -> Mapping[str, Any]:
        """As NodeResourcesFit takes them."""
        strategy = self.scoring_strategy
        ratio = strategy.requested_to_capacity_ratio or RatioParam()
        return {
            "ignored_resources": frozenset(self.ignored_resources),
            "ignored_resource_groups": frozenset(self.ignored_resource_groups),
            "strategy": strategy.type,
            "resources": tuple((each.name, each.weight) for each in strategy.resources),
            "shape": _shape(ratio.shape),
        }


class NodeResourcesBalancedAllocationArgs(Args):
    """Resources whose utilization is balanced."""

    resources: Resources = Field(default_factory=_default_resources)

    def check(self, findings: Findings) -> None:
        """Each resource once, and none weighs more than another."""
        seen: set[str] = set()
        for each in self.resources:
            if each.name in seen:
                findings.problem(each.at("name"), f'Duplicate "{each.name}"')
            seen.add(each.name)
            if each.weight != 1:
                findings.problem(each.at("weight"), f"must be 1, is {each.weight}")

    def fields(self) -> Mapping[str, Any]:
        """As NodeResourcesBalancedAllocation takes them."""
        return {"resources": tuple(each.name for each in self.resources)}


class InterPodAffinityArgs(Args):
    """How affinity of existing pods counts in the score."""

    hard_pod_affinity_weight: Percentage = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    def fields(self) -> Mapping[str, Any]:
        """As InterPodAffinity takes them."""
        return {
            "hard_pod_affinity_weight": self.hard_pod_affinity_weight,
            "ignore_preferred_terms_of_existing_pods": self.ignore_preferred_terms_of_existing_pods,
        }


class NodeAffinityArgs(Args):
    """Node affinity that is added to that of every pod."""

    added_affinity: NodeAffinityTerms | None = None

    def check(self, findings: Findings) -> None:
        """Every term can be read."""
        if self.added_affinity is not None:
            self.added_affinity.check(findings)

    def fields(self) -> Mapping[str, Any]:
        """As NodeAffinity takes them."""
        if self.added_affinity is None:
            return {}
        return {
            "added_required": self.added_affinity.required_terms(),
            "added_preferred": self.added_affinity.preferred_terms(),
        }


class Constraint(Strict):
    """A topology spread constraint for pods that have none; its selector follows from the pod."""

    max_skew: Annotated[Int32, Field(gt=0)]
    topology_key: str
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    min_domains: Annotated[Int32, Field(gt=0)] | None = None
    node_affinity_policy: Literal["Honor", "Ignore"] = "Honor"
    node_taints_policy: Literal["Honor", "Ignore"] = "Ignore"
    match_label_keys: list[str] = Field(default_factory=list[str])
    label_selector: Any = None

    def made(self) -> SpreadConstraint:
        """As PodTopologySpread takes it."""
        return SpreadConstraint(
            self.topology_key,
            self.max_skew,
            self.when_unsatisfiable == "DoNotSchedule",
            None,
            self.min_domains or 1,
            tuple(self.match_label_keys),
            self.node_affinity_policy == "Honor",
            self.node_taints_policy == "Honor",
        )


class PodTopologySpreadArgs(Args):
    """How pods without topology spread constraints are spread."""

    default_constraints: list[Constraint] = Field(default_factory=list[Constraint])
    defaulting_type: Literal["System", "List"] = "System"

    def check(self, findings: Findings) -> None:
        """Constraints only in a list, each key and action once, none with a selector."""
        if self.defaulting_type == "System" and self.default_constraints:
            text = 'must be "List" when there are defaultConstraints, is "System"'
            findings.problem(self.at("defaultingType"), text)
        seen: set[tuple[str, str]] = set()
        for each in self.default_constraints:
            problem = qualified_name_problem(each.topology_key)
            if problem:
                findings.problem(each.at("topologyKey"), problem)
            if each.label_selector is not None:
                text = "must be absent: it follows from the Services and owners of each pod"
                findings.problem(each.at("labelSelector"), text)
            pair = (each.topology_key, each.when_unsatisfiable)
            if pair in seen:
                findings.problem(each.where, f"Duplicate {{{', '.join(pair)}}}")
            seen.add(pair)

    def fields(self) -> Mapping[str, Any]:
        """As PodTopologySpread takes them."""
        return {
            "defaulting_type": self.defaulting_type,
            "default_constraints": tuple(each.made() for each in self.default_constraints),
        }


class VolumeBindingArgs(Args):
    """Timeout for binding volumes, and how storage capacity is scored."""

    bind_timeout_seconds: Annotated[Int64, Field(ge=0)] = 600
    shape: list[ShapePoint] = Field(default_factory=list[ShapePoint])

    def check(self, findings: Findings) -> None:
        """A shape, where there is one, goes up."""
        if self.shape:
            check_shape(self.shape, self.at("shape"), findings)

    def fields(self) -> Mapping[str, Any]:
        """As VolumeBinding takes them."""
        return {
            "bind_timeout_seconds": self.bind_timeout_seconds,
            "shape": _shape(self.shape),
        }


class DynamicResourcesArgs(Args):
    """Timeouts for the search for devices, and for binding them."""

    filter_timeout: Duration = 10.0
    binding_timeout: Duration = 600.0

    def check(self, findings: Findings) -> None:
        """Neither is negative; a wait of less than a second is none."""
        if self.filter_timeout < 0:
            text = f"must not be negative, is {self.filter_timeout} s"
            findings.problem(self.at("filterTimeout"), text)
        if self.binding_timeout < 1:
            text = f"must be at least 1s, is {self.binding_timeout} s"
            findings.problem(self.at("bindingTimeout"), text)

    def fields(self) -> Mapping[str, Any]:
        """As DynamicResources takes them."""
        return {
            "filter_timeout_seconds": self.filter_timeout,
            "binding_timeout_seconds": self.binding_timeout,
        }


class DefaultPreemptionArgs(Args):
    """How many candidate nodes are examined for victims."""

    min_candidate_nodes_percentage: Percentage = 10
    min_candidate_nodes_absolute: Annotated[Int32, Field(ge=0)] = 100

    def check(self, findings: Findings) -> None:
        """At least one of them says that there are any."""
        both = ("minCandidateNodesPercentage", "minCandidateNodesAbsolute")
        if not self.min_candidate_nodes_percentage and not self.min_candidate_nodes_absolute:
            for one, other in (both, both[::-1]):
                findings.problem(self.at(one), f"must not be 0 while {other} is 0")

    def fields(self) -> Mapping[str, Any]:
        """As DefaultPreemption takes them."""
        return {
            "min_candidate_nodes_percentage": self.min_candidate_nodes_percentage,
            "min_candidate_nodes_absolute": self.min_candidate_nodes_absolute,
        }


class NodeQuarantineArgs(Args):
    """How long a node stays in quarantine, and when it is in quarantine for all gangs."""

    first_seconds: Seconds = 60
    longest_seconds: Seconds = 1800
    witnesses: Annotated[Int32, Field(ge=1)] = 2
    witness_seconds: Seconds = 600
    forgive_seconds: Seconds = 600

    def check(self, findings: Findings) -> None:
        """The longest time is no shorter than the first one."""
        if self.longest_seconds < self.first_seconds:
            text = (
                f"must be at least firstSeconds ({self.first_seconds}), is {self.longest_seconds}"
            )
            findings.problem(self.at("longestSeconds"), text)

    def fields(self) -> Mapping[str, Any]:
        """As NodeQuarantine takes them."""
        return {
            "first_seconds": self.first_seconds,
            "longest_seconds": self.longest_seconds,
            "witnesses": self.witnesses,
            "witness_seconds": self.witness_seconds,
            "forgive_seconds": self.forgive_seconds,
        }


class NodeReliabilityArgs(Args):
    """How many of its 100 points a node loses for each cause, and how soon the loss fades."""

    refusal_points: Percentage = 60
    refusal_half_life_seconds: Seconds = 1800
    slowness_points: Percentage = 20
    other_scheduler_points: Percentage = 20
    other_scheduler_half_life_seconds: Seconds = 300

    def check(self, findings: Findings) -> None:
        """A node cannot lose more than it has."""
        points = self.refusal_points + self.slowness_points + self.other_scheduler_points
        if points > _ALL_POINTS:
            text = (
                f"must be at most {_ALL_POINTS} in total with slownessPoints and "
                f"otherSchedulerPoints, is {points}"
            )
            findings.problem(self.at("refusalPoints"), text)

    def fields(self) -> Mapping[str, Any]:
        """As NodeReliability takes them."""
        return {
            "refusal_points": self.refusal_points,
            "refusal_half_life_seconds": self.refusal_half_life_seconds,
            "slowness_points": self.slowness_points,
            "other_scheduler_points": self.other_scheduler_points,
            "other_scheduler_half_life_seconds": self.other_scheduler_half_life_seconds,
        }


def check_shape(shape: list[ShapePoint], path: str, findings: Findings) -> None:
    """At least one point, and each to the right of the one before."""
    if not shape:
        findings.problem(path, "Required: at least one point")
    for before, point in pairwise(shape):
        if before.utilization >= point.utilization:
            text = f"must be above the preceding {before.utilization}, is {point.utilization}"
            findings.problem(point.at("utilization"), text)


def _check_weights(resources: list[ResourceSpec], findings: Findings) -> None:
    for each in resources:
        if not 1 <= each.weight <= 100:
            findings.problem(each.at("weight"), f"must be from 1 to 100, is {each.weight}")


def _shape(shape: list[ShapePoint]) -> tuple[tuple[int, int], ...]:
    return tuple((point.utilization, point.score) for point in shape)


_NONE: Final = (
    "SchedulingGates",
    "PrioritySort",
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodePorts",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeZone",
    "ImageLocality",
    "DefaultBinder",
    "NodeDeclaredFeatures",
    "GangScheduling",
)

#: By plugin name.
MODELS: Final[Mapping[str, type[Args]]] = {
    **dict.fromkeys(_NONE, NoArgs),
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
    "DynamicResources": DynamicResourcesArgs,
    "DefaultPreemption": DefaultPreemptionArgs,
    "NodeQuarantine": NodeQuarantineArgs,
    "NodeReliability": NodeReliabilityArgs,
}
