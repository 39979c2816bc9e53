# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Statuses that somebody else changes after they were written."""

import asyncio

import msgspec
import pytest
from msgspec import structs

from enbloc.client.group_status import SETTLED
from enbloc.live.group_status import GroupObject
from enbloc.live.statuses import MOST_REPEATED, GroupStatuses
from enbloc.telemetry import ActiveProblems
from tests.client.memory import MemoryClient
from tests.live.test_statuses import EFFECT, GROUP, MANAGER, status_of, store_with_group


@pytest.fixture
def problems() -> ActiveProblems:
    return ActiveProblems()


def shown(client: MemoryClient, **metadata: str) -> GroupObject:
    """The PodGroup as the watch shows it."""
    found = client.store.objects["podgroups", "g"]
    found["metadata"] |= metadata
    return msgspec.convert(found, GroupObject)


@pytest.mark.parametrize("version", ["7", "1"], ids=["somebody else", "restored from a backup"])
async def test_a_status_that_somebody_else_changed_is_written_again(
    version: str, problems: ActiveProblems
) -> None:
    """Semantics §7.5: a state that lasts is written, though the verdict stays as it is."""
    client = MemoryClient(store_with_group())
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    statuses.seen(shown(client))
    for attempts in (1, 2):
        statuses.writer.put(GROUP, structs.replace(EFFECT, attempts=attempts))
        await statuses.writer.settled()
        statuses.seen(shown(client))
        await statuses.writer.settled()
    assert len(client.sent) == 2, "its own echo"
    right = status_of(client.store, "podgroups", "g")
    client.store.objects["podgroups", "g"]["status"] = {**right, "attempts": 1, "run": "other"}
    statuses.seen(shown(client, resourceVersion=version))
    await statuses.writer.settled()
    assert status_of(client.store, "podgroups", "g") == right
    statuses.seen(shown(client))
    await statuses.writer.settled()
    assert len(client.sent) == 3


async def test_two_who_insist_on_a_status_do_not_write_it_for_ever(
    problems: ActiveProblems,
) -> None:
    """Semantics §7.5: at most ten times, until it changes by itself."""
    client = MemoryClient(store_with_group())
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    version = 100

    async def insist() -> None:
        nonlocal version
        for _ in range(20):
            await statuses.writer.settled()
            client.store.objects["podgroups", "g"]["status"] = {"attempts": 9}
            version += 100
            statuses.seen(shown(client, resourceVersion=str(version)))
        await statuses.writer.settled()

    statuses.writer.put(GROUP, EFFECT)
    await insist()
    assert len(client.sent) == 1 + MOST_REPEATED
    statuses.writer.put(GROUP, structs.replace(EFFECT, attempts=2))
    await insist()
    assert len(client.sent) == 2 + 2 * MOST_REPEATED


async def test_what_somebody_else_changed_does_not_take_the_place_of_a_newer_status(
    problems: ActiveProblems,
) -> None:
    client = MemoryClient(store_with_group())
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    statuses.writer.put(GROUP, EFFECT)
    await statuses.writer.settled()
    client.latency = 1.0
    statuses.writer.put(GROUP, structs.replace(EFFECT, attempts=2))
    await asyncio.sleep(SETTLED + 0.1)
    for version in ("7", "8"):  # before the write, and while it is under way
        client.store.objects["podgroups", "g"]["status"] = {"attempts": 9}
        statuses.seen(shown(client, resourceVersion=version))
        await asyncio.sleep(0.8)
    await statuses.writer.settled()
    assert status_of(client.store, "podgroups", "g")["attempts"] == 2


async def test_a_status_that_the_server_alters_is_not_written_for_ever(
    problems: ActiveProblems,
) -> None:
    """An admission webhook may change it, and an older schema drops fields."""
    client = MemoryClient(store_with_group())
    client.after = lambda _: client.store.objects["podgroups", "g"]["status"].update(attempts=9)
    statuses = GroupStatuses(client, lambda: 0.0, problems, MANAGER)
    statuses.writer.put(GROUP, EFFECT)
    for _ in range(5):
        await statuses.writer.settled()
        statuses.seen(shown(client))
    assert len(client.sent) == 1
