# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Everything that a victim holds comes back, once the API shows that (semantics §10.2)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine.events import FactGone, FactSeen, PreBindFailed
from enbloc.model.pins import HOSTNAME
from enbloc.model.pods import HostPort, PodVolume
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector, SpreadConstraint
from enbloc.storage.facts import VolumeAttachment
from tests.engine.claims_world import Claiming
from tests.rules.world import JOB
from tests.world.builders import spec
from tests.world.cluster import Cluster
from tests.world.storage import FAST, RWOP, bound, csi_node, csi_volume, held_by

LOW = Selector((Requirement("app", Operator.IN, ("low",)),))
APART = PodAffinity(required=(PodAffinityTerm(HOSTNAME, LOW),))

#: What both pods of a node have that only one of them can have there: of the low one, of the high.
EXCLUSIVE = [
    pytest.param({"cpu": 8}, {"cpu": 8}, id="capacity"),
    pytest.param(
        {"cpu": 1, "host_ports": (HostPort("0.0.0.0", "TCP", 80),)},
        {"cpu": 1, "host_ports": (HostPort("0.0.0.0", "TCP", 80),)},
        id="a host port",
    ),
    pytest.param({"cpu": 1}, {"cpu": 1, "pod_anti_affinity": APART}, id="its own anti-affinity"),
    pytest.param(
        {
            "cpu": 1,
            "pod_anti_affinity": PodAffinity(
                required=(
                    PodAffinityTerm(
                        HOSTNAME, Selector((Requirement("app", Operator.IN, ("high",)),))
                    ),
                )
            ),
        },
        {"cpu": 1},
        id="the victim's anti-affinity",
    ),
]


def apart(low: dict[str, Any]) -> Cluster:
    """Two nodes with a pod each that keeps the high ones out."""
    cluster = Cluster()
    for name in ("n1", "n2"):
        cluster.node(name, cpu=8, labels=((HOSTNAME, name),))
        pod = f"low-{name}"
        cluster.pod(pod, node=name, labels=(("app", "low"),), spec=spec(**low), started=10.0)
    return cluster


@pytest.mark.parametrize(("low", "high"), EXCLUSIVE)
def test_what_a_pod_keeps_from_a_gang_comes_back_with_it(
    low: dict[str, Any], high: dict[str, Any]
) -> None:
    """Semantics §10.2."""
    cluster = apart(low)
    cluster.gang("high", 2, priority=10, labels=(("app", "high"),), spec=spec(**high))
    cluster.settle(seconds=20)

    assert cluster.evicted
    assert len(cluster.where("high")) == 2


@pytest.mark.parametrize(("low", "high"), EXCLUSIVE)
def test_what_a_pod_keeps_from_a_pod_comes_back_with_it(
    low: dict[str, Any], high: dict[str, Any]
) -> None:
    """Semantics §10.2."""
    cluster = apart(low)
    cluster.pod("high", priority=10, labels=(("app", "high"),), spec=spec(**high))
    cluster.settle(seconds=20)

    assert len(cluster.evicted) == 1
    assert len(cluster.where("high")) == 1


def test_a_domain_that_victims_crowd_is_spread_over_again() -> None:
    """Semantics §10.2: told victims count for no spread constraint when others are planned."""
    cluster = Cluster()
    cluster.node("n1", cpu=2, labels=((HOSTNAME, "n1"), ("zone", "a")))
    cluster.node("n2", cpu=1, labels=((HOSTNAME, "n2"), ("zone", "b")))
    labels = (("app", "low"),)
    cluster.pod("low-1", node="n1", labels=labels, started=10.0)
    cluster.pod("other", node="n2", priority=50)
    spread = (SpreadConstraint("zone", selector=LOW),)
    cluster.pod("high", priority=10, labels=labels, spec=spec(cpu=1, spread=spread))
    cluster.settle(seconds=20)

    assert [each.pod.name for each in cluster.evicted] == ["low-1"]
    assert cluster.where("high") == {"high": "n1"}


# ── devices and volumes ──────────────────────────────────────────────────────────────────────────


def with_device(world: Claiming, name: str, **of: Any) -> None:
    """A pod without a group that has a device of its own."""
    world.claiming(name, "", cpu=1)
    world.change(name, group=None, **of)
    world.settle()


def test_a_device_comes_back_when_its_claim_is_deallocated() -> None:
    """Semantics §10.2: a pod that is gone may hold its device for a while."""
    world = Claiming()
    world.machines("n1", cpu=8, gpus=1)
    with_device(world, "low")
    world.run_pods(["low"])
    world.collecting = False
    with_device(world, "high", priority=10)
    assert [each.pod.name for each in world.evicted] == ["low"]
    world.settle(seconds=20)
    assert not world.where("high"), "the claim of a pod that is gone has the device yet"

    world.collect()
    world.settle(seconds=20)

    assert world.where("high") == {"high": "n1"}
    assert len(world.evicted) == 1


def test_a_gang_gets_the_devices_of_a_gang() -> None:
    """Semantics §10.2."""
    world = Claiming()
    world.machines("n1 n2", cpu=8, gpus=2)
    world.running_gang("low", 4, cpu=1)
    world.group("high", 2)
    for name in ("high-0", "high-1"):
        world.claiming(name, "high", cpu=1)
        world.change(name, priority=10)
    world.settle(seconds=20)

    assert len(world.evicted) == 4
    assert len(world.where("high")) == 2


#: Who goes on with a preemption: the same process, one that starts, or one that stood by.
PROCESSES = pytest.mark.parametrize(
    "process", [lambda world: world, Claiming.restarted, Claiming.taken_over]
)
Process = Callable[[Claiming], Claiming]


def told(world: Claiming) -> list[str]:
    """Who is told to leave from here on terminates; those who were already."""
    names = [each.pod.name for each in world.evicted]
    world.evicted.clear()
    world.evict_answer = lambda _: "slow"
    return names


@PROCESSES
def test_a_device_that_comes_back_is_nobody_elses(process: Process) -> None:
    """Semantics §10.3: whoever leads by then."""
    world = Claiming()
    world.machines("n1 n2", cpu=8, gpus=1)
    for name in ("low-0", "low-1"):
        with_device(world, name)
    world.run_pods(["low-0", "low-1"])
    world.settle()
    world.evict_answer = lambda _: "slow"
    world.group("high", 2)
    for name in ("high-0", "high-1"):
        world.claiming(name, "high", cpu=1)
        world.change(name, priority=10)
    world.settle()
    assert sorted(told(world)) == ["low-0", "low-1"]
    for name, victim in (("high-0", "low-0"), ("high-1", "low-1")):
        world.change(name, nominated=world.pods[victim].node)
        world.change(victim, preempted=True)
    world.settle()
    world = process(world)
    told(world)
    for number in (0, 1):
        world.delete(f"low-{number}")
        with_device(world, f"again-{number}")
        world.settle(seconds=10)

    assert set(world.where()) == {"high-0", "high-1"}
    assert not world.evicted


@PROCESSES
@pytest.mark.parametrize("gone", [False, True])
def test_nobody_else_is_evicted_while_a_claim_is_to_be_deallocated(
    process: Process, gone: bool
) -> None:
    """Semantics §10.2, §10.3: whoever leads by then, and whether it saw the victim or not."""
    world = Claiming()
    world.machines("n1 n2", cpu=1, gpus=1)
    for name in ("low-0", "low-1"):
        with_device(world, name)
    world.run_pods(["low-0", "low-1"])
    world.settle()
    world.evict_answer = lambda _: "slow"
    with_device(world, "high", priority=10)
    [victim] = told(world)
    world.change("high", nominated=world.pods[victim].node)
    world.change(victim, preempted=True)
    world.settle()
    world.collecting = False
    if gone:
        world.delete(victim)
        world.settle(seconds=1)
    world = process(world)
    world.collecting = False
    told(world)
    world.settle()
    if not gone:
        world.delete(victim)
    world.settle(seconds=3)
    world.collect()
    world.settle(seconds=20)

    assert world.where("high")
    assert not world.evicted


@PROCESSES
def test_a_device_that_is_not_deallocated_is_not_waited_for_for_ever(process: Process) -> None:
    """Semantics §10.3."""
    world = Claiming()
    world.machines("n1 n2", cpu=1, gpus=1)
    for name in ("low-0", "low-1"):
        with_device(world, name)
    world.run_pods(["low-0", "low-1"])
    world.settle()
    world.evict_answer = lambda _: "slow"
    with_device(world, "high", priority=10)
    [victim] = told(world)
    world.change("high", nominated=world.pods[victim].node)
    world.settle()
    world.collecting = False
    world.delete(victim)
    world.settle(seconds=1)
    world = process(world)
    told(world)
    world.settle(seconds=28)
    assert not world.evicted

    world.settle(seconds=4)

    [other] = world.evicted
    assert other.pod.name != victim


def test_a_device_stays_reserved_if_the_preemptors_plan_comes_to_nothing() -> None:
    """Semantics §10.3."""
    world = Claiming()
    world.machines("n1", cpu=8, gpus=1)
    with_device(world, "low")
    world.run_pods(["low"])
    world.settle()
    world.slow = True
    with_device(world, "high", priority=10)
    assert told(world) == ["low"]
    begun = world.preparing["high"].target
    world.tell(PreBindFailed(begun.plan, begun.uid, "the API server is away"))
    world.settle()
    world.slow = False
    world.end()
    with_device(world, "again")
    world.settle(seconds=60)

    assert set(world.where()) == {"high"}
    assert not world.evicted


def test_a_shared_claim_frees_nothing_while_somebody_else_uses_it() -> None:
    """Semantics §10.2: nobody is evicted for a device that stays in use."""
    world = Claiming()
    world.machines("n1", cpu=8, gpus=1)
    world.device_claim("shared")
    for name, priority in (("low", 0), ("stays", 50)):
        world.naming(name, "", gpu="shared", cpu=1)
        world.change(name, group=None, priority=priority)
        world.settle()
    assert len(world.where()) == 2
    with_device(world, "high", priority=10)
    world.settle(seconds=20)

    assert not world.evicted


def test_all_who_share_a_claim_go_for_its_device() -> None:
    """Semantics §10.2."""
    world = Claiming()
    world.machines("n1", cpu=8, gpus=1)
    world.device_claim("shared")
    for name in ("low-1", "low-2"):
        world.naming(name, "", gpu="shared", cpu=1)
        world.change(name, group=None)
        world.settle()
    with_device(world, "high", priority=10)
    world.settle(seconds=20)

    assert len(world.evicted) == 2
    assert world.where("high") == {"high": "n1"}


def test_a_volume_of_one_pod_only_comes_back() -> None:
    """Semantics §10.2."""
    world = Claiming()
    world.machines("n1", cpu=8, disks=1)
    world.disk_on("data", "n1-disk0")
    world._put(replace(world.disks["data"], access_modes=(RWOP,)))
    for name, priority in (("low", 0), ("high", 10)):
        world.naming(name, "", disk="data", cpu=1)
        world.change(name, group=None, priority=priority)
        world.settle(seconds=20)

    assert [each.pod.name for each in world.evicted] == ["low"]
    assert world.where() == {"high": "n1"}


def test_who_cannot_be_placed_where_victims_left_pauses_before_it_evicts_more() -> None:
    """Semantics §10.4: volumes of those who left are attached for long."""
    cluster = Cluster()
    cluster.tell(FactSeen(FAST))
    wanted = replace(spec(cpu=1), volumes=(PodVolume("data", "claim"),))
    nodes = ("n1", "n2", "n3", "n4")
    for name in (*nodes, "high"):
        claim = replace(
            bound(f"{name}-data", f"{name}-volume"), namespace="ns", storage_class="fast"
        )
        cluster.tell(FactSeen(held_by(csi_volume(f"{name}-volume"), claim)))
        cluster.tell(FactSeen(claim))
    for name in nodes:
        cluster.node(name, cpu=8, labels=((HOSTNAME, name),))
        cluster.tell(FactSeen(csi_node(name, csi_example_com=1)))
        claims = (f"{name}-data",)
        cluster.pod(f"low-{name}", spec=wanted, claims=claims, node=name, owner=JOB, started=10.0)
        attached = VolumeAttachment(name, "csi.example.com", name, f"{name}-volume")
        cluster.tell(FactSeen(attached))
    cluster.pod("high", spec=wanted, claims=("high-data",), priority=10)
    cluster.settle(seconds=80)

    assert len(cluster.evicted) == 2
    assert "preemption: paused until " in cluster.pod_conditions("high")[-1][1]
    cluster.settle(seconds=60)
    assert len(cluster.evicted) == 3


def test_an_attachment_comes_back_when_the_volume_is_detached() -> None:
    """Semantics §10.2: a node has it attached until its VolumeAttachment is gone."""
    cluster = Cluster()
    cluster.node("n1", cpu=8, labels=((HOSTNAME, "n1"),))
    cluster.tell(FactSeen(FAST))
    cluster.tell(FactSeen(csi_node("n1", csi_example_com=1)))
    for name in ("low", "high"):
        claim = replace(
            bound(f"{name}-data", f"{name}-volume"), namespace="ns", storage_class="fast"
        )
        cluster.tell(FactSeen(held_by(csi_volume(f"{name}-volume"), claim)))
        cluster.tell(FactSeen(claim))
    volumes = (PodVolume("data", "claim"),)
    wanted = replace(spec(cpu=1), volumes=volumes)
    cluster.pod("low", spec=wanted, claims=("low-data",), node="n1", owner=JOB, started=10.0)
    cluster.tell(FactSeen(VolumeAttachment("x", "csi.example.com", "n1", "low-volume")))
    cluster.pod("high", spec=wanted, claims=("high-data",), priority=10)
    cluster.settle(seconds=20)
    assert [each.pod.name for each in cluster.evicted] == ["low"]
    assert not cluster.where("high"), "the volume is attached yet"

    cluster.tell(FactGone("VolumeAttachment", "x"))
    cluster.settle(seconds=20)

    assert cluster.where("high") == {"high": "n1"}
    assert len(cluster.evicted) == 1
