# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
# Hooks share their arguments and say in hooks.py what they are for.
# ruff: noqa: ARG002, D102
"""Hooks of workloads: Deployments and the like, Jobs, disruption budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from enbloc_sandbox.apiserver.kinds.hooks import Api, Kind
from enbloc_sandbox.apiserver.kinds.pod_spec import check_pod_spec, default_pod_spec
from enbloc_sandbox.apiserver.status import FieldError, required, wrong
from enbloc_sandbox.apiserver.storage.select import label_selector

Document = Mapping[str, Any]
Fresh = dict[str, Any]

_SURGE: Final = {"maxUnavailable": "25%", "maxSurge": "25%"}


def _default_template(obj: Fresh) -> Fresh:
    spec = obj.setdefault("spec", {})
    template = spec.setdefault("template", {})
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))
    return spec


def _default_rolling(spec: Fresh, values: Document) -> None:
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy["rollingUpdate"] = {**values, **(strategy.get("rollingUpdate") or {})}


class Workload(Kind):
    """Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers: stored only."""

    generation = True

    def default(self, obj: Fresh) -> None:
        spec = _default_template(obj)
        kind = obj["kind"]
        if kind != "DaemonSet":
            spec.setdefault("replicas", 1)
        if kind == "Deployment":
            spec.setdefault("revisionHistoryLimit", 10)
            spec.setdefault("progressDeadlineSeconds", 600)
            strategy = spec.setdefault("strategy", {})
            if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
                strategy["rollingUpdate"] = {**_SURGE, **(strategy.get("rollingUpdate") or {})}
        if kind == "StatefulSet":
            spec.setdefault("podManagementPolicy", "OrderedReady")
            spec.setdefault("revisionHistoryLimit", 10)
            _default_rolling(spec, {"partition": 0})
            retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
            retention.setdefault("whenDeleted", "Retain")
            retention.setdefault("whenScaled", "Retain")
        if kind == "DaemonSet":
            spec.setdefault("revisionHistoryLimit", 10)
            _default_rolling(spec, {"maxUnavailable": 1, "maxSurge": 0})

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        spec = obj["spec"]
        errors = check_pod_spec("spec.template.spec", spec["template"]["spec"])
        if spec.get("replicas", 0) < 0:
            errors.append(
                wrong("spec.replicas", spec["replicas"], "must be greater than or equal to 0")
            )
        selector = spec.get("selector")
        if obj["apiVersion"] != "apps/v1":
            return errors
        labels = spec["template"]["metadata"].get("labels") or {}
        if not selector:
            errors.append(required("spec.selector"))
        elif not label_selector(selector)(spec["template"]):
            errors.append(
                wrong(
                    "spec.template.metadata.labels",
                    labels,
                    "`selector` does not match template `labels`",
                )
            )
        return errors

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        selector = obj["spec"].get("selector")
        if obj["apiVersion"] == "apps/v1" and selector != old["spec"].get("selector"):
            return [wrong("spec.selector", selector, "field is immutable")]
        return []


class Job(Kind):
    """Jobs: completions, and the labels that tie pods to their Job."""

    generation = True
    propagation = "Orphan"
    delete_warning = (
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
        "this warning"
    )

    def default(self, obj: Fresh) -> None:
        spec = _default_template(obj)
        if "completions" not in spec and "parallelism" not in spec:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        spec.setdefault("backoffLimit", 2**31 - 1 if "backoffLimitPerIndex" in spec else 6)
        spec.setdefault("completionMode", "NonIndexed")
        spec.setdefault("suspend", False)
        spec.setdefault("manualSelector", False)
        spec.setdefault(
            "podReplacementPolicy",
            "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed",
        )

    def prepare_create(self, api: Api, obj: Fresh) -> None:
        spec, metadata = obj["spec"], obj["metadata"]
        if spec["manualSelector"]:
            return
        uid, name = metadata["uid"], metadata.get("name", "")
        labels = spec["template"]["metadata"].setdefault("labels", {})
        labels |= {
            "batch.kubernetes.io/controller-uid": uid,
            "batch.kubernetes.io/job-name": name,
            "controller-uid": uid,
            "job-name": name,
        }
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        if not metadata.get("labels"):
            metadata["labels"] = dict(labels)

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        spec = obj["spec"]
        errors = check_pod_spec("spec.template.spec", spec["template"]["spec"])
        for name in ("parallelism", "completions", "backoffLimit"):
            if spec.get(name, 0) < 0:
                errors.append(
                    wrong(f"spec.{name}", spec[name], "must be greater than or equal to 0")
                )
        if spec["completionMode"] == "Indexed" and "completions" not in spec:
            errors.append(required("spec.completions", "when completion mode is Indexed"))
        policy = spec["template"]["spec"]["restartPolicy"]
        if policy == "Always":
            field = "spec.template.spec.restartPolicy"
            errors.append(required(field, 'valid values: "OnFailure", "Never"'))
        return errors

    def validate_update(self, api: Api, obj: Document, old: Document) -> list[FieldError]:
        new, before = obj["spec"], old["spec"]
        errors: list[FieldError] = []
        fixed = ["selector", "completionMode", "podFailurePolicy", "successPolicy"]
        if before.get("completionMode") != "Indexed":
            fixed.append("completions")
        if not before.get("suspend"):
            fixed.append("template")
        for name in fixed:
            if new.get(name) != before.get(name):
                errors.append(wrong(f"spec.{name}", new.get(name), "field is immutable"))
        completions = new.get("completions")
        if (
            "completions" not in fixed
            and completions != before.get("completions")
            and completions is not None
            and completions != new.get("parallelism")
        ):
            text = "can only be modified in tandem with spec.parallelism"
            errors.append(wrong("spec.completions", completions, text))
        return errors


class Budget(Kind):
    """Disruption budgets; their status is kept by whoever plays the controller."""

    generation = True
    unconditional = False

    def prepare_create(self, api: Api, obj: Fresh) -> None:
        obj["status"] = {
            "disruptionsAllowed": 0,
            "currentHealthy": 0,
            "desiredHealthy": 0,
            "expectedPods": 0,
        }

    def validate(self, api: Api, obj: Document) -> list[FieldError]:
        spec = obj.get("spec") or {}
        if "minAvailable" in spec and "maxUnavailable" in spec:
            detail = "minAvailable and maxUnavailable cannot be both set"
            return [wrong("spec", spec, detail)]
        return []
