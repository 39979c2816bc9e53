# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups through kopf, on a server that misbehaves."""

import asyncio
import dataclasses
import json
import logging
import os
import signal
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

import enbloc
from enbloc.client import probe
from enbloc.client.client import Client
from enbloc.client.config import Cluster, FixedAuth, TokenFile
from enbloc.client.probe import Key
from enbloc.controller.operator import operate
from enbloc.controller.session import Session, SessionTiming
from enbloc.process.embedding import embedded
from enbloc.process.options import Options
from enbloc.telemetry import ActiveProblems
from tests.client.fake import refusal, serving
from tests.controller.conftest import eventually
from tests.controller.fake import ROOT, PodGroupServer, group
from tests.world.virtual_time import VirtualTimeLoop, time_source

HASTY = SessionTiming(retry=(0.01, 0.05), rewatch=(0.01, 0.05))


class Log:
    """What was told of PodGroups: (kind, name)."""

    def __init__(self) -> None:
        self.lines: list[tuple[str | None, str]] = []
        self.lists: list[list[str]] = []

    def seen(self, kind: str | None, found: Mapping[str, Any]) -> None:
        if found["metadata"]["name"] == "bug":
            raise KeyError
        self.lines.append((kind, found["metadata"]["name"]))

    def listed(self, found: Mapping[Key, Mapping[str, Any]], version: int) -> None:
        assert version > 0
        self.lists.append([name for _, name in found])

    async def until(self, *lines: tuple[str | None, str]) -> None:
        await eventually(lambda: self.lines == list(lines))


class Comparing:
    """What runs while kopf does."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._session.compare())

    async def stop(self) -> None:
        assert self._task is not None, "it was started"
        self._task.cancel()


async def follow(
    url: str,
    auth: Any,
    log: Log,
    problems: ActiveProblems,
    timing: SessionTiming,
    take_signals: Callable[[], None] = lambda: None,
) -> None:
    """Run kopf until cancelled."""
    cluster = Cluster(url, auth=auth or FixedAuth())
    async with Client(cluster, component="controller", clock=time_source()) as client:
        session = Session(client, problems, log, timing)
        await operate(
            session,
            Comparing(session),
            asyncio.get_running_loop().create_future(),
            take_signals,
        )


@asynccontextmanager
async def following(
    server: PodGroupServer, auth: Any = None, timing: SessionTiming = HASTY
) -> AsyncGenerator[tuple[Log, ActiveProblems], None]:
    log, problems = Log(), ActiveProblems()
    async with serving(server) as url:

        async def run(options: Options) -> int:
            assert options.stop is not None
            kopf = asyncio.create_task(follow(url, auth, log, problems, timing))
            stopped = asyncio.create_task(options.stop.wait())
            await asyncio.wait({kopf, stopped}, return_when=asyncio.FIRST_COMPLETED)
            assert not kopf.done(), kopf
            kopf.cancel()
            await asyncio.wait({kopf})
            return 0

        stop = asyncio.Event()
        running = asyncio.create_task(embedded(Options(stop=stop, clock=time_source()), run))
        try:
            yield log, problems
        finally:
            stop.set()
            await running


def logged_problems(caplog: pytest.LogCaptureFixture) -> list[str]:
    assert all(r.exc_info is None for r in caplog.records if r.levelno > logging.DEBUG)
    return [r.getMessage() for r in caplog.records if r.levelno > logging.INFO]


async def watched(server: PodGroupServer) -> None:
    """Return once a watch is open."""
    await eventually(lambda: ("watch", f"{ROOT}/podgroups") in server.asked)
    await asyncio.sleep(0.1)


async def test_groups_are_listed_and_watched(caplog: pytest.LogCaptureFixture) -> None:
    server = PodGroupServer(group("a"), group("b"))
    async with following(server) as (log, problems):
        await log.until((None, "a"), (None, "b"))
        assert log.lists == [["a", "b"]]
        await watched(server)
        server.tell("MODIFIED", group("a", 2))
        server.tell("DELETED", group("b", 3))
        await log.until((None, "a"), (None, "b"), ("MODIFIED", "a"), ("DELETED", "b"))
        assert not problems.active

    assert logged_problems(caplog) == []
    assert "patch" not in {verb for verb, _ in server.asked}


def session(log: Log) -> Session:
    """One whose server is not there."""
    client = Client(Cluster("http://127.0.0.1:9"), component="test", clock=time_source())
    return Session(client, ActiveProblems(), log)


def event(kind: str, shown: Mapping[str, Any]) -> bytes:
    return msgspec.json.encode({"type": kind, "object": shown})


async def test_what_kopf_tells_of_late_hides_no_newer_state() -> None:
    log = Log()
    asked = session(log)
    asked._line(event("ADDED", group("a", 1)))
    asked._line(event("MODIFIED", group("a", 3)))
    for kind, shown in (
        ("ADDED", group("a", 1)),
        ("MODIFIED", group("a", 2)),
        ("DELETED", group("a", 2)),  # of a namesake
        (None, group("a", 3)),
    ):
        asked.seen(kind, shown)
    asked._line(event("DELETED", group("a", 4)))
    asked.seen("DELETED", group("a", 4))
    asked._line(event("ADDED", group("a", 5)))
    asked.seen("ADDED", group("a", 5))
    assert [kind for kind, _ in log.lines] == ["MODIFIED", None, "DELETED", "ADDED"]


async def test_what_changes_but_for_the_spec_is_told_at_once_and_to_kopf_a_bookmark() -> None:
    log = Log()
    asked = session(log)
    for name in "ab":
        assert json.loads(asked._line(event("ADDED", group(name))))["object"] == group(name)
    for version, name in enumerate(("a", "b", "a"), 3):
        changed = group(name, version, status={"members": version})
        assert json.loads(asked._line(event("MODIFIED", changed))) == {
            "type": "BOOKMARK",
            "object": {"metadata": {"resourceVersion": str(version)}},
        }
        assert log.lines.pop() == ("MODIFIED", name)
    assert log.lines == []


async def test_what_kopf_does_not_know_in_this_generation_it_is_given() -> None:
    asked = session(Log())

    def given(kind: str, version: int, generation: int) -> str:
        shown = group("a", version)
        shown["metadata"]["generation"] = generation
        return str(json.loads(asked._line(event(kind, shown)))["type"])

    assert given("MODIFIED", 1, 1) == "MODIFIED"
    assert given("MODIFIED", 2, 2) == "MODIFIED"
    assert given("MODIFIED", 3, 2) == "BOOKMARK"
    assert given("DELETED", 4, 2) == "DELETED"
    assert given("MODIFIED", 5, 2) == "MODIFIED"
    assert given("MODIFIED", 6, 2) == "BOOKMARK"


async def test_what_a_later_list_lacks_is_told_to_be_gone() -> None:
    server = PodGroupServer(group("a"), group("b"))
    async with following(server) as (log, _):
        await log.until((None, "a"), (None, "b"))
        await watched(server)
        server.groups, server.version = [group("a")], 10
        server.tell("ERROR", {"code": 410})
        await log.until((None, "a"), (None, "b"), ("DELETED", "b"), (None, "a"))
        assert log.lists == [["a", "b"], ["a"]]


@pytest.mark.parametrize("broken", [{**group("b"), "spec": 7}, {"metadata": 5}])
async def test_what_cannot_be_read_in_a_later_list_is_not_told_to_be_gone(broken: Any) -> None:
    server = PodGroupServer(group("a"), group("b"))
    async with following(server) as (log, _):
        await log.until((None, "a"), (None, "b"))
        await watched(server)
        server.groups, server.version = [group("a"), broken], 10
        server.tell("ERROR", {"code": 410})
        await log.until((None, "a"), (None, "b"), (None, "a"))
        assert log.lists == [["a", "b"], ["a"]]


async def test_a_server_that_went_back_in_time_is_believed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = PodGroupServer(group("a", 8))
    async with following(server) as (log, _):
        await log.until((None, "a"))
        await watched(server)
        server.version, server.groups = 3, [group("a", 2)]
        server.tell("ERROR", {"code": 410})
        await log.until((None, "a"), ("DELETED", "a"), (None, "a"))
    assert "went back in time" in caplog.text


async def test_a_bug_in_taking_in_one_group_keeps_no_other_from_being_seen(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = PodGroupServer(group("bug"), group("b"))
    async with following(server) as (log, _):
        await log.until((None, "b"))
    assert [record.getMessage() for record in caplog.records if record.exc_info] == [
        "Failed to process PodGroup n/bug"
    ]


async def test_only_podgroups_and_discovery_are_asked_for() -> None:
    server = PodGroupServer(group("a"))
    async with following(server) as (log, _):
        await log.until((None, "a"))
        await watched(server)

    assert {path for verb, path in server.asked if verb in ("list", "watch")} == {
        f"{ROOT}/podgroups"
    }
    asked = {path for verb, path in server.asked if verb == "get"}
    assert asked == {"/api", "/api/v1", "/apis", ROOT}


async def test_a_watch_that_does_not_show_what_the_server_has_is_made_anew(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics §6.3"""
    monkeypatch.setattr(probe, "TURN_SECONDS", 0.01)
    server = PodGroupServer(group("a"))
    often = dataclasses.replace(HASTY, compare=0.1)
    async with following(server, timing=often) as (log, problems):
        await log.until((None, "a"))
        server.groups.append(group("b", 4))  # and no watch tells of it
        await log.until((None, "a"), (None, "a"), (None, "b"))
        await eventually(lambda: not problems.active)
    [problem] = logged_problems(caplog)
    assert problem.startswith("The watch of podgroups.enbloc.dev is stale: a list has n/b of ")


@pytest.mark.parametrize("missing", ["list", "watch"])
async def test_a_missing_verb_is_said_in_one_line_and_given_later_is_used(
    missing: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = PodGroupServer(group("a"))
    server.spoil = lambda verb, _: refusal(403, "Forbidden", "no") if verb == missing else None
    async with following(server) as (log, problems):
        await eventually(lambda: problems.active)
        await asyncio.sleep(1.0)
        server.spoil = lambda _verb, _path: None
        await eventually(lambda: not problems.active)
        await log.until((None, "a"))

    words = f"Cannot {missing} podgroups.enbloc.dev: 403 Forbidden: no"
    [problem] = logged_problems(caplog)
    assert problem == f'{words} (grant the verb "{missing}" on podgroups.enbloc.dev)'


async def test_a_server_that_fails_twice_is_nothing_to_tell_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures = {"get": 2, "list": 2, "watch": 2}

    def spoil(verb: str, _: str) -> web.Response | None:
        failures[verb] -= 1
        return refusal(500, "InternalError") if failures[verb] >= 0 else None

    server = PodGroupServer(group("a"))
    server.spoil = spoil
    async with following(server) as (log, problems):
        await log.until((None, "a"))
        await eventually(lambda: failures["watch"] < 0)
        assert not problems.active

    assert logged_problems(caplog) == []


async def test_a_watch_that_fails_is_begun_again_until_it_holds_and_then_tells() -> None:
    failing = PodGroupServer(group("a"))
    refused = 0

    def spoil(verb: str, _: str) -> Any:
        nonlocal refused
        if verb != "watch" or refused == 6:
            return None
        refused += 1
        return refusal(500, "InternalError")

    failing.spoil = spoil
    async with following(failing) as (log, problems):
        await eventually(lambda: refused == 6)

        def told() -> bool:
            failing.tell("MODIFIED", group("a", 2))
            return ("MODIFIED", "a") in log.lines

        await eventually(told)
        await eventually(lambda: not problems.active)


async def test_a_watch_whose_place_is_lost_before_it_begins_lists_again() -> None:
    gone = iter([410, 400, 504])
    cause = {"details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}}

    def spoil(verb: str, _: str) -> web.Response | None:
        code = next(gone, None) if verb == "watch" else None
        if code is None:
            return None
        return web.json_response({"kind": "Status", "code": code, **cause}, status=code)

    server = PodGroupServer(group("a"))
    server.spoil = spoil
    async with following(server) as (log, _):
        await eventually(lambda: len(log.lists) == 4)
        await watched(server)


async def test_a_list_whose_snapshot_is_gone_begins_anew() -> None:
    asked: list[str] = []

    def spoil(verb: str, path: str) -> web.Response | None:
        if verb != "list":
            return None
        asked.append(path)
        if len(asked) == 1:
            metadata = {"resourceVersion": "9", "continue": "more"}
            return web.json_response({"metadata": metadata, "items": [group("b")]})
        return refusal(410, "Expired") if len(asked) == 2 else None

    server = PodGroupServer(group("a"))
    server.spoil = spoil
    async with following(server) as (log, _):
        await eventually(lambda: log.lists == [["a"]])
        await eventually(lambda: ("DELETED", "b") in log.lines)


async def test_discovery_that_lags_behind_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    empty = iter([True])

    def spoil(_: str, path: str) -> web.Response | None:
        lags = path == ROOT and next(empty, False)
        return web.json_response({"resources": []}) if lags else None

    server = PodGroupServer(group("a"))
    server.spoil = spoil
    async with following(server) as (log, _):
        await log.until((None, "a"))

    assert logged_problems(caplog) == []


@pytest.mark.parametrize("served", [{"/api/v1": ["namespaces"]}, {"/api/v1": [], ROOT: ["x"]}])
async def test_a_server_without_podgroups_is_said_to_be(
    served: dict[str, list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    server = PodGroupServer(kinds=served)
    async with following(server) as (log, problems):
        await eventually(lambda: problems.active)
        assert log.lists == []
    [problem] = logged_problems(caplog)
    assert problem.startswith("The server does not serve podgroups.enbloc.dev: kubectl apply -f")


async def test_a_server_that_is_not_there_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(PodGroupServer()) as url:
        pass

    async def run(_: Options) -> int:
        kopf = asyncio.create_task(follow(url, None, Log(), ActiveProblems(), HASTY))
        await asyncio.sleep(9)
        kopf.cancel()
        await asyncio.wait({kopf})
        return 0

    await embedded(Options(clock=time_source()), run)
    assert len(logged_problems(caplog)) == 1
    assert logged_problems(caplog)[0].startswith("The API server cannot be reached: Cannot connect")


async def test_the_token_is_the_clients_and_read_again_when_it_is_refused(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    server = PodGroupServer(group("a"))
    async with following(server, TokenFile(token)) as (log, _):
        await log.until((None, "a"))
        assert set(server.authorized) == {"Bearer old"}

        token.write_text("new")
        server.authorized.clear()
        refused = iter([True])
        server.spoil = lambda verb, _: (
            refusal(401, "Unauthorized") if verb == "watch" and next(refused, False) else None
        )
        server.tell("ERROR", {"code": 410})
        await eventually(lambda: "Bearer new" in server.authorized)


async def test_credentials_that_are_refused_or_cannot_be_read_are_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = PodGroupServer(group("a"))
    server.spoil = lambda _verb, _path: refusal(401, "Unauthorized", "who are you?")
    token = tmp_path / "token"
    async with following(server, TokenFile(token)) as (log, problems):
        await eventually(lambda: problems.active)
        assert "cannot read the token" in caplog.text
        token.write_text("good")
        await eventually(lambda: "who are you?" in caplog.text)
        server.spoil = lambda _verb, _path: None
        await log.until((None, "a"))
        await eventually(lambda: not problems.active)


def test_signals_are_the_process_own_while_kopf_runs() -> None:
    """In the main thread kopf takes them over."""
    received: list[int] = []

    async def main() -> None:
        loop, log = asyncio.get_running_loop(), Log()

        def take_signals() -> None:
            loop.add_signal_handler(signal.SIGTERM, received.append, 1)

        async with serving(PodGroupServer(group("a"))) as url:
            kopf = asyncio.create_task(
                follow(url, None, log, ActiveProblems(), HASTY, take_signals)
            )
            await log.until((None, "a"))
            os.kill(os.getpid(), signal.SIGTERM)
            await eventually(lambda: received)
            assert not kopf.done()
            kopf.cancel()
            await asyncio.wait({kopf})
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())
    assert received == [1]


async def test_every_request_of_kopf_names_our_controller() -> None:
    server = PodGroupServer(group("a"))
    async with following(server) as (log, _):
        await log.until((None, "a"))
        await watched(server)
    assert server.agents == {f"enbloc-controller/{enbloc.__version__}"}


async def test_kopfs_lines_come_through_where_they_are_of_handlers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = PodGroupServer(group("a"))
    with caplog.at_level(logging.DEBUG):
        async with following(server) as (log, _):
            await log.until((None, "a"))
            caplog.clear()
            logging.getLogger("kopf.objects").warning("Something is odd: %s", "this")
            logging.getLogger("kopf._core.some.where").error("Request failed")
    levels = {record.getMessage(): record.levelname for record in caplog.records}
    assert levels["kopf: Something is odd: this"] == "WARNING"
    assert levels["kopf: Request failed"] == "DEBUG"


async def test_a_list_that_always_fails_on_its_second_page_is_said_and_tried_less_often(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As behind a proxy that refuses long URLs."""
    pages = 0

    def spoil(verb: str, _: str) -> web.Response | None:
        nonlocal pages
        if verb != "list":
            return None
        pages += 1
        if pages % 2 == 0:
            return refusal(500, "InternalError", "no second page")
        metadata = {"resourceVersion": "9", "continue": f"more-{pages}"}
        return web.json_response({"metadata": metadata, "items": [group("b")]})

    server = PodGroupServer(group("a"))
    server.spoil = spoil
    async with following(server, timing=SessionTiming()) as (log, problems):
        await eventually(lambda: problems.active)
        before = pages
        await asyncio.sleep(60)
        assert pages - before <= 100
        server.spoil = lambda _verb, _path: None
        await eventually(lambda: log.lists == [["a"]])
        assert not problems.active
    [problem] = logged_problems(caplog)
    assert problem.startswith("Cannot list podgroups.enbloc.dev: 500 InternalError")
