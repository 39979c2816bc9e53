# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Volumes of pods that leave are detached, so that others may be attached in their place."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from enbloc.engine.events import FactSeen
from enbloc.model.pods import Owner, PodVolume
from enbloc.simulation import PresentState, SimulatedCluster, Start
from enbloc.simulation.outlook import Outlook
from enbloc.storage.facts import PersistentVolumeClaim, VolumeAttachment
from tests.simulation.present import present
from tests.world.builders import spec
from tests.world.cluster import Cluster
from tests.world.storage import FAST, bound, csi_node, csi_volume, held_by

DRIVER = "csi.example.com"
OWNER = Owner("Job", "job", "job-1")


class Attaching:
    """Nodes of one attached volume each, and pods with a volume each."""

    def __init__(self, *nodes: str) -> None:
        self.cluster = Cluster()
        self.facts: list[Any] = [FAST]
        for name in nodes:
            self.cluster.node(name, labels=(("kubernetes.io/hostname", name),))
            self.facts.append(csi_node(name, csi_example_com=1))

    def volume(self, name: str, node: str = "") -> None:
        """A volume of that name and its claim; it is attached to the node."""
        claim = replace(bound(name, name, storage_class="fast"), namespace="ns")
        self.facts += [held_by(csi_volume(name), claim), claim]
        if node:
            self.facts.append(VolumeAttachment(f"{name}-{node}", DRIVER, node, name))

    def pod(self, name: str, volume: str, **of: Any) -> None:
        """A pod with that volume."""
        wanted = replace(spec(cpu=1), volumes=(PodVolume("data", "claim"),))
        self.cluster.pod(name, spec=wanted, claims=(volume,), owner=OWNER, **of)

    @property
    def present(self) -> PresentState:
        return present(self.cluster, None, *map(FactSeen, self.facts))


def attached(cluster: SimulatedCluster) -> Sequence[str]:
    return [key for kind, key in cluster.facts if kind == VolumeAttachment.kind]


def full(priority: int = 0) -> Attaching:
    """A node with a pod, and another pod that waits for it to detach its volume."""
    world = Attaching("n1")
    world.volume("low", "n1")
    world.pod("low", "low", node="n1", started=1000.0, limit=600.0)
    world.volume("high")
    world.pod("high", "high", priority=priority)
    return world


def test_who_is_evicted_leaves_its_attachment() -> None:
    [row] = Outlook(full(priority=10).present).rows
    assert row.starts
    assert [pod.name for pod in row.victims] == ["low"]


def test_who_ends_leaves_its_attachment() -> None:
    found = Outlook(full().present)
    [row] = found.rows
    assert found.starts() == {row.key: Start(1600.0, latest=True)}
    sentence = found.explain(row).sentence
    assert sentence.startswith("pod ns/high waits for capacity that others hold: ")
    assert sentence.endswith("It would start with the end of pod ns/low.")


def test_a_volume_stays_attached_for_another_pod_of_the_node() -> None:
    world = full(priority=10)
    world.pod("also", "low", node="n1", priority=10, started=1000.0)
    [row] = Outlook(world.present).rows
    assert not row.starts


def test_a_volume_is_detached_from_the_node_of_the_pod_alone() -> None:
    world = full()
    world.cluster.node("n2")
    world.facts.append(VolumeAttachment("low-n2", DRIVER, "n2", "low"))
    simulated = SimulatedCluster(world.present)
    simulated.tell(simulated.deleted([simulated.pods[world.cluster.pods["low"].uid]]))
    assert attached(simulated) == ["low-n2"]


def test_claims_without_a_volume_hold_no_attachment() -> None:
    world = Attaching("n1")
    world.facts += [
        PersistentVolumeClaim("ns", "low", "pvc-low", storage_class="fast"),
        VolumeAttachment("none", DRIVER, "n1"),
    ]
    world.pod("low", "low", node="n1")
    simulated = SimulatedCluster(world.present)
    simulated.tell(simulated.deleted(list(simulated.pods.values())))
    assert attached(simulated) == ["none"]


def test_a_drain_finds_the_place_of_who_gives_way() -> None:
    world = Attaching("n1", "n2")
    world.volume("high", "n1")
    world.pod("high", "high", node="n1", priority=10)
    world.volume("low", "n2")
    world.pod("low", "low", node="n2")
    first, second = world.present.engine().without(["n1"], 1000.0)
    assert first.whole
    assert [pod.name for pod in first.victims] == ["low"]
    assert not second.whole
