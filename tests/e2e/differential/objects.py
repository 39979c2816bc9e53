# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Random clusters and random pods; the same seed makes the same ones."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tests.e2e.differential import terms
from tests.e2e.differential.vocabulary import (
    GPU,
    HEAVY,
    HOSTNAME,
    HUGEPAGES,
    NAMESPACE_LABELS,
    NODE_LABELS,
    OWNERS,
    POD_LABELS,
    RESTART_ALL,
    Json,
)

CPU: Final = ("100m", "250m", "500m", "0.9", "1", "1500m", "2")
MEMORY: Final = ("64Mi", "200Mi", "256M", "512Mi", "1Gi", "1500Mi")
PORTS: Final = (80, 443, 8080)


@dataclass(frozen=True)
class Cluster:
    """A world: its nodes, and the pods that are on them."""

    nodes: tuple[Json, ...]
    pods: tuple[Json, ...]

    @property
    def names(self) -> list[str]:
        """Those of the nodes."""
        return [node["metadata"]["name"] for node in self.nodes]


def cluster(seed: int, owners: Mapping[str, str]) -> Cluster:
    """A random cluster of 3 to 12 nodes.

    Args:
        seed: names it.
        owners: the UID of the object that owns pods, by namespace.
    """
    rng = random.Random(f"cluster {seed}")
    trouble = rng.choice([0.05, 0.2, 0.5])
    nodes = tuple(_node(rng, f"s{seed}-{i}", trouble) for i in range(rng.randint(3, 12)))
    names = [node["metadata"]["name"] for node in nodes]
    crowd = rng.choice([0, 1, 2, 4]) * len(nodes)
    pods = tuple(_placed(rng, f"there-{i}", names, owners) for i in range(crowd))
    return Cluster(nodes, pods)


def pod(seed: int, index: int, world: Cluster, owners: Mapping[str, str]) -> Json:
    """The pod that is to be placed in a case; it has no schedulerName yet.

    Args:
        seed: the cluster's.
        index: which of the cluster's cases this is.
        world: the cluster.
        owners: as for `cluster`.
    """
    rng = random.Random(f"pod {seed} {index}")
    made = _pod(rng, f"case-{seed}-{index}", owners)
    spec = made["spec"]
    for share, add in _FEATURES:
        if rng.random() < share:
            add(rng, spec, world.names)
    return made


# ── nodes ────────────────────────────────────────────────────────────────────────────────────


def _node(rng: random.Random, name: str, trouble: float) -> Json:
    host = {HOSTNAME: name} if rng.random() < 0.97 else {}
    allocatable = {
        "cpu": rng.choice(["2", "4", "8", "8", "7500m"]),
        "memory": rng.choice(["3Gi", "8Gi", "16Gi", "9000M"]),
        "ephemeral-storage": rng.choice(["1Gi", "10Gi"]),
        "pods": str(rng.choice([1, 3, 6, 110, 110, 110, 110])),
    }
    if rng.random() < 0.4:
        allocatable[GPU] = str(rng.randint(0, 4))
    if rng.random() < 0.3:
        allocatable[HUGEPAGES] = rng.choice(["4Mi", "16Mi"])
    features = {"declaredFeatures": [RESTART_ALL]} if rng.random() < 0.5 else {}
    return {
        "metadata": {"name": name, "labels": host | terms.labels(rng, NODE_LABELS, 0.85)},
        "spec": {
            "taints": terms.taints(rng, trouble),
            **({"unschedulable": True} if rng.random() < trouble / 3 else {}),
        },
        "status": {
            "allocatable": allocatable,
            "capacity": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
            **features,
        },
    }


# ── pods ─────────────────────────────────────────────────────────────────────────────────────


def _placed(rng: random.Random, name: str, nodes: Sequence[str], owners: Mapping[str, str]) -> Json:
    made = _pod(rng, name, owners)
    spec = made["spec"]
    spec["nodeName"] = rng.choice(nodes)
    affinity: Json = {}
    if rng.random() < 0.15:
        affinity["podAffinity"] = terms.pod_affinity(rng, required=0.5)
    if rng.random() < 0.15:
        affinity["podAntiAffinity"] = terms.pod_affinity(rng, required=0.5)
    if affinity:
        spec["affinity"] = affinity
    if rng.random() < 0.25:
        _ports(rng, spec, nodes)
    if rng.random() < 0.1:
        spec["topologySpreadConstraints"] = terms.spread(rng)
    if rng.random() < 0.15:
        _init(rng, spec, nodes)
    if rng.random() < 0.1:
        # It holds the pod when it is deleted, as the world's maker does then.
        made["metadata"]["finalizers"] = ["example.com/terminating"]
    return made


def _pod(rng: random.Random, name: str, owners: Mapping[str, str]) -> Json:
    namespace = rng.choice(list(NAMESPACE_LABELS))
    metadata: Json = {
        "name": name,
        "namespace": namespace,
        "labels": terms.labels(rng, POD_LABELS, 0.6),
    }
    if rng.random() < 0.25:
        owner = OWNERS[namespace]
        reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": "owner"}
        metadata["ownerReferences"] = [{**reference, "uid": owners[namespace], "controller": True}]
    containers = [_container(rng, f"main-{i}") for i in range(rng.choice([1, 1, 2]))]
    return {"metadata": metadata, "spec": {"containers": containers}}


def _container(rng: random.Random, name: str) -> Json:
    requests: Json = {}
    if rng.random() < 0.6:
        requests["cpu"] = rng.choice([*CPU, "0"])
    if rng.random() < 0.6:
        requests["memory"] = rng.choice([*MEMORY, "0"])
    if rng.random() < 0.05:
        requests["ephemeral-storage"] = rng.choice(["500Mi", "2Gi"])
    limits: Json = {}
    if rng.random() < 0.06:
        limits[GPU] = str(rng.randint(1, 3))
    if rng.random() < 0.04 and {"cpu", "memory"} & set(requests):
        limits[HUGEPAGES] = rng.choice(["2Mi", "6Mi"])
    if rng.random() < 0.05 and "cpu" not in requests:
        limits["cpu"] = "500m"  # becomes the request
    return {
        "name": name,
        "image": "example.com/none",
        "resources": {"requests": requests, "limits": limits},
    }


def _init(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    made = [_container(rng, f"init-{i}") for i in range(rng.randint(1, 3))]
    for one in made:
        if rng.random() < 0.4:
            one["restartPolicy"] = "Always"
    spec["initContainers"] = made


def _ports(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    wanted: dict[int, Json] = {}
    for _ in range(rng.randint(1, 2)):
        port = rng.choice(PORTS)
        how: Json = {"containerPort": port, "hostPort": port}
        if rng.random() < 0.3:
            how["protocol"] = "UDP"
        if rng.random() < 0.4:
            how["hostIP"] = rng.choice(["10.0.0.1", "10.0.0.2", "0.0.0.0"])
        wanted[port] = how
    init = spec.get("initContainers", ())
    rng.choice([*spec["containers"], *init])["ports"] = list(wanted.values())


def _node_selector(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    key = rng.choice(list(NODE_LABELS))
    spec["nodeSelector"] = {key: rng.choice(NODE_LABELS[key])}


def _node_affinity(rng: random.Random, spec: Json, nodes: Sequence[str]) -> None:
    spec.setdefault("affinity", {})["nodeAffinity"] = terms.node_affinity(rng, nodes)


def _pod_affinity(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    affinity = spec.setdefault("affinity", {})
    affinity["podAffinity"] = terms.pod_affinity(rng, required=0.5)


def _pod_anti_affinity(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    affinity = spec.setdefault("affinity", {})
    affinity["podAntiAffinity"] = terms.pod_affinity(rng, required=0.6)


def _tolerations(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    spec["tolerations"] = [terms.toleration(rng) for _ in range(rng.randint(1, 3))]


def _spread(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    spec["topologySpreadConstraints"] = terms.spread(rng)


def _overhead(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    del rng
    spec["runtimeClassName"] = HEAVY


def _pod_level(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    """Requests of the whole pod, which must not be below those of its containers."""
    requests = {"cpu": rng.choice(["7", "9"]), "memory": rng.choice(["3Gi", "7Gi"])}
    name = rng.choice(["cpu", "memory", "both"])
    kept = {each: text for each, text in requests.items() if name in (each, "both")}
    spec["containers"] = [_container(rng, "main-0")]
    spec["containers"][0]["resources"].pop("limits")
    spec.pop("initContainers", None)
    spec["resources"] = {"requests": kept}


def _restart_all(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    del rng
    exits = {"operator": "In", "values": [42]}
    spec["restartPolicy"] = "Never"
    spec["containers"][0] |= {
        "restartPolicy": "Never",
        "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": exits}],
    }


_FEATURES: Final[tuple[tuple[float, Callable[[random.Random, Json, Sequence[str]], None]], ...]] = (
    (0.04, _pod_level),
    (0.15, _init),
    (0.15, _ports),
    (0.10, _node_selector),
    (0.30, _node_affinity),
    (0.25, _pod_affinity),
    (0.25, _pod_anti_affinity),
    (0.50, _tolerations),
    (0.40, _spread),
    (0.08, _overhead),
    (0.10, _restart_all),
)
