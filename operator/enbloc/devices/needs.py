# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Needs: what one pod needs in devices, given the current state of its claims."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from enbloc.devices.demand import Demand
from enbloc.devices.facts import (
    MOST_ALTERNATIVES,
    MOST_CONSUMERS,
    AllocatedDevice,
    Allocation,
    ClaimSpec,
    DeviceClass,
    ResourceClaim,
    pod_group_id,
)
from enbloc.model.pods import NodeSelectorTerm, Pod

Terms = tuple[NodeSelectorTerm, ...]


class Joined(NamedTuple):
    """A claim that a pod shares with members placed on the fork.

    Attributes:
        allocation: its current allocation on the fork.
        demand: what it requests.
    """

    key: str
    allocation: Allocation
    demand: Demand


@dataclass(frozen=True, slots=True)
class DeviceNeeds:
    """What a pod needs in devices; equal for pods that are alike.

    Attributes:
        refusal: why no node is feasible; "" = some may be.
        claims: the keys of the claims without an allocation, in the pod's order.
        demands: what these claims request.
        pins: where the allocations of the other claims can be used.
        joined: claims shared with other members on the fork: their devices may still change.
        failed: a claim has devices that will not become ready.
        stale: a claim for extended resources is left over from a failed attempt.
        served: the extended resources that the pod requests and devices may serve.
        score: the score of the alternatives that claims have already been allocated.
    """

    refusal: str = ""
    claims: tuple[str, ...] = ()
    demands: tuple[Demand, ...] = ()
    pins: tuple[Terms, ...] = ()
    joined: tuple[Joined, ...] = ()
    failed: bool = False
    stale: bool = False
    served: Mapping[str, DeviceClass] = field(default_factory=dict[str, DeviceClass])
    score: int = 0

    def alike(self, other: "DeviceNeeds") -> bool:
        """Whether it differs at most in the claims' names."""
        return self is other or _of_any_claims(self) == _of_any_claims(other)


def _of_any_claims(asked: DeviceNeeds) -> tuple[object, ...]:
    has = asked.pins, asked.joined, asked.failed, asked.stale, asked.score
    return asked.refusal, asked.demands, asked.served, *has


NOTHING_ASKED = DeviceNeeds()


@dataclass(frozen=True, slots=True)
class DeviceVerdict:
    """Whether some claims can be allocated from the devices that a node sees.

    Attributes:
        reason: why not, as `search.told` completes it; "" = they can.
        of: the place of the claim that the reason is about.
        score: the score of the alternatives that would be chosen.
        open: the search ran out of steps.
        cut: it ran out because little effort was left.
    """

    reason: str = ""
    of: int = 0
    score: int = 0
    open: bool = False
    cut: bool = False


def unmade(pod: Pod) -> str:
    """Why a pod must wait for its claims to be created; "" = they exist.

    Unlike upstream, it also reports a template that does not exist.

    Source: kube-scheduler v1.36 staging/src/k8s.io/dynamic-resource-allocation/resourceclaim
    resourceclaim.go Name.
    """
    wanted, made = pod.spec.resource_claims, pod.resource_claims
    if "" not in made and len(made) >= len(wanted):
        return ""
    text = f'pod "{pod.key}": ResourceClaim not created yet'
    lacking = wanted[made.index("") if "" in made else len(made) :][:1]
    if not lacking or not lacking[0].template:
        return text
    name, template = lacking[0]
    return (
        f'{text} for entry "{name}" of its resourceClaims: check that ResourceClaimTemplate '
        f'"{template}" exists in namespace "{pod.key.namespace}"'
    )


def claim_keys(pod: Pod) -> tuple[str, ...]:
    """The claims that a pod names, `namespace/name`, in its order."""
    return tuple(f"{pod.key.namespace}/{name}" for name in pod.resource_claims if name)


def misfit(pod: Pod, position: int, name: str, claim: ResourceClaim | None) -> str:
    """Why the pod may not use a claim; "" = it may.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/dynamicresources
    dynamicresources.go foreachPodResourceClaim; dynamic-resource-allocation/resourceclaim
    resourceclaim.go IsForPod.
    """
    if claim is None:
        return f'could not find ResourceClaim "{pod.key.namespace}/{name}"'
    if claim.deleting:
        return f'resourceclaim "{claim.name}" is being deleted'
    if not pod.spec.resource_claims[position].template or claim.owner == pod.uid:
        return ""
    if pod.pod_group and claim.pod_group == pod.pod_group:
        return ""
    who = f"neither Pod nor PodGroup {pod.pod_group}" if pod.pod_group else "Pod"
    is_owner = "is the owner" if pod.pod_group else "is not owner"
    return f"ResourceClaim {claim.key} was not created for Pod {pod.key} ({who} {is_owner})"


def consumer_of(pod: Pod) -> str:
    """The consumer that a pod counts as for a claim that it shares.

    The pods of one Kubernetes PodGroup count as one, which is right if the PodGroup lists the
    claim; that is checked when the claim is reserved.
    """
    return pod_group_id(pod.pod_group) if pod.pod_group else pod.uid


def full(key: str) -> str:
    """The message that a claim has no place for another consumer."""
    return (
        f"ResourceClaim {key} has {MOST_CONSUMERS} consumers, and no more are possible: use "
        "resourceClaimTemplateName, or list it in spec.resourceClaims of a PodGroup of Kubernetes"
    )


def twice(key: str, result: AllocatedDevice) -> str:
    """The message that an allocated claim is unusable, as another has the device too."""
    device = f"{result.driver}/{result.pool}/{result.device}"
    return f"ResourceClaim {key} has device {device}, and so has another claim: delete one of them"


def exceeded(key: str, result: AllocatedDevice) -> str:
    """The message that an allocated claim is unusable, as claims have too much of its device."""
    device = f"{result.driver}/{result.pool}/{result.device}"
    return (
        f"ResourceClaim {key} has device {device}, but claims have more of its capacity or "
        "counters than there is: delete one of them"
    )


def unclassed(spec: ClaimSpec, key: str, classes: Mapping[str, DeviceClass | None]) -> str:
    """Why a claim must wait for its DeviceClasses; "" = it need not."""
    for request in spec.requests:
        if not request.asks:
            return f"resource claim {key}, request {request.name}: unknown request type"
        for ask in request.asks:
            name = request.name if request.exactly else f"{request.name}/{ask.name}"
            if not ask.device_class:
                return f"request {name}: unsupported request type"
            if classes[ask.device_class] is None:
                return f"request {name}: device class {ask.device_class} does not exist"
    return ""


def failed(claim: ResourceClaim) -> bool:
    """Whether devices of an allocated claim will not become ready."""
    if claim.allocation is None:
        return False
    states = {(each.driver, each.pool, each.device): each.true for each in claim.states}
    return any(
        result.conditions
        and not states.get((result.driver, result.pool, result.device), frozenset()).isdisjoint(
            result.failures
        )
        for result in claim.allocation.results
    )


def alternatives_score(spec: ClaimSpec, allocation: Allocation) -> int:
    """Σ(8 − place) over the alternatives that a claim has been allocated."""
    got = {result.request for result in allocation.results}
    return sum(
        MOST_ALTERNATIVES - place
        for request in spec.requests
        for place, ask in enumerate(request.first)
        if f"{request.name}/{ask.name}" in got
    )
