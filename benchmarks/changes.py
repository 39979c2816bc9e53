# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a tenant of the flood can do: objects in one line each, and how they change."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from enbloc.client.paths import NODES, POD_GROUPS, PODS, Resource
from tests.e2e import manifests

#: Where the tenant's objects are, unless a trick says otherwise.
HOSTILE: Final = "hostile"
#: Where the gang of another tenant arrives.
VICTIM: Final = "victim"
#: Of pods that outrank the gang.
PRIORITY_CLASS: Final = "outranks"
PRIORITY: Final = 1000
#: Of pods that give way to everybody.
LOW_CLASS: Final = "gives-way"
LOW: Final = -10
#: Seconds between two rounds of changes.
PERIOD: Final = 0.5

Body = dict[str, Any]


class Create(NamedTuple):
    """An object is created, in the namespace that its metadata names."""

    resource: Resource
    body: Body


class Patch(NamedTuple):
    """An object is changed by a merge patch."""

    resource: Resource
    namespace: str
    name: str
    body: Mapping[str, Any]
    subresource: str = ""


class Delete(NamedTuple):
    """An object is deleted at once."""

    resource: Resource
    namespace: str
    name: str


Change = Create | Patch | Delete


@dataclass(frozen=True)
class Trick:
    """One way to keep the scheduler busy.

    Attributes:
        name: what it is called in the table.
        before: what is there when the gang arrives.
        round: what happens every PERIOD, by the number of the round.
        bindings: what becomes of the tenant's Bindings: "ok", "denied" or "hang"; others than "ok"
            are for the engine alone.
        engine_only: the API server would not do it.
        evicts: pods of its give way to others, and leave when they are told to.
    """

    name: str
    before: Callable[[], Iterator[Change]]
    round: Callable[[int], Iterator[Change]] = lambda _: iter(())
    bindings: str = "ok"
    engine_only: bool = False
    evicts: bool = False


def pod(name: str, group: str = "", *, namespace: str = HOSTILE, **how: Any) -> Create:
    """A pod; see `manifests.pod` for how."""
    body = manifests.pod(name, group, **how)
    body["metadata"]["namespace"] = namespace
    return Create(PODS, body)


def group(name: str, minimum: int, *, namespace: str = HOSTILE, **spec: Any) -> Create:
    """A PodGroup."""
    body = manifests.group(name, minimum, **spec)
    body["metadata"]["namespace"] = namespace
    return Create(POD_GROUPS, body)


def gang(name: str, size: int, *, namespace: str = HOSTILE, **how: Any) -> Iterator[Create]:
    """A PodGroup and its pods, all of which it needs."""
    yield group(name, size, namespace=namespace)
    for index in range(size):
        yield pod(f"{name}-{index}", name, namespace=namespace, **how)


def label(name: str, number: int, *, namespace: str = HOSTILE) -> Patch:
    """One label of a pod has another value in every round."""
    return Patch(PODS, namespace, name, {"metadata": {"labels": {"round": str(number % 2)}}})


def node(index: int) -> Create:
    """A node with room for a few gangs; some are of a pool, and four are in a rack."""
    room = {"cpu": "32", "memory": "64Gi", "pods": "250", "ephemeral-storage": "100Gi"}
    name = f"n{index}"
    labels = {"kubernetes.io/hostname": name, "rack": f"r{index // 4}"}
    if index < 12:
        labels["pool"] = "few"
    body: Body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {},
        "status": {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]},
    }
    return Create(NODES, body)


def near(app: str) -> Mapping[str, Any]:
    """An affinity to pods that do not exist."""
    selector = {"matchLabels": {"app": app}}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
