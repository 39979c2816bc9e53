# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Two gangs want the same devices and volumes while plans are withdrawn and writes come late."""

import asyncio
import os
import random
from contextlib import suppress
from typing import Final

import pytest

from enbloc.client.client import PatchType
from enbloc.client.errors import NotFound
from enbloc.client.paths import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, POD_GROUPS
from tests.e2e import incidents
from tests.e2e.claims import Claims, from_template, mounted
from tests.e2e.fault_proxy import Fault
from tests.e2e.world import World
from tests.effort import slow

pytestmark = slow("processes are started for each test, and each round waits for late writes")

#: How often two gangs contend; `ENBLOC_ROUNDS=200` tries more, so many of them in one test.
ROUNDS: Final = int(os.environ.get("ENBLOC_ROUNDS", "3"))
_OF_ONE: Final = 20
SIZE: Final = 4
#: By how much a write of a claim, or of a volume, comes late (seconds).
LATE: Final = (0.05, 0.4)


def prepares(method: str, path: str) -> bool:
    """Whether a request writes a claim or a volume."""
    of_claims = "/resourceclaims/" in path or "/persistentvolume" in path
    return method in ("PATCH", "PUT") and of_claims


class Contest:
    """Rounds of two gangs, each member of which wants a device and a local volume."""

    def __init__(self, world: World, claims: Claims, storage_class: str, nodes: list[str]) -> None:
        self.world, self.claims = world, claims
        self.storage_class, self.nodes = storage_class, nodes
        self.rng = random.Random(nodes[0])
        self.withdrawn = 0

    async def round(self, number: int) -> None:
        """One of two gangs gets all there is, then the other; nothing is left over."""
        gangs = (f"g{number}", f"h{number}")
        volumes = await self._volumes(f"v{number}")
        await asyncio.gather(*map(self._gang, gangs))
        await self._edit(gangs[number % 2])
        first = await self.world.either_bound(dict.fromkeys(gangs, SIZE))
        [other] = set(gangs) - {first}
        await self.world.until(lambda: self.claims.met(first) == SIZE, f"{first} has its devices")
        assert self.world.observer.bound(self.world.namespace, other) == {}
        await self._end(first)
        volumes += await self._volumes(f"w{number}")  # nobody wipes the others
        await self.world.bound(other, SIZE)
        await self._end(other)
        await self.world.until(lambda: not self.claims.devices(), "every device is free again")
        await asyncio.gather(*map(self._delete_volume, volumes))

    async def _volumes(self, name: str) -> list[str]:
        """A volume for each member of a gang."""
        nodes = [self.nodes[at % len(self.nodes)] for at in range(SIZE)]
        made = (
            self.claims.volume(f"{name}-{at}", self.storage_class, node)
            for at, node in enumerate(nodes)
        )
        return await asyncio.gather(*made)

    async def _gang(self, gang: str) -> None:
        world = self.world
        names = [f"{gang}-{at}" for at in range(SIZE)]
        await asyncio.gather(*(self.claims.claim(name, self.storage_class) for name in names))
        await world.group(gang, SIZE)
        for name in names:
            await world.pod(
                name, gang, volumes=mounted(name), resourceClaims=from_template(), cpu=1
            )

    async def _edit(self, gang: str) -> None:
        """Withdraw the plan of a gang, if it has one, again and again."""
        for edit in range(6):
            await asyncio.sleep(self.rng.uniform(0.02, 0.4))
            body = {"spec": {"minMember": SIZE - 1 + edit % 2}}
            await self.world.client.patch(
                POD_GROUPS, gang, body, self.world.namespace, kind=PatchType.MERGE
            )

    async def _end(self, gang: str) -> None:
        """Its pods end, and their claims go."""
        world = self.world
        for at in range(SIZE):
            await world.delete_pod(f"{gang}-{at}")
        await world.delete_group(gang)
        for at in range(SIZE):
            await world.client.delete(PERSISTENT_VOLUME_CLAIMS, f"{gang}-{at}", world.namespace)

    async def _delete_volume(self, name: str) -> None:
        with suppress(NotFound):
            await self.world.client.delete(PERSISTENT_VOLUMES, name)
            free = {"metadata": {"finalizers": None}}
            await self.world.client.patch(PERSISTENT_VOLUMES, name, free, kind=PatchType.MERGE)


@pytest.mark.parametrize("first", range(0, ROUNDS, _OF_ONE))
async def test_two_gangs_contend_while_the_minimum_of_one_is_edited_and_writes_are_late(
    world: World, claims: Claims, first: int
) -> None:
    """Nothing is given twice at any time, nothing leaks, and both gangs run in turn."""
    nodes = await world.nodes(2, cpu=32)
    await claims.offer(nodes, SIZE // 2)
    await claims.template()
    proxy = await incidents.fault_proxy(world)
    rng = random.Random(first)
    proxy.policy = lambda method, path: Fault(
        before=rng.uniform(*LATE) if prepares(method, path) else 0.0
    )
    contest = Contest(world, claims, await claims.local_class(), nodes)
    for number in range(first, min(ROUNDS, first + _OF_ONE)):
        await contest.round(number)
        assert claims.problems == []
