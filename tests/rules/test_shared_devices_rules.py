# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §2.10: members that share a claim, and devices that some nodes reach in common."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from enbloc.devices.facts import AllocatedDevice, Allocation
from enbloc.engine.events import FactSeen
from enbloc.model.names import Reason
from enbloc.model.pods import PodResourceClaim
from enbloc.model.topology import Slice, TopologyPart, TopologyRequest
from tests.devices.objects import DRIVER, claim, device, device_class, exactly, slice_of
from tests.engine.claims_world import Claiming
from tests.rules.world import ONE_A_NODE
from tests.world.builders import spec

FABRIC = "example.com/fabric"


class Fabrics(Claiming):
    """Nodes in fabrics: each fabric has a device that its nodes reach, and no others."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__()
        for fabric, size in sizes.items():
            for at in range(size):
                self.node(f"{fabric}{at}", cpu=4, labels=((FABRIC, fabric),))
            self.reaches(fabric, fabric)

    def reaches(self, pool: str, *fabrics: str) -> None:
        """One more device, which the nodes of these fabrics reach."""
        label = {"key": FABRIC, "operator": "In", "values": list(fabrics)}
        selector = {"nodeSelectorTerms": [{"matchExpressions": [label]}]}
        self.tell(FactSeen(slice_of(None, device("d"), pool=pool, nodeSelector=selector)))

    def sharers(self, name: str, members: int, claim: str = "shared", priority: int = 0) -> None:
        """A gang of members for a node each, which share a claim."""
        self.device_claim(claim)
        self.gang_of(name, members, claim, priority)

    def gang_of(self, name: str, members: int, claim: str = "shared", priority: int = 0) -> None:
        """The same, of a claim that exists."""
        self.group(name, members, timeout=60)
        for at in range(members):
            self.naming(f"{name}-{at}", name, gpu=claim)
            self.change(f"{name}-{at}", priority=priority)

    def own(self, *nodes: str, count: int = 1) -> None:
        """Devices of their own for each of these nodes, of a class that others are not of."""
        self.tell(FactSeen(device_class("own", 'device.driver == "own.example.com"')))
        self.tell(FactSeen(device_class("fabric", f'device.driver == "{DRIVER}"')))
        for node in nodes:
            devices = (device(f"own{at}") for at in range(count))
            self.tell(FactSeen(slice_of(node, *devices, driver="own.example.com")))

    def asks(self, name: str, of: str, count: int = 1, **more: Any) -> None:
        """A claim for so many devices of a class."""
        self._put(replace(claim(name, exactly("asked", count, of, **more)), namespace="ns"))

    def sharers_with_own(self, name: str, members: int, *own: str) -> None:
        """The same as sharers, with a device of each of these classes for each member."""
        self.asks("shared", "fabric")
        self.group(name, members, timeout=60)
        named = tuple(PodResourceClaim(of) for of in ("fabric", *own))
        wanted = replace(spec(cpu=1), resource_claims=named)
        for at in range(members):
            for of in own:
                self.asks(f"{name}-{of}{at}", of)
            claims = ("shared", *(f"{name}-{of}{at}" for of in own))
            self.pod(f"{name}-{at}", name, spec=wanted, resource_claims=claims)

    def occupied(self, *nodes: str, priority: int = 0) -> None:
        for node in nodes:
            self.pod(f"on-{node}", node=node, spec=ONE_A_NODE, priority=priority)
        self.settle()

    def fabrics(self, prefix: str) -> dict[str, int]:
        """How many pods are in each fabric."""
        found: dict[str, int] = {}
        for node in self.where(prefix).values():
            found[node[0]] = found.get(node[0], 0) + 1
        return found


def test_members_that_share_a_claim_go_where_one_device_has_room_for_all() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 4, "b": 4, "c": 4, "d": 4})
    w.occupied("a0", "b0", "d0")
    w.sharers("g", 4)
    w.settle()
    assert w.fabrics("g-") == {"c": 4}


def test_of_several_that_would_do_the_one_with_least_room_is_taken() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 2, "b": 5, "c": 3, "d": 4})
    w.occupied("c0")
    w.sharers("g", 3)
    w.settle()
    assert w.fabrics("g-") == {"d": 3}


def test_members_that_do_not_name_the_claim_go_anywhere() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 3, "b": 3})
    w.node("large", cpu=32)
    w.occupied("a0")
    w.sharers("g", 3)
    w.group("g", 4, timeout=60)
    w.member("g-driver", "g", spec=spec(cpu=16))
    w.settle()
    assert w.where("g-driver") == {"g-driver": "large"}
    assert w.fabrics("g-") == {"b": 3, "l": 1}


def test_the_claim_gets_the_device_that_all_its_users_reach() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 2, "b": 2, "c": 2})
    w.reaches("both", "b", "c")
    w.sharers("g", 4)
    w.settle()
    assert w.fabrics("g-") == {"b": 2, "c": 2}


def test_the_message_has_the_most_room_that_nodes_of_one_device_have() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 4, "b": 4})
    w.occupied("a0", "b0", "b1")
    w.sharers("g", 4)
    w.settle()
    assert w.where("g-") == {}
    _, reason, message = w.condition("g")
    assert reason == Reason.UNSCHEDULABLE
    assert message.startswith(
        "no nodes that reach one device for ResourceClaim shared have room for more than 3 of 4 "
        "members."
    )
    w.delete("on-a0")
    w.settle()
    assert w.fabrics("g-") == {"a": 4}


def test_a_fabric_whose_device_another_claim_has_does_not_count() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 4, "b": 4})
    w.sharers("first", 2)
    w.settle()
    [taken] = w.fabrics("first-")
    w.sharers("second", 4, "other")
    w.settle()
    assert w.fabrics("second-") == {({"a", "b"} - {taken}).pop(): 4}


def test_pods_give_way_in_one_fabric_alone_and_where_that_is_enough() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 3, "b": 3, "c": 3})
    w.occupied("a0", "b1", "c2", priority=10)
    w.occupied("a1", "a2", "b0", "b2", "c0", "c1")
    w.delete("on-b1")
    w.settle()
    w.sharers("g", 3, priority=10)
    w.settle()
    assert sorted(w.evictions) == ["on-b0", "on-b2"]
    w.settle()
    assert w.fabrics("g-") == {"b": 3}


@pytest.mark.parametrize("preferred", ["", FABRIC])
def test_a_topology_holds_beside_the_devices(preferred: str) -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 3, "b": 3})
    w.occupied("a0")
    w.sharers("g", 3)
    w.group("g", 3, timeout=60, topology=TopologyRequest(required=FABRIC, preferred=preferred))
    w.settle()
    assert w.fabrics("g-") == {"b": 3}


def test_slices_of_a_gang_go_around_one_device() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 2, "b": 2, "c": 2})
    w.reaches("with-both", "b", "c")
    w.sharers("g", 4)
    slices = TopologyRequest(slices=(Slice(2, FABRIC),))
    w.group("g", 4, timeout=60, topology=slices)
    w.settle()
    assert w.fabrics("g-") == {"b": 2, "c": 2}


def test_slices_with_a_claim_each_are_searched_around_its_devices() -> None:
    """Semantics §2.10."""
    w = Fabrics(dict.fromkeys("abcd", 2))
    for fabric in "abcd":
        for at in range(2):
            w.node(f"{fabric}{at}", cpu=4, labels=((FABRIC, fabric), ("example.com/zone", "z")))
    w.reaches("one", "a", "b")
    w.reaches("other", "c", "d")
    w.group("g", 6, timeout=60, topology=TopologyRequest(slices=(Slice(3, "example.com/zone"),)))
    for at in range(6):
        name = f"of-{at // 3}"
        if name not in w.devices:
            w.device_claim(name)
        w.naming(f"g-{at}", "g", gpu=name)
    w.settle()
    where = w.where("g-")
    assert len(where) == 6
    assert len({where[f"g-{at}"][0] in "ab" for at in range(3)}) == 1


def test_roles_in_domains_of_their_own_go_around_one_device() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 3, "b": 2, "c": 2})
    w.reaches("with-both", "b", "c")
    w.sharers("g", 4)
    request = TopologyRequest(required=FABRIC)
    parts = tuple(TopologyPart(f"spec.roles[{x}]", frozenset({x}), request) for x in "xy")
    w.group("g", 4, timeout=60, roles=[("x", 2), ("y", 2)], topology_parts=parts)
    for at in range(4):
        w.change(f"g-{at}", role="xy"[at % 2])
    w.settle()
    assert w.fabrics("g-") == {"b": 2, "c": 2}


def test_members_have_devices_of_their_own_beside_the_shared_one() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 4, "b": 4, "c": 4})
    w.own("a0", "a1", "b0", "b1", "b2", "b3", "c1", "c2", "c3")
    w.sharers_with_own("g", 4, "own")
    w.settle()
    assert w.fabrics("g-") == {"b": 4}


def test_a_device_that_two_claims_of_a_member_could_get_is_counted_once() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 3, "b": 4})
    w.own("a0", "a1", "a2", "b0", "b1", "b2", "b3", count=2)
    w.tell(FactSeen(device_class("same", 'device.driver == "own.example.com"')))
    w.sharers_with_own("g", 4, "own", "same")
    w.settle()
    assert w.fabrics("g-") == {"b": 4}
    assert len(set(w.where("g-").values())) == 4


def test_members_without_the_claim_leave_its_nodes_to_the_others() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 2, "b": 2})
    w.own("a0", "b0", "b1")
    for node, cpu, used in (("a0", 1, 0), ("a1", 2, 2), ("b0", 3, 1), ("b1", 2, 1)):
        w.node(node, cpu=cpu, labels=((FABRIC, node[0]),))
        w.pod(f"on-{node}", node=node, spec=spec(cpu=used))
    w.settle()
    w.sharers_with_own("g", 2, "own")
    w.group("g", 4, timeout=60)
    w.member("g-driver", "g", spec=spec(cpu=1))
    shares = replace(spec(cpu=1), resource_claims=(PodResourceClaim("fabric"),))
    w.pod("g-last", "g", spec=shares, resource_claims=("shared",))
    w.settle()
    assert w.fabrics("g-") == {"b": 3, "a": 1}


def test_many_members_beside_one_without_the_claim_fit_around_one_device() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 120, "b": 120})
    w.node("large", cpu=32)
    w.occupied("a0")
    w.sharers("g", 120)
    w.group("g", 121, timeout=60)
    w.member("g-driver", "g", spec=spec(cpu=16))
    w.settle()
    assert w.fabrics("g-") == {"b": 120, "l": 1}


def test_devices_whose_nodes_overlap_are_tried_one_by_one() -> None:
    """Semantics §2.10."""
    others = [f"f{at}" for at in range(10, 50)]
    w = Fabrics({"hub": 2, **dict.fromkeys(others, 1)})
    for other in others:
        w.reaches(f"with-{other}", "hub", other)
    w.occupied(*(f"{other}0" for other in others[:-1]))
    w.sharers("g", 3)
    w.settle()
    assert sorted(w.where("g-").values()) == ["f490", "hub0", "hub1"]


def test_the_message_counts_a_node_with_a_device_of_its_own() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 2})
    w.node("large", cpu=12)
    w.tell(FactSeen(slice_of("large", device("own"))))
    w.sharers("g", 4)
    w.settle()
    _, _, message = w.condition("g")
    assert message.startswith(
        "no nodes that reach one device for ResourceClaim shared have room for more than 3 of 4 "
        "members."
    )


def test_a_claim_with_admin_access_gets_a_device_that_is_in_use() -> None:
    """Semantics §2.10."""
    w = Fabrics({"a": 4, "b": 4})
    w.own()
    w.occupied("a0")
    w.asks("holder", "fabric")
    held = Allocation((AllocatedDevice("asked", DRIVER, "b", "d"),))
    w._put(replace(w.devices["holder"], allocation=held))
    w.asks("shared", "fabric", adminAccess=True)
    w.gang_of("g", 4)
    w.settle()
    assert w.fabrics("g-") == {"b": 4}
