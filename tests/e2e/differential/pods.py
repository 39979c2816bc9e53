# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Random pods, plain ones and what makes them less plain."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tests.e2e.differential import terms
from tests.e2e.differential.vocabulary import (
    GPU,
    HEAVY,
    HUGEPAGES,
    NAMESPACES_OF_PODS,
    NODE_LABELS,
    OWNERS,
    POD_LABELS,
    Json,
)

CPU: Final = ("100m", "250m", "500m", "0.9", "1", "1500m", "2")
MEMORY: Final = ("64Mi", "200Mi", "256M", "512Mi", "1Gi", "1500Mi")
PORTS: Final = (80, 443, 8080)


def pod(seed: str, nodes: Sequence[str], owners: Mapping[str, str]) -> Json:
    """A pod that is to be placed; it has no schedulerName yet.

    Args:
        seed: names it.
        nodes: the names of the cluster's nodes.
        owners: the UID of the object that owns pods, by namespace.
    """
    rng = random.Random(f"pod {seed}")
    made = plain(rng, f"case-{seed}", owners)
    for share, add in _FEATURES:
        if rng.random() < share:
            add(rng, made["spec"], nodes)
    return made


def plain(rng: random.Random, name: str, owners: Mapping[str, str]) -> Json:
    """A pod with labels, perhaps an owner, and containers that request something or nothing."""
    namespace = rng.choice(NAMESPACES_OF_PODS)
    metadata: Json = {
        "name": name,
        "namespace": namespace,
        "labels": terms.labels(rng, POD_LABELS, 0.75),
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
    if rng.random() < 0.08:
        requests["ephemeral-storage"] = rng.choice(["500Mi", "2Gi"])
    limits: Json = {}
    if rng.random() < 0.06:
        limits[GPU] = str(rng.randint(1, 3))
    if rng.random() < 0.04 and {"cpu", "memory"} & set(requests):
        limits[HUGEPAGES] = rng.choice(["2Mi", "6Mi"])
    for resource, limit in (("cpu", "500m"), ("memory", "256Mi")):
        if resource not in requests and rng.random() < 0.05:
            limits[resource] = limit  # becomes the request
    return {
        "name": name,
        "image": "example.com/none",
        "resources": {"requests": requests, "limits": limits},
    }


def init(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    """Init containers, some of which stay as sidecars."""
    made = [_container(rng, f"init-{i}") for i in range(rng.randint(1, 3))]
    for one in made:
        if rng.random() < 0.4:
            one["restartPolicy"] = "Always"
    spec["initContainers"] = made


def ports(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    """Ports of the node, for one of the containers or for the whole pod."""
    wanted: dict[int, Json] = {}
    for _ in range(rng.randint(1, 2)):
        port = rng.choice(PORTS)
        how: Json = {"containerPort": port, "hostPort": port}
        if rng.random() < 0.3:
            how["protocol"] = "UDP"
        if rng.random() < 0.4:
            how["hostIP"] = rng.choice(["10.0.0.1", "10.0.0.2", "0.0.0.0"])
        wanted[port] = how
    if rng.random() < 0.15:
        spec["hostNetwork"] = True
        wanted = {port: {"containerPort": port} for port in wanted}  # the host's then as well
    containers = [*spec["containers"], *spec.get("initContainers", ())]
    rng.choice(containers)["ports"] = list(wanted.values())


def _node_selector(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    key = rng.choice(list(NODE_LABELS))
    spec["nodeSelector"] = {key: rng.choice(NODE_LABELS[key])}


def _node_affinity(rng: random.Random, spec: Json, nodes: Sequence[str]) -> None:
    spec.setdefault("affinity", {})["nodeAffinity"] = terms.node_affinity(rng, nodes)


def _pod_affinity(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    affinity = spec.setdefault("affinity", {})
    affinity["podAffinity"] = terms.pod_affinity(rng, required=0.5, waiting=True)


def _pod_anti_affinity(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    affinity = spec.setdefault("affinity", {})
    affinity["podAntiAffinity"] = terms.pod_affinity(rng, required=0.6, waiting=True)


def _tolerations(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    spec["tolerations"] = [terms.toleration(rng) for _ in range(rng.randint(1, 3))]


def spread(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    """Spread constraints."""
    spec["topologySpreadConstraints"] = terms.spread(rng)


def overhead(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    """What the pod needs beside its containers."""
    del rng
    spec["runtimeClassName"] = HEAVY


def pod_level(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    """Requests of the whole pod, which must not be below those of its containers."""
    requests = {"cpu": rng.choice(["4", "5", "7"]), "memory": rng.choice(["3Gi", "7Gi"])}
    names = rng.choice([["cpu"], ["memory"], ["cpu", "memory"]])
    spec.pop("initContainers", None)
    for container in spec["containers"]:
        container["resources"].pop("limits")
    spec["resources"] = {"requests": {name: requests[name] for name in names}}


def _restart_all(rng: random.Random, spec: Json, _nodes: Sequence[str]) -> None:
    del rng
    exits = {"operator": "In", "values": [42]}
    spec["restartPolicy"] = "Never"
    spec["containers"][0] |= {
        "restartPolicy": "Never",
        "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": exits}],
    }


_FEATURES: Final[tuple[tuple[float, Callable[[random.Random, Json, Sequence[str]], None]], ...]] = (
    (0.15, init),
    (0.08, pod_level),
    (0.30, ports),
    (0.12, _node_selector),
    (0.40, _node_affinity),
    (0.25, _pod_affinity),
    (0.25, _pod_anti_affinity),
    (0.50, _tolerations),
    (0.40, spread),
    (0.08, overhead),
    (0.10, _restart_all),
)
