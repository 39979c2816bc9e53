# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §11: what a gang says that waits for a domain."""

from dataclasses import replace
from typing import Any

from enbloc.engine.events import TopologyGone, TopologySeen
from enbloc.model.groups import OnIncomplete
from enbloc.model.names import Reason
from enbloc.model.pods import PodVolume
from enbloc.model.topology import Level, Slice, Topology, TopologyPart, TopologyRequest
from tests.rules.fabrics import BLOCK, ONE_CPU, RACK, ZONE, fabric, gang, message
from tests.rules.world import JOB, World
from tests.world.builders import spec


def says_no_more_than_it_knows(of: World, name: str) -> bool:
    """Whether the message ends with a reason, and not where one should begin."""
    return message(of, name).endswith(".")


def test_where_no_node_is_in_a_domain_each_node_has_that_reason() -> None:
    """Semantics §11.1."""
    w = fabric("a1=z/b b1=z/b")
    gang(w, "g", 2, required="rack")
    w.settle()
    assert "0/2 nodes are available: 2 node(s) were in no domain of rack." in message(w, "g")
    assert says_no_more_than_it_knows(w, "g")


def test_a_levels_name_without_a_topology_is_told_from_a_label_that_nodes_lack() -> None:
    """Semantics §11.5: it is a node label then, and so the gang waits for nodes that have it."""
    w = fabric("a1=z/b/r1:4", topology=None)
    gang(w, "g", 2, required="rack")
    gang(w, "h", 2, required="example.com/shelf")
    w.settle()
    assert "; if rack is to be a level, create the Topology that has it. " in message(w, "g")
    assert "is to be a level" not in message(w, "h")


def test_of_tiers_nodes_lack_a_hypernode_and_no_label() -> None:
    """Semantics §11.1: nodes have no such label on the API server."""
    name = "topology.volcano.sh/hypernodes"
    levels = (Level("tier-2", "hypernode:tier-2"), Level("tier-1", "hypernode:tier-1"))
    w = fabric("a1=", topology=Topology(name, levels), cpu=4)
    w.node("b1", 1, labels=tuple((level.label, "s1") for level in levels))
    gang(w, "g", 2, required="tier-1", topology=name)
    w.settle()
    assert "1 of 2 nodes is in no HyperNode of tier-1" in message(w, "g")
    assert "label" not in message(w, "g")


def sliced(of: World) -> None:
    """A gang of four in two racks, of which the first loses a node with a member."""
    request = TopologyRequest(slices=(Slice(2, "rack"),))
    of.group("g", 4, topology=request, timeout=60, on_incomplete="Keep")
    for index in range(4):
        of.member(f"g-{index}", "g", spec=ONE_CPU)
    of.settle()
    of.run_pods(sorted(of.where("g-")))
    of.settle()
    lost, node = next((pod, node) for pod, node in of.where("g-").items() if node == "a2")
    of.lose_node(node)
    of.member(lost, "g", spec=ONE_CPU)
    of.settle()


def test_a_slice_names_the_domain_that_holds_the_rest_of_it() -> None:
    """Semantics §11.9: another rack may have room, and is not where it may go."""
    w = fabric("a1=z/b/r1:1 a2=z/b/r1:1 b1=z/b/r2:2 c1=z/b/r3:8")
    w.pod("other", node="c1", spec=spec(cpu=7))
    sliced(w)
    assert w.condition("g")[1] == Reason.TOPOLOGY_DOMAIN_FULL
    said = message(w, "g")
    assert "rack z/b/r1, which holds others of the slice, has no room for rank" in said
    assert "node(s) were not in rack z/b/r1 with room for the slice" in said


def test_a_slice_names_its_domain_also_where_there_is_no_room_anywhere() -> None:
    """Semantics §11.9."""
    w = fabric("a1=z/b/r1:1 a2=z/b/r1:1 b1=z/b/r2:2")
    sliced(w)
    said = message(w, "g")
    assert "rack z/b/r1, which holds others of the slice, has no room for rank" in said


def test_a_member_beyond_the_minimum_names_the_domain_that_is_full() -> None:
    """Semantics §11.2."""
    w = fabric("a1=z/b/r1:2 b1=z/b/r2:4")
    w.pod("other", node="b1", spec=spec(cpu=3))
    gang(w, "g", 3, minimum=2, required="rack")
    w.settle()
    [waiting] = {"g-0", "g-1", "g-2"} - w.where("g-").keys()
    _, said = w.pod_conditions(waiting)[-1]
    assert "1 node(s) were outside of rack z/b/r1" in said


def test_the_event_of_a_scheduled_gang_names_the_domain() -> None:
    """Semantics §11.4."""
    w = fabric("a1=z/b/r1:4 a2=z/b/r2:4")
    gang(w, "g", 2, required="rack")
    w.settle()
    [event] = w.events("GangScheduled")
    assert event.note == "All 2 required members are scheduled in rack z/b/r1"


def test_a_started_gang_says_that_the_domain_of_its_members_is_full() -> None:
    """Semantics §11.2: as long as nothing but room is lacking there."""
    w = fabric("a1=z/b/r1 a2=z/b/r1:1 b1=z/b/r2:8")
    gang(w, "g", 3, required="rack", timeout=60)
    w.settle()
    assert set(w.where("g-").values()) == {"a1", "a2"}
    w.run_pods(sorted(w.where("g-")))
    w.settle()
    lost = w.lose_node("a2")
    w.settle()
    assert w.condition("g")[1] == Reason.BELOW_MINIMUM, "there is no replacement yet"
    w.member(lost, "g", spec=ONE_CPU, owner=JOB)
    w.settle()
    assert w.condition("g")[1] == Reason.TOPOLOGY_DOMAIN_FULL
    lacks = "2 of 3 members are left: rack z/b/r1, which holds members, has room for 0 of 1"
    assert message(w, "g").startswith(lacks)
    w.node("a3", 1, labels=tuple(sorted(((ZONE, "z"), (BLOCK, "b"), (RACK, "r1")))))
    w.settle()
    assert w.condition("g")[1] == Reason.SCHEDULED


def test_that_the_domain_of_a_role_is_full_is_told_alike() -> None:
    """Semantics §11.2, §11.7: the group may be anywhere, its workers in one rack."""
    w = fabric("a1=z/b/r1:1 a2=z/b/r1:1 b1=z/b/r2:1")
    workers = TopologyPart("spec.roles[w]", frozenset("w"), TopologyRequest(required="rack"))
    w.group("g", 2, roles=[("w", 2)], topology_parts=(workers,), timeout=60)
    for index in range(2):
        w.member(f"g-{index}", "g", spec=ONE_CPU, role="w", owner=JOB)
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    w.settle()
    lost = w.lose_node("a2")
    w.member(lost, "g", spec=ONE_CPU, role="w", owner=JOB)
    w.settle()
    assert w.condition("g")[1] == Reason.TOPOLOGY_DOMAIN_FULL
    assert "rack z/b/r1, which holds members, has room for 0 of 1" in message(w, "g")


def test_the_block_of_a_gang_is_named_where_no_rack_in_it_takes_a_role() -> None:
    """Semantics §11.2: the gang in one block, its workers in one rack of it."""
    w = fabric("a1=z/b/r1:1 a2=z/b/r2:1 a3=z/b/r2:1 b1=z/c/r3:4")
    w.pod("other", node="b1", spec=spec(cpu=3))
    workers = TopologyPart("spec.roles[w]", frozenset("w"), TopologyRequest(required="rack"))
    block = TopologyRequest(required="block")
    roles = [("m", 1), ("w", 2)]
    w.group("g", 3, roles=roles, topology=block, topology_parts=(workers,), timeout=60)
    for index, role in enumerate("mww"):
        w.member(f"g-{index}", "g", spec=ONE_CPU, role=role, owner=JOB)
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    w.settle()
    lost = [w.lose_node("a2"), w.lose_node("a3")]
    w.node("a4", 1, labels=tuple(sorted(((ZONE, "z"), (BLOCK, "b"), (RACK, "r2")))))
    w.node("a5", 1, labels=tuple(sorted(((ZONE, "z"), (BLOCK, "b"), (RACK, "r4")))))
    for pod in lost:
        w.member(pod, "g", spec=ONE_CPU, role="w", owner=JOB)
    w.settle()
    said = message(w, "g")
    assert "block z/b, which holds members, does not take 2" in said
    assert w.condition("g")[1] == Reason.TOPOLOGY_DOMAIN_FULL


def lacking_one(**more: Any) -> tuple[World, str]:
    """A started gang in a rack that has room for one more, of which one member was deleted."""
    w = fabric("a1=z/b/r1 a2=z/b/r1 b1=z/b/r2:8")
    gang(w, "g", 3, required="rack", timeout=60, **more)
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    w.settle()
    [lost, *_] = sorted(w.where("g-"))
    w.delete(lost)
    w.settle()
    return w, lost


def test_that_a_domain_is_full_is_said_of_a_gang_of_which_nothing_is_evicted() -> None:
    """Semantics §11.2: whatever else its message says."""
    w, lost = lacking_one(on_incomplete=OnIncomplete.KEEP)
    w.member(lost, "g", spec=spec(cpu=4), owner=JOB)
    w.settle()
    assert w.condition("g")[1] == Reason.TOPOLOGY_DOMAIN_FULL
    assert message(w, "g").endswith("(onIncomplete is Keep: its bound members are not evicted)")


def test_a_domain_is_not_full_because_a_claim_does_not_exist() -> None:
    """Semantics §11.2: room in the domain would not help."""
    w, lost = lacking_one()
    claiming = replace(ONE_CPU, volumes=(PodVolume("data", "claim"),))
    w.member(lost, "g", spec=claiming, owner=JOB, claims=("none",))
    w.settle()
    assert 'persistentvolumeclaim "none" not found' in message(w, "g")
    assert w.condition("g")[1] == Reason.BELOW_MINIMUM


def test_a_gang_waits_for_topologies_of_another_project_that_cannot_be_read() -> None:
    """Semantics §6.3: the value of a label alone may be a larger domain than is required."""
    unread = Topology("kueue.x-k8s.io/*", problem="the scheduler cannot read topologies.kueue")
    theirs = Topology("kueue.x-k8s.io/default", (Level(ZONE, ZONE), Level(RACK, RACK)))
    w = fabric("a1=y/b/r1:1 b1=z/b/r1:1", topology=None)
    w.tell(TopologySeen(unread))
    gang(w, "any", 2, topology="kueue.x-k8s.io/*", required=RACK)
    gang(w, "named", 2, topology="kueue.x-k8s.io/default", required=RACK)
    w.settle()
    for name in ("any", "named"):
        assert w.condition(name)[1] == Reason.INVALID_SPEC
        assert "the scheduler cannot read topologies.kueue" in message(w, name)
    gang(w, "soft", 1, topology="kueue.x-k8s.io/*", preferred=RACK)
    gang(w, "other", 1, required=RACK)
    w.settle()
    assert w.condition("soft")[0]
    assert w.condition("other")[0]
    w.tell(TopologySeen(theirs))
    w.tell(TopologyGone(unread.name))
    w.settle()
    assert w.condition("any")[1] == w.condition("named")[1] == Reason.INFEASIBLE


def test_a_gang_waits_for_topologies_of_ours_that_cannot_be_read() -> None:
    """Semantics §6.3: a node label by the name of a level is not meant, and may be wider."""
    unread = Topology("*", problem="the scheduler cannot read topologies")
    w = World()
    for node, zone in (("a", "y"), ("b", "z")):
        w.node(node, 1, labels=(("rack", "r1"), (RACK, "r1"), (ZONE, zone)))
    w.tell(TopologySeen(unread))
    gang(w, "level", 2, required="rack")
    gang(w, "named", 2, required="rack", topology="default")
    w.settle()
    for name in ("level", "named"):
        assert w.condition(name)[1] == Reason.INVALID_SPEC
        assert "the scheduler cannot read topologies" in message(w, name)
    gang(w, "soft", 1, preferred="rack")
    gang(w, "label", 1, required=RACK)
    w.settle()
    assert w.condition("soft")[0]
    assert w.condition("label")[0]
    w.tell(TopologySeen(Topology("default", (Level("zone", ZONE), Level("rack", RACK)))))
    w.tell(TopologyGone("*"))
    w.settle()
    assert w.condition("level")[1] == w.condition("named")[1] == Reason.INFEASIBLE
