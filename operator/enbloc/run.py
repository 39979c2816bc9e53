# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Scheduler and controller in one process, for development and small clusters.

The controller has a thread and an event loop of its own (`process/embedding.py`). Pods are read
once, for both, so the two share their terms of leadership: when one loses its Lease, what it
decided by may be outdated, and both start again.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from enbloc import controller, live
from enbloc.client.items import Item
from enbloc.model.names import KUBE_SCHEDULER_LEASE
from enbloc.process.embedding import embedded
from enbloc.process.options import Options, served_health
from enbloc.process.terms import run_terms
from enbloc.wire.objects import PodObject

Shell = Callable[[Options], Awaitable[int]]

#: How many pods are passed on before other tasks get a turn.
_AT_ONCE: Final = 256


async def run_both(options: Options) -> int:
    """Run scheduler and controller until told to stop; when one ends, so does the other.

    Args:
        options: for both; they share the health server.

    Returns:
        0 after a requested stop; else the exit code of the one that failed.

    Raises:
        ConfigError: as in `run_scheduler` and `run_controller`.
    """
    theirs = controller_lease(options)
    async with live.connected(options) as client:

        async def term(shared: Options) -> int:
            pods: asyncio.Queue[Item[PodObject]] = asyncio.Queue()
            home, loop = asyncio.get_running_loop(), shared.clock.new_loop()
            scheduler: live.Scheduler | None = None

            def pass_on(item: Item[PodObject]) -> None:
                with suppress(RuntimeError):  # the loop is closed: the controller has ended
                    loop.call_soon_threadsafe(pods.put_nowait, item)

            async def schedule(each: Options) -> int:
                nonlocal scheduler
                scheduler = live.Scheduler(client, each, pods=pass_on)
                return await scheduler.run()

            async def confirm_pods(since: float) -> None:
                assert scheduler is not None, "the controller has got pods of it"
                confirming = asyncio.run_coroutine_threadsafe(scheduler.confirm_pods(since), home)
                await asyncio.wrap_future(confirming)
                await pods.join()  # what was passed on until then is in the queue

            async def control(own: Options) -> int:
                assert own.health is not None, "it is served"
                shared_pods = (_stream(pods), confirm_pods)
                async with controller.connected(own) as other:
                    return await controller.Controller(other, own, own.health, shared_pods).run()

            async def embed(each: Options) -> int:
                own = replace(each, lease_name=theirs, lease_timing=None)
                return await embedded(own, control, loop)

            return await run_together(shared, (schedule, embed))

        return await run_terms(options, term)


async def _stream(pods: asyncio.Queue[Item[PodObject]]) -> AsyncIterator[Item[PodObject]]:
    passed = 0
    while True:
        yield await pods.get()
        pods.task_done()  # the next one is asked for, so this one is taken
        passed += 1
        if passed % _AT_ONCE == 0:
            await asyncio.sleep(0)


def controller_lease(options: Options) -> str | None:
    """The controller's Lease, `NAME-controller` for `NAME-scheduler`; None = the default."""
    found = options.configuration and options.configuration.leader_election.resource_name
    name = options.lease_name or found or ""
    release, _, rest = name.rpartition("-")
    if rest != "scheduler" or name == KUBE_SCHEDULER_LEASE:
        return None
    return f"{release}-controller"


async def run_together(options: Options, shells: tuple[Shell, ...]) -> int:
    """Run shells in one process with one health server; when one ends, the others are stopped."""
    stop, told = asyncio.Event(), options.stop or asyncio.Event()

    async def pass_on() -> None:
        await told.wait()
        stop.set()

    with served_health(options) as health:
        shared = replace(options, health=health, stop=stop)

        async def run(shell: Shell) -> int:
            try:
                return await shell(shared)
            finally:
                stop.set()

        passing = asyncio.create_task(pass_on())
        try:
            outcomes = await asyncio.gather(*map(run, shells), return_exceptions=True)
        finally:
            passing.cancel()
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return max(outcome for outcome in outcomes if isinstance(outcome, int))
