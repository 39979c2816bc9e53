# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Groups that found no room are not tried in vain, keep their order, and miss nothing."""

import random
from typing import ClassVar

from hypothesis import given
from hypothesis import strategies as st

from enbloc.framework.decide import Proposal
from enbloc.framework.facts import GroupFacts
from enbloc.framework.status import SUCCESS, Status, wait
from enbloc.model.pods import HostPort
from tests.effort import examples
from tests.world.builders import spec
from tests.world.cluster import Cluster, cluster_with


def full(cluster: Cluster, waiting: int, *, size: int = 8) -> None:
    """One gang has all the room, and others of the same size wait in the order of their names."""
    cluster.gang("first", size)
    cluster.settle()
    for index in range(waiting):
        cluster.now += 1
        cluster.gang(f"g{index}", size)
    cluster.settle()


def attempts(cluster: Cluster) -> int:
    return len(cluster.decisions())


def test_nobody_is_tried_until_there_is_room_enough_and_then_the_first_in_the_order() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    full(cluster, waiting=5)
    before = attempts(cluster)
    for index in range(7):
        cluster.finish(f"first-{index}")
        cluster.settle()
    assert attempts(cluster) == before
    cluster.finish("first-7")
    cluster.settle()
    assert len(cluster.where("g0")) == 8
    assert attempts(cluster) == before + 1


def test_one_pod_of_low_priority_has_nobody_tried_before_it_and_what_is_free_are_enough() -> None:
    cluster = Cluster()
    cluster.node("n0", cpu=1)
    cluster.pod("low", node="n0", priority=0)
    cluster.nodes("n1 n2", cpu=4)
    for index in range(4):
        cluster.now += 1
        cluster.gang(f"g{index}", 8, priority=10)
    cluster.settle()
    before = attempts(cluster)
    for index in range(6):
        cluster.finish(f"g0-{index}")
        cluster.settle()
    assert attempts(cluster) == before
    cluster.finish("g0-6")
    cluster.settle()
    assert [effect.pod.name for effect in cluster.evicted] == ["low"]
    assert len(cluster.where("g1")) == 8
    assert len(cluster.where("g2")) == len(cluster.where("g3")) == 0


def test_equal_gangs_are_placed_in_their_order_however_often_members_of_others_end() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2 n3", cpu=8)
    names = [f"g{index:02}" for index in range(30)]
    for name in names:
        cluster.now += 1
        cluster.gang(name, 8)
    cluster.settle()
    rng = random.Random(1)
    while running := [name for name in cluster.where() if not cluster.pods[name].finished]:
        cluster.now += rng.uniform(0.0, 0.2)
        cluster.finish(rng.choice(running))
        for _ in range(rng.randrange(1, 9)):  # more happens before everybody was tried
            cluster.step()
        placed = {name[:3] for name in cluster.where()}
        assert placed == set(names[: len(placed)])
    assert len(cluster.where()) == 240


def test_room_in_splinters_is_counted_by_the_members_that_fit() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=3)
    for node in ("n1", "n2"):
        cluster.pod(f"{node}-old", node=node, spec=spec(cpu=3))
    cluster.gang("g", 2, spec=spec(cpu=2))
    cluster.settle()
    before = attempts(cluster)
    cluster.pod("n1-new", node="n1")
    cluster.delete("n1-old")  # 2 of 3 are free now
    cluster.settle()
    cluster.pod("n2-new", node="n2", spec=spec(cpu=2))
    cluster.delete("n2-old")  # 3 of 6 are, one member fits
    cluster.settle()
    assert attempts(cluster) == before
    cluster.delete("n2-new")
    cluster.settle()
    assert len(cluster.where("g")) == 2


def test_a_smaller_gang_behind_is_tried_while_the_larger_one_is_not() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    full(cluster, waiting=1)
    cluster.gang("small", 2)
    cluster.settle()
    before = attempts(cluster)
    cluster.finish("first-0")
    cluster.finish("first-1")
    cluster.settle()
    assert len(cluster.where("small")) == 2
    assert attempts(cluster) == before + 1


class Approval:
    """Holds gang "holder" until its time is over; lets all others pass."""

    name: ClassVar[str] = "Approval"

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        del plan
        return wait(30) if facts.key.name == "holder" else SUCCESS


def test_room_that_was_freed_while_a_plan_held_the_rest_is_found_when_the_plan_ends() -> None:
    cluster = cluster_with(Approval())
    cluster.pod("old", node="n1", spec=spec(cpu=8))
    cluster.gang("waiter", 12)  # 8 of 16 are free
    cluster.settle()
    cluster.gang("holder", 6)  # reserved later than the waiter was tried
    cluster.settle()
    cluster.delete("old")  # 10 are free
    cluster.settle(seconds=20)
    assert cluster.where() == {}
    cluster.settle(seconds=11)  # the holder gives its 6 back
    assert len(cluster.where("waiter")) == 12


def test_room_that_is_freed_after_what_refused_a_group_before_is_heard_of() -> None:
    port = (HostPort("0.0.0.0", "TCP", 80),)
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    for node in ("n1", "n2"):
        cluster.pod(f"{node}-web", node=node, spec=spec(cpu=0, host_ports=port))
        cluster.pod(f"{node}-load", node=node, spec=spec(cpu=4))
    cluster.gang("g", 2, spec=spec(cpu=4, host_ports=port))
    cluster.settle()
    for node in ("n1", "n2"):  # NodePorts is asked first, and was the only one that refused
        cluster.delete(f"{node}-web")
        cluster.settle()
    for node in ("n1", "n2"):
        cluster.delete(f"{node}-load")
        cluster.settle()
    assert len(cluster.where("g")) == 2


def test_applications_are_admitted_in_their_order_and_never_more_than_can_run() -> None:
    """Drivers whose executors come later, all of one size; a member ends now and then."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=5)
    names = [f"app{index}" for index in range(8)]
    for name in names:
        cluster.now += 1
        cluster.group(name, 1, min_resources=(("cpu", 5000),))
        cluster.pod(f"{name}-driver", name)
    rng = random.Random(2)
    for _ in range(600):
        cluster.now += rng.uniform(0.0, 0.2)
        drivers = [name[:4] for name in cluster.where() if name.endswith("driver")]
        assert drivers == names[: len(drivers)]
        live = [app for app in drivers if not cluster.pods[f"{app}-driver"].finished]
        taken = sum(not cluster.pods[name].finished for name in cluster.where())
        to_come = sum(5 - len(cluster.where(app)) for app in live)
        assert taken + to_come <= 10
        for app in live:
            _drive(cluster, app, rng)
        for _ in range(rng.randrange(1, 4)):
            cluster.step()
    assert all(cluster.pods[f"{name}-driver"].finished for name in names)


def _drive(cluster: Cluster, app: str, rng: random.Random) -> None:
    """Four executors; the driver ends after the last of them."""
    executors = [name for name in cluster.pods if name.startswith(f"{app}-executor")]
    running = [name for name in cluster.where(f"{app}-ex") if not cluster.pods[name].finished]
    if not executors:
        for index in range(4):
            cluster.pod(f"{app}-executor-{index}", app)
    elif running and rng.random() < 0.3:
        cluster.finish(rng.choice(running))
    elif all(cluster.pods[name].finished for name in executors):
        cluster.finish(f"{app}-driver")


@given(st.data())
@examples(60)
def test_whoever_waits_would_find_nothing_if_it_were_tried_afresh(data: st.DataObject) -> None:
    cluster = Cluster()
    rooms = [
        {"cpu": data.draw(st.integers(1, 4)), "gpu": data.draw(st.integers(0, 2))}
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    for index, room in enumerate(rooms):
        cluster.node(f"n{index}", **room)
    for index in range(data.draw(st.integers(1, 6))):
        load = spec(cpu=data.draw(st.integers(0, 2)), gpu=data.draw(st.integers(0, 1)))
        node, priority = f"n{index % len(rooms)}", data.draw(st.sampled_from((0, 20)))
        cluster.pod(f"load-{index}", node=node, spec=load, priority=priority)
    for index in range(data.draw(st.integers(1, 4))):
        cluster.now += 1
        wanted = spec(cpu=1, gpu=data.draw(st.integers(0, 1)))
        cluster.gang(f"g{index}", data.draw(st.integers(2, 4)), spec=wanted, priority=10)
    cluster.settle()
    for name in data.draw(st.permutations(sorted(set(cluster.pods) - set(cluster.where("g"))))):
        if name.startswith("load") and name in cluster.pods:  # nobody has preempted it
            cluster.delete(name)
            cluster.settle()
            for group in cluster.groups:
                _finds_nothing(cluster, group, rooms)


def _finds_nothing(cluster: Cluster, group: str, rooms: list[dict[str, int]]) -> None:
    waiting = [pod for name, pod in cluster.pods.items() if name.startswith(group) and not pod.node]
    if not waiting:
        return
    fresh = Cluster()
    for index, room in enumerate(rooms):
        fresh.node(f"n{index}", **room)
    for pod in cluster.pods.values():
        if pod.node:
            fresh.pod(pod.key.name, spec=pod.spec, node=pod.node, priority=pod.priority)
    fresh.gang("again", len(waiting), spec=waiting[0].spec, priority=10)
    fresh.settle()
    assert fresh.where("again") == {}
