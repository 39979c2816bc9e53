# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Plugins of other projects in a KubeSchedulerConfiguration: what replaces them, or why nothing.

They are Go code linked into a kube-scheduler, so a file that enables one is refused; conversion
removes them.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from enbloc.config.findings import SettingOutcome

COSCHEDULING: Final = "Coscheduling"
_LOAD: Final = "enbloc does not use measured load, only requests"
_ZONES: Final = (
    "enbloc knows no NUMA zones: a kubelet's Topology Manager rejects what does not fit, and the "
    "gang is repaired on other nodes"
)
_QUOTA: Final = "enbloc has no quotas: use ResourceQuota or Kueue"


class Foreign(NamedTuple):
    """A plugin of another project.

    Attributes:
        text: what replaces it, or why nothing does.
    """

    project: str
    outcome: SettingOutcome
    text: str


def _of(project: str, **texts: str) -> dict[str, Foreign]:
    return {name: Foreign(project, SettingOutcome.LOST, text) for name, text in texts.items()}


#: By name. Koordinator has a Coscheduling too, with the same meaning.
#: Source: scheduler-plugins v0.34 cmd/scheduler/main.go main.
FOREIGN: Final[Mapping[str, Foreign]] = {
    COSCHEDULING: Foreign(
        "scheduler-plugins",
        SettingOutcome.BUILT_IN,
        "gangs are placed whole or not at all; this needs no plugin",
    ),
    **_of(
        "scheduler-plugins",
        CapacityScheduling=_QUOTA,
        NodeResourceTopologyMatch=_ZONES,
        NodeResourcesAllocatable=(
            "no score by node size: NodeResourcesFit's scoringStrategy scores by utilization"
        ),
        TopologicalSort="enbloc has no AppGroup: pods are ordered by priority and time",
        NetworkOverhead="use a PodGroup's spec.topology to keep its members near each other",
        PreemptionToleration=(
            "use minRuntimes of EnblocConfiguration for tolerationSeconds; "
            "minimumPreemptablePriority has no equivalent"
        ),
        TargetLoadPacking=_LOAD,
        LoadVariationRiskBalancing=_LOAD,
        LowRiskOverCommitment=_LOAD,
        Peaks=_LOAD,
        NodeMetadata="no score by a label's or annotation's value: write a plugin in Python",
        PodState="no score by terminating and nominated pods",
        QOSSort="pods are ordered by priority and time, not by quality of service",
        SySched="no score by system calls",
    ),
    **_of(
        "scheduler-plugins and Koordinator",
        NodeResourcesFitPlus="NodeResourcesFit has one scoringStrategy for all resources",
        ScarceResourceAvoidance="taint nodes with scarce resources instead",
    ),
    **_of(
        "Koordinator",
        Reservation="use a PodGroup's minResources to reserve capacity for its members",
        NodeNUMAResource=_ZONES,
        DeviceShare="devices are allocated whole, as node resources count them",
        ElasticQuota=_QUOTA,
        LoadAwareScheduling=_LOAD,
    ),
}

#: Those that preempt at postFilter, in the place of DefaultPreemption.
#: Source: scheduler-plugins v0.34 pkg/capacityscheduling/capacity_scheduling.go PostFilter;
#: pkg/preemptiontoleration/preemption_toleration.go PostFilter.
PREEMPTING: Final = ("CapacityScheduling", "PreemptionToleration", "ElasticQuota")

#: Argument of Coscheduling → what becomes of it, but for the timeouts.
COSCHEDULING_ARGUMENTS: Final[Mapping[str, tuple[SettingOutcome, str]]] = {
    "podGroupBackoffSeconds": (
        SettingOutcome.NOT_NEEDED,
        "a waiting gang holds nothing, and is retried when a change may help it",
    ),
    "podGroupRejectPercentage": (
        SettingOutcome.NOT_NEEDED,
        "no member holds capacity while it waits for others, so there are none to reject",
    ),
}
#: Its arguments that say how long a gang may hold capacity; Koordinator's is a duration.
TIMEOUTS: Final = ("permitWaitingTimeSeconds", "defaultTimeout")


def refused(name: str, source: str = "") -> str:
    """The text about an enabled plugin that does not run here; "" if it is not a foreign one."""
    foreign = FOREIGN.get(name)
    if foreign is None:
        return ""
    return (
        f'"{name}" is a plugin of {foreign.project}, which enbloc cannot run: {foreign.text}. Run '
        f"`enbloc config convert {source or 'FILE'}`, and use its output"
    )


def became(name: str) -> tuple[SettingOutcome, str]:
    """What becomes of a plugin that does not run here."""
    foreign = FOREIGN.get(name)
    if foreign is not None:
        return foreign.outcome, foreign.text
    return (
        SettingOutcome.LOST,
        f'no plugin "{name}" is installed: write it in Python, or do without it',
    )
