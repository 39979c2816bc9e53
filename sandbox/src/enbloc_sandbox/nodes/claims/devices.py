# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of ResourceClaims: made from templates, released by pods that ended, given back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from enbloc.client.paths import PODS, RESOURCE_CLAIMS, Resource
from enbloc_sandbox.nodes.claims.events import Reporter, Told
from enbloc_sandbox.nodes.claims.following import Change, Identity, each
from enbloc_sandbox.nodes.claims.of_pods import (
    SCHEDULING,
    Objects,
    device_claims,
    owned_by,
    pod_group,
)
from enbloc_sandbox.nodes.objects import Object, reference

RESOURCE_CLAIM_TEMPLATES: Final = Resource(
    "resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate"
)
_PROTECTION: Final = "resource.kubernetes.io/delete-protection"
FOR_POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"
#: Of a generated name; the API server adds five characters to it.
_LONGEST_BASE: Final = 57
_REPORTER: Final = Reporter("resource_claim", "CreateResourceClaim")


@dataclass(frozen=True, slots=True)
class Devices:
    """All that the resource claim controller looks at, by namespace/name.

    Attributes:
        claims: the ResourceClaims.
        templates: what they are made from.
        pods: whom they are for.
        made: UID of the owner and its name for the claim → the claim that was made, whatever the
            watches show yet.
        pod_groups: Kubernetes' own, which may have claims for all of their pods.
        grouping: where these are served; None = nowhere.
        told: what events have said already, by the owner's name for the claim.
    """

    claims: Objects
    templates: Objects
    pods: Objects
    made: Mapping[tuple[str, str], str]
    pod_groups: Objects = field(default_factory=dict[str, Object])
    grouping: Resource | None = None
    told: Told = field(default_factory=set[tuple[str, str]])


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
    if (grouping := devices.grouping) is not None:
        groups = [each for each in devices.pod_groups.values() if not each.deleting]
        yield from each(groups, lambda group: _made_for(group, grouping, owned, devices))
    yield from each(needy, lambda pod: _pod(pod, owned, devices))


def _pod(pod: Object, owned: Mapping[str, list[Object]], devices: Devices) -> Iterator[Change]:
    """The same for a pod, of whose claims its PodGroup may have some."""
    name, group = pod_group(pod), None
    if name and devices.grouping is not None:
        group = devices.pod_groups.get(f"{pod.metadata.namespace}/{name}")
        if group is None:
            return  # whether it has them is not known yet
    yield from _made_for(pod, PODS, owned, devices, group)


def _made_for(
    owner: Object,
    resource: Resource,
    owned: Mapping[str, list[Object]],
    devices: Devices,
    group: Object | None = None,
) -> Iterator[Change]:
    """Claims that are to be made for a pod or a PodGroup, or to be named in its status.

    Args:
        owner: the pod, or the PodGroup.
        resource: its kind.
        owned: the claims by the UIDs of their owners.
        devices: all that there is.
        group: of a pod; what both call the same and make from the same is the PodGroup's.
    """
    shared = [_source(one) for one in (group.spec.get("resourceClaims") if group else None) or ()]
    asked = {
        one["name"]: one
        for one in owner.spec.get("resourceClaims") or ()
        if one.get("resourceClaimTemplateName")
    }
    namespace = owner.metadata.namespace
    named: dict[str, str] = {}
    for alias, known in device_claims(owner):
        if alias not in asked or known is None:
            continue
        whose = group if group is not None and _source(asked[alias]) in shared else owner
        there = devices.claims.get(f"{namespace}/{known}") if known else None
        if there is not None and owned_by(there, whose):
            continue
        theirs = owned.get(whose.metadata.uid, ())
        marked = (c.metadata.name for c in theirs if c.annotations.get(FOR_POD_CLAIM) == alias)
        name = next(marked, None) or devices.made.get((whose.metadata.uid, alias))
        template = devices.templates.get(f"{namespace}/{asked[alias]['resourceClaimTemplateName']}")
        if name is not None:
            if name != known:
                named[alias] = name
        elif template is not None and whose is owner:
            body = _made_from(template, owner, resource, alias)
            yield Change(owner, RESOURCE_CLAIMS, body, create=True)
        elif whose is owner:
            wanted = asked[alias]["resourceClaimTemplateName"]
            yield from _tell(owner, resource, alias, wanted, devices)
    if named:
        kept = {
            one["name"]: one
            for one in owner.status.get("resourceClaimStatuses") or ()
            if one["name"] not in named
        }
        fresh = [{"name": alias, "resourceClaimName": name} for alias, name in named.items()]
        state = {"resourceClaimStatuses": [*kept.values(), *fresh]}
        yield Change(owner, resource, {"status": state}, "status")


def _tell(
    owner: Object, resource: Resource, alias: str, template: str, devices: Devices
) -> Iterator[Change]:
    """An event on the owner of a claim whose template does not exist, the first time.

    Source: kube-controller-manager v1.36 pkg/controller/resourceclaim/controller.go syncPod,
    syncPodGroup.
    """
    said = (owner.metadata.uid, alias)
    if said not in devices.told:
        devices.told.add(said)
        of = "PodResourceClaim" if resource == PODS else "PodGroupResourceClaim"
        lacks = f'resourceclaimtemplate.resource.k8s.io "{template}" not found'
        note = f'{of} {alias}: resource claim template "{template}": {lacks}'
        yield _REPORTER.warning(owner, resource, "FailedResourceClaimCreation", note)


def _source(claim: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a pod and its PodGroup both have to say, for a claim to be the PodGroup's."""
    return tuple(
        claim.get(each) for each in ("name", "resourceClaimName", "resourceClaimTemplateName")
    )


def _made_from(template: Object, of: Object, resource: Resource, alias: str) -> dict[str, Any]:
    given: Mapping[str, Any] = template.spec.get("metadata") or {}
    base = f"{of.metadata.name}-{alias}-"
    if len(base) > _LONGEST_BASE:
        name, rest = (
            text[: len(text) * _LONGEST_BASE // len(base)] for text in (of.metadata.name, alias)
        )
        base = f"{name}-{rest}"
    owner = {**reference(of, resource), "blockOwnerDeletion": False}
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
        over, who = _over(consumer, namespace, devices)
        gone += [who] if over and who is not None else []
        remaining += [] if over else [consumer]
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


def _over(
    consumer: Mapping[str, Any], namespace: str, devices: Devices
) -> tuple[bool, Identity | None]:
    """Whether a consumer needs its claim no more, and who is not there if that is so."""
    key = f"{namespace}/{consumer['name']}"
    kind = consumer.get("apiGroup") or "", consumer["resource"]
    if kind == ("", "pods"):
        resource, found = PODS, devices.pods.get(key)
    elif kind == (SCHEDULING, "podgroups") and devices.grouping is not None:
        resource, found = devices.grouping, devices.pod_groups.get(key)
    else:
        return False, None
    if found is None or found.metadata.uid != consumer["uid"]:
        return True, (resource, namespace, consumer["name"], consumer["uid"])
    return resource == PODS and _done(found), None


def _left_behind(claim: Object, devices: Devices) -> Iterator[Change]:
    """A claim made for a pod that will not run any more goes before the pod does."""
    for owner in claim.metadata.owner_references or ():
        if owner.controller and owner.kind == "Pod":
            pod = devices.pods.get(f"{claim.metadata.namespace}/{owner.name}")
            if pod is not None and (pod.metadata.uid != owner.uid or _done(pod)):
                yield Change(claim, RESOURCE_CLAIMS, None)


def _done(pod: Object) -> bool:
    return pod.finished or (pod.deleting and not pod.spec.get("nodeName"))
