# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
# Hooks share their arguments and say in hooks.py what they are for.
# ruff: noqa: ARG002, D102
"""Hooks of the small cluster kinds: namespaces, nodes, priority classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from enbloc.model.names import TAINT_NOT_READY
from enbloc_sandbox.apiserver.kinds.hooks import Api, Kind
from enbloc_sandbox.apiserver.request.options import Options
from enbloc_sandbox.apiserver.status import FieldError, forbidden, forbidden_field, wrong

Document = Mapping[str, Any]
Fresh = dict[str, Any]

#: What the API server writes about a node that no kubelet has described.
_UNKNOWN_NODE: Final[Document] = {
    "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
    "nodeInfo": dict.fromkeys(
        (
            "architecture", "bootID", "containerRuntimeVersion", "kernelVersion",
            "kubeProxyVersion", "kubeletVersion", "machineID", "operatingSystem", "osImage",
            "systemUUID",
        ),
        "",
    ),
}  # fmt: skip
#: The priority classes of every cluster, with their values.
SYSTEM_PRIORITIES: Final = {
    "system-cluster-critical": 2000000000,
    "system-node-critical": 2000001000,
}
_PROTECTED: Final = frozenset({"default", "kube-system", "kube-public"})


class Namespace(Kind):
    """Namespaces: active, then terminating until they are empty."""

    returns_deleted = True

    def default(self, obj: Fresh) -> None:
        name = obj["metadata"].get("name")
        if name:
            obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name

    def prepare_create(self, api: Api, obj: Fresh) -> None:
        obj["spec"] = {**(obj.get("spec") or {}), "finalizers": ["kubernetes"]}
        obj["status"] = {"phase": "Active"}

    def prepare_update(self, api: Api, obj: Fresh, old: Document) -> None:
        obj["spec"] = old.get("spec", {})

    def prepare_status(self, api: Api, obj: Fresh, old: Document) -> None:
        deleting = "deletionTimestamp" in obj["metadata"]
        obj["status"] = {
            **(obj.get("status") or {}),
            "phase": "Terminating" if deleting else "Active",
        }

    def grace(self, obj: Document, asked: int | None) -> int:
        return 0

    def written(self, api: Api, obj: Document) -> None:
        """Every namespace has a service account, as its controller makes it."""
        name = obj["metadata"]["name"]
        known = api.store.get("serviceaccounts", (name, "default")) is not None
        if not known and "deletionTimestamp" not in obj["metadata"]:
            accounts = api.catalog.builtin("serviceaccounts")
            api.create(
                accounts, name, {"metadata": {"name": "default"}}, Options(manager="sandbox")
            )

    def held(self, obj: Document) -> bool:
        # Until the namespace is empty; see garbage_collector.
        return bool((obj.get("spec") or {}).get("finalizers"))

    def check_delete(self, api: Api, obj: Document) -> None:
        name = obj["metadata"]["name"]
        if name in _PROTECTED:
            why = "this namespace may not be deleted"
            raise forbidden(api.catalog.builtin("namespaces"), name, why)


class Node(Kind):
    """Nodes: tainted until the lifecycle controller has seen them ready."""

    keeps_status = True

    def empty(self, obj: Document) -> Document:
        return {"status": _UNKNOWN_NODE}

    def default(self, obj: Fresh) -> None:
        obj.setdefault("spec", {})
        spec = obj["spec"]
        if spec.get("podCIDR"):
            spec.setdefault("podCIDRs", [spec["podCIDR"]])
        state = obj["status"] = {**_UNKNOWN_NODE, **(obj.get("status") or {})}
        if "capacity" in state and "allocatable" not in state:
            state["allocatable"] = state["capacity"]
        for condition in state.get("conditions") or ():
            condition.setdefault("lastHeartbeatTime", None)
            condition.setdefault("lastTransitionTime", None)

    def admit(self, api: Api, obj: Fresh) -> None:
        taints = obj["spec"].setdefault("taints", [])
        if not any(t["key"] == TAINT_NOT_READY and t["effect"] == "NoSchedule" for t in taints):
            taints.append({"key": TAINT_NOT_READY, "effect": "NoSchedule"})

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        errors: list[FieldError] = []
        seen: set[tuple[str, str]] = set()
        for i, taint in enumerate((obj.get("spec") or {}).get("taints") or ()):
            found = (taint.get("key", ""), taint.get("effect", ""))
            if found in seen:
                names = ("key", "value", "effect", "timeAdded")
                value = {f"{one[0].upper()}{one[1:]}": taint.get(one) for one in names}
                detail = "taints must be unique by key and effect pair"
                errors.append(FieldError(f"metadata.taints[{i}]", "Duplicate value", detail, value))
            seen.add(found)
        return errors


class PriorityClass(Kind):
    """Priority classes: the value is for ever."""

    def default(self, obj: Fresh) -> None:
        obj.setdefault("value", 0)
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def prepare_create(self, api: Api, obj: Fresh) -> None:
        obj["metadata"]["generation"] = 1

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        name = obj["metadata"].get("name", "")
        if name.startswith("system-") and name not in SYSTEM_PRIORITIES:
            detail = (
                "priority class names with 'system-' prefix are reserved for system use only. "
                f"error: {name} is not a known system priority class"
            )
            return [forbidden_field("metadata.name", detail)]
        if obj["value"] > 10**9 and name not in SYSTEM_PRIORITIES:
            detail = "maximum allowed value of a user defined priority is 1000000000"
            return [forbidden_field("value", detail)]
        return []

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        return [
            forbidden_field(name, "may not be changed in an update.")
            if name == "value"
            else wrong(name, obj[name], "field is immutable")
            for name in ("value", "preemptionPolicy")
            if obj[name] != old.get(name)
        ]

    def admit(self, api: Api, obj: Fresh) -> None:
        if not obj.get("globalDefault"):
            return
        for item in api.store.table("priorityclasses.scheduling.k8s.io").items.values():
            if item.obj.get("globalDefault"):
                why = (
                    f"PriorityClass {item.key[1]} is already marked as default. Only one default "
                    "can exist"
                )
                resource = api.catalog.builtin("priorityclasses", "scheduling.k8s.io")
                raise forbidden(resource, obj["metadata"].get("name", ""), why)
