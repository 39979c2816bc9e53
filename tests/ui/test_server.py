# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The server of the page: which requests it answers, and what each answer carries."""

import asyncio
import gc
import socket
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TypeVar

import aiohttp
import pytest

from enbloc.errors import ConfigError
from enbloc.process.workers import GoOn, ThreadWorker, WorkerEndedError
from enbloc.ui.access import OpenAccess
from enbloc.ui.server import (
    MOST_CONNECTIONS,
    MOST_STREAMS,
    MOST_TARGET,
    POLICY,
    SILENCE_SECONDS,
    STREAM_SECONDS,
    Address,
    Site,
    served,
)
from enbloc.ui.state import (
    EXPLANATIONS_AT_ONCE,
    KEPT_SECONDS,
    MOST_EXPLANATIONS,
    MOST_PAGES,
    Latest,
)
from enbloc.ui.view import View
from tests.ui.site import Reader, keeper, latest, reading
from tests.ui.world import RACKS, gang, lone, nodes, running, view

T = TypeVar("T")

WORLD = view(
    [RACKS], nodes(2, "r1"), running("old", 1, "r1-0"), gang("big", 5), lone("alone", cpu=100)
)
PATHS = (
    "/",
    "/?namespace=team&name=b&page=2",
    "/nodes",
    "/nodes?rack=r1&shape=8+CPUs%2C+32Gi",
    "/time",
    "/time?namespace=team&hours=6&page=2",
    "/groups/team/big",
    "/groups/team/old",
    "/pods/team/alone",
    "/static/enbloc.css",
    "/static/enbloc.js",
    "/static/enbloc.svg",
    "/livez",
    "/readyz",
)


@pytest.mark.parametrize("path", PATHS)
async def test_every_answer_has_the_headers_that_keep_it_safe(path: str) -> None:
    async with reading(WORLD) as reader:
        answer = await reader.ask(path)
    assert answer.code == 200
    assert answer.headers["Content-Security-Policy"] == POLICY
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["Server"] == "enbloc"


def test_the_policy_lets_nothing_run_but_files_of_ours() -> None:
    assert POLICY == (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


@pytest.mark.parametrize("path", PATHS)
async def test_head_is_answered_as_get_is_without_the_body(path: str) -> None:
    async with reading(WORLD) as reader:
        got, head = await reader.ask(path), await reader.ask(path, "HEAD")
    assert (head.code, head.text) == (200, "")
    assert head.headers["Content-Type"] == got.headers["Content-Type"]


@pytest.mark.parametrize(
    "path", ["/", "/nodes", "/time", "/groups/team/big", "/nothing", "/events"]
)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
async def test_nothing_else_than_reading_is_taken(path: str, method: str) -> None:
    async with reading(WORLD) as reader:
        answer = await reader.ask(path, method)
    assert answer.code == 405
    assert answer.headers["Allow"] == "GET, HEAD"
    assert answer.headers["Content-Security-Policy"] == POLICY


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/groups/team",
        "/groups/team/none",
        "/groups/other/big",
        "/pods/team/big",
        "/groups/team/BIG",
        "/groups/team/" + "a" * 254,
        "/groups/..%2f/big",
        "/groups/team/%2falone",
        "/groups/team/old/explanation",
        "/nodes?rack=r9&shape=x",
        "/static/..%2f__init__.py",
        "/static/../__init__.py",
        "/static/site.py",
        "/<script>evil()</script>",
    ],
)
async def test_what_is_not_there_is_said_and_not_repeated(path: str) -> None:
    async with reading(WORLD) as reader:
        answer = await reader.ask(path)
    assert answer.code == 404
    assert answer.page.one("h1").text == "Not found"
    assert "evil" not in answer.text


async def test_an_address_that_is_too_long_is_refused() -> None:
    async with reading(WORLD) as reader:
        assert (await reader.ask("/?name=" + "x" * (MOST_TARGET - 7))).code == 200
        assert (await reader.ask("/?name=" + "x" * (MOST_TARGET - 6))).code == 414
        assert (await reader.ask("/?name=" + "x" * 9000)).code == 400


@pytest.mark.parametrize("page", ["0", "-1", "x", "1e9", "٣", "9" * 30, ""])
async def test_a_page_that_is_no_number_is_the_first(page: str) -> None:
    async with reading(WORLD) as reader:
        assert "big" in (await reader.read(f"/?page={page}")).one("table").text


# ── who may ask ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("localhost", 200),
        ("localhost:8001", 200),
        ("127.0.0.1:10263", 200),
        ("127.0.0.53", 200),
        ("[::1]:10263", 200),
        ("LOCALHOST", 200),
        ("evil.example", 421),
        ("evil.example:10263", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("evil.example@localhost", 421),
        ("10.0.0.1", 421),
        ("0.0.0.0", 421),
        ("[::1", 421),
    ],
)
async def test_a_name_of_somebody_else_that_leads_here_is_refused(host: str, code: int) -> None:
    async with reading(WORLD) as reader:
        answer = await reader.ask("/", Host=host)
    assert answer.code == code
    assert ("big" in answer.text) is (code == 200)


async def test_beyond_this_machine_the_token_counts_and_not_the_name() -> None:
    async with reading(WORLD, local=False) as reader:
        assert (await reader.ask("/", Host="enbloc.example")).code == 200


@pytest.mark.parametrize(
    ("site", "mode", "code"),
    [
        ("same-origin", "cors", 200),
        ("none", "navigate", 200),
        ("cross-site", "navigate", 200),
        ("cross-site", "no-cors", 403),
        ("same-site", "cors", 403),
    ],
)
async def test_pages_of_others_may_lead_here_and_load_nothing(
    site: str, mode: str, code: int
) -> None:
    async with reading(WORLD) as reader:
        answer = await reader.ask("/", Sec_Fetch_Site=site, Sec_Fetch_Mode=mode)
    assert answer.code == code


# ── before there is a view ───────────────────────────────────────────────────────────────────


async def test_until_the_cluster_is_read_pages_say_so() -> None:
    async with reading(None) as reader:
        for path in ("/", "/nodes", "/time", "/groups/team/big"):
            answer = await reader.ask(path)
            assert answer.code == 503
            assert answer.page.one("main").text == "Not now The cluster is being read; try again."
        assert (await reader.ask("/readyz")).code == 503
        assert (await reader.ask("/livez")).code == 200
        reader.keeper.problems.report("pods", "pods cannot be listed")
        assert "Pods cannot be listed." in (await reader.ask("/")).text


async def test_what_is_shown_is_as_old_as_what_can_be_read_no_more() -> None:
    kept = keeper(WORLD)
    began = kept.now()
    later = latest(replace(WORLD, present=replace(WORLD.present, now=began + 100.0)))
    assert kept.read_at(later) == began + 100.0
    kept.problems.report("pods", "pods cannot be listed")
    assert kept.read_at(later) == pytest.approx(began)
    kept.problems.report("pods", None)
    assert kept.read_at(later) == began + 100.0


# ── explanations ─────────────────────────────────────────────────────────────────────────────


async def test_an_explanation_is_worked_out_when_it_is_asked_for_and_kept() -> None:
    async with reading(WORLD) as reader:
        before = await reader.read("/groups/team/big")
        assert list(before.every("details"))
        found = await reader.read("/groups/team/big/explanation")
        assert "It would start with any one of these" in found.one("section").text
        after = await reader.read("/groups/team/big")
        assert after.one("section", id="explanation").text == found.one("section").text


async def test_the_process_of_an_old_view_is_not_kept_for_an_explanation_of_it() -> None:
    async with reading(WORLD) as reader:
        await reader.read("/groups/team/big/explanation")
        worker = weakref.ref(reader.latest.worker)
        await reader.keeper.show(latest(WORLD))
        assert worker() is not None, "a page may tell it for some seconds"
        await asyncio.sleep(KEPT_SECONDS + 1.0)
        await reader.keeper.show(latest(WORLD))
        gc.collect()
        assert worker() is None


async def test_while_it_takes_long_the_browser_is_told_to_ask_again() -> None:
    async with reading(WORLD) as reader:
        with held(reader):
            answer = await reader.ask("/groups/team/big/explanation")
            assert answer.code == 202
            assert answer.headers["Refresh"] == "2"
            assert "data-again" in answer.page.one("p", id="explanation").attributes
        assert list((await reader.read("/groups/team/big/explanation")).every("section"))


async def test_no_more_explanations_are_begun_than_some() -> None:
    world = view(nodes(1), *(gang(f"g{n:02}", 1, minimum=2) for n in range(MOST_EXPLANATIONS + 1)))
    *first, last = (row.waiting.key for row in world.rows)
    async with reading(world) as reader:
        of = reader.latest
        with held(reader):
            asked = [reader.keeper.explanation(of, key) for key in first]
            answer = await reader.ask(f"/groups/team/{last.name}/explanation")
            assert answer.code == 503
            assert "Too many explanations are being worked out" in answer.text
            assert reader.keeper.explanation(of, first[0]) is asked[0]
        await asyncio.wait([each.answer for each in asked])
        assert list((await reader.read(f"/groups/team/{last.name}/explanation")).every("section"))


async def test_an_explanation_whose_process_ends_is_an_error_and_can_be_asked_for_again() -> None:
    async with reading(WORLD) as reader:
        true = reader.latest
        reader.keeper.view = Latest(true.head, Ending(WORLD))
        answer = await reader.ask("/groups/team/big/explanation")
        assert (answer.code, answer.page.one("h1").text) == (503, "Not now")
        assert "was ended, maybe for lack of memory or of time" in answer.text
        reader.keeper.view = true
        assert list((await reader.read("/groups/team/big/explanation")).every("section"))


async def test_a_page_whose_process_ended_is_an_error_until_there_is_a_new_view() -> None:
    async with reading(WORLD) as reader:
        reader.keeper.view = Latest(reader.latest.head, Ended(WORLD))
        for path in ("/", "/nodes", "/groups/team/big"):
            assert (await reader.ask(path)).code == 503


async def test_no_more_pages_are_made_at_once_than_some() -> None:
    async with reading(WORLD) as reader:
        slow = Slow(WORLD)
        reader.keeper.view = Latest(reader.latest.head, slow)
        asking = [asyncio.create_task(reader.ask("/")) for _ in range(MOST_PAGES)]
        while slow.asked < MOST_PAGES:  # noqa: ASYNC110  # no event tells
            await asyncio.sleep(0.01)
        assert "Too many pages are asked for at once" in (await reader.ask("/")).text
        slow.go_on.set()
        assert {(await each).code for each in asking} == {200}


async def test_a_page_that_takes_too_long_is_an_error() -> None:
    async with reading(WORLD) as reader:
        reader.keeper.view = Latest(reader.latest.head, Slow(WORLD))
        answer = await reader.ask("/")
    assert (answer.code, "The page takes too long" in answer.text) == (503, True)


@contextmanager
def held(reader: Reader) -> Generator[None]:
    """No explanation is begun meanwhile."""
    keeper = reader.keeper
    keeper._explainers = asyncio.Semaphore(0)
    try:
        yield
    finally:
        for _ in range(EXPLANATIONS_AT_ONCE):
            keeper._explainers.release()


class Ending(ThreadWorker[View]):
    """A worker whose copies are killed."""

    async def copy(self, work: Callable[[View, GoOn], T], seconds: float) -> T:
        del work, seconds
        raise WorkerEndedError("the process was ended, maybe for lack of memory or of time")


class Ended(ThreadWorker[View]):
    """A worker that is no more."""

    async def ask(self, work: Callable[[View], T]) -> T:
        del work
        raise WorkerEndedError("the process was ended, maybe for lack of memory or of time")


class Slow(ThreadWorker[View]):
    """A worker that answers when it is told to."""

    def __init__(self, state: View) -> None:
        super().__init__(state)
        self.go_on = asyncio.Event()
        self.asked = 0

    async def ask(self, work: Callable[[View], T]) -> T:
        self.asked += 1
        await self.go_on.wait()
        return await super().ask(work)


# ── news ─────────────────────────────────────────────────────────────────────────────────────


async def test_a_browser_hears_of_every_new_view() -> None:
    async with reading(WORLD) as reader, reader.session.get(reader.url + "/events") as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        assert await response.content.readuntil(b"\n\n") == b"event: view\ndata: 1\n\n"
        await reader.keeper.show(latest(view(nodes(1), number=2)))
        assert await response.content.readuntil(b"\n\n") == b"event: view\ndata: 2\n\n"
        assert await response.content.readuntil(b"\n\n") == b": nothing new\n\n"


async def test_it_comes_anew_after_some_time() -> None:
    async with reading(WORLD) as reader:
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with reader.session.get(reader.url + "/events") as response:
            told = await response.text()
    assert STREAM_SECONDS <= loop.time() - began <= STREAM_SECONDS + SILENCE_SECONDS
    assert told.count("event: view") == 1


async def test_so_many_browsers_wait_for_news_and_no_more() -> None:
    async with reading(WORLD) as reader:
        streams = [await reader.session.get(reader.url + "/events") for _ in range(MOST_STREAMS)]
        assert (await reader.ask("/events")).code == 503
        assert (await reader.ask("/")).code == 200
        for stream in streams:
            stream.close()


async def test_a_stop_does_not_wait_for_who_waits_for_news() -> None:
    loop = asyncio.get_running_loop()
    async with reading(WORLD) as reader:
        response = await reader.session.get(reader.url + "/events")
        began = loop.time()
    response.close()
    assert loop.time() - began < SILENCE_SECONDS


# ── the socket ───────────────────────────────────────────────────────────────────────────────


async def test_a_port_that_is_taken_is_one_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        kept = keeper(WORLD)
        with pytest.raises(ConfigError, match=r"--port: cannot listen on 127\.0\.0\.1:\d+: .*"):
            async with served(Site(kept, OpenAccess(), local=True), Address(port=port)):
                pass
        await kept.close()


async def test_one_connection_too_many_ends_the_oldest() -> None:
    async with reading(WORLD) as reader:
        port = int(reader.url.rpartition(":")[2])
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_CONNECTIONS)]
        assert (await reader.ask("/livez")).code == 200
        (oldest, _), *others = held
        with suppress(ConnectionResetError):
            assert await oldest.read() == b""
        for _, writer in others:
            assert not writer.transport.is_closing()
        for _, writer in held:
            writer.close()


class _Reached(Address):
    """An address that others reach."""

    @property
    def local(self) -> bool:
        return False


async def test_who_reaches_it_from_elsewhere_speaks_tls() -> None:
    """A loopback address stands in for one that others reach: tests talk to this machine alone."""
    kept = keeper(WORLD)
    site = Site(kept, OpenAccess(), local=False)
    async with served(site, _Reached(port=0)) as url, aiohttp.ClientSession() as session:
        assert url.startswith("https://")
        async with session.get(url + "/readyz", ssl=False) as response:
            assert (response.status, await response.text()) == (200, "ok")
    await kept.close()
