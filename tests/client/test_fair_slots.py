# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who gets a slot, and when; in virtual time."""

import asyncio

import pytest

from enbloc.client.fair_slots import FairSlots


class Work:
    """Holds slots for a second each, and notes who got one."""

    def __init__(self, count: int) -> None:
        self.slots = FairSlots(count)
        self.held: list[str] = []
        self.now = self.most = 0

    async def once(self, party: str) -> None:
        async with self.slots.slot(party):
            self.held.append(party)
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(1)
            self.now -= 1


async def test_a_party_that_waits_with_many_keeps_no_other_waiting_for_all_of_them() -> None:
    work = Work(2)
    many = [asyncio.create_task(work.once("many")) for _ in range(20)]
    await asyncio.sleep(0.5)
    others = [asyncio.create_task(work.once(party)) for party in ("a", "a", "b")]
    await asyncio.gather(*many, *others)
    assert work.held[:8] == ["many", "many", "many", "a", "b", "many", "a", "many"]
    assert work.held.count("many") == 20
    assert work.most == 2


async def test_no_slot_is_lost_with_who_is_cancelled_before_or_as_it_gets_one() -> None:
    work = Work(1)
    async with work.slots.slot("a"):
        before, then = (asyncio.create_task(work.once(party)) for party in "bc")
        await asyncio.sleep(0.5)
        before.cancel()
    then.cancel()
    await asyncio.gather(before, then, return_exceptions=True)
    async with asyncio.timeout(3):
        await work.once("d")
    assert work.held == ["d"]


async def test_a_slot_that_nobody_waits_for_is_kept() -> None:
    work = Work(2)
    for _ in range(3):
        await asyncio.gather(work.once("a"), work.once("a"))
    assert asyncio.get_running_loop().time() == pytest.approx(3)
