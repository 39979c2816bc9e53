# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster with gangs whose members have volumes or devices."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from enbloc.devices.facts import Consumer, ResourceClaim
from enbloc.engine.effects import CancelPlan, PreBind
from enbloc.engine.events import FactSeen, PreBound, Unreserved
from enbloc.ledgers import ledgers_of
from enbloc.model.ledger import Fact
from enbloc.model.pods import PodResourceClaim, PodVolume
from enbloc.storage.facts import PersistentVolumeClaim, StorageClass
from tests.devices.objects import claim as resource_claim
from tests.world.builders import spec
from tests.world.cluster import Cluster
from tests.world.storage import pvc

LOCAL = StorageClass("local", "kubernetes.io/no-provisioner", waits=True)
DISK = (PodVolume("data", "claim"),)
GPU = (PodResourceClaim("gpus"),)


def cluster_of(*facts: Fact, nodes: str = "n1 n2", **of: Any) -> Cluster:
    """Nodes of 8 CPUs, and these objects."""
    cluster = Cluster(log=1000, **of)
    for name in nodes.split():
        cluster.node(name, cpu=8, labels=(("kubernetes.io/hostname", name), ("zone", "z")))
    seen(cluster, facts)
    return cluster


def seen(cluster: Cluster, facts: Iterable[Fact]) -> None:
    for fact in facts:
        if isinstance(fact, PersistentVolumeClaim | ResourceClaim):
            cluster.tell(FactSeen(replace(fact, namespace="ns")))
        else:
            cluster.tell(FactSeen(fact))


def gang_with_disks(cluster: Cluster, name: str, *gib: int, **of: Any) -> None:
    """A gang of which each member has a claim of this size."""
    cluster.group(name, len(gib))
    for index, size in enumerate(gib):
        seen(cluster, [pvc(f"{name}-{index}", size, **of)])
        wanted = replace(spec(cpu=1), volumes=DISK)
        cluster.pod(f"{name}-{index}", name, spec=wanted, claims=(f"{name}-{index}",))


def gang_with_devices(cluster: Cluster, name: str, *requests: Any) -> None:
    """A gang of which each member has a claim with this request."""
    cluster.group(name, len(requests))
    for index, request in enumerate(requests):
        pod = f"{name}-{index}"
        seen(cluster, [resource_claim(f"{pod}-gpus", request)])
        wanted = replace(spec(cpu=1), resource_claims=GPU)
        cluster.pod(pod, name, spec=wanted, resource_claims=(f"{pod}-gpus",))


def preparing(cluster: Cluster) -> dict[str, PreBind]:
    """The last PreBind of each pod, by its name."""
    return {e.target.pod.name: e for e in cluster.effects if isinstance(e, PreBind)}


def take_back(cluster: Cluster) -> None:
    """Let every Unreserve that is under way end."""
    begun = [e for e in cluster.effects if isinstance(e, PreBind)]
    given_up = [e for e in cluster.effects if isinstance(e, CancelPlan)]
    for effect in begun:
        plan, uid = effect.target.plan, effect.target.uid
        if any(each.plan == plan and uid in (each.members or {uid}) for each in given_up):
            cluster.tell(Unreserved(plan, uid))
    cluster.settle(seconds=30)


def show_what_is_written(cluster: Cluster) -> None:
    """Show the claims with what PreBinds under way write into them."""
    ledger = ledgers_of(cluster.engine._core.state.nodes).devices
    for effect in preparing(cluster).values():
        decided = effect.target.decided.devices
        for each in decided.claims if decided is not None else ():
            claim = ledger.fact("ResourceClaim", each.claim)
            assert isinstance(claim, ResourceClaim)
            pod = Consumer("pods", effect.target.pod.name, effect.target.uid)
            users = tuple(dict.fromkeys((*claim.reserved_for, pod)))
            written = replace(claim, allocation=each.allocation, reserved_for=users)
            cluster.tell(FactSeen(written))
            cluster.step()


def prepare(cluster: Cluster) -> None:
    """Let every PreBind that is under way succeed; the watch has shown what it wrote."""
    show_what_is_written(cluster)
    for effect in preparing(cluster).values():
        cluster.tell(PreBound(effect.target.plan, effect.target.uid))
    cluster.settle()


def chosen(cluster: Cluster) -> dict[str, str]:
    """The volume that each member gets."""
    found = {}
    for name, effect in preparing(cluster).items():
        decided = effect.target.decided.volumes
        assert decided is not None
        [claim] = decided.claims
        found[name] = claim.volume.name if claim.volume else ""
    return found


def devices(cluster: Cluster) -> dict[str, list[str]]:
    """The devices that each member gets."""
    found = {}
    for name, effect in preparing(cluster).items():
        decided = effect.target.decided.devices
        assert decided is not None
        [claim] = decided.claims
        assert claim.allocation is not None
        found[name] = [f"{each.pool}/{each.device}" for each in claim.allocation.results]
    return found
