# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Random clusters: nodes, and the pods that are on them; the same seed makes the same one."""

import copy
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.e2e.differential import pods, terms
from tests.e2e.differential.vocabulary import (
    GPU,
    HOSTNAME,
    HUGEPAGES,
    NODE_LABELS,
    POD_LABELS,
    RESTART_ALL,
    Json,
)

#: How many of the nodes have taints, of which clusters and what became of them choose one.
TROUBLE: Final = (0.05, 0.2, 0.5)


@dataclass(frozen=True)
class Cluster:
    """A world: its nodes, and the pods that are on them.

    Some of these pods end (`status.phase`) or show what a resize gave them (`status`), and those
    with a finalizer are being deleted.
    """

    nodes: tuple[Json, ...] = ()
    pods: tuple[Json, ...] = ()

    @property
    def names(self) -> list[str]:
        """Those of the nodes."""
        return [node["metadata"]["name"] for node in self.nodes]


def cluster(seed: str, owners: Mapping[str, str]) -> Cluster:
    """A random cluster of 3 to 12 nodes.

    Args:
        seed: names it.
        owners: the UID of the object that owns pods, by namespace.
    """
    rng = random.Random(f"cluster {seed}")
    trouble = rng.choice(TROUBLE)
    nodes = tuple(_node(rng, f"s{seed}-{i}", trouble) for i in range(rng.randint(3, 12)))
    names = [node["metadata"]["name"] for node in nodes]
    crowd = rng.choice([0, 1, 2, 3]) * len(nodes)
    there = [_placed(rng, f"s{seed}-there-{i}", names, owners) for i in range(crowd)]
    return Cluster(nodes, _sharing_no_port(there))


def other_nodes(seed: str, before: Cluster) -> Cluster:
    """That cluster after nodes have changed, come or gone; a node takes its pods with it."""
    rng = random.Random(f"nodes {seed}")
    trouble = rng.choice(TROUBLE)
    nodes = [_changed(rng, node, trouble) for node in before.nodes]
    if rng.random() < 0.3:
        nodes.pop(rng.randrange(len(nodes)))
    if rng.random() < 0.5:
        nodes.append(_node(rng, f"s{seed}-new", trouble))
    names = {node["metadata"]["name"] for node in nodes}
    stayed = [pod for pod in before.pods if pod["spec"]["nodeName"] in names]
    return Cluster(tuple(nodes), tuple(stayed))


def other_pods(seed: str, before: Cluster, owners: Mapping[str, str]) -> Cluster:
    """That cluster after a pod or two have come, gone or been relabelled; `owners` as above."""
    rng = random.Random(f"pods {seed}")
    pods = list(before.pods)
    for _ in range(rng.randint(0, min(2, len(pods)))):
        pods.pop(rng.randrange(len(pods)))
    if pods and rng.random() < 0.5:
        chosen = rng.randrange(len(pods))
        metadata = pods[chosen]["metadata"] | {"labels": terms.labels(rng, POD_LABELS, 0.75)}
        pods[chosen] = {**pods[chosen], "metadata": metadata}
    new = [_placed(rng, f"s{seed}-new-{i}", before.names, owners) for i in range(rng.randint(0, 2))]
    return Cluster(before.nodes, _sharing_no_port([*pods, *new]))


def _sharing_no_port(pods: Sequence[Json]) -> tuple[Json, ...]:
    """These pods, the later of which lose ports that another has on their node.

    kube-scheduler counts no uses: when one of two goes, the port is free for it. Two pods that
    were placed by a scheduler never share one.
    """
    used: set[tuple[str, ...]] = set()
    for pod in pods:
        spec = pod["spec"]
        for container in [*spec["containers"], *spec.get("initContainers", ())]:
            kept: list[Json] = []
            for port in container.get("ports", ()):
                number = str(port.get("hostPort", port["containerPort"]))
                address = port.get("hostIP", "0.0.0.0")
                key = (spec["nodeName"], number, port.get("protocol", "TCP"), address)
                if key not in used:
                    used.add(key)
                    kept.append(port)
            if "ports" in container:
                container["ports"] = kept
    return tuple(pods)


def _changed(rng: random.Random, node: Json, trouble: float) -> Json:
    """This node, or what an administrator and its kubelet have made of it."""
    changed = copy.deepcopy(node)
    if rng.random() < 0.2:
        keep = {HOSTNAME: node["metadata"]["name"]}
        changed["metadata"]["labels"] = keep | terms.labels(rng, NODE_LABELS, 0.85)
    if rng.random() < 0.2:
        changed["spec"] = _spec(rng, trouble)
    if rng.random() < 0.2:
        # What a node has ever offered it goes on to mention.
        room = dict.fromkeys(node["status"]["allocatable"], "0") | _allocatable(rng)
        changed["status"] |= {"allocatable": room, "capacity": room}
        changed["status"]["declaredFeatures"] = rng.choice([[], [RESTART_ALL]])
    return changed


def _node(rng: random.Random, name: str, trouble: float) -> Json:
    host = {HOSTNAME: name} if rng.random() < 0.97 else {}
    labels = host | terms.labels(rng, NODE_LABELS, 0.85)
    features = {"declaredFeatures": [RESTART_ALL]} if rng.random() < 0.5 else {}
    allocatable = _allocatable(rng)
    return {
        "metadata": {"name": name, "labels": labels if rng.random() < 0.97 else {}},
        "spec": _spec(rng, trouble),
        "status": {
            "allocatable": allocatable,
            "capacity": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
            **features,
        },
    }


def _spec(rng: random.Random, trouble: float) -> Json:
    cordoned = {"unschedulable": True} if rng.random() < trouble / 3 else {}
    return {"taints": terms.taints(rng, trouble), **cordoned}


def _allocatable(rng: random.Random) -> Json:
    room = {
        "cpu": rng.choice(["2", "4", "8", "8", "7500m"]),
        "memory": rng.choice(["3Gi", "8Gi", "16Gi", "9000M"]),
        "ephemeral-storage": rng.choice(["1Gi", "10Gi"]),
        "pods": str(rng.choice([1, 3, 6, 110, 110, 110, 110])),
    }
    if rng.random() < 0.4:
        room[GPU] = str(rng.randint(0, 4))
    if rng.random() < 0.3:
        room[HUGEPAGES] = rng.choice(["4Mi", "16Mi"])
    if rng.random() < 0.03:
        room[rng.choice(["cpu", "memory"])] = "0"
    return room


def _placed(rng: random.Random, name: str, nodes: Sequence[str], owners: Mapping[str, str]) -> Json:
    made = pods.plain(rng, name, owners)
    spec = made["spec"]
    affinity: Json = {}
    if rng.random() < 0.2:
        affinity["podAffinity"] = terms.pod_affinity(rng, required=0.5)
    if rng.random() < 0.3:
        affinity["podAntiAffinity"] = terms.pod_affinity(rng, required=0.5)
    if affinity:
        spec["affinity"] = affinity
    for share, feature in (
        (0.15, pods.init),
        (0.04, pods.pod_level),
        (0.40, pods.ports),
        (0.05, pods.overhead),
        (0.10, pods.spread),
    ):
        if rng.random() < share:
            feature(rng, spec, nodes)
    spec["nodeName"] = rng.choice(nodes)
    if rng.random() < 0.1:
        made["metadata"]["finalizers"] = ["example.com/terminating"]
    elif rng.random() < 0.1:
        made["status"] = {"phase": rng.choice(["Succeeded", "Failed"])}
    elif rng.random() < 0.1:
        made["status"] = _resized(rng, spec)
    return made


def _resized(rng: random.Random, spec: Json) -> Json:
    """What a kubelet says of a pod whose requests were changed while it ran."""
    status: Json = {
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": True,
                "restartCount": 0,
                "allocatedResources": _given(rng),
                "resources": {"requests": _given(rng)},
            }
            for container in spec["containers"]
        ]
    }
    if rng.random() < 0.5:
        reason = rng.choice(["Infeasible", "Deferred"])
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    return status


def _given(rng: random.Random) -> Json:
    return {"cpu": rng.choice(pods.CPU), "memory": rng.choice(pods.MEMORY)}
