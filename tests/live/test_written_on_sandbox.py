# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the scheduler writes, as an API server then shows it."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from msgspec import structs

from enbloc.client.binding import Bound, bind
from enbloc.client.client import Client, PatchType
from enbloc.client.config import Cluster
from enbloc.client.events import Recorder
from enbloc.client.paths import EVENTS, POD_GROUPS, PODS
from enbloc.client.permissions import ROLES
from enbloc.engine.effects import ConditionValue, Emit, EventType, SetGangRunning, SetGroupStatus
from enbloc.framework.act import Target
from enbloc.live.binding import binding_of
from enbloc.live.group_status import GroupObject
from enbloc.live.notices import notice
from enbloc.live.statuses import GroupStatuses, PodConditions
from enbloc.model.groups import GroupKey
from enbloc.model.names import (
    GANG_RUNNING,
    PLAN_KEY,
    RANK_KEY,
    SCHEDULER_REPORTER,
    SIZE_KEY,
    Condition,
    EventReason,
    Reason,
)
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.telemetry import ActiveProblems
from enbloc_sandbox import Sandbox
from tests.live.world import NAMESPACE, World
from tests.world.virtual_time import time_source

GROUP = GroupKey(NAMESPACE, "g")
SCHEDULED = ConditionValue(Condition.SCHEDULED, True, Reason.SCHEDULED, "8 of 8 bound")
SATISFIED = ConditionValue(Condition.SATISFIED, True, Reason.SATISFIED, "8 of 8 run")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with Sandbox(clock=time_source().wall) as sandbox, World(Cluster(sandbox.url)) as opened:
        yield opened


@pytest.fixture
async def client(world: World) -> AsyncIterator[Client]:
    """May do what the scheduler may."""
    rules = ROLES["scheduler"]
    async with Client(
        world.cluster, component="scheduler", rules=rules, clock=time_source()
    ) as opened:
        yield opened


async def test_rank_and_size_arrive_on_the_pod_beside_the_binding_record(
    world: World, client: Client
) -> None:
    await world.nodes("n1")
    await world.pod("p", "g")
    made = await world.client.get(PODS, "p", NAMESPACE)
    records = ((PLAN_KEY, "{}"), (RANK_KEY, "3"), (SIZE_KEY, "8"))
    uid = PodUID(made["metadata"]["uid"])
    target = Target("plan-1", PodKey(NAMESPACE, "p"), uid, "n1", records)
    assert await bind(client, binding_of(target)) == Bound()
    bound = await world.client.get(PODS, "p", NAMESPACE)
    assert bound["metadata"]["annotations"].items() >= dict(records).items()


async def test_conditions_come_as_they_are_listed_and_go_when_they_are_not(
    world: World, client: Client
) -> None:
    await world.group("g", 8)
    made = await world.client.get(POD_GROUPS, "g", NAMESPACE)
    ready: dict[str, Any] = {"type": "Ready", "status": "Unknown", "reason": "Pending"}
    ready |= {"message": "", "lastTransitionTime": "2027-01-15T08:00:00Z", "observedGeneration": 1}
    await world.client.patch(
        POD_GROUPS,
        "g",
        {
            "apiVersion": POD_GROUPS.api_version,
            "kind": POD_GROUPS.kind,
            "status": {"conditions": [ready]},
        },
        NAMESPACE,
        kind=PatchType.APPLY,
        subresource="status",
        query={"fieldManager": "enbloc-controller", "force": "true"},
    )
    statuses = GroupStatuses(
        client, lambda: 1_800_000_000.0, ActiveProblems(), "enbloc-scheduler:enbloc"
    )

    async def shown(*conditions: ConditionValue, started: float | None) -> dict[str, Any]:
        effect = SetGroupStatus(
            group=GROUP,
            uid=made["metadata"]["uid"],
            generation=1,
            run_name="job-1",
            started=started,
            succeeded=0,
            roles=(),
            attempts=1,
            last_attempt=None,
            next_attempt=None,
            conditions=conditions,
        )
        statuses.writer.put(GROUP, effect)
        await statuses.writer.settled()
        found = await world.client.get(POD_GROUPS, "g", NAMESPACE)
        status: dict[str, Any] = found["status"]
        return status

    status = await shown(SCHEDULED, SATISFIED, started=1_800_000_000.0)
    assert {c["type"] for c in status["conditions"]} == {"Ready", "Scheduled", "Satisfied"}
    assert status["startedTime"] == "2027-01-15T08:00:00Z"
    status = await shown(SCHEDULED, started=None)  # a new run has not started
    assert {c["type"] for c in status["conditions"]} == {"Ready", "Scheduled"}
    assert "startedTime" not in status


async def test_the_gang_gate_opens_beside_the_kubelets_conditions(
    world: World, client: Client
) -> None:
    await world.pod("p", "g")
    made = await world.client.get(PODS, "p", NAMESPACE)
    ready = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    await world.client.patch(
        PODS, "p", ready, NAMESPACE, kind=PatchType.STRATEGIC, subresource="status"
    )
    key, uid = PodKey(NAMESPACE, "p"), PodUID(made["metadata"]["uid"])
    conditions = PodConditions(client, lambda: 1_800_000_000.0, ActiveProblems())
    conditions.seen(Pod(key, uid, PodSpec(), node="n1", gang_gate=True))
    conditions.put(SetGangRunning(key, uid, running=True, message="8 of 8 run"))
    await conditions.writer.settled()
    pod = await world.client.get(PODS, "p", NAMESPACE)
    standing = {c["type"]: c["status"] for c in pod["status"]["conditions"]}
    assert standing.items() >= {"Ready": "False", GANG_RUNNING: "True"}.items()


async def test_an_event_on_a_node_is_found_where_kubectl_looks(
    world: World, client: Client
) -> None:
    recorder = Recorder(client, "here")
    effect = Emit(
        EventType.WARNING,
        EventReason.NODE_QUARANTINED,
        "Binding",
        "rejected 3 members of default/g",
        SCHEDULER_REPORTER,
        uid="n1",
        node="n1",
    )
    recorder.emit(notice(effect))
    await recorder.flush(10)
    [event] = [event async for event in world.client.list(EVENTS, "default")]
    assert event["regarding"] == {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1"}
    assert event["reason"] == "NodeQuarantined"


@pytest.mark.parametrize("before", ["enbloc-scheduler", "enbloc-scheduler:batch"])
async def test_a_status_is_taken_over_and_nothing_of_its_former_writer_stays(
    world: World, client: Client, before: str
) -> None:
    """semantics §6.4"""
    await world.group("g", 8)
    made = await world.client.get(POD_GROUPS, "g", NAMESPACE)
    former, ours = (
        GroupStatuses(client, lambda: 1_800_000_000.0, ActiveProblems(), manager)
        for manager in (before, "enbloc-scheduler:enbloc")
    )
    effect = SetGroupStatus(
        group=GROUP,
        uid=made["metadata"]["uid"],
        generation=1,
        run_name="job-1",
        started=1_800_000_000.0,
        succeeded=0,
        roles=(),
        attempts=1,
        last_attempt=None,
        next_attempt=None,
        conditions=(SCHEDULED, SATISFIED),
    )
    for statuses, said in (
        (former, effect),
        (ours, structs.replace(effect, started=None, conditions=(SCHEDULED,), replaced=(before,))),
    ):
        found = await world.client.get(POD_GROUPS, "g", NAMESPACE)
        statuses.seen(msgspec.convert(found, GroupObject))
        statuses.writer.put(GROUP, said)
        await statuses.writer.settled()
    found = await world.client.get(POD_GROUPS, "g", NAMESPACE)
    assert [condition["type"] for condition in found["status"]["conditions"]] == ["Scheduled"]
    assert "startedTime" not in found["status"]
    owned = {each["manager"] for each in found["metadata"]["managedFields"]}
    assert owned & {before, "enbloc-scheduler:enbloc"} == {"enbloc-scheduler:enbloc"}
