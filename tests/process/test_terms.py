# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A process that loses its Lease stands by, and two never lead at once (virtual time)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from enbloc.client.errors import Unreachable
from enbloc.client.lease import Elector, LeaseTiming, OtherHolder
from enbloc.client.paths import LEASES
from enbloc.client.transport import WRITE_SECONDS
from enbloc.errors import ConfigError
from enbloc.process.options import Options
from enbloc.process.terms import run_terms
from tests.client.memory import MemoryClient, Store

TIMING = LeaseTiming()


class Process:
    """A shell whose terms do nothing but lead.

    Attributes:
        led: from when to when each term led.
        electors: of each term.
    """

    def __init__(self, store: Store, name: str) -> None:
        self.client = MemoryClient(store)
        self.stop = asyncio.Event()
        self.led: list[list[float]] = []
        self.electors: list[Elector] = []
        options = Options(identity=name, stop=self.stop)
        self.task = asyncio.create_task(run_terms(options, self._term))

    async def _term(self, options: Options) -> int:
        loop = asyncio.get_running_loop()
        assert options.identity is not None
        elector = Elector(
            self.client,
            namespace="ns",
            name="l",
            identity=options.identity,
            clock=loop.time,
        )
        elector.other = options.other_holders.setdefault(("ns", "l"), OtherHolder())
        self.electors.append(elector)

        async def lead() -> None:
            began = [loop.time()]
            self.led.append(began)
            try:
                await asyncio.sleep(1e9)
            finally:
                began.append(loop.time())

        leading = asyncio.create_task(elector.run(lead))
        stopping = asyncio.create_task(self.stop.wait())
        await asyncio.wait({leading, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if leading.done():
            leading.result()
        leading.cancel()
        await asyncio.wait({leading})
        return 0

    def leads(self) -> bool:
        return bool(self.electors) and self.electors[-1].holds()

    async def end(self) -> int:
        self.stop.set()
        return await self.task


def now() -> float:
    return asyncio.get_running_loop().time()


async def until(holds: Callable[[], bool], seconds: float = 120.0) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110  # nothing tells of it
            await asyncio.sleep(0.01)


def unreachable(_: str) -> None:
    raise Unreachable("update", "leases", "connection refused", sent=False)


def lease(store: Store) -> Any:
    return store.objects["leases", "l"]["spec"]


async def test_a_leader_leads_again_soon_after_an_outage_that_cost_its_lease() -> None:
    """The Lease is still its own: there is nobody to wait for."""
    store = Store()
    one, two = Process(store, "one"), Process(store, "two")
    await until(one.leads)
    for process in (one, two):
        process.client.before = unreachable
    await asyncio.sleep(20)
    assert not one.leads()
    assert one.led[0][1] - one.led[0][0] <= TIMING.renew_deadline + 2.5
    for process in (one, two):
        process.client.before = lambda _: None
    returned = now()
    await until(one.leads)
    assert now() - returned <= 1.2 * TIMING.retry
    await asyncio.sleep(120)
    assert one.leads()
    assert two.led == []
    assert [await each.end() for each in (two, one)] == [0, 0]


async def test_what_a_lost_term_sent_has_landed_before_the_next_one_reads() -> None:
    store = Store()
    one = Process(store, "one")
    await until(one.leads)
    one.client.before = unreachable
    await until(lambda: not one.leads())
    lost = now()
    one.client.before = lambda _: None
    await until(lambda: len(one.electors) == 2)
    assert now() - lost >= WRITE_SECONDS
    await until(one.leads)
    assert await one.end() == 0


async def test_the_fence_of_a_lost_term_stays_closed_in_the_next() -> None:
    store = Store()
    one = Process(store, "one")
    await until(one.leads)
    one.client.before = unreachable
    await until(lambda: not one.leads())
    one.client.before = lambda _: None
    await until(one.leads)
    first, second = one.electors
    assert second.holds()
    assert not first.holds()
    assert await one.end() == 0


async def test_the_fence_closes_when_another_is_seen_to_hold_the_lease() -> None:
    """And not only at the deadline of the last renewal, which went well."""
    store = Store()
    one = Process(store, "one")
    await until(one.leads)
    stands = store.objects["leases", "l"]
    thief = {**stands, "spec": {**stands["spec"], "holderIdentity": "thief"}}
    store.apply("update", LEASES, "l", "ns", thief)
    [first] = one.electors
    await until(lambda: len(one.led[0]) == 2)
    assert not first.holds()
    assert await one.end() == 0


@pytest.mark.parametrize("restored", [False, True])
async def test_who_else_held_the_lease_in_one_term_is_known_in_the_next(*, restored: bool) -> None:
    """Semantics §6.3: it leads until it notices that the Lease was deleted, or names us again."""
    store = Store()
    one = Process(store, "one")
    await until(one.leads)
    held = store.objects["leases", "l"]
    thief = {**held, "spec": {**held["spec"], "holderIdentity": "thief"}}
    store.apply("update", LEASES, "l", "ns", thief)
    await until(lambda: len(one.led[0]) == 2)
    if restored:
        store.objects["leases", "l"] = held
    else:
        store.objects.clear()
    changed = now()
    await until(lambda: len(one.led) == 2)
    assert now() - changed >= TIMING.duration
    assert not one.electors[-1].unbroken, "it may have written meanwhile"
    assert await one.end() == 0


async def test_a_leader_that_was_away_stands_by_for_the_one_that_took_its_lease() -> None:
    store = Store()
    one, two = Process(store, "one"), Process(store, "two")
    await until(one.leads)
    one.client.before = unreachable
    await until(two.leads)
    assert two.led[0][0] - one.led[0][1] >= TIMING.duration - TIMING.renew_deadline
    one.client.before = lambda _: None
    await asyncio.sleep(60)
    assert two.leads()
    assert not one.leads()
    assert not one.task.done()
    assert lease(store)["leaseTransitions"] == 1
    assert await two.end() == 0
    await until(one.leads)
    assert await one.end() == 0


@pytest.mark.parametrize("seed", range(4))
async def test_of_processes_that_are_cut_off_again_and_again_never_two_lead(seed: int) -> None:
    store = Store()
    processes = [Process(store, name) for name in ("one", "two", "three")]
    for turn in range(40):
        for index, process in enumerate(processes):
            away = (turn * 7 + index * 3 + seed) % 5 < 2
            process.client.before = unreachable if away else lambda _: None
            process.client.latency = (turn + index + seed) % 4
        for _ in range(60):
            await asyncio.sleep(0.1 * ((turn + seed) % 5 + 1))
            assert sum(each.holds() for one in processes for each in one.electors) <= 1
    for process in processes:
        process.client.before, process.client.latency = lambda _: None, 0.0
    await until(lambda: any(process.leads() for process in processes))
    assert sum(len(process.led) for process in processes) > 3
    assert [await process.end() for process in processes] == [0, 0, 0]


async def test_a_stop_between_two_terms_ends_the_process() -> None:
    one = Process(Store(), "one")
    await until(one.leads)
    one.client.before = unreachable
    await until(lambda: len(one.led[0]) == 2)
    await asyncio.sleep(1)
    began = now()
    assert await one.end() == 0
    assert now() - began < WRITE_SECONDS


async def test_an_error_that_no_new_term_mends_ends_the_process() -> None:
    async def term(_: Options) -> int:
        raise ConfigError("wrong")

    with pytest.raises(ConfigError, match="wrong"):
        await run_terms(Options(), term)


async def test_each_process_has_a_name_of_its_own_for_all_its_terms() -> None:
    named: list[str | None] = []

    async def term(options: Options) -> int:
        named.append(options.identity)
        return 0

    for _ in range(2):
        assert await run_terms(Options(), term) == 0
    assert None not in named
    assert len(set(named)) == 2
