# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Creates, publishes and deletes the ResourceClaim for a pod's extended resources.

Its name follows from the pod, so that an interrupted attempt is found again.

Source: kube-scheduler v1.36
pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go.
"""

from typing import Any, Final

from enbloc.devices.decisions import ExtendedDecision
from enbloc.devices.facts import ResourceClaim
from enbloc.devices.writing import requests_json
from enbloc.framework.act import Api, Target
from enbloc.framework.changes import Body, Object, Patience, change, look, part
from enbloc.wire import device_codec as codec

#: The longest name of such a claim, and how many characters of it are the pod's UID.
_LONGEST: Final = 63
_OF_UID: Final = 8

_POD: Final = "Pod"
_STATUS: Final = "extendedResourceClaimStatus"


def claim_object(target: Target) -> Object:
    """The object of the pod's claim."""
    own = "".join(each for each in target.uid.lower() if each.isascii() and each.isalnum())
    base = f"{target.pod.name}-extended-resources-"[: _LONGEST - _OF_UID]
    return Object(ResourceClaim.kind, target.pod.namespace, base + own[:_OF_UID])


async def create(decision: ExtendedDecision, target: Target, api: Api) -> str:
    """Create the claim of a pod, if needed; returns the problem, "" = it exists."""
    it = claim_object(target)
    doing = f"create claim for extended resources {it.namespace}/{it.name}"
    patience = Patience(api)
    while True:
        reply = await look(api, it)
        if reply.ok:
            return await _of_before(reply.body, it, decision, target, api)
        if reply.code == 404:
            reply = await api.create(it.kind, it.namespace, _body(it, decision, target))
            if reply.ok:
                return ""
        again = reply.passing or reply.code == 409  # it may be there: the next look tells
        if not again or not await patience.wait(reply):
            return f"{doing}: {reply.message}"


async def show(decision: ExtendedDecision, target: Target, api: Api) -> str:
    """Name the claim in its pod's status; returns the problem, "" = none."""
    mappings = [
        {"containerName": container, "resourceName": resource, "requestName": request}
        for container, resource, request in decision.mappings
    ]
    wanted = {"requestMappings": mappings, "resourceClaimName": claim_object(target).name}
    return await _set(wanted, target, api)


async def delete(it: Object, target: Target, api: Api) -> str:
    """Delete the claim of a pod, unless others use it; returns the problem, "" = none."""
    reply = await look(api, it)
    if reply.code == 404:
        return ""
    if not reply.ok:
        return f"{it}: {reply.message}"
    found = codec.read_resource_claim(reply.body)
    if not isinstance(found, ResourceClaim) or found.extended_for != target.uid:
        return ""
    # Remove the name first: a pod that names a missing claim does not start.
    return await _set(None, target, api) or await _discard(it, found.uid, target, api)


async def _of_before(
    body: Body, it: Object, decision: ExtendedDecision, target: Target, api: Api
) -> str:
    """Check an existing claim of that name; returns the problem, "" = it is as wanted."""
    found = codec.read_resource_claim(body)
    where = f"{it.namespace}/{it.name}"
    if not isinstance(found, ResourceClaim) or found.extended_for != target.uid:
        return f"{it} is not of this pod: delete it"
    if found.deleting:
        return f"claim {where} of an earlier attempt is being deleted"
    if found.spec.requests == decision.requests:
        return ""
    problem = await _discard(it, found.uid, target, api)
    return problem or f"claim {where} of an earlier attempt was deleted"


async def _discard(it: Object, uid: str, target: Target, api: Api) -> str:
    """Delete a claim that no other pod uses, allocated or not; returns the problem, "" = none."""
    changed = await change(api, it, lambda body: _without_finalizers(body, uid, target))
    if changed.problem:
        return "" if changed.code == 404 else changed.problem
    patience = Patience(api)
    while True:
        reply = await api.delete(it.kind, it.namespace, it.name, uid)
        if reply.ok or reply.code in (404, 409):  # 409: it is another one by now
            return ""
        if not reply.passing or not await patience.wait(reply):
            return f"{it}: {reply.message}"


def _without_finalizers(body: Body, uid: str, target: Target) -> Body | str:
    metadata = part(body, "metadata")
    found = codec.read_resource_claim(body)
    if isinstance(found, ResourceClaim) and found.uid == uid and _lent(found, target):
        return f"ResourceClaim {found.key} is reserved for others: it cannot be deleted"
    if metadata.get("uid") != uid or not metadata.get("finalizers"):
        return {}
    return {"metadata": {"finalizers": None}}


def _lent(claim: ResourceClaim, target: Target) -> bool:
    """Whether it is reserved for anybody but the pod: any pod can name it as its claim."""
    return any(each.uid != target.uid for each in claim.reserved_for)


async def _set(wanted: Body | None, target: Target, api: Api) -> str:
    """Make the pod's status name this; returns the problem, "" = none."""

    def decide(body: Body) -> Body | str:
        if part(body, "metadata").get("uid") != target.uid:
            return "" if wanted is None else f"pod {target.pod} was deleted and created again"
        if part(body, "status").get(_STATUS) == wanted:
            return {}
        return {"status": {_STATUS: wanted}}

    it = Object(_POD, target.pod.namespace, target.pod.name)
    changed = await change(api, it, decide, status=True)
    if not changed.problem or (wanted is None and changed.code == 404):
        return ""
    server = changed.problem.removeprefix(f"{it}: ")
    return f"update pod {target.pod} ExtendedResourceClaimStatus: {server}"


def _body(it: Object, decision: ExtendedDecision, target: Target) -> dict[str, Any]:
    owner = {
        "apiVersion": "v1",
        "kind": _POD,
        "name": target.pod.name,
        "uid": target.uid,
        "controller": True,
    }
    return {
        "metadata": {
            "name": it.name,
            "namespace": it.namespace,
            "annotations": {codec.EXTENDED_CLAIM_KEY: "true"},
            "ownerReferences": [owner],
        },
        "spec": {"devices": {"requests": requests_json(decision.requests)}},
    }
