# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The Lease is renewed by a thread of its own, however busy the loop is that does the work."""

import asyncio
import math
import threading
import time
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from enbloc.client.client import Client
from enbloc.client.errors import Fenced, ServerError
from enbloc.client.lease import LeaseLost, LeaseTiming
from enbloc.client.paths import LEASES, PODS
from enbloc.errors import ConfigError
from enbloc.process.election import Election, candidate
from enbloc.process.options import Options
from tests.client.fake import answer, refusal, talking_to
from tests.client.memory import MemoryClient, Store
from tests.patience import PATIENCE
from tests.world.virtual_time import time_source

#: A Lease of a second.
TIMING = LeaseTiming(duration=1.0, renew_deadline=0.7, retry=0.1)


class Shared(MemoryClient):
    """A client whose copies for other threads talk to the same store, and fail as it does."""

    def again(self) -> Client:
        made = Shared(self.store, clock=self.clock)

        def as_the_first(verb: str) -> None:
            self.before(verb)

        made.before = as_the_first
        return made


def election(store: Store, **of: Any) -> tuple[Election, Shared]:
    client = Shared(store, clock=time_source())
    made = Election(client, namespace="ns", name="enbloc-scheduler", timing=TIMING, **of)
    return made, client


@pytest.mark.parametrize(
    ("timing", "limit"),
    [
        pytest.param(LeaseTiming(), "5s", id="default"),
        pytest.param(LeaseTiming(10.0, 7.0, 1.0), "3s", id="short"),
        pytest.param(LeaseTiming(3.0, 2.5, 0.5), "0.5s", id="close"),
        pytest.param(LeaseTiming(60.0, 40.0, 5.0), "5s", id="long"),
    ],
)
async def test_what_a_leader_writes_lands_before_another_may_lead(
    timing: LeaseTiming, limit: str
) -> None:
    """Semantics §6.3: a write ends within leaseDuration - renewDeadline, on the server as well."""
    limits: list[str] = []

    async def server(request: web.BaseRequest) -> web.Response:
        if "/leases" not in request.path:
            limits.append(request.query["timeout"])
            return answer({})
        if request.method == "GET":
            return refusal(404, "NotFound", name="l", kind="leases")
        written = await request.json()
        written["metadata"]["resourceVersion"] = "1"
        return answer(written)

    async with talking_to(server, clock=time_source()) as client:
        made = Election(client, namespace="ns", name="l", timing=timing)

        async def work() -> None:
            await made.writer.create(PODS, {}, "default")

        await made.run(work)
    assert limits == [limit]


async def test_a_leader_that_may_write_no_more_waits_for_what_it_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Semantics §6.3: its renewals fail when it stops."""
    made, _ = election(Store())
    leads = True
    monkeypatch.setattr(made._elector, "holds", lambda: leads)
    now = asyncio.get_running_loop().time
    with made.writer.writing("create", "pods") as sending:
        sending()
        leads, began = False, now()
        await made.landed()
    assert now() - began >= TIMING.write_seconds - 0.1


async def test_at_its_end_a_leader_sends_no_more_and_waits_for_what_it_sent() -> None:
    """Semantics §6.3."""
    made, _ = election(Store())

    async def work() -> None:
        now = asyncio.get_running_loop().time
        with made.writer.writing("create", "pods") as sending:
            sending()
            await asyncio.sleep(0.1)
            ending = asyncio.create_task(made.landed())
            await asyncio.sleep(0.1)
            began = now()
            with pytest.raises(Fenced):
                made.writer.check_fence("create", "pods")
            await ending
            limit = TIMING.write_seconds - 0.2
            assert limit - 0.1 <= now() - began <= limit + 0.1

    async with asyncio.timeout(PATIENCE):
        await made.run(work)


def lease(store: Store) -> Any:
    return store.objects["leases", "enbloc-scheduler"]["spec"]


async def begun(event: asyncio.Event) -> None:
    async with asyncio.timeout(PATIENCE):
        await event.wait()


@pytest.mark.real_time("the loop is held up while the thread of the Lease goes on")
async def test_work_that_blocks_its_loop_for_longer_than_the_lease_keeps_it() -> None:
    store = Store()
    one, _ = election(store)
    two, _ = election(store)
    standby: list[asyncio.Task[None]] = []

    async def nothing() -> None:
        pass

    async def work() -> None:
        standby.append(asyncio.create_task(two.run(nothing)))
        await asyncio.sleep(0.2)
        holder = lease(store)["holderIdentity"]
        time.sleep(3.0)  # noqa: ASYNC251, TID251  # what a plugin may do
        assert one.holds()
        assert one.healthy()
        assert lease(store)["holderIdentity"] == holder
        assert lease(store)["leaseTransitions"] == 0

    async with asyncio.timeout(PATIENCE):
        await one.run(work)
    async with asyncio.timeout(PATIENCE):
        await standby[0]
    assert (one.epoch, two.epoch) == (0, 1)
    assert not one.holds()


async def test_work_runs_in_the_loop_of_its_caller_and_its_error_comes_back() -> None:
    one, _ = election(Store())

    async def work() -> None:
        assert threading.current_thread() is threading.main_thread()
        raise KeyError("work")

    with pytest.raises(KeyError, match="work"):
        async with asyncio.timeout(PATIENCE):
            await one.run(work)


async def test_a_lease_that_another_took_cancels_the_work() -> None:
    store = Store()
    one, _ = election(store)
    working, stopped = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        working.set()
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            stopped.set()

    task = asyncio.create_task(one.run(work))
    await begun(working)
    body = store.objects["leases", "enbloc-scheduler"]
    body["spec"]["holderIdentity"] = "another"
    store.apply("update", LEASES, "enbloc-scheduler", "ns", body)
    with pytest.raises(LeaseLost, match="another holds it"):
        async with asyncio.timeout(PATIENCE):
            await task
    assert stopped.is_set()


async def test_cancelling_ends_the_work_and_gives_the_lease_back() -> None:
    store = Store()
    one, _ = election(store)
    working = asyncio.Event()

    async def work() -> None:
        working.set()
        try:
            await asyncio.sleep(PATIENCE)
        finally:
            await asyncio.sleep(1.5)  # a graceful stop may take longer than the Lease lasts
            assert one.holds()

    task = asyncio.create_task(one.run(work))
    await begun(working)
    task.cancel()
    await asyncio.wait({task}, timeout=PATIENCE)
    assert task.cancelled()
    assert lease(store)["holderIdentity"] == ""


async def test_the_callers_loop_goes_on_while_the_thread_of_the_lease_cannot_end() -> None:
    """As where a DNS server does not answer: a thread of its own waits for that."""
    store, answers = Store(), threading.Event()
    one, client = election(store)
    working = asyncio.Event()

    def asks(_: str) -> None:
        asyncio.get_running_loop().run_in_executor(None, answers.wait)

    async def work() -> None:
        working.set()
        await asyncio.sleep(PATIENCE)

    client.before = asks
    task = asyncio.create_task(one.run(work))
    await begun(working)
    task.cancel()
    await asyncio.wait({task}, timeout=0.5)
    assert not task.done()
    answers.set()
    await asyncio.wait({task}, timeout=PATIENCE)
    assert task.cancelled()


async def test_cancelling_a_standby_ends_it() -> None:
    store = Store()
    one, _ = election(store)
    two, _ = election(store)
    working = asyncio.Event()

    async def work() -> None:
        working.set()
        await asyncio.sleep(PATIENCE)

    async def never() -> None:
        raise AssertionError("it leads")

    leading = asyncio.create_task(one.run(work))
    await begun(working)
    waiting = asyncio.create_task(two.run(never))
    await asyncio.sleep(0.3)
    for task in (waiting, leading):
        task.cancel()
        await asyncio.wait({task}, timeout=PATIENCE)
        assert task.cancelled()


async def test_it_tells_when_the_first_try_is_over_and_since_when_the_lease_is_ours() -> None:
    store = Store()
    one, _ = election(store)
    two, _ = election(store)
    clock = time_source().local
    began = clock()

    async def work() -> None:
        assert one.tried.is_set()
        assert began <= one.since <= clock()
        standby = asyncio.create_task(two.run(work))
        await begun(two.tried)
        assert two.since == math.inf
        standby.cancel()
        await asyncio.wait({standby})

    assert not one.tried.is_set()
    async with asyncio.timeout(PATIENCE):
        await one.run(work)


async def test_problems_are_reported_in_the_loop_of_the_caller() -> None:
    told: list[tuple[str | None, bool]] = []

    def report(problem: str | None) -> None:
        told.append((problem, threading.current_thread() is threading.main_thread()))

    one, client = election(Store(), report=report)

    def fails(_: str) -> None:
        raise ServerError("get", "leases", "no quorum")

    client.before = fails
    working = asyncio.Event()

    async def work() -> None:
        working.set()

    task = asyncio.create_task(one.run(work))
    await asyncio.sleep(0.3)
    client.before = lambda _: None
    async with asyncio.timeout(PATIENCE):
        await task
    assert [(problem is None, here) for problem, here in told] == [(False, True), (True, True)]


async def test_a_namespace_that_does_not_exist_is_an_error_with_the_fix() -> None:
    one, _ = election(Store(namespaces=set()))

    async def work() -> None:
        raise AssertionError("it leads")

    with pytest.raises(ConfigError, match="--lease-namespace"):
        async with asyncio.timeout(PATIENCE):
            await one.run(work)


@pytest.mark.parametrize(
    ("options", "namespace"),
    [
        pytest.param(Options(), "default", id="in the namespace of the context"),
        pytest.param(Options(lease_namespace="ns"), "ns", id="or where the flag says"),
        pytest.param(Options(leader_elect=False), None, id="or nowhere"),
    ],
)
async def test_a_process_is_the_candidate_that_its_options_ask_for(
    options: Options, namespace: str | None
) -> None:
    problems: list[str | None] = []
    elector = candidate(Shared(Store()), options, "l", problems.append)
    assert (elector.namespace if elector else None) == namespace


async def test_candidates_of_one_process_for_one_lease_know_the_same_other_holder() -> None:
    """Semantics §6.3: a term that was lost is followed by another."""
    options = Options(lease_namespace="ns")
    first, second, other = (
        candidate(Shared(Store()), replace(options, identity="me"), name, lambda _: None)
        for name in ("l", "l", "of-the-controller")
    )
    assert first is not None
    assert second is not None
    assert other is not None
    assert first._elector.other is second._elector.other
    assert first._elector.other is not other._elector.other
