# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Killed again and again in the middle of its bursts, the scheduler leaves no gang in part.

semantics §2.1: what a killed process has bound of a gang is held, and the next one places the rest.
"""

import asyncio
import itertools
import random

from tests.e2e import incidents
from tests.e2e.census import Census
from tests.e2e.fault_proxy import Fault, FaultProxy, is_binding
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("processes are killed over and over, and each takes seconds to start")

#: How often the scheduler is killed: on a real API server, and on the sandbox.
KILLS, KILLS_ON_SANDBOX = 50, 6
NODES, CPU = 10, 8
#: Gangs that wait or run at any time: more than there is room for.
CROWD = 12
RUN_SECONDS = 1.5
#: Seconds by which Bindings are held at random, so that a burst lasts.
SLOW = 0.1


async def arrivals(world: World, census: Census, rng: random.Random, last: asyncio.Event) -> None:
    """Gangs arrive as others finish, until told that this one is the last."""
    for number in itertools.count():
        await world.gang(f"g{number:03}", rng.randint(4, 24), run_seconds=RUN_SECONDS)
        while number - census.finished() >= CROWD and not last.is_set():
            async with census.changed:
                await census.changed.wait()
        if last.is_set():
            return


async def killed(world: World, census: Census, proxy: FaultProxy, binds: int) -> None:
    """Kill the scheduler when it has bound so many pods, and start the next one."""
    wanted = census.binds + binds
    await world.until(lambda: census.binds >= wanted, f"{binds} more pods are bound")
    await world.start_scheduler(kubeconfig=proxy.through, restart=True)


async def test_a_scheduler_killed_over_and_over_leaves_no_gang_in_part(world: World) -> None:
    rng = random.Random(5)
    await world.nodes(NODES, cpu=CPU)
    census = await incidents.census(world)
    proxy = await incidents.fault_proxy(world)
    proxy.policy = lambda method, path: Fault(
        before=rng.uniform(0, SLOW) if is_binding(method, path) else 0
    )
    last = asyncio.Event()
    arriving = asyncio.create_task(arrivals(world, census, rng, last))
    cut: list[int] = []
    kills = KILLS if world.target.complete else KILLS_ON_SANDBOX
    for _ in range(kills):
        await killed(world, census, proxy, rng.randint(1, 40))
        cut.append(len(census.in_part()))
    last.set()
    await arriving
    gangs = len(world._minimums)
    await world.until(lambda: census.whole() == gangs, f"{gangs} gangs are whole", timeout=90)
    print(f"{kills} kills, {gangs} gangs, {census.binds} Bindings, in part after each kill: {cut}")
    assert sum(map(bool, cut)) > kills / 4, f"too few kills were in mid-burst: {cut}"
    assert census.overcommitted == []
