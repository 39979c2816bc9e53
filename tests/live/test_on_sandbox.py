# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio

import pytest

from enbloc.client.client import PatchType
from enbloc.client.config import Cluster
from enbloc.client.paths import NODES, POD_GROUPS, PODS, Resource
from enbloc.engine import Settings
from enbloc.engine.preemption import MinRuntime, PreemptionLimits
from enbloc.model.names import GANG_RUNNING, POD_GROUP_KEY
from enbloc_sandbox import Sandbox
from tests.live.world import NAMESPACE, World
from tests.world.virtual_time import time_source

OWNERS = Resource("", "v1", "configmaps", "ConfigMap")


# ── the main job ─────────────────────────────────────────────────────────────────────────────


async def test_a_gang_of_eight_is_bound_by_one_plan_and_says_so(world: World) -> None:
    await world.nodes("n1 n2", cpu=4)
    async with world.scheduler():
        await world.gang("g", 8)
        await world.until_bound("g-", 8)

        async def said() -> bool:
            return await world.condition("g") == ("True", "Scheduled")

        await world.until(said)
    assert len(await world.plans("g-")) == 1
    assert len(await world.events("Scheduled")) == 8
    assert len(await world.events("GangScheduled")) == 1


async def test_of_two_gangs_that_contend_one_runs_and_the_other_waits_then_runs(
    world: World,
) -> None:
    await world.nodes("n1 n2", cpu=4)
    async with world.scheduler():
        for name in ("a", "b"):
            await world.group(name, 6)
        for index in range(6):
            await world.pod(f"a-{index}", "a")
            await world.pod(f"b-{index}", "b")
        await world.until_bound("", 6)
        first = "a" if await world.bound("a") else "b"
        second = "b" if first == "a" else "a"

        async def waits() -> bool:
            return await world.condition(second) == ("False", "Unschedulable") and all(
                [
                    await world.pod_condition(f"{second}-{index}") == ("False", "Unschedulable")
                    for index in range(6)
                ]
            )

        await world.until(waits)
        assert len(await world.bound(first)) == 6
        assert await world.bound(second) == {}
        for index in range(6):
            await world.delete(f"{first}-{index}")
        await world.until_bound(second, 6)


async def test_members_before_their_group_and_one_missing_wait_and_then_go(world: World) -> None:
    await world.nodes("n1", cpu=8)
    async with world.scheduler():
        for index in range(3):
            await world.pod(f"g-{index}", "g")
        await world.group("g", 4)

        async def waits() -> bool:
            return await world.condition("g") == ("False", "WaitingForMembers")

        await world.until(waits)
        assert await world.bound() == {}
        await world.pod("g-3", "g")
        await world.until_bound("g-", 4)


async def test_a_pod_without_a_group_is_bound_and_that_of_another_scheduler_is_not(
    world: World,
) -> None:
    await world.nodes("n1", cpu=8)
    async with world.scheduler():
        await world.pod("theirs", scheduler="default-scheduler")
        await world.pod("ours")
        await world.until_bound("ours", 1)
    assert await world.bound("theirs") == {}


# ── faults ───────────────────────────────────────────────────────────────────────────────────


async def test_a_scheduler_killed_in_mid_burst_leaves_a_gang_that_the_next_one_completes(
    world: World, sandbox: Sandbox
) -> None:
    await world.nodes("n1 n2", cpu=32)
    sandbox.faults.add(verb="create", resource="pods/binding", delay=0.3)
    async with world.scheduler(ends_with=None) as doomed:
        await world.gang("g", 40)

        async def some() -> bool:
            return bool(await world.bound("g-"))

        await world.until(some)
        await doomed.kill()
    assert 0 < len(await world.bound("g-")) < 40
    sandbox.faults.clear()
    async with world.scheduler():
        await world.until_bound("g-", 40)
    assert len(await world.plans("g-")) == 2


async def test_a_stop_in_mid_burst_lets_what_was_sent_settle(
    world: World, sandbox: Sandbox
) -> None:
    await world.nodes("n1", cpu=16)
    sandbox.faults.add(verb="create", resource="pods/binding", delay=0.5)
    async with world.scheduler(ends_with=None) as running:
        await world.gang("g", 16)
        await asyncio.sleep(0.3)
        assert await running.end() == 0
    assert len(await world.bound("g-")) == 16


@pytest.mark.parametrize("seconds", [0.5, 2.0])
async def test_an_api_server_that_goes_away_in_mid_burst_costs_nothing(
    world: World, sandbox: Sandbox, seconds: float
) -> None:
    await world.nodes("n1 n2", cpu=32)
    sandbox.faults.add(verb="create", resource="pods/binding", delay=0.1)
    async with world.scheduler() as running:
        await world.gang("g", 40)

        async def ready() -> bool:
            return not running.health.failed("readyz")

        async def unready() -> bool:
            return not await ready()

        sandbox.faults.refuse(seconds)
        await world.until(unready)
        await world.until_bound("g-", 40)
        assert len(await world.plans("g-")) == 1
        await world.until(ready)


@pytest.mark.parametrize("how", ["end_watches", "expire_watches"])
async def test_watches_that_end_in_mid_burst_lose_and_double_nothing(
    world: World, sandbox: Sandbox, how: str
) -> None:
    await world.nodes("n1 n2", cpu=32)
    sandbox.faults.add(verb="create", resource="pods/binding", delay=0.02)
    async with world.scheduler():
        for name in ("a", "b", "c"):
            await world.gang(name, 20)
            getattr(sandbox.faults, how)()
        await world.until_bound("", 60)
    assert len(await world.plans()) == 3
    assert len(await world.events("Scheduled")) == 60


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"status": 500}, id="500 before the write"),
        pytest.param({"status": 500, "after_commit": True}, id="500 after the write"),
        pytest.param({"status": 504, "after_commit": True}, id="504 after the write"),
        pytest.param({"after_commit": True}, id="connection cut after the write"),
        pytest.param({"status": 429, "retry_after": 1}, id="429"),
        pytest.param({"status": 401}, id="401"),
    ],
)
async def test_a_bind_whose_outcome_is_unknown_is_settled_and_never_planned_elsewhere(
    world: World, sandbox: Sandbox, fault: dict[str, object]
) -> None:
    await world.nodes("n1 n2", cpu=8)
    sandbox.faults.add(verb="create", resource="pods/binding", times=5, **fault)  # type: ignore[arg-type]
    async with world.scheduler():
        await world.gang("g", 16)
        await world.until_bound("g-", 16)
    assert len(await world.plans("g-")) == 1


async def test_a_binding_that_hangs_is_sent_again(world: World, sandbox: Sandbox) -> None:
    await world.nodes("n1", cpu=8)
    sandbox.faults.add(verb="create", resource="pods/binding", times=2, hang=True)
    async with world.scheduler():
        await world.gang("g", 8)
        await world.until_bound("g-", 8)
    assert len(await world.plans("g-")) == 1


async def test_a_refused_binding_is_the_schedulers_error_and_is_tried_again_later(
    world: World, sandbox: Sandbox
) -> None:
    await world.nodes("n1 n2", cpu=8)
    sandbox.faults.add(verb="create", resource="pods/binding", status=403)
    async with world.scheduler():
        await world.gang("g", 4)

        async def told() -> bool:
            return await world.condition("g") == ("False", "SchedulerError")

        await world.until(told)
        assert await world.bound() == {}
        sandbox.faults.clear()
        await world.until_bound("g-", 4)


@pytest.mark.parametrize("resource", ["podgroups", "priorityclasses"])
async def test_lone_pods_are_bound_without_what_only_groups_need(
    world: World, sandbox: Sandbox, resource: str, caplog: pytest.LogCaptureFixture
) -> None:
    await world.nodes("n1", cpu=8)
    sandbox.faults.add(verb="list", resource=resource, status=403)
    async with world.scheduler() as running:
        await world.pod("lone")
        await world.until_bound("lone", 1)
        assert running.health.failed("readyz") == []
        report = str(running.health.report("readyz", "verbose"))
        assert f"[!]{resource}-readable failed" in report
        [said] = [each for each in caplog.records if "; until then: " in each.getMessage()]
        assert f'grant the verb "list" on {resource}' in said.getMessage()
        sandbox.faults.clear()
        await world.gang("g", 4)
        await world.until_bound("g-", 4)

        async def readable() -> bool:
            return f"[+]{resource}-readable ok" in str(running.health.report("readyz", "verbose"))

        await world.until(readable)


async def test_a_server_that_does_not_know_the_roles_yet_has_no_group_taken_for_gone(
    world: World, sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    await world.nodes("n1", cpu=8)
    await world.gang("g", 4)
    sandbox.faults.add(verb="list", resource="podgroups", status=403, times=2)
    async with world.scheduler():
        await world.until_bound("g-", 4)
    assert "; until then: " not in caplog.text


@pytest.mark.parametrize("resource", ["pods", "nodes"])
async def test_a_missing_permission_to_list_is_named_and_awaited(
    world: World, sandbox: Sandbox, resource: str, caplog: pytest.LogCaptureFixture
) -> None:
    await world.nodes("n1", cpu=8)
    plural = resource.partition(".")[0]
    sandbox.faults.add(verb="list", resource=plural, status=403)
    async with world.scheduler() as running:
        await world.until_logged(caplog, "grant the verb")
        assert f'"list" on {plural}' in caplog.text
        assert f"{plural}-synced" in running.health.failed("readyz")
        sandbox.faults.clear()
        await world.gang("g", 4)
        await world.until_bound("g-", 4)


async def test_a_missing_permission_to_write_status_is_named_and_the_gang_still_placed(
    world: World, sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    await world.nodes("n1", cpu=8)
    sandbox.faults.add(verb="patch", resource="podgroups/status", status=403)
    async with world.scheduler() as running:
        await world.gang("g", 4)
        await world.until_bound("g-", 4)
        words = 'grant the verb "patch" on podgroups.enbloc.dev/status'
        await world.until_logged(caplog, words)
        assert "scheduler-api" in running.health.failed("readyz")
        sandbox.faults.clear()

        async def said() -> bool:
            return await world.condition("g") == ("True", "Scheduled")

        await world.until(said)


async def test_without_the_crd_it_binds_lone_pods_and_says_what_to_apply(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with (
        Sandbox(crds=(), clock=time_source().wall) as bare,
        World(Cluster(bare.url)) as world,
    ):
        await world.nodes("n1", cpu=8)
        await world.pod("p")
        async with world.scheduler() as running:
            await world.until_bound("p", 1)
            assert "kubectl apply -f crds/" in caplog.text
            assert running.health.failed("readyz") == []
            await world.install_crds()
            await world.gang("g", 4)
            await world.until_bound("g-", 4)


# ── one thing at a time ──────────────────────────────────────────────────────────────────────


async def test_a_group_deleted_while_it_waits_leaves_no_trace(world: World) -> None:
    await world.nodes("n1", cpu=2)
    async with world.scheduler():
        await world.gang("g", 4)

        async def waits() -> bool:
            return await world.condition("g") == ("False", "Infeasible")

        await world.until(waits)
        await world.client.delete(POD_GROUPS, "g", NAMESPACE)
        await world.nodes("n2", cpu=8)
        await world.pod("alone")
        await world.until_bound("alone", 1)
    assert await world.bound("g-") == {}


# ── giving room back ─────────────────────────────────────────────────────────────────────────


async def _owned(world: World, names: str, group: str) -> None:
    """Pods of a controller that makes no others."""
    thing = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "owner-"}}
    owner = (await world.client.create(OWNERS, thing, NAMESPACE))["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"]}
    for name in names.split():
        await world.pod(name, group)
        references = [{**reference, "uid": owner["uid"], "controller": True}]
        body = {"metadata": {"ownerReferences": references}}
        await world.client.patch(PODS, name, body, NAMESPACE, kind=PatchType.MERGE)


async def test_a_gang_that_cannot_be_repaired_in_time_gives_its_room_back(world: World) -> None:
    """Semantics §4.3: before it has started, at the deadline; then it queues again."""
    await world.nodes("n1", cpu=4)
    body = {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {"name": "g"},
        "spec": {"minMember": 3, "scheduleTimeoutSeconds": 1},
    }
    await world.client.create(POD_GROUPS, body, NAMESPACE)
    await _owned(world, "g-0 g-1 g-2", "g")
    async with world.scheduler():
        await world.until_bound("g-", 3)
        cordoned = {"spec": {"unschedulable": True}}
        await world.client.patch(NODES, "n1", cordoned, kind=PatchType.MERGE)
        await world.delete("g-2")
        await _owned(world, "g-3", "g")

        async def given_back() -> bool:
            pods = await world.pods("g-")
            leaving = {n for n, pod in pods.items() if "deletionTimestamp" in pod["metadata"]}
            return leaving == {"g-0", "g-1"}

        await world.until(given_back)
        pods = await world.pods("g-")
        [why] = [
            c["reason"]
            for c in pods["g-0"]["status"]["conditions"]
            if c["type"] == "DisruptionTarget"
        ]
        assert why == "BelowMinimum"
        for name in ("g-0", "g-1"):
            await world.delete(name)
        await _owned(world, "g-4 g-5", "g")
        await world.client.patch(
            NODES, "n1", {"spec": {"unschedulable": False}}, kind=PatchType.MERGE
        )
        await world.until_bound("g-", 3)


async def test_the_gate_of_a_gang_opens_when_it_runs_whole_and_closes_when_it_does_not(
    world: World,
) -> None:
    """Semantics §8: a headless Service shows only whole gangs."""
    await world.nodes("n1", cpu=4)
    await world.group("g", 2)
    for name in ("g-0", "g-1"):
        gate = {"conditionType": GANG_RUNNING}
        container = {"name": "c", "image": "i"}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": {POD_GROUP_KEY: "g"}},
            "spec": {
                "schedulerName": "enbloc",
                "containers": [container],
                "readinessGates": [gate],
            },
        }
        await world.client.create(PODS, body, NAMESPACE)

    async def gates(*wanted: str) -> bool:
        shown = [
            c["status"]
            for pod in (await world.pods("g-")).values()
            for c in pod["status"].get("conditions") or ()
            if c["type"] == GANG_RUNNING
        ]
        return shown == list(wanted)

    async with world.scheduler():
        await world.until_bound("g-", 2)
        for name in ("g-0", "g-1"):
            await world.runs(name)
        await world.until(lambda: gates("True", "True"))
        await world.delete("g-1")
        await world.until(lambda: gates("False"))


async def test_a_priority_class_that_settings_name_and_nobody_has_made_is_named(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    rules = tuple(MinRuntime(9.0, name) for name in ("system-node-critical", "no-such-class"))
    limits = PreemptionLimits(min_runtimes=rules)
    async with world.scheduler(settings=Settings(preemption=limits)):
        await world.until_logged(caplog, "PriorityClass that does not exist")
    assert {"no-such-class"} == {r.__dict__.get("priorityClass") for r in caplog.records} - {None}
