# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from enbloc.errors import ConfigError
from enbloc.framework.facts import GroupFacts
from enbloc.framework.points import Point
from enbloc.framework.reads import Reads
from enbloc.framework.registry import Registry
from enbloc.model.groups import Group
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.plugins import IN_TREE
from tests.config.files import configured, one, problems, v1


@dataclass(frozen=True)
class Fifo:
    """A second way to sort."""

    name: ClassVar[str] = "Fifo"
    reverse: bool = False

    def sort_key(self, group: Group, facts: GroupFacts) -> tuple[float, ...]:
        del group
        return (-facts.queue_time if self.reverse else facts.queue_time,)


@dataclass(frozen=True)
class NoReason:
    """A filter that forgot what its refusals are counted under."""

    name: ClassVar[str] = "NoReason"
    reads: ClassVar[Reads] = Reads.SPEC

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        return np.ones(len(nodes), bool)


REGISTRY = Registry({**IN_TREE, "Fifo": Fifo, "NoReason": NoReason})
FIFO = "plugins: {queueSort: {enabled: [{name: Fifo}], disabled: [{name: '*'}]}}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            one("plugins: {queueSort: {enabled: [{name: Fifo}]}}"),
            'profiles[0].plugins.queueSort: exactly one plugin is needed, but enabled are "Prior',
            id="two queueSorts",
        ),
        pytest.param(
            one("plugins: {queueSort: {disabled: [{name: PrioritySort}]}}"),
            "profiles[0].plugins.queueSort: exactly one plugin is needed, but enabled are none",
            id="no queueSort",
        ),
        pytest.param(
            v1(f"profiles:\n- schedulerName: a\n- schedulerName: b\n  {FIFO}"),
            "profiles[1].plugins.queueSort: must be the same plugin with the same arguments as in",
            id="profiles that sort differently",
        ),
        pytest.param(
            v1(
                f"profiles:\n- schedulerName: a\n  {FIFO}\n- schedulerName: b\n  {FIFO}\n"
                "  pluginConfig: [{name: Fifo, args: {reverse: true}}]"
            ),
            "profiles[1].plugins.queueSort: must be the same plugin with the same arguments as in",
            id="profiles that sort by other arguments",
        ),
        pytest.param(
            one("plugins: {bind: {disabled: [{name: DefaultBinder}]}}"),
            "profiles[0].plugins.bind: at least one plugin is needed; enable DefaultBinder",
            id="no binder",
        ),
        pytest.param(
            v1("profiles: [{schedulerName: a}, {schedulerName: a}]"),
            'profiles[1].schedulerName: Duplicate "a": it is already at profiles[0].schedulerName',
            id="two profiles of one name",
        ),
        pytest.param(
            v1("profiles: [{schedulerName: a}, {}]"),
            "profiles[1].schedulerName: Required: with several profiles each needs a name",
            id="a profile without a name beside another",
        ),
        pytest.param(
            one("plugins: {score: {enabled: [{name: NodePorts}]}}"),
            'profiles[0].plugins.score.enabled[0].name: "NodePorts" does not implement score (its',
            id="a point that the plugin lacks",
        ),
        pytest.param(
            one("plugins: {filter: {enabled: [{name: NoReason}]}}"),
            'profiles[0].plugins.filter.enabled[0].name: "NoReason" cannot run at filter: its '
            "method `filter` needs `reason` beside it",
            id="a method that lacks an attribute, at its point",
        ),
        pytest.param(
            one("plugins: {multiPoint: {enabled: [{name: NoReason}]}}"),
            'profiles[0].plugins.multiPoint.enabled[0].name: "NoReason" cannot run at filter: '
            "its method `filter` needs `reason` beside it",
            id="a method that lacks an attribute, at every point",
        ),
        pytest.param(
            one("plugins: {filter: {enabled: [{name: NodeName}, {name: NodeName}]}}"),
            'profiles[0].plugins.filter.enabled[1].name: Duplicate "NodeName": it is already at',
            id="one plugin twice",
        ),
        pytest.param(
            one("plugins: {multiPoint: {enabled: [{name: NodeLabel}]}}"),
            'profiles[0].plugins.multiPoint.enabled[0].name: "NodeLabel" was removed: use NodeAf',
            id="a plugin of former releases",
        ),
        pytest.param(
            one("plugins: {multiPoint: {enabled: [{name: Absent}]}}"),
            'profiles[0].plugins.multiPoint.enabled[0].name: Unknown "Absent" (in-tree: Default',
            id="an unknown plugin",
        ),
        pytest.param(
            one("plugins: {preScore: {disabled: [{name: '*'}]}}"),
            'profiles[0].plugins.preScore: "PodTopologySpread" needs preScore for its score: enab',
            id="a score whose preparation is off",
        ),
        pytest.param(
            one("plugins: {preFilter: {disabled: [{name: PodTopologySpread}]}}"),
            'profiles[0].plugins.preFilter: "PodTopologySpread" needs preFilter for its filter: en',
            id="a filter whose preparation is off",
        ),
        pytest.param(
            one("pluginConfig: [{name: Absent, args: {a: 1}}]"),
            'profiles[0].pluginConfig[0].name: Unknown "Absent"',
            id="arguments of an unknown plugin",
        ),
        pytest.param(
            one("pluginConfig: [{name: Fifo}, {name: Fifo}]"),
            'profiles[0].pluginConfig[1].name: Duplicate "Fifo": its arguments are already at',
            id="arguments twice",
        ),
        pytest.param(
            one("pluginConfig: [{name: Fifo, args: 5}]"),
            "profiles[0].pluginConfig[0].args: must be a mapping",
            id="arguments that are none",
        ),
    ],
)
def test_a_profile_that_cannot_run_is_refused_with_the_path(text: str, said: str) -> None:
    found = problems(text, registry=REGISTRY)
    assert any(line.startswith(said) for line in found), found


def test_profiles_that_sort_alike_may_differ_in_all_else() -> None:
    text = v1(
        f"profiles:\n- schedulerName: a\n  {FIFO}\n- schedulerName: b\n  {FIFO}\n"
        "  pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 3}}]"
    )
    found = configured(text, registry=REGISTRY)
    assert [profile.queue_sort for profile in found.profiles.values()] == [Fifo(), Fifo()]


def test_one_profile_without_a_name_is_ours_and_a_name_that_is_given_holds() -> None:
    assert list(configured(v1("profiles: [{}]")).profiles) == ["enbloc"]
    assert list(configured(v1("")).profiles) == ["enbloc"]
    given = v1("profiles: [{schedulerName: default-scheduler}]")
    assert list(configured(given).profiles) == ["default-scheduler"]


def test_a_plugin_may_be_named_where_only_kube_schedulers_has_a_say() -> None:
    text = one("plugins: {preScore: {enabled: [{name: TaintToleration}]}}")
    [profile] = configured(text).profiles.values()
    assert "TaintToleration" not in profile.points[Point.PRE_SCORE]


def test_what_prepares_only_here_goes_with_what_it_prepares() -> None:
    off = one("plugins: {score: {disabled: [{name: ImageLocality}]}}")
    [profile] = configured(off).profiles.values()
    assert "ImageLocality" not in profile.points[Point.PRE_SCORE]
    elsewhere = one("plugins: {preScore: {disabled: [{name: ImageLocality}]}}")
    [profile] = configured(elsewhere).profiles.values()
    assert "ImageLocality" in profile.points[Point.PRE_SCORE]


@dataclass(frozen=True)
class Mute:
    """Has no extension point."""

    name: ClassVar[str] = "Mute"


def test_a_plugin_that_is_never_asked_is_told_of() -> None:
    registry = Registry({**IN_TREE, "Mute": Mute})
    text = one("plugins: {multiPoint: {enabled: [{name: Mute}]}}")
    [warning] = configured(text, registry=registry).warnings
    path = "profiles[0].plugins.multiPoint.enabled[0].name"
    assert warning == f'{path}: "Mute" has no extension point, so it never runs'


def test_a_plugin_must_be_called_as_it_is_configured() -> None:
    with pytest.raises(ConfigError, match=r'"Other" gives a plugin whose .name. is .Fifo.; make'):
        Registry({"Other": Fifo}).create("Other")
