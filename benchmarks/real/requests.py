# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is asked of the API server, as lists of requests that the bare client sends."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from enbloc.client.paths import NODES, PODS, Resource


class Request(msgspec.Struct, frozen=True, array_like=True):
    """One request; `path` begins with a slash, `body` is JSON or empty."""

    method: str
    path: str
    body: str = ""
    content_type: str = "application/json"


#: Requests that are sent one after the other, each after the answer to the last.
Unit = list[Request]


#: The node label that tells racks apart.
RACK: Final = "example.com/rack"


def create(resource: Resource, body: Mapping[str, Any], namespace: str | None = None) -> Request:
    """A POST of an object."""
    return Request("POST", resource.path(namespace=namespace), json.dumps(body))


def node(name: str, room: Mapping[str, str], zone: str = "z0", rack: str = "") -> dict[str, Any]:
    """A ready Node. Its status counts, too: the API server keeps that of a new Node."""
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}
    if rack:
        labels[RACK] = rack
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "allocatable": dict(room),
            "capacity": dict(room),
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(
    name: str,
    scheduler: str,
    requests: Mapping[str, str],
    *,
    node_name: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A pod of one container."""
    limits = {key: text for key, text in requests.items() if "/" in key}
    container: dict[str, Any] = {"name": "c", "image": "i:1"}
    container["resources"] = {"requests": dict(requests), "limits": limits}
    spec: dict[str, Any] = {"schedulerName": scheduler, "containers": [container]}
    if node_name:
        spec["nodeName"] = node_name
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": spec,
    }


def binding(namespace: str, name: str, node_name: str) -> Request:
    """A POST of the Binding of a pod."""
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node_name},
    }
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/binding"
    return Request("POST", path, json.dumps(body))


def deletion(namespace: str, name: str) -> Request:
    """A DELETE of a pod, without waiting for a kubelet."""
    path = f"/api/v1/namespaces/{namespace}/pods/{name}"
    return Request("DELETE", path, '{"gracePeriodSeconds":0}')


def churn(rounds: int, prefix: str, nodes: int) -> Iterator[Unit]:
    """What a cluster does besides: pods of others come and go, Nodes change, come and go.

    Five requests a round. Nodes that come are too small for any pod.
    """
    small = {"cpu": "1m", "memory": "1Mi", "pods": "1"}
    requests = {"cpu": "10m", "memory": "10Mi"}
    for index in range(rounds):
        name, on = f"{prefix}-{index}", f"n{index % nodes}"
        annotation = json.dumps({"metadata": {"annotations": {"churn": str(index)}}})
        yield [
            create(PODS, pod(name, "nobody", requests, node_name=on), "churn"),
            create(NODES, node(name, small)),
            Request("PATCH", NODES.path(name=on), annotation, "application/merge-patch+json"),
            deletion("churn", name),
            Request("DELETE", NODES.path(name=name)),
        ]


def each(requests: Iterable[Request]) -> list[Unit]:
    """Requests that do not wait for each other."""
    return [[request] for request in requests]
