# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Clones of existing nodes and pods, with their drivers, devices and claims."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from enbloc.devices.facts import ResourceClaim, ResourceSlice
from enbloc.engine.events import Event, FactSeen, NodeSeen, PodSeen
from enbloc.model.ledger import Fact
from enbloc.model.node import Node
from enbloc.model.pods import Phase, Pod, PodKey, PodUID
from enbloc.storage.facts import CSINode, PersistentVolumeClaim

#: Volumes and devices: (kind, key) → fact.
Facts = Mapping[tuple[str, str], Fact]
#: Taints for a passing state of a node, such as a cordon, pressure, or its removal.
_PASSING: Final = re.compile(
    r"node\.kubernetes\.io/.*|node\.cloudprovider\.kubernetes\.io/.*"
    r"|ToBeDeletedByClusterAutoscaler|DeletionCandidateOfClusterAutoscaler"
)


def node_like(node: Node, number: int, facts: Facts | None = None) -> Sequence[Event]:
    """What the scheduler would see of a new node like this one, under a new name.

    Its labels, drivers and devices are alike. It is Ready and takes pods, even if `node` does not.

    Args:
        node: the node to clone.
        number: distinguishes the clones of one node.
        facts: volumes and devices; None = none.
    """
    name = f"{node.name}-more-{number}"
    labels = ((key, name if value == node.name else value) for key, value in node.labels)
    another = replace(
        node,
        name=name,
        uid=name,
        labels=tuple(labels),
        taints=tuple(taint for taint in node.taints if not _PASSING.fullmatch(taint.key)),
        unschedulable=False,
        ready=True,
    )
    return [NodeSeen(another), *(FactSeen(each) for each in _beside(node.name, name, facts or {}))]


def equipment(facts: Facts) -> Mapping[str, Sequence[tuple[str, int]]]:
    """Node → its CSI drivers, and how many devices each driver offers on it alone.

    Two nodes with the same can still have devices of different kinds.
    """
    found: dict[str, Counter[str]] = {}
    for fact in facts.values():
        if isinstance(fact, CSINode):
            found.setdefault(fact.name, Counter()).update(fact.drivers)
        elif isinstance(fact, ResourceSlice) and fact.site is not None and fact.site.node:
            found.setdefault(fact.site.node, Counter())[fact.driver] += len(fact.devices)
    return {node: tuple(sorted(each.items())) for node, each in found.items()}


def _beside(node: str, name: str, facts: Facts) -> Iterator[Fact]:
    """Copies of a node's CSINode and of its own ResourceSlices, for the new name."""
    drivers = facts.get((CSINode.kind, node))
    if isinstance(drivers, CSINode):
        yield replace(drivers, name=name)
    for fact in facts.values():
        if isinstance(fact, ResourceSlice) and fact.site is not None and fact.site.node == node:
            yield replace(
                fact,
                name=f"{fact.name}-{name}",
                pool=f"{fact.pool}-{name}",
                site=fact.site._replace(node=name),
            )


def pod_like(pod: Pod, number: int, now: float, facts: Facts) -> Sequence[Event]:
    """What the scheduler would see of another pod of the same controller, and of its claims.

    Args:
        pod: the pod to clone.
        number: distinguishes the clones of one pod.
        now: server time.
        facts: volumes and devices.
    """
    end = f"-more-{number}"
    another = anew(pod, f"{pod.uid}{end}", now)
    volumes, devices = _own_volumes(pod, facts), _own_devices(pod, facts)
    another = replace(
        another,
        key=PodKey(pod.key.namespace, f"{pod.key.name}{end}"),
        claims=tuple(f"{name}{end}" if name in volumes else name for name in pod.claims),
        resource_claims=tuple(
            f"{name}{end}" if name in devices else name for name in pod.resource_claims
        ),
    )
    claims: Sequence[Claim] = (*volumes.values(), *devices.values())
    made = (replace(_made(each, another), name=f"{each.name}{end}") for each in claims)
    return [*map(FactSeen, made), PodSeen(another)]


def pod_again(pod: Pod, now: float, facts: Facts) -> Sequence[Event]:
    """What the scheduler would see of a pod that its controller recreates, and of its claims.

    Args:
        pod: the pod that is gone.
        now: server time.
        facts: volumes and devices.
    """
    again = anew(pod, f"{pod.uid}-again", now)
    devices = _own_devices(pod, facts)
    volumes = {name: each for name, each in _own_volumes(pod, facts).items() if each.owner}
    claims: Sequence[Claim] = (*volumes.values(), *devices.values())
    made = (_made(each, again) for each in claims)
    return [*map(FactSeen, made), PodSeen(again)]


Claim = PersistentVolumeClaim | ResourceClaim


def _made(claim: Claim, pod: Pod) -> Claim:
    """The claim, as it is made for another pod."""
    uid, owner = f"{claim.uid}-{pod.uid}", pod.uid if claim.owner else ""
    if isinstance(claim, ResourceClaim):
        return replace(claim, uid=uid, owner=owner, allocation=None, reserved_for=(), states=())
    return replace(claim, uid=uid, owner=owner, volume="", bind_completed=False, selected_node=None)


def _own_volumes(pod: Pod, facts: Facts) -> dict[str, PersistentVolumeClaim]:
    """The PersistentVolumeClaims of this pod alone: made for it, or by its StatefulSet."""
    own: dict[str, PersistentVolumeClaim] = {}
    for name in pod.claims:
        fact = facts.get((PersistentVolumeClaim.kind, f"{pod.key.namespace}/{name}"))
        if isinstance(fact, PersistentVolumeClaim) and (
            fact.owner == pod.uid or name.endswith(f"-{pod.key.name}")
        ):
            own[name] = fact
    return own


def _own_devices(pod: Pod, facts: Facts) -> dict[str, ResourceClaim]:
    """The ResourceClaims made for this pod."""
    own: dict[str, ResourceClaim] = {}
    for name in filter(None, pod.resource_claims):
        fact = facts.get((ResourceClaim.kind, f"{pod.key.namespace}/{name}"))
        if isinstance(fact, ResourceClaim) and fact.owner == pod.uid:
            own[name] = fact
    return own


def anew(pod: Pod, uid: str, now: float) -> Pod:
    """A pod as its controller would recreate it: without a node, and with a new UID."""
    return replace(
        pod,
        uid=PodUID(uid),
        node="",
        phase=Phase.PENDING,
        created=now,
        scheduled_at=None,
        binding_record="",
        unschedulable=False,
        nominated="",
        rejected="",
        rank=None,
        gang_running=None,
        extended_claim="",
        unready=False,
        ready_at=None,
        started=None,
        preempted=False,
    )
