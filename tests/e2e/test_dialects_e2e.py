# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups of scheduler-plugins and of Volcano, as the operators that people run create them."""

import asyncio
from contextlib import suppress

import pytest
import yaml

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists, Invalid, NotFound
from enbloc.client.paths import CRDS, POD_GROUPS, PRIORITY_CLASSES
from enbloc.controller.sources import volcano
from enbloc.model import names
from tests.e2e.recorded_jobs import (
    SERVED,
    SIZE,
    Recorded,
    exists,
    install,
    start,
)
from tests.e2e.world import World
from tests.effort import slow
from tests.foreign_crds import DIALECTS

TRAINING = "training-operator-volcano"
#: Jobs with one PodGroup of scheduler-plugins or Volcano, whose status says how they fare.
REPORTED = ("kuberay-scheduler-plugins", "kuberay-volcano", TRAINING, "volcano-job")
#: After so long the controller has asked what is served (seconds).
LOOKED_FOR = 35.0
each_job = pytest.mark.parametrize("name", REPORTED)


@pytest.fixture
async def served(world: World) -> World:
    """A world with the kinds of both projects, whose scheduler serves their names."""
    await install(world, [*REPORTED, "spark-operator-volcano"])
    await start(world, *SERVED)
    return world


async def test_the_first_owner_of_a_group_of_scheduler_plugins_is_told(served: World) -> None:
    await served.nodes(1, cpu=SIZE)
    job = Recorded(served, "kuberay-scheduler-plugins")
    await job.submit()
    await job.pods()
    await job.told(phase="Running", running=SIZE)
    assert (await job.status())["occupiedBy"] == f"{served.namespace}/train"


async def test_volcanos_clients_find_their_queue(served: World) -> None:
    async def there() -> bool:
        with suppress(NotFound):
            return bool(await served.client.get(volcano.QUEUES, "default"))
        return False

    await served.eventually(there, lambda: "the queue default exists")


async def test_a_ray_cluster_grows_and_shrinks(served: World) -> None:
    await served.nodes(2, cpu=SIZE)
    job = Recorded(served, "kuberay-volcano", "ray")
    await job.submit()
    await job.pods()
    await job.told(phase="Running", running=SIZE)
    await _resized(served, job, SIZE + 2)
    more = [await job.another(f"more-{index}") for index in range(2)]
    await served.bound("ray", SIZE + 2)
    await job.told(phase="Running", running=SIZE + 2)
    await _resized(served, job, SIZE - 1)
    for name in [*more, "ray-workers-worker-0"]:
        await served.delete_pod(name)
    await job.told(phase="Running", running=SIZE - 1)
    served.watch_over(job.group, SIZE - 1)


async def _resized(world: World, job: Recorded, minimum: int) -> None:
    spec = {"minMember": minimum, "minResources": {"cpu": str(minimum), "memory": None}}
    await world.client.patch(
        volcano.RESOURCE, job.group, {"spec": spec}, world.namespace, kind=PatchType.MERGE
    )

    async def followed() -> bool:
        found = await world.client.get(POD_GROUPS, job.group, world.namespace)
        return bool(found["spec"]["minMember"] == minimum)

    await world.eventually(followed, lambda: f"{job.group} needs {minimum}")


async def test_an_application_of_spark_waits_for_the_room_of_all_its_executors(
    served: World,
) -> None:
    await served.nodes(1, cpu=SIZE - 1)
    job = Recorded(served, "spark-operator-volcano", "spark")
    await job.submit()
    await job.pods(last=1)
    await _lacks_room(served, job)
    assert served.observer.bound(served.namespace) == {}
    await served.nodes(1, cpu=SIZE)
    await job.pods(first=1)
    await served.bound("spark", SIZE)


async def test_gangs_of_two_projects_that_would_deadlock_run_one_after_the_other(
    served: World,
) -> None:
    await served.nodes(1, cpu=SIZE + 1)
    jobs = [Recorded(served, TRAINING, "a"), Recorded(served, "kuberay-scheduler-plugins", "b")]
    for job in jobs:
        await job.submit()
    for index in range(SIZE):
        for job in jobs:
            await job.pods(first=index, last=index + 1, run_seconds=2)
    await served.all_finished(2 * SIZE, timeout=90)
    await jobs[0].told(phase="Completed")
    await jobs[1].told(phase="Finished")


async def test_why_a_gang_waits_is_told_in_the_words_of_volcano(served: World) -> None:
    await served.nodes(1, cpu=1)
    job = Recorded(served, TRAINING)
    await job.submit(minResources=None)
    await job.pods()
    await _lacks_room(served, job)
    assert served.observer.bound(served.namespace) == {}


@pytest.mark.parametrize(
    ("name", "gone", "again"),
    [(TRAINING, "Inqueue", "Inqueue"), ("kuberay-scheduler-plugins", "Pending", "Scheduling")],
)
async def test_a_gang_that_gave_way_waits_in_the_words_of_its_project(
    served: World, name: str, gone: str, again: str
) -> None:
    """Semantics §10.3."""
    with suppress(AlreadyExists):
        await served.client.create(
            PRIORITY_CLASSES, {"metadata": {"name": "e2e-above-dialects"}, "value": 1000}
        )
    await served.nodes(1, cpu=SIZE)
    job = Recorded(served, name)
    await job.submit(minResources=None)
    await job.pods()
    await job.told(phase="Running", running=SIZE)
    served.observer.deleted_by_test |= set(served.observer.bound(served.namespace))
    await served.gang("high", SIZE, priority_class="e2e-above-dialects")
    await served.bound("high", SIZE)
    await job.told(phase=gone)
    for index in range(SIZE):
        await job.another(f"again-{index}")
    await job.told(phase=again)
    if name == TRAINING:
        await _lacks_room(served, job, "preempted by PodGroup")
    await served.nodes(1, cpu=SIZE)
    await job.told(phase="Running", running=SIZE)


async def _lacks_room(world: World, job: Recorded, text: str = "") -> None:
    """Wait until a PodGroup of Volcano says that its members do not fit, and this."""

    async def told() -> bool:
        conditions = (await job.status()).get("conditions") or []
        return any(
            (one["type"], one["status"], one["reason"])
            == ("Unschedulable", "True", "NotEnoughResources")
            and one["transitionID"]
            and text in one.get("message", "")
            for one in conditions
        )

    await world.eventually(told, lambda: f"{job.group} says NotEnoughResources")


async def test_groups_of_volcano_are_left_alone_where_its_own_scheduler_serves_them(
    served: World,
) -> None:
    await start(served, names.SCHEDULER_NAME)
    await served.nodes(1, cpu=2 * SIZE)
    theirs = Recorded(served, "kuberay-volcano", "theirs")
    await theirs.submit()
    ours = Recorded(served, "kuberay-volcano", "ours")
    await ours.submit()
    for body in ours.steps:
        body["spec"]["schedulerName"] = names.SCHEDULER_NAME
    await ours.pods()
    await ours.told(phase="Running")
    assert await theirs.status() == {"phase": "Pending"}
    with pytest.raises(NotFound):
        await served.client.get(POD_GROUPS, theirs.group, served.namespace)


@each_job
async def test_a_negative_minimum_is_told_on_the_object(served: World, name: str) -> None:
    job = Recorded(served, name)
    await job.submit(minMember=-1)
    await served.event(job.group, "InvalidSpec", note="spec.minMember: -1 is negative")
    assert "Inqueue" not in str(await job.status())


async def test_what_is_no_quantity_is_refused_by_the_kind(served: World) -> None:
    with pytest.raises(Invalid, match="minResources"):
        await Recorded(served, TRAINING).submit(minResources={"cpu": "1x"})


@each_job
async def test_pods_wait_for_a_group_that_is_missing_and_name_it(served: World, name: str) -> None:
    await served.nodes(1, cpu=SIZE)
    job = Recorded(served, name)
    await job.submit(grouped=False)
    await job.pods()
    note = f"PodGroup {served.namespace}/{job.group} not found"
    pod = job.steps[0]["metadata"]["name"]
    await served.event(pod, "PodGroupNotFound", note=note)
    assert served.observer.bound(served.namespace) == {}


@slow("what is served is asked for every half minute")
async def test_a_kind_that_goes_and_comes_back_while_the_controller_runs(served: World) -> None:
    await served.nodes(1, cpu=SIZE)
    file = DIALECTS / f"{volcano.RESOURCE.label()}.yaml"
    await served.client.delete(CRDS, volcano.RESOURCE.label())

    await _gone(served)
    await served.client.create(CRDS, yaml.safe_load(file.read_text("utf-8")))
    await install(served, ["kuberay-volcano"])
    job = Recorded(served, "kuberay-volcano", "ray")
    await job.submit()
    await job.pods()
    await served.bound("ray", SIZE, timeout=90)
    await job.told(phase="Running")


@slow("what is served is asked for every half minute")
async def test_a_kind_that_goes_and_stays_away_takes_nothing_from_others(served: World) -> None:
    await served.nodes(1, cpu=2 * SIZE)
    before = Recorded(served, "kuberay-volcano", "before")
    await before.submit()
    await before.pods()
    await before.told(phase="Running")
    await served.client.delete(CRDS, volcano.RESOURCE.label())
    await _gone(served)
    await asyncio.sleep(LOOKED_FOR)
    later = Recorded(served, "kuberay-scheduler-plugins", "later")
    await later.submit()
    await later.pods()
    await later.told(phase="Running", running=SIZE)
    assert len(served.observer.bound(served.namespace, "before")) == SIZE
    await install(served, REPORTED)  # others need it


async def _gone(world: World) -> None:
    async def gone() -> bool:
        return not await exists(world, CRDS, volcano.RESOURCE.label())

    await world.eventually(gone, lambda: "the kind is gone")
