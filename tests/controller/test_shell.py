# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The controller on an API server: what users see in the status of a PodGroup."""

import asyncio
import logging
import signal
from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.errors import APIError, NotFound
from enbloc.client.events import Recorder
from enbloc.client.paths import EVENTS, JOBS, LEASES, POD_GROUPS, PODS, STATEFUL_SETS
from enbloc.controller import run_controller
from enbloc.model import names
from enbloc.process.embedding import embedded
from enbloc.telemetry import Health
from enbloc.wire.auto_groups import group_name
from tests.controller.conftest import (
    World,
    condition,
    controller,
    eventually,
    install_crd,
    remove_crd,
)
from tests.controlplane import ControlPlane


async def test_the_status_follows_the_group_from_its_first_member_to_its_end(world: World) -> None:
    async with controller(world):
        await world.group(minMember=2)
        await world.until("WaitingForMembers", members=0, scheduled=0, ready=0, failed=0)
        await world.pod("a")
        waiting = await world.until("WaitingForMembers", members=1)
        assert condition(waiting, "Ready")["message"] == "1 of 2 members exist"
        await world.pod("b")
        await world.until("Pending", members=2)
        await world.scheduler_says("False", "Unschedulable")
        await world.until("Unschedulable", scheduled=0)
        for name in ("a", "b"):
            await world.bind(name)
        await world.scheduler_says("True", "Scheduled")
        await world.until("Starting", scheduled=2, ready=0)
        for name in ("a", "b"):
            await world.phase(name, "Running", ready=True)
        running = await world.until("Running", scheduled=2, ready=2)
        assert condition(running, "Ready")["status"] == "True"
        for name in ("a", "b"):
            await world.phase(name, "Succeeded")
        done = await world.until("Succeeded", members=0, scheduled=0, ready=0)
        assert condition(done, "Finished")["status"] == "True"
        for name in ("a", "b"):
            await world.client.delete(PODS, name, world.namespace)
        assert (await world.until("Succeeded"))["conditions"] == done["conditions"]


async def test_members_that_are_deleted_are_missed(world: World) -> None:
    async with controller(world):
        await world.group(minMember=2)
        for name in ("a", "b"):
            await world.pod(name)
        await world.until("Pending", members=2)
        await world.client.delete(PODS, "a", world.namespace)

        await world.until("WaitingForMembers", members=1)


async def test_what_was_there_before_the_controller_is_seen(world: World) -> None:
    await world.pod("a")
    await world.group(minMember=1)

    async with controller(world):
        await world.until("Pending", members=1)


async def test_roles_are_counted(world: World) -> None:
    roles = [{"name": "worker", "minMember": 1}, {"name": "launcher", "minMember": 1}]
    async with controller(world):
        await world.group(minMember=2, roles=roles)
        await world.pod("w", role="worker")
        await world.scheduler_says(
            "False", "WaitingForMembers", roles=[{"name": "worker", "succeeded": 4}]
        )
        status = await world.until("WaitingForMembers", members=1)

        def of(name: str) -> Any:
            return next(role for role in status["roles"] if role["name"] == name)

        assert of("worker") == {
            "name": "worker",
            "members": 1,
            "scheduled": 0,
            "ready": 0,
            "succeeded": 4,
        }
        assert of("launcher") == {"name": "launcher", "members": 0, "scheduled": 0, "ready": 0}
        assert condition(status, "Ready")["message"] == "0 of 1 members of role launcher exist"


async def test_the_two_writers_leave_each_other_alone(world: World) -> None:
    async with controller(world):
        await world.group(minMember=1)
        await world.until("WaitingForMembers")
        await world.scheduler_says("False", "Infeasible", attempts=3, run="x", succeeded=1)
        await world.pod("a")
        status = await world.until("Infeasible", members=1)
        assert condition(status, "Ready")["message"] == "says the scheduler"
        assert (status["attempts"], status["run"], status["succeeded"]) == (3, "x", 1)
        await world.scheduler_says("True", "Scheduled", attempts=4)
        status = await world.until("Starting", members=1)

        assert status["attempts"] == 4
        assert "run" not in status


async def test_kopf_leaves_no_trace_on_the_objects(world: World) -> None:
    async with controller(world):
        await world.group(minMember=1)
        await world.pod("a")
        await world.until("Pending", members=1)
        group, pod = await world.get(POD_GROUPS), await world.get(PODS, "a")

        assert "annotations" not in group["metadata"]
        assert "finalizers" not in group["metadata"]
        assert "annotations" not in pod["metadata"]
        assert "finalizers" not in pod["metadata"]
        managers = {
            (field["manager"], field["operation"], field.get("subresource"))
            for field in group["metadata"]["managedFields"]
            if field["manager"].startswith(("enbloc-controller", "kopf"))
        }
        assert managers == {(names.CONTROLLER_MANAGER, "Apply", "status")}
        assert names.CONTROLLER_MANAGER not in {
            field["manager"] for field in pod["metadata"]["managedFields"]
        }


async def test_a_change_of_the_spec_is_stamped(world: World) -> None:
    """Semantics §7.1."""
    async with controller(world):
        await world.group(minMember=1)
        before = await world.until("WaitingForMembers")
        await world.edit(scheduleTimeoutSeconds=30)

        async def stamped() -> Any:
            status = (await world.get(POD_GROUPS))["status"]
            return status if status["observedGeneration"] == 2 else None

        after = await eventually(stamped)
        assert condition(after, "Ready")["observedGeneration"] == 2
        before_ready, after_ready = condition(before, "Ready"), condition(after, "Ready")
        assert before_ready["lastTransitionTime"] == after_ready["lastTransitionTime"]


async def test_nothing_is_written_when_nothing_changes(world: World) -> None:
    async with controller(world):
        await world.group(minMember=1)
        await world.until("WaitingForMembers")
        version = (await world.get(POD_GROUPS))["metadata"]["resourceVersion"]
        await world.pod("other", group="other")
        await world.group("second", minMember=1)
        await world.until("WaitingForMembers", "second")

        assert (await world.get(POD_GROUPS))["metadata"]["resourceVersion"] == version


SINCE = "2026-11-21T05:00:00Z"
OF_THE_GROUP = {names.POD_GROUP_KEY: "train"}


async def a_job(
    world: World, name: str, labels: dict[str, str] = OF_THE_GROUP, **spec: Any
) -> dict[str, Any]:
    """Create a Job whose pods have these labels; gives the reference of an owner."""
    template = {
        "metadata": {"labels": labels},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]},
    }
    spec = {"parallelism": 1, "completions": 1, **spec, "template": template}
    job = await world.create(JOBS, metadata={"name": name}, spec=spec)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": name,
        "uid": job["metadata"]["uid"],
        "controller": True,
    }


async def ends(world: World, name: str, *kinds: str, **fields: Any) -> None:
    """A Job gets its last conditions."""
    conditions = [
        {"type": kind, "status": "True", "lastProbeTime": SINCE, "lastTransitionTime": SINCE}
        for kind in kinds
    ]
    common = {"startTime": SINCE, "uncountedTerminatedPods": {}, "conditions": conditions}
    await world.status(JOBS, name, common | fields)


async def completes(world: World, name: str, succeeded: int) -> None:
    kinds = ("SuccessCriteriaMet", "Complete")
    await ends(world, name, *kinds, completionTime=SINCE, succeeded=succeeded)


async def told(world: World, reason: str) -> list[dict[str, Any]]:
    """The events with this reason."""
    found = [e async for e in world.client.list(EVENTS, world.namespace)]
    return [event for event in found if event["reason"] == reason]


async def test_the_end_of_a_job_is_the_end_of_the_group(world: World) -> None:
    """Semantics §7.2."""
    owner = await a_job(world, "job", completions=2)
    async with controller(world):
        await world.group(minMember=1)
        await world.pod("a", owner=owner)
        await world.phase("a", "Succeeded")
        await world.scheduler_says("True", "Scheduled", succeeded=1)
        first_wave = await world.until("Running", members=0)
        assert condition(first_wave, "Finished") == {}

        await completes(world, "job", 2)
        await world.until("Succeeded")
        await eventually(lambda: told(world, "PodGroupFinished"))


async def test_a_job_that_is_rerun_and_fails_within_a_second_is_not_said_to_have_succeeded(
    world: World,
) -> None:
    """Semantics §7.2."""
    async with controller(world):
        await world.group(minMember=1)
        first = await a_job(world, "first")
        await world.pod("a", owner=first)
        await world.scheduler_says("True", "Scheduled", run=first["uid"], succeeded=1)
        await world.phase("a", "Succeeded")
        await completes(world, "first", 1)
        await world.until("Succeeded")
        await world.client.delete(JOBS, "first", world.namespace)
        await world.client.delete(PODS, "a", world.namespace)
        second = await a_job(world, "second", backoffLimit=0)
        await world.pod("b", owner=second)
        await world.phase("b", "Failed")
        await ends(world, "second", "FailureTarget", "Failed", failed=1)

        status = await world.until("Failed", failed=1)
        assert condition(status, "Finished")["reason"] == "Failed"


async def test_each_part_of_a_jobset_ends_with_its_own_jobs_once_it_has_a_podgroup(
    world: World,
) -> None:
    """Semantics §6.6, §7.2."""
    key = "jobset.sigs.k8s.io/"
    attempt = {f"{key}jobset-name": "w", f"{key}jobset-uid": "set", f"{key}restart-attempt": "0"}
    whole, later = group_name("JobSet", "w"), group_name("JobSet", "w", part="then")
    async with controller(world):
        await world.group(whole, minMember=1)
        for part in ("first", "then"):
            await a_job(world, part, attempt | {f"{key}replicatedjob-name": part})
        await world.scheduler_says("True", "Scheduled", whole, run="set/0", succeeded=1)
        await completes(world, "first", 1)
        await world.until("Running", whole)

        await world.group(later, minMember=1)
        await world.until("Succeeded", whole)
        await world.scheduler_says("True", "Scheduled", later, run="set/0")
        await world.until("Starting", later)
        await ends(world, "then", "FailureTarget", "Failed", failed=1)
        await world.until("Failed", later)


async def test_a_job_that_is_too_small_for_its_group_is_named_until_it_is_mended(
    world: World,
) -> None:
    """Semantics §5.2."""
    async with controller(world):
        await world.group(minMember=2)
        owner = await a_job(world, "job", parallelism=1, completions=4)
        await world.pod("a", owner=owner)
        status = await world.until("MembersCannotExist", members=1)
        assert condition(status, "Ready")["message"] == (
            "1 of 2 members exist, at most 1 can: Job job: spec.parallelism is 1; raise it to 2, "
            "or lower spec.minMember to 1"
        )

        body = {"spec": {"parallelism": 2}}
        await world.client.patch(JOBS, "job", body, world.namespace, kind=PatchType.MERGE)
        await world.until("WaitingForMembers", members=1)


async def test_a_suspended_job_and_an_ordered_stateful_set_are_told_apart(
    world: World,
) -> None:
    """Semantics §5.2."""
    labels = {names.POD_GROUP_KEY: "ordered"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    spec = {
        "replicas": 4,
        "serviceName": "s",
        "selector": {"matchLabels": labels},
        "template": template,
    }
    async with controller(world):
        await world.group(minMember=2)
        await world.group("ordered", minMember=4)
        await a_job(world, "job", parallelism=2, completions=2, suspend=True)
        await world.create(STATEFUL_SETS, metadata={"name": "s"}, spec=spec)

        ordered = await world.until("MembersCannotExist", "ordered")
        assert (
            "StatefulSet s: spec.podManagementPolicy is OrderedReady"
            in (condition(ordered, "Ready")["message"])
        )

        async def suspended() -> bool:
            waiting = await world.until("WaitingForMembers")
            words: str = condition(waiting, "Ready")["message"]
            return words == "0 of 2 members exist; Job job is suspended"

        await eventually(suspended)


async def test_a_job_that_a_repair_could_make_fail_is_warned_of(world: World) -> None:
    """Semantics §4.5."""
    async with controller(world):
        await world.group(minMember=8)
        await a_job(world, "job", parallelism=8, completions=8)

        (event,) = await eventually(lambda: told(world, "BackoffLimitTooSmall"))
        assert event["type"] == "Warning"
        assert event["note"].startswith("Job job: spec.backoffLimit is 6, but a repair")
        assert event["related"]["name"] == "job"


async def test_a_group_that_is_deleted_and_created_again_is_a_new_one(world: World) -> None:
    async with controller(world):
        await world.pod("a")
        await world.group(minMember=1)
        await world.until("Pending")
        await world.client.delete(POD_GROUPS, "train", world.namespace)
        await world.group(minMember=2)

        status = await world.until("WaitingForMembers", members=1)
        assert status["observedGeneration"] == 1


async def test_without_the_crd_it_says_so_once_and_goes_on_when_it_is_applied(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await remove_crd(world.client)
    with caplog.at_level(logging.INFO):
        async with controller(world) as running:
            await asyncio.sleep(2.5)  # longer than between two looks
            assert not running.ready()
            await install_crd(world.client)
            await world.group(minMember=1)
            await world.until("WaitingForMembers")
            assert running.ready()

            await remove_crd(world.client)
            await eventually(lambda: not running.ready())
            await install_crd(world.client)
            await world.group(minMember=1)
            await world.until("WaitingForMembers")

    # What is said of namespaces that other tests have left there is none of it.
    warnings = [record for record in caplog.records if record.levelno > logging.INFO]
    problems = [each.getMessage() for each in warnings if "does not serve" in each.getMessage()]
    said = (
        "The server does not serve podgroups.enbloc.dev: kubectl apply -f crds/ "
        "(enbloc then continues without a restart)"
    )
    assert problems == [said, said]
    assert all(record.exc_info is None for record in caplog.records)


async def test_it_leaves_signals_and_other_tasks_alone(world: World) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    async with controller(world) as running:
        await world.group(minMember=1)
        await world.until("WaitingForMembers")
        other = asyncio.create_task(asyncio.sleep(3600))
        assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == handlers
        running.stop.set()

        assert await running.code == 0
        assert not running.ready()
    assert not other.done()
    other.cancel()


async def test_only_the_holder_of_the_lease_writes(world: World) -> None:
    async with controller(world, leader_elect=True) as first:
        await world.group(minMember=1)
        await world.until("WaitingForMembers")
        async with controller(world, leader_elect=True) as second:
            await eventually(second.ready)
            first.stop.set()
            assert await first.code == 0
            await world.pod("a")
            await world.until("Pending", members=1)
            assert not second.code.done()


@pytest.mark.parametrize("world", ["sandbox"], indirect=True)
async def test_who_takes_the_lease_at_its_start_need_not_confirm_its_lists(world: World) -> None:
    """Semantics §6.3: they are newer than its term."""
    assert world.faults is not None
    world.faults.add(verb="watch", resource="pods", delay=0.001, times=1000)
    async with controller(world, leader_elect=True):
        await world.group(minMember=1)
        await world.until("WaitingForMembers")
        [watches] = world.faults._faults
        assert watches.times == 1000 - 1


async def test_it_stands_by_when_its_lease_is_taken_and_goes_on_when_it_is_given_back(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async with controller(world, leader_elect=True) as running:
        await world.group(minMember=1)
        await world.until("WaitingForMembers")
        await hand_lease_to(world, "somebody else")

        async def lost() -> bool:
            return "somebody else holds it; standing by" in caplog.text

        await eventually(lost)
        await world.pod("a")
        await hand_lease_to(world, "")
        await world.until("Pending", members=1)
        assert not running.code.done()


async def hand_lease_to(world: World, holder: str) -> None:
    """As somebody does who may edit Leases."""

    async def handed() -> bool:
        lease = await world.get(LEASES, names.CONTROLLER_LEASE)
        lease["spec"]["holderIdentity"] = holder
        try:
            await world.client.replace(LEASES, names.CONTROLLER_LEASE, lease, world.namespace)
        except APIError:  # it was renewed in between
            return False
        return True

    await eventually(handed)


async def test_members_of_a_group_that_does_not_exist_wait_for_it(world: World) -> None:
    async with controller(world):
        await world.pod("a", group="later")
        with pytest.raises(NotFound):
            await world.get(POD_GROUPS, "later")
        await world.group("later", minMember=1)

        await world.until("Pending", "later", members=1)


async def test_the_process_runs_until_it_is_told_to_stop(world: World) -> None:
    stop, health = asyncio.Event(), Health()
    options = world.options(stop=stop, health=health)
    process = asyncio.create_task(embedded(options, run_controller))
    await world.group(minMember=1)
    await world.until("WaitingForMembers")
    assert health.failed("livez") == health.failed("readyz") == []
    stop.set()

    assert await process == 0
    assert health.failed("readyz") == ["controller-running"]


@pytest.mark.parametrize(
    "world", [pytest.param("controlplane", marks=pytest.mark.controlplane)], indirect=True
)
async def test_kubectl_shows_the_state_in_its_columns(
    world: World, control_plane: ControlPlane
) -> None:
    async with controller(world):
        await world.group(minMember=2)
        await world.pod("a")
        await world.bind("a")
        await world.until("WaitingForMembers", scheduled=1)
        shown = await asyncio.to_thread(
            control_plane.kubectl, "get", "epg", "-n", world.namespace, "--no-headers"
        )

    assert shown.stdout.split()[:5] == ["train", "WaitingForMembers", "2", "1", "0"]


@pytest.mark.parametrize("world", ["sandbox"], indirect=True)
async def test_a_server_that_goes_away_is_found_again(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    assert world.faults is not None
    async with controller(world) as running:
        await world.group(minMember=1)
        await world.until("WaitingForMembers")
        world.faults.refuse(1.5)
        await eventually(lambda: not running.ready())
        await eventually(running.ready)
        await world.pod("a")
        await world.until("Pending", members=1)
        await world.edit(minMember=2)
        await world.until("WaitingForMembers", members=1)

    assert all(record.exc_info is None for record in caplog.records)


@pytest.mark.parametrize("world", ["sandbox"], indirect=True)
async def test_watches_that_expire_lose_nothing(world: World) -> None:
    assert world.faults is not None
    async with controller(world):
        await world.group(minMember=1)
        await world.until("WaitingForMembers")
        world.faults.expire_watches()
        await world.pod("a")
        await world.until("Pending", members=1)
        await world.edit(minMember=2)
        await world.until("WaitingForMembers", members=1)


@pytest.mark.parametrize("world", ["sandbox"], indirect=True)
async def test_a_status_that_may_not_be_written_is_said_and_written_later(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    assert world.faults is not None
    world.faults.add(verb="patch", resource="podgroups/status", status=403)
    async with controller(world) as running:
        await world.group(minMember=1)
        await eventually(lambda: running.health.failed("readyz") == ["controller-api"])
        await asyncio.sleep(1.5)
        world.faults.clear()
        await world.until("WaitingForMembers")
        await eventually(running.ready)

    problems = [r.getMessage() for r in caplog.records if r.levelno > logging.INFO]
    assert len(problems) == 1
    assert problems[0].endswith('(grant the verb "patch" on podgroups.enbloc.dev/status)')


async def test_a_background_task_that_breaks_ends_the_process_and_is_logged(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: Recorder) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Recorder, "run", broken)
    async with controller(world) as running:
        assert await running.code == 1
    assert "Controller failed" in caplog.messages
