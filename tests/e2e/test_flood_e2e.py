# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A flood of pods that fail again and again, and a gang with room that must not wait for its end.

The small version of benchmarks/flood_served.py.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from enbloc.client.client import PatchType
from enbloc.client.errors import AlreadyExists
from enbloc.client.paths import PODS, PRIORITY_CLASSES
from tests.e2e.world import World

SIZE: Final = 8
OUTRANKS: Final = {"metadata": {"name": "e2e-outranks"}, "value": 1000}


def near(app: str) -> Mapping[str, Any]:
    """An affinity to pods that do not exist."""
    selector = {"matchLabels": {"app": app}}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


async def flipped(world: World, names: list[str]) -> None:
    """One label of each of these pods has another value in every round; for ever."""
    number = 0
    while True:
        number += 1
        patch = {"metadata": {"labels": {"round": str(number % 2)}}}
        for batch in batched(names):
            await asyncio.gather(
                *(
                    world.client.patch(PODS, name, patch, world.namespace, kind=PatchType.MERGE)
                    for name in batch
                )
            )
        await asyncio.sleep(0.1)


def batched(names: list[str]) -> Iterator[list[str]]:
    """These names, 32 at a time."""
    for at in range(0, len(names), 32):
        yield names[at : at + 32]


async def test_a_gang_with_room_is_bound_while_a_flood_fails_in_its_namespace(world: World) -> None:
    """Semantics §9.7: older pods without a group, and gangs that outrank it, fail without end."""
    await world.nodes(4, cpu=16)
    with suppress(AlreadyExists):
        await world.client.create(PRIORITY_CLASSES, OUTRANKS)
    lone = [f"lone-{number}" for number in range(400)]
    outranking = [f"high{number}" for number in range(20)]
    for name in outranking:
        await world.gang(name, 2, affinity=near(name), priority_class="e2e-outranks")
    for batch in batched(lone):
        await asyncio.gather(*(world.pod(name, affinity=near(name)) for name in batch))
    world.keep("flood", flipped(world, [*lone, *(f"{name}-0" for name in outranking)]))

    def failures() -> int:
        return world.scheduler.text().count("does not fit")

    async def more_failures(than: int) -> None:
        await world.until(lambda: failures() > than, "the flood fails on")

    await more_failures(400)
    for number in range(3):
        name = f"late{number}"
        await world.gang(name, SIZE)
        began = time.monotonic()
        await world.bound(name, SIZE)
        print(f"{name} was bound in {time.monotonic() - began:.2f} s, {failures()} failures so far")
    await more_failures(failures() + 100)
