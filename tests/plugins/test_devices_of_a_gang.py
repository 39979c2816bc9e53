# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs whose members have claims, as the engine plans them."""

import random
from dataclasses import replace
from typing import Any

import pytest

from enbloc.devices.facts import ResourceClaim, ResourceSlice
from enbloc.engine.effects import PreBind
from enbloc.engine.events import FactGone, FactSeen
from enbloc.ledgers import ledgers_of, own_ledgers
from enbloc.model.pods import ContainerResource, PodResourceClaim, PodUID
from enbloc.plugins.dynamic_resources.filter import DeviceFilter
from tests.devices.objects import (
    DRIVER,
    ask,
    claim,
    device,
    device_class,
    every,
    exactly,
    first_of,
    nodes,
    pod,
    slice_of,
)
from tests.engine.claiming import preparing
from tests.world.builders import spec
from tests.world.cluster import Cluster, cluster_with

BIG = f'device.attributes["{DRIVER}"].size == "big"'
FROM_TEMPLATE = (PodResourceClaim("gpu", "gpus"),)
SHARED = (PodResourceClaim("gpu"),)


def cluster(*facts: Any) -> Cluster:
    """Nodes n1 and n2 with these objects."""
    made = cluster_with()
    for fact in facts:
        made.tell(FactSeen(fact))
    return made


def asks(name: str, request: dict[str, Any], owner: str = "") -> ResourceClaim:
    return claim(name, request, owner=owner, metadata={"namespace": "ns"})


def member(of: Cluster, name: str, gang: str, claim: str, *, shared: bool = False) -> None:
    wants = SHARED if shared else FROM_TEMPLATE
    pods = spec(cpu=1, resource_claims=wants)
    of.pod(name, gang, spec=pods, resource_claims=(claim,), uid=PodUID(f"uid-{name}"))


def given(of: Cluster) -> dict[str, list[str]]:
    """What members that are prepared get, as node/device."""
    found: dict[str, list[str]] = {}
    for effect in of.effects:
        if isinstance(effect, PreBind) and effect.target.decided.devices is not None:
            claims = effect.target.decided.devices.claims
            found[effect.target.pod.name] = [
                f"{effect.target.node}/{result.device}"
                for each in claims
                for result in (each.allocation.results if each.allocation else ())
            ]
    return found


def test_the_first_member_leaves_the_only_big_device_to_the_last() -> None:
    """kubernetes#138765."""
    world = cluster(
        device_class(),
        slice_of(
            "n1", device("0", attributes={"size": "big"}), device("1", attributes={"size": "s"})
        ),
        asks("any", exactly(), "first"),
        asks("big", exactly("gpus", 1, "gpu", BIG), "second"),
    )
    world.group("g", 2)
    member(world, "first", "g", "any")
    member(world, "second", "g", "big")

    world.step()

    assert given(world) == {"first": ["n1/1"], "second": ["n1/0"]}


def test_a_gang_that_lacks_one_device_gets_none() -> None:
    world = cluster(
        device_class(),
        slice_of("n1", device("0")),
        slice_of("n2", device("0")),
        *(asks(f"c{at}", exactly(), f"m{at}") for at in range(3)),
    )
    world.group("g", 3)
    for at in range(3):
        member(world, f"m{at}", "g", f"c{at}")

    world.step()

    assert given(world) == {}
    status, _, message = world.condition("g")
    assert status is False
    assert "cannot allocate all claims" in message


def test_two_gangs_never_get_one_device() -> None:
    world = cluster(
        device_class(),
        slice_of("n1", *[device(str(at)) for at in range(2)]),
        slice_of("n2", *[device(str(at)) for at in range(2)]),
        *(asks(f"{gang}-c{at}", exactly(), f"{gang}{at}") for gang in "gh" for at in range(2)),
    )
    for gang in "gh":
        world.group(gang, 2)
        for at in range(2):
            member(world, f"{gang}{at}", gang, f"{gang}-c{at}")

    world.settle()

    devices = [device for each in given(world).values() for device in each]
    assert len(devices) == len(set(devices)) == 4


def test_members_that_share_a_claim_follow_it() -> None:
    world = cluster(
        device_class(),
        slice_of("n2", device("0")),
        asks("shared", exactly()),
    )
    world.group("g", 3)
    for at in range(3):
        member(world, f"m{at}", "g", "shared", shared=True)

    world.step()

    assert given(world) == {f"m{at}": ["n2/0"] for at in range(3)}


def test_the_node_with_the_better_alternative_is_chosen() -> None:
    world = cluster(
        device_class(),
        slice_of("n1", device("0")),
        slice_of("n2", device("0"), device("1")),
        asks("c", first_of("r", ask("two", 2), ask("one")), "m"),
    )
    world.group("g", 1)
    member(world, "m", "g", "c")

    world.step()

    assert given(world) == {"m": ["n2/0", "n2/1"]}


def test_a_claim_that_appears_lets_its_gang_be_tried_again() -> None:
    world = cluster(device_class(), slice_of("n1", device("0")))
    world.group("g", 1)
    member(world, "m", "g", "c")
    world.step()
    assert given(world) == {}

    world.tell(FactSeen(asks("c", exactly(), "m")))
    world.settle(seconds=60)

    assert given(world) == {"m": ["n1/0"]}


@pytest.mark.parametrize(
    ("request_", "other"),
    [
        (exactly(), slice_of("n1", device("1"), name="left-over")),
        (exactly(), slice_of("n1", device("1"), name="newer", generation=2, count=2)),
        (every(), slice_of("n1", device("1"), pool="another", name="half", count=2)),
    ],
    ids=["one-too-many", "of-a-newer-generation", "of-another-pool-that-is-incomplete"],
)
def test_a_slice_that_goes_lets_a_gang_be_tried_again(
    request_: dict[str, Any], other: ResourceSlice
) -> None:
    """Semantics §2.10: without it, the pool is whole."""
    world = cluster(device_class(), slice_of("n1", device("0")), other, asks("c", request_, "m"))
    world.group("g", 1)
    member(world, "m", "g", "c")
    world.settle()
    assert given(world) == {}

    world.tell(FactGone("ResourceSlice", other.name))
    world.settle(seconds=60)

    assert given(world) == {"m": ["n1/0"]}


def test_a_device_that_would_let_another_member_give_way_wakes_the_gang() -> None:
    """Semantics §6.2: the member that fits nowhere has no claims, and lacks CPU where it may be."""
    world = cluster(device_class(), slice_of("n1", device("0")), asks("c", exactly(), "first"))
    for name in ("n1", "n2"):
        world.node(name, cpu=1, labels=(("host", name),))
    world.group("g", 2)
    member(world, "first", "g", "c")
    world.pod("second", "g", spec=spec(cpu=1, node_selector=(("host", "n1"),)))
    world.settle()
    assert given(world) == {}

    world.tell(FactSeen(slice_of("n2", device("0"))))
    world.settle(seconds=60)

    assert given(world) == {"first": ["n2/0"]}


def test_a_class_that_goes_lets_a_gang_be_tried_again() -> None:
    """The newest class that names an extended resource serves it."""
    newer = device_class("newer", "false", extendedResourceName="example.com/gpu")
    world = cluster(
        device_class("older", extendedResourceName="example.com/gpu"),
        replace(newer, created=newer.created + 1),
        slice_of("n1", device("0")),
    )
    world.group("g", 1)
    wanted = ContainerResource(0, "main", "example.com/gpu", 0, 1)
    world.pod("m", "g", spec=spec(cpu=1, example_com__gpu=1, extended=(wanted,)))
    world.settle()
    assert not preparing(world)

    world.tell(FactGone("DeviceClass", "newer"))
    world.settle(seconds=60)

    assert preparing(world).keys() == {"m"}


# ── what a class shares, and what each member has for itself ─────────────────────────────────

FAR = f'device.attributes["{DRIVER}"].far == true'
NEAR = f'device.attributes["{DRIVER}"].far == false'


@pytest.mark.parametrize("seed", range(12))
def test_what_a_filter_remembers_of_rows_is_what_it_would_say_anew(seed: int) -> None:
    """Once the shared claim has devices, rows are asked again only where a pod came or left."""
    rng = random.Random(seed)
    names = [f"n{at}" for at in range(4)]
    table = nodes(*names)
    wide = rng.random() < 0.5  # the shared claim is for a device of a network, or of a node
    facts: list[Any] = [
        device_class("far", FAR),
        device_class("near", NEAR),
        slice_of(None, device("0", attributes={"far": True}), pool="net", allNodes=True),
        *(
            slice_of(name, *(device(str(at), attributes={"far": False}) for at in range(2)))
            for name in names
        ),
        claim("shared", exactly(of="far" if wide else "near")),
        *(claim(f"own-{at}", exactly(of="near")) for at in range(9)),
    ]
    members = [pod(f"p{at}", "shared", f"own-{at}", shared=True) for at in range(9)]
    for fact in facts:
        own_ledgers(table).put(fact)
    for each in members:
        own_ledgers(table).enter(each)
    class_of, fork = members[0], table.fork()
    kept, placed = DeviceFilter(class_of, ledgers_of(fork).devices), dict[int, Any]()
    for at, each in enumerate(members):
        fresh = DeviceFilter(class_of, ledgers_of(fork).devices)
        mask = kept.filter(class_of, fork)
        assert mask.tolist() == fresh.filter(class_of, fork).tolist()
        if at == 4:
            kept = kept.fork()
        if placed and rng.random() < 0.3:
            gone = rng.choice(sorted(placed))
            fork.remove(placed[gone], members[gone])
            kept.removed(members[gone], placed.pop(gone))
            continue
        rows = mask.nonzero()[0].tolist()
        if rows:
            placed[at] = rng.choice(rows)
            fork.add(placed[at], each)
            kept.placed(each, placed[at])
