# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""More gangs than room, drivers that need room later, and two schedulers where one should be."""

import asyncio
import random
from collections import Counter

from tests.e2e import incidents
from tests.e2e.fault_proxy import is_binding
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("many gangs run one after the other")

SIZE = 8


async def test_gangs_that_contend_all_run_and_none_waits_in_part(world: World) -> None:
    """The small version of benchmarks/deadlock.py."""
    rng = random.Random(25)
    gangs = 40 if world.target.complete else 15
    await world.nodes(20, cpu=2)
    census = await incidents.census(world)
    await asyncio.gather(
        *(
            world.gang(f"g{index:02}", SIZE, run_seconds=rng.uniform(0.5, 1.5))
            for index in range(gangs)
        )
    )
    await world.until(lambda: census.finished() == gangs, "all gangs have run", timeout=100)
    print(f"the longest burst of {len(census.bursts)} took {census.burst():.3f} s")
    assert census.overcommitted == []
    # Each gang was in part once: from its first Binding to its last.
    assert len(census.bursts) == gangs


# ── two schedulers ───────────────────────────────────────────────────────────────────────────


async def test_two_schedulers_by_mistake_leave_no_gang_in_part(world: World) -> None:
    """Every node has room for all, so what they get in each other's way with are the Bindings."""
    gangs = 20
    await world.nodes(4, cpu=gangs * SIZE)
    census = await incidents.census(world)
    proxy = await incidents.fault_proxy(world)
    first = world.scheduler
    second = await world.start_scheduler(kubeconfig=proxy.through)
    await world.until(
        lambda: all("Started scheduling" in each.text() for each in (first, second)),
        "both schedule",
    )
    await asyncio.gather(*(world.gang(f"g{index:02}", SIZE) for index in range(gangs)))
    await world.until(lambda: census.whole() == gangs, "all gangs are whole")
    await asyncio.gather(
        *(world.condition(f"g{index:02}", "Scheduled", "True") for index in range(gangs))
    )
    assert census.binds == gangs * SIZE
    conflicts = proxy.count(lambda one: is_binding(one.method, one.path) and one.status == 409)
    print(f"{gangs * SIZE} pods, {conflicts} conflicts")
    assert conflicts, "they never met"


# ── drivers ──────────────────────────────────────────────────────────────────────────────────


class Spark:
    """Applications whose drivers create their executors once they run, and end after them."""

    def __init__(self, world: World, executors: int) -> None:
        self._world = world
        self._executors = executors
        self._known: set[str] = set()
        #: The most CPUs that applications whose driver was bound had or had yet to get.
        self.most = 0

    async def run(self) -> None:
        """Do what the drivers do, until cancelled."""
        observer = self._world.observer
        while True:
            async with observer.changed:
                await observer.changed.wait()
            pods = observer.of(self._world.namespace)
            drivers = [pod for pod in pods if pod.metadata.name.endswith("driver")]
            ended = Counter(pod.group for pod in pods if pod.status.phase == "Succeeded")
            started = [pod.group for pod in drivers if pod.takes_room]
            self.most = max(self.most, sum(1 + self._executors - ended[app] for app in started))
            for driver in drivers:
                if driver.status.phase == "Running":
                    await self._drive(driver.metadata.name, driver.group, ended[driver.group])

    async def _drive(self, driver: str, app: str, ended: int) -> None:
        if app not in self._known:
            self._known.add(app)
            for index in range(self._executors):
                await self._world.pod(f"{app}-exec-{index}", app, run_seconds=1)
        if ended == self._executors:
            await incidents.ends(self._world, driver, "Succeeded")


async def test_drivers_that_need_room_later_never_start_more_than_can_run(world: World) -> None:
    """Semantics §5.1: minResources is held; else five drivers start and none gets executors."""
    apps, executors, at_a_time = 6, 4, 2
    await world.nodes(5, cpu=at_a_time)
    spark = Spark(world, executors)
    world.keep("drivers", spark.run())
    for index in range(apps):
        await world.group(f"app{index}", 1, minResources={"cpu": str(executors + 1)})
    for index in range(apps):
        await world.pod(f"app{index}-driver", f"app{index}")

    def finished() -> bool:
        pods = world.observer.of(world.namespace)
        return sum(pod.status.phase == "Succeeded" for pod in pods) == apps * (executors + 1)

    await world.until(finished, "all applications have run", timeout=60)
    assert spark.most == at_a_time * (executors + 1)
