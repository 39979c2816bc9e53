# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""DynamicResources' part in the binding cycle: allocates and reserves a pod's claims.

::

    finalizer ──► status.allocation, reservedFor ──► binding conditions ──► the watch shows it
                                                                                 │
                                                               the pod may be bound

Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go
PreBind, bindClaim, Unreserve.
"""

from collections.abc import Mapping
from typing import Any, Final

from enbloc.devices.decisions import DeviceClaimDecision, DeviceDecision
from enbloc.devices.facts import (
    MOST_CONSUMERS,
    SCHEDULING,
    AllocatedDevice,
    Allocation,
    Consumer,
    ResourceClaim,
    pod_group_id,
)
from enbloc.devices.needs import full
from enbloc.devices.writing import allocation_json
from enbloc.framework.act import Api, ReadObject, Reply, Target
from enbloc.framework.changes import (
    SHOWN_SECONDS,
    Body,
    Object,
    change,
    change_alone,
    failed,
    look,
    node_of,
    part,
    shown,
    text_of,
)
from enbloc.framework.status import Status
from enbloc.model.times import time_text
from enbloc.plugins.dynamic_resources import extended
from enbloc.wire import device_codec as codec

#: Keeps a claim that has devices from being deleted; the claim controller removes it.
FINALIZER: Final = "resource.kubernetes.io/delete-protection"

#: The watch reports changes; a read this often finds what it may have missed (seconds).
LOOK_SECONDS: Final = 30.0


async def pre_bind(decision: DeviceDecision, target: Target, api: Api, timeout: float) -> Status:
    """Allocate and reserve a pod's claims, and wait until their devices can be used.

    What is already as wanted, for example after a restart, is not written again.

    Args:
        decision: the decision about its claims.
        target: the pod and its node.
        api: the cluster.
        timeout: the longest wait for binding conditions (`bindingTimeout`).
    """
    bodies: dict[Object, Body] = {}
    for claim in decision.claims:
        it = claim_object(claim.claim)
        found = await _bind(it, claim, target, api)
        if isinstance(found, str):
            return failed(found)
        bodies[it] = found
    if decision.extended is not None:
        it = extended.claim_object(target)
        problem = await extended.create(decision.extended, target, api)
        if not problem:
            ours = DeviceClaimDecision(
                f"{it.namespace}/{it.name}", "", decision.extended.allocation
            )
            found = await _bind(it, ours, target, api)
            problem = found if isinstance(found, str) else ""
            bodies[it] = {} if isinstance(found, str) else found
        problem = problem or await extended.show(decision.extended, target, api)
        if problem:
            return failed(problem)
    return failed(await _ready(bodies, api, timeout) or await _seen(bodies, api))


async def unreserve(decision: DeviceDecision, target: Target, api: Api) -> Status:
    """Release a pod's reservations, and the devices of claims that no other pod uses.

    What is reserved for a PodGroup stays while a pod of it is on a node, or being bound to one.
    """
    bound = await node_of(api, target)
    if isinstance(bound, Reply):
        return failed(f"cannot tell whether the pod is bound: {bound.message}")
    if bound:  # somebody bound it, and it cannot start without its claims
        return failed("")
    problems: list[str] = []
    for claim in decision.claims:
        problems.append(await _release(claim_object(claim.claim), claim, target, api))
    if decision.extended is not None:
        made = decision.extended.claim
        it = claim_object(made) if made else extended.claim_object(target)
        problems.append(await extended.delete(it, target, api))
    return failed("; ".join(filter(None, problems)))


def claim_object(key: str) -> Object:
    """The object of a claim."""
    namespace, _, name = key.partition("/")
    return Object(ResourceClaim.kind, namespace, name)


# ── writing ──────────────────────────────────────────────────────────────────────────────────


async def _bind(it: Object, claim: DeviceClaimDecision, target: Target, api: Api) -> Body | str:
    """Allocate and reserve one claim; returns the claim, or the problem."""
    consumer = await _consumer(claim, target, api)
    if isinstance(consumer, str):
        return consumer
    known: Body | None = None
    gives = claim.allocation is not None and not claim.found
    # Lock both writes: between them another member could change what the second relies on.
    async with api.alone(it.kind, it.namespace, it.name):
        if gives:
            changed = await change_alone(api, it, lambda body: _protect(body, claim))
            if changed.problem:
                return _said("add finalizer to claim", it, changed.problem)
            known = changed.body
        changed = await change_alone(
            api,
            it,
            lambda body: _reserve(body, claim, consumer, api.now()),
            status=True,
            known=known,
        )
    if changed.problem:
        what = "allocation and reservation" if gives else "reservation"
        return _said(f"add {what} to claim", it, changed.problem)
    return changed.body


def _said(doing: str, it: Object, problem: str) -> str:
    """A problem, with what was being done if the message is the server's and not ours."""
    server = problem.removeprefix(f"{it}: ")
    return problem if server == problem else f"{doing} {it.namespace}/{it.name}: {server}"


def _protect(body: Body, claim: DeviceClaimDecision) -> Body | str:
    found = _as_decided(body, claim)
    if isinstance(found, str):
        return found
    finalizers = _list(part(body, "metadata"), "finalizers")
    if found.allocation is not None or FINALIZER in finalizers:
        return {}
    return {"metadata": {"finalizers": [*finalizers, FINALIZER]}}


def _reserve(body: Body, claim: DeviceClaimDecision, consumer: Consumer, now: float) -> Body | str:
    found = _as_decided(body, claim)
    if isinstance(found, str):
        return found
    status: dict[str, Any] = {}
    if found.allocation is None:
        if claim.allocation is None or claim.found:
            return f"claim {found.key} got deallocated elsewhere in the meantime"
        if FINALIZER not in _list(part(body, "metadata"), "finalizers"):
            return f"claim {found.key} lost its finalizer in the meantime"
        written = allocation_json(claim.allocation)
        status["allocation"] = {**written, "allocationTimestamp": time_text(now)}
    if not found.reserved(consumer.uid):
        if len(found.reserved_for) >= MOST_CONSUMERS:
            return full(found.key)
        status["reservedFor"] = [*_list(part(body, "status"), "reservedFor"), _written(consumer)]
    return {"status": status} if status else {}


async def _consumer(claim: DeviceClaimDecision, target: Target, api: Api) -> Consumer | str:
    """The consumer of a claim: the PodGroup that lists it, else the pod; or the problem.

    The PodGroup is read from the server, not a cache: its UID keeps the devices as long as it
    exists.

    Source: kube-scheduler v1.36 staging/src/k8s.io/dynamic-resource-allocation/resourceclaim
    resourceclaim.go BindTo.
    """
    pod = Consumer("pods", target.pod.name, target.uid)
    if claim.listing is None:
        return pod
    it = Object("PodGroup", target.pod.namespace, claim.listing.pod_group)
    reply = await look(api, it)
    if reply.code == 404:
        return pod
    if not reply.ok:
        return f"{it}: {reply.message}"
    name = claim.claim.partition("/")[2]
    wanted = [
        (each.name, "" if each.template else name, each.template) for each in claim.listing.claims
    ]
    for entry in _list(part(reply.body, "spec"), "resourceClaims"):
        if _entry(entry) in wanted:
            uid = text_of(part(reply.body, "metadata"), "uid")
            return Consumer("podgroups", it.name, uid, SCHEDULING)
    return pod


def _entry(entry: object) -> tuple[str, ...]:
    """A PodGroup's entry for a claim: its name there, and the claim's or template's."""
    fields = ("name", "resourceClaimName", "resourceClaimTemplateName")
    return tuple(text_of(entry, each) for each in fields) if isinstance(entry, dict) else ()


def _written(consumer: Consumer) -> Mapping[str, str]:
    group = {"apiGroup": consumer.group} if consumer.group else {}
    return {**group, "resource": consumer.resource, "name": consumer.name, "uid": consumer.uid}


async def _release(it: Object, claim: DeviceClaimDecision, target: Target, api: Api) -> str:
    """Release the reservation of one claim; returns the problem, "" = none."""
    changed = await change(api, it, lambda body: _without(body, claim, target, api), status=True)
    if not changed.problem and part(part(changed.body, "status"), "allocation") == {}:
        changed = await change(api, it, lambda body: _unprotected(body, claim.uid))
    if not changed.problem:  # who plans next knows what was taken back
        await shown(api, it, changed.body)
    return "" if changed.code == 404 else changed.problem


def _without(body: Body, claim: DeviceClaimDecision, target: Target, api: Api) -> Body:
    """The patch that removes the reservation, and with the last one the allocation.

    The claim may then be used on any node again, as if the claim controller had seen its last pod
    end.
    """
    found = codec.read_resource_claim(body)
    if not isinstance(found, ResourceClaim) or found.uid != claim.uid:
        return {}
    leaving = {str(target.uid)}
    group = claim.listing.pod_group if claim.listing is not None else ""
    if group and not api.places(target.pod.namespace, group, but=target.uid):
        leaving.add(pod_group_id(group))
    reserved = zip(found.reserved_for, _list(part(body, "status"), "reservedFor"), strict=True)
    others = [written for each, written in reserved if each.id not in leaving]
    if len(others) == len(found.reserved_for) and (others or found.allocation is None):
        return {}
    last = {"allocation": None} if not others else {}
    return {"status": {"reservedFor": others, **last}}


def _unprotected(body: Body, uid: str) -> Body:
    metadata = part(body, "metadata")
    finalizers = _list(metadata, "finalizers")
    allocated = part(part(body, "status"), "allocation")
    if metadata.get("uid") != uid or allocated or FINALIZER not in finalizers:
        return {}
    return {"metadata": {"finalizers": [each for each in finalizers if each != FINALIZER]}}


# ── waiting ──────────────────────────────────────────────────────────────────────────────────


async def _ready(bodies: dict[Object, Body], api: Api, timeout: float) -> str:
    """Wait until every device can be used; returns why one cannot, "" = all can.

    Source: kube-scheduler v1.36
    pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go isClaimReadyForBinding.
    """
    until = api.now() + timeout
    waiting = [it for it, body in bodies.items() if _has_conditions(body)]
    while True:
        seen: list[ReadObject] = []
        for it in waiting:
            found = codec.read_resource_claim(bodies[it])
            if not isinstance(found, ResourceClaim) or found.allocation is None:
                return f"claim {it.namespace}/{it.name} got deallocated elsewhere in the meantime"
            if failure := _failure(found, bodies[it]):
                return failure
            if not _usable(found):
                seen.append(it.seen(bodies[it]))
                if found.allocation.at is not None:  # before this process started, maybe
                    until = min(until, found.allocation.at + timeout)
        left = until - api.now()
        if seen and left <= 0:
            return f"device binding timeout: claim={seen[0].name}"
        if not seen:
            return ""
        await api.changed(seen, min(left, LOOK_SECONDS))
        if problem := await _look_again(waiting, bodies, api):
            return problem


async def _seen(bodies: dict[Object, Body], api: Api) -> str:
    """Wait until the watch shows all writes; returns why it does not, "" = it does.

    So the last check before the Binding can distinguish what somebody has undone, and what an
    earlier plan wrote, from what is not visible yet.
    """
    for it, body in bodies.items():
        if not await shown(api, it, body):
            return f"the watch has not shown {it} as it is for {SHOWN_SECONDS:g}s"
    return ""


async def _look_again(waiting: list[Object], bodies: dict[Object, Body], api: Api) -> str:
    """Read claims again; returns why one is no longer as decided, "" = all are."""
    for it in waiting:
        reply = await look(api, it)
        if not reply.ok:
            return f"{it}: {reply.message}"
        if part(reply.body, "metadata").get("uid") != part(bodies[it], "metadata").get("uid"):
            return f"{it} was deleted and created again"
        bodies[it] = reply.body
    return ""


def _has_conditions(body: Body) -> bool:
    found = codec.read_resource_claim(body)
    return (
        isinstance(found, ResourceClaim)
        and found.allocation is not None
        and any(each.conditions for each in found.allocation.results)
    )


def _usable(claim: ResourceClaim) -> bool:
    """Whether all binding conditions of all of its devices are true."""
    assert claim.allocation is not None, "it was allocated"
    true = {(each.driver, each.pool, each.device): each.true for each in claim.states}
    return all(
        set(each.conditions) <= true.get((each.driver, each.pool, each.device), frozenset())
        for each in claim.allocation.results
    )


def _failure(claim: ResourceClaim, body: Body) -> str:
    """The driver's message about a device that will not become usable; "" = none."""
    assert claim.allocation is not None, "it was allocated"
    for result in claim.allocation.results:
        for name in result.failures if result.conditions else ():
            for found in _conditions(result, body):
                if found.get("type") == name and found.get("status") == "True":
                    reason, message = found.get("reason", ""), found.get("message", "")
                    return (
                        f"device binding failed: claim={claim.name}, reason={reason}, "
                        f'message="{message}"'
                    )
    return ""


def _conditions(result: AllocatedDevice, body: Body) -> list[Any]:
    """The driver's conditions of a device of a claim."""
    for device in _list(part(body, "status"), "devices"):
        identity = (device.get("driver"), device.get("pool"), device.get("device"))
        if identity == (result.driver, result.pool, result.device):
            return _list(device, "conditions")
    return []


# ── reading ──────────────────────────────────────────────────────────────────────────────────


def _as_decided(body: Body, claim: DeviceClaimDecision) -> ResourceClaim | str:
    """The claim that was decided about, or why it is no longer that."""
    if claim.problem:
        return f"claim {claim.claim}: {claim.problem}"
    found = codec.read_resource_claim(body)
    if not isinstance(found, ResourceClaim):
        return f"ResourceClaim {claim.claim} cannot be read"
    if claim.uid not in ("", found.uid):
        return f"ResourceClaim {found.key} was deleted and created again"
    if found.deleting:
        return f"claim {found.key} got deleted in the meantime"
    given, wanted = found.allocation, claim.allocation
    if given is not None and wanted is not None and _devices(given) != _devices(wanted):
        return f"claim {found.key} got allocated elsewhere in the meantime"
    return found


def _devices(allocation: Allocation) -> set[tuple[str, ...]]:
    """What identifies the devices of an allocation, each with its request."""
    return {
        (each.request, each.driver, each.pool, each.device, each.share)
        for each in allocation.results
    }


def _list(body: Body, name: str) -> list[Any]:
    found = body.get(name)
    return found if isinstance(found, list) else []
