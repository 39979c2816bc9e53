# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Volcano's actions, plugins and arguments: what stands for each here, or why nothing does.

Source: volcano v1.15 pkg/scheduler/actions/factory.go init; pkg/scheduler/plugins/factory.go init;
pkg/scheduler/conf/scheduler_conf.go PluginOption.
"""

from collections.abc import Mapping
from typing import Final

from enbloc.config.findings import SettingOutcome

_KUEUE: Final = "enbloc has no queues: let Kueue admit Jobs, and enbloc place them"
_BY_PRIORITY: Final = "DefaultPreemption evicts whole gangs of lower priority"
_DEVICES: Final = "devices are allocated whole, as node resources count them"

Row = tuple[SettingOutcome, str]

ACTIONS: Final[Mapping[str, Row]] = {
    "enqueue": (
        SettingOutcome.NOT_NEEDED,
        "a PodGroup is admitted as soon as it exists, so that its pods can be created",
    ),
    "allocate": (SettingOutcome.BUILT_IN, "a gang is placed whole, on one snapshot, or not at all"),
    "backfill": (SettingOutcome.BUILT_IN, "pods without requests are placed like all others"),
    "preempt": (SettingOutcome.BUILT_IN, _BY_PRIORITY),
    "reclaim": (SettingOutcome.LOST, _KUEUE),
    "gangpreempt": (SettingOutcome.BUILT_IN, _BY_PRIORITY),
    "gangreclaim": (SettingOutcome.LOST, _KUEUE),
    "shuffle": (SettingOutcome.LOST, "enbloc never moves running pods: use the descheduler"),
    "elect": (SettingOutcome.LOST, "use minResources to reserve capacity for an admitted gang"),
    "reserve": (SettingOutcome.LOST, "use minResources to reserve capacity for an admitted gang"),
}

#: Who is in the way of a higher priority is evicted only where one of these is listed.
PREEMPTING: Final = ("preempt", "gangpreempt")
#: What is said where none of them is.
NOT_PREEMPTING: Final[Row] = (
    SettingOutcome.KEPT,
    "neither preempt nor gangpreempt is listed, so DefaultPreemption is off at postFilter",
)

PREDICATES: Final = "predicates"
NODE_ORDER: Final = "nodeorder"
BINPACK: Final = "binpack"
STRATEGY: Final = "resource-strategy-fit"

PLUGINS: Final[Mapping[str, Row]] = {
    "gang": (
        SettingOutcome.BUILT_IN,
        "minMember and minTaskMember are placed together or not at all",
    ),
    "priority": (SettingOutcome.BUILT_IN, "PrioritySort: groups by priority, then by time"),
    "conformance": (
        SettingOutcome.NOT_NEEDED,
        "system-* pods are preempted only by pods of higher priority; minRuntimes protects others",
    ),
    PREDICATES: (SettingOutcome.KEPT, "the default plugins at filter"),
    NODE_ORDER: (SettingOutcome.KEPT, "the default plugins at score, with the weights below"),
    BINPACK: (SettingOutcome.CHANGED, "NodeResourcesFit with scoringStrategy MostAllocated"),
    STRATEGY: (SettingOutcome.CHANGED, "NodeResourcesFit with a scoringStrategy"),
    "overcommit": (
        SettingOutcome.LOST,
        "the number of groups that wait with pods is not limited: use ResourceQuota or Kueue",
    ),
    "proportion": (SettingOutcome.LOST, _KUEUE),
    "capacity": (SettingOutcome.LOST, _KUEUE),
    "drf": (
        SettingOutcome.LOST,
        "no fair share: groups of equal priority are ordered by time, in turns by namespace",
    ),
    "sla": (
        SettingOutcome.LOST,
        "waiting time gives a group no capacity beyond its turn: use priority",
    ),
    "tdm": (
        SettingOutcome.LOST,
        "no nodes that are revocable by time of day: taint them, and change the taint by a CronJob",
    ),
    "numaaware": (
        SettingOutcome.LOST,
        "no NUMA zones: a kubelet may reject a member, and the gang is repaired on other nodes",
    ),
    "task-topology": (
        SettingOutcome.LOST,
        "write pod affinity and anti-affinity between the tasks into the pod templates",
    ),
    "rescheduling": (SettingOutcome.LOST, "enbloc never moves running pods: use the descheduler"),
    "usage": (SettingOutcome.LOST, "enbloc does not use measured load, only requests"),
    "pdb": (
        SettingOutcome.BUILT_IN,
        "running members are evicted through the Eviction API, which respects PodDisruptionBudgets",
    ),
    "nodegroup": (
        SettingOutcome.LOST,
        "write node affinity into the pods, or give a profile NodeAffinity's addedAffinity",
    ),
    "network-topology-aware": (
        SettingOutcome.BUILT_IN,
        "HyperNodes and networkTopology of PodGroups are read; its weights have no equivalent",
    ),
    "deviceshare": (SettingOutcome.LOST, _DEVICES),
    "resourcequota": (
        SettingOutcome.NOT_NEEDED,
        "the API server enforces ResourceQuota when pods are created",
    ),
    "cdp": (
        SettingOutcome.LOST,
        "use minRuntimes of EnblocConfiguration, by PriorityClass and namespace",
    ),
    "extender": (
        SettingOutcome.LOST,
        "Volcano's extenders use their own protocol; list those for kube-scheduler in `extenders`",
    ),
}

#: Switches that a plugin of a tier may have; the others are unknown to Volcano too.
SWITCHES: Final = (
    "enableJobOrder",
    "enableHierarchy",
    "enableJobReady",
    "enableJobPipelined",
    "enableTaskOrder",
    "enablePreemptable",
    "enableReclaimable",
    "enablePreemptive",
    "enableQueueOrder",
    "enabledClusterOrder",
    "enablePredicate",
    "enableBestNode",
    "enableNodeOrder",
    "enableTargetJob",
    "enableReservedNodes",
    "enableJobEnqueued",
    "enabledVictim",
    "enableJobStarving",
    "enabledOverused",
    "enabledAllocatable",
    "enabledHyperNodeOrder",
    "enabledSubJobReady",
    "enabledSubJobPipelined",
    "enabledSubJobOrder",
    "enabledHyperNodeGradient",
)
#: Those that decide who is evicted for others.
OF_PREEMPTION: Final = (
    "enablePreemptable",
    "enableReclaimable",
    "enablePreemptive",
    "enabledVictim",
    "enableJobStarving",
)
#: What cannot be switched off here, by plugin and switch.
ALWAYS: Final[Mapping[tuple[str, str], str]] = {
    ("gang", "enableJobReady"): "a gang is always placed whole",
    ("gang", "enableJobPipelined"): "a gang is always placed whole",
    ("gang", "enabledSubJobReady"): "a gang is always placed whole",
    ("gang", "enabledSubJobPipelined"): "a gang is always placed whole",
    ("priority", "enableJobOrder"): "priority always decides first",
    ("priority", "enableTaskOrder"): "priority always decides first",
    (PREDICATES, "enablePredicate"): "filters always hold; switch them off one by one",
}

#: Argument of predicates → the plugin at filter that it switches.
FILTERS: Final[Mapping[str, str]] = {
    "predicate.NodeAffinityEnable": "NodeAffinity",
    "predicate.NodePortsEnable": "NodePorts",
    "predicate.TaintTolerationEnable": "TaintToleration",
    "predicate.PodAffinityEnable": "InterPodAffinity",
    "predicate.NodeVolumeLimitsEnable": "NodeVolumeLimits",
    "predicate.VolumeZoneEnable": "VolumeZone",
    "predicate.PodTopologySpreadEnable": "PodTopologySpread",
    "predicate.VolumeBindingEnable": "VolumeBinding",
    "predicate.DynamicResourceAllocationEnable": "DynamicResources",
}
#: Other arguments of predicates.
OTHER_PREDICATES: Final[Mapping[str, Row]] = {
    "predicate.CacheEnable": (
        SettingOutcome.NOT_NEEDED,
        "results are cached where they stay valid",
    ),
    "predicate.GPUSharingEnable": (SettingOutcome.LOST, _DEVICES),
    "predicate.GPUNumberEnable": (SettingOutcome.LOST, _DEVICES),
}

LEAST: Final = "leastrequested.weight"
MOST: Final = "mostrequested.weight"
#: Argument of nodeorder → plugin at score, and Volcano's default weight.
SCORES: Final[Mapping[str, tuple[str, int]]] = {
    "nodeaffinity.weight": ("NodeAffinity", 2),
    "podaffinity.weight": ("InterPodAffinity", 2),
    "balancedresource.weight": ("NodeResourcesBalancedAllocation", 1),
    "tainttoleration.weight": ("TaintToleration", 3),
    "imagelocality.weight": ("ImageLocality", 1),
    "podtopologyspread.weight": ("PodTopologySpread", 2),
    LEAST: ("NodeResourcesFit", 1),
    MOST: ("NodeResourcesFit", 0),
}

#: Argument of an action → what becomes of it; the others go with their action.
CONFIGURATIONS: Final[Mapping[str, Row]] = {
    "predicateErrorCacheEnable": (
        SettingOutcome.NOT_NEEDED,
        "results are cached where they stay valid",
    ),
    "overcommit-factor": PLUGINS["overcommit"],
}
METRICS: Final[Row] = PLUGINS["usage"]
