# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The registry literal: every plugin that comes with enbloc, by its name."""

from collections.abc import Mapping
from typing import Final

from enbloc.framework.registry import Factory
from enbloc.plugins.default_binder import DefaultBinder
from enbloc.plugins.default_preemption import DefaultPreemption
from enbloc.plugins.dynamic_resources.plugin import DynamicResources
from enbloc.plugins.gang_scheduling import GangScheduling
from enbloc.plugins.image_locality import ImageLocality
from enbloc.plugins.inter_pod_affinity.plugin import InterPodAffinity
from enbloc.plugins.node_affinity import NodeAffinity
from enbloc.plugins.node_avoidance.quarantine import NodeQuarantine
from enbloc.plugins.node_avoidance.reliability import NodeReliability
from enbloc.plugins.node_declared_features import NodeDeclaredFeatures
from enbloc.plugins.node_name import NodeName
from enbloc.plugins.node_ports import NodePorts
from enbloc.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from enbloc.plugins.node_resources_fit.plugin import NodeResourcesFit
from enbloc.plugins.node_unschedulable import NodeUnschedulable
from enbloc.plugins.node_volume_limits import NodeVolumeLimits
from enbloc.plugins.pod_topology_spread.plugin import PodTopologySpread
from enbloc.plugins.priority_sort import PrioritySort
from enbloc.plugins.scheduling_gates import SchedulingGates
from enbloc.plugins.taint_toleration import TaintToleration
from enbloc.plugins.volume_binding.plugin import VolumeBinding
from enbloc.plugins.volume_restrictions import VolumeRestrictions
from enbloc.plugins.volume_zone import VolumeZone

IN_TREE: Final[Mapping[str, Factory]] = {
    plugin.name: plugin
    for plugin in (
        DefaultBinder,
        DefaultPreemption,
        DynamicResources,
        GangScheduling,
        ImageLocality,
        InterPodAffinity,
        NodeAffinity,
        NodeDeclaredFeatures,
        NodeName,
        NodePorts,
        NodeQuarantine,
        NodeReliability,
        NodeResourcesBalancedAllocation,
        NodeResourcesFit,
        NodeUnschedulable,
        NodeVolumeLimits,
        PodTopologySpread,
        PrioritySort,
        SchedulingGates,
        TaintToleration,
        VolumeBinding,
        VolumeRestrictions,
        VolumeZone,
    )
}
