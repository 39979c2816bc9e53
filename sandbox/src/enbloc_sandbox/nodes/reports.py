# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the fake kubelet reports: bodies of Nodes, Leases and pod statuses, as a kubelet writes."""

from collections.abc import Mapping
from typing import Any, Final

from enbloc.client.paths import LEASES
from enbloc_sandbox.nodes.objects import Object, timestamp
from enbloc_sandbox.nodes.room import Refusal
from enbloc_sandbox.nodes.shapes import Shape

KUBELET_VERSION: Final = "v1.36.3"


def namespace(name: str) -> dict[str, Any]:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def lease(name: str, namespace: str, uid: str, spec: dict[str, Any]) -> dict[str, Any]:
    """A node's Lease, which goes when the Node goes."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {"name": name, "namespace": namespace, "ownerReferences": [owner]},
        "spec": spec,
    }


def node_status(shape: Shape, address: str) -> dict[str, Any]:
    """A Node's status: its size, and that all is well."""
    now = timestamp()
    good = (
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    )
    return {
        "capacity": shape.resources(),
        "allocatable": shape.resources(),
        "conditions": [
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": "enbloc sandbox: no container runs here",
                "lastHeartbeatTime": now,
                "lastTransitionTime": now,
            }
            for kind, status, reason in good
        ],
        "addresses": [
            {"type": "InternalIP", "address": address},
            {"type": "Hostname", "address": shape.name},
        ],
        "nodeInfo": {
            "machineID": shape.name,
            "systemUUID": shape.name,
            "bootID": shape.name,
            "kernelVersion": "none",
            "osImage": "enbloc sandbox",
            "containerRuntimeVersion": "none://0",
            "kubeletVersion": KUBELET_VERSION,
            "kubeProxyVersion": KUBELET_VERSION,
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    }


def refused(why: Refusal) -> dict[str, Any]:
    """The status of a pod that the node does not admit."""
    return {
        "phase": "Failed",
        "reason": why.reason,
        "message": why.message,
        "startTime": timestamp(),
    }


def running(pod: Object, host: str, address: str) -> dict[str, Any]:
    """The status of a pod all of whose containers run.

    Args:
        pod: the pod.
        host: its node's address.
        address: its own.
    """
    now = timestamp()
    init = [
        _container(one, {"running": {"startedAt": now}})
        if one.get("restartPolicy") == "Always"
        else _container(one, {"terminated": _terminated(0, now, now)}, ready=True)
        for one in pod.spec.get("initContainers") or ()
    ]
    return {
        "phase": "Running",
        "startTime": now,
        "hostIP": host,
        "hostIPs": [{"ip": host}],
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": _conditions("True", now, ready=_ready(pod)),
        **({"initContainerStatuses": init} if init else {}),
        "containerStatuses": [
            _container(one, {"running": {"startedAt": now}})
            for one in pod.spec.get("containers") or ()
        ],
    }


def ended(pod: Object, code: int) -> dict[str, Any]:
    """The status of a pod whose containers ended with an exit code."""
    now = timestamp()
    started = started_at(pod) or now
    return {
        "phase": "Failed" if code else "Succeeded",
        "conditions": _conditions("False", now, "PodFailed" if code else "PodCompleted"),
        "containerStatuses": [
            _container(one, {"terminated": _terminated(code, started, now)}, ready=False)
            for one in pod.spec.get("containers") or ()
        ],
    }


def started_at(pod: Object) -> str | None:
    """When the first container started; None if none has."""
    for one in pod.status.get("containerStatuses") or ():
        state = (one.get("state") or {}).get("running")
        if state is not None:
            return str(state["startedAt"])
    return None


def readiness(pod: Object) -> dict[str, Any] | None:
    """What to report of a running pod whose readiness gates changed; None = it stands there."""
    before, wanted = _condition(pod, "Ready"), _ready(pod)
    if before is None or not pod.spec.get("readinessGates"):
        return None
    if all(before.get(key, "") == text for key, text in wanted.items()):
        return None
    moved = before["status"] != wanted["status"]
    when = timestamp() if moved else before.get("lastTransitionTime")
    said = {key: text or None for key, text in wanted.items()}
    return {"conditions": [{"type": "Ready", **said, "lastTransitionTime": when}]}


def _ready(pod: Object) -> dict[str, str]:
    """Status, reason and message of condition Ready while all containers are ready."""
    unmet: list[str] = []
    for gate in pod.spec.get("readinessGates") or ():
        kind = gate["conditionType"]
        found = _condition(pod, kind)
        if found is None:
            unmet.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif found["status"] != "True":
            unmet.append(
                f'the status of pod readiness gate "{kind}" is not "True", but {found["status"]}'
            )
    if not unmet:
        return {"status": "True", "reason": "", "message": ""}
    return {"status": "False", "reason": "ReadinessGatesNotReady", "message": ", ".join(unmet)}


def _condition(pod: Object, kind: str) -> dict[str, Any] | None:
    conditions = pod.status.get("conditions") or ()
    return next((one for one in conditions if one["type"] == kind), None)


def _conditions(
    status: str, now: str, reason: str = "", *, ready: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """The kubelet's own conditions of a pod; `ready` = what Ready has instead."""
    usual = {"status": status, "reason": reason}
    states: tuple[tuple[str, Mapping[str, str]], ...] = (
        ("PodReadyToStartContainers", usual),
        ("Initialized", {**usual, "status": "True"}),
        ("Ready", ready or usual),
        ("ContainersReady", usual),
    )
    return [
        {
            "type": kind,
            "lastProbeTime": None,
            "lastTransitionTime": now,
            **{key: text for key, text in state.items() if text},
        }
        for kind, state in states
    ]


def _container(
    container: dict[str, Any], state: dict[str, Any], *, ready: bool = True
) -> dict[str, Any]:
    image = str(container.get("image") or "")
    return {
        "name": container["name"],
        "image": image,
        "imageID": f"sandbox://{image}",
        "containerID": f"sandbox://{container['name']}",
        "ready": ready,
        "started": "running" in state,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }


def _terminated(code: int, started: str, finished: str) -> dict[str, Any]:
    return {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": started,
        "finishedAt": finished,
    }
