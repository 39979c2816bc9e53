# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Asked: what one pod needs of devices, as its claims are now."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from enbloc.devices.demand import Demand
from enbloc.devices.facts import (
    MOST_ALTERNATIVES,
    MOST_CONSUMERS,
    Allocation,
    ClaimSpec,
    DeviceClass,
    ResourceClaim,
    Result,
    pod_group_id,
)
from enbloc.model.pods import NodeSelectorTerm, Pod

Terms = tuple[NodeSelectorTerm, ...]


class Joined(NamedTuple):
    """A claim that a pod shares with members of the fork.

    Attributes:
        allocation: what it has got, as of now.
        demand: what it asks for.
    """

    key: str
    allocation: Allocation
    demand: Demand


@dataclass(frozen=True, slots=True)
class Asked:
    """What a pod needs; the same of pods that are alike.

    Attributes:
        refusal: why no node will do; "" = some may.
        claims: keys of those that have nothing yet, in the pod's order.
        demands: what these ask for.
        pins: of those that have something, from where it can be used.
        joined: those that other members of the fork share: they may get something else.
        failed: one of them has devices that will not become ready.
        stale: a claim for extended resources is left of an attempt that failed.
        served: the extended resources that the pod requests and devices may serve.
        score: of alternatives that claims have got already.
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

    def alike(self, other: "Asked") -> bool:
        """Whether it is the same of other claims."""
        return self is other or _of_any_claims(self) == _of_any_claims(other)


def _of_any_claims(asked: Asked) -> tuple[object, ...]:
    has = asked.pins, asked.joined, asked.failed, asked.stale, asked.score
    return asked.refusal, asked.demands, asked.served, *has


NOTHING_ASKED = Asked()


@dataclass(frozen=True, slots=True)
class DeviceVerdict:
    """Whether some claims can be served from what a node sees.

    Attributes:
        reason: why not, as `search.told` completes it; "" = they can.
        of: the place of the claim that the reason speaks of.
        score: of the alternatives that would be chosen.
        open: the steps of the search ran out.
        cut: they did for lack of effort.
    """

    reason: str = ""
    of: int = 0
    score: int = 0
    open: bool = False
    cut: bool = False


def unmade(pod: Pod) -> str:
    """Why a pod has to wait for its claims to be made; "" = they are.

    It says more than upstream, which does not tell of a template that does not exist.

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
    """Why a claim is none that the pod may use; "" = it is one.

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
    """As whom a pod counts among the consumers of a claim that it shares.

    The pods of one PodGroup of Kubernetes count as one, as they are if it lists the claim; whether
    it does is seen when the claim is reserved.
    """
    return pod_group_id(pod.pod_group) if pod.pod_group else pod.uid


def full(key: str) -> str:
    """Why no further consumer may have a claim."""
    return (
        f"ResourceClaim {key} has {MOST_CONSUMERS} consumers, and no more are possible: use "
        "resourceClaimTemplateName, or list it in spec.resourceClaims of a PodGroup of Kubernetes"
    )


def twice(key: str, result: Result) -> str:
    """Why a claim that has its devices is of no use."""
    device = f"{result.driver}/{result.pool}/{result.device}"
    return f"ResourceClaim {key} has device {device}, and so has another claim: delete one of them"


def unclassed(spec: ClaimSpec, key: str, classes: Mapping[str, DeviceClass | None]) -> str:
    """Why a claim waits for its classes; "" = it does not."""
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
    """Whether devices that it has got will not become ready."""
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
    """Σ(8 − place) over the alternatives that a claim has got."""
    got = {result.request for result in allocation.results}
    return sum(
        MOST_ALTERNATIVES - place
        for request in spec.requests
        for place, ask in enumerate(request.first)
        if f"{request.name}/{ask.name}" in got
    )
