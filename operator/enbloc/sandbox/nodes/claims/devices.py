# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of ResourceClaims: made from templates, released by pods that ended, given back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from enbloc.kube.paths import PODS, RESOURCE_CLAIMS, Resource
from enbloc.sandbox.nodes.claims.following import Change, Identity, each
from enbloc.sandbox.nodes.claims.of_pods import Objects, device_claims, owned_by
from enbloc.sandbox.nodes.objects import Object, reference

RESOURCE_CLAIM_TEMPLATES: Final = Resource(
    "resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate"
)
_PROTECTION: Final = "resource.kubernetes.io/delete-protection"
FOR_POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"
#: Of a generated name; the API server adds five characters to it.
_LONGEST_BASE: Final = 57


@dataclass(frozen=True, slots=True)
class Devices:
    """All that the resource claim controller looks at, by namespace/name.

    Attributes:
        claims: the ResourceClaims.
        templates: what they are made from.
        pods: whom they are for.
        made: pod UID and pod claim → the claim that was made, whatever the watches show yet.
    """

    claims: Objects
    templates: Objects
    pods: Objects
    made: Mapping[tuple[str, str], str]


def changes(devices: Devices) -> Iterator[Change]:
    """What is to be written next, as things stand."""
    owned: dict[str, list[Object]] = {}
    for claim in devices.claims.values():
        if claim.controller_uid:
            owned.setdefault(claim.controller_uid, []).append(claim)
    needy = [
        pod
        for pod in devices.pods.values()
        if pod.spec.get("resourceClaims") and not pod.deleting and not pod.finished
    ]
    yield from each(devices.claims.values(), lambda claim: _claim(claim, devices))
    yield from each(needy, lambda pod: _pod(pod, owned.get(pod.metadata.uid, []), devices))


def _pod(pod: Object, owned: list[Object], devices: Devices) -> Iterator[Change]:
    """Claims that are to be made for a pod, or to be named in its status."""
    templates = {
        one["name"]: one["resourceClaimTemplateName"]
        for one in pod.spec["resourceClaims"]
        if one.get("resourceClaimTemplateName")
    }
    uid, namespace = pod.metadata.uid, pod.metadata.namespace
    named: dict[str, str] = {}
    for alias, known in device_claims(pod):
        if alias not in templates or known is None:
            continue
        there = devices.claims.get(f"{namespace}/{known}") if known else None
        if there is not None and owned_by(there, pod):
            continue
        marked = (c.metadata.name for c in owned if c.annotations.get(FOR_POD_CLAIM) == alias)
        name = next(marked, None) or devices.made.get((uid, alias))
        if name is not None:
            if name != known:
                named[alias] = name
        elif template := devices.templates.get(f"{namespace}/{templates[alias]}"):
            yield Change(pod, RESOURCE_CLAIMS, _made_from(template, pod, alias), create=True)
    if named:
        kept = {
            one["name"]: one
            for one in pod.status.get("resourceClaimStatuses") or ()
            if one["name"] not in named
        }
        fresh = [{"name": alias, "resourceClaimName": name} for alias, name in named.items()]
        state = {"resourceClaimStatuses": [*kept.values(), *fresh]}
        yield Change(pod, PODS, {"status": state}, "status")


def _made_from(template: Object, pod: Object, alias: str) -> dict[str, Any]:
    given: Mapping[str, Any] = template.spec.get("metadata") or {}
    base = f"{pod.metadata.name}-{alias}-"
    if len(base) > _LONGEST_BASE:
        name, rest = (
            text[: len(text) * _LONGEST_BASE // len(base)] for text in (pod.metadata.name, alias)
        )
        base = f"{name}-{rest}"
    owner = {**reference(pod, PODS), "blockOwnerDeletion": False}
    return {
        "metadata": {
            "generateName": base,
            "labels": given.get("labels") or {},
            "annotations": {**(given.get("annotations") or {}), FOR_POD_CLAIM: alias},
            "ownerReferences": [owner],
        },
        "spec": template.spec.get("spec") or {},
    }


def _claim(claim: Object, devices: Devices) -> Iterator[Change]:
    """Consumers that are gone give up the claim; unused, it gives up its devices."""
    namespace = claim.metadata.namespace
    reserved: list[Mapping[str, Any]] = claim.status.get("reservedFor") or []
    remaining: list[Mapping[str, Any]] = []
    gone: list[Identity] = []
    for consumer in reserved:
        pod = devices.pods.get(f"{namespace}/{consumer['name']}")
        if consumer["resource"] != "pods" or consumer.get("apiGroup"):
            remaining.append(consumer)
        elif pod is None or pod.metadata.uid != consumer["uid"]:
            gone.append((PODS, namespace, consumer["name"], consumer["uid"]))
        elif not _done(pod):
            remaining.append(consumer)
    finalizers = claim.metadata.finalizers or []
    held = _PROTECTION in finalizers
    unprotected = {"metadata": {"finalizers": [one for one in finalizers if one != _PROTECTION]}}
    allocated = "allocation" in claim.status
    unused = held and allocated and not remaining and (reserved or claim.deleting)
    if len(remaining) < len(reserved) or unused:
        state: dict[str, Any] = {"reservedFor": remaining or None}
        if unused:
            state["allocation"] = None
        body, then = {"status": state}, unprotected if unused else None
        yield Change(claim, RESOURCE_CLAIMS, body, "status", unless=tuple(gone), then=then)
    elif held and claim.deleting and not allocated:
        yield Change(claim, RESOURCE_CLAIMS, unprotected)
    if not remaining and not claim.deleting:
        yield from _left_behind(claim, devices)


def _left_behind(claim: Object, devices: Devices) -> Iterator[Change]:
    """A claim made for a pod that will not run any more goes before the pod does."""
    for owner in claim.metadata.owner_references or ():
        if owner.controller and owner.kind == "Pod":
            pod = devices.pods.get(f"{claim.metadata.namespace}/{owner.name}")
            if pod is not None and (pod.metadata.uid != owner.uid or _done(pod)):
                yield Change(claim, RESOURCE_CLAIMS, None)


def _done(pod: Object) -> bool:
    return pod.finished or (pod.deleting and not pod.spec.get("nodeName"))
