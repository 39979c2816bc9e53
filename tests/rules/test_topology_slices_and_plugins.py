# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §11.9: slices of members for which plugins decide where the others may be."""

from collections import Counter

import pytest

from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector, SpreadConstraint
from enbloc.model.topology import Slice, TopologyRequest
from tests.rules.fabrics import (
    BLOCK,
    HOST,
    RACK,
    ZONE,
    fabric,
    message,
    racks,
)
from tests.rules.world import World
from tests.world.builders import spec

POOLS = {"a1": "r1/p1", "a2": "r2/p1", "b1": "r3/p2", "b2": "r4/p2"}


def pools_of_racks() -> World:
    """Two pools of two racks of four CPUs, and a node of one CPU in the second pool."""
    w = fabric("")
    for name, at in {**POOLS, "c1": "r5/p2"}.items():
        rack, pool = at.split("/")
        labels = ((BLOCK, "b"), (RACK, rack), (ZONE, "z"), ("pool", pool))
        w.node(name, 1 if name == "c1" else 4, labels=labels)
    return w


NEAR_CACHE = PodAffinity(
    required=(PodAffinityTerm("pool", Selector((Requirement("app", Operator.IN, ("cache",)),))),)
)


def near_the_cache(w: World) -> None:
    """A gang of two slices, in the pool of a cache."""
    w.group("g", 8, topology=TopologyRequest("", slices=(Slice(4, "rack"),)), timeout=60)
    for index in range(8):
        w.member(f"g-{index}", "g", spec=spec(cpu=1, pod_affinity=NEAR_CACHE))


def test_slices_lie_where_pod_affinity_allows_though_other_racks_come_first() -> None:
    """Semantics §11.9 and §2.1."""
    w = pools_of_racks()
    w.pod("cache", node="c1", spec=spec(cpu=1), labels=(("app", "cache"),))
    near_the_cache(w)
    w.settle()
    assert set(w.where("g-").values()) == {"b1", "b2"}


def test_slices_that_wait_for_who_they_want_to_be_near_are_woken_by_it() -> None:
    """Semantics §11.9 and §6.2."""
    w = pools_of_racks()
    near_the_cache(w)
    w.settle()
    assert not w.where("g-")
    assert "node(s) didn't match pod affinity rules" in message(w, "g")
    w.pod("cache", node="c1", spec=spec(cpu=1), labels=(("app", "cache"),))
    w.settle()
    assert set(w.where("g-").values()) == {"b1", "b2"}


def test_slices_are_spread_as_evenly_as_is_asked() -> None:
    """Semantics §11.9 and §2.1."""
    w = pools_of_racks()
    own = Selector((Requirement("app", Operator.IN, ("g",)),))
    even = spec(cpu=1, spread=(SpreadConstraint("pool", 2, selector=own),))
    w.group("g", 8, topology=TopologyRequest("", slices=(Slice(2, "rack"),)), timeout=60)
    for index in range(8):
        w.member(f"g-{index}", "g", spec=even, labels=(("app", "g"),))
    w.settle()
    assert Counter(POOLS[node][-1] for node in w.where("g-").values()) == {"1": 4, "2": 4}


def test_slices_are_spread_however_many_roomier_racks_may_take_none() -> None:
    """Semantics §11.9: racks where no member may be are not tried."""
    w = fabric("")
    for pool, cpu in (("p1", 8), ("p2", 4)):
        for index in range(12):
            at = ((BLOCK, "b"), (RACK, f"{pool}-{index}"), (ZONE, "z"), ("pool", pool))
            w.node(f"{pool}-{index}", cpu, labels=at)
    own = Selector((Requirement("app", Operator.IN, ("g",)),))
    even = spec(cpu=1, spread=(SpreadConstraint("pool", 4, selector=own),))
    w.group("g", 16, topology=TopologyRequest("", slices=(Slice(4, "rack"),)), timeout=60)
    for index in range(16):
        w.member(f"g-{index}", "g", spec=even, labels=(("app", "g"),))
    w.settle()
    assert Counter(node[:2] for node in w.where("g-").values()) == {"p1": 8, "p2": 8}


def test_slices_go_to_racks_that_were_not_tried_before_those_that_refused_their_like() -> None:
    """Semantics §11.9: one member for each host, though racks have room for a slice more."""
    w = fabric(" ".join(f"n{index}=z/b/r{index // 3}:4" for index in range(60)))
    own = Selector((Requirement("app", Operator.IN, ("g",)),))
    even = spec(cpu=1, spread=(SpreadConstraint(HOST, 1, selector=own),))
    w.group("g", 36, topology=TopologyRequest("", slices=(Slice(2, "rack"),)), timeout=60)
    for index in range(36):
        w.member(f"g-{index}", "g", spec=even, labels=(("app", "g"),))
    w.settle()
    assert sorted(racks(w, "g").values()) == [2] * 18


def test_a_rack_is_asked_again_once_a_slice_has_what_another_one_was_lacking_there() -> None:
    """Semantics §11.9: the members that came are of another kind than those that were refused."""
    w = fabric("")
    for name, cpu, pool in (("a1", 4, "p1"), ("b1", 4, "p1"), ("c1", 8, "p2")):
        labels = ((BLOCK, "b"), (RACK, f"r-{name}"), (ZONE, "z"), ("pool", pool))
        w.node(name, cpu, labels=labels)
    store = spec(cpu=1)
    first = spec(cpu=1, node_selector=(("pool", "p1"),))
    reader = spec(cpu=1, pod_affinity=NEAR_CACHE)
    w.group("g", 16, topology=TopologyRequest("", slices=(Slice(4, "rack"),)), timeout=60)
    for index in range(16):
        kind = (first, reader, store, reader)[index // 4]
        app = "reader" if kind is reader else "cache"
        w.member(f"g-{index}", "g", spec=kind, labels=(("app", app),))
    w.settle()
    assert Counter(w.where("g-").values()) == {"a1": 4, "b1": 4, "c1": 8}


def test_blocks_that_take_no_slice_leave_enough_to_try_one_that_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Semantics §11.9 and §11.3: on hosts of all but one block, two members would have room."""
    monkeypatch.setattr("enbloc.engine.decide.domain.MOST_ROWS", 520_000)
    full = (f"n{at}=z/b{at // 40}/r{at % 40 // 8}:2" for at in range(240))
    able = (f"able-{at}=z/able/r{at % 5}:1" for at in range(90))
    w = fabric(" ".join((*full, *able)))
    own = Selector((Requirement("app", Operator.IN, ("g",)),))
    even = spec(cpu=1, spread=(SpreadConstraint(HOST, 1, selector=own),))
    request = TopologyRequest("", "block", slices=(Slice(16, "rack"),))
    w.group("g", 64, topology=request, timeout=60)
    for index in range(64):
        w.member(f"g-{index}", "g", spec=even, labels=(("app", "g"),))
    w.settle()
    assert {node[:4] for node in w.where("g-").values()} == {"able"}


def test_what_others_do_elsewhere_takes_no_member_out_of_a_plan_that_is_spread() -> None:
    """Semantics §3.1: members are looked at in the order in which they were accepted."""
    w = fabric("a1=z/b/r1:2 b1=z/b/r2:2 c1=z/b/r3:2", slots=3)
    own = Selector((Requirement("app", Operator.IN, ("g",)),))
    even = spec(cpu=1, spread=(SpreadConstraint(RACK, 1, selector=own),))
    w.group("g", 6, timeout=600, topology=TopologyRequest("", "block"))
    for index in range(6):
        w.member(f"g-{index}", "g", spec=even, labels=(("app", "g"),))
    w.step()
    w.node("far", 1)
    w.settle()
    assert len(w.where("g-")) == 6
    assert len(w.plans()) == 1
