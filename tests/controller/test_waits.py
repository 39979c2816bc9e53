# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The object that a PodGroup was made for has an event that says why the group waits."""

from typing import Any

import pytest

from enbloc.client.paths import EVENTS
from enbloc.controller.sources.waits import Waits
from enbloc.model import names
from enbloc.model.names import EventReason, Reason
from tests.controller.conftest import World, controller, eventually
from tests.controller.test_workload_groups import (
    group_of,
    job,
    made,
    one_member,
    pod,
    switch,
)

SHORT = "needs 2 nodes with 8 nvidia.com/gpu each; the cluster has 1"


def group(reason: str, uid: str = "u", message: str = SHORT) -> dict[str, Any]:
    """A PodGroup in this state."""
    ready = {"type": "Ready", "status": "False", "reason": reason, "message": message}
    return {"metadata": {"uid": uid}, "status": {"conditions": [{"type": "Other"}, ready]}}


def test_a_state_is_told_once_and_another_state_again() -> None:
    waits = Waits()
    assert waits.news(group(Reason.UNSCHEDULABLE)) == (
        "Warning",
        EventReason.GANG_UNSCHEDULABLE,
        SHORT,
    )
    assert waits.news(group(Reason.UNSCHEDULABLE, message="another count")) is None
    told = waits.news(group(Reason.INFEASIBLE))
    assert told is not None
    assert told.reason is EventReason.GANG_INFEASIBLE


def test_what_is_held_at_permit_before_each_binding_that_fails_is_told_once_of_each() -> None:
    waits = Waits()
    said = [
        waits.news(group(reason))
        for _ in range(3)
        for reason in (Reason.WAITING_ON_PERMIT, Reason.BINDING, Reason.SCHEDULER_ERROR)
    ]
    reasons = [each.reason for each in said if each is not None]
    assert reasons == [EventReason.GANG_UNSCHEDULABLE, EventReason.GANG_BIND_FAILED]


def test_that_a_gang_gave_way_is_told_as_kube_scheduler_tells_it_of_a_pod() -> None:
    told = Waits().news(group(Reason.PREEMPTED, message="preempted by pod ns/high"))
    assert told == ("Normal", EventReason.PREEMPTED, "preempted by pod ns/high")


def test_a_gang_that_starts_at_once_costs_no_event() -> None:
    waits = Waits()
    for reason in ("Pending", "WaitingForMembers", "Binding", "Starting", "Running", "Succeeded"):
        assert waits.news(group(reason)) is None


def test_the_end_of_a_wait_is_told_and_the_next_wait_again() -> None:
    waits = Waits()
    waits.news(group(Reason.UNSCHEDULABLE))
    assert waits.news(group(Reason.BINDING)) is None
    over = waits.news(group(Reason.RUNNING, message="2 of 2 members run"))
    assert over == ("Normal", EventReason.GANG_SCHEDULED, "2 of 2 members run")
    assert waits.news(group(Reason.RUNNING)) is None
    again = waits.news(group(Reason.BELOW_MINIMUM))
    assert again is not None
    assert again.reason is EventReason.GANG_BELOW_MINIMUM


def test_two_podgroups_are_told_of_each() -> None:
    waits = Waits()
    assert waits.news(group(Reason.UNSCHEDULABLE, "u")) is not None
    assert waits.news(group(Reason.UNSCHEDULABLE, "v")) is not None


@pytest.mark.parametrize(
    "status",
    [None, [], {}, {"conditions": None}, {"conditions": {}}, {"conditions": ["Ready"]}],
    ids=repr,
)
def test_a_status_that_somebody_spoilt_says_nothing(status: Any) -> None:
    assert Waits().news({"metadata": {"uid": "u"}, "status": status}) is None


async def told(world: World, kind: str, name: str) -> dict[str, str]:
    """The notes of the events about an object, by reason."""
    events = [one async for one in world.client.list(EVENTS, world.namespace)]
    return {
        one["reason"]: one["note"]
        for one in events
        if (one["regarding"]["kind"], one["regarding"]["name"]) == (kind, name)
    }


async def test_a_job_is_told_why_the_gang_made_of_it_waits_and_when_it_starts(
    world: World,
) -> None:
    await switch(world, "Job")
    async with controller(world):
        found = await job(world)
        name = group_of(found)
        for index in range(4):
            await pod(world, f"p{index}", found, {})
        await eventually(lambda: made(world, name))
        await world.scheduler_says("False", "Infeasible", name)

        async def waits() -> bool:
            notes = await told(world, "Job", "train")
            note = f"PodGroup {world.namespace}/{name}: says the scheduler"
            return notes == {"GangInfeasible": note}

        await eventually(waits)
        for index in range(4):
            await world.bind(f"p{index}")
            await world.phase(f"p{index}", "Running")
        await world.scheduler_says("True", "Scheduled", name)

        async def over() -> bool:
            return "GangScheduled" in await told(world, "Job", "train")

        await eventually(over)


async def test_what_controls_pods_that_declare_a_group_is_told(world: World) -> None:
    async with controller(world):
        found = await job(world)
        await pod(
            world,
            "p",
            found,
            {names.POD_GROUP_KEY: "declared", names.MIN_MEMBER_KEY: "1"},
        )
        await eventually(lambda: made(world, "declared"))
        await one_member(world, "declared")
        await world.scheduler_says("False", "Unschedulable", "declared")

        async def waits() -> bool:
            return "GangUnschedulable" in await told(world, "Job", "train")

        await eventually(waits)
