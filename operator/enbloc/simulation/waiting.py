# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Waiting: the groups and pods that have no node yet, in the order in which they are decided."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.engine.state import solo_key
from enbloc.model.groups import GroupKey
from enbloc.model.names import Condition, Reason
from enbloc.model.pending import Pending
from enbloc.model.pods import Pod, PodKey
from enbloc.simulation.cluster import SimulatedCluster

#: Members of one group that have no node yet, the oldest first.
Members = tuple[Pod, ...]
#: Why those wait that a simulation did not try by its time limit.
CUT: Final = "the simulation reached its time limit before its turn"


@dataclass(frozen=True, slots=True)
class Waiting(Pending):
    """A group with members that have no node, or a pod without a group.

    Attributes:
        key: of the group; for a pod without one, of its implied group.
        pending: the members without a node, the oldest first.
        members: the number of members of the same run that the scheduler counts.
        bound: how many of them had a node before.
        minimum: how many the group needs; 1 for a pod without one.
        gathered: as many of these members exist as every minimum needs, also those of roles.
        surplus: the bound ones meet every minimum: the pending ones are beyond it.
        priority: the priority in the queue.
        placed: the members that get a node now → that node; empty = none does.
        victims: pods of lower priority that are evicted for it.
        reason: why the other members get no node.
        message: the same in a sentence; "" = all get one.
        decided: whether the scheduler has tried it; if not, it waits for something other than
            capacity.
    """

    key: GroupKey
    pending: Members
    members: int
    bound: int
    minimum: int
    gathered: bool
    surplus: bool
    priority: int
    placed: Mapping[PodKey, str]
    victims: tuple[PodKey, ...]
    reason: Reason
    message: str
    decided: bool

    @property
    def starts(self) -> bool:
        """Whether members get nodes now: the minimum, or some beyond it."""
        return bool(self.placed)


def group_of(pod: Pod) -> GroupKey:
    """The key of a pod's group, or of its implied one."""
    return pod.group or solo_key(pod)


def of_node(pod: Pod) -> bool:
    """Whether a pod belongs to its node, as those of a DaemonSet do."""
    return pod.mirror or (pod.owner is not None and pod.owner.kind in ("DaemonSet", "Node"))


def members_waiting(
    pods: Collection[Pod], schedulers: Collection[str]
) -> Mapping[GroupKey, Members]:
    """The pods of these schedulerNames that have no node, by group."""
    found: dict[GroupKey, list[Pod]] = {}
    for pod in pods:
        if pod.live and not pod.node and pod.scheduler in schedulers:
            found.setdefault(group_of(pod), []).append(pod)
    return {key: tuple(sorted(each, key=lambda pod: pod.seniority)) for key, each in found.items()}


def queue(
    settled: SimulatedCluster, waiting: Mapping[GroupKey, Members], *, complete: bool = True
) -> Sequence[Waiting]:
    """The waiting groups and pods with their outcome, in the order in which they are decided.

    Those that the scheduler does not try, because they lack members, come last; so do those whose
    turn did not come within the time limit.

    Args:
        settled: the settled cluster.
        waiting: the members that had no node before.
        complete: whether the simulation ended before its time limit.
    """
    turns = {key: turn for turn, key in enumerate(settled.told.decided)}
    live: dict[GroupKey, list[Pod]] = {}
    for pod in settled.pods.values():
        key = pod.group  # a pod without a group is alone in its implied one
        if key is not None and key in waiting and pod.live:
            live.setdefault(key, []).append(pod)
    found = [
        _outcome(settled, key, pods, live.get(key, ()), complete=complete)
        for key, pods in waiting.items()
    ]
    return sorted(found, key=lambda each: (turns.get(each.key, math.inf), each.since, each.key))


def victims_of(
    settled: SimulatedCluster, key: GroupKey, pods: Collection[Pod]
) -> tuple[PodKey, ...]:
    """The pods that were evicted for a group, or for one of its pods."""
    group = settled.groups.get(key)
    by = {pod.uid for pod in pods} | ({group.uid} if group is not None else set())
    return tuple(pod for pod, winner in settled.told.preempted.items() if winner in by)


def _outcome(
    settled: SimulatedCluster,
    key: GroupKey,
    pods: Members,
    live: Collection[Pod],
    *,
    complete: bool,
) -> Waiting:
    told, group = settled.told, settled.groups.get(key)
    status = told.statuses.get(key)
    placed = {pod.key: told.bound[pod.uid] for pod in pods if pod.uid in told.bound}
    reason, message = _why(settled, key, pods)
    if not complete and reason is Reason.PENDING and not any(pod.gates for pod in pods):
        message = CUT
    priority = status.priority if status is not None else None
    own = {pod.owner_key for pod in pods}
    waiting = {pod.uid for pod in pods}
    bound = Counter(
        pod.role for pod in live if pod.node and pod.uid not in waiting and pod.owner_key in own
    )
    counted = bound + Counter(pod.role for pod in pods if not pod.gated)
    return Waiting(
        key,
        pods,
        counted.total(),
        bound.total(),
        group.least if group is not None else 1,
        group.reached(counted) if group is not None else bool(counted),
        group is not None and group.reached(bound),
        min(pod.priority for pod in pods) if priority is None else priority,
        placed,
        victims_of(settled, key, pods),
        Reason.SCHEDULED if len(placed) == len(pods) else reason,
        "" if len(placed) == len(pods) else message,
        key in told.decided,
    )


def lacking(settled: SimulatedCluster, key: GroupKey) -> str:
    """Why a group does not have its minimum; "" = it has, or nothing is known."""
    refused = _refused(settled, key)
    return refused[1] if refused is not None else ""


def _refused(settled: SimulatedCluster, key: GroupKey) -> tuple[Reason, str] | None:
    """Reason and message of a group that does not have its minimum."""
    status = settled.told.statuses.get(key)
    for condition in status.conditions if status is not None else ():
        if condition.type is Condition.SCHEDULED and not condition.status:
            return condition.reason, condition.message
    return None


def _why(settled: SimulatedCluster, key: GroupKey, pods: Members) -> tuple[Reason, str]:
    """Why members of a group have no node, by the group's conditions or the members'."""
    refused = _refused(settled, key)
    if refused is not None:
        return refused
    gates = sorted({gate for pod in pods for gate in pod.gates})
    if gates:
        return Reason.PENDING, f"scheduling gates keep it from being tried: {', '.join(gates)}"
    for pod in pods:
        said = settled.told.conditions.get(pod.uid)
        if said is not None and pod.uid not in settled.told.bound:
            return said.reason, said.message
    return Reason.PENDING, "waiting for its turn"
