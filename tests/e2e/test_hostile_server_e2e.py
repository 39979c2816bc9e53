# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""An API server, or something before it, that misleads: it is noticed, said, and survived."""

import asyncio
import datetime as dt
import itertools
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from enbloc.model.times import seconds_of
from tests.e2e import incidents
from tests.e2e.fault_proxy import Fault, FaultProxy, _kept, is_binding
from tests.e2e.targets import Component, ControlPlaneTarget
from tests.e2e.world import World
from tests.effort import slow
from tests.hack.processes import free_port

pytestmark = slow("waits that a server causes, and the time in which a stale watch is noticed")

SIZE = 6
HOUR = 3600
#: A stale watch is noticed and listed anew within this (seconds): 30 between two looks, 5 for the
#: watch to catch up; each of two streams, and a busy machine.
NOTICED = 90.0
#: After a server's return (seconds): nodes that were away for too long are tainted for a minute.
RETURN = 150.0

#: What takes long, and is the same on the sandbox, is tried where it matters.
ON_A_REAL_SERVER = pytest.mark.parametrize(
    "target", [pytest.param("controlplane", marks=pytest.mark.controlplane)], indirect=True
)


class Hostile(FaultProxy):
    """A proxy that forges refusals and Dates, and that keeps changes from watches."""

    #: Makes the answer to a request up, by method and path; None = the server's.
    forge: Callable[[str, str], web.Response | None] = staticmethod(lambda *_: None)
    #: Whether a line of a watch of this path is kept back.
    swallow: Callable[[str, bytes], bool] = staticmethod(lambda *_: False)
    #: Seconds by which each of the next answers' Date is wrong.
    skews: list[float]

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        forged = self.forge(request.method, request.path)
        return await super()._handle(request) if forged is None else forged

    async def _watch(self, request: web.BaseRequest) -> web.StreamResponse:
        url, headers = self._url(request), _kept(request.headers)
        async with self._session.get(url, headers=headers) as answer:
            stream = web.StreamResponse(status=answer.status, headers=self._headers(answer))
            await stream.prepare(request)
            rest = b""
            with suppress(ConnectionError, aiohttp.ClientError):
                async for piece in answer.content.iter_any():
                    *lines, rest = (rest + piece).split(b"\n")
                    kept = [line for line in lines if not self.swallow(request.path, line)]
                    if kept:
                        await stream.write(b"\n".join([*kept, b""]))
                await stream.write(rest)
                await stream.write_eof()
            return stream

    def _headers(self, answer: aiohttp.ClientResponse) -> dict[str, str]:
        kept = super()._headers(answer)
        if self.skews and "Date" in kept:
            shift = dt.timedelta(seconds=self.skews.pop(0))
            kept["Date"] = format_datetime(parsedate_to_datetime(kept["Date"]) + shift, usegmt=True)
        return kept


async def hostile(world: World, component: Component) -> Hostile:
    """A proxy before the API server, for one of the processes; it ends after them."""
    through = world.path / f"hostile-{component}.kubeconfig"
    kubeconfig = world.target.kubeconfig_of(component)
    proxy = await world.stack.enter_async_context(Hostile(kubeconfig, through))
    proxy.skews = []
    return proxy


def refused(code: int, reason: str, **headers: str) -> web.Response:
    status = {"kind": "Status", "code": code, "reason": reason, "message": "made up"}
    return web.json_response(status, status=code, headers=headers)


@ON_A_REAL_SERVER
async def test_a_binding_that_is_told_to_wait_an_hour_is_sent_again_within_half_a_minute(
    world: World,
) -> None:
    """semantics §3.4: and the log says who asks for what."""
    await world.nodes(1, cpu=SIZE)
    told: list[str] = []

    def forge(method: str, path: str) -> web.Response | None:
        if not is_binding(method, path) or told:
            return None
        told.append(path)
        return refused(429, "TooManyRequests", **{"Retry-After": str(HOUR)})

    proxy = await hostile(world, "scheduler")
    proxy.forge = forge
    await world.start_scheduler(kubeconfig=proxy.through, restart=True)
    await world.gang("gang", SIZE)
    await world.bound("gang", SIZE)
    assert told
    assert f"asks to wait {HOUR} s" in world.scheduler.text()
    await world.condition("gang", "Scheduled", "True")


async def test_statuses_that_are_refused_again_and_again_are_written_in_the_end(
    world: World,
) -> None:
    """semantics §2.2: a write that met a conflict is tried again until it stands."""
    await world.nodes(1, cpu=SIZE)
    faults: list[Callable[[], Fault | web.Response]] = [
        lambda: refused(409, "Conflict"),
        lambda: refused(429, "TooManyRequests", **{"Retry-After": "1"}),
        lambda: refused(500, "InternalError"),
        lambda: web.Response(status=503, text="made up"),
        lambda: Fault(drop=True),
        lambda: Fault(sends=0, drop=True),
    ]

    def misbehave(proxy: Hostile) -> None:
        turns: dict[str, Any] = {}

        def fault(method: str, path: str) -> Fault | web.Response | None:
            if method != "PATCH" or not path.endswith("/status"):
                return None
            # Each fault, and then the write passes.
            turn = turns.setdefault(path, itertools.cycle([*faults, None]))
            make = next(turn)
            made: Fault | web.Response | None = make() if make else None
            met.append(made)
            return made

        def forge(method: str, path: str) -> web.Response | None:
            made = fault(method, path)
            chosen[:] = [made] if isinstance(made, Fault) else []
            return made if isinstance(made, web.Response) else None

        chosen: list[Fault] = []
        proxy.forge = forge
        proxy.policy = lambda *_: chosen.pop() if chosen else Fault()

    met: list[object] = []
    one = await hostile(world, "scheduler")
    other = await hostile(world, "controller")
    misbehave(one)
    misbehave(other)
    await world.start_scheduler(kubeconfig=one.through, restart=True)
    world.controller.kill()
    world.controller = world._start("controller", kubeconfig=other.through)
    await world.gang("gang", SIZE)
    await world.condition("gang", "Scheduled", "True", timeout=120)
    await world.condition("gang", "Ready", "True", reason="Running", timeout=120)
    assert len(met) > len(faults)


@ON_A_REAL_SERVER
async def test_a_watch_that_keeps_changes_back_is_noticed_and_said(world: World) -> None:
    """semantics §6.3: bookmarks of pods still come; of PodGroups, nothing at all."""
    await world.nodes(1, cpu=SIZE)
    port = free_port()
    proxy = await hostile(world, "scheduler")
    flags = (f"--health-port={port}",)
    await world.start_scheduler(*flags, kubeconfig=proxy.through, restart=True)
    await world.gang("before", 1)
    await world.bound("before", 1)
    assert await health(port, "readyz") == 200
    proxy.swallow = lambda path, line: (
        path.endswith("/podgroups")
        or (path.endswith("/pods") and not line.startswith(b'{"type":"BOOKMARK"'))
    )
    await world.gang("unseen", SIZE - 1)
    await world.until(
        lambda: "The watch of pods is stale" in world.scheduler.text(),
        "the log tells of the stale watch",
        timeout=NOTICED,
    )
    assert await health(port, "readyz") == 500
    await world.bound("unseen", SIZE - 1, timeout=NOTICED)
    assert "The watch of podgroups.enbloc.dev is stale" in world.scheduler.text()
    proxy.swallow = lambda *_: False
    deadline = time.monotonic() + NOTICED
    while await health(port, "readyz") != 200:
        assert time.monotonic() < deadline, "it is never ready again"
        await asyncio.sleep(0.2)


async def health(port: int, what: str) -> int:
    """The status of a health endpoint."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/{what}") as answer,
    ):
        return answer.status


@pytest.mark.parametrize("hours", [-3, 3])
async def test_skewed_dates_among_the_first_do_not_shift_the_times_of_statuses(
    world: World, hours: int
) -> None:
    """semantics §7.3: times in status are server times."""
    await world.nodes(1, cpu=SIZE)
    one = await hostile(world, "scheduler")
    other = await hostile(world, "controller")
    for proxy in (one, other):
        proxy.skews = [hours * HOUR, 0, 0] * 10
    await world.start_scheduler(kubeconfig=one.through, restart=True)
    world.controller.kill()
    world.controller = world._start("controller", kubeconfig=other.through)
    await world.gang("gang", SIZE)
    await world.condition("gang", "Ready", "True", reason="Running")
    assert len(one.skews) < 20
    assert len(other.skews) < 20
    now = time.time()
    for condition in await world.conditions("gang"):
        assert abs(_seconds(condition) - now) < 10 * 60, condition


def _seconds(condition: Mapping[str, str]) -> float:
    found = seconds_of(condition["lastTransitionTime"])
    assert found is not None
    return found


@ON_A_REAL_SERVER
async def test_after_an_outage_of_the_whole_server_gangs_are_soon_whole(world: World) -> None:
    """In mid-burst etcd and API server are killed; they are away until all waits have grown."""
    size, away = 60, 20.0
    await world.nodes(6, cpu=10)
    proxy = await incidents.fault_proxy(world)
    proxy.policy = lambda *_: Fault(after=0.1)
    await world.gang("burst", size)
    await world.bound("burst", 5)
    proxy.policy = lambda *_: Fault()
    assert isinstance(world.target, ControlPlaneTarget)
    await world.target.crash(away)
    returned = time.monotonic()
    await world.bound("burst", size, timeout=RETURN)
    print(f"whole {time.monotonic() - returned:.1f} s after the return of the server")
    await world.condition("burst", "Ready", "True", reason="Running")
