# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups of scheduler-plugins and of Volcano, as the operators that people run create them."""

from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from enbloc.controller.sources import coscheduling, volcano
from enbloc.kube.client import PatchType
from enbloc.kube.errors import AlreadyExists, Invalid, NotFound
from enbloc.kube.paths import CRDS, POD_GROUPS, PODS
from enbloc.model import names
from tests.e2e.operators import (
    KUBERAY_PLUGINS,
    KUBERAY_VOLCANO,
    OPERATORS,
    SERVED,
    SIZE,
    SPARK,
    TRAINING,
    Operator,
    Submitted,
    install,
)
from tests.e2e.world import World
from tests.effort import slow

DIALECTS = Path(__file__).parent.parent.parent / "crds" / "dialects"
each_operator = pytest.mark.parametrize(
    "operator", OPERATORS, ids=[each.project for each in OPERATORS]
)


async def start(world: World, *served: str) -> None:
    """Have both processes serve these schedulerNames, and no others."""
    profiles = world.path / "profiles.yaml"
    profiles.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [{"schedulerName": name} for name in served],
            }
        )
    )
    await world.start_scheduler(f"--config={profiles}", restart=True)
    world.controller.kill()
    await world.start_controller(*(f"--scheduler-name={name}" for name in served))


@pytest.fixture
async def served(world: World) -> World:
    """A world with the kinds of both projects, whose scheduler serves their names."""
    for file in DIALECTS.glob("*.yaml"):
        with suppress(AlreadyExists):
            await world.client.create(CRDS, yaml.safe_load(file.read_text("utf-8")))
    kinds = [coscheduling.RESOURCE, volcano.RESOURCE, volcano.QUEUES]
    await install(world, [*kinds, *{each.owner: None for each in OPERATORS}])
    await start(world, *SERVED)
    return world


def phase_of(operator: Operator, theirs: str, volcanos: str) -> str:
    """A phase in the words of the operator's PodGroup."""
    return theirs if operator.group is coscheduling.RESOURCE else volcanos


@each_operator
async def test_what_an_operator_creates_starts_together_and_is_told_how_it_fares(
    served: World, operator: Operator
) -> None:
    await served.nodes(1, cpu=SIZE)
    job = Submitted(served, operator, "train")
    await job.submit()
    last = SIZE - 1
    if operator.minimum == SIZE:
        await job.pods(last=last)
        await job.told(phase=phase_of(operator, "Pending", "Inqueue"))
        await served.quiet()
        assert served.observer.bound(served.namespace) == {}
        await job.pods(first=last, run_seconds=None)
    else:
        await job.pods()
    await served.bound("train", SIZE)
    await job.told(phase="Running", running=SIZE)
    if operator.group is coscheduling.RESOURCE:
        assert (await job.status())["occupiedBy"] == f"{served.namespace}/train"

    await job.delete()
    if not served.target.complete:  # the sandbox collects by the same rules, if it is asked to
        with suppress(NotFound):
            await served.client.delete(operator.group, job.group, served.namespace)

    async def gone() -> bool:
        with suppress(NotFound):
            await served.client.get(POD_GROUPS, job.group, served.namespace)
            return False
        return True

    await served.eventually(gone, lambda: "the PodGroup that was made for it goes with it")
    served.observer.deleted_by_test |= {f"train-{index}" for index in range(SIZE)}


@each_operator
async def test_a_job_that_ends_is_told_to_be_over(served: World, operator: Operator) -> None:
    await served.nodes(1, cpu=SIZE)
    job = Submitted(served, operator, "train")
    await job.submit()
    await job.pods(run_seconds=1)
    await job.told(phase=phase_of(operator, "Finished", "Completed"), succeeded=SIZE)


async def test_volcanos_clients_find_their_queue(served: World) -> None:
    async def there() -> bool:
        with suppress(NotFound):
            return bool(await served.client.get(volcano.QUEUES, "default"))
        return False

    await served.eventually(there, lambda: "the queue default exists")


async def test_a_ray_cluster_grows_and_shrinks(served: World) -> None:
    await served.nodes(2, cpu=SIZE)
    job = Submitted(served, KUBERAY_VOLCANO, "ray")
    await job.submit()
    await job.pods()
    await job.told(phase="Running", running=SIZE)
    await _resized(served, job, SIZE + 2)
    await job.pods(first=SIZE, last=SIZE + 2)
    await served.bound("ray", SIZE + 2)
    await job.told(phase="Running", running=SIZE + 2)
    await _resized(served, job, SIZE - 1)
    for index in range(SIZE - 1, SIZE + 2):
        await served.delete_pod(f"ray-{index}")
    await job.told(phase="Running", running=SIZE - 1)
    served.watch_over(job.group, SIZE - 1)


async def _resized(world: World, job: Submitted, minimum: int) -> None:
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
    job = Submitted(served, SPARK, "spark")
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
    jobs = [Submitted(served, TRAINING, "a"), Submitted(served, KUBERAY_PLUGINS, "b")]
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
    job = Submitted(served, TRAINING, "train")
    await job.submit(minResources=None)
    await job.pods()
    await _lacks_room(served, job)
    assert served.observer.bound(served.namespace) == {}


async def _lacks_room(world: World, job: Submitted) -> None:
    """Wait until a PodGroup of Volcano says that its members do not fit."""

    async def told() -> bool:
        conditions = (await job.status()).get("conditions") or []
        return any(
            (one["type"], one["status"], one["reason"])
            == ("Unschedulable", "True", "NotEnoughResources")
            and one["transitionID"]
            for one in conditions
        )

    await world.eventually(told, lambda: f"{job.group} says NotEnoughResources")


async def test_groups_of_volcano_are_left_alone_where_its_own_scheduler_serves_them(
    served: World,
) -> None:
    await start(served, names.SCHEDULER_NAME)
    await served.nodes(1, cpu=2 * SIZE)
    theirs = Submitted(served, KUBERAY_VOLCANO, "theirs")
    await theirs.submit()
    ours = Submitted(served, KUBERAY_VOLCANO, "ours")
    await ours.submit()
    for index in range(SIZE):
        body = ours.operator.pod("ours", index, ours.owner)
        body["spec"]["schedulerName"] = names.SCHEDULER_NAME
        await served.client.create(PODS, body, served.namespace)
    await ours.told(phase="Running")
    assert await theirs.status() == {"phase": "Pending"}
    with pytest.raises(NotFound):
        await served.client.get(POD_GROUPS, theirs.group, served.namespace)


@each_operator
async def test_a_negative_minimum_is_told_on_the_object(served: World, operator: Operator) -> None:
    job = Submitted(served, operator, "train")
    body = operator.pod_group("train", await _owner(served, job))
    body["spec"]["minMember"] = -1
    await served.client.create(operator.group, body, served.namespace)
    await served.event(job.group, "InvalidSpec", note="spec.minMember: -1 is negative")
    assert "Inqueue" not in str(await job.status())


async def _owner(world: World, job: Submitted) -> dict[str, object]:
    kind = job.operator.owner
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": job.job},
    }
    found: dict[str, object] = await world.client.create(kind, body, world.namespace)
    return found


async def test_what_is_no_quantity_is_refused_by_the_kind(served: World) -> None:
    with pytest.raises(Invalid, match="minResources"):
        await Submitted(served, TRAINING, "train").submit(minResources={"cpu": "1x"})


@each_operator
async def test_pods_wait_for_a_group_that_is_missing_and_name_it(
    served: World, operator: Operator
) -> None:
    await served.nodes(1, cpu=SIZE)
    job = Submitted(served, operator, "train")
    job.owner = await _owner(served, job)
    await job.pods()
    note = f"PodGroup {served.namespace}/{job.group} not found"
    await served.event("train-0", "PodGroupNotFound", note=note)
    assert served.observer.bound(served.namespace) == {}


@slow("what is served is asked for every half minute")
async def test_a_kind_that_goes_and_comes_back_while_the_controller_runs(served: World) -> None:
    await served.nodes(1, cpu=SIZE)
    file = DIALECTS / f"{volcano.RESOURCE.label()}.yaml"
    await served.client.delete(CRDS, volcano.RESOURCE.label())

    async def gone() -> bool:
        with suppress(NotFound):
            await served.client.get(CRDS, volcano.RESOURCE.label())
            return False
        return True

    await served.eventually(gone, lambda: "the kind is gone")
    await served.client.create(CRDS, yaml.safe_load(file.read_text("utf-8")))
    await install(served, [volcano.RESOURCE])
    job = Submitted(served, KUBERAY_VOLCANO, "ray")
    await job.submit()
    await job.pods()
    await served.bound("ray", SIZE, timeout=90)
    await job.told(phase="Running")
