# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
# Hooks share their arguments and say in hooks.py what they are for.
# ruff: noqa: ARG002, D102
"""Hooks of storage: volumes, claims, classes, drivers and what nodes have of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from enbloc.model.quantity import whole
from enbloc_sandbox.apiserver.kinds.hooks import Api, Kind
from enbloc_sandbox.apiserver.status import (
    FieldError,
    forbidden_field,
    not_supported,
    raw,
    required,
    wrong,
)

Document = Mapping[str, Any]
Fresh = dict[str, Any]

#: Given to new objects by admission, taken away by controllers once nobody uses the object.
PVC_PROTECTION: Final = "kubernetes.io/pvc-protection"
PV_PROTECTION: Final = "kubernetes.io/pv-protection"

_ALONE: Final = "ReadWriteOncePod"
_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", _ALONE)
_RECLAIM: Final = ("Delete", "Recycle", "Retain")
_BINDING: Final = ("Immediate", "WaitForFirstConsumer")
_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
#: What of a PersistentVolume's spec is not its source.
_NOT_SOURCE: Final = frozenset(
    {
        "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity",
        "persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName",
        "volumeMode",
    }
)  # fmt: skip
_CLAIM_IS_FIXED: Final = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
    "bound claims"
)
_SOURCE_IS_FIXED: Final = "spec.persistentvolumesource is immutable after creation"
_FIXED: Final = "field is immutable"


class PersistentVolumeClaim(Kind):
    """Claims: their spec is fixed, but for the volume that a controller writes in once."""

    returns_deleted = True

    def default(self, obj: Fresh) -> None:
        obj.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")

    def admit(self, api: Api, obj: Fresh) -> None:
        _protect(obj, PVC_PROTECTION)
        # As the admission plugin DefaultStorageClass does.
        spec = obj["spec"]
        if "storageClassName" not in spec:
            name = _default_class(api)
            if name is not None:
                spec["storageClassName"] = name

    def prepare_create(self, api: Api, obj: Fresh) -> None:
        obj["status"] = {"phase": "Pending"}

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors = list(_access_modes(spec, "at least 1 access mode is required"))
        requests = (spec.get("resources") or {}).get("requests") or {}
        field = "spec.resources[storage]"
        if "storage" not in requests:
            errors.append(required(field))
        elif whole(requests["storage"]) <= 0:
            errors.append(wrong(field, requests["storage"], "must be greater than zero"))
        return errors

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        new, before = dict(obj["spec"]), dict(old["spec"])
        if not before.get("volumeName"):
            before["volumeName"] = new.get("volumeName", "")
            new.setdefault("volumeName", "")
        errors: list[FieldError] = []
        sizes = [_storage(spec.get("resources")) for spec in (new, before)]
        if (obj.get("status") or {}).get("phase") == "Bound":
            for spec in (new, before):
                resources = {k: v for k, v in spec["resources"].items() if k != "requests"}
                spec["resources"] = resources
                spec.pop("volumeAttributesClassName", None)
            if sizes[0] < sizes[1]:
                detail = "field can not be less than status.capacity"
                errors.append(forbidden_field("spec.resources.requests.storage", detail))
        if new != before:
            errors.insert(0, forbidden_field("spec", _CLAIM_IS_FIXED))
        return errors


class PersistentVolume(Kind):
    """Volumes: what lies behind one is fixed."""

    returns_deleted = True

    def default(self, obj: Fresh) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
        spec.setdefault("volumeMode", "Filesystem")

    def admit(self, api: Api, obj: Fresh) -> None:
        _protect(obj, PV_PROTECTION)

    def prepare_create(self, api: Api, obj: Fresh) -> None:
        obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": api.now()}

    def prepare_status(self, api: Api, obj: Fresh, old: Document) -> None:
        before = old.get("status") or {}
        state = obj.get("status") or {}
        if state.get("phase") != before.get("phase"):
            state["lastPhaseTransitionTime"] = api.now()
        elif "lastPhaseTransitionTime" in before:
            state.setdefault("lastPhaseTransitionTime", before["lastPhaseTransitionTime"])

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        spec = obj["spec"]
        errors = list(_access_modes(spec))
        capacity = spec.get("capacity") or {}
        if not capacity:
            errors.append(required("spec.capacity"))
        if set(capacity) != {"storage"}:
            errors.append(not_supported("spec.capacity", capacity or raw("null"), ("storage",)))
        elif whole(capacity["storage"]) <= 0:
            text = capacity["storage"]
            errors.append(wrong("spec.capacity[storage]", text, "must be greater than zero"))
        policy = spec["persistentVolumeReclaimPolicy"]
        if policy not in _RECLAIM:
            errors.append(not_supported("spec.persistentVolumeReclaimPolicy", policy, _RECLAIM))
        sources = spec.keys() - _NOT_SOURCE
        if not sources:
            errors.append(required("spec", "must specify a volume type"))
        for name in sorted(sources)[1:]:
            detail = "may not specify more than 1 volume type"
            errors.append(forbidden_field(f"spec.{name}", detail))
        if "local" in spec and "nodeAffinity" not in spec:
            detail = "Local volume requires node affinity"
            errors.append(required("spec.nodeAffinity", detail))
        return errors

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        new, before = obj["spec"], old["spec"]
        errors: list[FieldError] = []
        if _source(new) != _source(before):
            errors.append(forbidden_field("spec.persistentvolumesource", _SOURCE_IS_FIXED))
        if new.get("volumeMode") != before.get("volumeMode"):
            errors.append(wrong("volumeMode", new.get("volumeMode"), _FIXED))
        affinity = before.get("nodeAffinity")
        if affinity is not None and new.get("nodeAffinity") != affinity:
            errors.append(wrong("nodeAffinity", new.get("nodeAffinity"), _FIXED))
        return errors


class StorageClass(Kind):
    """Classes: only labels, mount options, topologies and expansion may change."""

    returns_deleted = True

    def default(self, obj: Fresh) -> None:
        obj.setdefault("reclaimPolicy", "Delete")
        obj.setdefault("volumeBindingMode", "Immediate")

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        errors: list[FieldError] = []
        if not obj.get("provisioner"):
            errors.append(required("provisioner"))
        if obj["reclaimPolicy"] not in ("Delete", "Retain"):
            supported = ("Delete", "Retain")
            errors.append(not_supported("reclaimPolicy", obj["reclaimPolicy"], supported))
        if obj["volumeBindingMode"] not in _BINDING:
            errors.append(not_supported("volumeBindingMode", obj["volumeBindingMode"], _BINDING))
        return errors

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        names = ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
        return _unchanged(obj, old, names)


class CSIDriver(Kind):
    """Storage drivers."""

    returns_deleted = True

    def default(self, obj: Fresh) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("attachRequired", True)
        for name in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
            spec.setdefault(name, False)
        spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
        spec.setdefault("volumeLifecycleModes", ["Persistent"])

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        return _unchanged(obj["spec"], old["spec"], ("volumeLifecycleModes",), "spec.")


class CSINode(Kind):
    """What a node has of each storage driver."""

    returns_deleted = True

    def default(self, obj: Fresh) -> None:
        for driver in obj.setdefault("spec", {}).get("drivers") or ():
            driver.setdefault("topologyKeys", None)


class CSIStorageCapacity(Kind):
    """How much room a class has on some nodes: which class and nodes is fixed."""

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        return [] if obj.get("storageClassName") else [required("storageClassName")]

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        return _unchanged(obj, old, ("nodeTopology", "storageClassName"))


class VolumeAttachment(Kind):
    """Attachments: their spec is fixed, and who creates one may say how it stands."""

    returns_deleted = True

    def default(self, obj: Fresh) -> None:
        obj.setdefault("status", {}).setdefault("attached", False)

    def prepare_create(self, api: Api, obj: Fresh) -> None:
        obj["status"] = {"attached": False}

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        spec = obj.get("spec") or {}
        return [required(f"spec.{name}") for name in ("attacher", "nodeName") if not spec.get(name)]

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        return _unchanged(obj, old, ("spec",))


def _access_modes(spec: Document, missing: str = "") -> Iterator[FieldError]:
    modes: Sequence[str] = spec.get("accessModes") or ()
    if not modes:
        yield required("spec.accessModes", missing)
    for mode in modes:
        if mode not in _MODES:
            yield not_supported("spec.accessModes", mode, _MODES)
    if _ALONE in modes and any(mode in _MODES and mode != _ALONE for mode in modes):
        detail = f"may not use {_ALONE} with other access modes"
        yield forbidden_field("spec.accessModes", detail)


def _protect(obj: Fresh, finalizer: str) -> None:
    """As the admission plugin StorageObjectInUseProtection does."""
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)


def _default_class(api: Api) -> str | None:
    """The newest class that is marked as the default; the first by name among those."""
    found = [
        item.obj["metadata"]
        for item in api.store.table("storageclasses.storage.k8s.io").items.values()
        if (item.obj["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true"
    ]
    found.sort(key=lambda metadata: metadata["name"])
    found.sort(key=lambda metadata: metadata["creationTimestamp"], reverse=True)
    return found[0]["name"] if found else None


def _storage(resources: Document | None) -> int:
    return whole(((resources or {}).get("requests") or {}).get("storage", "0"))


def _source(spec: Document) -> Fresh:
    return {name: value for name, value in spec.items() if name not in _NOT_SOURCE}


def _unchanged(
    obj: Document, old: Document, names: Sequence[str], path: str = ""
) -> list[FieldError]:
    return [
        wrong(f"{path}{name}", obj.get(name), _FIXED)
        for name in names
        if obj.get(name) != old.get(name)
    ]
