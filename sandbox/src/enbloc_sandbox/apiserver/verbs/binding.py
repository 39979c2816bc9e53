# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Binding a pod to a node: one write sets the node, the condition, labels and annotations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from enbloc.model.names import COPIED_TO_PODS
from enbloc_sandbox.apiserver import status
from enbloc_sandbox.apiserver.request.options import Options
from enbloc_sandbox.apiserver.request.target import Target
from enbloc_sandbox.apiserver.storage.catalog import Resource
from enbloc_sandbox.apiserver.verbs.api import Api

Document = Mapping[str, Any]


def bind(api: Api, target: Target, body: Document, options: Options) -> dict[str, Any]:
    """Bind a pod; a Status. Refused 400, 403, 404, 409 as the API server does."""
    metadata = body.get("metadata") or {}
    pods = api.catalog.builtin("pods")
    name = metadata.get("name", "")
    if target.subresource and name != target.name:
        raise status.bad_request("name in URL does not match name in Binding object")
    if metadata.get("namespace") not in {None, "", target.namespace}:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    node = _node(body)
    _check_namespace(api, target.resource, name, target.namespace)
    pod = api.stored(pods, (target.namespace, name)).obj
    _check(pods, name, pod, metadata)
    if not options.dry_run:
        api.amend(pods, (target.namespace, name), _bound(api, pod, node, metadata))
    return status.success(code=201)


def _node(body: Document) -> str:
    target = body.get("target") or {}
    error = None
    if target.get("kind") not in {None, "", "Node"}:
        error = status.not_supported("target.kind", target["kind"], ["Node", "<empty>"])
    elif not target.get("name"):
        error = status.required("target.name")
    if error is not None:
        # The API server returns the bare field error here, and so a 500 without a reason.
        raise status.Refused(500, "", f"{error.field}: {error.message}")
    return target["name"]


def _check_namespace(api: Api, resource: Resource, name: str, namespace: str) -> None:
    found = api.store.get("namespaces", ("", namespace))
    if found is None:
        raise status.not_found(api.catalog.builtin("namespaces"), namespace)
    if "deletionTimestamp" in found.obj["metadata"]:
        api.refuse_terminating(resource, name, namespace)


def _check(pods: status.Named, name: str, pod: Document, metadata: Document) -> None:
    mine = pod["metadata"]
    for field, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted = metadata.get(field)
        if wanted and wanted != mine[field]:
            key = f"pods/{mine['namespace']}/{name}"
            raise status.storage_conflict(pods, key, name, label, wanted, mine[field])
    why = ""
    if "deletionTimestamp" in mine:
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif pod["spec"].get("nodeName"):
        why = f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"'
    elif pod["spec"].get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        # The API server names the resource by its subresource here.
        details = {"name": name, "kind": "pods/binding"}
        message = f'Operation cannot be fulfilled on pods/binding "{name}": {why}'
        raise status.Refused(409, "Conflict", message, details)


def _bound(api: Api, pod: Document, node: str, metadata: Document) -> dict[str, Any]:
    merged = {**pod["metadata"]}
    found = api.store.get("nodes", ("", node))
    topology = {
        key: value
        for key, value in ((found.obj["metadata"].get("labels") or {}) if found else {}).items()
        if key in COPIED_TO_PODS
    }
    labels = {**(merged.get("labels") or {}), **topology, **(metadata.get("labels") or {})}
    annotations = {**(merged.get("annotations") or {}), **(metadata.get("annotations") or {})}
    if labels:
        merged["labels"] = labels
    if annotations:
        merged["annotations"] = annotations
    state = {k: v for k, v in (pod.get("status") or {}).items() if k != "nominatedNodeName"}
    conditions = [one for one in state.get("conditions") or () if one["type"] != "PodScheduled"]
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": api.now(),
    }
    state["conditions"] = [*conditions, scheduled]
    return {**pod, "metadata": merged, "spec": {**pod["spec"], "nodeName": node}, "status": state}
