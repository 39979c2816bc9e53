# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Two runs of one PodGroup that overlap, while leaders are killed; semantics §2.4."""

from typing import Any

from enbloc.client.paths import JOBS, POD_GROUPS
from enbloc.model.names import Condition, EventReason, Reason
from tests.e2e import incidents
from tests.e2e.fault_proxy import Fault, evicts, is_binding
from tests.e2e.observer import PodView
from tests.e2e.replicas import Replicas
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("leaders are killed, and their Leases have to end")


async def status_of(world: World, group: str) -> Any:
    """The status of a PodGroup now."""
    found = await world.client.get(POD_GROUPS, group, world.namespace)
    return found["status"]


JOB_UID = "batch.kubernetes.io/controller-uid"


class Run:
    """The pods that one Job has made, also when it is gone.

    Args:
        world: where.
        uid: the Job's.
    """

    def __init__(self, world: World, uid: str) -> None:
        self._world, self._uid = world, uid

    def pods(self) -> list[PodView]:
        """Those that exist."""
        found = self._world.observer.of(self._world.namespace)
        return [pod for pod in found if pod.metadata.labels.get(JOB_UID) == self._uid]

    def names(self) -> list[str]:
        """The names of those that exist, in order."""
        return sorted(pod.metadata.name for pod in self.pods())

    def bound(self) -> list[str]:
        """The names of those that have a node, in order."""
        return sorted(pod.metadata.name for pod in self.pods() if pod.spec.node_name)

    def running(self) -> list[str]:
        """The names of those that are Running, in order."""
        return sorted(pod.metadata.name for pod in self.pods() if pod.status.phase == "Running")

    async def exist(self, count: int) -> None:
        """Wait until so many were made."""
        await self._world.until(lambda: len(self.pods()) == count, f"{count} pods are made")

    async def run(self, count: int) -> None:
        """Wait until so many are Running."""
        await self._world.until(lambda: len(self.running()) == count, f"{count} pods are running")

    async def none_is_bound(self) -> None:
        """Nothing of it gets a node, though it has time to."""
        await self._world.quiet()
        assert self.bound() == []


async def run_of(world: World, job: str, size: int, group: str) -> Run:
    """Create a Job, and wait until it has made its pods."""
    await world.job(job, size, group)
    made = await world.client.get(JOBS, job, world.namespace)
    run = Run(world, made["metadata"]["uid"])
    await run.exist(size)
    return run


async def sit(world: World, node: str, count: int) -> list[str]:
    """Pods that somebody else put on a node, with a CPU each; their names."""
    names = [f"sitting-{index}" for index in range(count)]
    for name in names:
        await world.pod(name, scheduler="somebody-else", node=node)
    return names


async def test_a_rerun_starts_whole_or_not_at_all_while_a_pod_of_the_run_before_is_live(
    world: World,
) -> None:
    """semantics §2.2, §2.4: `kubectl delete job --cascade=orphan`, and the Job applied again."""
    size = 8
    proxy = await incidents.fault_proxy(world)
    world.scheduler.kill()
    replicas = await Replicas(world, kubeconfig=proxy.through).start()
    [node] = await world.nodes(1, cpu=size + 1)
    await world.group("train", size)
    old = await run_of(world, "train", size, "train")
    await world.condition("train", Condition.READY, "True", reason=Reason.RUNNING)
    first = await status_of(world, "train")
    left, *others = old.running()
    for name in others:
        await incidents.ends(world, name, "Succeeded")
    await old.run(1)
    sitting = await sit(world, node, 2)
    await world.orphan_job("train")

    new = await run_of(world, "train", size, "train")  # there is room for six of these eight
    await world.condition(
        "train",
        Condition.SCHEDULED,
        "False",
        reason=Reason.UNSCHEDULABLE,
        message="of earlier runs",
    )
    await world.event("train", EventReason.OVERLAPPING_RUNS)
    await new.none_is_bound()
    await replicas.kill_the_leader()
    await new.none_is_bound()
    await world.delete_pod(sitting[0])  # for seven
    await new.none_is_bound()
    second = await status_of(world, "train")
    assert second["run"] != first["run"]
    assert [each["name"] for each in second["runs"]] == [
        first["run"],
        second["run"],
    ]
    assert "startedTime" not in second
    assert second.get("succeeded", 0) == 0

    stuck = tuple(new.names()[size // 2 :])

    def policy(method: str, path: str) -> Fault:
        cut = is_binding(method, path) and path.split("/")[6] in stuck
        return Fault(sends=0, drop=True) if cut else Fault()

    proxy.policy = policy
    await world.delete_pod(sitting[1])  # for all, and the leader dies in the middle of it
    await world.until(lambda: len(new.bound()) == size // 2, "half of the new run is bound")
    await replicas.kill_the_leader()
    proxy.policy = lambda *_: Fault()
    await new.run(size)
    assert old.running() == [left]
    await world.condition("train", Condition.READY, "True", reason=Reason.RUNNING)
    third = await status_of(world, "train")
    assert third["run"] == second["run"]
    assert third["startedTime"] >= first["startedTime"]

    await incidents.ends(world, left, "Failed")  # which is nothing to the new one
    await world.quiet()
    await world.condition("train", Condition.SCHEDULED, "True")
    assert len(new.running()) == size
    assert proxy.count(evicts) == 0


async def test_the_next_run_of_a_schedule_starts_whole_when_the_one_before_leaves_it_room(
    world: World,
) -> None:
    """semantics §2.4: a CronJob that allows its Jobs to run at the same time."""
    size = 4
    world.scheduler.kill()
    replicas = await Replicas(world).start()
    await world.nodes(1, cpu=size + 2)
    await world.group("nightly", size)
    monday = await run_of(world, "nightly-1", size, "nightly")
    await world.condition("nightly", Condition.READY, "True", reason=Reason.RUNNING)

    tuesday = await run_of(world, "nightly-2", size, "nightly")
    await world.condition(
        "nightly", Condition.SCHEDULED, "False", reason=Reason.UNSCHEDULABLE, message="earlier runs"
    )
    await replicas.kill_the_leader()
    await tuesday.none_is_bound()
    ending = monday.running()
    await incidents.ends(world, ending.pop(), "Succeeded")  # room for three of four
    await tuesday.none_is_bound()
    await incidents.ends(world, ending.pop(), "Succeeded")
    await replicas.kill_the_leader()
    await tuesday.run(size)
    assert monday.running() == ending
    await world.condition("nightly", Condition.READY, "True", reason=Reason.RUNNING)

    for name in [*ending, *tuesday.running()]:
        await incidents.ends(world, name, "Succeeded")
    await world.condition("nightly", Condition.FINISHED, "True", reason=Reason.SUCCEEDED)
    assert (await status_of(world, "nightly"))["succeeded"] == size
