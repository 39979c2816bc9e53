# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes and pods like others come with what belongs to them, and to nobody else."""

from dataclasses import replace

from enbloc.devices.facts import (
    Allocation,
    Consumer,
    Device,
    DeviceReach,
    ResourceClaim,
    ResourceSlice,
)
from enbloc.engine.events import Event, FactSeen, NodeSeen, PodSeen
from enbloc.model.ledger import Fact
from enbloc.model.node import Node
from enbloc.model.pods import Phase, Pod
from enbloc.model.taints import Effect, Taint
from enbloc.simulation.clones import node_like, pod_again, pod_like
from enbloc.storage.facts import CSINode, PersistentVolumeClaim
from tests.world.builders import node, pod

HOST = "kubernetes.io/hostname"


def facts(*given: Fact) -> dict[tuple[str, str], Fact]:
    return {(fact.kind, fact.key): fact for fact in given}


def seen(events: list[Event]) -> tuple[list[Node], list[Pod], list[Fact]]:
    """The nodes, the pods and the facts of events."""
    return (
        [each.node for each in events if isinstance(each, NodeSeen)],
        [each.pod for each in events if isinstance(each, PodSeen)],
        [each.fact for each in events if isinstance(each, FactSeen)],
    )


def test_a_node_has_a_name_of_its_own_and_labels_alike() -> None:
    like = node("n1", labels=((HOST, "n1"), ("rack", "r1")), cpu=8)
    [another], _, _ = seen([*node_like(like, 3)])
    assert (another.name, another.labels) == ("n1-more-3", ((HOST, "n1-more-3"), ("rack", "r1")))
    assert another.allocatable == like.allocatable


def test_a_node_takes_pods_although_the_one_that_it_is_like_does_not_just_now() -> None:
    dedicated = Taint("team", "ml", Effect.NO_SCHEDULE)
    passing = (
        Taint("node.kubernetes.io/unschedulable", "", Effect.NO_SCHEDULE),
        Taint("node.kubernetes.io/disk-pressure", "", Effect.NO_SCHEDULE),
        Taint("ToBeDeletedByClusterAutoscaler", "1", Effect.NO_SCHEDULE),
    )
    like = node("n1", ready=False, unschedulable=True, taints=(dedicated, *passing))
    [another], _, _ = seen([*node_like(like, 0)])
    assert (another.ready, another.unschedulable, another.taints) == (True, False, (dedicated,))


def test_drivers_and_devices_of_a_node_come_with_it() -> None:
    drivers = CSINode("n1", limits=(("csi", 4),), drivers=("csi",))
    gpus = ResourceSlice(
        "s", "gpu.example.com", "n1", site=DeviceReach("n1"), devices=(Device("gpu-0"),)
    )
    elsewhere = replace(gpus, name="t", pool="n2", site=DeviceReach("n2"))
    shared = replace(gpus, name="u", pool="net", site=DeviceReach(everywhere=True))
    _, _, found = seen([*node_like(node("n1"), 0, facts(drivers, gpus, elsewhere, shared))])
    own = replace(gpus, name="s-n1-more-0", pool="n1-n1-more-0", site=DeviceReach("n1-more-0"))
    expected: list[Fact] = [replace(drivers, name="n1-more-0"), own]
    assert found == expected


#: With a claim of its own for data, one that it shares, and one of devices made for it.
WORKER = pod(
    name="web-1",
    node="n1",
    phase=Phase.RUNNING,
    claims=("data-web-1", "shared"),
    resource_claims=("web-1-gpu-x", None),
    rank=1,
)
DATA = PersistentVolumeClaim("default", "data-web-1", "d", volume="pv", bind_completed=True)
SHARED = PersistentVolumeClaim("default", "shared", "s", volume="pv-2", bind_completed=True)
GPU = ResourceClaim(
    "default",
    "web-1-gpu-x",
    "g",
    owner="web-1",
    allocation=Allocation(),
    reserved_for=(Consumer("pods", "web-1", "web-1"),),
)
FACTS = facts(DATA, SHARED, GPU)


def test_a_pod_like_another_is_nowhere_and_has_claims_of_its_own() -> None:
    _, [another], found = seen([*pod_like(WORKER, 0, 7.0, FACTS)])
    assert (another.key.name, another.node, another.phase) == ("web-1-more-0", "", Phase.PENDING)
    assert (another.created, another.rank) == (7.0, None)
    assert another.claims == ("data-web-1-more-0", "shared")
    assert another.resource_claims == ("web-1-gpu-x-more-0", None)
    data, gpu = found
    assert isinstance(data, PersistentVolumeClaim)
    assert (data.name, data.volume, data.bound) == ("data-web-1-more-0", "", False)
    assert isinstance(gpu, ResourceClaim)
    assert (gpu.name, gpu.owner) == ("web-1-gpu-x-more-0", another.uid)
    assert (gpu.allocation, gpu.reserved_for) == (None, ())


def test_a_pod_that_is_made_again_keeps_the_data_of_its_name() -> None:
    _, [again], found = seen([*pod_again(WORKER, 7.0, FACTS)])
    assert (again.key, again.node) == (WORKER.key, "")
    assert again.uid != WORKER.uid
    assert (again.claims, again.resource_claims) == (WORKER.claims, WORKER.resource_claims)
    [gpu] = found
    assert isinstance(gpu, ResourceClaim)
    assert (gpu.name, gpu.owner, gpu.allocation) == (GPU.name, again.uid, None)
