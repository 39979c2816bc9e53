# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The default plugins: kube-scheduler's, in its order, with its weights; then enbloc's own."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from enbloc.config.wanted import PluginEntry
from enbloc.framework.points import Point


class Default(NamedTuple):
    """One plugin that every profile has unless it says otherwise.

    Attributes:
        weight: the weight of its scores; None if kube-scheduler gives none.
        points: where kube-scheduler's plugin of that name is asked, or enbloc's own is. A
            configuration may name it there even if our plugin does nothing at that point.
    """

    weight: int | None
    points: frozenset[Point]


_FILTER: Final = frozenset({Point.PRE_FILTER, Point.FILTER})
_SCORE: Final = frozenset({Point.PRE_SCORE, Point.SCORE})
_STEPS: Final = frozenset({Point.RESERVE, Point.PRE_BIND})

#: The default plugins, in upstream's order. Source: kube-scheduler v1.36
#: pkg/scheduler/apis/config/v1/default_plugins.go getDefaultPlugins.
DEFAULTS: Final[Mapping[str, Default]] = {
    "SchedulingGates": Default(None, frozenset({Point.PRE_ENQUEUE})),
    "PrioritySort": Default(None, frozenset({Point.QUEUE_SORT})),
    "NodeUnschedulable": Default(None, frozenset({Point.FILTER})),
    "NodeName": Default(None, frozenset({Point.FILTER})),
    "TaintToleration": Default(3, _SCORE | {Point.FILTER}),
    "NodeAffinity": Default(2, _FILTER | _SCORE),
    "NodePorts": Default(None, _FILTER),
    "NodeResourcesFit": Default(1, _FILTER | _SCORE),
    "VolumeRestrictions": Default(None, _FILTER),
    "NodeVolumeLimits": Default(None, _FILTER),
    "VolumeBinding": Default(None, _FILTER | _SCORE | _STEPS),
    "VolumeZone": Default(None, _FILTER),
    "PodTopologySpread": Default(2, _FILTER | _SCORE),
    "InterPodAffinity": Default(2, _FILTER | _SCORE),
    "DynamicResources": Default(
        2, _FILTER | _STEPS | {Point.PRE_ENQUEUE, Point.POST_FILTER, Point.SCORE}
    ),
    "DefaultPreemption": Default(None, frozenset({Point.PRE_ENQUEUE, Point.POST_FILTER})),
    "NodeResourcesBalancedAllocation": Default(1, _SCORE),
    "ImageLocality": Default(1, frozenset({Point.SCORE})),
    "DefaultBinder": Default(None, frozenset({Point.BIND})),
    "NodeDeclaredFeatures": Default(None, _FILTER),
    "GangScheduling": Default(None, frozenset({Point.PRE_ENQUEUE, Point.PERMIT})),
    # enbloc's own, which affect gangs only.
    "NodeQuarantine": Default(None, frozenset({Point.FILTER})),
    "NodeReliability": Default(1, frozenset({Point.SCORE})),
}

#: Plugins of former releases that became part of another one.
TAKEN_IN: Final[Mapping[str, str]] = {
    "AzureDiskLimits": "NodeVolumeLimits",
    "CinderLimits": "NodeVolumeLimits",
    "EBSLimits": "NodeVolumeLimits",
    "GCEPDLimits": "NodeVolumeLimits",
    "SelectorSpread": "PodTopologySpread",
}
#: Plugins of former releases without a successor, and what to do instead.
GONE: Final[Mapping[str, str]] = {
    "NodeLabel": "use NodeAffinity's argument addedAffinity to require node labels",
    "NodePreferAvoidPods": "taint such nodes with effect PreferNoSchedule instead",
    "NodeResourcesLeastAllocated": "use NodeResourcesFit's scoringStrategy LeastAllocated",
    "NodeResourcesMostAllocated": "use NodeResourcesFit's scoringStrategy MostAllocated",
    "RequestedToCapacityRatio": "use NodeResourcesFit's scoringStrategy of that name",
    "ServiceAffinity": "use required pod affinity in the pods",
}


def removed(name: str) -> str:
    """The text about a plugin of a former release; "" if it is none."""
    if name in TAKEN_IN:
        return f'"{name}" was removed: {TAKEN_IN[name]} replaces it'
    return f'"{name}" was removed: {GONE[name]}' if name in GONE else ""


def default_entries() -> tuple[PluginEntry, ...]:
    """The default MultiPoint list."""
    return tuple(PluginEntry(name, default.weight) for name, default in DEFAULTS.items())


#: The points at which a plugin may prepare for another point.
PREPARES: Final[Mapping[Point, Point]] = {
    Point.PRE_FILTER: Point.FILTER,
    Point.PRE_SCORE: Point.SCORE,
}


def is_implied(name: str, point: Point) -> bool:
    """Whether our plugin prepares at a point where kube-scheduler's does not.

    No configuration mentions that point, so it follows the point that it prepares.
    """
    return point in PREPARES and name in DEFAULTS and point not in DEFAULTS[name].points


def upstream_points(name: str) -> frozenset[Point]:
    """The points of kube-scheduler's plugin of that name; empty if it has none."""
    return DEFAULTS[name].points if name in DEFAULTS else frozenset()
