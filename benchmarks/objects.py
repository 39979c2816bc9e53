# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes and pods as an API server has them, with what kubelets and controllers leave on them."""

import json
from collections.abc import Mapping
from typing import Any

_AT = "2026-01-01T00:00:00Z"


def _managed(manager: str, *paths: str) -> dict[str, Any]:
    """Who owns which fields: what a scheduler has to skip."""
    fields: dict[str, Any] = {}
    for path in paths:
        inner = fields
        for key in path.split("/"):
            inner = inner.setdefault(f"f:{key}", {})
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": _AT,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def node(index: int) -> dict[str, Any]:
    """A node of a cloud: labels, conditions, and twenty images."""
    name = f"n{index}"
    zone = f"zone-{index % 3}"
    room = {
        "cpu": "63770m",
        "memory": "254Gi",
        "ephemeral-storage": "94Gi",
        "nvidia.com/gpu": "8",
        "pods": "110",
    }
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": name,
        "node.kubernetes.io/instance-type": "gpu-8",
        "topology.kubernetes.io/region": "region-1",
        "topology.kubernetes.io/zone": zone,
        "cloud.example/pool": f"pool-{index % 20}",
        "cloud.example/rack": f"rack-{index // 32}",
    }
    conditions = [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "lastHeartbeatTime": _AT,
            "lastTransitionTime": _AT,
            "reason": f"Kubelet{kind}",
            "message": f"kubelet says this of {kind}",
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    images = [
        {
            "names": [
                f"registry.example/team/image-{(index + number) % 60}@sha256:{number:064x}",
                f"registry.example/team/image-{(index + number) % 60}:v{number}",
            ],
            "sizeBytes": 50_000_000 + number,
        }
        for number in range(20)
    ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"00000000-0000-4000-8000-{index:012x}",
            "resourceVersion": str(1000 + index),
            "creationTimestamp": _AT,
            "labels": labels,
            "annotations": {"node.alpha.kubernetes.io/ttl": "0", "cloud.example/id": f"{index:x}"},
            "managedFields": [
                _managed("kubelet", *(f"metadata/labels/{key.replace('/', '~')}" for key in labels))
            ],
        },
        "spec": {"podCIDR": f"10.{index // 256 % 256}.{index % 256}.0/24"},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": conditions,
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1.36.3", "osImage": "Linux", "architecture": "amd64"},
            "images": images,
        },
    }


def pod(
    name: str, *, on: str = "", scheduler: str = "enbloc", annotations: Mapping[str, str] = {}
) -> dict[str, Any]:
    """A pod of a workload; running, if it is on a node."""
    status: dict[str, Any] = {"phase": "Pending", "qosClass": "Burstable"}
    if on:
        status = {
            "phase": "Running",
            "qosClass": "Burstable",
            "hostIP": "10.0.0.1",
            "podIP": "10.1.0.1",
            "startTime": _AT,
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": _AT}
                for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            ],
            "containerStatuses": [
                {
                    "name": "main",
                    "ready": True,
                    "restartCount": 0,
                    "image": "registry.example/team/image-1:v1",
                    "imageID": "registry.example/team/image-1@sha256:" + 64 * "0",
                    "containerID": "containerd://" + 64 * "0",
                    "state": {"running": {"startedAt": _AT}},
                }
            ],
        }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "resourceVersion": "1",
            "generation": 1,
            "creationTimestamp": _AT,
            "labels": {"app": name.rpartition("-")[0], "pod-template-hash": "abcdef"},
            "annotations": dict(annotations),
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": name.rpartition("-")[0],
                    "uid": "uid-of-owner",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": [
                _managed(
                    "kube-controller-manager",
                    "metadata/labels/app",
                    "spec/containers/name/resources/requests/cpu",
                    "spec/restartPolicy",
                    "spec/schedulerName",
                ),
                _managed("kubelet", "status/conditions", "status/phase", "status/podIP"),
            ],
        },
        "spec": {
            "schedulerName": scheduler,
            **({"nodeName": on} if on else {}),
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/team/image-1:v1",
                    "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
                    "env": [{"name": f"VARIABLE_{number}", "value": "x"} for number in range(5)],
                    "volumeMounts": [
                        {"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}
                    ],
                    "imagePullPolicy": "IfNotPresent",
                }
            ],
            "volumes": [{"name": "token", "projected": {"sources": []}}],
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{key}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for key in ("not-ready", "unreachable")
            ],
        },
        "status": status,
    }


def raw(body: Mapping[str, Any]) -> bytes:
    """As it comes over the wire."""
    return json.dumps(body, separators=(",", ":")).encode()
