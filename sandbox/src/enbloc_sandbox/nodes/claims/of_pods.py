# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which claims a pod names, and what they still lack for a kubelet to start it.

Written from the Kubernetes documentation, apart from the scheduler's code on purpose, as `room` is.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from enbloc_sandbox.nodes.objects import Object
from enbloc_sandbox.nodes.selectors import fits_node

Objects = Mapping[str, Object]

#: The API group of Kubernetes' own PodGroups.
SCHEDULING: Final = "scheduling.k8s.io"


def volume_claims(pod: Object) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """The names of a pod's PersistentVolumeClaims; with its template, if it is the pod's own."""
    for volume in pod.spec.get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            yield str(volume["persistentVolumeClaim"].get("claimName", "")), None
        elif "ephemeral" in volume:
            template = volume["ephemeral"].get("volumeClaimTemplate") or {}
            yield f"{pod.metadata.name}-{volume.get('name', '')}", template


def device_claims(pod: Object) -> Iterator[tuple[str, str | None]]:
    """A pod's ResourceClaims: what the pod calls each, and its name.

    "" = not made yet; None = none is needed.
    """
    made = {
        one["name"]: one.get("resourceClaimName")
        for one in pod.status.get("resourceClaimStatuses") or ()
    }
    for one in pod.spec.get("resourceClaims") or ():
        yield one["name"], one.get("resourceClaimName") or made.get(one["name"], "")
    extended = pod.status.get("extendedResourceClaimStatus") or {}
    if extended.get("resourceClaimName"):
        yield "", str(extended["resourceClaimName"])


def served_by_devices(pod: Object) -> Iterator[tuple[str, str]]:
    """The container and the extended resource of each request that a pod's claim serves."""
    extended = pod.status.get("extendedResourceClaimStatus") or {}
    for one in extended.get("requestMappings") or ():
        yield str(one.get("containerName", "")), str(one.get("resourceName", ""))


def pod_group(pod: Object) -> str:
    """The PodGroup of Kubernetes that a pod names; "" = none."""
    return str((pod.spec.get("schedulingGroup") or {}).get("podGroupName") or "")


def has_claims(pod: Object) -> bool:
    """Whether a pod names a claim of any kind."""
    return any(True for _ in volume_claims(pod)) or any(True for _ in device_claims(pod))


def owned_by(claim: Object, owner: Object) -> bool:
    """Whether a claim was made for this very pod, or PodGroup."""
    return claim.controller_uid == owner.metadata.uid


def unmet(
    pod: Object, node: Object, claims: Objects, volumes: Objects, resource_claims: Objects
) -> str:
    """What a kubelet waits for before it starts a bound pod; "" = nothing.

    Args:
        pod: a bound pod.
        node: its node.
        claims: the PersistentVolumeClaims, by namespace/name.
        volumes: the PersistentVolumes, by name.
        resource_claims: the ResourceClaims, by namespace/name.
    """
    namespace = pod.metadata.namespace
    for name, template in volume_claims(pod):
        claim = claims.get(f"{namespace}/{name}")
        if claim is None or (template is not None and not owned_by(claim, pod)):
            return f'persistentvolumeclaim "{name}" not found'
        volume = volumes.get(str(claim.spec.get("volumeName") or ""))
        if claim.phase != "Bound" or volume is None:
            return f'persistentvolumeclaim "{name}" is not bound'
        required = (volume.spec.get("nodeAffinity") or {}).get("required")
        if not _reaches(required, node):
            return f'persistentvolume "{volume.metadata.name}" is not to be had on this node'
    for alias, made in device_claims(pod):
        if made is not None:
            found = resource_claims.get(f"{namespace}/{made}")
            if why := _unmet_devices(pod, node, found):
                return f'resourceclaim "{made or alias}" {why}'
    return ""


def _unmet_devices(pod: Object, node: Object, claim: Object | None) -> str:
    if claim is None:
        return "not found"
    allocation = claim.status.get("allocation")
    if allocation is None:
        return "is not allocated"
    reserved = claim.status.get("reservedFor") or ()
    if not any(_is_for(pod, one) for one in reserved):
        return "is not reserved for the pod"
    if not _reaches(allocation.get("nodeSelector"), node):
        return "has devices that are not to be had on this node"
    return ""


def _is_for(pod: Object, consumer: Mapping[str, Any]) -> bool:
    """Whether a consumer of a claim is the pod, or its PodGroup, of which it knows the name."""
    if consumer.get("apiGroup") == SCHEDULING and consumer.get("resource") == "podgroups":
        return consumer.get("name") == pod_group(pod)
    return bool(consumer.get("uid") == pod.metadata.uid)


def _reaches(selector: Mapping[str, Any] | None, node: Object) -> bool:
    """Whether a NodeSelector takes a node; None takes all."""
    required = {"requiredDuringSchedulingIgnoredDuringExecution": selector}
    spec = {"affinity": {"nodeAffinity": required}}
    return fits_node(spec, node.labels, node.metadata.name)
