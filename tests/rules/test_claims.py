# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §2.9: the volumes of a gang's members are decided together."""

from dataclasses import replace
from typing import Any

from enbloc.engine.effects import Effect, PreBind
from enbloc.engine.events import FactSeen, PreBound
from enbloc.model.pods import PodVolume
from enbloc.storage.facts import CSIDriver, PersistentVolumeClaim, VolumeFact
from tests.rules.world import ONE_A_NODE, World
from tests.world.storage import (
    FAST,
    HOST,
    LOCAL,
    RWOP,
    bound,
    held_by,
    pv,
    pvc,
    segment,
)
from tests.world.storage import ZONE as ZONE_LABEL

DRIVER = CSIDriver(FAST.provisioner, storage_capacity=True)


class Stored(World):
    """Nodes with hostnames; what is to be prepared before a Binding succeeds at once."""

    def step(self) -> list[Effect]:
        effects = super().step()
        for effect in effects:
            if isinstance(effect, PreBind):
                self.tell(PreBound(effect.target.plan, effect.target.uid))
        return effects

    def hosts_named(self, names: str, **of: Any) -> None:
        for name in names.split():
            labels = ((HOST, name), (ZONE_LABEL, "a"))
            self.node(name, cpu=4, labels=labels, **of)

    def facts(self, *facts: VolumeFact) -> None:
        for fact in facts:
            if isinstance(fact, PersistentVolumeClaim):
                self.tell(FactSeen(replace(fact, namespace="ns")))
            else:
                self.tell(FactSeen(fact))

    def claiming(self, name: str, *claims: str) -> None:
        """A gang with a member for each of these claims; a name may come twice."""
        self.group(name, len(claims), timeout=60)
        for index, claim in enumerate(claims):
            spec = replace(ONE_A_NODE, volumes=(PodVolume("data", "claim"),))
            self.member(f"{name}-{index}", name, spec=spec, claims=(claim,))


def test_no_volume_goes_to_two_members() -> None:
    """Semantics §2.9."""
    world = Stored()
    world.hosts_named("n1 n2")
    world.facts(LOCAL, pv("v1", 1, "n1"), pvc("a"), pvc("b"))
    world.claiming("pair", "a", "b")
    world.settle()
    assert world.where() == {}
    world.facts(pv("v2", 1, "n2"))
    world.settle()
    assert set(world.where().values()) == {"n1", "n2"}


def test_members_are_not_promised_more_than_is_left_of_a_class() -> None:
    """Semantics §2.9."""
    world = Stored()
    world.hosts_named("n1 n2")
    world.facts(FAST, segment("in-a", 15, "a"), DRIVER)
    world.facts(*(pvc(name, 10, "fast") for name in ("a", "b")))
    world.claiming("pair", "a", "b")
    world.settle()
    assert world.where() == {}
    message = world.condition("pair")[2]
    assert "20Gi of class fast" in message
    assert "15Gi" in message
    world.facts(segment("in-a", 20, "a", resource_version="2"))
    world.settle()
    assert len(world.where()) == 2


def test_a_bound_claim_says_where_its_member_goes() -> None:
    """Semantics §2.9."""
    world = Stored()
    world.hosts_named("n1 n2 n3")
    claim = replace(bound("a", "v"), namespace="ns")
    world.facts(LOCAL, held_by(pv("v", 1, "n2"), claim), claim)
    world.claiming("one", "a")
    world.settle()
    assert world.where() == {"one-0": "n2"}


def test_two_members_cannot_share_a_claim_for_one_pod() -> None:
    """Semantics §2.9."""
    world = Stored()
    world.hosts_named("n1 n2")
    world.facts(LOCAL, pv("v1", 1, access_modes=frozenset((RWOP,))), pvc("a", access_modes=(RWOP,)))
    world.claiming("pair", "a", "a")
    world.settle()
    _, reason, message = world.condition("pair")
    assert reason == "Infeasible"
    assert 'persistentvolumeclaim "a"' in message


def test_members_that_share_an_unbound_claim_go_to_one_node() -> None:
    """Semantics §2.9."""
    world = Stored()
    world.hosts_named("n1 n2")
    world.facts(LOCAL, pv("v1", 1, "n1"), pvc("a"))
    small = replace(ONE_A_NODE, requests=(), volumes=(PodVolume("data", "claim"),))
    world.group("pair", 2, timeout=60)
    for index in range(2):
        world.member(f"pair-{index}", "pair", spec=small, claims=("a",))
    world.settle()
    assert world.where() == {"pair-0": "n1", "pair-1": "n1"}
