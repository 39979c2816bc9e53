# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs whose members have volumes, through the whole engine."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine.effects import CancelPlan
from enbloc.engine.events import FactGone, PodGone, PreBindFailed
from enbloc.model.pods import PodVolume
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.storage.facts import CSIDriver, CSINode, CSIStorageCapacity, StorageClass
from tests.engine.claiming import (
    DISK,
    LOCAL,
    chosen,
    cluster_of,
    gang_with_disks,
    prepare,
    preparing,
    seen,
)
from tests.world.builders import spec
from tests.world.cluster import Cluster
from tests.world.storage import GIB, RWO, RWOP, RWX, bound, held_by, pv, pvc, segment


def storage(gib: int, **of: Any) -> CSIStorageCapacity:
    """What is left of class fast, for all nodes."""
    zone = Selector((Requirement("zone", Operator.IN, ("z",)),))
    return segment("s", gib, "", topology=zone, **of)


def cluster_with_storage(gib: int, **of: Any) -> Cluster:
    """Two nodes that share so much storage of class fast, which is provisioned."""
    fast = StorageClass("fast", "csi.example.com", waits=True)
    driver = CSIDriver("csi.example.com", storage_capacity=True)
    return cluster_of(fast, driver, storage(gib, **of))


def test_each_member_gets_a_volume_of_its_own_on_its_node_before_any_is_bound() -> None:
    cluster = cluster_of(LOCAL, pv("a", 1, "n1"), pv("b", 1, "n2"))
    gang_with_disks(cluster, "g", 1, 1)
    cluster.settle()
    assert sorted(chosen(cluster).values()) == ["a", "b"]
    assert cluster.sent == []
    prepare(cluster)
    volume = chosen(cluster)
    assert cluster.where() == {name: {"a": "n1", "b": "n2"}[volume[name]] for name in volume}


def test_a_member_that_only_one_volume_suits_gets_it_whoever_comes_first() -> None:
    cluster = cluster_of(LOCAL, pv("small", 1, "n1"), pv("large", 9, "n2"))
    gang_with_disks(cluster, "g", 1, 9)
    cluster.settle()
    assert chosen(cluster) == {"g-0": "small", "g-1": "large"}


def test_two_gangs_that_want_the_same_volumes_never_hold_half_each() -> None:
    cluster = cluster_of(LOCAL, pv("a", 1, "n1"), pv("b", 1, "n2"))
    gang_with_disks(cluster, "g", 1, 1)
    gang_with_disks(cluster, "h", 1, 1)
    cluster.settle()
    assert set(preparing(cluster)) == {"g-0", "g-1"}
    assert cluster.condition("h")[1] == "Unschedulable"


def test_a_gang_that_needs_more_storage_than_a_zone_has_is_told_how_much_is_left() -> None:
    cluster = cluster_with_storage(250)
    gang_with_disks(cluster, "g", 100, 100, 100, 100, storage_class="fast")
    cluster.settle()
    state, reason, message = cluster.condition("g")
    assert (state, reason) == (False, "Unschedulable")
    assert message.startswith("4 members need 400Gi of class fast in zone z; 250Gi is left")
    assert preparing(cluster) == {}


def test_claims_that_together_ask_for_more_than_any_number_tells_are_refused_like_others() -> None:
    cluster = cluster_with_storage(250)
    cluster.group("g", 2)
    disks = (PodVolume("a", "claim"), PodVolume("b", "claim"))
    for pod in ("g-0", "g-1"):
        names = (f"{pod}-a", f"{pod}-b")
        seen(cluster, [replace(pvc(name, 1, "fast"), request=2**63 - 1) for name in names])
        cluster.pod(pod, "g", spec=replace(spec(cpu=1), volumes=disks), claims=names)
    cluster.settle()
    state, reason, message = cluster.condition("g")
    assert (state, reason) == (False, "Unschedulable")
    assert "2 node(s) did not have enough free storage" in message


def test_storage_that_a_driver_sets_nothing_aside_of_is_used_again_once_claims_are_bound() -> None:
    """Thin provisioning: what the segment says never changes."""
    cluster = cluster_with_storage(2)
    gang_with_disks(cluster, "g", 1, 1, storage_class="fast")
    gang_with_disks(cluster, "h", 2, 0, storage_class="fast")
    cluster.settle()
    assert {name[0] for name in preparing(cluster)} == {"g"}
    assert cluster.condition("h")[1] == "Unschedulable"

    for at in range(2):
        made = replace(pvc(f"g-{at}", 1, "fast"), selected_node="n1")
        seen(cluster, [made, replace(made, volume=f"made-{at}", bind_completed=True)])
    cluster.settle(seconds=12)

    assert {name[0] for name in preparing(cluster)} == {"g", "h"}


def test_storage_that_claims_with_a_selected_node_use_is_promised_to_no_second_gang() -> None:
    """Semantics §2.9: a new leader finds what an earlier one began to provision."""
    cluster = cluster_with_storage(2)
    gang_with_disks(cluster, "g", 1, 1, storage_class="fast", selected_node="n1")
    gang_with_disks(cluster, "h", 1, 1, storage_class="fast", selected_node="n1")
    cluster.settle()
    assert set(preparing(cluster)) == {"g-0", "g-1"}
    assert cluster.condition("h")[1] == "Unschedulable"


def test_storage_of_a_gang_that_is_planned_again_is_promised_to_no_second_one() -> None:
    """Semantics §2.9: PreBind has selected nodes for the claims of the plan that was dropped."""
    cluster = cluster_with_storage(2)
    gang_with_disks(cluster, "g", 1, 1, storage_class="fast")
    cluster.settle()
    first = preparing(cluster)
    for name, effect in first.items():
        seen(cluster, [pvc(name, 1, "fast", selected_node=effect.target.node)])
    target = first["g-1"].target
    cluster.tell(PreBindFailed(target.plan, target.uid, "not this time"))
    cluster.settle(seconds=30)
    assert preparing(cluster)["g-1"].target.plan != target.plan

    gang_with_disks(cluster, "h", 1, 1, storage_class="fast")
    cluster.settle(seconds=30)

    assert set(preparing(cluster)) == {"g-0", "g-1"}


def test_storage_that_grows_wakes_who_waits_for_it_even_if_no_larger_volume_is_possible() -> None:
    cluster = cluster_with_storage(3, largest=2 * GIB)
    gang_with_disks(cluster, "g", 2, storage_class="fast")
    gang_with_disks(cluster, "h", 2, storage_class="fast")
    cluster.settle()
    assert set(preparing(cluster)) == {"g-0"}
    seen(cluster, [storage(4, largest=2 * GIB)])
    cluster.settle(seconds=30)
    assert set(preparing(cluster)) == {"g-0", "h-0"}


def test_a_claim_for_one_pod_that_two_members_name_makes_the_gang_infeasible() -> None:
    cluster = cluster_of(LOCAL, pv("a"), pvc("only", access_modes=(RWOP,)))
    cluster.group("g", 2)
    for name in ("g-0", "g-1"):
        cluster.pod(name, "g", spec=replace(spec(cpu=1), volumes=DISK), claims=("only",))
    cluster.settle()
    state, reason, message = cluster.condition("g")
    assert (state, reason) == (False, "Infeasible")
    assert "only" in message


def test_volumes_are_free_again_when_one_claim_of_the_gang_cannot_be_bound() -> None:
    cluster = cluster_of(LOCAL, pv("a", 1, "n1"), pv("b", 1, "n2"))
    gang_with_disks(cluster, "g", 1, 1)
    cluster.settle()
    effect = preparing(cluster)["g-1"]
    cluster.tell(PreBindFailed(effect.target.plan, effect.target.uid, "the volume is gone"))
    cluster.settle()
    assert any(isinstance(each, CancelPlan) for each in cluster.effects)
    cluster.settle(seconds=30)
    again = preparing(cluster)["g-1"]
    assert again.target.plan != effect.target.plan
    prepare(cluster)
    assert len(cluster.where()) == 2


def test_what_was_bound_before_a_failure_stays_and_pins_its_member() -> None:
    a, b = pv("a", 1, "n1"), pv("b", 1, "n2")
    cluster = cluster_of(LOCAL, a, b)
    gang_with_disks(cluster, "g", 1, 1)
    cluster.settle()
    volume = chosen(cluster)["g-0"]
    disk = {"a": a, "b": b}[volume]
    claim = bound("g-0", volume)
    seen(cluster, [held_by(disk, claim), claim])
    effect = preparing(cluster)["g-1"]
    cluster.tell(PreBindFailed(effect.target.plan, effect.target.uid, "not this time"))
    cluster.settle(seconds=30)
    prepare(cluster)
    assert cluster.where()["g-0"] == {"a": "n1", "b": "n2"}[volume]
    assert len(cluster.where()) == 2


def test_a_volume_that_somebody_else_takes_first_has_the_gang_planned_again() -> None:
    a, spare = pv("a", 1, "n1"), pv("spare", 5, "n1")
    cluster = cluster_of(LOCAL, a, spare, pv("b", 1, "n2"))
    gang_with_disks(cluster, "g", 1, 1)
    cluster.settle()
    assert set(chosen(cluster).values()) == {"a", "b"}
    seen(cluster, [held_by(a, bound("stranger", "a"))])
    prepare(cluster)
    cluster.settle(seconds=30)
    prepare(cluster)
    assert set(chosen(cluster).values()) == {"spare", "b"}
    assert len(cluster.where()) == 2


@pytest.mark.parametrize("provisioned", [False, True])
def test_what_a_claim_was_to_get_wakes_who_waits_for_it_once_the_claim_is_gone(
    provisioned: bool,
) -> None:
    cluster = cluster_with_storage(2) if provisioned else cluster_of(LOCAL, pv("a", 2))
    storage_class = "fast" if provisioned else "local"
    gang_with_disks(cluster, "g", 2, storage_class=storage_class)
    gang_with_disks(cluster, "h", 2, storage_class=storage_class)
    cluster.settle()
    target = preparing(cluster)["g-0"].target
    assert set(preparing(cluster)) == {"g-0"}
    cluster.tell(FactGone("PersistentVolumeClaim", "ns/g-0"))
    cluster.step()
    cluster.tell(PreBindFailed(target.plan, target.uid, "its claim is gone"))
    cluster.settle(seconds=30)
    assert set(preparing(cluster)) == {"g-0", "h-0"}


@pytest.mark.parametrize("gone", [False, True], ids=["PreBind fails", "its pod is deleted"])
def test_what_a_dropped_plan_would_have_attached_wakes_the_gang_that_waits_to(gone: bool) -> None:
    fast = StorageClass("fast", "csi.example.com", waits=True)
    node = CSINode("n1", limits=(("csi.example.com", 1),), drivers=("csi.example.com",))
    cluster = cluster_of(fast, CSIDriver("csi.example.com"), node, nodes="n1")
    gang_with_disks(cluster, "g", 1, storage_class="fast")
    gang_with_disks(cluster, "h", 1, storage_class="fast")
    cluster.settle()
    target = preparing(cluster)["g-0"].target
    assert set(preparing(cluster)) == {"g-0"}
    if not gone:
        cluster.tell(PreBindFailed(target.plan, target.uid, "not this time"))
        cluster.step()
    cluster.tell(PodGone(target.pod, target.uid))
    cluster.settle(seconds=30)
    assert set(preparing(cluster)) == {"g-0", "h-0"}


def test_a_claim_that_appears_wakes_the_gang_that_waits_for_it() -> None:
    cluster = cluster_of(LOCAL, pv("a", 1, "n1"))
    cluster.pod("p", spec=replace(spec(cpu=1), volumes=DISK), claims=("late",))
    cluster.settle()
    assert 'persistentvolumeclaim "late" not found' in cluster.pod_conditions("p")[-1][1]
    seen(cluster, [pvc("late")])
    cluster.settle(seconds=30)
    prepare(cluster)
    assert cluster.where() == {"p": "n1"}


def test_a_shared_claim_does_not_move_away_from_the_node_of_a_member_that_names_it_too() -> None:
    every = frozenset((RWO, RWX))
    both = pv("both", 1, "n1", "n2", access_modes=every)
    other = pv("other", 2, "n1", access_modes=every)
    shared = pvc("shared", access_modes=(RWX,))
    cluster = cluster_of(LOCAL, both, other, shared, pvc("own"))
    one = replace(spec(cpu=8), volumes=DISK)
    two = replace(spec(cpu=8), volumes=(*DISK, PodVolume("more", "claim")))
    cluster.group("g", 2)
    cluster.pod("g-0", "g", spec=one, claims=("shared",))
    cluster.pod("g-1", "g", spec=two, claims=("own", "shared"))
    cluster.settle()
    prepare(cluster)
    assert cluster.where() == {"g-0": "n2", "g-1": "n1"}
