# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Devices that take long to look at, or of which drivers say what cannot be: semantics §2.10, §9.8.

Whatever a driver publishes and a tenant asks for, who has to do with it is told, and others go on.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pytest

from enbloc.client.errors import Invalid
from enbloc.client.paths import RESOURCE_SLICES
from tests.e2e.claims import Claims, all_met, from_template
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("processes are started for each test")

#: A ResourceSlice holds no more devices.
PER_SLICE: Final = 128
#: Devices of the largest pool.
MANY: Final = 10_000
#: Members of the gang that wants some of these.
SIZE: Final = 64

Device = Mapping[str, Any]
Slice = Mapping[str, Sequence[Mapping[str, Any]]]


def loops(count: int) -> str:
    """An expression that is true after three loops within each other over so many numbers."""
    numbers = f"[{', '.join(map(str, range(count)))}]"
    return f"{numbers}.all(a, {numbers}.all(b, {numbers}.all(c, a + b + c >= 0)))"


def driver(world: World) -> str:
    """The name of a driver of this test alone."""
    return f"{world.namespace}.example.com"


async def publish(
    world: World, claims: Claims, pool: str, slices: Sequence[Slice], **site: Any
) -> None:
    """The ResourceSlices of a pool, each with devices or with counters, which this site reaches."""
    name = claims.name(pool)
    of_pool = {"name": name, "generation": 1, "resourceSliceCount": len(slices)}
    bodies = [
        {
            "metadata": {"name": f"{name}-{at}"},
            "spec": {"driver": driver(world), "pool": of_pool, **site, **one},
        }
        for at, one in enumerate(slices)
    ]
    await asyncio.gather(*(claims._create(RESOURCE_SLICES, body) for body in bodies))


def plain(numbers: Iterable[int]) -> list[Device]:
    """Devices that say nothing but which they are."""
    return [{"name": f"gpu-{at}", "attributes": {"index": {"int": at}}} for at in numbers]


def partition(
    name: str, size: str, takes: str, *, of: str = "board", counter: str = "memory"
) -> Device:
    """A device that takes so much of a counter."""
    taken = {"counterSet": of, "counters": {counter: {"value": takes}}}
    return {
        "name": name,
        "attributes": {"size": {"string": size}},
        "consumesCounters": [taken],
    }


def board(memory: str, name: str = "board") -> dict[str, Any]:
    """A set with one counter."""
    return {"name": name, "counters": {"memory": {"value": memory}}}


async def template(world: World, claims: Claims, name: str, expression: str = "") -> None:
    """A class of this test's devices of which the expression is true, and a template for one."""
    own = f'device.driver == "{driver(world)}"'
    await claims.device_class(name, f"{own} && {expression}" if expression else own)
    await claims.template(name, device_class=claims.name(name))


# ── how many there are ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("chosen", [False, True], ids=["any of them", "of a tenth of them"])
@pytest.mark.parametrize("where", ["one node", "all nodes"])
async def test_each_member_has_another_one_of_ten_thousand_devices_of_one_pool(
    world: World, claims: Claims, where: str, chosen: bool
) -> None:
    nodes = await world.nodes(4, cpu=SIZE if where == "one node" else SIZE // 4)
    site = {"nodeName": nodes[2]} if where == "one node" else {"allNodes": True}
    parts = (range(at, min(at + PER_SLICE, MANY)) for at in range(0, MANY, PER_SLICE))
    slices = [{"devices": plain(part)} for part in parts]
    index = f'device.attributes["{driver(world)}"].index'
    await template(world, claims, "many", f"{index} >= 9000" if chosen else "")
    await world.gang("gang", SIZE, resourceClaims=from_template("many"))
    await publish(world, claims, "pool", slices, **site)
    await all_met(world, claims, "gang", SIZE)
    given = [int(device.rpartition("-")[2]) for device in claims.devices()]
    assert len(given) == SIZE
    assert min(given) >= (9000 if chosen else 0)
    bound = set(world.observer.bound(world.namespace, "gang").values())
    assert bound == ({nodes[2]} if where == "one node" else set(nodes))


# ── what selectors cost ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("of", ["class", "claim"])
async def test_a_selector_that_costs_too_much_is_named_and_holds_up_nobody_else(
    world: World, claims: Claims, of: str
) -> None:
    """An API server accepts it: in the worst case it costs less than it allows."""
    nodes = await world.nodes(2, cpu=8)
    await publish(world, claims, "pool", [{"devices": plain(range(4))}], nodeName=nodes[0])
    await template(world, claims, "cheap")
    if of == "class":
        await template(world, claims, "dear", loops(40))
    else:
        cheap = claims.name("cheap")
        await claims.template("dear", device_class=cheap, expression=loops(40))
    await world.gang("dear", 2, resourceClaims=from_template("dear"))
    await world.gang("good", 2, resourceClaims=from_template("cheap"))

    await all_met(world, claims, "good", 2)
    named = claims.name("dear") if of == "class" else f"claim {world.namespace}/dear-"
    await world.condition("dear", "Scheduled", "False", message=named)
    await world.condition("dear", "Scheduled", "False", message="selector #0: CEL")
    await world.event("dear-0", "FailedScheduling", note=named)
    assert not world.observer.bound(world.namespace, "dear")


async def test_a_selector_that_no_server_accepts_for_its_cost_is_named(
    world: World, claims: Claims
) -> None:
    if world.target.complete:  # it is never the scheduler's to name
        with pytest.raises(Invalid, match="too complex"):
            await template(world, claims, "dear", loops(60))
        return
    nodes = await world.nodes(1, cpu=8)
    await publish(world, claims, "pool", [{"devices": plain(range(4))}], nodeName=nodes[0])
    await template(world, claims, "dear", loops(60))
    await template(world, claims, "cheap")
    await world.gang("dear", 2, resourceClaims=from_template("dear"))
    await world.gang("good", 2, resourceClaims=from_template("cheap"))

    await all_met(world, claims, "good", 2)
    await world.condition("dear", "Scheduled", "False", message=claims.name("dear"))
    assert not world.observer.bound(world.namespace, "dear")


async def test_a_gang_whose_selectors_take_several_decisions_is_bound_after_others(
    world: World, claims: Claims
) -> None:
    """Semantics §9.8: what was looked at is remembered, and no event is needed."""
    nodes = await world.nodes(2, cpu=8)
    await publish(world, claims, "pool", [{"devices": plain(range(16))}], nodeName=nodes[0])
    last = f'{loops(16)} && device.attributes["{driver(world)}"].index == 15'
    await template(world, claims, "dear", last)
    await template(world, claims, "cheap")
    await world.gang("dear", 1, resourceClaims=from_template("dear"))
    for number in range(3):
        await world.gang(f"good{number}", 2, resourceClaims=from_template("cheap"))
    for number in range(3):
        await all_met(world, claims, f"good{number}", 2)
    await all_met(world, claims, "dear", 1)
    assert f"{driver(world)}/{claims.name('pool')}/gpu-15" in claims.devices()


# ── counters ─────────────────────────────────────────────────────────────────────────────────


async def test_a_device_that_takes_more_than_there_is_is_never_given_and_others_of_its_pool_are(
    world: World, claims: Claims
) -> None:
    (node,) = await world.nodes(1, cpu=16)
    devices = [
        partition("whole", "large", "20Gi"),
        *(partition(f"part-{at}", "small", "4Gi") for at in range(4)),
    ]
    slices: list[Slice] = [{"devices": devices}, {"sharedCounters": [board("10Gi")]}]
    await publish(world, claims, "pool", slices, nodeName=node)
    for size in ("large", "small"):
        of = f'device.attributes["{driver(world)}"].size == "{size}"'
        await template(world, claims, size, of)
    await world.gang("large", 1, resourceClaims=from_template("large"))
    await world.gang("many", 3, resourceClaims=from_template("small"))
    await world.gang("fits", 2, resourceClaims=from_template("small"))

    await all_met(world, claims, "fits", 2)
    for gang in ("large", "many"):
        said = "cannot allocate all claims"
        await world.condition(gang, "Scheduled", "False", message=said)
        await world.event(f"{gang}-0", "FailedScheduling", note=said)
        assert not world.observer.bound(world.namespace, gang)


_CONTRADICTIONS: Final[Mapping[str, Sequence[Slice]]] = {
    "a set that is not there": [
        {"devices": [partition("part", "small", "4Gi", of="other")]},
        {"sharedCounters": [board("10Gi")]},
    ],
    "a counter that its set has not": [
        {"devices": [partition("part", "small", "4Gi", counter="cores")]},
        {"sharedCounters": [board("10Gi")]},
    ],
    "two sets of one name": [
        {"devices": [partition("part", "small", "4Gi")]},
        {"sharedCounters": [board("10Gi")]},
        {"sharedCounters": [board("4Gi")]},
    ],
    "no set at all": [{"devices": [partition("part", "small", "4Gi")]}],
}


@pytest.mark.parametrize("what", _CONTRADICTIONS)
async def test_nothing_of_a_pool_whose_counters_contradict_each_other_is_given(
    world: World, claims: Claims, what: str
) -> None:
    bad, good = await world.nodes(2, cpu=8)
    await publish(world, claims, "bad", _CONTRADICTIONS[what], nodeName=bad)
    await publish(world, claims, "good", [{"devices": plain(range(2))}], nodeName=good)
    await template(world, claims, "any")
    await template(world, claims, "part", f'"size" in device.attributes["{driver(world)}"]')
    await world.gang("part", 1, resourceClaims=from_template("part"))
    await world.gang("whole", 2, resourceClaims=from_template("any"))

    await all_met(world, claims, "whole", 2)
    assert set(world.observer.bound(world.namespace, "whole").values()) == {good}
    said = "invalid resource pools were encountered"
    await world.condition("part", "Scheduled", "False", message=said)
    await world.event("part-0", "FailedScheduling", note=said)
    assert not world.observer.bound(world.namespace, "part")
