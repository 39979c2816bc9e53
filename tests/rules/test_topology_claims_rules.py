# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §11: roles and slices in domains of their own, whose members have claims."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.devices.facts import ResourceSlice
from enbloc.engine.events import FactSeen, TopologySeen
from enbloc.model.pods import PodResourceClaim, PodVolume
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.model.topology import Slice, TopologyPart, TopologyRequest
from tests.devices.objects import DRIVER, claim, device, device_class, exactly, slice_of
from tests.engine.claims_world import Claiming
from tests.rules.fabrics import BLOCK, FABRIC, RACK, ZONE
from tests.world.builders import spec
from tests.world.storage import HOST, pv, pvc

LARGE = device("d0", attributes={"size": "large"})
SMALL = device("d1", attributes={"size": "small"})
#: The nodes of a rack reach these in common.
IN_RACK = {"key": RACK, "operator": "In", "values": ["r1"]}
IN_COMMON = {"nodeSelectorTerms": [{"matchExpressions": [IN_RACK]}]}


class Claims(Claiming):
    """Two nodes in one rack, and one in another; claims for any device, or for a large one."""

    def __init__(self, cpu: int = 4) -> None:
        super().__init__()
        self.tell(TopologySeen(FABRIC))
        for name, rack in (("a1", "r1"), ("a2", "r1"), ("b1", "r2")):
            labels = ((ZONE, "z"), (BLOCK, "b"), (RACK, rack), (HOST, name))
            self.node(name, cpu, labels=tuple(sorted(labels)))
        large = f'device.attributes["{DRIVER}"].size == "large"'
        self.tell(FactSeen(device_class("any")))
        self.tell(FactSeen(device_class("large", large)))
        for of in ("any", "large"):
            self._put(replace(claim(of, exactly(of=of)), namespace="ns"))

    def gang_of(self, *, parts: bool, **roles: int) -> None:
        """A gang "g": each role in one rack, or else each member."""
        named = tuple(
            TopologyPart(f"spec.roles[{role}]", frozenset({role}), TopologyRequest("", "rack"))
            for role in roles
        )
        cut = TopologyRequest("", "", "", (Slice(1, "rack"),))
        how: dict[str, Any] = {"topology_parts": named} if parts else {"topology": cut}
        self.group("g", sum(roles.values()), roles=list(roles.items()), timeout=60, **how)

    def with_device(self, name: str, role: str, of: str) -> None:
        wanted = replace(spec(cpu=1), resource_claims=(PodResourceClaim("gpu"),))
        self.member(name, "g", role=role, spec=wanted, resource_claims=(of,))

    def with_volume(self, name: str, role: str, **of: Any) -> None:
        self._put(replace(pvc(name, 1, **of), namespace="ns"))
        wanted = replace(spec(cpu=1), volumes=(PodVolume("data", "claim"),))
        self.member(name, "g", role=role, spec=wanted, claims=(name,))


ON_A_NODE = slice_of("a1", LARGE, SMALL)
OF_A_RACK = slice_of(None, LARGE, SMALL, pool="rack", nodeSelector=IN_COMMON)


@pytest.mark.parametrize("parts", [True, False])
@pytest.mark.parametrize("devices", [ON_A_NODE, OF_A_RACK])
def test_a_role_leaves_the_device_that_only_another_role_can_use(
    devices: ResourceSlice, parts: bool
) -> None:
    """Semantics §2.10, §11.7 and §11.9: the devices of those before it are revised."""
    w = Claims()
    w.tell(FactSeen(devices))
    w.gang_of(parts=parts, x=1, y=1)
    w.with_device("g-0", "x", "any")
    w.with_device("g-1", "y", "large")
    w.settle()
    assert len(w.where("g-")) == 2


def test_a_role_leaves_the_device_that_members_of_another_share() -> None:
    """Semantics §2.10 and §11.7."""
    w = Claims(cpu=2)
    w.tell(FactSeen(OF_A_RACK))
    w.gang_of(parts=True, x=2, y=2)
    w.with_device("g-0", "x", "any")
    w.member("g-1", "g", role="x", spec=spec(cpu=1))
    w.with_device("g-2", "y", "large")
    w.with_device("g-3", "y", "large")
    w.settle()
    assert len(w.where("g-")) == 4


@pytest.mark.parametrize("parts", [True, False])
def test_a_role_leaves_the_volume_that_only_another_role_can_use(parts: bool) -> None:
    """Semantics §2.9, §11.7 and §11.9."""
    w = Claims()
    w._put(pv("a1-small", 1, "a1", labels=(("disk", "fast"),)))
    w._put(pv("a1-large", 2, "a1"))
    w.gang_of(parts=parts, x=1, y=1)
    w.with_volume("g-0", "x")
    w.with_volume("g-1", "y", selector=Selector((Requirement("disk", Operator.IN, ("fast",)),)))
    w.settle()
    assert w.where("g-") == {"g-0": "a1", "g-1": "a1"}
