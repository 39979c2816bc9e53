# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import textwrap
from typing import Any

import pytest
import yaml

from enbloc.config import Findings, Source, convert, default_configuration, effective
from enbloc.config.findings import SettingOutcome
from enbloc.errors import ConfigError
from enbloc.framework.points import Point
from tests.config.files import configured, problems, sample, v1

FILTERS = ("NodeUnschedulable", "TaintToleration")
#: No other scheduler has these, so an older file says nothing of them, and they hold.
OUR_OWN = ("NodeQuarantine", "NodeReliability")


def converted(text: str) -> tuple[dict[str, Any], list[str]]:
    """A file in today's form, and what is said of settings that it does not simply keep."""
    found = convert([Source("f", text)], Findings())
    [document] = found.documents
    said = [each for each in found.settings if each.outcome is not SettingOutcome.KEPT]
    return document, [f"{each.path}: {each.text}" for each in said]


def policy(**fields: Any) -> str:
    """A Policy with these fields."""
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Policy", **fields})


def predicates(*names: str) -> str:
    return policy(predicates=[{"name": name} for name in names], priorities=[])


def priorities(**weights: int) -> str:
    listed = [{"name": name, "weight": weight} for name, weight in weights.items()]
    return policy(predicates=[], priorities=listed)


def at(text: str, point: Point) -> tuple[str, ...]:
    """Who is asked at a point, of kube-scheduler's plugins."""
    [profile] = configured(text).profiles.values()
    return tuple(name for name in profile.points[point] if name not in OUR_OWN)


#: Scores that there were not yet, with their weights of today.
NEWER = {"VolumeBinding": 1, "DynamicResources": 2}


def weights_of(text: str) -> dict[str, int]:
    """What kube-scheduler's score plugins weigh."""
    [profile] = configured(text).profiles.values()
    return {name: profile.weights[name] for name in at(text, Point.SCORE)}


# ── older versions ───────────────────────────────────────────────────────────────────────────
def test_v1beta3_is_v1_but_for_plugins_that_others_took_in() -> None:
    document, said = converted(sample("v1beta3.yaml"))
    assert document["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    [profile] = document["profiles"]
    assert profile["plugins"] == {
        "multiPoint": {"enabled": [{"name": "PodTopologySpread"}], "disabled": []},
        "filter": {"enabled": [{"name": "NodeVolumeLimits"}]},
    }
    assert [line.split(": ")[0] for line in said] == [
        "profiles[0].plugins.multiPoint.enabled[0]",
        "profiles[0].plugins.filter.enabled[0]",
        "profiles[0].plugins.filter.enabled[1]",
    ]
    assert said[0].endswith('"SelectorSpread" was removed: PodTopologySpread replaces it')


@pytest.mark.parametrize(
    "body",
    ["", "profiles: []", "profiles: [{}]", "profiles: [{plugins: {multiPoint: {}}}]"],
)
@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_the_default_weights_of_then_are_kept(version: str, body: str) -> None:
    head = f"apiVersion: kubescheduler.config.k8s.io/{version}\nkind: KubeSchedulerConfiguration\n"
    assert weights_of(head + body) == {
        "TaintToleration": 1,
        "NodeAffinity": 1,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 1,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
        **NEWER,
    }


def test_v1beta2s_own_weights_and_switches_hold() -> None:
    [profile] = configured(sample("v1beta2.yaml")).profiles.values()
    assert profile.weights["InterPodAffinity"] == 9
    head = "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\n"
    off = "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeAffinity}]}}}]"
    [profile] = configured(head + off).profiles.values()
    assert "NodeAffinity" not in profile.points[Point.SCORE]
    assert "NodeAffinity" not in profile.points[Point.FILTER]


def test_a_plugin_scheduler_of_v1beta1_is_read_as_it_is() -> None:
    [profile] = configured(
        """
        apiVersion: kubescheduler.config.k8s.io/v1beta1
        kind: KubeSchedulerConfiguration
        clientConnection: {kubeconfig: /etc/kubernetes/scheduler.conf}
        leaderElection: {leaderElect: false}
        profiles:
        - schedulerName: sample-scheduler
          plugins:
            preFilter: {enabled: [{name: NodePorts}]}
            postFilter: {disabled: [{name: DefaultPreemption}]}
          pluginConfig:
          - name: NodeResourcesFit
            args:
              apiVersion: kubescheduler.config.k8s.io/v1beta1
              kind: NodeResourcesFitArgs
              ignoredResources: [example.com/thing]
        """
    ).profiles.values()
    assert profile.name == "sample-scheduler"
    assert profile.points[Point.PRE_FILTER][0] == "NodePorts"
    assert "DefaultPreemption" not in profile.points[Point.POST_FILTER]


COMMENTED = """
// A policy from some tutorial.
{
  "kind": "Policy", # the old way
  "apiVersion": "v1",
  "predicates": [ /* what a node
                     must have */
    {"name": "NoDiskConflict"} // "and" {"name": "Nonsense"}
  ],
  "extenders": [{"urlPrefix": "http://127.0.0.1:9/", "filterVerb": "a//b/*c*/"}]
}
"""


def test_comments_in_a_policy_are_no_part_of_it_and_urls_are_no_comments() -> None:
    document, _ = converted(COMMENTED)
    assert document["extenders"] == [
        {"urlPrefix": "http://127.0.0.1:9/", "filterVerb": "a//b/*c*/"}
    ]


@pytest.mark.parametrize(
    ("field", "name", "meant"),
    [
        ("predicates", "NodiskConflict", "NoDiskConflict"),
        ("priorities", "LeastRequestPriority", "LeastRequestedPriority"),
        ("priorities", "BalanceResourceAllocation", "BalancedResourceAllocation"),
    ],
)
def test_a_name_as_copies_of_policies_misspell_it_names_the_right_one(
    field: str, name: str, meant: str
) -> None:
    weight = ', "weight": 1' if field == "priorities" else ""
    text = f'{{"kind": "Policy", "apiVersion": "v1", "{field}": [{{"name": "{name}"{weight}}}]}}'
    with pytest.raises(ConfigError, match=f'"{name}" \\(did you mean "{meant}"'):
        configured(text)


def test_addresses_that_v1_lacks_are_named() -> None:
    document, [said] = converted(sample("v1beta2.yaml"))
    assert "healthzBindAddress" not in document
    assert said.startswith("healthzBindAddress: not honoured: --bind-address and --secure-port")


def test_what_has_no_successor_is_a_problem_where_it_runs_and_none_where_it_is_off() -> None:
    text = textwrap.dedent(
        """
        apiVersion: kubescheduler.config.k8s.io/v1beta2
        kind: KubeSchedulerConfiguration
        profiles:
        - plugins:
            filter: {enabled: [{name: NodeName}, {name: NodeLabel}], disabled: [{name: NodeLabel}]}
          pluginConfig:
          - {name: NodeLabel, args: {presentLabels: [a]}}
        """
    )
    [said] = problems(text)
    assert said.startswith(
        'profiles[0].plugins.filter.enabled[1].name: "NodeLabel" was removed: use N'
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("profiles: 5", "profiles: must be a list, is 5"),
        ("profiles: [5]", "profiles[0]: must be a mapping"),
        ("profiles: [{plugins: 5}]", "profiles[0].plugins: must be a mapping"),
        ("profiles: [{plugins: {filter: 5}}]", "profiles[0].plugins.filter: must be a mapping"),
        ("profiles: [{plugins: {multiPoint: 5}}]", "profiles[0].plugins.multiPoint: must be a m"),
        (
            "profiles: [{plugins: {filter: {enabled: [{names: a}, {name: 5}]}}}]",
            "profiles[0].plugins.filter.enabled[0].name: Required",
        ),
    ],
)
def test_mistakes_in_older_files_are_named_as_in_new_ones(body: str, said: str) -> None:
    head = "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\n"
    found = problems(head + body)
    assert any(line.startswith(said) for line in found), found


# ── Policy ───────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("names", "filters"),
    [
        ([], ()),
        (["PodFitsHostPorts"], ("NodePorts",)),
        (["PodFitsPorts"], ("NodePorts",)),
        (["PodFitsResources"], ("NodeResourcesFit",)),
        (["HostName"], ("NodeName",)),
        (["MatchNodeSelector"], ("NodeAffinity",)),
        (["GeneralPredicates"], ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity")),
        (["PodFitsResources", "HostName"], ("NodeName", "NodeResourcesFit")),
        (["CheckVolumeBinding"], ("VolumeBinding",)),
        (["EvenPodsSpread"], ("PodTopologySpread",)),
        (["MatchInterPodAffinity"], ("InterPodAffinity",)),
        (["CheckNodeUnschedulable", "PodToleratesNodeTaints"], ()),
        (
            ["NoDiskConflict", "NoVolumeZoneConflict", "MaxCSIVolumeCountPred"],
            ("VolumeRestrictions", "NodeVolumeLimits", "VolumeZone"),
        ),
        (
            ["MaxEBSVolumeCount", "MaxGCEPDVolumeCount", "MaxAzureDiskVolumeCount"],
            ("NodeVolumeLimits",),
        ),
        (["MaxCinderVolumeCount", "CheckNodeLabelPresence"], ("NodeVolumeLimits",)),
    ],
)
def test_predicates_are_the_filters_beside_those_that_always_held(
    names: list[str], filters: tuple[str, ...]
) -> None:
    found = at(predicates(*names), Point.FILTER)
    newer = ("DynamicResources", "NodeDeclaredFeatures")
    assert set(found) == {*filters, *FILTERS, *newer}
    order = [name for name in found if name in filters]
    assert order == [name for name in filters if name in order]


def test_without_a_list_the_old_defaults_hold() -> None:
    [profile] = configured(policy()).profiles.values()
    default = default_configuration().profiles["enbloc"]
    assert set(profile.points[Point.FILTER]) == set(default.points[Point.FILTER])
    assert weights_of(policy()) == {
        "PodTopologySpread": 2,
        "InterPodAffinity": 1,
        "NodeResourcesFit": 1,
        "NodeResourcesBalancedAllocation": 1,
        "NodeAffinity": 1,
        "TaintToleration": 1,
        "ImageLocality": 1,
    }


@pytest.mark.parametrize(
    ("given", "weights"),
    [
        ({}, {}),
        ({"LeastRequestedPriority": 2}, {"NodeResourcesFit": 2}),
        ({"MostRequestedPriority": 2}, {"NodeResourcesFit": 2}),
        ({"BalancedResourceAllocation": 3}, {"NodeResourcesBalancedAllocation": 3}),
        ({"ServiceSpreadingPriority": 3}, {"PodTopologySpread": 3}),
        ({"SelectorSpreadPriority": 3, "EvenPodsSpreadPriority": 5}, {"PodTopologySpread": 5}),
        ({"ImageLocalityPriority": 1}, {"ImageLocality": 1}),
        ({"NodeAffinityPriority": 4}, {"NodeAffinity": 4}),
        ({"TaintTolerationPriority": 1}, {"TaintToleration": 1}),
        ({"InterPodAffinityPriority": 1}, {"InterPodAffinity": 1}),
        ({"EqualPriority": 1}, {}),
        ({"NodePreferAvoidPodsPriority": 10000}, {}),
    ],
)
def test_priorities_are_the_scores_with_their_weights(
    given: dict[str, int], weights: dict[str, int]
) -> None:
    text = priorities(**given)
    assert weights_of(text) == weights
    [profile] = configured(text).profiles.values()
    assert set(OUR_OWN) <= {*profile.points[Point.FILTER], *profile.points[Point.SCORE]}


def argument(plugin: str, text: str) -> Any:
    """What a converted file gives a plugin."""
    [profile] = converted(text)[0]["profiles"]
    return {each["name"]: each["args"] for each in profile.get("pluginConfig", [])}.get(plugin)


def test_the_arguments_of_priorities_are_those_of_plugins() -> None:
    most = argument("NodeResourcesFit", priorities(MostRequestedPriority=1))
    assert most == {"scoringStrategy": {"type": "MostAllocated"}}
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    ratio = {"shape": shape, "resources": [{"name": "nvidia.com/gpu", "weight": 2}]}
    custom = {"requestedToCapacityRatioArguments": ratio}
    text = policy(priorities=[{"name": "Mine", "weight": 1, "argument": custom}])
    assert argument("NodeResourcesFit", text) == {
        "scoringStrategy": {
            "type": "RequestedToCapacityRatio",
            "requestedToCapacityRatio": {"shape": shape},
            "resources": [{"name": "nvidia.com/gpu", "weight": 2}],
        }
    }
    assert problems(text) == []
    even = argument("PodTopologySpread", priorities(EvenPodsSpreadPriority=1))
    assert even == {"defaultingType": "List"}
    assert argument("PodTopologySpread", priorities(ServiceSpreadingPriority=1)) is None


def test_labels_that_nodes_must_have_or_lack_are_added_affinity() -> None:
    listed = [
        {"name": "a", "argument": {"labelsPresence": {"labels": ["fast"], "presence": True}}},
        {"name": "b", "argument": {"labelsPresence": {"labels": ["old"]}}},
    ]
    text = policy(predicates=listed)
    terms = argument("NodeAffinity", text)["addedAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    assert terms == [
        {
            "matchExpressions": [
                {"key": "fast", "operator": "Exists"},
                {"key": "old", "operator": "DoesNotExist"},
            ]
        }
    ]
    assert "NodeAffinity" in at(text, Point.FILTER)


def test_the_sample_of_a_policy_runs_as_it_is_converted() -> None:
    text = sample("policy.json")
    document, said = converted(text)
    direct, written = configured(text), configured(yaml.safe_dump(document))
    assert direct.profiles == written.profiles
    [profile] = direct.profiles.values()
    [extender] = profile.extenders
    assert (extender.weight, extender.timeout, extender.tls) == (5, 2.5, None)
    assert [line.split(":")[0] for line in said] == ["priorities[3]", "alwaysCheckAllPredicates"]
    assert argument("InterPodAffinity", text) == {"hardPodAffinityWeight": 10}


def test_keys_of_a_policy_are_read_whatever_their_case() -> None:
    text = policy(
        EXTENDERCONFIGS=[
            {"urlprefix": "https://a", "enableHttps": True, "TLSConfig": {"Insecure": True}}
        ]
    )
    [profile] = configured(text).profiles.values()
    [extender] = profile.extenders
    assert extender.tls is not None
    assert extender.tls.insecure


ANTI = {"serviceAntiAffinity": {"label": "rack"}}
PREFER = {"labelPreference": {"label": "fast", "presence": True}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            policy(predicates=[{"name": "a", "argument": {"serviceAffinity": {"labels": ["x"]}}}]),
            'predicates[0]: "a" has no equivalent: no plugin keeps the pods of a Service on',
        ),
        (predicates("CheckServiceAffinity"), 'predicates[0]: "CheckServiceAffinity" has no equiv'),
        (
            predicates("PodFitsResource"),
            'predicates[0].name: Unknown predicate "PodFitsResource" (did you mean "PodFitsResour',
        ),
        (
            policy(predicates=[{"name": "a", "argument": {}}]),
            "predicates[0].argument: must hold exactly one of serviceAffinity and labelsPresence",
        ),
        (
            policy(predicates=[{"named": "a"}]),
            'predicates[0].named: Unknown field "named" (did you mean',
        ),
        (
            priorities(LeastRequested=1),
            'priorities[0].name: Unknown priority "LeastRequested" (did you mean "LeastRequestedPr',
        ),
        (
            priorities(LeastRequestedPriority=0),
            "priorities[0].weight: must be greater than 0, is 0",
        ),
        (
            priorities(LeastRequestedPriority=1, MostRequestedPriority=1),
            'priorities[1].name: "MostRequestedPriority" and "LeastRequestedPriority" cannot both',
        ),
        (
            priorities(SelectorSpreadPriority=1, ServiceSpreadingPriority=1),
            'priorities[1].name: Duplicate "ServiceSpreadingPriority"',
        ),
        (
            priorities(RequestedToCapacityRatioPriority=1),
            "priorities[0].argument: Required: requestedToCapacityRatioArguments with a shape",
        ),
        (
            policy(priorities=[{"name": "a", "weight": 1, "argument": {**ANTI, **PREFER}}]),
            "priorities[0].argument: must hold exactly one of serviceAntiAffinity, labelPref",
        ),
        (
            policy(hardPodAffinitySymmetricWeight=101),
            "hardPodAffinitySymmetricWeight: must be less than or equal to 100, is 101",
        ),
        (policy(apiVersion="v2"), 'apiVersion: Unknown "v2" (known: v1)'),
    ],
)
def test_what_cannot_be_converted_is_a_problem_with_its_path(text: str, said: str) -> None:
    found = problems(text)
    assert any(line.startswith(said) for line in found), found
    with pytest.raises(ConfigError):
        convert([Source("f", text)], Findings())


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ({"name": "EqualPriority", "weight": 1}, '"EqualPriority" has no equivalent: it gave'),
        (
            {"name": "NodePreferAvoidPodsPriority", "weight": 1},
            '"NodePreferAvoidPodsPriority" has no equivalent: taint such nodes',
        ),
        (
            {"name": "a", "weight": 1, "argument": ANTI},
            '"a" has no equivalent, and scores nothing: it scores by Service and node label',
        ),
        (
            {"name": "a", "weight": 1, "argument": PREFER},
            '"a" has no equivalent, and scores nothing: it prefers nodes by a label',
        ),
    ],
)
def test_a_score_that_is_lost_is_told(listed: dict[str, Any], said: str) -> None:
    _, [warning, *_] = converted(policy(priorities=[listed]))
    assert warning.startswith(f"priorities[0]: {said}")


def test_our_own_documents_and_v1_are_converted_to_themselves() -> None:
    text = sample("v1.yaml")
    found = convert([Source("f", text)], Findings())
    assert found.documents == list(yaml.safe_load_all(text))
    assert {each.outcome for each in found.settings} == {
        SettingOutcome.KEPT,
        SettingOutcome.NOT_NEEDED,
    }
    assert found.lost == 0


def test_what_is_no_configuration_cannot_be_converted() -> None:
    with pytest.raises(ConfigError, match='kind: Unknown "Secret"'):
        convert([Source("f", "kind: Secret\n")], Findings())


# ── showing ──────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("name", ["v1.yaml", "v1beta3.yaml", "v1beta2.yaml", "policy.json"])
def test_what_is_shown_reads_back_to_the_same(name: str) -> None:
    found = configured(sample(name))
    shown = yaml.safe_dump_all(effective(found))
    again = configured(shown)
    assert again.profiles == found.profiles
    assert (again.settings, again.leader_election) == (found.settings, found.leader_election)
    assert yaml.safe_dump_all(effective(again)) == shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("{qps: 20}", {"qps": 20, "burst": 100}),
        ("{burst: 7}", {"qps": 50, "burst": 7}),
        ("{qps: -1}", {"qps": -1, "burst": 100}),
        ("{qps: 0}", None),
    ],
)
def test_a_limit_of_requests_is_shown_with_both_of_its_numbers(
    given: str, shown: dict[str, float] | None
) -> None:
    [document, _] = effective(configured(v1(f"clientConnection: {given}")))
    assert document.get("clientConnection") == shown


def test_the_defaults_are_shown_without_a_warning() -> None:
    shown = yaml.safe_dump_all(effective(default_configuration()))
    assert configured(shown).warnings == ()
