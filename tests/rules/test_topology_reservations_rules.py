# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §11.10: minResources of groups whose members lie in one domain."""

import pytest

from enbloc.engine.events import TopologySeen
from enbloc.model.names import Reason
from enbloc.model.pods import Owner
from enbloc.model.topology import Level, Topology, TopologyRequest
from tests.rules.fabrics import BLOCK, HOST, ONE_CPU, RACK, ZONE, fabric, gang, message, racks
from tests.rules.world import World
from tests.world.builders import spec

IN_A_RACK = TopologyRequest(required="rack")
#: A rack that has room for a driver and no more, and one for all that it makes.
SMALL_AND_LARGE = "a1=z/b/r1:2 b1=z/b/r2:4 b2=z/b/r2:4"


def application(w: World, name: str, cpus: int, near: TopologyRequest = IN_A_RACK) -> None:
    """A driver of one CPU, and capacity for so many in all."""
    w.group(name, 1, min_resources=(("cpu", cpus * 1000),), topology=near, timeout=60)
    w.member(f"{name}-driver", name, owner=Owner("SparkApplication", name, name), spec=ONE_CPU)


def executors(w: World, name: str, number: int, cpu: int = 2) -> None:
    driver = w.pods[f"{name}-driver"]
    owner = Owner("Pod", driver.key.name, driver.uid)
    for index in range(number):
        w.member(f"{name}-exec-{index}", name, owner=owner, spec=spec(cpu=cpu))


def test_a_driver_goes_where_its_executors_will_find_room() -> None:
    """Semantics §11.10."""
    w = fabric(SMALL_AND_LARGE)
    application(w, "app", 7)
    w.settle()
    assert racks(w, "app") == {"z/b/r2": 1}
    executors(w, "app", 3)
    w.settle()
    assert racks(w, "app") == {"z/b/r2": 4}


def test_a_driver_waits_while_no_domain_has_so_much_free_and_the_message_has_the_amounts() -> None:
    """Semantics §11.10."""
    w = fabric(SMALL_AND_LARGE)
    w.pod("old", node="b1", spec=spec(cpu=2))
    application(w, "app", 7)
    w.settle()
    assert w.where("app") == {}
    assert w.condition("app")[1] == Reason.UNSCHEDULABLE
    assert (
        "rack z/b/r2 has room for 1 of 1, but minResources needs 7 cpu there, and 6 is free"
        in message(w, "app")
    )
    w.delete("old")
    w.settle()
    assert racks(w, "app") == {"z/b/r2": 1}


def test_what_no_domain_has_even_when_it_is_empty_is_infeasible() -> None:
    """Semantics §11.10."""
    w = fabric(SMALL_AND_LARGE)
    application(w, "app", 9)
    w.settle()
    assert w.where("app") == {}
    assert w.condition("app")[1] == Reason.INFEASIBLE
    assert "minResources needs 9 cpu; z/b/r2, the largest domain, has 8" in message(w, "app")


def test_what_is_reserved_in_a_domain_is_kept_from_those_who_come_later() -> None:
    """Semantics §11.10."""
    w = fabric(SMALL_AND_LARGE)
    application(w, "app", 7)
    w.settle()
    w.now += 1
    w.job("young", 2, pod=ONE_CPU)
    w.settle()
    assert racks(w, "young") == {"z/b/r1": 2}
    w.now += 1
    w.job("late", 2, pod=ONE_CPU)
    w.settle()
    assert w.where("late") == {}
    executors(w, "app", 3)
    w.settle()
    assert racks(w, "app") == {"z/b/r2": 4}
    w.settle()
    assert w.where("late") == {}, "one CPU is left"


def test_who_would_take_too_much_of_a_reserved_domain_goes_elsewhere_whole() -> None:
    """Semantics §11.10."""
    w = fabric("a1=z/b/r1:3 b1=z/b/r2:4 b2=z/b/r2:4")
    application(w, "app", 7)
    w.settle()
    assert racks(w, "app") == {"z/b/r2": 1}
    w.now += 1
    w.job("young", 3, pod=ONE_CPU)
    w.settle()
    assert racks(w, "young") == {"z/b/r1": 3}


def test_what_is_beyond_the_reservation_in_a_domain_is_anybodys() -> None:
    """Semantics §11.10."""
    w = fabric("b1=z/b/r2:4 b2=z/b/r2:4")
    application(w, "app", 6)
    w.settle()
    w.now += 1
    w.job("young", 2, pod=ONE_CPU)
    w.settle()
    assert racks(w, "young") == {"z/b/r2": 2}


def test_two_applications_are_not_admitted_to_a_rack_that_has_room_for_one() -> None:
    """Semantics §11.10."""
    w = fabric("a1=z/b/r1:8 b1=z/b/r2:8 c1=z/b/r3:2")
    for name in ("app", "bap", "cap"):
        application(w, name, 6)
        w.settle()
        w.now += 1
    assert {*racks(w, "app"), *racks(w, "bap")} == {"z/b/r1", "z/b/r2"}
    assert w.where("cap") == {}
    for name in ("app", "bap"):
        executors(w, name, 2)
    w.settle()
    assert sorted([*racks(w, "app").values(), *racks(w, "bap").values()]) == [3, 3]


def test_a_rack_with_so_much_free_does_not_do_where_its_block_has_too_little() -> None:
    """Semantics §11.10."""
    w = fabric("n0=z/b0/r0:1 n1=z/b0/r0:1 n2=z/b0/r0:5 n3=z/b1/r0:1")
    in_a_block = TopologyRequest(required="block")
    application(w, "app", 2, in_a_block)
    w.settle()
    w.now += 1
    application(w, "bap", 6, in_a_block)
    w.settle()
    assert w.where("bap") == {}
    assert "minResources needs 6 cpu there, and 5 is free" in message(w, "bap")


def test_what_is_reserved_in_a_rack_is_reserved_in_its_block() -> None:
    """Semantics §11.10."""
    w = fabric("n0=z/b0/r0:4 n1=z/b0/r1:4 n2=z/b1/r0:2")
    application(w, "app", 4)
    w.settle()
    w.now += 1
    application(w, "bap", 5, TopologyRequest(required="block"))
    w.settle()
    assert w.where("bap") == {}
    assert "block z/b0 has room for 1 of 1, but minResources needs 5 cpu there, and 4 is free" in (
        message(w, "bap")
    )


def test_of_many_racks_that_are_reserved_none_is_in_the_way_of_the_one_that_is_not() -> None:
    """Semantics §11.10."""
    w = fabric(" ".join(f"n{at}=z/b/r{at}:4" for at in range(8)))
    for at in range(7):
        application(w, f"app-{at}", 4)
        w.settle()
        w.now += 1
    w.job("young", 3, pod=ONE_CPU)
    w.settle()
    assert racks(w, "young") == {"z/b/r7": 3}
    w.job("late", 2, pod=ONE_CPU)
    w.settle()
    assert w.where("late") == {}
    assert (
        "7 node(s) were in domains that are reserved: z/b/r0 for ns/app-0, z/b/r1 for ns/app-1, "
        "z/b/r2 for ns/app-2 and 4 more"
    ) in message(w, "late")


def test_an_expired_reservation_gives_the_domain_back() -> None:
    """Semantics §11.10."""
    w = fabric("b1=z/b/r2:4")
    application(w, "app", 4)
    w.settle()
    w.run_pods(["app-driver"])
    w.now += 1
    w.job("young", 3, pod=ONE_CPU)
    w.settle()
    assert w.where("young") == {}
    assert "in a domain that is reserved: z/b/r2 for ns/app" in message(w, "young")
    w.settle(seconds=60)
    assert len(w.where("young")) == 3


def test_what_had_better_lie_in_one_domain_waits_for_none() -> None:
    """Semantics §11.10."""
    w = fabric("a1=z/b/r1:2 b1=z/b/r2:2 c1=z/b/r3:2")
    application(w, "app", 5, TopologyRequest(preferred="rack"))
    w.settle()
    assert len(w.where("app")) == 1


def test_what_had_better_lie_in_one_domain_begins_where_all_of_it_has_room() -> None:
    """Semantics §11.10."""
    w = fabric(SMALL_AND_LARGE)
    application(w, "app", 7, TopologyRequest(preferred="rack"))
    w.settle()
    assert racks(w, "app") == {"z/b/r2": 1}


ONE_LABEL = TopologyRequest(required=RACK)


@pytest.mark.parametrize(
    ("first", "second"), [(IN_A_RACK, ONE_LABEL), (ONE_LABEL, IN_A_RACK)], ids=["level", "label"]
)
def test_a_rack_is_reserved_whether_a_level_or_its_label_is_named(
    first: TopologyRequest, second: TopologyRequest
) -> None:
    """Semantics §11.10."""
    w = fabric("n0=z/b/r0:8 n1=z/b/r1:3")
    application(w, "app", 6, first)
    w.settle()
    w.now += 1
    application(w, "bap", 4, second)
    w.settle()
    assert w.where("bap") == {}
    assert "minResources needs 4 cpu there, and 3 is free" in message(w, "bap")


def test_what_is_reserved_in_a_block_may_be_taken_in_each_of_its_racks() -> None:
    """Semantics §11.10."""
    w = fabric("n0=z/b/r0:4 n1=z/b/r1:4 n2=z/c/r0:3")
    application(w, "app", 6, TopologyRequest(required="block"))
    w.settle()
    w.now += 1
    application(w, "bap", 4)
    w.settle()
    assert w.where("bap") == {}
    assert "minResources needs 4 cpu there, and 2 is free in z/b" in message(w, "bap")


def test_a_node_that_lost_its_labels_does_not_hide_where_the_others_are() -> None:
    """Semantics §11.10."""
    w = fabric("a1=z/b/r1:2 b1=z/b/r2:2 b2=z/b/r2:3")
    w.group("app", 2, min_resources=(("cpu", 5000),), topology=IN_A_RACK, timeout=60)
    for index in range(2):
        w.member(f"app-{index}", "app", spec=spec(cpu=2))
    w.settle()
    assert set(w.where("app").values()) == {"b1", "b2"}
    w.node("b1", 2, labels=((HOST, "b1"),))
    w.settle()
    w.now += 1
    w.pod("young", spec=spec(cpu=1, node_selector=((HOST, "b2"),)))
    w.settle()
    assert "young" not in w.where()


def test_what_a_preemptor_reserves_becomes_free_in_its_domain_and_is_nobody_elses_there() -> None:
    """Semantics §10.3, §11.10: what is free in another rack is of no use to it."""
    w = fabric("a1=z/b/r1 a2=z/b/r1 a3=z/b/r1 b1=z/b/r2 b2=z/b/r2", cpu=1)
    for name in ("a1", "a2", "a3"):
        w.pod(f"low-{name}", node=name, started=10.0, spec=ONE_CPU)
    w.evict_answer = lambda _: "slow"
    application(w, "app", 3)
    w.change("app-driver", priority=10)
    w.settle()
    for name in ("a1", "a2", "a3"):
        w.delete(f"low-{name}")
        w.pod(f"again-{name}", spec=spec(cpu=1, node_selector=((RACK, "r1"),)))
        w.settle(seconds=1)
    w.settle(seconds=20)

    assert set(w.where()) == {"app-driver"}
    assert len(w.evicted) == 3


@pytest.mark.parametrize(
    ("offered", "needed"),
    [(2**62 + 2**61, 2**62), (2**59 + 1, 2**60 + 2)],
    ids=["more than fits in int64", "more than floats tell apart"],
)
def test_amounts_of_a_domain_are_added_up_exactly(offered: int, needed: int) -> None:
    """Semantics §11.10."""
    w = World(slots=32)
    for name in ("a1", "a2"):
        labels = ((RACK, "r1"), (HOST, name))
        w.node(name, labels=labels, **{"example.com/unit": offered})
    wanted = (("example.com/unit", needed),)
    w.group("app", 1, min_resources=wanted, topology=ONE_LABEL, timeout=60)
    w.member("app-0", "app", spec=ONE_CPU)
    w.settle()
    assert "app-0" in w.where()


def test_who_takes_too_much_of_a_rack_may_lie_elsewhere_in_its_block() -> None:
    """Semantics §11.10."""
    w = fabric("n0=z/b/r0:12 n1=z/b/r1:8")
    application(w, "app", 10)
    w.settle()
    assert racks(w, "app") == {"z/b/r0": 1}
    w.now += 1
    application(w, "bap", 2, TopologyRequest(required="block"))
    w.settle()
    w.now += 1
    w.group("young", 0, timeout=60)
    nowhere = spec(cpu=1, node_selector=((HOST, "no"),))
    w.member("young-0", "young", spec=nowhere)
    w.member("young-1", "young", spec=spec(cpu=3))
    w.settle()
    assert racks(w, "young") == {"z/b/r1": 1}


def test_of_racks_in_which_too_little_is_left_none_hides_the_one_with_room() -> None:
    """Semantics §11.10."""
    w = fabric(" ".join(f"n{at}=z/b/r{at}:4" for at in range(8)))
    for at in range(7):
        application(w, f"app-{at}", 3)
        w.settle()
        w.now += 1
    gang(w, "young", 3, required="rack")
    w.settle()
    assert racks(w, "young") == {"z/b/r7": 3}
    gang(w, "late", 3, required="rack")
    w.settle()
    assert (
        "7 node(s) were in domains that are reserved: z/b/r0 for ns/app-0, z/b/r1 for ns/app-1, "
        "z/b/r2 for ns/app-2 and 4 more."
    ) in message(w, "late")


def test_racks_in_which_nothing_is_left_do_not_hide_those_where_members_fit_together() -> None:
    """Semantics §11.10."""
    w = fabric(" ".join(f"n{at:02}=z/b/r{at:02}:4" for at in range(15)))
    for at in range(15):
        application(w, f"app-{at:02}", 4 if at < 12 else 3)
        w.settle()
        w.now += 1
    w.job("young", 3, pod=ONE_CPU)
    w.settle()
    assert racks(w, "young") == {"z/b/r12": 1, "z/b/r13": 1, "z/b/r14": 1}


def held(w: World, near: TopologyRequest | None) -> None:
    """Six of eight CPUs are reserved for priority 10, and priority 0 has the others."""
    w.group("app", 1, min_resources=(("cpu", 6000),), topology=near, timeout=600)
    w.member("app-driver", "app", spec=ONE_CPU, priority=10)
    w.settle()
    w.now += 1
    w.job("low", 1, pod=spec(cpu=2), timeout=600)
    w.settle()
    w.run_pods(["app-driver", "low-0"])
    w.settle()
    w.now += 1


@pytest.mark.parametrize("near", [IN_A_RACK, None], ids=["a rack", "the cluster"])
def test_nobody_is_evicted_for_a_gang_that_would_take_what_is_reserved(
    near: TopologyRequest | None,
) -> None:
    """Semantics §5.1, §11.10."""
    w = fabric("b1=z/b/r2:4 b2=z/b/r2:4")
    held(w, near)
    w.job("mid", 4, pod=ONE_CPU, priority=5)
    w.job("big", 1, pod=spec(cpu=4), priority=5)
    w.settle(seconds=30)
    assert w.evictions == []
    assert not w.where("mid")
    assert not w.where("big")


@pytest.mark.parametrize("near", [IN_A_RACK, None], ids=["a rack", "the cluster"])
def test_who_gives_way_makes_room_beside_what_is_reserved(near: TopologyRequest | None) -> None:
    """Semantics §5.1, §11.10."""
    w = fabric("b1=z/b/r2:4 b2=z/b/r2:4")
    held(w, near)
    w.job("mid", 2, pod=ONE_CPU, priority=5)
    w.settle(seconds=30)
    assert w.evictions == ["low-0"]
    assert len(w.where("mid")) == 2


def test_who_waits_for_a_domain_is_woken_when_the_reservation_is_used_up_elsewhere() -> None:
    """Semantics §5.1, §11.10."""
    w = fabric("a1=z/b/r1:4 b1=z/b/r2:3")
    w.group("app", 1, min_resources=(("cpu", 4000),), topology=IN_A_RACK, owner="app")
    w.member("app-driver", "app", spec=ONE_CPU)
    w.settle()
    w.now += 1
    w.pod("young", spec=spec(cpu=1, node_selector=((HOST, "a1"),)))
    w.settle()
    assert "young" not in w.where()
    w.group("wave", 3, owner="app")
    for index in range(3):
        w.member(f"wave-{index}", "wave", spec=spec(cpu=1, node_selector=((HOST, "b1"),)))
    w.settle()
    assert "young" in w.where()


def test_who_waits_for_a_domain_is_woken_when_a_topology_makes_it_larger() -> None:
    """Semantics §11.10."""
    w = fabric("a1=z/b/r1:4 b1=z/b/r2:3")
    application(w, "app", 4)
    w.settle()
    w.now += 1
    w.pod("young", spec=spec(cpu=1, node_selector=((HOST, "a1"),)))
    w.settle()
    assert "young" not in w.where()
    w.tell(TopologySeen(Topology("default", (Level("zone", ZONE), Level("rack", BLOCK)))))
    w.settle()
    assert "young" in w.where()


@pytest.mark.parametrize("near", [IN_A_RACK, None], ids=["a rack", "the cluster"])
def test_nobody_is_evicted_for_a_pod_that_would_take_what_is_reserved(
    near: TopologyRequest | None,
) -> None:
    """Semantics §5.1, §11.10."""
    w = fabric("b1=z/b/r2:4 b2=z/b/r2:4")
    held(w, near)
    w.pod("mid", spec=spec(cpu=4), priority=5)
    w.settle(seconds=30)
    assert w.evictions == []
    assert (
        "preemption: too little would be free that is not reserved."
        in (w.pod_conditions("mid")[-1][1])
    )


def test_others_give_way_to_a_pod_where_nothing_is_reserved() -> None:
    """Semantics §11.10."""
    w = fabric("b1=z/b/r2:4 b2=z/b/r2:4")
    held(w, IN_A_RACK)
    w.node("c1", 4, labels=((HOST, "c1"),))
    w.job("late", 1, pod=spec(cpu=4), timeout=600, priority=1)
    w.settle()
    w.run_pods(["late-0"])
    w.pod("mid", spec=spec(cpu=4), priority=5)
    w.settle(seconds=30)
    assert w.evictions == ["late-0"]
    assert w.where()["mid"] == "c1"
