# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a server that is slow, or asks to wait, does to claims and to the members that share one."""

import asyncio

import pytest

from enbloc.framework.act import Reply, Target
from enbloc.framework.changes import PATIENCE
from enbloc.framework.status import SUCCESS
from enbloc.model.pods import PodKey, PodUID
from enbloc.plugins.dynamic_resources import act
from tests.plugins.cluster import Fault, once, times
from tests.plugins.test_dynamic_resources_act import (
    BY_EXTENDED,
    CLAIM,
    EXTENDED,
    POD,
    TARGET,
    World,
    clock,
    got,
    of,
)

BUSY = Reply(429, message="busy", retry_after=20.0)


def member(index: int) -> Target:
    return Target("plan-1", PodKey("ns", f"p-{index}"), PodUID(f"uid-{index}"), "n1")


async def test_members_that_share_a_claim_take_as_long_as_it_takes_on_a_slow_server() -> None:
    """The wait for the others counts against nobody, and no write of theirs makes one fail."""
    world = World()
    world.latency = 1.0
    prepared = [world.prepare(of(got()), target=member(index)) for index in range(40)]
    assert set(await asyncio.gather(*prepared)) == {SUCCESS}
    assert clock() > PATIENCE
    assert world.sent == ["patch ResourceClaim c", *["patch/status ResourceClaim c"] * 40]
    assert len(world.reserved) == 40


@pytest.mark.parametrize(
    "asked", [f"get {CLAIM}", f"patch {CLAIM}", f"patch/status {CLAIM}"], ids=str.split
)
async def test_a_claim_is_not_asked_for_again_before_the_server_wants_to_be(asked: str) -> None:
    """semantics §3.4"""
    world = World()
    world.before = once(BUSY, asked)
    assert await world.prepare(of(got())) == SUCCESS
    assert clock() == 20


@pytest.mark.parametrize(
    "asked",
    [f"get {CLAIM}", f"create {CLAIM}", f"patch/status {CLAIM}", f"patch/status {POD}"],
    ids=str.split,
)
async def test_so_it_is_of_a_claim_for_extended_resources(asked: str) -> None:
    """semantics §3.4"""
    world = World()
    world.before = once(BUSY, asked)
    assert await act.pre_bind(BY_EXTENDED, TARGET, world, 600) == SUCCESS
    assert clock() == 20


@pytest.mark.parametrize(
    "asked", [f"get {POD}", f"patch/status {POD}", f"delete {CLAIM}"], ids=str.split
)
async def test_so_it_is_when_it_is_deleted(asked: str) -> None:
    """semantics §3.4"""
    world = World()
    assert await act.pre_bind(BY_EXTENDED, TARGET, world, 600) == SUCCESS
    world.before = once(BUSY, asked)
    assert await act.unreserve(BY_EXTENDED, TARGET, world) == SUCCESS
    assert (CLAIM, "ns", EXTENDED) not in world.objects
    assert clock() == 20


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        pytest.param(
            times(10**6, BUSY, f"create {CLAIM}"),
            f"create claim for extended resources ns/{EXTENDED}: busy",
            id="it is made",
        ),
        pytest.param(
            times(10**6, Reply(409, message="it exists"), f"create {CLAIM}"),
            f"create claim for extended resources ns/{EXTENDED}: it exists",
            id="it exists, and is not found",
        ),
    ],
)
async def test_a_claim_that_cannot_be_made_is_given_up_in_time(fault: Fault, message: str) -> None:
    world = World()
    world.before = fault
    status = await act.pre_bind(BY_EXTENDED, TARGET, world, 600)
    assert status.message == message
    assert PATIENCE <= clock() <= PATIENCE + 20
    assert len(world.sent) <= 12
