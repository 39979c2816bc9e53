# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of volumes and their claims: binding, loss, release, protection.

::

    claim   Pending ──volume claimed, volumeName, bind-completed──► Bound ──volume gone──► Lost
    volume  Available ──claimRef with the claim's UID──► Bound ──claim gone──► Released

One step makes one write per object, as events come in; kube-controller-manager does the same in one
go. Expansion, attributes classes and in-tree deletion are left out: nothing here needs them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from enbloc.client.paths import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS
from enbloc.model.quantity import whole
from enbloc_sandbox.nodes.claims.events import Reporter, Told
from enbloc_sandbox.nodes.claims.following import Change, each
from enbloc_sandbox.nodes.claims.of_pods import Objects, volume_claims
from enbloc_sandbox.nodes.objects import Metadata, Object, reference
from enbloc_sandbox.nodes.selectors import fits_labels

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
_PVC_PROTECTION: Final = "kubernetes.io/pvc-protection"
_PV_PROTECTION: Final = "kubernetes.io/pv-protection"
#: Provisioners that kube-controller-manager once had; also of volumes that are made by hand.
_IN_TREE: Final = "kubernetes.io/"
_FAILED: Final = "ProvisioningFailed"
_REPORTER: Final = Reporter("persistentvolume-controller", "Bind")


class StorageClass(msgspec.Struct, frozen=True, rename="camel"):
    """A StorageClass, as far as a client of the sandbox reads it."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    reclaim_policy: str = "Delete"
    parameters: dict[str, str] | None = None

    @property
    def waits(self) -> bool:
        """Its claims are bound when a pod that uses them is placed."""
        return self.volume_binding_mode == "WaitForFirstConsumer"


@dataclass(frozen=True, slots=True)
class Storage:
    """All that the volume controllers look at.

    Attributes:
        claims: by namespace/name.
        volumes: by name.
        classes: by name.
        pods: by namespace/name.
        told: what events have said already, by reason.
    """

    claims: Objects
    volumes: Objects
    classes: Mapping[str, StorageClass]
    pods: Objects
    told: Told = field(default_factory=set[tuple[str, str]])


def class_of(one: Object) -> str:
    """The class of a claim or volume; "" = none."""
    return str(one.spec.get("storageClassName") or "")


def size_of(one: Object) -> int:
    """The bytes that a claim asks for, or that a volume has."""
    amounts = one.spec.get("capacity") or (one.spec.get("resources") or {}).get("requests") or {}
    return whole(amounts.get("storage", "0"))


def changes(storage: Storage) -> Iterator[Change]:
    """What is to be written next, as things stand."""
    used = set(_used_claims(storage.pods.values()))
    waiting = _waiting_pods(storage.pods.values())
    taken: set[str] = set()

    def of_claim(claim: Object) -> Iterator[Change]:
        if claim.deleting and claim.key not in used:
            yield from _unprotected(claim, _PVC_PROTECTION)
        yield from _claim(claim, storage, taken, waiting.get(claim.key, ()))

    def of_volume(volume: Object) -> Iterator[Change]:
        if volume.deleting and volume.phase != "Bound":
            yield from _unprotected(volume, _PV_PROTECTION)
        yield from _volume(volume, storage)

    yield from each(storage.pods.values(), lambda pod: _ephemeral(pod, storage))
    yield from each(storage.claims.values(), of_claim)
    yield from each(storage.volumes.values(), of_volume)


def _used_claims(pods: Iterable[Object]) -> Iterator[str]:
    for pod in pods:
        if pod.spec.get("nodeName"):
            for name, _ in volume_claims(pod):
                yield f"{pod.metadata.namespace}/{name}"


def _waiting_pods(pods: Iterable[Object]) -> Mapping[str, list[str]]:
    """The names of pods without a node, by the claims that they use."""
    found: dict[str, list[str]] = {}
    for pod in pods:
        if not pod.spec.get("nodeName") and not pod.finished:
            for name, _ in volume_claims(pod):
                found.setdefault(f"{pod.metadata.namespace}/{name}", []).append(pod.metadata.name)
    return found


def _unprotected(one: Object, finalizer: str) -> Iterator[Change]:
    finalizers = one.metadata.finalizers or []
    if finalizer in finalizers:
        rest = [each for each in finalizers if each != finalizer]
        resource = PERSISTENT_VOLUME_CLAIMS if one.metadata.namespace else PERSISTENT_VOLUMES
        yield Change(one, resource, {"metadata": {"finalizers": rest}})


def _ephemeral(pod: Object, storage: Storage) -> Iterator[Change]:
    """The claims of a pod's own volumes."""
    if pod.deleting or pod.finished:
        return
    for name, template in volume_claims(pod):
        if template is not None and f"{pod.metadata.namespace}/{name}" not in storage.claims:
            given: Mapping[str, Any] = template.get("metadata") or {}
            metadata = {
                "name": name,
                "labels": given.get("labels") or {},
                "annotations": given.get("annotations") or {},
                "ownerReferences": [reference(pod, PODS)],
            }
            body = {"metadata": metadata, "spec": template.get("spec") or {}}
            yield Change(pod, PERSISTENT_VOLUME_CLAIMS, body, create=True)


# ── claims ───────────────────────────────────────────────────────────────────────────────────
def _claim(
    claim: Object, storage: Storage, taken: set[str], pods: Sequence[str]
) -> Iterator[Change]:
    """What a claim needs next; `pods` are those that use it and have no node."""
    name = str(claim.spec.get("volumeName") or "")
    volume = storage.volumes.get(name)
    if _BIND_COMPLETED in claim.annotations:
        owner = None if volume is None else volume.spec.get("claimRef")
        if volume is None or (owner and owner.get("uid") != claim.metadata.uid):
            if claim.phase != "Lost":
                lost = {"phase": "Lost", "accessModes": None, "capacity": None}
                yield Change(claim, PERSISTENT_VOLUME_CLAIMS, {"status": lost}, "status")
        else:
            yield from _bind(volume, claim)
    elif name:
        if volume is not None and _may_have(volume, claim):
            yield from _bind(volume, claim)
    else:
        found = _match(claim, storage, taken)
        if found is not None:
            taken.add(found.metadata.name)
            yield from _bind(found, claim)
        else:
            yield from _provision(claim, storage, pods)


def _may_have(volume: Object, claim: Object) -> bool:
    """Whether a claim gets the volume that it names."""
    if volume.spec.get("claimRef"):
        return _is_for(volume, claim)
    return (
        not volume.deleting
        and size_of(volume) >= size_of(claim)
        and class_of(volume) == class_of(claim)
        and volume.spec.get("volumeMode") == claim.spec.get("volumeMode")
        and _modes(claim) <= _modes(volume)
    )


def _match(claim: Object, storage: Storage, taken: set[str]) -> Object | None:
    """The volume that is kept for a claim, else the smallest that fits; None if there is none."""
    wanted, found = class_of(claim), storage.classes.get(class_of(claim))
    waits = found is not None and found.waits
    best: Object | None = None
    for volume in storage.volumes.values():
        if (
            volume.deleting
            or size_of(volume) < size_of(claim)
            or volume.spec.get("volumeMode") != claim.spec.get("volumeMode")
        ):
            continue
        if volume.spec.get("claimRef"):
            if _is_for(volume, claim):
                return volume
            continue
        if (
            not waits  # else it is for a scheduler to choose
            and volume.metadata.name not in taken
            and volume.phase == "Available"
            and class_of(volume) == wanted
            and _modes(claim) <= _modes(volume)
            and fits_labels(claim.spec.get("selector") or {}, volume.labels)
            and (best is None or size_of(volume) < size_of(best))
        ):
            best = volume
    return best


def _provision(claim: Object, storage: Storage, pods: Sequence[str]) -> Iterator[Change]:
    """Tell who is to make a volume for a claim, and those who look at it what it waits for.

    Source: kube-controller-manager v1.36 pkg/controller/volume/persistentvolume/pv_controller.go
    syncUnboundClaim, emitEventForUnboundDelayBindingClaim, provisionClaim.
    """
    if claim.deleting:
        return
    name = class_of(claim)
    found = storage.classes.get(name)
    if found is not None and found.waits and SELECTED_NODE not in claim.annotations:
        yield from _tell_of_delay(claim, storage, pods)
    elif not name:
        note = "no persistent volumes available for this claim and no storage class is set"
        yield from _tell(claim, storage, "FailedBinding", note)
    elif found is None:
        note = f'storageclass.storage.k8s.io "{name}" not found'
        yield from _tell(claim, storage, _FAILED, note)
    elif found.provisioner.startswith(_IN_TREE):
        note = f"no volume plugin matched name: {found.provisioner}"
        yield from _tell(claim, storage, _FAILED, note)
    else:
        if claim.annotations.get(PROVISIONER) != found.provisioner:
            told = {"metadata": {"annotations": {PROVISIONER: found.provisioner}}}
            yield Change(claim, PERSISTENT_VOLUME_CLAIMS, told)
        note = (
            "Waiting for a volume to be created either by the external provisioner "
            f"'{found.provisioner}' or manually by the system administrator. If volume creation "
            "is delayed, please verify that the provisioner is running and correctly registered."
        )
        yield from _tell(claim, storage, "ExternalProvisioning", note)


def _tell_of_delay(claim: Object, storage: Storage, pods: Sequence[str]) -> Iterator[Change]:
    if not pods:
        note = "waiting for first consumer to be created before binding"
        yield from _tell(claim, storage, "WaitForFirstConsumer", note)
        return
    which = f"pod {pods[0]}" if len(pods) == 1 else f"pods {','.join(pods)}"
    note = f"waiting for {which} to be scheduled"
    yield from _tell(claim, storage, "WaitForPodScheduled", note)


def _tell(claim: Object, storage: Storage, reason: str, note: str) -> Iterator[Change]:
    """An event on a claim, the first time that there is this reason."""
    said = (claim.metadata.uid, reason)
    if said not in storage.told:
        storage.told.add(said)
        write = _REPORTER.warning if reason == _FAILED else _REPORTER.normal
        yield write(claim, PERSISTENT_VOLUME_CLAIMS, reason, note)


def _bind(volume: Object, claim: Object) -> Iterator[Change]:
    """The next writes that make the two belong to each other."""
    owner: Mapping[str, Any] = volume.spec.get("claimRef") or {}
    meta = claim.metadata
    if owner.get("uid") != meta.uid:
        whose = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": meta.namespace,
            "name": meta.name,
            "uid": meta.uid,
        }
        body: dict[str, Any] = {"spec": {"claimRef": whose}}
        if not owner:
            body["metadata"] = {"annotations": {_BOUND_BY_CONTROLLER: "yes"}}
        yield Change(volume, PERSISTENT_VOLUMES, body)
        return
    if volume.phase != "Bound":
        yield Change(volume, PERSISTENT_VOLUMES, {"status": {"phase": "Bound"}}, "status")
    name = volume.metadata.name
    if claim.spec.get("volumeName") != name or _BIND_COMPLETED not in claim.annotations:
        marks = {_BIND_COMPLETED: "yes"}
        if claim.spec.get("volumeName") != name:
            marks[_BOUND_BY_CONTROLLER] = "yes"
        bound = {"metadata": {"annotations": marks}, "spec": {"volumeName": name}}
        yield Change(claim, PERSISTENT_VOLUME_CLAIMS, bound)
    elif claim.phase != "Bound":
        state = {
            "phase": "Bound",
            "accessModes": volume.spec.get("accessModes"),
            "capacity": volume.spec.get("capacity"),
        }
        yield Change(claim, PERSISTENT_VOLUME_CLAIMS, {"status": state}, "status")


# ── volumes ──────────────────────────────────────────────────────────────────────────────────
def _volume(volume: Object, storage: Storage) -> Iterator[Change]:
    owner: Mapping[str, Any] = volume.spec.get("claimRef") or {}
    if not owner.get("uid"):
        if volume.phase != "Available":
            free = {"status": {"phase": "Available"}}
            yield Change(volume, PERSISTENT_VOLUMES, free, "status")
        return
    namespace, name, uid = owner.get("namespace", ""), owner.get("name", ""), owner["uid"]
    claim = storage.claims.get(f"{namespace}/{name}")
    if claim is None or claim.metadata.uid != uid:
        if volume.phase != "Released":
            released = {"status": {"phase": "Released"}}
            whose = (PERSISTENT_VOLUME_CLAIMS, namespace, name, uid)
            yield Change(volume, PERSISTENT_VOLUMES, released, "status", unless=(whose,))
        return
    elsewhere = claim.spec.get("volumeName")
    if not elsewhere or elsewhere == volume.metadata.name:
        return  # the claim's own step sees to it
    if PROVISIONED_BY in volume.annotations and _reclaimed(volume):
        if volume.phase != "Released":
            yield Change(volume, PERSISTENT_VOLUMES, {"status": {"phase": "Released"}}, "status")
    elif _BOUND_BY_CONTROLLER in volume.annotations:
        unbound = {
            "metadata": {"annotations": {_BOUND_BY_CONTROLLER: None}},
            "spec": {"claimRef": None},
        }
        yield Change(volume, PERSISTENT_VOLUMES, unbound)
    else:
        yield Change(volume, PERSISTENT_VOLUMES, {"spec": {"claimRef": {"uid": None}}})


def _reclaimed(volume: Object) -> bool:
    return bool(volume.spec.get("persistentVolumeReclaimPolicy") == "Delete")


def _is_for(volume: Object, claim: Object) -> bool:
    """Whether a volume's claimRef means this claim; without a UID it means any of that name."""
    owner: Mapping[str, Any] = volume.spec.get("claimRef") or {}
    meta = claim.metadata
    return (
        owner.get("namespace") == meta.namespace
        and owner.get("name") == meta.name
        and owner.get("uid") in (None, "", meta.uid)
    )


def _modes(one: Object) -> set[str]:
    return set(one.spec.get("accessModes") or ())
