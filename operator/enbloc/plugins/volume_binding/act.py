# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""VolumeBinding's part in the binding cycle: binds a pod's claims before the pod is bound.

::

    PersistentVolume.spec.claimRef ──┐
    selected-node of the claim ──────┴──► wait until the control plane has bound every claim

Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go BindPodVolumes.
"""

from collections.abc import Mapping
from typing import Final

from enbloc.framework.act import Api, ReadObject, Reply, Target
from enbloc.framework.changes import Body, Object, change, failed, look, node_of, part
from enbloc.framework.status import Status
from enbloc.model.pods import NodeSelectorTerm
from enbloc.model.requirements import NAME_FIELD
from enbloc.storage.decisions import VolumeClaimDecision, VolumeDecision, VolumeRef
from enbloc.storage.facts import Affinity, PersistentVolume, PersistentVolumeClaim
from enbloc.wire import storage_codec as codec

#: Marks a claimRef that no user wrote, so that it may be removed when the claim is unbound.
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"

#: The watch reports changes; a read this often finds what it may have missed (seconds).
LOOK_SECONDS: Final = 30.0


async def pre_bind(decision: VolumeDecision, target: Target, api: Api, timeout: float) -> Status:
    """Write the decisions about a pod's claims, and wait until all of them are bound.

    What is already as wanted, for example after a restart, is not written again.

    Args:
        decision: the decision about its claims that are not bound yet.
        target: the pod and its node.
        api: the cluster.
        timeout: the longest wait for all of them (`bindTimeoutSeconds`).
    """
    until = api.now() + timeout
    # Write all volumes first: a claim that a volume names is bound to it, even if others fail.
    known: dict[str, Body] = {}
    for claim in sorted(decision.claims, key=lambda each: each.volume is None):
        written = await _write(claim, target, api)
        if isinstance(written, str):
            return failed(written)
        known[claim.claim] = written
    while True:
        waits: list[ReadObject] = []
        for claim in decision.claims:
            try:
                waits += await _lacking(claim, target, api, known.pop(claim.claim, None))
            except _Broken as error:
                return failed(f"binding volumes: {error}")
        if not waits:
            return failed("")
        left = until - api.now()
        if left <= 0:
            kind, namespace, name, _ = waits[0]
            return failed(
                f"binding volumes: {kind} {namespace}/{name} is not bound after {timeout:g}s; "
                "look at its events"
            )
        await api.changed(waits, min(left, LOOK_SECONDS))


async def unreserve(decision: VolumeDecision, target: Target, api: Api) -> Status:
    """Remove `selected-node` from claims that have no volume yet.

    They can then follow the pod to its next node. A claimRef that names a volume stays: the control
    plane may already have bound the claim, which cannot be undone; so the next plan uses the claim
    where its volume is.
    """
    problems: list[str] = []
    for claim in decision.claims:
        if claim.volume is None and await _selected(claim, target, api):
            problems.append(await _release(claim, target, api))
    return failed("; ".join(filter(None, problems)))


async def _release(claim: VolumeClaimDecision, target: Target, api: Api) -> str:
    """Make a claim wait for its first pod again; returns the problem, "" = none."""
    bound = await node_of(api, target)
    if isinstance(bound, Reply):
        return f"cannot tell whether the pod is bound: {bound.message}"
    if bound == target.node:  # somebody bound it here, and it needs the volume
        return ""
    changed = await change(api, _claim(claim), lambda body: _deselect(body, claim, target))
    return "" if changed.code == 404 else changed.problem


class _Broken(Exception):  # noqa: N818  # it never leaves this module
    """A claim will not be bound as decided."""


# ── writing ──────────────────────────────────────────────────────────────────────────────────


async def _write(claim: VolumeClaimDecision, target: Target, api: Api) -> Body | str:
    """Make the volume name the claim, or the claim the node; returns the claim or the problem."""
    if claim.volume is None:
        wanted = await change(api, _claim(claim), lambda body: _select(body, claim, target))
        return wanted.problem or wanted.body
    volume = claim.volume
    looked: Body = {}

    async def decide(body: Body) -> Body | str:
        # Read the claim before each try: a volume bound to a claim that is gone or replaced would
        # become Released for good.
        nonlocal looked
        reply = await look(api, _claim(claim))
        if not reply.ok:
            return f"{_claim(claim)}: {reply.message}"
        found = _read_claim(reply.body, claim)
        if isinstance(found, str):
            return found
        looked = reply.body
        if found.volume:
            named = found.volume == volume.name
            return {} if named else f"{_claim(claim)} is bound to {found.volume} by now"
        return _claim_volume(body, volume, found)

    changed = await change(api, Object(PersistentVolume.kind, "", volume.name), decide)
    return changed.problem or looked


def _claim_volume(body: Body, chosen: VolumeRef, claim: PersistentVolumeClaim) -> Body | str:
    """The patch that reserves a volume for the claim; empty = it is; a text = the problem.

    Source: kubernetes v1.36 staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go
    GetBindVolumeToClaim.
    """
    volume = codec.read(PersistentVolume.kind, body)
    if not isinstance(volume, PersistentVolume):
        return f"PersistentVolume {chosen.name} cannot be read"
    if chosen.uid not in ("", volume.uid):
        return f"PersistentVolume {chosen.name} was deleted and created again"
    if volume.deleting:
        return f"PersistentVolume {chosen.name} is being deleted"
    if volume.claim is not None and not volume.holds(claim):
        return f"PersistentVolume {chosen.name} was claimed by {volume.claim.key} in the meantime"
    wanted: dict[str, Body] = {}
    if volume.claim is None or volume.claim.uid != claim.uid:
        reference = {
            "apiVersion": "v1",
            "kind": claim.kind,
            "namespace": claim.namespace,
            "name": claim.name,
            "uid": claim.uid,
            "resourceVersion": claim.resource_version,
        }
        wanted["spec"] = {"claimRef": reference}
    if volume.claim is None and BOUND_BY_CONTROLLER not in _annotations(body):
        wanted["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
    return wanted


def _select(body: Body, claim: VolumeClaimDecision, target: Target) -> Body | str:
    """The patch that has a volume provisioned for a claim; a text = the problem."""
    found = _read_claim(body, claim)
    if isinstance(found, str):
        return found
    node = _selected_by(claim, target)
    if found.volume or found.selected_node == node:
        return {}
    if found.selected_node:
        return f"{_claim(claim)} was given to node {found.selected_node} in the meantime"
    return {"metadata": {"annotations": {codec.SELECTED_NODE: node}}}


def _selected_by(claim: VolumeClaimDecision, target: Target) -> str:
    """The node for which a claim's volume is provisioned."""
    return claim.node or target.node


def _deselect(body: Body, claim: VolumeClaimDecision, target: Target) -> Body | str:
    found = _read_claim(body, claim)
    if isinstance(found, str) or found.volume or found.selected_node != _selected_by(claim, target):
        return {}
    return {"metadata": {"annotations": {codec.SELECTED_NODE: None}}}


async def _selected(claim: VolumeClaimDecision, target: Target, api: Api) -> bool:
    """Whether a claim has no volume yet, and this node selected; True if unknown."""
    reply = await look(api, _claim(claim))
    return reply.code != 404 and (not reply.ok or bool(_deselect(reply.body, claim, target)))


# ── waiting ──────────────────────────────────────────────────────────────────────────────────


async def _lacking(
    claim: VolumeClaimDecision, target: Target, api: Api, known: Body | None
) -> list[ReadObject]:
    """The changes to wait for; none if the claim is bound.

    Args:
        claim: the decision about it.
        target: the pod.
        api: the cluster.
        known: the claim as just read; None = read it.

    Raises:
        _Broken: it will not be bound.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumebinding/binder.go
    checkBindings; that the pod is gone has this cancelled.
    """
    it = _claim(claim)
    body = _needed(await look(api, it), it) if known is None else known
    found = _read_claim(body, claim)
    if isinstance(found, str):
        raise _Broken(found)
    if found.bound:
        await _check_affinity(found.volume, target, api)
        return []
    waits = [it.seen(body)]
    if claim.volume is not None:
        it = Object(PersistentVolume.kind, "", claim.volume.name)
        body = _needed(await look(api, it), it)
        volume = codec.read(PersistentVolume.kind, body)
        if not isinstance(volume, PersistentVolume) or not volume.claim or not volume.claim.uid:
            raise _Broken(f'ClaimRef got reset for pv "{it.name}"')
        if not volume.holds(found):
            raise _Broken(f'pv "{it.name}" was claimed by {volume.claim.key} in the meantime')
        waits.append(it.seen(body))
    elif found.selected_node != _selected_by(claim, target):
        if not _annotations(body):
            raise _Broken(f'selectedNode annotation reset for PVC "{found.name}"')
        raise _Broken(f'provisioning failed for PVC "{found.name}"; look at its events')
    return waits


async def _check_affinity(volume: str, target: Target, api: Api) -> None:
    """Fail if the node does not reach the volume of a claim."""
    it = Object(PersistentVolume.kind, "", volume)
    fact = codec.read(PersistentVolume.kind, _needed(await look(api, it), it))
    if not isinstance(fact, PersistentVolume) or fact.affinity is None:
        return
    node = Object("Node", "", target.node)
    reply = await look(api, node)
    if not reply.ok:
        raise _Broken(f'failed to get node "{target.node}": {reply.message}')
    labels = part(part(reply.body, "metadata"), "labels")
    # A disk of an old kind may use its driver's labels. The last check before the Binding decides
    # which affinity holds.
    affinities = [fact.affinity, *filter(None, (fact.migrated_affinity,))]
    if not any(_holds(each, labels, target.node) for each in affinities):
        raise _Broken(
            f'pv "{volume}" node affinity doesn\'t match node "{target.node}": '
            "no matching NodeSelectorTerms"
        )


def _holds(affinity: Affinity, labels: Mapping[str, object], node: str) -> bool:
    return affinity is None or any(_matches(term, labels, node) for term in affinity)


def _matches(term: NodeSelectorTerm, labels: Mapping[str, object], node: str) -> bool:
    if not term.expressions and not term.fields:
        return False
    values = {key: str(value) for key, value in labels.items()}
    return all(each.matches(values.get(each.key)) for each in term.expressions) and all(
        each.key == NAME_FIELD and each.matches(node) for each in term.fields
    )


# ── reading ──────────────────────────────────────────────────────────────────────────────────


def _claim(claim: VolumeClaimDecision) -> Object:
    namespace, _, name = claim.claim.partition("/")
    return Object(PersistentVolumeClaim.kind, namespace, name)


def _read_claim(body: Body, claim: VolumeClaimDecision) -> PersistentVolumeClaim | str:
    """The claim that was decided about, or why it is no longer that."""
    found = codec.read(PersistentVolumeClaim.kind, body)
    if not isinstance(found, PersistentVolumeClaim):
        return f"{_claim(claim)} cannot be read"
    if found.uid != claim.uid:
        return f"{_claim(claim)} was deleted and created again"
    if found.deleting:
        return f'persistentvolumeclaim "{found.name}" is being deleted'
    if found.lost:
        return (
            f'persistentvolumeclaim "{found.name}" bound to non-existent persistentvolume '
            f'"{found.volume}"'
        )
    return found


def _needed(reply: Reply, it: Object) -> Body:
    """The object that was read.

    Raises:
        _Broken: it could not be read.
    """
    if not reply.ok:
        raise _Broken(f"failed to check binding: {it}: {reply.message}")
    return reply.body


def _annotations(body: Body) -> Body:
    return part(part(body, "metadata"), "annotations")
