# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every in-tree plugin keeps the contract: shape, dtype, repeatable, row by row, no writes."""

import inspect
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.framework import decide
from enbloc.framework.decide import Plugin
from enbloc.framework.points import Point, points_of
from enbloc.framework.reads import Reads
from enbloc.framework.testing import check_plugin
from enbloc.model.nodes import Nodes
from enbloc.model.placed import PlacedPods
from enbloc.model.pods import NodeSelectorTerm, Pod, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.snapshot import Snapshot
from enbloc.plugins import IN_TREE
from enbloc.plugins.node_affinity import NodeAffinity
from enbloc.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from enbloc.plugins.node_resources_fit.plugin import NodeResourcesFit
from tests.effort import examples, times
from tests.strategies import Layout, layouts, specs
from tests.world.builders import pod

GPU = "nvidia.com/gpu"
TERM = NodeSelectorTerm((Requirement("zone", Operator.IN, ("a",)),))
PLUGINS: list[Plugin] = [factory() for factory in IN_TREE.values()]
every_plugin = pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)


@pytest.mark.hypothesis
@every_plugin
def test_a_plugin_keeps_what_plugins_promise(plugin: Plugin) -> None:
    check_plugin(plugin, examples=times(40))


@every_plugin
def test_a_plugin_is_registered_under_its_own_name(plugin: Plugin) -> None:
    assert IN_TREE[plugin.name] is type(plugin)


@every_plugin
def test_a_plugin_is_a_frozen_fact_with_its_arguments_as_fields(plugin: Plugin) -> None:
    assert type(plugin)() == plugin
    assert inspect.getdoc(type(plugin))
    with pytest.raises(AttributeError):
        plugin.anything = 1  # type: ignore[attr-defined]


def _evaluators(plugin: Plugin, member: Pod, whole: Nodes) -> Iterator[object]:
    """The objects that would filter and score this pod."""
    facts = Snapshot(whole, PlacedPods().snapshot())
    filters: object = plugin
    if isinstance(plugin, decide.PreFilter):
        filters = plugin.pre_filter(member, facts)
    yield filters.then if isinstance(filters, decide.NodeSet) else filters
    yield plugin.pre_score(member, facts) if isinstance(plugin, decide.PreScore) else plugin


@every_plugin
@examples(50)
@given(layout=layouts(), spec=specs, data=st.data())
def test_a_mask_and_a_score_of_some_rows_are_those_rows_of_the_whole(
    plugin: Plugin, layout: Layout, spec: PodSpec, data: st.DataObject
) -> None:
    whole, member = layout.table().snapshot(), pod(spec)
    start, stop = sorted(data.draw(st.tuples(st.integers(0, 5), st.integers(0, 5))))
    filters, scores = _evaluators(plugin, member, whole)
    for rows in (slice(start, stop), np.arange(len(whole))[::-1]):
        part = whole.take(rows)
        if isinstance(filters, decide.Filter) and filters.reads is not Reads.CLUSTER:
            expected = filters.filter(member, whole)[rows]
            assert filters.filter(member, part).tolist() == expected.tolist()
        if isinstance(scores, decide.Score) and scores.reads is not Reads.CLUSTER:
            assert scores.score(member, part).tolist() == scores.score(member, whole)[rows].tolist()


def test_each_plugin_is_asked_at_the_extension_points_of_its_namesake() -> None:
    """Upstream's table of default plugins, for what enbloc does already.

    Source: kube-scheduler v1.36 pkg/scheduler/apis/config/v1/default_plugins.go getDefaultPlugins.
    """
    at: dict[Point, set[str]] = {point: set() for point in Point}
    for plugin in PLUGINS:
        for point in points_of(plugin):
            at[point].add(plugin.name)

    assert at[Point.PRE_ENQUEUE] == {"DynamicResources", "GangScheduling", "SchedulingGates"}
    assert at[Point.QUEUE_SORT] == {"PrioritySort"}
    assert at[Point.FILTER] >= {
        "DynamicResources", "NodeAffinity", "NodeDeclaredFeatures", "NodeName", "NodePorts",
        "NodeResourcesFit", "NodeUnschedulable", "TaintToleration", "VolumeBinding",
    }  # fmt: skip
    assert at[Point.SCORE] >= {
        "ImageLocality", "NodeAffinity", "NodeResourcesBalancedAllocation", "NodeResourcesFit",
        "TaintToleration",
    }  # fmt: skip
    assert at[Point.BIND] == {"DefaultBinder"}


@pytest.mark.parametrize(
    "plugin",
    [
        NodeAffinity((TERM,), ((3, TERM),)),
        NodeResourcesFit(strategy="MostAllocated", resources=(("cpu", 2), (GPU, 3))),
        NodeResourcesFit(
            frozenset({GPU}), frozenset({"x"}), "RequestedToCapacityRatio", shape=((0, 10), (60, 0))
        ),
        NodeResourcesBalancedAllocation(("cpu", "memory", GPU)),
    ],
    ids=repr,
)
def test_a_plugin_with_arguments_keeps_it_too(plugin: Plugin) -> None:
    check_plugin(plugin, examples=60)


def test_preemption_has_its_place_among_the_postfilter_plugins() -> None:
    assert points_of(IN_TREE["DefaultPreemption"]()) == {Point.POST_FILTER}
