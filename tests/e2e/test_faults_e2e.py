# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in real clusters: kills, restarts, refusals; nothing is lost or left in part."""

import asyncio
from pathlib import Path

import pytest

from tests.e2e import incidents
from tests.e2e.fault_proxy import FaultProxy, is_binding
from tests.e2e.processes import run
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("processes and servers are ended and started again, seconds each")

#: More than three times the Bindings that the scheduler sends at once, so that a burst lasts.
BURST = 100
#: Seconds by which a slow line delays each answer.
SLOW = 0.1


async def slow_burst(world: World, after: int) -> FaultProxy:
    """Return in the middle of the burst that binds a gang, over a line with slow answers."""
    await world.nodes(10, cpu=10)
    return await incidents.mid_burst(world, BURST, after, slow=SLOW)


def in_mid_burst(world: World, after: int) -> None:
    """The proxy has held all other Bindings; else the test would prove nothing."""
    assert len(world.observer.bound(world.namespace)) == after


@pytest.mark.parametrize("after", [1, 5, 40])
async def test_a_scheduler_killed_in_mid_burst_leaves_no_gang_in_part(
    world: World, after: int
) -> None:
    await slow_burst(world, after)
    world.scheduler.kill()
    in_mid_burst(world, after)
    await world.start_scheduler()
    await world.bound("burst", BURST)
    await world.condition("burst", "Scheduled", "True")


async def test_a_scheduler_asked_to_end_in_mid_burst_settles_what_it_sent(world: World) -> None:
    proxy = await slow_burst(world, 1)
    ending = asyncio.create_task(world.scheduler.end())
    await world.until(
        lambda: "Stopping the scheduler" in world.scheduler.text(), "it has been asked to end"
    )
    in_mid_burst(world, 1)
    proxy.release()
    assert await ending == 0
    sent = proxy.count(lambda asked: is_binding(asked.method, asked.path))
    assert 1 < sent < BURST
    await world.bound("burst", sent)
    in_mid_burst(world, sent)
    assert "whose outcome is unknown" not in world.scheduler.text()
    await world.start_scheduler()
    await world.bound("burst", BURST)


async def test_a_cut_line_in_mid_burst_loses_and_doubles_nothing(world: World) -> None:
    proxy = await slow_burst(world, 5)
    proxy.cut()
    in_mid_burst(world, 5)
    proxy.release()
    await world.bound("burst", BURST)
    await world.condition("burst", "Scheduled", "True")


async def test_bindings_whose_answers_are_lost_are_settled_by_asking(world: World) -> None:
    proxy = await slow_burst(world, 1)
    proxy.hold_answers()
    proxy.release()
    # What was sent has arrived, and only the observer knows.
    await world.until(lambda: len(world.observer.bound(world.namespace)) > 1, "more have arrived")
    assert len(world.observer.bound(world.namespace)) < BURST
    proxy.cut()
    await world.bound("burst", BURST)
    assert "a Binding whose outcome is unknown" in world.scheduler.text()


async def test_a_second_scheduler_takes_the_lease_of_one_that_was_killed(world: World) -> None:
    elect = ("--leader-elect", f"--lease-namespace={world.lease_namespace}")
    await world.nodes(10, cpu=10)
    first = await world.start_scheduler(*elect, restart=True)
    await world.gang("first", 8)
    await world.bound("first", 8)
    second = await world.start_scheduler(*elect)
    await world.until(lambda: "Waiting for the Lease" in second.text(), "the second one waits")
    first.kill()
    await world.gang("second", 8)
    await world.bound("second", 8)
    assert second.text().count("Started scheduling") == 1


async def test_a_scheduler_that_ends_well_hands_its_lease_over_at_once(world: World) -> None:
    elect = world.elect(lease_seconds=3600)  # nobody waits for its end
    await world.nodes(1, cpu=8)
    first = await world.start_scheduler(*elect, restart=True)
    await world.gang("first", 4)
    await world.bound("first", 4)
    second = await world.start_scheduler(*elect)
    await world.until(lambda: "Waiting for the Lease" in second.text(), "the second one waits")
    assert await first.end() == 0
    await world.gang("second", 4)
    await world.bound("second", 4)


async def test_of_two_controllers_one_writes_and_the_other_takes_over(world: World) -> None:
    elect = ("--leader-elect", f"--lease-namespace={world.lease_namespace}")
    await world.nodes(1, cpu=8)
    world.controller.kill()
    first = await world.start_controller(*elect)
    await world.gang("first", 4)
    await world.condition("first", "Ready", "True", reason="Running")
    second = await world.start_controller(*elect)
    assert await first.end() == 0
    await world.gang("second", 4)
    await world.condition("second", "Ready", "True", reason="Running")
    second.must_run()


async def test_an_api_server_that_restarts_under_the_scheduler_loses_nothing(
    world: World,
) -> None:
    await world.nodes(4, cpu=8)
    await world.gang("before", 16)
    await world.bound("before", 16)
    await world.target.restart_server(1.5)
    await world.gang("after", 16)
    await world.bound("after", 16)
    await world.condition("after", "Ready", "True", reason="Running")


async def test_an_api_server_that_crashes_in_mid_burst_loses_nothing(world: World) -> None:
    proxy = await slow_burst(world, 5)
    in_mid_burst(world, 5)
    await world.target.restart_server(0.5, crash=True)
    proxy.release()
    await world.bound("burst", BURST)
    await world.condition("burst", "Scheduled", "True")


async def test_expired_watches_in_mid_burst_double_nothing(world: World) -> None:
    proxy = await slow_burst(world, 5)
    in_mid_burst(world, 5)
    await world.expire_watches()
    proxy.release()
    await world.bound("burst", BURST)
    await world.condition("burst", "Ready", "True", reason="Running")


async def test_a_missing_crd_is_named_and_its_arrival_is_noticed(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.remove_crd()
    scheduler = await world.start_scheduler(restart=True)
    await world.until(
        lambda: "kubectl apply -f crds/" in scheduler.text(), "the log names the missing CRD"
    )
    await world.apply_crd()
    await world.gang("late", 2)
    await world.bound("late", 2)
    await world.condition("late", "Ready", "True", reason="Running")


@pytest.mark.parametrize("command", ["scheduler", "controller", "run"])
async def test_a_kubeconfig_that_is_not_there_is_one_clear_message(
    tmp_path: Path, command: str
) -> None:
    flags = ["--kubeconfig", str(tmp_path / "nowhere.yaml"), "--log-format=text"]
    ended = await run(command, *flags, "--secure-port=0")
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ")
    assert "nowhere.yaml: no such file" in ended.stderr
    assert ended.stderr.count("\n") == 1


async def test_a_missing_permission_is_named_and_its_grant_is_noticed(world: World) -> None:
    await world.nodes(1, cpu=4)
    async with world.target.without_permission("scheduler", "create", "pods/binding"):
        await world.gang("denied", 2)
        await world.until(
            lambda: "cannot create pods/binding: 403" in world.scheduler.text(),
            "the log names the permission",
        )
        await world.condition("denied", "Scheduled", "False", reason="SchedulerError")
        assert world.observer.bound(world.namespace) == {}
    await world.bound("denied", 2)


async def test_a_missing_permission_to_watch_is_named_and_its_grant_is_noticed(
    world: World,
) -> None:
    await world.nodes(1, cpu=4)
    async with world.target.without_permission("scheduler", "list", "nodes"):
        await world.start_scheduler(restart=True)
        await world.until(
            lambda: 'grant the verb "list" on nodes' in world.scheduler.text(),
            "the log names the permission",
        )
        await world.gang("denied", 2)
        await world.quiet()
        assert world.observer.bound(world.namespace) == {}
    await world.bound("denied", 2)


async def test_a_lease_namespace_that_is_not_there_is_one_clear_message(world: World) -> None:
    ended = await run(
        "scheduler",
        "--leader-elect",
        f"--kubeconfig={world.target.kubeconfig}",
        "--lease-namespace=nowhere",
        "--secure-port=0",
        "--log-format=text",
    )
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith("error: ")
    assert "nowhere" in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr
