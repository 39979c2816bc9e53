# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods and gangs with devices: semantics §2.10 and §3.8."""

import asyncio
import random

import pytest

from enbloc.client.errors import Invalid
from enbloc_sandbox.nodes import DEVICE_DRIVER
from tests.e2e import incidents
from tests.e2e.claims import Claims, all_met, from_template, sharing
from tests.e2e.fault_proxy import Fault
from tests.e2e.observer import SERVED_BY_DEVICES
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("processes are started for each test")

#: Members of a gang that takes all devices of four nodes.
GANG = 8


def prepares(method: str, path: str) -> bool:
    """Whether a request writes a claim for devices."""
    return method in ("PATCH", "PUT") and "/resourceclaims/" in path


async def members(world: World, gang: str, size: int) -> None:
    """A gang each of whose pods has a claim of template "gpu"."""
    await world.gang(gang, size, resourceClaims=from_template())


# ── one pod ──────────────────────────────────────────────────────────────────────────────────


async def test_a_pod_with_each_kind_of_claim_starts(world: World, claims: Claims) -> None:
    nodes = await world.nodes(2, cpu=8)
    await claims.offer(nodes, 4)
    await claims.template()
    await claims.resource_claim("alone")
    await claims.resource_claim("shared", count=2)
    await world.pod("template", resourceClaims=from_template())
    await world.pod("alone", resourceClaims=sharing("alone"))
    for index in range(3):
        await world.pod(f"shared-{index}", resourceClaims=sharing("shared"))
    await world.running("", 5)
    assert len(claims.devices()) == 4
    bound = world.observer.bound(world.namespace, "shared")
    assert len(set(bound.values())) == 1


async def test_devices_come_back_when_the_pods_have_ended(world: World, claims: Claims) -> None:
    nodes = await world.nodes(1, cpu=8)
    await claims.offer(nodes, 2)
    await claims.template()
    await world.gang("one", 2, resourceClaims=from_template(), run_seconds=1)
    await world.bound("one", 2)
    await members(world, "two", 2)
    await all_met(world, claims, "two", 2)


# ── gangs ────────────────────────────────────────────────────────────────────────────────────


async def test_a_gang_gets_a_device_for_each_member_or_none(world: World, claims: Claims) -> None:
    nodes = await world.nodes(2, cpu=16)
    await claims.offer(nodes, 4)
    await claims.template()
    await members(world, "many", 9)
    await world.condition("many", "Scheduled", "False")
    await members(world, "fits", 8)
    await all_met(world, claims, "fits", 8)
    assert claims.met("many") == 0
    assert not world.observer.bound(world.namespace, "many")


async def test_an_earlier_members_device_is_given_up_for_a_later_member(
    world: World, claims: Claims
) -> None:
    """Who goes pod by pod gives the large device, which is listed first, to who needs no more."""
    (node,) = await world.nodes(1, cpu=8)
    await claims.device_class()
    await claims.slice(
        node,
        [
            {"name": "large", "attributes": {"size": {"int": 2}}},
            {"name": "small", "attributes": {"size": {"int": 1}}},
        ],
    )
    gpu = claims.name("gpu")
    await claims.template("any", device_class=gpu)
    large = f'device.attributes["{DEVICE_DRIVER}"].size == 2'
    await claims.template("large", device_class=gpu, expression=large)
    await world.group("pair", 2)
    await world.pod("pair-0", "pair", resourceClaims=from_template("any"))
    await world.pod("pair-1", "pair", resourceClaims=from_template("large"))
    await all_met(world, claims, "pair", 2)
    owners = claims.devices()
    assert owners[f"{DEVICE_DRIVER}/{node}/large"].startswith("pair-1-")


async def test_members_that_share_a_claim_go_where_one_device_has_room_for_all(
    world: World, claims: Claims
) -> None:
    label = "example.com/domain"
    nodes = {at: await world.nodes(3, cpu=2, labels={label: at}) for at in "abc"}
    await claims.device_class()
    for at in nodes:
        await claims.domain(at, label, at)
    for at in "ac":
        await world.pod(f"busy-{at}", cpu=2, nodeSelector={label: at})
    await world.running("busy", 2)
    await claims.resource_claim("shared", device_class=claims.name("gpu"))
    await world.gang("link", 3, cpu=2, resourceClaims=sharing("shared"))
    await world.running("link", 3)
    bound = world.observer.bound(world.namespace, "link")
    assert set(bound.values()) == set(nodes["b"])
    assert claims.devices() == {f"{DEVICE_DRIVER}/{claims.name('b')}/link": "shared"}
    assert len(claims.consumers()["shared"]) == 3

    await claims.resource_claim("other", device_class=claims.name("gpu"))
    await world.gang("more", 3, cpu=2, resourceClaims=sharing("other"))
    most = "ResourceClaim other have room for more than 2 of 3 members"
    await world.condition("more", "Scheduled", "False", message=most)
    await world.delete_pod("busy-c")
    await world.running("more", 3)
    assert set(world.observer.bound(world.namespace, "more").values()) == set(nodes["c"])


async def test_two_gangs_for_the_same_devices_never_hold_half_each(
    world: World, claims: Claims
) -> None:
    nodes = await world.nodes(4, cpu=16)
    await claims.offer(nodes, 3)
    await claims.template()
    await asyncio.gather(members(world, "left", GANG), members(world, "right", GANG))
    first = await world.either_bound({"left": GANG, "right": GANG})
    other = {"left": "right", "right": "left"}[first]
    await all_met(world, claims, first, GANG)
    await world.quiet()
    assert claims.met(other) == 0
    assert claims.most_in_part <= 1

    for index in range(GANG):
        await world.delete_pod(f"{first}-{index}")
    await world.delete_group(first)
    await all_met(world, claims, other, GANG)


# ── what goes wrong in mid-PreBind ───────────────────────────────────────────────────────────


async def test_pools_published_again_in_mid_burst_double_nothing(
    world: World, claims: Claims
) -> None:
    nodes = await world.nodes(4, cpu=16)
    await claims.offer(nodes, 2)
    await claims.template()
    await incidents.slow_writes(world, prepares)
    await members(world, "burst", GANG)
    await world.until(lambda: claims.met("burst") >= 2, "two claims are allocated")
    for node in nodes:
        await claims.republish(node)
    await all_met(world, claims, "burst", GANG)
    assert len(claims.devices()) == GANG


@pytest.mark.parametrize("met", [pytest.param(1, id="early"), pytest.param(6, id="late")])
async def test_a_scheduler_killed_in_mid_prebind_doubles_and_leaks_nothing(
    world: World, claims: Claims, met: int
) -> None:
    nodes = await world.nodes(4, cpu=16)
    await claims.offer(nodes, 2)
    await claims.template()
    await incidents.slow_writes(world, prepares)
    await members(world, "burst", GANG)
    await world.until(lambda: claims.met("burst") >= met, f"{met} claims are allocated")
    world.scheduler.kill()
    assert len(world.observer.bound(world.namespace)) < GANG

    await world.start_scheduler()
    await all_met(world, claims, "burst", GANG)
    assert len(claims.devices()) == GANG


@pytest.mark.parametrize("extended", [False, True], ids=["claims", "extended resources"])
async def test_what_a_killed_scheduler_allocated_on_nodes_that_fill_up_is_taken_back(
    world: World, claims: Claims, extended: bool
) -> None:
    nodes = await world.nodes(4, cpu=16)
    await claims.offer(nodes, 2)
    await incidents.slow_writes(world, prepares)
    if extended:
        await asking_for_devices(world, claims, "burst", 4)
    else:
        await claims.template()
        await members(world, "burst", 4)
    await world.until(lambda: claims.met("burst") >= 2, "two claims are allocated")
    world.scheduler.kill()
    before = claims.devices()
    full = {device.split("/")[1] for device in before}
    assert not world.observer.bound(world.namespace)
    for node in full:
        await world.pod(f"stranger-{node}", cpu=16, node=node, scheduler="other")
    await world.until(
        lambda: len(world.observer.bound(world.namespace, "stranger")) == len(full), "they are full"
    )

    await world.start_scheduler()
    await all_met(world, claims, "burst", 4)
    assert full.isdisjoint(world.observer.bound(world.namespace, "burst").values())
    assert len(claims.devices()) == 4


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault(forge=500), id="500"),
        pytest.param(Fault(forge=409), id="409"),
        pytest.param(Fault(drop=True), id="dropped"),
        pytest.param(Fault(drop=True, late=0.2), id="dropped and done"),
        pytest.param(Fault(sends=2), id="sent twice"),
    ],
)
async def test_writes_that_go_wrong_in_mid_prebind_double_and_lose_nothing(
    world: World, claims: Claims, fault: Fault
) -> None:
    rng = random.Random(13)
    nodes = await world.nodes(4, cpu=16)
    await claims.offer(nodes, 2)
    await claims.template()
    proxy = await incidents.fault_proxy(world)
    proxy.policy = lambda method, path: (
        fault if prepares(method, path) and rng.random() < 0.4 else Fault()
    )
    await members(world, "burst", GANG)
    await all_met(world, claims, "burst", GANG)
    assert len(claims.devices()) == GANG


async def test_a_gang_that_is_deleted_in_mid_prebind_gives_its_devices_back(
    world: World, claims: Claims
) -> None:
    nodes = await world.nodes(4, cpu=16)
    await claims.offer(nodes, 2)
    await claims.template()
    await incidents.slow_writes(world, prepares)
    await members(world, "burst", GANG)
    await world.until(lambda: claims.met("burst") >= 2, "two claims are allocated")
    for index in range(GANG):
        await world.delete_pod(f"burst-{index}")
    await world.delete_group("burst")
    await members(world, "next", GANG)
    await all_met(world, claims, "next", GANG)


# ── extended resources ───────────────────────────────────────────────────────────────────────


async def asking_for_devices(world: World, claims: Claims, gang: str, size: int) -> None:
    """A gang each of whose pods requests a device as an extended resource."""
    served = f"{world.namespace}{SERVED_BY_DEVICES}"
    await claims.device_class("served", serves=served)
    amounts = {"cpu": "1", served: "1"}
    resources = {"requests": amounts, "limits": amounts}
    container = {"name": "main", "image": "busybox:1.37", "resources": resources}
    await world.gang(gang, size, containers=[container])


async def test_devices_serve_extended_resources_by_claims_that_the_scheduler_makes(
    world: World, claims: Claims
) -> None:
    nodes = await world.nodes(2, cpu=16)
    await claims.offer(nodes, 2)
    await asking_for_devices(world, claims, "gang", 4)
    await all_met(world, claims, "gang", 4)
    await world.running("gang", 4)
    assert len(claims.devices()) == 4


async def test_claims_that_the_scheduler_made_go_with_the_plan_that_needed_them(
    world: World, claims: Claims
) -> None:
    nodes = await world.nodes(4, cpu=16)
    await claims.offer(nodes, 2)
    await incidents.slow_writes(world, prepares)
    await asking_for_devices(world, claims, "burst", GANG)
    await world.until(lambda: claims.met("burst") >= 2, "two claims are allocated")
    await world.delete_pod("burst-7")
    await world.until(lambda: not claims.made(), "no claim is left")
    assert not world.observer.bound(world.namespace)


# ── bad input ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("what", "said"),
    [
        pytest.param("claim", "could not find ResourceClaim", id="claim missing"),
        pytest.param("class", "device class nothing.example.com does not exist", id="no class"),
        pytest.param("many", "", id="10 000 devices"),
    ],
)
async def test_a_claim_that_is_no_good_is_named_and_holds_up_nobody_else(
    world: World, claims: Claims, what: str, said: str
) -> None:
    nodes = await world.nodes(2, cpu=8)
    await claims.offer(nodes, 2)
    if what == "class":
        await claims.resource_claim("data", device_class="nothing.example.com")
    elif what == "many":
        await claims.resource_claim("data", count=10_000)
    await claims.template()
    await world.group("bad", 2)
    await world.pod("bad-0", "bad", resourceClaims=sharing("data"))
    await world.pod("bad-1", "bad")
    await members(world, "good", 2)

    await all_met(world, claims, "good", 2)
    await world.condition("bad", "Scheduled", "False", message=said)
    assert not world.observer.bound(world.namespace, "bad")


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        pytest.param("device.driver ==", "CEL", id="no expression"),
        pytest.param("device.nothing == 1", "CEL", id="no such field"),
        pytest.param("'a'", "CEL", id="no truth value"),
    ],
)
async def test_a_class_whose_expression_does_not_compile_is_named(
    world: World, claims: Claims, expression: str, said: str
) -> None:
    if world.target.complete:  # it is never the scheduler's to name
        with pytest.raises(Invalid, match=r"spec\.selectors\[0\]\.cel\.expression"):
            await claims.device_class("odd", expression)
        return
    nodes = await world.nodes(1, cpu=8)
    await claims.offer(nodes, 2)
    await claims.device_class("odd", expression)
    await claims.template("odd", device_class=claims.name("odd"))
    await claims.template()
    await world.gang("odd", 1, resourceClaims=from_template("odd"))
    await members(world, "good", 2)

    await all_met(world, claims, "good", 2)
    await world.condition("odd", "Scheduled", "False", message=claims.name("odd"))
    await world.condition("odd", "Scheduled", "False", message=said)
