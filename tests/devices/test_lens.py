# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pools that look the same to a claim are looked at once, and no others are taken for the same."""

from dataclasses import fields
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from enbloc.devices.effort import LOOK
from enbloc.devices.facts import ResourceSlice
from enbloc.devices.lens import Lens, Values, lens_of
from enbloc.devices.table import Devices
from tests.devices.objects import (
    ask,
    claim,
    consumes,
    counter_set,
    device,
    device_class,
    exactly,
    first_of,
    pod,
    slice_of,
    table,
)
from tests.effort import examples

DOMAIN = "gpu.example.com"
NODES = tuple(f"n{index}" for index in range(6))
SELECTORS = (
    "true",
    f'device.attributes["{DOMAIN}"].model == "a"',
    f'device.attributes["{DOMAIN}"].flag == true',
    f'device.capacity["{DOMAIN}"].memory.compareTo(quantity("2")) >= 0',
)
CONSTRAINTS = (
    {"matchAttribute": f"{DOMAIN}/model"},
    {"distinctAttribute": f"{DOMAIN}/uuid"},
    {"matchAttribute": f"{DOMAIN}/flag"},
)


@st.composite
def published(draw: st.DrawFn, node: str) -> ResourceSlice:
    """A slice with few devices, which differ in what some claims read."""
    made: list[Any] = []
    for at in range(draw(st.integers(0, 3))):
        attributes: dict[str, Any] = {"uuid": f"{node}-{at}", "model": draw(st.sampled_from("ab"))}
        if draw(st.booleans()):
            attributes["flag"] = draw(st.sampled_from([True, 1]))
        more: dict[str, Any] = {"capacity": {"memory": str(draw(st.integers(1, 2)))}}
        if draw(st.booleans()):
            more["taints"] = [{"key": "k", "effect": draw(st.sampled_from(["NoSchedule", "None"]))}]
        made.append(device(f"d{at}", attributes=attributes, **more))
    return slice_of(node, *made)


def said(lens: Lens) -> dict[str, object]:
    """All that a lens says."""
    found = {each.name: getattr(lens, each.name) for each in fields(lens)}
    found["values"] = [_told(each, len(lens.group_of)) for each in lens.values]
    return found


def _told(values: Values, devices: int) -> list[object]:
    return [values.get(position) for position in range(devices)]


@examples(100)
@given(data=st.data())
def test_a_lens_that_pools_share_is_what_each_of_them_would_have(data: st.DataObject) -> None:
    devices = table(device_class("gpu"))
    for node in NODES:
        devices.put(data.draw(published(node)))
    asks = data.draw(st.lists(st.sampled_from(SELECTORS), min_size=1, max_size=2))
    constraints = data.draw(st.lists(st.sampled_from(CONSTRAINTS), max_size=2))
    requests = [exactly(f"q{at}", 1, "gpu", term) for at, term in enumerate(asks)]
    devices.put(claim("c", *requests, constraints=tuple(constraints), owner="p"))
    [demand] = devices.asked(pod("p", "c")).demands
    for node in NODES:
        pool = devices.pool((DOMAIN, node))
        assert pool is not None
        assert said(demand.lens(pool)) == said(lens_of(demand.views, demand.kind, pool))


def _spent(devices: Devices, *constraints: Any) -> int:
    """The effort that goes into looking at all pools."""
    devices.put(claim("c", exactly("q"), constraints=constraints, owner="p"))
    [demand] = devices.asked(pod("p", "c")).demands
    effort = demand.selectors.effort
    devices.begin()
    before = effort.left
    for node in NODES:
        pool = devices.pool((DOMAIN, node))
        assert pool is not None
        demand.lens(pool)
    return before - effort.left


def test_of_pools_that_differ_in_nothing_that_a_claim_reads_one_is_looked_at() -> None:
    devices = table(device_class("gpu"))
    for node in NODES:
        alike = [device(f"d{at}", attributes={"uuid": f"{node}-{at}"}) for at in range(2)]
        devices.put(slice_of(node, *alike))
    assert _spent(devices) < 2 * LOOK
    assert _spent(devices, {"distinctAttribute": f"{DOMAIN}/uuid"}) > len(NODES) * LOOK


def test_pools_that_differ_in_what_devices_take_of_counters_are_told_apart() -> None:
    devices = table(device_class("gpu"))
    for node, amount in zip(NODES, (1, 1, 2, 2, 2, 2), strict=True):
        devices.put(
            slice_of(node, device("d", consumesCounters=[consumes("g", memory=amount)]), count=2)
        )
        counters = [counter_set("g", memory=3)]
        devices.put(slice_of(node, name=f"{node}-counters", count=2, sharedCounters=counters))
    devices.put(claim("c", exactly("q"), owner="p"))
    [demand] = devices.asked(pod("p", "c")).demands
    pools = [devices.pool((DOMAIN, node)) for node in NODES]
    lenses = [demand.lens(pool) for pool in pools if pool is not None]
    assert len(set(map(id, lenses))) == 2


def test_true_and_one_are_not_the_same_value() -> None:
    devices = table(device_class("gpu"))
    for node, flag in zip(NODES, (True, 1), strict=False):
        devices.put(slice_of(node, device("d", attributes={"flag": flag})))
    devices.put(claim("c", exactly("q", 1, "gpu", SELECTORS[2]), owner="p"))
    [demand] = devices.asked(pod("p", "c")).demands
    pools = [devices.pool((DOMAIN, node)) for node in NODES[:2]]
    yes, no = (demand.lens(pool) for pool in pools if pool is not None)
    assert yes is not no


def test_a_list_of_truths_is_not_one_of_numbers() -> None:
    devices = table(device_class("gpu"))
    for node, kind, value in zip(NODES, ("bools", "ints"), (True, 1), strict=False):
        devices.put(slice_of(node, {"name": "d", "attributes": {"tags": {kind: [value]}}}))
    pools = [devices.pool((DOMAIN, node)) for node in NODES[:2]]
    first, second = (pool.looks(frozenset({f"{DOMAIN}/tags"})) for pool in pools if pool)
    assert first != second


def test_a_look_that_takes_more_than_a_decision_may_is_made_and_kept() -> None:
    devices = table(device_class("gpu"))
    slices = [range(first, first + 125) for first in range(0, 1000, 125)]
    for part in slices:
        made = [device(f"d{at}") for at in part]
        devices.put(slice_of("n0", *made, name=f"s{part.start}", count=len(slices)))
    asks = [first_of(f"q{at}", *(ask(f"a{each}") for each in range(8))) for at in range(32)]
    devices.put(claim("c", *asks, owner="p"))
    [demand] = devices.asked(pod("p", "c")).demands
    pool_of_all = devices.pool((DOMAIN, "n0"))
    assert pool_of_all is not None
    devices.begin()
    assert not demand.lens(pool_of_all).unseen
    assert devices.spent
    assert demand.lens(pool_of_all) is demand.lens(pool_of_all)
