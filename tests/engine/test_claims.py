# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs whose members have devices, or volumes and devices, through the whole engine."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.config import default_profiles
from enbloc.engine.effects import CancelPlan
from enbloc.engine.events import FactGone
from enbloc.engine.plan import PlanResult
from enbloc.engine.replay import DumpFile, decoded, encoded
from enbloc.engine.replay.replay import replayed
from enbloc.ledgers import ledgers_of
from enbloc.model.groups import GroupKey
from enbloc.model.ledger import Fact
from enbloc.model.pods import ContainerResource, Owner, PodResourceClaim, PodUID
from enbloc.storage.facts import StorageClass
from tests.devices.objects import (
    DRIVER,
    allocated,
    consumes,
    counter_set,
    device,
    device_class,
    exactly,
    slice_of,
)
from tests.devices.objects import claim as resource_claim
from tests.engine.claiming import (
    DISK,
    GPU,
    LOCAL,
    cluster_of,
    devices,
    gang_with_devices,
    gang_with_disks,
    prepare,
    preparing,
    seen,
    show_what_is_written,
    take_back,
)
from tests.world.builders import spec
from tests.world.cluster import Cluster
from tests.world.storage import RWO, RWX, bound, pv, pvc, segment

# ── devices ──────────────────────────────────────────────────────────────────────────────────


def gpus(node: str, count: int = 2, **attributes: Any) -> Fact:
    return slice_of(node, *(device(f"d{at}", attributes=attributes) for at in range(count)))


def test_each_member_gets_devices_of_its_own_on_its_node() -> None:
    cluster = cluster_of(device_class(), gpus("n1"), gpus("n2"))
    gang_with_devices(cluster, "g", *[exactly(count=1)] * 4)
    cluster.settle()
    found = [each for got in devices(cluster).values() for each in got]
    assert sorted(found) == ["n1/d0", "n1/d1", "n2/d0", "n2/d1"]
    prepare(cluster)
    assert len(cluster.where()) == 4


def test_an_earlier_members_devices_are_chosen_again_where_a_later_one_needs_them() -> None:
    model = 'device.attributes["gpu.example.com"].model == "b"'
    both = slice_of(
        "n1",
        device("either", attributes={"model": "b"}),
        device("other", attributes={"model": "a"}),
    )
    cluster = cluster_of(device_class(), both, nodes="n1")
    gang_with_devices(cluster, "g", exactly(), exactly("gpus", 1, "gpu", model))
    cluster.settle()
    assert devices(cluster) == {"g-0": ["n1/other"], "g-1": ["n1/either"]}


def test_a_member_whose_device_an_earlier_one_took_over_meanwhile_is_placed_elsewhere() -> None:
    """What an earlier one gives up on one node it takes on another, which was asked before."""
    kinds = {
        name: device_class(name, f'device.attributes["gpu.example.com"].model == "{name}"')
        for name in "ab"
    }
    pools = [slice_of(f"n{at}", device("d", attributes={"model": "a"})) for at in (2, 3, 4)]
    net = slice_of(None, device("d", attributes={"model": "b"}), pool="net", allNodes=True)
    cluster = cluster_of(device_class(), *kinds.values(), *pools, net, nodes="n1 n2 n3")
    cluster.node("n4", cpu=2, labels=(("kubernetes.io/hostname", "n4"), ("zone", "z")))
    cluster.group("g", 4)
    wants = (("gpu", "n2"), ("a", ""), ("b", "n1"), ("a", ""))
    for at, (of, host) in enumerate(wants):
        seen(cluster, [resource_claim(f"g-{at}-gpus", exactly("gpus", 1, of))])
        pinned = (("kubernetes.io/hostname", host),) if host else ()
        wanted = replace(spec(cpu=1), resource_claims=GPU, node_selector=pinned)
        cluster.pod(f"g-{at}", "g", spec=wanted, resource_claims=(f"g-{at}-gpus",))
    cluster.settle()
    assert devices(cluster) == {
        "g-0": ["n2/d"],
        "g-1": [devices(cluster)["g-1"][0]],
        "g-2": ["net/d"],
        "g-3": [devices(cluster)["g-3"][0]],
    }


def test_two_gangs_that_want_the_same_devices_never_hold_half_each() -> None:
    cluster = cluster_of(device_class(), gpus("n1"), gpus("n2"))
    gang_with_devices(cluster, "g", *[exactly(count=1)] * 3)
    gang_with_devices(cluster, "h", *[exactly(count=1)] * 3)
    cluster.settle()
    assert {name[0] for name in preparing(cluster)} == {"g"}
    assert cluster.condition("h")[1] == "Unschedulable"
    for index in range(3):
        cluster.tell(FactGone("ResourceClaim", f"ns/g-{index}-gpus"))
        cluster.delete(f"g-{index}")
    cluster.settle(seconds=30)
    assert not [name for name in preparing(cluster) if name[0] == "h"]  # PATCHes are under way
    take_back(cluster)
    assert {name for name in preparing(cluster) if name[0] == "h"} == {"h-0", "h-1", "h-2"}


def test_a_plan_that_is_given_up_keeps_its_devices_from_others_until_they_are_taken_back() -> None:
    cluster = cluster_of(device_class(), gpus("n1"), gpus("n2"))
    gang_with_devices(cluster, "g", *[exactly(count=1)] * 4)
    cluster.settle()
    gang_with_devices(cluster, "h", *[exactly(count=1)] * 4)
    before = preparing(cluster)

    for minimum in (3, 4, 3, 4):
        cluster.group("g", minimum)
        cluster.settle()
    again = preparing(cluster)

    assert {name[0] for name in again} == {"g"}, "its own group plans with them at once"
    assert all(again[name].target.plan != before[name].target.plan for name in before)
    for index in range(4):
        cluster.delete(f"g-{index}")
    cluster.settle(seconds=30)
    assert {name[0] for name in preparing(cluster)} == {"g"}
    decided_the_same_again(cluster)
    take_back(cluster)
    assert sorted(name for name in preparing(cluster) if name[0] == "h") == [
        f"h-{index}" for index in range(4)
    ]
    decided_the_same_again(cluster)


def test_a_member_that_somebody_binds_elsewhere_in_mid_prebind_keeps_its_devices_until_then() -> (
    None
):
    """Its PATCH may be under way, or begin yet."""
    cluster = cluster_of(device_class(), slice_of(None, device("0"), pool="net", allNodes=True))
    gang_with_devices(cluster, "g", exactly(count=1))
    cluster.settle()
    effect = preparing(cluster)["g-0"]
    elsewhere = "n2" if effect.target.node == "n1" else "n1"
    cluster.change("g-0", node=elsewhere)
    gang_with_devices(cluster, "h", exactly(count=1))
    cluster.settle(seconds=30)
    assert CancelPlan(effect.target.plan, frozenset({effect.target.uid})) in cluster.effects
    assert {name[0] for name in preparing(cluster)} == {"g"}
    take_back(cluster)
    assert {name[0] for name in preparing(cluster)} == {"g", "h"}


def test_a_device_that_another_scheduler_takes_as_well_is_bound_to_no_member() -> None:
    cluster = cluster_of(device_class(), gpus("n1"), gpus("n2"))
    gang_with_devices(cluster, "g", *[exactly(count=1)] * 4)
    cluster.settle()
    show_what_is_written(cluster)
    stranger = allocated("d0", pool="n1")
    seen(cluster, [resource_claim("stranger", exactly(), status=stranger)])
    prepare(cluster)
    cluster.settle(seconds=30)
    assert cluster.where() == {}
    assert "so has another claim" in cluster.condition("g")[2]


@pytest.mark.parametrize("order", ["n1 n2 n3", "n3 n1 n2"])
def test_a_gang_fits_beside_devices_of_two_nodes_that_share_a_counter(order: str) -> None:
    """Semantics §2.10: shared counters are summed over all members."""
    split = [
        device(f"d-{node}", nodeName=node, consumesCounters=[consumes("c", m=1)])
        for node in ("n1", "n2")
    ]
    shared = [counter_set("c", m=1)]
    pool = slice_of(None, *split, pool="p", perDeviceNodeSelection=True, sharedCounters=shared)
    cluster = cluster_of(device_class(), pool, gpus("n3", 1), nodes=order)
    gang_with_devices(cluster, "g", exactly(count=1), exactly(count=1))
    cluster.settle()
    assert {each.target.node for each in preparing(cluster).values()} in (
        {"n1", "n3"},
        {"n2", "n3"},
    )


def test_a_gang_that_wants_more_devices_than_there_are_says_that_it_can_never_fit() -> None:
    cluster = cluster_of(device_class(), gpus("n1"), gpus("n2"))
    gang_with_devices(cluster, "g", *[exactly(count=1)] * 5)
    cluster.settle()
    state, reason, message = cluster.condition("g")
    assert (state, reason) == (False, "Infeasible")
    assert "5" in message
    assert "4" in message


def sharing(members: int = 2) -> Cluster:
    """A gang of a PodGroup of Kubernetes whose members share a claim for a device of a network."""
    fabric = slice_of(None, device("0"), pool="net", allNodes=True)
    cluster = cluster_of(device_class(), fabric, nodes="n1 n2 n3")
    seen(cluster, [resource_claim("shared", exactly())])
    cluster.group("g", members)
    wanted = replace(spec(cpu="10m"), resource_claims=GPU)
    for index in range(members):
        cluster.pod(f"g-{index}", "g", spec=wanted, resource_claims=("shared",), pod_group="g")
    return cluster


def places(cluster: Cluster, but: str = "") -> bool:
    return cluster.engine.places(GroupKey("ns", "g"), PodUID(but))


def test_a_gang_of_300_of_a_pod_group_of_kubernetes_shares_one_claim() -> None:
    """Semantics §2.10."""
    cluster = sharing(300)
    cluster.settle()
    decided = [effect.target.decided.devices for effect in preparing(cluster).values()]
    assert len(decided) == 300
    assert len({each.claims for each in decided if each is not None}) == 1


def test_members_with_a_claim_that_they_share_and_one_of_their_own_go_where_there_are_devices() -> (
    None
):
    """The filter asks one of them for all: it must not count as served what that one has got."""
    far = slice_of(None, device("0", attributes={"far": True}), pool="net", allNodes=True)
    classes = [device_class(f"is-{each}", is_far(each)) for each in ("true", "false")]
    near = [
        slice_of(node, *(device(str(at), attributes={"far": False}) for at in range(2)))
        for node in ("n1", "n2")
    ]
    cluster = cluster_of(far, *near, *classes)
    seen(cluster, [resource_claim("shared", exactly(of="is-true"))])
    cluster.group("g", 4)
    wanted = replace(spec(cpu=1), resource_claims=(*GPU, PodResourceClaim("own")))
    for index in range(4):
        seen(cluster, [resource_claim(f"own-{index}", exactly(of="is-false"))])
        named = ("shared", f"own-{index}")
        cluster.pod(f"g-{index}", "g", spec=wanted, resource_claims=named)
    cluster.settle()
    assert len(preparing(cluster)) == 4, cluster.condition("g")


def is_far(value: str) -> str:
    return f'device.attributes["{DRIVER}"].far == {value}'


def test_more_than_256_pods_without_a_pod_group_of_kubernetes_are_told_why_they_cannot() -> None:
    """Semantics §2.10: it names the claim, the limit and the way out."""
    cluster = sharing(257)
    for name in list(cluster.pods):
        cluster.change(name, pod_group="")
    cluster.settle()
    assert preparing(cluster) == {}
    scheduled, _, message = cluster.condition("g")
    assert scheduled is False
    assert "ResourceClaim ns/shared has 256 consumers, and no more are possible" in message
    assert "use resourceClaimTemplateName, or list it in spec.resourceClaims" in message


def test_pods_of_a_pod_group_of_kubernetes_are_placed_from_the_plan_to_their_end() -> None:
    """Semantics §3.8: so long what is reserved for the PodGroup is not given back."""
    cluster = sharing()
    assert not places(cluster)
    cluster.settle()
    assert preparing(cluster)
    assert places(cluster)
    prepare(cluster)
    assert set(cluster.where()) == {"g-0", "g-1"}

    cluster.finish("g-0")
    cluster.settle()
    assert places(cluster)
    assert not places(cluster, but=cluster.pods["g-1"].uid)
    cluster.delete("g-1")
    cluster.settle()
    assert not places(cluster)


def test_pods_of_a_plan_that_is_given_up_are_not_placed() -> None:
    cluster = sharing()
    cluster.settle()
    cluster.drop_group("g")
    cluster.settle()
    assert not places(cluster)


SHARES = "gpu.example.com/shares"
ONE_SHARE = replace(
    spec(cpu=1),
    requests=(*spec(cpu=1).requests, (SHARES, 1)),
    extended=(ContainerResource(0, "main", SHARES, 0, 1),),
)


def test_a_plan_stands_while_the_claim_for_its_extended_resources_is_made() -> None:
    cluster = cluster_of(device_class(extendedResourceName=SHARES), gpus("n1"), gpus("n2"))
    cluster.gang("g", 4, spec=ONE_SHARE)
    cluster.settle()
    decided = {name: effect.target.decided.devices for name, effect in preparing(cluster).items()}
    for name, each in decided.items():
        assert each is not None
        assert each.extended is not None
        made = resource_claim(f"{name}-made", exactly(count=1))
        owned = replace(made, owner=cluster.pods[name].uid, extended_for=cluster.pods[name].uid)
        seen(cluster, [owned, replace(owned, allocation=each.extended.allocation)])
        cluster.change(name, extended_claim=owned.name)
        cluster.node("n2", cpu=9, labels=(("kubernetes.io/hostname", "n2"),))
    prepare(cluster)
    assert len(cluster.where()) == 4
    assert len({effect.target.plan for effect in preparing(cluster).values()}) == 1


def test_devices_that_serve_an_extended_resource_are_no_part_of_min_resources() -> None:
    """Semantics §5.1."""
    cluster = cluster_of(gpus("n1"), gpus("n2"))
    cluster.group("g", 1, min_resources=((SHARES, 3),))
    cluster.pod("g-0", "g", spec=ONE_SHARE)
    cluster.settle()
    assert cluster.condition("g")[1] == "Infeasible"
    seen(cluster, [device_class(extendedResourceName=SHARES)])
    cluster.settle()
    assert preparing(cluster).keys() == {"g-0"}
    cluster.pod("later", spec=ONE_SHARE)
    cluster.settle()
    assert preparing(cluster).keys() == {"g-0", "later"}, "none are reserved"


def test_min_resources_that_nodes_offer_are_reserved_though_devices_serve_them_too() -> None:
    """Semantics §5.1."""
    cluster = cluster_of(device_class(extendedResourceName=SHARES), gpus("n1"), nodes="n1")
    cluster.node("n2", cpu=8, labels=(("kubernetes.io/hostname", "n2"),), **{SHARES: 3})
    cluster.group("g", 1, min_resources=((SHARES, 3),))
    on_n2 = replace(ONE_SHARE, node_selector=(("kubernetes.io/hostname", "n2"),))
    cluster.pod("g-0", "g", spec=on_n2)
    cluster.settle()
    cluster.now += 1
    cluster.gang("h", 1, spec=on_n2)
    cluster.settle()
    assert "2 reserved for ns/g" in cluster.condition("h")[2]


# ── everything else sees them ────────────────────────────────────────────────────────────────


def planned() -> Cluster:
    cluster = cluster_of(
        LOCAL, device_class(), pv("a", 1, "n1"), pv("b", 1, "n2"), gpus("n1"), gpus("n2")
    )
    gang_with_disks(cluster, "g", 1, 1)
    gang_with_devices(cluster, "d", *[exactly(count=1)] * 3)
    gang_with_disks(cluster, "late", 1)
    cluster.settle()
    return cluster


def decided_the_same_again(cluster: Cluster) -> set[str]:
    """Replay every decision from a dump; the groups that they were about."""
    dump = decoded(encoded(DumpFile("", "0", [], cluster.engine.dump()))).dump
    assert dump.present() == cluster.engine.dump().present()
    groups: set[str] = set()
    for decision, tables in dump.forwards():
        again = replayed(decision, tables, default_profiles(), dump.search_steps)
        assert not again.differences
        groups.add(decision.plan.group.name)
    return groups


def test_decisions_about_claims_are_the_same_when_they_are_replayed_from_a_dump() -> None:
    assert decided_the_same_again(planned()) == {"g", "d", "late"}


def test_a_dump_keeps_what_devices_say_of_themselves() -> None:
    versions = slice_of("n1", {"name": "d", "attributes": {"fw": {"version": "1.2.3-rc.1"}}})
    cluster = cluster_of(versions, segment("s", 5, "z"), pv("a", 1, "n1"))
    dump = cluster.engine.dump()
    assert decoded(encoded(DumpFile("", "0", [], dump))).dump.present() == dump.present()


def test_what_if_sees_that_a_replacement_finds_no_device_elsewhere() -> None:
    cluster = cluster_of(device_class(), gpus("n1"), gpus("n2"))
    gang_with_devices(cluster, "g", *[exactly(count=1)] * 4)
    cluster.settle()
    prepare(cluster)
    for name in ("g-0", "g-1", "g-2", "g-3"):
        cluster.change(name, owner=Owner("Job", "j", "job-1"))
    [after] = cluster.engine.without(["n1"], cluster.now)
    assert after.plan.verdict is not PlanResult.PLACED
    cluster.node("n3", cpu=8, labels=(("kubernetes.io/hostname", "n3"),))
    seen(cluster, [gpus("n3")])
    [after] = cluster.engine.without(["n1"], cluster.now)
    assert after.plan.verdict is PlanResult.PLACED


@pytest.mark.parametrize("kind", ["volumes", "devices"])
def test_a_plan_that_is_given_up_leaves_nothing_taken(kind: str) -> None:
    cluster = planned()
    group = {"volumes": "g", "devices": "d"}[kind]
    cluster.drop_group(group)
    cluster.settle()
    ledgers = ledgers_of(cluster.engine._state.nodes)
    members = [pod for name, pod in cluster.pods.items() if name.startswith(f"{group}-")]
    assert members
    assert [pod.key.name for pod in members if any(ledgers.decided(pod))] == []


# ── members that must be on one node ─────────────────────────────────────────────────────────


def tempting(*facts: Fact) -> Cluster:
    """A small empty node, which the first member of a gang prefers, and a large one in use."""
    cluster = cluster_of(*facts)
    cluster.node("n1", cpu=2, labels=(("kubernetes.io/hostname", "n1"), ("zone", "z")))
    cluster.pod("stranger", spec=spec(cpu=4), node="n2", scheduler="other")
    return cluster


def sharing_both(cluster: Cluster, *cpus: int) -> None:
    """A gang whose members share a claim for a volume and one for devices, named data and gpus."""
    cluster.group("g", len(cpus))
    for index, cpu in enumerate(cpus):
        wanted = replace(spec(cpu=cpu), volumes=DISK, resource_claims=GPU)
        cluster.pod(f"g-{index}", "g", spec=wanted, claims=("data",), resource_claims=("gpus",))


@pytest.mark.parametrize("cpus", [(1, 1, 1), (1, 1, 2)], ids=["alike", "of two kinds"])
@pytest.mark.parametrize("by", ["volume", "devices", "both"])
def test_members_that_share_a_claim_go_to_a_node_for_all_of_them(
    cpus: tuple[int, ...], by: str
) -> None:
    """The first member alone would go to the node where the others find no room."""
    mode, everywhere = (RWX if by == "devices" else RWO), by == "volume"
    served = (
        [slice_of(None, device("0"), allNodes=True)] if everywhere else [gpus("n1"), gpus("n2")]
    )
    cluster = tempting(StorageClass("made", "csi.example.com", waits=True), device_class(), *served)
    seen(cluster, [pvc("data", storage_class="made", access_modes=(mode,))])
    if by == "devices":
        seen(cluster, [bound("data", "everywhere", access_modes=(RWX,)), pv("everywhere")])
    seen(cluster, [resource_claim("gpus", exactly(count=1))])
    sharing_both(cluster, *cpus)
    cluster.settle()
    assert {each.target.node for each in preparing(cluster).values()} == {"n2"}
    assert len(preparing(cluster)) == len(cpus)
