# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Answers to Bindings that come late, twice, wrong or never: no room is given away twice.

semantics §3.4: while it is not known whether a Binding has bound, its room stays taken; and the
same Binding is sent until that is known.
"""

import asyncio
import random

from tests.e2e import incidents
from tests.e2e.fault_proxy import Asked, Fault, Policy, is_binding
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("everything goes wrong at once, and each process takes seconds to recover")

GANGS, SIZE = 24, 8
NODES, CPU = 8, 8
RUN_SECONDS = 1.0
#: Seconds by which what became of a Binding is seen later than it is answered.
LAG = 0.4

#: By name, what may become of one Binding.
FAULTS = {
    "late request": Fault(before=0.3),
    "late answer": Fault(after=0.5),
    "lost before the server": Fault(sends=0, drop=True),
    "lost after the server": Fault(drop=True),
    "sent twice": Fault(sends=2),
    "sent twice, and lost": Fault(sends=2, drop=True),
    "landing after the client has given up": Fault(sends=0, drop=True, late=0.4),
    "504, and bound": Fault(forge=504),
    "504, and not bound": Fault(sends=0, forge=504),
    "500, and bound": Fault(forge=500),
    "429, and bound": Fault(forge=429),
    "401, and bound": Fault(forge=401),
}


def at_random(kinds: list[Fault], rng: random.Random, share: float) -> Policy:
    """So large a share of the Bindings suffers one of these."""

    def policy(method: str, path: str) -> Fault:
        if is_binding(method, path) and rng.random() < share:
            return rng.choice(kinds)
        return Fault()

    return policy


async def crowd(world: World, gangs: int) -> None:
    """More gangs than there is room for, which finish; all of them must run."""
    census = await incidents.census(world)
    await asyncio.gather(
        *(world.gang(f"g{index:02}", SIZE, run_seconds=RUN_SECONDS) for index in range(gangs))
    )
    await world.until(lambda: census.finished() == gangs, "all gangs have run", timeout=100)
    assert census.overcommitted == []


async def test_bindings_that_suffer_everything_double_nothing(world: World) -> None:
    rng = random.Random(7)
    await world.nodes(NODES, cpu=CPU)
    proxy = await incidents.fault_proxy(world)
    proxy.policy = at_random(list(FAULTS.values()), rng, 0.5)
    proxy.lag = LAG
    await crowd(world, GANGS)

    def binding(asked: Asked) -> bool:
        return is_binding(asked.method, asked.path)

    sent, told = proxy.count(binding), proxy.count(lambda one: binding(one) and one.status == 201)
    print(f"{GANGS * SIZE} pods: {sent} Bindings were sent, {told} were told to have bound")
    assert sent > GANGS * SIZE * 5 / 4, "too few faults"


async def test_a_conflict_with_ones_own_binding_does_not_free_its_room(world: World) -> None:
    """The server answers 409 to the second copy, and the watch that shows the first is late."""
    await world.nodes(NODES, cpu=CPU)
    proxy = await incidents.fault_proxy(world)
    proxy.policy = at_random([FAULTS["sent twice"]], random.Random(1), 1.0)
    proxy.lag = LAG
    await crowd(world, GANGS // 2)
    assert proxy.count(lambda one: is_binding(one.method, one.path) and one.status == 409)
