# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A victim that is made again at once does not take what it left (semantics §10.3)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine.events import FactSeen
from enbloc.model.pins import HOSTNAME
from enbloc.model.pods import HostPort, PodVolume
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector
from tests.engine.claims_world import Claiming
from tests.rules.world import JOB
from tests.world.builders import spec
from tests.world.cluster import Cluster
from tests.world.storage import FAST, bound, csi_node, csi_volume, held_by

#: Virtual seconds, of which a victim takes almost half a minute to end.
LONG = 10_000.0


def app(name: str) -> Selector:
    return Selector((Requirement("app", Operator.IN, (name,)),))


def apart_from(name: str) -> PodAffinity:
    return PodAffinity(required=(PodAffinityTerm(HOSTNAME, app(name)),))


PORT = (HostPort("0.0.0.0", "TCP", 80),)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        pytest.param({"cpu": 6}, {"cpu": 6}, id="that had the capacity"),
        pytest.param({"host_ports": PORT}, {"host_ports": PORT}, id="that had the port"),
        pytest.param({}, {"pod_anti_affinity": apart_from("low")}, id="that is repelled"),
        pytest.param({"pod_anti_affinity": apart_from("high")}, {}, id="that repels"),
    ],
)
def test_who_is_made_again_is_evicted_once(low: dict[str, Any], high: dict[str, Any]) -> None:
    """Semantics §10.3."""
    cluster = Cluster()
    cluster.node("n1", cpu=8, labels=((HOSTNAME, "n1"),))
    low_pod(cluster, "low", low, node="n1")
    wanted = spec(**{"cpu": 1, **high})
    cluster.gang("high", 1, priority=10, labels=(("app", "high"),), spec=wanted)

    live_on(cluster, lambda name: low_pod(cluster, name, low))

    assert len(cluster.where("high")) == 1
    assert len(cluster.evicted) == 1


def low_pod(cluster: Cluster, name: str, low: dict[str, Any], **of: Any) -> None:
    wanted = spec(**{"cpu": 1, **low})
    cluster.pod(name, labels=(("app", "low"),), spec=wanted, owner=JOB, **of)


def test_who_had_the_device_is_evicted_once() -> None:
    """Semantics §10.3."""
    world = Claiming()
    world.machines("n1", cpu=8, gpus=1)

    def low(name: str, priority: int = 0) -> None:
        world.claiming(name, "", cpu=1)
        world.change(name, group=None, priority=priority)

    low("low")
    world.settle()
    low("high", priority=10)

    live_on(world, low)

    assert set(world.where()) == {"high"}
    assert len(world.evicted) == 1


def test_who_had_the_attachment_is_evicted_once() -> None:
    """Semantics §10.3."""
    cluster = Cluster()
    cluster.node("n1", cpu=8, labels=((HOSTNAME, "n1"),))
    cluster.tell(FactSeen(FAST))
    cluster.tell(FactSeen(csi_node("n1", csi_example_com=1)))

    def low(name: str, **of: Any) -> None:
        claim = bound(f"{name}-data", f"{name}-volume")
        claim = replace(claim, namespace="ns", storage_class="fast")
        cluster.tell(FactSeen(held_by(csi_volume(f"{name}-volume"), claim)))
        cluster.tell(FactSeen(claim))
        wanted = replace(spec(cpu=1), volumes=(PodVolume("data", "claim"),))
        cluster.pod(name, spec=wanted, claims=(f"{name}-data",), owner=JOB, **of)

    low("low", node="n1")
    low("high", priority=10)

    live_on(cluster, low)

    assert set(cluster.where()) == {"high"}
    assert len(cluster.evicted) == 1


def live_on(cluster: Cluster, again: Callable[[str], None]) -> None:
    """A long time, in which a controller makes each victim again as soon as it is told to leave."""
    cluster.evict_answer = lambda _: "slow"
    end, number = cluster.now + LONG, 0
    while cluster.now < end:
        told = len(cluster.evicted)
        cluster.settle(seconds=5)
        victims = [effect.pod.name for effect in cluster.evicted[told:]]
        for _ in victims:
            number += 1
            again(f"again-{number}")
        cluster.settle(seconds=25 if victims else 500)
        for name in victims:
            cluster.delete(name)
