# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The objects that the tests create."""

from collections.abc import Mapping
from typing import Any

from enbloc.client.paths import (
    JOBS,
    POD_DISRUPTION_BUDGETS,
    POD_GROUPS,
    STATEFUL_SETS,
    TOPOLOGIES,
)
from enbloc.model import names


def namespace(name: str, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A Namespace."""
    metadata = {"name": name, "labels": dict(labels or {})}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def group(name: str, minimum: int, **spec: Any) -> dict[str, Any]:
    """A PodGroup; more of its spec as the API spells it."""
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {"name": name},
        "spec": {"minMember": minimum, **spec},
    }


def topology(name: str, levels: Mapping[str, str]) -> dict[str, Any]:
    """A Topology; its levels are node labels by name, the outermost first."""
    given = [{"name": level, "nodeLabel": label} for level, label in levels.items()]
    return {
        "apiVersion": TOPOLOGIES.api_version,
        "kind": TOPOLOGIES.kind,
        "metadata": {"name": name},
        "spec": {"levels": given},
    }


def pod(
    name: str,
    group: str = "",
    *,
    cpu: int = 1,
    run_seconds: float | None = None,
    scheduler: str = names.SCHEDULER_NAME,
    node: str = "",
    node_selector: Mapping[str, str] | None = None,
    owner: Mapping[str, Any] | None = None,
    priority_class: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A pod; more of its spec as the API spells it.

    Args:
        name: its name; "" in a template.
        group: the PodGroup that it names; "" for none.
        cpu: what it requests.
        run_seconds: after which it succeeds; None: it runs on.
        scheduler: who is to place it.
        node: where it is already.
        node_selector: labels that its node must have.
        owner: the object that is its controller.
        priority_class: a PriorityClass.
        labels: of the pod.
        annotations: of the pod, beside those of ours.
    """
    noted = {
        **(annotations or {}),
        **({names.POD_GROUP_KEY: group} if group else {}),
        **({} if run_seconds is None else {names.RUN_SECONDS_KEY: str(run_seconds)}),
    }
    requests = {"cpu": str(cpu), "memory": "16Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **({"name": name} if name else {}),
            "annotations": noted,
            **({"labels": dict(labels)} if labels else {}),
            **({"ownerReferences": [reference(owner)]} if owner else {}),
        },
        "spec": {
            "schedulerName": scheduler,
            "restartPolicy": "Never",
            "containers": [
                {"name": "worker", "image": "busybox:1.37", "resources": {"requests": requests}}
            ],
            **({"nodeName": node} if node else {}),
            **({"nodeSelector": dict(node_selector)} if node_selector else {}),
            **({"priorityClassName": priority_class} if priority_class else {}),
            **spec,
        },
    }


def reference(owner: Mapping[str, Any]) -> dict[str, Any]:
    """A reference to the controller of an object."""
    kept = {key: owner[key] for key in ("apiVersion", "kind")}
    meta = {key: owner["metadata"][key] for key in ("name", "uid")}
    return {**kept, **meta, "controller": True}


def job(name: str, size: int, group: str, *, backoff_limit: int = 6, **how: Any) -> dict[str, Any]:
    """An indexed Job all of whose pods run at once; see `pod` for how."""
    template = pod("", group, **how)
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": name},
        "spec": {
            "completionMode": "Indexed",
            "backoffLimit": backoff_limit,
            "completions": size,
            "parallelism": size,
            "template": {"metadata": template["metadata"], "spec": template["spec"]},
        },
    }


def parallel_set(name: str, replicas: int, labels: Mapping[str, str]) -> dict[str, Any]:
    """A StatefulSet whose pods have these labels, and are created side by side."""
    return {
        "apiVersion": STATEFUL_SETS.api_version,
        "kind": STATEFUL_SETS.kind,
        "metadata": {"name": name},
        "spec": {
            "serviceName": name,
            "replicas": replicas,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {**pod("")["spec"], "restartPolicy": "Always"},
            },
        },
    }


def budget(name: str, labels: Mapping[str, str], **spec: Any) -> dict[str, Any]:
    """A PodDisruptionBudget of the pods with these labels; more of its spec as the API has it."""
    return {
        "apiVersion": POD_DISRUPTION_BUDGETS.api_version,
        "kind": POD_DISRUPTION_BUDGETS.kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": dict(labels)}, **spec},
    }
