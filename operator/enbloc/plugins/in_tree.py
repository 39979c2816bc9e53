# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The registry literal: every plugin that comes with enbloc, by its name."""

from collections.abc import Mapping
from typing import Final

from enbloc.framework.registry import Factory
from enbloc.plugins.default_binder import DefaultBinder
from enbloc.plugins.gang_scheduling import GangScheduling
from enbloc.plugins.node_affinity import NodeAffinity
from enbloc.plugins.node_name import NodeName
from enbloc.plugins.node_resources_fit import NodeResourcesFit
from enbloc.plugins.node_unschedulable import NodeUnschedulable
from enbloc.plugins.priority_sort import PrioritySort
from enbloc.plugins.taint_toleration import TaintToleration

IN_TREE: Final[Mapping[str, Factory]] = {
    plugin.name: plugin
    for plugin in (
        DefaultBinder,
        GangScheduling,
        NodeAffinity,
        NodeName,
        NodeResourcesFit,
        NodeUnschedulable,
        PrioritySort,
        TaintToleration,
    )
}
