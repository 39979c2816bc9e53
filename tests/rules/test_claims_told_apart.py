# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Members that differ in the claims that they name: who does not fit, and for which claim."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine.effects import Emit, PreBind
from enbloc.engine.events import FactSeen, PreBound
from enbloc.model.names import EventReason
from enbloc.model.pods import PodResourceClaim, PodVolume
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.storage.facts import PersistentVolumeClaim, StorageClass
from tests.devices.objects import DRIVER as GPU_DRIVER
from tests.devices.objects import claim, exactly
from tests.engine.claims_world import Claiming
from tests.rules.test_claims import DRIVER, Stored
from tests.rules.test_what_a_user_sees import notes
from tests.rules.world import JOB, World
from tests.world.builders import spec
from tests.world.storage import FAST, HOST, RWOP, ZONE, pvc, segment


def stored(*free: int) -> Stored:
    """Four nodes, and so much storage of class fast for all of them."""
    world = Stored()
    world.hosts_named("n1 n2 n3 n4")
    world.facts(FAST, DRIVER, *(segment(f"in-{gib}", gib, "a") for gib in free))
    return world


def own_conditions(world: Stored, name: str) -> dict[str, str]:
    """What each member's condition says."""
    return {
        pod: world.pod_conditions(pod)[-1][1] for pod in world.pods if pod.startswith(f"{name}-")
    }


def test_a_member_whose_volume_is_too_big_is_named_with_its_claim() -> None:
    """Semantics §7.4."""
    world = stored(100)
    sizes = {"v0": 10, "v1": 10, "v2": 5000, "v3": 10}
    world.facts(*(pvc(name, gib, "fast") for name, gib in sizes.items()))
    world.claiming("big", *sizes)
    world.settle()
    message = world.condition("big")[2]
    text = "0/4 nodes are available: 4 node(s) did not have enough free storage."
    assert f"1 of 4 members fits no node: big-2: {text}" in message
    short = "PersistentVolumeClaim v2 needs 5000Gi of StorageClass fast; at most 100Gi can be"
    assert f"{text} {short}" in message
    own = own_conditions(world, "big")
    assert own["big-2"].startswith("This member does not fit: 0/4 nodes are available: 4 node(s)")
    assert own["big-0"] == own["big-1"] == own["big-3"] == message
    [(_, told)] = notes(world, "big-2")
    assert told.startswith("This member does not fit: ")


@pytest.mark.parametrize("missing", range(4))
def test_a_member_whose_claim_is_missing_is_named_whichever_it_is(missing: int) -> None:
    """Semantics §7.4."""
    world = stored(100)
    world.facts(*(pvc(f"v{at}", 10, "fast") for at in range(4) if at != missing))
    world.claiming("g", *(f"v{at}" for at in range(4)))
    world.settle()
    message = world.condition("g")[2]
    text = f'0/4 nodes are available: persistentvolumeclaim "v{missing}" not found.'
    assert message == f"1 of 4 members fits no node: g-{missing}: {text}"
    own = own_conditions(world, "g")
    assert own[f"g-{missing}"] == f"This member does not fit: {text} PodGroup ns/g: {message}"


def test_each_of_several_members_without_their_claims_has_its_own_named() -> None:
    """Semantics §7.4."""
    world = stored(100)
    world.facts(pvc("v1", 10, "fast"))
    world.claiming("g", "v0", "v1", "v2")
    world.settle()
    own = own_conditions(world, "g")
    assert own["g-0"].startswith(
        'This member does not fit: 0/4 nodes are available: persistentvolumeclaim "v0" not found.'
    )
    assert own["g-2"].startswith(
        'This member does not fit: 0/4 nodes are available: persistentvolumeclaim "v2" not found.'
    )
    assert world.condition("g")[2].startswith("2 of 3 members fit no node: g-0: ")


def test_of_many_members_without_their_claims_a_bounded_number_is_asked() -> None:
    """Semantics §7.4."""
    world = stored(100)
    world.claiming("g", *(f"v{at}" for at in range(40)))
    world.settle()
    assert "at least 16 of 40 members fit no node: g-0: " in world.condition("g")[2]


def test_a_member_whose_claim_another_pod_uses_alone_is_named() -> None:
    """Semantics §7.4."""
    world = stored(100)
    claims = [replace(pvc(f"v{at}", 10, "fast"), access_modes=(RWOP,)) for at in range(2)]
    world.facts(*claims)
    world.claiming("user", "v1")
    world.settle()
    world.claiming("g", "v0", "v1")
    world.settle()
    message = world.condition("g")[2]
    assert message.startswith("1 of 2 members fits no node: g-1: ")
    assert "PersistentVolumeClaim v1 is in use by a pod on node n1" in message


@pytest.mark.parametrize(
    ("wanted", "cause"),
    [
        (pvc("v1", 10, "fastt"), "names StorageClass fastt, which does not exist."),
        (pvc("v1", 10, ""), "has no StorageClass: set storageClassName, or bind a"),
        (
            pvc("v1", 10, "fast", volume="gone"),
            "names PersistentVolume gone, which does not exist.",
        ),
        (pvc("v1", 10, "at-once"), "is not bound yet: StorageClass at-once binds without waiting"),
    ],
    ids=["no such class", "no class", "no such volume", "binds at once"],
)
def test_a_claim_that_is_not_bound_without_a_pod_is_named_with_the_cause(
    wanted: PersistentVolumeClaim, cause: str
) -> None:
    """Semantics §7.4."""
    world = stored(100)
    world.facts(StorageClass("at-once", "csi.example.com"), pvc("v0", 10, "fast"), wanted)
    world.claiming("g", "v0", "v1")
    world.settle()
    text = "0/4 nodes are available: pod has unbound immediate PersistentVolumeClaims."
    message = world.condition("g")[2]
    assert message.startswith(f"1 of 2 members fits no node: g-1: {text} Persist")
    assert f"PersistentVolumeClaim v1 {cause}" in message


def test_a_gang_that_waits_for_storage_of_its_nodes_says_how_much_and_what_is_left() -> None:
    """Semantics §2.9: each node has a segment of its own."""
    world = Stored()
    world.hosts_named("n1 n2")
    world.facts(FAST, DRIVER)
    for name, gib in (("n1", 15), ("n2", 25)):
        host = Selector((Requirement(HOST, Operator.IN, (name,)),))
        world.facts(replace(segment(f"on-{name}", gib, "a"), topology=host))
    world.facts(*(pvc(f"v{at}", 10, "fast") for at in range(4)))
    world.group("g", 4, timeout=60)
    small = replace(spec(cpu=1), volumes=(PodVolume("data", "claim"),))
    for at in range(4):
        world.member(f"g-{at}", "g", spec=small, claims=(f"v{at}",))
    world.settle()
    message = world.condition("g")[2]
    assert "3 of the 4 required members fit; the next one does not: 0/2 nodes" in message
    assert "PersistentVolumeClaim v3 needs 10Gi of StorageClass fast; at most 5Gi can" in message


def test_of_members_that_share_a_claim_and_fill_their_node_one_reason_is_counted() -> None:
    """Semantics §2.9."""
    world = stored(100)
    world.facts(pvc("shared", 10, "fast"))
    world.claiming("g", "shared", "shared", "shared")
    world.settle()
    message = world.condition("g")[2]
    assert "1 Insufficient cpu, 3 node(s) unavailable due to PersistentVolumeClaim with" in message
    assert "available persistent volumes" not in message
    assert "PersistentVolumeClaim shared (ReadWriteOnce) is shared by members" in message


def test_a_pod_without_a_group_has_the_words_of_kube_scheduler_and_the_claim_in_its_event() -> None:
    """Semantics §7.4."""
    world = stored(100)
    world.facts(pvc("v", 5000, "fast"))
    wanted = replace(spec(cpu=1), volumes=(PodVolume("data", "claim"),))
    world.pod("alone", None, spec=wanted, claims=("v",))
    world.settle()
    text = (
        "0/4 nodes are available: 4 node(s) did not have enough free storage. "
        "preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."
    )
    assert world.pod_conditions("alone")[-1][1] == text
    [(_, note)] = notes(world, "alone")
    assert note.startswith(f"{text} PersistentVolumeClaim v needs 5000Gi of StorageClass fast; ")


def test_members_whose_claim_is_not_made_from_its_template_are_told_after_a_while() -> None:
    """Semantics §7.4."""
    world = Claiming()
    world.machines("n1 n2", gpus=1)
    world.group("g", 2, timeout=60)
    wanted = replace(spec(cpu=1), resource_claims=(PodResourceClaim("gpus", "four-gpuss"),))
    for at in range(2):
        world.pod(f"g-{at}", "g", owner=JOB, spec=wanted, resource_claims=("",))
    world.settle(seconds=29)
    assert world.condition("g")[1] == "WaitingForMembers"
    text = 'pod "ns/g-0": ResourceClaim not created yet for entry "gpus" of its resourceClaims: '
    text += 'check that ResourceClaimTemplate "four-gpuss" exists in namespace "ns"'
    assert world.condition("g")[2] == text
    assert notes(world, "g-0") == []
    world.settle(seconds=2)
    assert notes(world, "g-0") == [("WaitingForGang", f"PodGroup ns/g: {text}")]
    assert world.pod_conditions("g-0") == [], "semantics §6.2"


def test_members_whose_claims_come_in_time_are_told_nothing() -> None:
    """Semantics §7.4."""
    world = Claiming()
    world.machines("n1", gpus=1)
    world.group("g", 1, timeout=60)
    wanted = replace(spec(cpu=1), resource_claims=(PodResourceClaim("gpus", "template"),))
    world.pod("g-0", "g", owner=JOB, spec=wanted, resource_claims=("",))
    world.settle(seconds=29)
    world.device_claim("g-0-gpus", owner=world.pods["g-0"].uid)
    world.change("g-0", resource_claims=("g-0-gpus",))
    world.settle(seconds=60)
    assert world.where() == {"g-0": "n1"}
    assert [reason for reason, _ in notes(world, "g-0")] == ["Scheduled"]


def test_while_volumes_are_provisioned_the_gang_says_which_it_waits_for() -> None:
    """Semantics §3.8."""
    world = World()
    for name in ("n1", "n2"):
        world.node(name, cpu=4, labels=((HOST, name), (ZONE, "a")))
    world.tell(FactSeen(FAST))
    claims = [replace(pvc(f"v{at}", 10, "fast"), namespace="ns") for at in range(2)]
    for each in claims:
        world.tell(FactSeen(each))
    world.group("g", 2, timeout=60)
    wanted = replace(spec(cpu=1), volumes=(PodVolume("data", "claim"),))
    for at in range(2):
        world.member(f"g-{at}", "g", spec=wanted, claims=(f"v{at}",))
    world.settle()
    who = "(StorageClass fast, provisioner csi.example.com)"
    assert world.condition("g")[1:] == (
        "Binding",
        f"binding 2 members; waiting for 2 PersistentVolumeClaims to be bound: v0 {who}, v1 {who}",
    )
    world.tell(FactSeen(replace(claims[0], volume="made", bind_completed=True)))
    begun = [effect.target for effect in world.effects if isinstance(effect, PreBind)]
    world.tell(PreBound(begun[0].plan, begun[0].uid))
    world.settle()
    assert world.condition("g")[2] == (
        f"binding 2 members; waiting for 1 PersistentVolumeClaim to be bound: v1 {who}"
    )


def test_while_devices_are_prepared_the_gang_says_of_how_many_members() -> None:
    """Semantics §3.8."""
    world = Claiming()
    world.slow = True
    world.machines("n1 n2", gpus=1)
    world.gang("g", 2)
    world.settle()
    assert world.condition("g")[2] == "binding 2 members; waiting for the devices of 2 members"


def devices_of(world: Claiming, *requests: dict[str, Any]) -> str:
    """The message of a gang of one whose claim has this spec, on two nodes of two devices."""
    made = replace(claim("c", *requests, uid="c"), namespace="ns")
    world.machines("n1 n2", gpus=2)
    world.tell(FactSeen(made))
    world.group("g", 1, timeout=60)
    world.naming("g-0", "g", gpu="c", cpu=1)
    world.settle()
    return world.condition("g")[2]


def test_a_claim_for_more_devices_than_a_node_has_is_told_with_both_numbers() -> None:
    """Semantics §2.10."""
    message = devices_of(Claiming(), exactly("gpus", 9))
    assert "2 cannot allocate all claims." in message
    assert message.endswith(
        "ResourceClaim c needs 9 devices of DeviceClass gpu (request gpus); at most 2 on one node "
        "match, and at most 2 are free."
    )


def test_a_selector_that_matches_no_device_is_told() -> None:
    """Semantics §2.10."""
    message = devices_of(Claiming(), exactly("gpus", 1, "gpu", 'device.driver == "other"'))
    assert message.endswith("(request gpus); no node has any that its selectors match.")


def test_a_constraint_of_an_attribute_that_no_device_has_is_told() -> None:
    """Semantics §2.10."""
    world = Claiming()
    body = exactly("gpus", 2)
    made = claim("c", body, uid="c", constraints=({"matchAttribute": f"{GPU_DRIVER}/numaa"},))
    world.machines("n1", gpus=2)
    world.tell(FactSeen(replace(made, namespace="ns")))
    world.group("g", 1, timeout=60)
    world.naming("g-0", "g", gpu="c", cpu=1)
    world.settle()
    text = f"matchAttribute {GPU_DRIVER}/numaa, an attribute that no matching device has"
    assert f"ResourceClaim c has constraint {text}." in world.condition("g")[2]


def test_devices_that_others_have_are_told_from_those_that_are_not_there() -> None:
    """Semantics §2.10."""
    world = Claiming()
    world.machines("n1", gpus=2)
    world.running_gang("user", 1, cpu=1)
    world.tell(FactSeen(replace(claim("c", exactly("gpus", 2), uid="c"), namespace="ns")))
    world.group("g", 1, timeout=60)
    world.naming("g-0", "g", gpu="c", cpu=1)
    world.settle()
    assert "at most 2 on one node match, and at most 1 are free." in world.condition("g")[2]


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        (exactly("gpus", 9), "2 cannot allocate all claims. ResourceClaim c1 needs 9 devices"),
        (None, 'could not find ResourceClaim "ns/c1"'),
    ],
    ids=["too many devices", "missing"],
)
def test_a_member_whose_claim_for_devices_cannot_be_served_is_named(
    asked: dict[str, Any] | None, text: str
) -> None:
    """Semantics §7.4."""
    world = Claiming()
    world.machines("n1 n2", gpus=2)
    world.group("g", 2, timeout=60)
    for at, each in enumerate((exactly(), asked)):
        if each is not None:
            world.tell(FactSeen(replace(claim(f"c{at}", each, uid=f"c{at}"), namespace="ns")))
        world.naming(f"g-{at}", "g", gpu=f"c{at}", cpu=1)
    world.settle()
    own = f"g-1: 0/2 nodes are available: {text}"
    assert f"1 of 2 members fits no node: {own}" in world.condition("g")[2]
    assert world.pod_conditions("g-1")[-1][1].startswith("This member does not fit: 0/2")


def waiting_for_volumes(world: Stored) -> None:
    """A gang of two whose ephemeral volumes have no claims yet."""
    world.group("g", 2, timeout=60)
    wanted = replace(spec(cpu=1), volumes=(PodVolume("data", "ephemeral"),))
    for name in ("g-0", "g-1"):
        world.member(name, "g", spec=wanted, claims=(f"{name}-data",))


def test_a_gang_whose_ephemeral_volumes_get_their_claims_in_time_warns_of_nothing() -> None:
    """Semantics §7.4."""
    world = stored(100)
    waiting_for_volumes(world)
    world.settle(seconds=2)
    _, reason, message = world.condition("g")
    assert reason == "WaitingForMembers"
    assert "waiting for ephemeral volume controller to create the persistentvolume" in message
    for name in ("g-0", "g-1"):
        claimed = pvc(f"{name}-data", 10, "fast", owner=world.pods[name].uid)
        world.facts(claimed)
    world.settle(seconds=60)
    assert sorted(world.where()) == ["g-0", "g-1"]
    warned = [each.reason for each in world.effects if isinstance(each, Emit)]
    assert set(warned) == {EventReason.SCHEDULED, EventReason.GANG_SCHEDULED}
    assert world.pod_conditions("g-0") == []


def test_members_whose_ephemeral_volumes_get_no_claims_are_told_after_a_while() -> None:
    """Semantics §7.4."""
    world = stored(100)
    waiting_for_volumes(world)
    world.settle(seconds=29)
    assert notes(world, "g-0") == []
    world.settle(seconds=2)
    [(reason, note)] = notes(world, "g-0")
    assert reason == "WaitingForGang"
    assert "waiting for ephemeral volume controller to create" in note
