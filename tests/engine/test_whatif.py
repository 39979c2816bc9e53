# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What if a node goes: planned again on a copy."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine import Aftermath
from enbloc.engine.plan import PlanResult
from enbloc.errors import UsageError
from enbloc.model.pods import NodeSelectorTerm, Owner, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.topology import TopologyRequest
from tests.config.files import args, configured
from tests.world.builders import spec
from tests.world.cluster import Cluster

JOB = Owner("Job", "j", "job-1")


def gang(cluster: Cluster, name: str, members: int, priority: int = 0) -> None:
    cluster.gang(name, members, owner=JOB, spec=spec(cpu=4), priority=priority)
    cluster.settle()


def without(cluster: Cluster, *nodes: str) -> dict[str, Aftermath]:
    return {each.group.name: each for each in cluster.engine.without(nodes, cluster.now)}


def goes(after: Aftermath) -> dict[str, str]:
    return {each.pod.key.name: each.node for each in after.plan.assignments}


def test_8_who_would_lose_a_member_learns_where_its_replacement_would_go() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    gang(cluster, "g", 2)
    cluster.node("n3", cpu=4)
    lost = next(name for name, node in cluster.where("g").items() if node == "n1")
    after = without(cluster, "n1")["g"]
    assert [key.name for key in after.lost] == [lost]
    assert after.whole
    assert goes(after) == {lost: "n3"}


def test_8_a_gang_that_could_not_be_completed_says_why() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    gang(cluster, "g", 2)
    after = without(cluster, "n1")["g"]
    assert not after.whole
    assert "0/1 nodes are available" in after.plan.message


def test_8_nothing_changes_by_asking() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2 n3", cpu=4)
    gang(cluster, "g", 2)
    where = cluster.where("g")
    for node in ("n1", "n2", "n3"):
        without(cluster, node)
    cluster.settle(seconds=100)
    assert cluster.where("g") == where
    gang(cluster, "h", 1)
    assert len(cluster.where("h")) == 1


def test_8_gangs_that_lose_members_compete_in_their_order_for_what_is_left() -> None:
    cluster = Cluster()
    cluster.node("n1", cpu=8)
    gang(cluster, "low", 1)
    gang(cluster, "high", 1, priority=10)
    cluster.node("n2", cpu=4)
    after = without(cluster, "n1")
    assert list(after) == ["high", "low"]
    assert (after["high"].whole, after["low"].whole) == (True, False)


def test_8_several_nodes_may_go_at_once() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    gang(cluster, "g", 2)
    cluster.node("n3", cpu=4)
    assert without(cluster, "n1")["g"].whole
    assert not without(cluster, "n1", "n2")["g"].whole


def test_8_a_gang_that_keeps_its_minimum_stays_whole_though_a_member_finds_no_capacity() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    cluster.gang("g", 2, 1, owner=JOB, spec=spec(cpu=4))
    cluster.settle()
    after = without(cluster, "n1")["g"]
    assert after.whole
    assert after.plan.verdict is PlanResult.UNSCHEDULABLE


def test_8_bare_members_are_not_replaced() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    cluster.gang("g", 2, spec=spec(cpu=4))
    cluster.settle()
    cluster.node("n3", cpu=4)
    after = without(cluster, "n1")["g"]
    assert not after.whole
    assert after.plan.message == "1 of 2 members exist"


def test_8_pods_without_a_group_are_placed_too_and_take_the_capacity_of_later_ones() -> None:
    cluster = Cluster()
    cluster.node("n1", cpu=8)
    cluster.pod("web", spec=spec(cpu=4), owner=Owner("ReplicaSet", "web", "rs-1"))
    cluster.settle()
    cluster.now += 1
    gang(cluster, "g", 1)
    cluster.node("n2", cpu=4)
    after = without(cluster, "n1")
    assert goes(after["/web"]) == {"web": "n2"}
    assert not after["g"].whole


def test_8_pods_that_belong_to_the_node_go_with_it() -> None:
    only = NodeSelectorTerm(fields=(Requirement("metadata.name", Operator.IN, ("n1",)),))
    pinned: PodSpec = spec(cpu=1, node_affinity=(only,))
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    cluster.pod("agent", spec=pinned, owner=Owner("DaemonSet", "agent", "ds-1"))
    cluster.settle()
    assert cluster.pods["agent"].node == "n1"
    assert without(cluster, "n1") == {}


def test_8_roles_keep_their_own_minimums() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2 n3", cpu=4)
    cluster.group("g", 2, roles=(("chief", 1), ("worker", 1)))
    for role in ("chief", "worker"):
        cluster.pod(role, "g", owner=JOB, spec=spec(cpu=4), role=role)
    cluster.settle()
    node = cluster.where()["chief"]
    after = without(cluster, node)["g"]
    assert after.whole
    assert [(floor.role, floor.bound, floor.pending) for floor in after.facts.roles] == [
        ("chief", 0, 1),
        ("worker", 1, 0),
    ]


def test_8_capacity_that_is_reserved_for_others_stays_theirs() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2 n3", cpu=4)
    cluster.group("app", 1, min_resources=(("cpu", 8000),))
    cluster.pod("driver", "app", owner=JOB, spec=spec(cpu=4))
    cluster.settle()
    gang(cluster, "g", 1)
    after = without(cluster, cluster.where("g")["g-0"])["g"]
    assert not after.whole
    assert "reserved for" in after.plan.message


def test_8_a_started_gang_needs_its_min_resources_again_only_if_it_loses_all_its_members() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2 n3", cpu=4)
    cluster.group("g", 2, min_resources=(("cpu", 12_000),))
    for name in ("g-0", "g-1"):
        cluster.pod(name, "g", owner=JOB, spec=spec(cpu=4))
    cluster.settle()
    cluster.run_pods(list(cluster.where("g")))
    cluster.settle()
    cluster.node("n4", cpu=4)
    nodes = sorted(set(cluster.where("g").values()))
    assert without(cluster, nodes[0])["g"].whole
    after = without(cluster, *nodes)["g"]
    assert not after.whole
    assert "minResources needs 12 cpu" in after.plan.message


def test_what_the_profile_ignores_is_not_wanted_free_again() -> None:
    """Semantics §5.1, §8.2."""
    ignoring = {"ignoredResources": ["example.com/memory"]}
    cluster = Cluster(profiles=configured(args("NodeResourcesFit", ignoring)).profiles)
    cluster.nodes("n1 n2", cpu=4)
    cluster.group("g", 1, min_resources=(("cpu", 4_000), ("example.com/memory", 3)))
    asking = replace(spec(cpu=4), requests=(*spec(cpu=4).requests, ("example.com/memory", 3)))
    cluster.pod("g-0", "g", owner=JOB, spec=asking)
    cluster.settle()
    assert without(cluster, cluster.where()["g-0"])["g"].whole


def test_who_gives_way_is_told_apart_from_what_fits_as_it_is() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    gang(cluster, "high", 1, priority=10)
    cluster.gang("low", 2, owner=JOB, spec=spec(cpu=1))
    cluster.settle()
    cluster.node("n3", cpu=1)
    node = cluster.where()["high-0"]
    after = without(cluster, node)

    assert list(after) == ["high", "low"]
    assert after["high"].whole
    assert {key.name for key in after["high"].victims} == {"low-0", "low-1"}
    assert goes(after["high"]) == {"high-0": "n2" if node == "n1" else "n1"}
    assert (after["low"].whole, after["low"].preempted_by) == (False, after["high"].group)
    assert {key.name for key in after["low"].lost} == {"low-0", "low-1"}
    cluster.settle(seconds=100)
    assert not cluster.evicted

    cluster.node("n4", cpu=4)
    after = without(cluster, node)
    assert after["high"].whole
    assert not after["high"].victims
    assert "low" not in after


def test_who_gives_way_may_have_others_give_way() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2 n3", cpu=4)
    for name, priority in (("high", 10), ("mid", 5), ("low", 0)):
        gang(cluster, name, 1, priority=priority)
    where = cluster.where()
    after = without(cluster, where["mid-0"])

    assert {each: after[each].whole for each in after} == {"mid": True, "low": False}
    after = without(cluster, where["high-0"], where["low-0"])
    assert {each: after[each].whole for each in after} == {
        "high": True,
        "mid": False,
        "low": False,
    }
    assert after["mid"].preempted_by == after["high"].group


def test_who_gives_way_with_all_members_may_go_to_another_domain() -> None:
    """Semantics §11.2: when the last one is gone, the group is free to go elsewhere."""
    cluster = Cluster()
    for name, rack in (("n1", "p"), ("n2", "p"), ("n3", "q")):
        cluster.node(name, cpu=4 if rack == "p" else 2, labels=(("example.com/rack", rack),))
    cluster.group("high", 1)
    cluster.pod("high-0", "high", node="n1", owner=JOB, spec=spec(cpu=4), priority=10)
    cluster.group("low", 2, topology=TopologyRequest(required="example.com/rack"))
    for at in range(2):
        cluster.pod(f"low-{at}", "low", node="n2", owner=JOB, spec=spec(cpu=1))
    cluster.settle()
    after = without(cluster, "n1")

    assert {key.name for key in after["high"].victims} == {"low-0", "low-1"}
    assert after["low"].whole
    assert goes(after["low"]) == {"low-0": "n3", "low-1": "n3"}


def test_a_gang_that_loses_all_beyond_its_minimum_gives_way_whole() -> None:
    """Semantics §10.1: the members that it cannot run without are one unit."""
    cluster = Cluster()
    cluster.nodes("n1", cpu=6)
    cluster.nodes("n2 n3", cpu=4)
    cluster.group("high", 1)
    cluster.pod("high-0", "high", node="n1", owner=JOB, spec=spec(cpu=4), priority=10)
    cluster.group("low", 2)
    for at in range(3):
        cluster.pod(f"low-{at}", "low", node=f"n{at + 1}", owner=JOB, spec=spec(cpu=2))
    cluster.settle()
    after = without(cluster, "n1")

    assert {key.name for key in after["high"].victims} == {"low-1", "low-2"}
    assert {key.name for key in after["low"].lost} == {"low-0", "low-1", "low-2"}


@pytest.mark.parametrize("beyond", [False, True], ids=["its minimum", "a member beyond it"])
def test_what_victims_leave_goes_to_who_comes_first(beyond: bool) -> None:
    """Semantics §2.7: the order decides who takes capacity."""
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    cluster.nodes("n2", cpu=4)
    cluster.nodes("n3", cpu=1)
    first: dict[str, Any] = {"owner": JOB, "priority": 20, "preempts": False}
    cluster.group("first", 1)
    cluster.pod("first-0", "first", node="n1", spec=spec(cpu=4), **first)
    if beyond:
        cluster.pod("first-1", "first", node="n3", **first)
    cluster.pod("second", node="n1", spec=spec(cpu=4), priority=10, owner=JOB)
    cluster.gang("low", 1, node="n2", spec=spec(cpu=4), owner=JOB)
    cluster.settle()
    after = list(cluster.engine.without(["n1"], cluster.now))

    assert [each.whole for each in after] == [True, False, False]
    assert goes(after[0]) == {"first-0": "n2"}
    assert [key.name for key in after[1].victims] == ["low-0"]


def test_who_fills_a_reservation_stays_where_more_of_it_would_be_lacking() -> None:
    """Semantics §10.1: the lost member filled it too, as long as its node was there."""
    cluster = Cluster()
    cluster.nodes("n1 n2 n3", cpu=2)
    cluster.pod("full", node="n3", priority=10, spec=spec(cpu=2))
    cluster.group("workers", 1, owner="app")
    cluster.pod("workers-0", "workers", node="n2", priority=-1, owner=JOB, spec=spec(cpu=2))
    cluster.group("driver", 1, owner="app", min_resources=(("cpu", 4000),))
    cluster.pod("driver-0", "driver", priority=10, owner=JOB, spec=spec(cpu=2))
    cluster.settle()
    assert cluster.where("driver") == {"driver-0": "n1"}
    after = without(cluster, "n1")
    assert list(after) == ["driver"]
    assert "minResources needs 2 cpu" in after["driver"].plan.message


def test_nobody_gives_way_to_who_may_not_preempt() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    cluster.gang("high", 1, owner=JOB, spec=spec(cpu=4), priority=10, preempts=False)
    cluster.settle()
    gang(cluster, "low", 1)
    after = without(cluster, cluster.where()["high-0"])

    assert list(after) == ["high"]
    assert not after["high"].whole


def test_a_node_that_is_not_there_is_named() -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    with pytest.raises(UsageError, match="node n8, n9 not found"):
        cluster.engine.without(("n9", "n1", "n8"), cluster.now)


def test_a_node_that_is_named_twice_goes_once() -> None:
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    gang(cluster, "g", 1)
    twice = without(cluster, "n1", "n1")
    assert twice == without(cluster, "n1")
    assert twice["g"].whole
