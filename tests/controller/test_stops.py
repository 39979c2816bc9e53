# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a leading controller still does when it ends, before another may lead."""

import asyncio

import pytest

from enbloc.client.events import Recorder
from enbloc.client.paths import EVENTS, LEASES, POD_GROUPS
from enbloc.client.transport import WRITE_SECONDS
from enbloc.model import names
from tests.controller.conftest import World, controller, eventually


@pytest.mark.parametrize("world", ["sandbox"], indirect=True)
@pytest.mark.parametrize("fails", [True, False])
async def test_a_leader_that_ends_keeps_its_lease_until_nothing_that_it_sent_can_land(
    world: World, monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    """Semantics §6.3: the next leader lists PodGroups as soon as it has the Lease."""
    breaking = asyncio.Event()

    async def breaks(_: Recorder) -> None:
        await breaking.wait()
        raise ZeroDivisionError

    async def holder() -> str:
        lease = await world.get(LEASES, names.CONTROLLER_LEASE)
        name: str = lease["spec"]["holderIdentity"]
        return name

    assert world.faults is not None
    monkeypatch.setattr(Recorder, "run", breaks)
    async with controller(world, leader_elect=True) as leader:
        await world.group(minMember=1)
        await world.until("WaitingForMembers")
        world.faults.add(verb="patch", resource="podgroups/status", hang=True, times=1000)
        [writes] = world.faults._faults
        await world.pod("a")
        await eventually(lambda: writes.times != 1000)
        (breaking if fails else leader.stop).set()
        await asyncio.sleep(WRITE_SECONDS - 0.5)
        assert await holder()
        assert await leader.code == fails
    assert not await holder()


@pytest.mark.parametrize("world", ["sandbox"], indirect=True)
async def test_a_leader_tells_of_the_end_of_a_group_that_it_writes_when_it_stops(
    world: World,
) -> None:
    """Semantics §7.2: the next leader sees that it was written, and does not tell."""
    async with controller(world, leader_elect=True) as leader:
        await world.group(minMember=1)
        await world.pod("a")
        await world.bind("a")
        await world.scheduler_says("True", "Scheduled")
        await world.phase("a", "Running", ready=True)
        await world.until("Running", ready=1)
        await world.phase("a", "Succeeded")
        await asyncio.sleep(0.1)  # it is seen, and settles
        leader.stop.set()
        assert await leader.code == 0
    found = await world.get(POD_GROUPS)
    assert "Finished" in {each["type"] for each in found["status"]["conditions"]}
    events = [each["reason"] async for each in world.client.list(EVENTS, world.namespace)]
    assert "PodGroupFinished" in events
