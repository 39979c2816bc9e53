# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §11: members that lie in one domain of a topology."""

import pytest

from enbloc.engine.effects import TopologyStatus
from enbloc.engine.events import SlotsFree, TopologyGone, TopologySeen
from enbloc.model.names import RANK_KEY, Reason
from enbloc.model.topology import Level, Topology, TopologyRequest
from tests.rules.fabrics import (
    BLOCK,
    FABRIC,
    HOST,
    ONE_CPU,
    RACK,
    THREE_RACKS,
    ZONE,
    fabric,
    gang,
    lying,
    message,
    racks,
)
from tests.rules.world import JOB, World
from tests.world.builders import spec

# ── what is required ─────────────────────────────────────────────────────────────────────────────


def test_a_gang_goes_to_the_one_rack_that_holds_all_of_it() -> None:
    """Semantics §11.1."""
    w = fabric(THREE_RACKS)
    gang(w, "g", 3, required="rack", cpu=2)
    w.settle()
    assert racks(w, "g") == {"z/b/r1": 3}


def test_nothing_starts_where_no_rack_holds_all_of_it() -> None:
    """Semantics §11.1."""
    w = fabric("a1=z/b/r1 a2=z/b/r1 b1=z/b/r2 c1=z/b/r3")
    gang(w, "g", 3, required="rack", cpu=2)
    w.settle()
    assert not w.where("g-")
    assert w.condition("g")[1] == Reason.INFEASIBLE
    assert "needs a domain of rack with room for 3 more members; z/b/r1, the largest" in message(
        w, "g"
    )


def test_a_gang_that_waits_for_its_rack_starts_when_a_pod_there_ends() -> None:
    """Semantics §11.1."""
    w = fabric("a1=z/b/r1 a2=z/b/r1 a3=z/b/r1 b1=z/b/r2 b2=z/b/r2")
    w.pod("old-0", node="a1", spec=spec(cpu=2))
    w.pod("old-1", node="a2", spec=spec(cpu=1))
    gang(w, "g", 3, required="rack", cpu=2)
    w.settle()
    assert not w.where("g-")
    assert "rack z/b/r2 has room for 2 of 3" in message(w, "g")
    w.delete("old-0")
    w.settle()
    assert not w.where("g-")
    w.delete("old-1")
    w.settle()
    assert racks(w, "g") == {"z/b/r1": 3}


def test_a_second_gang_takes_the_next_rack() -> None:
    """Semantics §11.1."""
    w = fabric("a1=z/b/r1 a2=z/b/r1 a3=z/b/r1 b1=z/b/r2 b2=z/b/r2")
    gang(w, "g", 3, required="rack", cpu=2)
    w.settle()
    gang(w, "h", 2, required="rack", cpu=1)
    w.settle()
    assert racks(w, "g") == {"z/b/r1": 3}
    assert racks(w, "h") == {"z/b/r2": 2}


def test_racks_of_one_name_in_two_zones_are_two_racks() -> None:
    """Semantics §11.1."""
    w = fabric("a1=z1/b/r1:1 b1=z2/b/r1:1")
    gang(w, "g", 2, required="rack")
    w.settle()
    assert not w.where("g-")


def test_of_a_label_that_no_topology_names_the_value_alone_is_the_domain() -> None:
    """Semantics §11.1."""
    w = fabric("a1=z1/b/r1:1 b1=z2/b/r1:1", topology=None)
    gang(w, "g", 2, required=RACK)
    w.settle()
    assert sum(racks(w, "g").values()) == 2


def test_a_node_without_a_label_is_outside_and_counted() -> None:
    """Semantics §11.1."""
    w = fabric("a1=z/b/r1 a2=z/b/r1 b1=z/b:8 c1=:8")
    gang(w, "g", 3, required="rack", cpu=2)
    w.pod("old", node="a1", spec=ONE_CPU)
    w.settle()
    assert not w.where("g-")
    labels = f"{ZONE} or {BLOCK} or {RACK}"
    assert "room for" in message(w, "g")
    w.node("a3", 2, labels=((BLOCK, "b"), (RACK, "r1"), (ZONE, "z")))
    w.settle()
    assert not w.where("g-")
    assert f"2 of 5 nodes have no label {labels}" in message(w, "g")


def test_a_level_that_no_node_is_in_is_what_each_node_lacks() -> None:
    """Semantics §11.1 and §7."""
    w = fabric("a1=z/b b1=z/b")
    gang(w, "g", 2, required="rack")
    w.settle()
    assert "no node is in a domain of rack" in message(w, "g")
    assert "0/2 nodes are available: 2 node(s) were in no domain of rack." in message(w, "g")


def test_a_node_without_the_label_of_a_level_around_it_is_outside_of_both() -> None:
    """Semantics §11.1: its rack has a name, but nobody knows of which block that is."""
    w = fabric("a1=z/b/r1:1")
    w.node("b1", 8, labels=((RACK, "r1"), (ZONE, "z")))
    w.node("c1", 8, labels=((BLOCK, "b"), (RACK, "r1")))
    gang(w, "g", 2, required="rack")
    w.settle()
    assert not w.where("g-")
    assert "2 of 3 nodes have no label" in message(w, "g")
    w.node("a2", 1, labels=((BLOCK, "b"), (RACK, "r1"), (ZONE, "z")))
    w.settle()
    assert racks(w, "g") == {"z/b/r1": 2}


def test_who_comes_later_lies_in_the_same_domain() -> None:
    """Semantics §11.2."""
    w = fabric("a1=z/b/r1 a2=z/b/r1 b1=z/b/r2 b2=z/b/r2")
    gang(w, "g", 4, minimum=2, required="rack", cpu=1)
    w.settle()
    assert len(racks(w, "g")) == 1
    assert len(w.where("g-")) == 4
    w.member("g-4", "g", spec=ONE_CPU)
    w.settle()
    assert len(w.where("g-")) == 4, "there is room in the other rack only"


def test_a_lost_member_is_replaced_in_the_domain_that_the_others_hold() -> None:
    """Semantics §11.2."""
    w = fabric("a1=z/b/r1 a2=z/b/r1 a3=z/b/r1 b1=z/b/r2:8")
    gang(w, "g", 2, required="rack", cpu=2)
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    [(home, _)] = racks(w, "g").items()
    assert home == "z/b/r1"
    w.lose_node(next(iter(w.where("g-").values())))
    w.member("g-new", "g", spec=spec(cpu=2))
    w.settle()
    assert racks(w, "g") == {home: 2}


def test_a_replacement_waits_while_the_domain_of_the_others_is_full() -> None:
    """Semantics §11.2."""
    w = fabric("a1=z/b/r1 a2=z/b/r1 b1=z/b/r2:8")
    gang(w, "g", 2, required="rack", cpu=2, on_incomplete="Keep")
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    w.settle()
    lost = w.lose_node("a1")
    w.member("g-new", "g", spec=spec(cpu=2))
    w.settle()
    assert len(w.where("g-")) == 1
    assert lost not in w.where("g-")
    assert "z/b/r1, which holds members, has room for" in message(w, "g")
    w.node("a9", 2, labels=((BLOCK, "b"), (RACK, "r1"), (ZONE, "z")))
    w.settle()
    assert racks(w, "g") == {"z/b/r1": 2}


def test_a_plan_is_made_again_when_a_node_moves_to_another_domain_before_it_is_sent() -> None:
    """Semantics §11.2 and §3.1."""
    w = fabric("a1=z/b/r1 a2=z/b/r1 b1=z/b/r2:8", slots=0)
    gang(w, "g", 2, required="rack", cpu=2)
    w.settle()
    w.node("a2", 2, labels=((BLOCK, "b"), (RACK, "r9"), (ZONE, "z")))
    w.tell(SlotsFree(32))
    w.settle()
    assert racks(w, "g") == {"z/b/r2": 2}
    assert w.attempts("g") == 2, "the first plan had been made"


# ── what is preferred ────────────────────────────────────────────────────────────────────────────


def test_racks_come_before_nodes() -> None:
    """Semantics §11.3: of blocks r1 {2}, r2 {2}, r3 {1,1,1,1} a gang of four takes r3."""
    w = fabric(
        "a1=z/b/r1:2 b1=z/b/r2:2 c1=z/b/r3:1 c2=z/b/r3:1 c3=z/b/r3:1 c4=z/b/r3:1",
    )
    gang(w, "g", 4, required="block")
    w.settle()
    assert racks(w, "g") == {"z/b/r3": 4}


def test_a_gang_larger_than_any_block_takes_as_few_as_it_can() -> None:
    """Semantics §11.3: of blocks of 2, 1 and 4, five members take 4 + 1."""
    w = fabric("a1=z/b1/r:2 b1=z/b2/r:1 c1=z/b3/r:4")
    gang(w, "g", 5, preferred="block")
    w.settle()
    assert lying(w, "g", (BLOCK,)) == {"b3": 4, "b2": 1}


def test_the_smallest_domain_that_holds_it_is_taken() -> None:
    """Semantics §11.3."""
    w = fabric("a1=z/b/r1:8 b1=z/b/r2:3 c1=z/b/r3:5")
    gang(w, "g", 3, required="rack")
    w.settle()
    assert racks(w, "g") == {"z/b/r2": 3}


def test_a_gang_goes_where_members_beyond_its_minimum_have_room_too() -> None:
    """Semantics §11.3: among those that hold all of them, to the one with the least room."""
    w = fabric("a1=z/b/r1:4 b1=z/b/r2:12 c1=z/b/r3:8")
    gang(w, "g", 6, required="rack", minimum=2)
    w.settle()
    assert racks(w, "g") == {"z/b/r3": 6}
    gang(w, "h", 2, required="rack")
    w.settle()
    assert racks(w, "h") == {"z/b/r3": 2}, "whose room is the least that is enough"


def test_where_no_domain_holds_all_members_the_one_that_holds_most_is_taken() -> None:
    """Semantics §11.3."""
    w = fabric("a1=z/b/r1:3 b1=z/b/r2:5 c1=z/b/r3:4")
    gang(w, "g", 9, required="rack", minimum=2)
    w.settle()
    assert racks(w, "g") == {"z/b/r2": 5}


def test_nodes_that_take_no_member_are_no_room_of_their_rack() -> None:
    """Semantics §11.3: of a rack of eight CPUs half are cordoned, so it holds less than five."""
    w = fabric("a1=z/b/r1:4 b1=z/b/r2:5")
    w.node("a2", 4, labels=((BLOCK, "b"), (RACK, "r1"), (ZONE, "z")), unschedulable=True)
    gang(w, "g", 4, required="rack")
    w.settle()
    assert racks(w, "g") == {"z/b/r1": 4}
    gang(w, "h", 6, required="rack")
    w.settle()
    assert "rack z/b/r2 has room for 5 of 6" in message(w, "h")


def test_a_rack_in_use_comes_before_a_pristine_one() -> None:
    """Semantics §11.3."""
    w = fabric("a1=z/b/r1:3 b1=z/b/r2:3")
    w.pod("old", node="b1", spec=ONE_CPU)
    gang(w, "g", 2, required="rack")
    w.settle()
    assert racks(w, "g") == {"z/b/r2": 2}


def test_the_domain_that_holds_members_comes_before_one_that_takes_fewer_racks() -> None:
    """Semantics §11.3."""
    w = fabric("a1=z/b1/r1:3 a2=z/b1/r2:2 a3=z/b1/r3:2 c1=z/b2/r1:3 c2=z/b2/r2:3")
    w.group("g", 7, topology=TopologyRequest("", "", "rack"), timeout=60)
    w.member("g-0", "g", spec=ONE_CPU, node="a1")
    for index in range(1, 7):
        w.member(f"g-{index}", "g", spec=ONE_CPU)
    w.settle()
    assert racks(w, "g") == {"z/b1/r1": 3, "z/b1/r2": 2, "z/b1/r3": 2}


def test_what_is_preferred_holds_nobody_back() -> None:
    """Semantics §11.3."""
    w = fabric("a1=z/b/r1:1 b1=z/b/r2:1 c1=:1")
    gang(w, "g", 3, preferred="rack")
    w.settle()
    assert len(w.where("g-")) == 3


def test_a_leader_goes_where_workers_leave_room_in_the_one_rack() -> None:
    """Semantics §11.3: hosts of 2, 3 and 4 CPUs; a leader of one, four workers of two."""
    w = fabric("a1=z/b/r1:2 a2=z/b/r1:3 a3=z/b/r1:4")
    w.group("g", 5, topology=TopologyRequest(required="rack"), timeout=60)
    w.member("g-leader", "g", spec=ONE_CPU)
    for index in range(4):
        w.member(f"g-{index}", "g", spec=spec(cpu=2))
    w.settle()
    assert w.where("g-")["g-leader"] == "a2"


def test_neighbours_in_rank_lie_beside_each_other() -> None:
    """Semantics §11.6."""
    w = fabric("a1=z/b/r1:2 b1=z/b/r2:2 a2=z/b/r1:2 b2=z/b/r2:2")
    w.group("g", 8, topology=TopologyRequest(required="block"), timeout=60)
    for index in (5, 2, 7, 0, 3, 6, 1, 4):
        labels = (("batch.kubernetes.io/job-completion-index", str(index)),)
        w.member(f"g-{index}-x{index}", "g", spec=ONE_CPU, labels=labels)
        w.now += 1  # their controller makes them in any order
    w.settle()
    rack_of = {name[2]: node[0] for name, node in w.where("g-").items()}
    assert "".join(rack_of[str(index)] for index in range(8)) in ("aaaabbbb", "bbbbaaaa")
    ranks = {bind.target.pod.name: dict(bind.target.annotations)[RANK_KEY] for bind in w.sent}
    assert ranks == {f"g-{index}-x{index}": str(index) for index in range(8)}


def test_the_rack_that_costs_least_to_clear_is_cleared() -> None:
    """Semantics §11.3 and §10.2."""
    w = fabric("a1=z/b/r1:1 a2=z/b/r1:1 b1=z/b/r2:1 b2=z/b/r2:1")
    for node, priority in (("a1", 5), ("a2", 0), ("b1", 1), ("b2", 1)):
        w.pod(f"old-{node}", node=node, spec=ONE_CPU, priority=priority, owner=JOB)
    gang(w, "g", 2, required="rack", priority=10)
    w.settle(seconds=60)
    assert w.evictions == ["old-b1", "old-b2"]
    assert racks(w, "g") == {"z/b/r2": 2}


def test_of_many_racks_the_one_that_costs_least_to_clear_is_cleared() -> None:
    """Semantics §11.3 and §10.2: among so many pods no others are looked for afterwards."""
    w = fabric("a1=z/b/r1:2 a2=z/b/r1:2 b1=z/b/r2:3 b2=z/b/r2:3 c1=z/b/r3:300")
    for node in ("a1", "a2"):
        for index in range(2):
            w.pod(f"old-{node}-{index}", node=node, spec=ONE_CPU, owner=JOB)
    for node in ("b1", "b2"):
        w.pod(f"old-{node}", node=node, spec=spec(cpu=3), owner=JOB)
    for index in range(300):
        w.pod(f"old-c1-{index}", node="c1", spec=ONE_CPU, owner=JOB)
    gang(w, "g", 4, required="rack", priority=10)
    w.settle(seconds=60)
    assert w.evictions == ["old-b1", "old-b2"]
    assert racks(w, "g") == {"z/b/r2": 4}


def full_of(of: World, **victims: int) -> None:
    """Each of these nodes is full of so many others, alike."""
    for node, count in victims.items():
        cpu = dict(of.hosts[node].allocatable)["cpu"] // 1000 // count
        for index in range(count):
            of.pod(f"old-{node}-{index}", node=node, spec=spec(cpu=cpu), owner=JOB)


def test_what_it_costs_to_clear_a_rack_is_that_of_all_nodes_that_are_needed() -> None:
    """Semantics §10.2: of as many racks as are compared, each has a node that costs less."""
    dear = " ".join(f"a{rack}=z/b/r{rack}:4 b{rack}=z/b/r{rack}:4" for rack in range(9))
    w = fabric(f"{dear} c1=z/b/s:4 c2=z/b/s:4")
    for rack in range(9):
        full_of(w, **{f"a{rack}": 1, f"b{rack}": 4})
    full_of(w, c1=2, c2=2)
    gang(w, "g", 2, required="rack", cpu=4, priority=10)
    w.settle(seconds=60)
    assert racks(w, "g") == {"z/b/s": 2}
    assert len(w.evictions) == 4


def test_a_node_is_needed_for_as_many_members_as_it_has_room_for() -> None:
    """Semantics §10.2: four members find room on the one node that costs little to empty."""
    others = " ".join(f"{node}{rack}=z/b/r{rack}:4" for rack in range(9) for node in "abcd")
    w = fabric(f"{others} e1=z/b/s:4 e2=z/b/s:4 e3=z/b/s:4 e4=z/b/s:4 f1=z/b/t:300")
    for rack in range(9):
        full_of(w, **{f"{node}{rack}": 2 for node in "abcd"})
    full_of(w, e1=1, e2=4, e3=4, e4=4, f1=300)
    gang(w, "g", 4, required="rack", priority=10)
    w.settle(seconds=60)
    assert w.evictions == ["old-e1-0"]
    assert racks(w, "g") == {"z/b/s": 4}


def test_racks_that_are_too_small_are_not_compared_with_those_that_hold_a_gang() -> None:
    """Semantics §10.2: as many as are compared cost less, and would be cleared in vain."""
    small = " ".join(f"a{rack}=z/b/r{rack}:4" for rack in range(9))
    w = fabric(f"{small} b1=z/b/s:4 b2=z/b/s:4 c1=z/b/t:5 c2=z/b/t:5 d1=z/b/u:300")
    full_of(w, **{f"a{rack}": 1 for rack in range(9)}, b1=4, b2=4, c1=2, c2=2, d1=300)
    gang(w, "g", 2, required="rack", cpu=4, priority=10)
    w.settle(seconds=60)
    assert racks(w, "g") == {"z/b/t": 2}
    assert len(w.evictions) == 4


# ── what is said ─────────────────────────────────────────────────────────────────────────────────


def test_the_status_says_where_a_gang_lies() -> None:
    """Semantics §11.4."""
    w = fabric(THREE_RACKS)
    gang(w, "g", 3, required="rack", cpu=2)
    w.settle()
    expected = (("zone", 1), ("block", 1), ("rack", 1))
    assert w.status["g"].topology == TopologyStatus("rack", "z/b/r1", expected)


def test_the_status_of_a_gang_in_several_racks_names_what_they_have_in_common() -> None:
    """Semantics §11.4."""
    w = fabric("a1=z/b/r1:1 b1=z/b/r2:1")
    gang(w, "g", 2, preferred="rack")
    w.settle()
    expected = (("zone", 1), ("block", 1), ("rack", 2))
    assert w.status["g"].topology == TopologyStatus("block", "z/b", expected)


def test_the_status_follows_a_label_of_a_node_that_changes_under_a_gang() -> None:
    """Semantics §11.4."""
    w = fabric("a1=z/b/r1:1 a2=z/b/r1:1")
    gang(w, "g", 2, required="rack")
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    w.settle()
    w.node("a2", 1, labels=((BLOCK, "b"), (RACK, "r2"), (ZONE, "z")))
    w.settle()
    expected = (("zone", 1), ("block", 1), ("rack", 2))
    assert w.status["g"].topology == TopologyStatus("block", "z/b", expected)
    assert not w.evictions


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (
            TopologyRequest("other", "rack"),
            'Topology "other" not found; create it or name one of default',
        ),
        (TopologyRequest("", "rak"), 'Topology default has no level "rak"; use one of zone, block'),
        (TopologyRequest("", "rack", "zone"), "zone is not within rack, which is required"),
    ],
)
def test_a_request_that_makes_no_sense_is_named_and_nothing_is_placed(
    request_: TopologyRequest, said: str
) -> None:
    """Semantics §11.5."""
    w = fabric(THREE_RACKS)
    w.job("g", 2, pod=ONE_CPU, topology=request_)
    w.settle()
    assert not w.where("g-")
    assert w.condition("g")[1] == Reason.INVALID_SPEC
    assert said in message(w, "g")


def test_a_gang_starts_when_its_topology_is_made() -> None:
    """Semantics §11.5."""
    w = fabric(THREE_RACKS, topology=None)
    gang(w, "g", 3, topology="default", required="rack", cpu=2)
    w.settle()
    assert not w.where("g-")
    w.tell(TopologySeen(FABRIC))
    w.settle()
    assert racks(w, "g") == {"z/b/r1": 3}


def test_a_topology_that_is_deleted_in_use_stops_nobody_and_lets_nobody_start() -> None:
    """Semantics §11.5."""
    w = fabric(THREE_RACKS)
    gang(w, "g", 2, topology="default", required="rack", cpu=1)
    w.settle()
    w.tell(TopologyGone("default"))
    gang(w, "h", 2, topology="default", required="rack", cpu=1)
    w.settle()
    assert len(w.where("g-")) == 2
    assert not w.where("h-")
    assert w.condition("h")[1] == Reason.INVALID_SPEC


def test_a_topology_with_a_fault_is_named() -> None:
    """Semantics §11.5."""
    w = fabric(THREE_RACKS, topology=Topology("default", (), "spec.levels: 9 items"))
    gang(w, "g", 2, required="rack")
    w.settle()
    assert "Topology default cannot be used: spec.levels: 9 items" in message(w, "g")


def test_a_level_that_is_added_leaves_running_gangs_alone() -> None:
    """Semantics §11.5."""
    w = fabric(THREE_RACKS)
    gang(w, "g", 3, required="rack", cpu=2)
    w.settle()
    w.tell(TopologySeen(Topology("default", (*FABRIC.levels, Level("host", HOST)))))
    w.settle()
    assert not w.evictions
    topology = w.status["g"].topology
    assert topology is not None
    assert topology.spread[-1] == ("host", 3)


def test_several_topologies_must_be_told_apart() -> None:
    """Semantics §11.5."""
    w = fabric(THREE_RACKS)
    w.tell(TopologySeen(Topology("other", (Level("rack", RACK),))))
    gang(w, "g", 3, required="rack", cpu=2)
    w.settle()
    assert "there are several Topologies; name one of default, other" in message(w, "g")


def test_gangs_are_counted_by_the_domains_that_they_lie_in() -> None:
    """Semantics §11.4."""
    w = fabric("a1=z/b/r1:1 b1=z/b/r2:2")
    gang(w, "g", 2, preferred="rack")
    w.settle()
    gang(w, "h", 1, preferred=RACK)
    w.settle()
    found = w.engine.census().topology_gangs
    assert found == {("zone", "1"): 1, ("block", "1"): 1, ("rack", "1"): 1, ("", "1"): 1}
    w.drop_group("g")
    w.settle()
    assert w.engine.census().topology_gangs == {("", "1"): 1}
