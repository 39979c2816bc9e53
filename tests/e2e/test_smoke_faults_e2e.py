# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What users live by, while something fails, on a real API server: a part of `make smoke`."""

import pytest

from enbloc.client.client import PatchType
from enbloc.client.paths import NODES
from enbloc.model.names import REFUSE_KEY, Condition, EventReason, Reason
from tests.e2e import incidents
from tests.e2e.requests import Requests
from tests.e2e.targets import ControlPlaneTarget
from tests.e2e.world import World

pytestmark = [pytest.mark.smoke, pytest.mark.controlplane]


@pytest.fixture
def target(plain_target: ControlPlaneTarget) -> ControlPlaneTarget:
    return plain_target


async def test_a_scheduler_killed_in_mid_burst_leaves_no_gang_in_part(world: World) -> None:
    await world.nodes(2, cpu=4)
    await incidents.mid_burst(world, 8, after=3)
    world.scheduler.kill()
    assert len(world.observer.bound(world.namespace)) == 3
    await world.start_scheduler()
    await world.running("burst", 8)
    await world.condition("burst", Condition.SCHEDULED, "True")


async def test_a_scheduler_that_ends_well_hands_its_lease_over(world: World) -> None:
    await world.nodes(1, cpu=8)
    first = await world.start_scheduler(*world.elect(lease_seconds=3600), restart=True)
    await world.gang("first", 4)
    await world.bound("first", 4)
    second = await world.start_scheduler(*world.elect(lease_seconds=3600))
    await world.until(lambda: "Waiting for the Lease" in second.text(), "the second one waits")
    assert await first.end() == 0
    await world.gang("second", 4)
    await world.running("second", 4)
    assert "Started scheduling" in second.text()


async def test_an_api_server_that_restarts_under_the_scheduler_loses_nothing(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.gang("before", 4)
    await world.bound("before", 4)
    await world.target.restart_server(0.5)
    await world.gang("after", 4)
    await world.running("after", 4)
    await world.condition("after", Condition.READY, "True", reason=Reason.RUNNING)
    assert len(world.observer.bound(world.namespace, "before")) == 4


async def test_a_missing_permission_is_named_and_its_grant_is_noticed(world: World) -> None:
    await world.nodes(1, cpu=4)
    async with world.target.without_permission("scheduler", "create", "pods/binding"):
        await world.gang("denied", 2)
        await world.until(
            lambda: "cannot create pods/binding: 403" in world.scheduler.text(),
            "the log names the permission",
        )
        await world.condition("denied", Condition.SCHEDULED, "False", reason="SchedulerError")
        assert world.observer.bound(world.namespace) == {}
    await world.running("denied", 2)


async def test_a_gang_that_cannot_be_completed_is_given_back(world: World) -> None:
    """Two members are rejected by their kubelet, and no other node has room for them."""
    [good, bad] = await world.nodes(2, cpu=2)
    refuses = {"metadata": {"annotations": {REFUSE_KEY: "UnexpectedAdmissionError"}}}
    await world.client.patch(NODES, bad, refuses, kind=PatchType.MERGE)
    owner = await incidents.owner(world, "operator")
    await world.group("old", 4, scheduleTimeoutSeconds=3)
    for index in range(4):
        await world.pod(f"old-{index}", "old", owner=owner)
    await world.bound("old", 4)
    await world.cordon(bad, cordoned=True)
    await world.gang("young", 2)
    await world.event("old", EventReason.GANG_TIMED_OUT)
    await world.running("young", 2)
    assert set(world.observer.bound(world.namespace, "young").values()) == {good}


def test_nothing_was_refused_to_either_process(target: ControlPlaneTarget) -> None:
    requests = Requests.of(target)
    assert requests.made
    assert requests.refused == []
