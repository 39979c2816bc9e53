# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from hypothesis import given
from hypothesis import strategies as st

from enbloc.config import configure
from enbloc.config.defaults import DEFAULTS, default_entries
from enbloc.config.merge import expanded, merged
from enbloc.config.wanted import PluginEntry, PluginSet
from enbloc.framework.points import Point
from tests.config.files import configured, one

NAMES = ("A", "B", "C", "D", "E")


@st.composite
def entries(draw: st.DrawFn, *, star: bool = False) -> tuple[PluginEntry, ...]:
    names = draw(st.lists(st.sampled_from((*NAMES, "*") if star else NAMES), unique=True))
    weight = st.none() | st.integers(1, 9)
    return tuple(PluginEntry(name, None if star else draw(weight)) for name in names)


@st.composite
def sets(draw: st.DrawFn) -> PluginSet:
    return PluginSet(draw(entries()), draw(entries(star=True)))


def names(found: tuple[PluginEntry, ...]) -> list[str]:
    return [entry.name for entry in found]


@given(entries())
def test_nothing_said_changes_nothing(defaults: tuple[PluginEntry, ...]) -> None:
    assert merged(defaults, PluginSet()) == defaults


@given(entries(), sets())
def test_what_is_enabled_is_there_once_with_the_weight_given_last(
    defaults: tuple[PluginEntry, ...], custom: PluginSet
) -> None:
    found = merged(defaults, custom)
    assert len(set(names(found))) == len(found)
    assert set(custom.enabled) <= set(found)


@given(entries(), sets())
def test_what_is_disabled_and_not_enabled_is_gone(
    defaults: tuple[PluginEntry, ...], custom: PluginSet
) -> None:
    off = custom.disabled_names - set(names(custom.enabled))
    assert not off & set(names(merged(defaults, custom)))


@given(entries(), entries())
def test_a_default_keeps_its_place_when_it_is_enabled_again(
    defaults: tuple[PluginEntry, ...], again: tuple[PluginEntry, ...]
) -> None:
    found = names(merged(defaults, PluginSet(again)))
    assert found[: len(defaults)] == names(defaults)


@given(entries(), sets())
def test_merging_the_result_with_every_default_off_gives_the_result(
    defaults: tuple[PluginEntry, ...], custom: PluginSet
) -> None:
    found = merged(defaults, custom)
    assert merged(defaults, PluginSet(found, (PluginEntry("*"),))) == found


@given(entries(), sets(), st.frozensets(st.sampled_from(NAMES)))
def test_a_point_has_each_plugin_once_and_none_that_is_off_or_lacks_the_point(
    multi_point: tuple[PluginEntry, ...], custom: PluginSet, having: frozenset[str]
) -> None:
    found = names(expanded(multi_point, custom, having.__contains__))
    explicit = set(names(custom.enabled))
    assert len(set(found)) == len(found)
    assert explicit <= set(found)
    inherited = set(found) - explicit
    assert inherited <= having & set(names(multi_point)) - custom.disabled_names
    if "*" in custom.disabled_names:
        assert found == names(custom.enabled)


@given(entries(), sets(), st.frozensets(st.sampled_from(NAMES)))
def test_a_points_own_entries_bring_their_own_weights(
    multi_point: tuple[PluginEntry, ...], custom: PluginSet, having: frozenset[str]
) -> None:
    assert set(custom.enabled) <= set(expanded(multi_point, custom, having.__contains__))


def test_the_order_is_named_here_and_there_then_the_rest_of_multi_point_then_the_rest_of_here() -> (
    None
):
    here = PluginSet((PluginEntry("D"), PluginEntry("X"), PluginEntry("B")), (PluginEntry("C"),))
    multi_point = tuple(map(PluginEntry, "ABCD"))
    assert names(expanded(multi_point, here, lambda _: True)) == ["D", "B", "A", "X"]


def test_the_defaults_are_the_21_of_kube_scheduler_in_its_order_and_two_of_our_own() -> None:
    assert names(default_entries()) == [
        "SchedulingGates",
        "PrioritySort",
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "DefaultPreemption",
        "NodeResourcesBalancedAllocation",
        "ImageLocality",
        "DefaultBinder",
        "NodeDeclaredFeatures",
        "GangScheduling",
        "NodeQuarantine",
        "NodeReliability",
    ]
    assert {name: default.weight for name, default in DEFAULTS.items() if default.weight} == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
        "NodeReliability": 1,
    }


def test_no_file_and_an_empty_one_give_the_same_profile() -> None:
    nothing, empty = configure([]), configured(one(""))
    [default], [written] = nothing.profiles.values(), empty.profiles.values()
    assert default.name == "enbloc"
    assert written.points == default.points
    assert written.weights == default.weights
    assert written.plugins == default.plugins


def test_a_weight_at_the_point_beats_that_of_multi_point_and_absent_is_1() -> None:
    text = one(
        """
        plugins:
          multiPoint:
            enabled: [{name: NodeAffinity, weight: 7}, {name: TaintToleration, weight: 6}]
          score:
            enabled: [{name: NodeAffinity, weight: 8}, {name: PodTopologySpread}]
        """
    )
    [profile] = configured(text).profiles.values()
    assert profile.weights["NodeAffinity"] == 8
    assert profile.weights["TaintToleration"] == 6
    assert profile.weights["PodTopologySpread"] == 1
    assert profile.points[Point.SCORE][:2] == ("NodeAffinity", "PodTopologySpread")


def test_what_is_disabled_at_one_point_stays_at_the_others() -> None:
    [profile] = configured(
        one("plugins: {score: {disabled: [{name: TaintToleration}]}}")
    ).profiles.values()
    assert "TaintToleration" not in profile.points[Point.SCORE]
    assert "TaintToleration" in profile.points[Point.FILTER]


def test_a_profile_of_named_plugins_only_runs_nothing_else() -> None:
    text = one(
        """
        plugins:
          multiPoint:
            enabled: [{name: DefaultBinder}, {name: PrioritySort}, {name: NodeName}]
            disabled: [{name: "*"}]
        """
    )
    found = configured(text)
    [profile] = found.profiles.values()
    assert [plugin.name for plugin in profile.plugins] == [
        "DefaultBinder",
        "PrioritySort",
        "NodeName",
    ]
    [warning] = found.warnings
    assert warning.startswith('profiles[0].plugins: "GangScheduling" is off at preEnqueue')
