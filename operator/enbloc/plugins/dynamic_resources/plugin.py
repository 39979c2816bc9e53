# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""DynamicResources: pods that need devices by resource claims, or by extended resources."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from enbloc.devices.cache import MOST_SPECS
from enbloc.devices.facts import ResourceClaim
from enbloc.devices.needs import claim_keys, unmade
from enbloc.framework.act import Api, Target
from enbloc.framework.decide import Scores
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hinting import is_own
from enbloc.framework.hints import Action, ClusterEvent, Happening, Hint, Resource
from enbloc.framework.normalizing import default_normalize
from enbloc.framework.searching import OneDomain, SharedCapacity
from enbloc.framework.status import SUCCESS, Code, Status, refuse_for_good
from enbloc.ledgers import ledgers_of
from enbloc.model.groups import Group
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from enbloc.plugins.dynamic_resources import act
from enbloc.plugins.dynamic_resources.details import devices_detail
from enbloc.plugins.dynamic_resources.filter import DeviceFilter, DeviceScore
from enbloc.plugins.dynamic_resources.limits import likeness, nodes_of_devices, shared_pools


@dataclass(frozen=True)
class DynamicResources:
    """Keep a pod off nodes that do not have the devices that it requests.

    Source: kube-scheduler v1.36
    pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go PreEnqueue, PreFilter,
    Filter, Score.

    Attributes:
        filter_timeout_seconds: ignored: the engine limits steps, not seconds.
        binding_timeout_seconds: the longest wait for binding conditions.
    """

    filter_timeout_seconds: float = 10
    binding_timeout_seconds: float = 600

    name: ClassVar[str] = "DynamicResources"
    same_on_any_host: ClassVar[bool] = True
    reads_claims: ClassVar[bool] = True
    events: ClassVar[tuple[ClusterEvent, ...]] = (
        ClusterEvent(
            Resource.NODE,
            Action.ADD | Action.UPDATE_LABEL | Action.UPDATE_TAINT | Action.UPDATE_ALLOCATABLE,
        ),
        ClusterEvent(Resource.RESOURCE_CLAIM, Action.ADD | Action.UPDATE | Action.DELETE),
        ClusterEvent(Resource.POD, Action.UPDATE_GENERATED_CLAIM),
        ClusterEvent(Resource.DEVICE_CLASS, Action.ADD | Action.UPDATE | Action.DELETE),
        ClusterEvent(Resource.RESOURCE_SLICE, Action.ADD | Action.UPDATE | Action.DELETE),
    )

    def pre_enqueue(self, group: Group | None, facts: GroupFacts) -> Status:
        """Wait until as many members as the group lacks have all of their claims.

        Whether named claims exist is checked when the group is tried.
        """
        del group
        waiting = [problem for problem in map(unmade, facts.pending) if problem]
        if not waiting or len(facts.pending) - len(waiting) >= max(1, facts.lacking):
            return SUCCESS
        return refuse_for_good(waiting[0])

    def pre_filter_group(self, facts: GroupFacts, snapshot: Snapshot) -> Status:
        """Refuse a group with too many different claim specs."""
        specs = ledgers_of(snapshot.nodes).devices.specs(facts.pending)
        if specs <= MOST_SPECS:
            return SUCCESS
        return refuse_for_good(
            f"claims of the group have {specs} different specs; use at most {MOST_SPECS}, for "
            "example by members that share a ResourceClaimTemplate"
        )

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> DeviceFilter | Status | None:
        """Skip a pod that needs no devices; refuse one with a claim that no node can serve."""
        devices = ledgers_of(snapshot.nodes).devices
        if not devices.concerns(pod):
            return None
        asked = devices.asked(pod)
        return refuse_for_good(asked.refusal) if asked.refusal else DeviceFilter(pod, devices)

    def detail(self, pod: Pod, nodes: Nodes) -> str:
        """How many devices of which class the pod's claims request, and what the best node has."""
        return devices_detail(pod, nodes)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> DeviceScore | None:
        """Skip a pod whose claims have no alternatives."""
        devices = ledgers_of(snapshot.nodes).devices
        if not devices.concerns(pod):
            return None
        asked = devices.asked(pod)
        graded = any(want.alternative for demand in asked.demands for want in demand.wants)
        if asked.refusal or not (graded or asked.score):
            return None
        return DeviceScore(DeviceFilter(pod, devices))

    def normalize(self, scores: Scores) -> Scores:
        """The best node gets 100."""
        return default_normalize(scores)

    def pools(self, pods: Sequence[Pod], nodes: Nodes, *, ever: bool) -> Sequence[SharedCapacity]:
        """Pools of devices that several nodes see, if these have no other devices."""
        return shared_pools(pods, nodes, ever=ever)

    def likeness(self, pods: Sequence[Pod], nodes: Nodes) -> npt.NDArray[np.int64]:
        """int64[N]: equal for nodes whose devices are equivalent for all of these pods."""
        return likeness(pods, nodes)

    def gathers(self, pod: Pod, snapshot: Snapshot) -> Sequence[str]:
        """One node for pods that share a claim, whose devices may be of one node."""
        devices = ledgers_of(snapshot.nodes).devices
        shared = (key for key in claim_keys(pod) if devices.shared(key))
        undecided = any(devices.allocation(key) is None for key in shared)
        return ("",) if undecided else ()

    def sets(self, pods: Sequence[Pod], nodes: Nodes, *, ever: bool) -> Sequence[OneDomain]:
        """The nodes that reach one device, for pods that share a claim which may get it."""
        return nodes_of_devices(pods, nodes, ever=ever)

    def prepares(self, target: Target) -> bool:
        """Whether a claim of the member must still be allocated or reserved."""
        return target.decided.devices is not None

    @property
    def pre_bind_seconds(self) -> float:
        """How many seconds devices may delay the binding of a group."""
        return self.binding_timeout_seconds

    async def pre_bind(self, target: Target, api: Api) -> Status:
        """Allocate and reserve the member's claims, and wait until their devices can be used."""
        decided = target.decided.devices
        if decided is None:
            return Status(Code.SKIP)
        return await act.pre_bind(decided, target, api, self.pre_bind_seconds)

    async def unreserve(self, target: Target, api: Api) -> Status:
        """Release what only this member would use."""
        decided = target.decided.devices
        if decided is None:
            return Status(Code.SKIP)
        return await act.unreserve(decided, target, api)

    def hint(self, event: Happening, facts: GroupFacts) -> Hint:
        """QUEUE if devices may have been freed, or a claim of a pending pod has changed."""
        if event.resource is Resource.POD:
            made = event.pod is not None and not unmade(event.pod)
            return Hint.QUEUE if made and is_own(event, facts) else Hint.SKIP
        if event.resource is not Resource.RESOURCE_CLAIM:
            return Hint.QUEUE
        now, before = event.fact, event.old_fact
        if not isinstance(now, ResourceClaim):
            return Hint.QUEUE
        if event.action is Action.DELETE:
            left = any(pod.uid == now.extended_for for pod in facts.pending)
            return Hint.QUEUE if now.allocation is not None or left else Hint.SKIP
        if isinstance(before, ResourceClaim):
            if before.allocation is not None and now.allocation is None:
                return Hint.QUEUE
            if _status(before) == _status(now):
                return Hint.SKIP
        used = any(now.key in claim_keys(pod) for pod in facts.pending if not unmade(pod))
        return Hint.QUEUE if used else Hint.SKIP


def _status(claim: ResourceClaim) -> tuple[object, ...]:
    return claim.allocation, claim.reserved_for, claim.states
