# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import pytest
import yaml
from pydantic import BaseModel

from enbloc.config import effective
from enbloc.config.argument_models import MODELS
from enbloc.config.defaults import DEFAULTS
from enbloc.framework.decide import Plugin
from enbloc.framework.registry import Registry
from enbloc.model.pods import NodeSelectorTerm
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import SpreadConstraint
from enbloc.plugins import IN_TREE
from tests.config.files import HEAD, args, configured, one, problems, sample

AFFINITY = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
RATIO = "scoringStrategy.requestedToCapacityRatio"


def plugin(name: str, given: dict[str, Any]) -> Plugin:
    """The plugin that these arguments make."""
    [profile] = configured(args(name, given)).profiles.values()
    found = profile.plugin(name)
    assert found is not None
    return found


def expression(**given: Any) -> dict[str, Any]:
    """An argument of NodeAffinity with one expression."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": [given]}]}
    return {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def node_field(**given: Any) -> dict[str, Any]:
    """An argument of NodeAffinity with one field."""
    terms = {"nodeSelectorTerms": [{"matchFields": [given]}]}
    return {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def ratio(*shape: tuple[int, int]) -> dict[str, Any]:
    """A strategy of NodeResourcesFit."""
    points = [{"utilization": x, "score": y} for x, y in shape]
    strategy = {"type": "RequestedToCapacityRatio"}
    return {"scoringStrategy": {**strategy, "requestedToCapacityRatio": {"shape": points}}}


def spread(*constraints: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Arguments of PodTopologySpread."""
    zone = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    return {"defaultConstraints": [{**zone, **each} for each in constraints], **more}


@pytest.mark.parametrize("name", DEFAULTS)
def test_empty_arguments_are_the_defaults_of_the_plugin(name: str) -> None:
    assert plugin(name, {}) == IN_TREE[name]()
    assert MODELS[name]().fields() in ({}, {**vars(IN_TREE[name]())})


#: Arguments that are refused, and what is said of them.
WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("NodeName", {"a": 1}, 'a: Unknown field "a" (known: )'),
    ("NodeName", {"kind": "OtherArgs"}, 'kind: must be "NodeNameArgs", is "OtherArgs"'),
    ("NodeName", {"apiVersion": "v1"}, 'apiVersion: must be "kubescheduler.config.k8s.io/v1"'),
    (
        "NodeName",
        {"apiVersion": []},
        'apiVersion: must be "kubescheduler.config.k8s.io/v1", is "[]"',
    ),
    ("DefaultPreemption", {"minCandidateNodesPercentage": 101}, "minCandidateNodesPercentage"),
    ("DefaultPreemption", {"minCandidateNodesAbsolute": -1}, "minCandidateNodesAbsolute: must"),
    (
        "DefaultPreemption",
        {"minCandidateNodesAbsolute": 0, "minCandidateNodesPercentage": 0},
        "minCandidateNodesAbsolute: must not be 0 while minCandidateNodesPercentage is 0",
    ),
    ("NodeQuarantine", {"firstSeconds": 0}, "firstSeconds: must be greater than or equal to 1"),
    ("NodeQuarantine", {"witnesses": 0}, "witnesses: must be greater than or equal to 1"),
    (
        "NodeQuarantine",
        {"firstSeconds": 60, "longestSeconds": 59},
        "longestSeconds: must be at least firstSeconds (60), is 59",
    ),
    ("NodeReliability", {"slownessPoints": 101}, "slownessPoints: must be less than or equal"),
    ("NodeReliability", {"refusalPoints": 70}, "refusalPoints: must be at most 100 in total with"),
    ("InterPodAffinity", {"hardPodAffinityWeight": -1}, "hardPodAffinityWeight: must be grea"),
    ("InterPodAffinity", {"hardPodAffinityWeight": 101}, "hardPodAffinityWeight: must be less"),
    ("NodeResourcesFit", {"ignoredResources": ["a b"]}, "ignoredResources[0]: must be a name"),
    (
        "NodeResourcesFit",
        {"ignoredResourceGroups": ["a.b/c"]},
        'ignoredResourceGroups[0]: a resource group has no "/", is "a.b/c"',
    ),
    (
        "NodeResourcesFit",
        {"scoringStrategy": {"type": "Best"}},
        "scoringStrategy.type: must be",
    ),
    (
        "NodeResourcesFit",
        {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}},
        "scoringStrategy.resources[0].weight: must be from 1 to 100, is 101",
    ),
    (
        "NodeResourcesFit",
        {"scoringStrategy": {"resources": [{"weight": 1}]}},
        "scoringStrategy.resources[0].name: Required",
    ),
    (
        "NodeResourcesFit",
        {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
        f"{RATIO}: Required: the strategy's type is RequestedToCapacityRatio",
    ),
    (
        "NodeResourcesFit",
        {"scoringStrategy": {"requestedToCapacityRatio": {}}},
        f"{RATIO}: must be absent, as the strategy's type is LeastAllocated",
    ),
    ("NodeResourcesFit", ratio(), f"{RATIO}.shape: Required: at least one point"),
    ("NodeResourcesFit", ratio((5, 1), (5, 2)), f"{RATIO}.shape[1].utilization: must be above"),
    ("NodeResourcesFit", ratio((101, 1)), f"{RATIO}.shape[0].utilization: must be less"),
    ("NodeResourcesFit", ratio((1, 11)), f"{RATIO}.shape[0].score: must be less than or equal"),
    (
        "NodeResourcesBalancedAllocation",
        {"resources": [{"name": "cpu", "weight": 2}]},
        "resources[0].weight: must be 1, is 2",
    ),
    (
        "NodeResourcesBalancedAllocation",
        {"resources": [{"name": "cpu"}, {"name": "cpu"}]},
        'resources[1].name: Duplicate "cpu"',
    ),
    ("PodTopologySpread", {"defaultingType": "None"}, "defaultingType: must be 'System' or"),
    ("PodTopologySpread", spread({}), 'defaultingType: must be "List" when there are default'),
    (
        "PodTopologySpread",
        spread({"labelSelector": {}}, defaultingType="List"),
        "defaultConstraints[0].labelSelector: must be absent",
    ),
    (
        "PodTopologySpread",
        spread({}, {}, defaultingType="List"),
        "defaultConstraints[1]: Duplicate {zone, ScheduleAnyway}",
    ),
    (
        "PodTopologySpread",
        spread({"maxSkew": 0}, defaultingType="List"),
        "defaultConstraints[0].maxSkew: must be greater than 0, is 0",
    ),
    (
        "PodTopologySpread",
        spread({"topologyKey": ""}, defaultingType="List"),
        "defaultConstraints[0].topologyKey: must be a name such as",
    ),
    (
        "PodTopologySpread",
        spread({"whenUnsatisfiable": "Never"}, defaultingType="List"),
        "defaultConstraints[0].whenUnsatisfiable: must be 'DoNotSchedule' or",
    ),
    ("VolumeBinding", {"bindTimeoutSeconds": -1}, "bindTimeoutSeconds: must be greater"),
    ("VolumeBinding", {"shape": [{"score": 1}, {"score": 2}]}, "shape[1].utilization: must be"),
    ("DynamicResources", {"filterTimeout": "-1s"}, "filterTimeout: must not be negative"),
    ("DynamicResources", {"bindingTimeout": "500ms"}, "bindingTimeout: must be at least 1s"),
    (
        "NodeAffinity",
        expression(key="a b", operator="Exists"),
        f"{AFFINITY}.matchExpressions[0].key: must be a name",
    ),
    (
        "NodeAffinity",
        expression(key="a", operator="Like"),
        f"{AFFINITY}.matchExpressions[0].operator: must be 'In', 'NotIn'",
    ),
    (
        "NodeAffinity",
        expression(key="a", operator="In"),
        f"{AFFINITY}.matchExpressions[0].values: Required: In needs a value",
    ),
    (
        "NodeAffinity",
        expression(key="a", operator="Exists", values=["b"]),
        f"{AFFINITY}.matchExpressions[0].values: must be absent with Exists",
    ),
    (
        "NodeAffinity",
        expression(key="a", operator="Gt", values=["b"]),
        f"{AFFINITY}.matchExpressions[0].values: must be one integer with Gt",
    ),
    (
        "NodeAffinity",
        node_field(key="metadata.uid", operator="Exists"),
        f'{AFFINITY}.matchFields[0].key: must be "metadata.name", is "metadata.uid"',
    ),
    (
        "NodeAffinity",
        node_field(key="metadata.name", operator="Exists", values=["n"]),
        f'{AFFINITY}.matchFields[0].operator: must be "In" or "NotIn" for a field',
    ),
    (
        "NodeAffinity",
        node_field(key="metadata.name", operator="In", values=["a", "b"]),
        f"{AFFINITY}.matchFields[0].values: must be exactly one name",
    ),
]


@pytest.mark.parametrize(("name", "given", "said"), WRONG)
def test_a_wrong_argument_is_named_by_its_path(name: str, given: dict[str, Any], said: str) -> None:
    found = problems(args(name, given))
    path = f"profiles[0].pluginConfig[0].args.{said}"
    assert any(line.startswith(path) for line in found), found


def test_affinity_without_a_term_is_told_to_match_nothing() -> None:
    given: dict[str, Any] = {
        "addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}
    }
    [warning] = configured(args("NodeAffinity", given)).warnings
    assert warning.endswith(
        "nodeSelectorTerms: has no term, so no node matches and no pod is placed"
    )
    assert plugin("NodeAffinity", given) == IN_TREE["NodeAffinity"](added_required=())


def test_arguments_become_the_fields_of_the_plugin() -> None:
    [profile, _] = configured(sample("v1.yaml")).profiles.values()
    assert profile.plugin("NodeResourcesFit") == IN_TREE["NodeResourcesFit"](
        ignored_resources=frozenset({"example.com/fpga"}),  # left to the second extender
        ignored_resource_groups=frozenset({"example.com"}),
        strategy="MostAllocated",
        resources=(("cpu", 1), ("nvidia.com/gpu", 5)),
    )
    constraint = SpreadConstraint("topology.kubernetes.io/zone", 3, hard=False)
    assert profile.plugin("PodTopologySpread") == IN_TREE["PodTopologySpread"](
        defaulting_type="List", default_constraints=(constraint,)
    )
    pool = Requirement("pool", Operator.IN, ("batch",))
    assert profile.plugin("NodeAffinity") == IN_TREE["NodeAffinity"](
        added_required=(NodeSelectorTerm((pool,)),)
    )


@pytest.mark.parametrize(
    ("name", "given", "fields"),
    [
        (
            "NodeResourcesFit",
            ratio((0, 0), (100, 10)),
            {"strategy": "RequestedToCapacityRatio", "shape": ((0, 0), (100, 10))},
        ),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "nvidia.com/gpu"}]},
            {"resources": ("nvidia.com/gpu",)},
        ),
        (
            "InterPodAffinity",
            {"hardPodAffinityWeight": 0, "ignorePreferredTermsOfExistingPods": True},
            {"hard_pod_affinity_weight": 0, "ignore_preferred_terms_of_existing_pods": True},
        ),
        (
            "NodeQuarantine",
            {"firstSeconds": 1, "longestSeconds": 2, "witnesses": 3, "witnessSeconds": 4},
            {"first_seconds": 1, "longest_seconds": 2, "witnesses": 3, "witness_seconds": 4},
        ),
        ("NodeQuarantine", {"forgiveSeconds": 5}, {"forgive_seconds": 5}),
        (
            "NodeReliability",
            {"refusalPoints": 1, "slownessPoints": 2, "otherSchedulerPoints": 3},
            {"refusal_points": 1, "slowness_points": 2, "other_scheduler_points": 3},
        ),
        (
            "NodeReliability",
            {"refusalHalfLifeSeconds": 4, "otherSchedulerHalfLifeSeconds": 5},
            {"refusal_half_life_seconds": 4, "other_scheduler_half_life_seconds": 5},
        ),
        (
            "DefaultPreemption",
            {"minCandidateNodesAbsolute": 7},
            {"min_candidate_nodes_absolute": 7},
        ),
        ("DynamicResources", {"filterTimeout": "0"}, {"filter_timeout_seconds": 0}),
        ("VolumeBinding", {"shape": [{"score": 3}]}, {"shape": ((0, 3),)}),
        (
            "NodeAffinity",
            {
                "addedAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 9,
                            "preference": {
                                "matchFields": [
                                    {"key": "metadata.name", "operator": "In", "values": ["n"]}
                                ]
                            },
                        }
                    ]
                }
            },
            {
                "added_preferred": (
                    (
                        9,
                        NodeSelectorTerm(
                            fields=(Requirement("metadata.name", Operator.IN, ("n",)),)
                        ),
                    ),
                )
            },
        ),
    ],
)
def test_each_argument_reaches_its_field(
    name: str, given: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert plugin(name, given) == IN_TREE[name](**fields)


# ── plugins from elsewhere ───────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Maintenance:
    name: ClassVar[str] = "Maintenance"
    node_label: str = "maintenance"
    hours: tuple[int, ...] = ()
    limits: dict[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        if not self.node_label:
            raise ValueError("a label is needed")


class Model(BaseModel):
    name: ClassVar[str] = "Model"
    max_age: int = 3


@dataclass(frozen=True)
class Made:
    name: ClassVar[str] = "Made"
    value: Callable[[], int]


class Thing:
    """What no configuration can spell."""


@dataclass(frozen=True)
class Odd:
    name: ClassVar[str] = "Odd"
    thing: Thing | None = None


def made(value: int = 0) -> Made:
    if value < 0:
        raise ValueError("below zero")
    return Made(lambda: value)


def anything(**given: Any) -> Made:
    return Made(lambda: len(given))


OUTSIDE = Registry({**IN_TREE, "Maintenance": Maintenance, "Model": Model, "Made": made})


def outside(name: str, given: dict[str, Any]) -> str:
    """A configuration that runs a plugin from elsewhere with these arguments."""
    return one(
        f"plugins: {{multiPoint: {{enabled: [{{name: {name}}}]}}}}\n"
        f"pluginConfig: [{{name: {name}, args: {given}}}]"
    )


def test_keys_are_camel_case_and_values_become_what_the_fields_are() -> None:
    text = outside("Maintenance", {"nodeLabel": "off", "hours": [1, 2], "limits": {"aB": 1}})
    [profile] = configured(text, registry=OUTSIDE).profiles.values()
    assert profile.plugin("Maintenance") == Maintenance("off", (1, 2), {"aB": 1.0})
    [profile] = configured(outside("Model", {"maxAge": 4}), registry=OUTSIDE).profiles.values()
    assert profile.plugin("Model") == Model(max_age=4)
    [profile] = configured(outside("Made", {"value": 4}), registry=OUTSIDE).profiles.values()
    found = profile.plugin("Made")
    assert isinstance(found, Made)
    assert found.value() == 4


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        (
            "Maintenance",
            {"nodeLabel": "a", "node_label": "b"},
            'node_label: Duplicate: the same as "nodeLabel"',
        ),
        ("Maintenance", {"nodeLable": 1}, 'nodeLable: Unknown argument "nodeLable" (did you mean'),
        ("Maintenance", {"hours": [1, "x"]}, "hours[1]: must be an integer, unable to parse"),
        ("Maintenance", {"limits": {"aB": "x"}}, "limits.aB: must be a number"),
        ("Maintenance", {"nodeLabel": ""}, "a label is needed"),
        ("Model", {"maxAge": "old"}, "maxAge: must be an integer"),
        ("Model", {"age": 1}, 'age: Unknown argument "age" (did you mean "maxAge"? known: maxAge)'),
        ("Made", {"value": -1}, '"Made" refuses its arguments: below zero'),
        ("Made", {"weight": 1}, 'weight: Unknown argument "weight" (known: value)'),
    ],
)
def test_a_wrong_argument_of_a_plugin_from_elsewhere_is_named(
    name: str, given: dict[str, Any], said: str
) -> None:
    found = problems(outside(name, given), registry=OUTSIDE)
    assert any(
        line.startswith("profiles[0].pluginConfig[0].args") and said in line for line in found
    )


@pytest.mark.parametrize(
    ("name", "given", "shown"),
    [
        (
            "Maintenance",
            {"hours": [3]},
            {"nodeLabel": "maintenance", "hours": [3], "limits": {}},
        ),
        ("Model", {}, {"maxAge": 3}),
        ("Made", {"value": 4}, {"value": 4}),
    ],
)
def test_arguments_of_plugins_from_elsewhere_are_shown(
    name: str, given: dict[str, Any], shown: dict[str, Any]
) -> None:
    found = configured(outside(name, given), registry=OUTSIDE)
    [document, _] = effective(found)
    arguments = {each["name"]: each["args"] for each in document["profiles"][0]["pluginConfig"]}
    assert arguments[name] == shown
    again = configured(yaml.safe_dump(document), registry=OUTSIDE)
    assert again.profiles.keys() == found.profiles.keys()


def test_types_that_only_the_plugin_knows_are_left_to_it() -> None:
    registry = Registry({**IN_TREE, "Odd": Odd})
    [profile] = configured(outside("Odd", {"thing": 1}), registry=registry).profiles.values()
    assert profile.plugin("Odd") == Odd(1)  # type: ignore[arg-type]


def test_a_function_that_takes_anything_gets_it() -> None:
    registry = Registry({**IN_TREE, "Made": anything})
    [profile] = configured(
        outside("Made", {"oneA": 1, "b": 2}), registry=registry
    ).profiles.values()
    found = profile.plugin("Made")
    assert isinstance(found, Made)
    assert found.value() == 2


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, "enbloc.plugins")


def test_an_entry_point_is_imported_only_when_it_is_named() -> None:
    registry = Registry(IN_TREE, [entry("Broken", "no_such_module:Plugin")])
    assert problems(HEAD, registry=registry) == []
    [said] = problems(one("plugins: {filter: {enabled: [{name: Broken}]}}"), registry=registry)
    assert said == (
        'profiles[0].plugins.filter.enabled[0].name: "Broken" cannot be imported from '
        "no_such_module:Plugin: ModuleNotFoundError: No module named 'no_such_module'"
    )


def test_an_unknown_name_lists_what_is_installed() -> None:
    registry = Registry(IN_TREE, [entry("Acme", "acme:Acme")])
    [said] = problems(one("plugins: {filter: {enabled: [{name: Acne}]}}"), registry=registry)
    assert '"Acne" (did you mean "Acme"? in-tree: DefaultBinder,' in said
    assert said.endswith("; entry points: Acme)")
