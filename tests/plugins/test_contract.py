# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every in-tree plugin keeps the contract: shape, dtype, repeatable, row by row, no writes."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.framework import decide
from enbloc.framework.decide import Plugin
from enbloc.framework.reads import Reads
from enbloc.framework.testing import check_plugin
from enbloc.plugins import IN_TREE
from tests.strategies import World, specs, worlds
from tests.worlds import pod

PLUGINS: list[Plugin] = [factory() for factory in IN_TREE.values()]
every_plugin = pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)


@every_plugin
def test_a_plugin_keeps_what_plugins_promise(plugin: Plugin) -> None:
    check_plugin(plugin, examples=100)


@every_plugin
def test_a_plugin_is_registered_under_its_own_name(plugin: Plugin) -> None:
    assert IN_TREE[plugin.name] is type(plugin)


@every_plugin
def test_a_plugin_is_a_frozen_fact_with_its_arguments_as_fields(plugin: Plugin) -> None:
    assert type(plugin)() == plugin
    assert inspect.getdoc(type(plugin))
    with pytest.raises(AttributeError):
        plugin.anything = 1  # type: ignore[attr-defined]


@every_plugin
@given(world=worlds(), spec=specs, data=st.data())
def test_a_mask_and_a_score_of_some_rows_are_those_rows_of_the_whole(
    plugin: Plugin, world: World, spec: object, data: st.DataObject
) -> None:
    whole, member = world.table().snapshot(), pod(spec)  # type: ignore[arg-type]
    start, stop = sorted(data.draw(st.tuples(st.integers(0, 5), st.integers(0, 5))))
    for rows in (slice(start, stop), np.arange(len(whole))[::-1]):
        part = whole.take(rows)
        if isinstance(plugin, decide.Filter):
            assert plugin.reads is not Reads.CLUSTER
            expected = plugin.filter(member, whole)[rows]
            assert plugin.filter(member, part).tolist() == expected.tolist()
        if isinstance(plugin, decide.Score):
            assert plugin.score(member, part).tolist() == plugin.score(member, whole)[rows].tolist()


def test_the_filters_and_scores_are_found_by_their_protocols() -> None:
    filters = {plugin.name for plugin in PLUGINS if isinstance(plugin, decide.Filter)}
    scores = {plugin.name for plugin in PLUGINS if isinstance(plugin, decide.Score)}

    assert filters == {
        "NodeAffinity", "NodeName", "NodeResourcesFit", "NodeUnschedulable", "TaintToleration",
    }  # fmt: skip
    assert scores == {"NodeResourcesFit", "TaintToleration"}
