# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
# Hooks share their arguments and say in hooks.py what they are for.
# ruff: noqa: ARG002, D102
"""Hooks of pods: defaults, admission, gates, immutability, graceful deletion."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

from enbloc.model.names import TAINT_NOT_READY, TAINT_UNREACHABLE
from enbloc_sandbox.apiserver.kinds.hooks import Api, Kind
from enbloc_sandbox.apiserver.kinds.pod_spec import check_pod_spec, default_pod_spec, qos
from enbloc_sandbox.apiserver.status import (
    FieldError,
    forbidden,
    forbidden_field,
)

Document = Mapping[str, Any]
Fresh = dict[str, Any]

_IMMUTABLE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions"
    " to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it"
    " was previously negative)"
)
_FINISHED: Final = frozenset({"Succeeded", "Failed"})


class Pod(Kind):
    """Pods."""

    generation = True
    returns_deleted = True
    graceful = True

    def default(self, obj: Fresh) -> None:
        spec = obj.setdefault("spec", {})
        default_pod_spec(spec)
        spec.setdefault("enableServiceLinks", True)
        state = obj.get("status") or {}
        if state.get("podIP"):
            state.setdefault("podIPs", [{"ip": state["podIP"]}])
        for condition in state.get("conditions") or ():
            condition.setdefault("lastProbeTime", None)
            condition.setdefault("lastTransitionTime", None)

    def admit(self, api: Api, obj: Fresh) -> None:
        spec = obj["spec"]
        _admit_priority(api, obj)
        tolerations = spec.setdefault("tolerations", [])
        for key in (TAINT_NOT_READY, TAINT_UNREACHABLE):
            if not any(_tolerates(one, key) for one in tolerations):
                tolerations.append(
                    {
                        "key": key,
                        "operator": "Exists",
                        "effect": "NoExecute",
                        "tolerationSeconds": 300,
                    }
                )

    def prepare_create(self, api: Api, obj: Fresh) -> None:
        if obj["spec"]["terminationGracePeriodSeconds"] < 0:
            obj["spec"]["terminationGracePeriodSeconds"] = 1
        state: Fresh = {"phase": "Pending", "qosClass": qos(obj["spec"])}
        if obj["spec"].get("schedulingGates"):
            state["conditions"] = [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "lastProbeTime": None,
                    "lastTransitionTime": api.now(),
                    "reason": "SchedulingGated",
                    "message": "Scheduling is blocked due to non-empty scheduling gates",
                }
            ]
        obj["status"] = state

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        return check_pod_spec("spec", obj["spec"])

    def prepare_update(self, api: Api, obj: Fresh, old: Document) -> None:
        # What admission gave stays when a client sends the pod without it.
        for name in (
            "tolerations",
            "priority",
            "preemptionPolicy",
            "serviceAccount",
            "serviceAccountName",
        ):
            if name in old["spec"]:
                obj["spec"].setdefault(name, old["spec"][name])

    def prepare_status(self, api: Api, obj: Fresh, old: Document) -> None:
        references = old["metadata"].get("ownerReferences")
        if references is not None:
            obj["metadata"]["ownerReferences"] = references
        if "status" in obj:
            obj["status"] = {
                **obj["status"],
                "qosClass": old["status"].get("qosClass", "BestEffort"),
            }

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        new, spec = obj["spec"], old["spec"]
        if new == spec:
            return []
        errors: list[FieldError] = []
        had = {one["name"] for one in spec.get("schedulingGates") or ()}
        for i, gate in enumerate(new.get("schedulingGates") or ()):
            if gate["name"] not in had:
                detail = f"only deletion is allowed, but found new scheduling gate '{gate['name']}'"
                errors.append(forbidden_field(f"spec.schedulingGates[{i}].name", detail))
        if _comparable(new, spec, gated=bool(had)) != _comparable(spec, spec, gated=bool(had)):
            errors.append(forbidden_field("spec", _IMMUTABLE))
        return errors

    def grace(self, obj: Document, asked: int | None) -> int:
        if not obj["spec"].get("nodeName"):
            return 0
        if (obj.get("status") or {}).get("phase") in _FINISHED:
            return 0
        seconds = obj["spec"]["terminationGracePeriodSeconds"] if asked is None else asked
        return 1 if seconds < 0 else seconds


def _tolerates(toleration: Document, key: str) -> bool:
    return toleration.get("key", "") in {"", key} and toleration.get("effect", "") in {
        "",
        "NoExecute",
    }


def _admit_priority(api: Api, obj: Fresh) -> None:
    """Resolve the priority class, as the Priority admission plugin does."""
    spec, pods = obj["spec"], api.catalog.builtin("pods")
    name = obj["metadata"].get("name", "")
    classes = api.store.table("priorityclasses.scheduling.k8s.io").items
    wanted = spec.get("priorityClassName")
    found: Document = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}
    if wanted:
        item = classes.get(("", wanted))
        if item is None:
            raise forbidden(pods, name, f"no PriorityClass with name {wanted} was found")
        found = item.obj
    else:
        default = next((one.obj for one in classes.values() if one.obj.get("globalDefault")), None)
        if default is not None:
            found = default
            spec["priorityClassName"] = default["metadata"]["name"]
    if "priority" in spec and spec["priority"] != found["value"]:
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {found['value']} from the given "
            "PriorityClass name"
        )
        raise forbidden(pods, name, why)
    spec["priority"] = found["value"]
    spec.setdefault("preemptionPolicy", found.get("preemptionPolicy", "PreemptLowerPriority"))


def _comparable(new: Document, old: Document, *, gated: bool) -> Fresh:
    """A spec with what may change taken from the old one."""
    spec: Fresh = copy.deepcopy(dict(new))
    spec.pop("schedulingGates", None)
    for field in ("containers", "initContainers"):
        before = old.get(field) or []
        for one, known in zip(spec.get(field) or [], before, strict=False):
            one["image"] = known.get("image")
    deadline = spec.get("activeDeadlineSeconds")
    had = old.get("activeDeadlineSeconds")
    if deadline is not None and (had is None or deadline <= had):
        spec.pop("activeDeadlineSeconds")
        if had is not None:
            spec["activeDeadlineSeconds"] = had
    tolerations = spec.get("tolerations") or []
    if all(one in tolerations for one in old.get("tolerations") or ()):
        spec["tolerations"] = old.get("tolerations") or []
    if "tolerations" not in old and not spec.get("tolerations"):
        spec.pop("tolerations", None)
    if gated:
        _compare_placement(spec, old)
    return spec


def _compare_placement(spec: Fresh, old: Document) -> None:
    """While it is gated, a pod's node selection may become narrower."""
    selector, before = spec.get("nodeSelector") or {}, old.get("nodeSelector") or {}
    if all(selector.get(key) == value for key, value in before.items()):
        spec.pop("nodeSelector", None)
        if before:
            spec["nodeSelector"] = before
    if not (old.get("affinity") or {}).get("nodeAffinity"):
        kept = {k: v for k, v in (spec.pop("affinity", None) or {}).items() if k != "nodeAffinity"}
        if kept:
            spec["affinity"] = kept
