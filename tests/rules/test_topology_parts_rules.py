# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §11: roles, slices and groups, each in domains of their own."""

from collections import Counter
from dataclasses import replace
from typing import Any, Final

import pytest

from enbloc.engine.state import ClusterState
from enbloc.engine.state.checkpoint import Seat
from enbloc.model.names import RANK_KEY, Reason
from enbloc.model.pods import PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector, SpreadConstraint
from enbloc.model.topology import KeepApart, Slice, TopologyPart, TopologyRequest
from tests.rules.fabrics import BLOCK, ONE_CPU, RACK, THREE_RACKS, ZONE, fabric, lying, message
from tests.rules.world import NEXT_JOB, World
from tests.world.builders import spec

# ── roles and sub-groups ─────────────────────────────────────────────────────────────────────────


def part(roles: str, required: str, *parts: TopologyPart) -> TopologyPart:
    """Each of these roles, or all of them, in one domain of a level."""
    names = frozenset(roles.split())
    return TopologyPart(f"spec.roles[{roles}]", names, TopologyRequest("", required), parts)


def of_roles(of: World, *parts: TopologyPart, required: str = "", **counts: int) -> None:
    """A gang "g" of roles with so many members of one CPU."""
    of.group(
        "g",
        sum(counts.values()),
        roles=list(counts.items()),
        topology=TopologyRequest("", required) if required else None,
        topology_parts=parts,
        timeout=60,
    )
    for role, count in counts.items():
        for index in range(count):
            of.member(f"g-{role}-{index}", "g", role=role, spec=ONE_CPU)


def racks_of(of: World, role: str) -> set[str]:
    """The racks of members of a role, by the first letters of their nodes."""
    return {node[0] for name, node in of.where("g-").items() if name.startswith(f"g-{role}")}


def test_each_role_lies_in_a_rack_of_its_own() -> None:
    """Semantics §11.7."""
    w = fabric("a1=z/b/r1:2 a2=z/b/r1:1 b1=z/b/r2:2 b2=z/b/r2:2")
    of_roles(w, part("prefill", "rack"), part("decode", "rack"), prefill=3, decode=4)
    w.settle()
    assert racks_of(w, "prefill") == {"a"}
    assert racks_of(w, "decode") == {"b"}


def test_nothing_starts_while_one_role_finds_no_rack() -> None:
    """Semantics §11.7."""
    w = fabric("a1=z/b/r1:2 a2=z/b/r1:1 b1=z/b/r2:2 b2=z/b/r2:1")
    of_roles(w, part("prefill", "rack"), part("decode", "rack"), prefill=2, decode=4)
    w.settle()
    assert not w.where("g-")
    assert "spec.roles[decode]: rack" in message(w, "g")


def test_a_domain_with_room_for_others_than_are_needed_is_not_said_to_have_room() -> None:
    """Semantics §11.5: of the role with more members than it needs there is room for all."""
    w = fabric("a1=z/b/r1:4")
    w.group("g", 4, roles=[("x", 2), ("y", 2)], topology=TopologyRequest("", "rack"), timeout=60)
    for index in range(4):
        w.member(f"g-x-{index}", "g", role="x", spec=ONE_CPU)
        w.member(f"g-y-{index}", "g", role="y", spec=spec(cpu=5))
    w.settle()
    assert "z/b/r1, the largest, has room for 4 when it is empty, but not for each role. " in (
        message(w, "g")
    )


def test_a_role_that_says_nothing_lies_anywhere_in_the_domain_of_its_group() -> None:
    """Semantics §11.7."""
    w = fabric("a1=z/b/r1:2 b1=z/b/r2:3 c1=z/c/r1:8")
    of_roles(w, part("worker", "rack"), required="block", leader=2, worker=3)
    w.pod("other", node="c1", spec=spec(cpu=4))
    w.settle()
    assert racks_of(w, "worker") == {"b"}
    assert racks_of(w, "leader") == {"a"}


def test_roles_that_are_one_part_lie_in_one_rack_together() -> None:
    """Semantics §11.7."""
    w = fabric("a1=z/b/r1:3 b1=z/b/r2:4 c1=z/b/r3:9")
    of_roles(w, part("leader worker", "rack"), leader=1, worker=3, other=3)
    w.settle()
    assert racks_of(w, "leader") == racks_of(w, "worker") == {"b"}
    assert len(w.where("g-")) == 7


def test_a_part_within_a_part_lies_within_its_domain() -> None:
    """Semantics §11.7."""
    w = fabric("a1=z/b1/r1:2 b1=z/b1/r2:2 c1=z/b2/r1:2 d1=z/b2/r2:1")
    inner = part("x", "rack"), part("y", "rack")
    of_roles(w, part("x y", "block", *inner), x=2, y=2)
    w.settle()
    assert racks_of(w, "x") | racks_of(w, "y") == {"a", "b"}
    assert len(racks_of(w, "x")) == len(racks_of(w, "y")) == 1


def test_a_lost_member_of_a_role_is_replaced_in_the_rack_of_that_role() -> None:
    """Semantics §11.7 and §11.2."""
    w = fabric("a1=z/b/r1:1 a2=z/b/r1:1 a3=z/b/r1:1 b1=z/b/r2:2 b2=z/b/r2:8")
    of_roles(w, part("x", "rack"), part("y", "rack"), x=2, y=5)
    w.settle()
    assert racks_of(w, "x") == {"a"}
    w.run_pods(sorted(w.where("g-")))
    w.settle()
    w.lose_node(w.where("g-")["g-x-0"])
    w.member("g-x-new", "g", role="x", spec=ONE_CPU)
    w.settle()
    assert w.where("g-")["g-x-new"].startswith("a")


def test_members_beyond_the_minimum_of_a_role_lie_in_its_rack() -> None:
    """Semantics §11.7 and §11.2."""
    w = fabric("a1=z/b/r1:2 b1=z/b/r2:4 b2=z/b/r2:4")
    w.group("g", 2, roles=[("x", 2)], topology_parts=(part("x", "rack"),), timeout=60)
    for index in range(4):
        w.member(f"g-x-{index}", "g", role="x", spec=ONE_CPU)
    w.settle()
    [rack] = racks_of(w, "x")
    assert len(w.where("g-")) == {"a": 2, "b": 4}[rack]


def test_a_part_that_reaches_beyond_its_group_is_named() -> None:
    """Semantics §11.5."""
    w = fabric(THREE_RACKS)
    of_roles(w, part("x", "zone"), required="rack", x=2)
    w.settle()
    assert not w.where("g-")
    assert "spec.roles[x].topology.required: zone is not within rack" in message(w, "g")


# ── slices ───────────────────────────────────────────────────────────────────────────────────────


def sliced(of: World, members: int, *slices: Slice, required: str = "", **more: Any) -> None:
    """A gang "g" of numbered members of one CPU, cut into slices."""
    request = TopologyRequest("", required, slices=slices)
    of.group("g", more.pop("minimum", members), topology=request, timeout=60, **more)
    for index in range(members):
        of.member(f"g-{index}", "g", spec=ONE_CPU)


def ranks_by_rack(of: World) -> dict[str, list[int]]:
    """The ranks in each rack, by the first letters of nodes."""
    found: dict[str, list[int]] = {}
    for name, node in of.where("g-").items():
        found.setdefault(node[0], []).append(int(name.removeprefix("g-")))
    return {rack: sorted(ranks) for rack, ranks in found.items()}


def test_each_slice_lies_in_one_rack_with_its_ranks_in_order() -> None:
    """Semantics §11.9."""
    w = fabric("a1=z/b/r1:3 a2=z/b/r1:2 b1=z/b/r2:3 c1=z/b/r3:4 c2=z/b/r3:3")
    sliced(w, 8, Slice(4, "rack"))
    w.settle()
    racks_ = ranks_by_rack(w)
    assert sorted(map(tuple, racks_.values())) == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert set(racks_) == {"a", "c"}
    ranks = {bind.target.pod.name: dict(bind.target.annotations)[RANK_KEY] for bind in w.sent}
    assert ranks == {f"g-{index}": str(index) for index in range(8)}


@pytest.mark.parametrize("skew", [4, 8])
def test_neighbours_within_a_slice_of_a_block_lie_in_one_rack(skew: int) -> None:
    """Semantics §11.6 and §11.9, whether the sums of free room or plugins say where slices go."""
    blocks = (f"{rack}{block}{index}=z/{block}/r{rack}:1" for block in "xy" for index in range(4)
              for rack in "ab")  # fmt: skip
    w = fabric(" ".join(blocks))
    own = Selector((Requirement("app", Operator.IN, ("g",)),))
    even = spec(cpu=1, spread=(SpreadConstraint(BLOCK, skew, selector=own),))
    w.group("g", 8, topology=TopologyRequest("", slices=(Slice(4, "block"),)), timeout=60)
    for index in range(8):
        w.member(f"g-{index}", "g", spec=even, labels=(("app", "g"),))
    w.settle()
    for first in range(0, 8, 2):
        assert len({w.where("g-")[f"g-{first + each}"][:2] for each in range(2)}) == 1
    assert len({node[1] for node in w.where("g-").values()}) == 8 // skew


def test_a_gang_waits_where_room_is_enough_but_not_for_whole_slices() -> None:
    """Semantics §11.9."""
    w = fabric("a1=z/b/r1:3 b1=z/b/r2:3 c1=z/b/r3:3")
    sliced(w, 8, Slice(4, "rack"))
    w.settle()
    assert not w.where("g-")
    w.node("d1", 4, labels=((BLOCK, "b"), (RACK, "r4"), (ZONE, "z")))
    w.node("e1", 4, labels=((BLOCK, "b"), (RACK, "r5"), (ZONE, "z")))
    w.settle()
    assert ranks_by_rack(w) == {"d": [0, 1, 2, 3], "e": [4, 5, 6, 7]}


def test_a_domain_with_room_enough_but_not_for_whole_slices_is_not_said_to_have_room() -> None:
    """Semantics §11.9 and §11.5."""
    w = fabric("a1=z/b/r1:4 b1=z/b/r2:4 c1=z/b/r3:4")
    for node in ("a1", "b1", "c1"):
        w.pod(f"other-{node}", node=node, spec=ONE_CPU)
    sliced(w, 8, Slice(4, "rack"), required="block")
    w.settle()
    assert message(w, "g").startswith("block z/b has room for 8 of 8, but not in whole slices. ")
    empty = fabric("a1=z/b/r1:3 b1=z/b/r2:3 c1=z/b/r3:3")
    sliced(empty, 8, Slice(4, "rack"), required="block")
    empty.settle()
    assert empty.condition("g")[1] == Reason.INFEASIBLE
    assert message(empty, "g").startswith(
        "needs a domain of block with room for 8 more members; z/b, the largest, has room for 8 "
        "when it is empty, but not in whole slices. "
    )


def test_the_last_slice_may_be_short() -> None:
    """Semantics §11.9."""
    w = fabric("a1=z/b/r1:4 b1=z/b/r2:2 c1=z/b/r3:4")
    sliced(w, 10, Slice(4, "rack"))
    w.settle()
    assert ranks_by_rack(w)["b"] == [8, 9]


def test_slices_within_slices_lie_within_their_domain() -> None:
    """Semantics §11.9."""
    w = fabric("a1=z/b1/r1:3 b1=z/b1/r2:3 c1=z/b2/r1:2 d1=z/b2/r2:2 e1=z/b3/r1:3")
    sliced(w, 8, Slice(4, "block"), Slice(2, "rack"))
    w.settle()
    racks_ = ranks_by_rack(w)
    assert racks_["a"] + racks_["b"] in ([0, 1, 2, 3], [2, 3, 0, 1], [4, 5, 6, 7], [6, 7, 4, 5])
    assert all(len(ranks) == 2 and ranks[0] % 2 == 0 for ranks in racks_.values())
    assert "e" not in racks_


def test_a_lost_member_is_replaced_in_the_rack_of_its_slice() -> None:
    """Semantics §11.9 and §11.2."""
    w = fabric("a1=z/b/r1:1 a2=z/b/r1:1 a3=z/b/r1:1 b1=z/b/r2:1 b2=z/b/r2:1 c1=z/b/r3:1")
    sliced(w, 4, Slice(2, "rack"), on_incomplete="Keep")
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    w.settle()
    racks_ = ranks_by_rack(w)
    assert sorted(map(tuple, racks_.values())) == [(0, 1), (2, 3)]
    lost = racks_["a"][0]
    w.lose_node(w.where("g-")[f"g-{lost}"])
    w.member(f"g-{lost}", "g", spec=ONE_CPU)
    w.settle()
    assert ranks_by_rack(w) == racks_


def test_members_lost_of_two_slices_within_one_are_replaced_in_the_rack_of_each() -> None:
    """Semantics §11.9 and §11.2."""
    w = fabric("a1=z/b/r1:1 a2=z/b/r1:1 b1=z/b/r2:1 b2=z/b/r2:1")
    sliced(w, 4, Slice(4, "block"), Slice(2, "rack"), on_incomplete="Keep")
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    w.settle()
    racks_ = ranks_by_rack(w)
    lost = [racks_["a"][0], racks_["b"][0]]
    for rank in lost:
        w.delete(f"g-{rank}")
    for rank in lost:
        w.member(f"g-{rank}", "g", spec=ONE_CPU)
    w.settle()
    assert ranks_by_rack(w) == racks_


def test_a_leader_leaves_the_hosts_of_workers_within_a_slice_too() -> None:
    """Semantics §11.9 and §2.1: it takes the smallest host, in which no worker has room."""
    w = fabric("a=z/b/r1:2 b=z/b/r1:3 c=z/b/r1:4")
    w.group("g", 5, topology=TopologyRequest("", slices=(Slice(5, "rack"),)), timeout=60)
    for index in range(5):
        w.member(f"g-{index}", "g", spec=spec(cpu=2 if index else 1))
    w.settle()
    assert len(w.where("g-")) == 5


def test_members_of_two_kinds_are_cut_into_slices_too() -> None:
    """Semantics §11.9."""
    w = fabric("a1=z/b/r1:4 b1=z/b/r2:3 c1=z/b/r3:2")
    w.group("g", 4, topology=TopologyRequest("", slices=(Slice(2, "rack"),)), timeout=60)
    for index in range(4):
        w.member(f"g-{index}", "g", spec=spec(cpu=2 if index % 2 else 1))
    w.settle()
    assert sorted(map(tuple, ranks_by_rack(w).values())) == [(0, 1), (2, 3)]


def test_slices_of_members_that_differ_end_a_decision_when_they_have_cost_enough() -> None:
    """Semantics §11.9 and §9.1."""
    w = fabric(" ".join(f"n{index}=z/b/r{index // 8}:8" for index in range(4000)))
    w.group("g", 240, topology=TopologyRequest("", slices=(Slice(4, "rack"),)), timeout=60)
    for index in range(240):
        w.member(f"g-{index}", "g", spec=spec(cpu=1, memory=f"{index % 64 + 1}Mi"))
    w.settle()
    assert not w.where("g-")
    assert "slices are too many for one decision; use larger ones" in message(w, "g")
    assert "4000 nodes are available: 4000 node(s) were not tried for every slice" in message(
        w, "g"
    )


def test_members_beyond_the_minimum_join_their_slices() -> None:
    """Semantics §11.9 and §11.2."""
    w = fabric("a1=z/b/r1:4 b1=z/b/r2:4 c1=z/b/r3:1 d1=z/b/r4:1")
    sliced(w, 8, Slice(4, "rack"), minimum=6)
    w.settle()
    assert ranks_by_rack(w) == {"a": [0, 1, 2, 3], "b": [4, 5, 6, 7]}


@pytest.mark.parametrize(
    ("slices", "said"),
    [
        ((Slice(0, "rack"),), "slices[0].size: 0 is below 1"),
        ((Slice(5, "block"), Slice(2, "rack")), "slices[1].size: 2 does not divide the 5"),
        ((Slice(4, "rack"), Slice(2, "block")), "slices[1].required: block is not within rack"),
        ((Slice(4, "zone"),), "slices[0].required: zone is not within block"),
        ((Slice(4, "shelf"),), 'slices[0].required: Topology default has no level "shelf"'),
    ],
)
def test_slices_that_make_no_sense_are_named(slices: tuple[Slice, ...], said: str) -> None:
    """Semantics §11.5."""
    w = fabric(THREE_RACKS)
    sliced(w, 4, *slices, required="block")
    w.settle()
    assert not w.where("g-")
    assert f"spec.topology.{said}" in message(w, "g")


# ── replicas apart ───────────────────────────────────────────────────────────────────────────────

LLAMA: Final = (("model", "llama"),)


def replica(of: World, name: str, *rules: KeepApart, required: str = "zone", **more: Any) -> None:
    """A gang of two that keeps away from those of its like."""
    request = TopologyRequest("", required, apart=rules or (KeepApart("zone", LLAMA),))
    of.job(name, 2, pod=ONE_CPU, topology=request, labels=LLAMA, **more)


TWO_ZONES: Final = "a1=z1/b/r1:4 a2=z1/b/r2:4 b1=z2/b/r1:4"


def zones(of: World, name: str) -> set[str]:
    return set(lying(of, name, (ZONE,)))


def test_replicas_lie_in_zones_of_their_own_also_when_they_are_planned_in_one_turn() -> None:
    """Semantics §11.8."""
    w = fabric(TWO_ZONES)
    replica(w, "g")
    replica(w, "h")
    replica(w, "i")
    w.settle()
    assert zones(w, "g") | zones(w, "h") == {"z1", "z2"}
    assert len(zones(w, "g")) == len(zones(w, "h")) == 1
    assert not w.where("i-")
    assert "in no zone apart from g, h" in message(w, "i")


def test_a_replica_takes_the_zone_that_another_has_left() -> None:
    """Semantics §11.8."""
    w = fabric(TWO_ZONES)
    for name in "ghi":
        replica(w, name)
    w.settle()
    for pod in sorted(w.where("g-")):
        w.delete(pod)
    w.drop_group("g")
    w.settle()
    assert len(zones(w, "i")) == 1
    assert zones(w, "i") != zones(w, "h")


@pytest.mark.parametrize("how", ["its labels change", "its PodGroup is deleted"])
def test_a_replica_joins_one_that_it_need_not_keep_away_from_any_more(how: str) -> None:
    """Semantics §11.8: members without a PodGroup that has the labels run on, and do not count."""
    w = fabric(TWO_ZONES)
    for name in "ghi":
        replica(w, name)
    w.settle()
    if how == "its labels change":
        w.put_group(replace(w.groups["g"], labels=(("model", "another"),)))
    else:
        w.drop_group("g")
    w.settle()
    assert len(w.where("g-")) == 2
    assert zones(w, "i") == zones(w, "g")


def test_so_many_replicas_share_a_zone_as_may() -> None:
    """Semantics §11.8."""
    w = fabric(TWO_ZONES)
    for name in "ghij":
        replica(w, name, KeepApart("zone", LLAMA, most=2))
    w.settle()
    counts = Counter(zone for name in "ghij" for zone in zones(w, name))
    assert counts == {"z1": 2, "z2": 2}


def test_who_had_better_be_apart_is_so_where_that_can_be() -> None:
    """Semantics §11.8."""
    w = fabric(TWO_ZONES)
    for name in "ghi":
        replica(w, name, KeepApart("zone", LLAMA, required=False))
    w.settle()
    assert zones(w, "g") != zones(w, "h")
    assert len(w.where("i-")) == 2


def test_groups_without_the_labels_are_no_matter() -> None:
    """Semantics §11.8."""
    w = fabric("a1=z1/b/r1:4")
    w.job("other", 1, pod=ONE_CPU, labels=(("model", "another"),))
    w.settle()
    replica(w, "g")
    w.settle()
    assert len(w.where("g-")) == 2


def test_a_run_that_overlaps_with_the_one_before_does_not_keep_away_from_it() -> None:
    """Semantics §11.8 and §2.4: both are of one group, which has its zone already."""
    w = fabric("a1=z1/b/r1:4")
    replica(w, "g")
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    for index in range(2):
        w.member(f"next-{index}", "g", spec=ONE_CPU, owner=NEXT_JOB)
    w.settle()
    assert zones(w, "g") == {"z1"}
    assert len(w.where("next-")) == 2


def test_a_replacement_goes_where_its_group_is_though_another_has_come_there() -> None:
    """Semantics §11.8 and §11.2."""
    w = fabric("a1=z1/b/r1:1 a2=z1/b/r2:1 a3=z1/b/r3:1 a4=z1/b/r4:1")
    replica(w, "g", owner=None)
    w.settle()
    w.run_pods(sorted(w.where("g-")))
    w.job("other", 1, pod=ONE_CPU, labels=LLAMA)
    w.settle()
    assert zones(w, "other") == {"z1"}
    lost = min(w.where("g-"))
    w.lose_node(w.where("g-")[lost])
    w.member(f"{lost}-new", "g", spec=ONE_CPU, owner=None)
    w.settle()
    assert f"{lost}-new" in w.where("g-")


def test_who_is_where_the_group_is_as_well_is_not_named_as_in_its_way() -> None:
    """Semantics §11.8: one more member there brings no group more."""
    w = fabric("a1=z1/b/r1:1 a2=z1/b/r2:1 a3=z1/b/r3:1 b1=z2/b/r1:4")
    request = TopologyRequest(apart=(KeepApart("zone", LLAMA),))
    for name, nodes in {"g": ["a1", "a2"], "near": ["a3"], "there": ["b1"]}.items():
        w.group(name, len(nodes), topology=request if name == "g" else None, labels=LLAMA)
        for node in nodes:
            w.member(f"{name}-{node}", name, spec=ONE_CPU, node=node)
    w.settle()
    w.run_pods(sorted(w.where()))
    w.settle()
    w.lose_node("a1")
    w.member("g-new", "g", spec=ONE_CPU)
    w.settle()
    assert "in no zone apart from there, " in message(w, "g")


def test_groups_that_wait_are_not_looked_through_by_those_that_keep_away_from_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Semantics §11.8 and §9.1: nobody of them is anywhere."""
    asked: list[PodUID] = []
    seat = ClusterState.seat

    def counted(state: ClusterState, uid: PodUID) -> Seat | None:
        asked.append(uid)
        return seat(state, uid)

    w = fabric(TWO_ZONES)
    for number in range(20):
        w.job(f"waiting-{number}", 50, pod=ONE_CPU, labels=LLAMA)
    w.settle()
    monkeypatch.setattr(ClusterState, "seat", counted)
    replica(w, "g", KeepApart("zone", LLAMA), KeepApart("rack", LLAMA))
    w.settle()
    assert len(w.where("g-")) == 2
    assert len(asked) < 50
