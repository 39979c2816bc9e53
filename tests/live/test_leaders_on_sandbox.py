# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who leads, who stands by and who takes over, with a sandbox for a server."""

import asyncio
from typing import Any, ClassVar

import pytest
from prometheus_client import REGISTRY

from enbloc.client.client import PAGE_SIZE, Client
from enbloc.client.events import Recorder
from enbloc.client.paths import EVENTS, LEASES, NAMESPACES, POD_GROUPS, PODS, Resource
from enbloc.client.transport import WRITE_SECONDS
from enbloc.process.options import Options
from enbloc.telemetry import Health
from enbloc_sandbox import Sandbox
from tests.live.world import NAMESPACE, Running, World
from tests.patience import PATIENCE

OWNERS = Resource("", "v1", "configmaps", "ConfigMap")


async def test_a_standby_is_ready_decides_nothing_and_takes_over(
    world: World, sandbox: Sandbox
) -> None:
    await world.nodes("n1", cpu=32)
    async with world.scheduler(leader_elect=True, ends_with=None) as first:
        await world.gang("a", 4)
        await world.until_bound("a-", 4)
        async with world.scheduler(leader_elect=True) as second:

            async def ready() -> bool:
                return not second.health.failed("readyz")

            await world.until(ready)
            await world.gang("b", 4)
            await world.until_bound("b-", 4)
            assert await first.end() == 0
            # Before it decides, the next leader reads what there is; that may have to be repeated.
            sandbox.faults.add(verb="list", resource="nodes", status=500, times=2)
            await world.gang("c", 4)
            await world.until_bound("c-", 4)
            plans = [await world.plans(name) for name in ("a-", "b-", "c-")]
            processes = [{plan.rpartition("-")[0] for plan in found} for found in plans]
            assert processes[0] == processes[1] != processes[2]


async def test_a_standby_that_watched_a_gang_start_knows_of_it_when_it_takes_over(
    world: World,
) -> None:
    """Semantics §2.2: what runs, and loses a member with the leader, is mended."""
    await world.nodes("n1", cpu=8)
    async with (
        world.scheduler(leader_elect=True, ends_with=None) as first,
        world.scheduler(leader_elect=True) as second,
    ):

        async def ready() -> bool:
            return not second.health.failed("readyz")

        await world.until(ready)
        await world.gang("g", 4)
        await world.until_bound("g-", 4)
        for index in range(4):
            await world.runs(f"g-{index}")

        async def started() -> bool:
            return await world.condition("g", "Satisfied") == ("True", "Satisfied")

        await world.until(started)
        assert await first.end() == 0
        await world.delete("g-3")

        async def below() -> bool:
            return await world.condition("g") == ("False", "BelowMinimum")

        await world.until(below)


class Asking(Client):
    """A client that notes of how many objects each list was asked."""

    limits: ClassVar[list[int]] = []

    async def page(self, *resource: Any, limit: int = PAGE_SIZE, **of: Any) -> bytes:
        self.limits.append(limit)
        return await super().page(*resource, limit=limit, **of)


async def test_where_the_lease_is_free_what_there_is_is_read_once(world: World) -> None:
    """A read of one object tells whether a list has all that was there when the Lease was taken."""
    await world.nodes("n1", cpu=8)
    await world.gang("a", 2)
    options = Options(health=Health(), stop=asyncio.Event(), lease_namespace=NAMESPACE)
    async with Asking(world.cluster, component="scheduler") as client:
        running = Running(client, options)
        try:
            await world.until_bound("a-", 2)
        finally:
            await running.kill()
    assert set(Asking.limits) == {PAGE_SIZE}


async def test_a_new_leader_decides_nothing_until_each_stream_passed_a_read_made_since(
    world: World, sandbox: Sandbox
) -> None:
    """Semantics §6.3: it has the Lease and knows all there was, and still waits."""
    await world.nodes("n1", cpu=8)
    async with world.scheduler(leader_elect=True, ends_with=None) as first:

        async def holder() -> str:
            lease = await world.client.get(LEASES, "enbloc-scheduler", NAMESPACE)
            name: str = lease["spec"]["holderIdentity"]
            return name

        await world.gang("a", 2)
        await world.until_bound("a-", 2)
        before = await holder()
        async with world.scheduler(leader_elect=True) as second:

            async def ready() -> bool:
                return not second.health.failed("readyz")

            await world.until(ready)
            sandbox.faults.add(verb="list", resource="pods", status=500)
            assert await first.end() == 0

            async def taken_over() -> bool:
                return await holder() not in {before, ""}

            await world.until(taken_over)
            await world.group("b", 2)
            await world.pod("b-0", "b")
            await world.pod("b-1", "b")
            await asyncio.sleep(0.5)
            pods = [await world.client.get(PODS, name, NAMESPACE) for name in ("b-0", "b-1")]
            assert not any("nodeName" in pod["spec"] for pod in pods)
            sandbox.faults.clear()
            await world.until_bound("b-", 2)


async def test_a_second_install_of_a_scheduler_name_stands_by_and_says_for_whom(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Semantics §6.4."""
    await world.nodes("n1", cpu=8)
    await world.client.create(NAMESPACES, {"metadata": {"name": "other"}})
    async with world.scheduler(leader_elect=True) as first:
        await world.gang("a", 2)
        await world.until_bound("a-", 2)
        async with world.scheduler(leader_elect=True, lease_namespace="other") as second:

            async def told() -> bool:
                found = [event async for event in world.client.list(EVENTS, "other")]
                notes = [one["note"] for one in found if one["reason"] == "LeaseConflict"]
                return any(f"{NAMESPACE}/enbloc-scheduler (held by" in note for note in notes)

            await world.until(told)
            assert "Standing by: the scheduler of the Lease default/" in caplog.text
            assert not second.health.failed("readyz"), "it may be an update"
            assert REGISTRY.get_sample_value("enbloc_lease_conflict") == 1
            await world.gang("b", 2)
            await world.until_bound("b-", 2)
        assert not first.health.failed("readyz")


async def test_schedulers_of_different_names_lead_side_by_side(world: World) -> None:
    """Semantics §6.4."""
    await world.nodes("n1", cpu=8)
    await world.client.create(NAMESPACES, {"metadata": {"name": "other"}})
    async with (
        world.scheduler(leader_elect=True),
        world.scheduler(leader_elect=True, lease_namespace="other", name="batch"),
    ):
        await world.gang("a", 2)
        await world.group("b", 2)
        await world.pod("b-0", "b", scheduler="batch")
        await world.pod("b-1", "b", scheduler="batch")
        await world.until_bound("", 4)
        for group, author in (("a", "enbloc"), ("b", "batch")):

            async def written(group: str = group, author: str = author) -> bool:
                found = await world.client.get(POD_GROUPS, group, NAMESPACE)
                owners = {one["manager"] for one in found["metadata"].get("managedFields", ())}
                scheduled = await world.condition(group) == ("True", "Scheduled")
                ours = {owner for owner in owners if owner.startswith("enbloc-scheduler")}
                return scheduled and ours == {f"enbloc-scheduler:{author}"}

            await world.until(written)


@pytest.mark.parametrize("hang", [True, False], ids=["under way", "nothing"])
async def test_a_leader_that_fails_keeps_its_lease_while_something_that_it_sent_may_land(
    world: World,
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    hang: bool,
) -> None:
    """Semantics §6.3: the next leader reads the pods as soon as it has the Lease."""
    breaking = asyncio.Event()

    async def breaks(_: Recorder) -> None:
        await breaking.wait()
        raise ZeroDivisionError

    async def holder() -> str:
        lease = await world.client.get(LEASES, "enbloc-scheduler", NAMESPACE)
        name: str = lease["spec"]["holderIdentity"]
        return name

    monkeypatch.setattr(Recorder, "run", breaks)
    await world.nodes("n1", cpu=8)
    async with world.scheduler(leader_elect=True, ends_with=None) as leader:
        await world.gang("a", 2)
        await world.until_bound("a-", 2)
        await asyncio.sleep(30)  # all that it writes has landed
        if hang:
            sandbox.faults.add(verb="create", resource="pods/binding", hang=True, times=1000)
            [binds] = sandbox.faults._faults
            await world.gang("b", 2)

            async def sent() -> bool:
                return binds.times != 1000

            await world.until(sent)
        breaking.set()
        await asyncio.sleep(WRITE_SECONDS - 0.5)
        assert bool(await holder()) is hang
        await world.gang("c", 2)
        async with asyncio.timeout(PATIENCE):
            assert await leader.task == 1
    assert not await holder()
    assert not await world.bound("c-"), "it decides no more"


async def test_a_leader_whose_lease_is_taken_stands_by_and_leads_again_once_it_is_given_back(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """Semantics §6.3: it begins anew, and knows what the other one bound."""
    await world.nodes("n1", cpu=8)
    async with world.scheduler(leader_elect=True) as leader:
        await world.gang("a", 4)
        await world.until_bound("a-", 4)
        await world.hand_lease_to("another")

        async def lost() -> bool:
            return "Stopped deciding: lost the Lease" in caplog.text

        await world.until(lost)
        await world.gang("b", 2)
        await world.bind("b-0", "n1")

        async def stands_by() -> bool:
            return not leader.health.failed("readyz")

        await world.until(stands_by)
        assert set(await world.bound()) == {"a-0", "a-1", "a-2", "a-3", "b-0"}
        await world.hand_lease_to("")
        await world.until_bound("b-", 2)
        assert not leader.task.done()
