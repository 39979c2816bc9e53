# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §2.9: members that share a claim which pods on several nodes may use."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine.effects import PreBind, Unreserve
from enbloc.model.pods import PodVolume
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.storage.facts import CSIDriver
from tests.rules.test_claims import Stored
from tests.rules.world import ONE_A_NODE
from tests.world.storage import FAST, HOST, LOCAL, RWO, RWX, ZONE, pv, pvc, segment

BOTH = frozenset((RWO, RWX))
MEASURED = CSIDriver(FAST.provisioner, storage_capacity=True)
ONLY_B = replace(FAST, topologies=(((ZONE, ("b",)),),))


class Zones(Stored):
    """Zones of nodes for a member each.

    Attributes:
        chosen: the volumes that were decided; "" = one is provisioned.
        segments: the storage that new volumes use; "" = none that is counted.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        super().__init__()
        self.chosen = set[str]()
        self.segments = set[str]()
        for zone, size in sizes.items():
            for at in range(size):
                labels = ((HOST, f"{zone}{at}"), (ZONE, zone))
                self.node(f"{zone}{at}", cpu=4, labels=labels)

    def shared(self, name: str, members: int, **of: Any) -> None:
        """A gang whose members share a claim."""
        self.facts(pvc("data", access_modes=(RWX,), **of))
        self.claiming(name, *["data"] * members)

    def planned(self) -> dict[str, tuple[str, str]]:
        """Where each member goes, and the node for which its new volume is provisioned."""
        self.step()
        found: dict[str, tuple[str, str]] = {}
        for effect in self.effects:
            if isinstance(effect, PreBind):
                target, decided = effect.target, effect.target.decided.volumes
                assert decided is not None
                [claim] = decided.claims
                found[target.pod.name] = target.node, claim.node or target.node
                self.chosen.add(claim.volume.name if claim.volume else "")
                self.segments.add(claim.segment)
        return found


def zones(planned: Mapping[str, tuple[str, str]]) -> str:
    return "".join(sorted(node[0] for node, _ in planned.values()))


def test_members_that_share_a_volume_to_be_provisioned_may_be_on_several_nodes() -> None:
    """Semantics §2.9."""
    w = Zones({"a": 3})
    w.facts(FAST)
    w.shared("g", 3, storage_class="fast")
    planned = w.planned()
    assert sorted(node for node, _ in planned.values()) == ["a0", "a1", "a2"]
    [selected] = {selected for _, selected in planned.values()}
    assert selected == planned["g-0"][0]


def test_they_are_where_the_class_may_provision_volumes() -> None:
    """Semantics §2.9."""
    w = Zones({"a": 4, "b": 3})
    w.facts(ONLY_B)
    w.shared("g", 3, storage_class="fast")
    assert zones(w.planned()) == "bbb"


def test_they_reach_the_storage_that_the_volume_uses() -> None:
    """Semantics §2.9."""
    w = Zones({"a": 2, "b": 3})
    w.facts(FAST, MEASURED, segment("in-a", 100, "a"), segment("in-b", 50, "b"))
    w.shared("g", 3, storage_class="fast")
    assert zones(w.planned()) == "bbb"


def test_the_node_that_an_earlier_attempt_selected_is_that_of_the_volume_alone() -> None:
    """Semantics §2.9."""
    w = Zones({"a": 3})
    w.facts(FAST)
    w.shared("g", 3, storage_class="fast", selected_node="a1")
    planned = w.planned()
    assert len({node for node, _ in planned.values()}) == 3
    assert {selected for _, selected in planned.values()} == {"a1"}


def test_of_volumes_in_several_zones_one_is_taken_that_all_members_reach() -> None:
    """Semantics §2.9."""
    w = Zones({"a": 2, "b": 3, "c": 2})
    w.facts(LOCAL)
    for zone, size in {"a": 2, "b": 3, "c": 2}.items():
        w.facts(pv(f"in-{zone}", 1, *(f"{zone}{at}" for at in range(size)), access_modes=BOTH))
    w.shared("g", 3)
    assert zones(w.planned()) == "bbb"


def test_a_larger_volume_is_taken_if_members_do_not_reach_the_smallest() -> None:
    """Semantics §2.9."""
    w = Zones({"a": 3})
    w.facts(LOCAL, pv("far", 2, "a0", "a1", "a2", access_modes=BOTH))
    for node in ("a0", "a1", "a2"):
        w.facts(pv(f"near-{node}", 1, node, access_modes=BOTH))
    w.shared("g", 3)
    assert zones(w.planned()) == "aaa"
    assert w.chosen == {"far"}


def test_a_volume_is_provisioned_if_members_do_not_reach_an_existing_one() -> None:
    """Semantics §2.9."""
    w = Zones({"a": 3})
    w.facts(FAST)
    for node in ("a0", "a1", "a2"):
        w.facts(pv(f"near-{node}", 1, node, storage_class="fast", access_modes=BOTH))
    w.shared("g", 3, storage_class="fast")
    assert zones(w.planned()) == "aaa"
    assert w.chosen == {""}


def test_the_volume_uses_storage_that_all_members_reach() -> None:
    """Semantics §2.9."""
    w = Zones({"a": 2, "b": 1})
    every = Selector((Requirement(ZONE, Operator.IN, ("a", "b")),))
    w.facts(FAST, MEASURED, segment("in-a", 1, "a"), segment("wide", 2, "", topology=every))
    w.shared("g", 3, storage_class="fast")
    assert zones(w.planned()) == "aab"
    assert w.segments == {"kube-system/wide"}


def test_they_are_not_where_storage_is_but_the_class_provisions_no_volumes() -> None:
    """Semantics §2.9."""
    w = Zones({"a": 2, "b": 2})
    every = Selector((Requirement(ZONE, Operator.IN, ("a", "b")),))
    w.facts(ONLY_B, MEASURED, segment("wide", 100, "", topology=every))
    w.shared("g", 3, storage_class="fast")
    assert w.planned() == {}


def test_the_storage_that_the_selected_node_reaches_says_where_the_others_may_be() -> None:
    """Semantics §2.9."""
    w = Zones({"a": 3, "b": 3})
    w.facts(FAST, MEASURED, segment("in-a", 100, "a"), segment("in-b", 50, "b"))
    w.shared("g", 3, storage_class="fast", selected_node="b1")
    assert zones(w.planned()) == "bbb"


def test_a_volume_for_a_selected_node_uses_storage_that_all_members_reach() -> None:
    """Semantics §2.9."""
    w = Zones({"a": 2, "b": 1})
    every = Selector((Requirement(ZONE, Operator.IN, ("a", "b")),))
    w.facts(FAST, MEASURED, segment("in-a", 1, "a"), segment("wide", 2, "", topology=every))
    w.facts(pv("there", 1, "a0", "a1", "b0", storage_class="fast", access_modes=BOTH))
    w.shared("g", 3, storage_class="fast", selected_node="a0")
    planned = w.planned()
    assert (zones(planned), w.chosen) == ("aab", {""})
    assert {selected for _, selected in planned.values()} == {"a0"}
    assert w.segments == {"kube-system/wide"}


def test_a_selected_node_that_is_gone_is_taken_back() -> None:
    """Semantics §2.9, §3.8."""
    w = Zones({"a": 3})
    w.facts(FAST)
    w.shared("g", 3, storage_class="fast", selected_node="gone")
    assert w.planned() == {}
    taken_back = [each.target for each in w.effects if isinstance(each, Unreserve)]
    assert {target.node for target in taken_back} == {"gone"}


def test_a_selected_node_that_takes_no_member_is_taken_back() -> None:
    """Semantics §2.9, §3.8."""
    w = Zones({"a": 1, "b": 2})
    w.facts(FAST)
    w.pod("other", node="a0", spec=ONE_A_NODE)
    w.shared("g", 2, storage_class="fast", selected_node="a0")
    assert w.planned() == {}
    taken_back = [each.target for each in w.effects if isinstance(each, Unreserve)]
    assert {target.node for target in taken_back} == {"a0"}
    w.facts(pvc("data", storage_class="fast", access_modes=(RWX,), resource_version="2"))
    w.settle()
    assert sorted(w.where().values()) == ["a0", "b0", "b1"]


def test_the_others_stay_where_they_are_once_a_member_is_bound() -> None:
    """Semantics §2.9, §3.1."""
    w = Zones({"a": 3})
    w.facts(FAST, pvc("data", storage_class="fast", access_modes=(RWX,), selected_node="a1"))
    sharing = replace(ONE_A_NODE, volumes=(PodVolume("data", "claim"),))
    w.group("g", 3, timeout=60)
    w.member("g-0", "g", spec=sharing, claims=("data",), node="a0")
    for at in (1, 2):
        w.member(f"g-{at}", "g", spec=sharing, claims=("data",))
    w.pod("other", node="a1", spec=ONE_A_NODE)
    w.node("a3", cpu=4, labels=((HOST, "a3"), (ZONE, "a")))
    assert {node for node, _ in w.planned().values()} == {"a2", "a3"}


def test_the_message_has_the_most_room_that_nodes_of_one_volume_have() -> None:
    """Semantics §2.9."""
    w = Zones({"a": 2, "b": 2})
    w.facts(LOCAL)
    for zone in "ab":
        w.facts(pv(f"in-{zone}", 1, f"{zone}0", f"{zone}1", access_modes=BOTH))
    w.shared("g", 3)
    assert w.planned() == {}
    assert (
        "no nodes that reach one volume for PersistentVolumeClaim data have room for more than 2 "
        "of 3 members"
    ) in w.condition("g")[2]


@pytest.mark.parametrize("modes", [(RWO,), ()])
def test_a_claim_for_one_node_has_its_members_on_that(modes: tuple[str, ...]) -> None:
    """Semantics §2.9."""
    w = Zones({"a": 3})
    w.facts(FAST, pvc("data", storage_class="fast", access_modes=modes))
    w.claiming("g", "data", "data")
    assert w.planned() == {}
    assert "1 of the 2 required members fit" in w.condition("g")[2]


def test_pods_without_a_group_wait_for_the_volume_as_with_kube_scheduler() -> None:
    """Semantics §2.9."""
    w = Zones({"a": 2})
    w.facts(FAST, pvc("data", storage_class="fast", access_modes=(RWX,), selected_node="a1"))
    w.pod("on-a1", node="a1", spec=ONE_A_NODE)
    sharing = replace(ONE_A_NODE, volumes=(PodVolume("data", "claim"),))
    for at in range(2):
        w.pod(f"lone-{at}", spec=sharing, claims=("data",))
    assert w.planned() == {}
