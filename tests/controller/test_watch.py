# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups through kopf, on a server that misbehaves."""

import asyncio
import dataclasses
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import enbloc
from enbloc.client import probe
from enbloc.client.client import Client
from enbloc.client.config import Cluster, FixedAuth, TokenFile
from enbloc.controller.groups import Groups, WatchTiming
from enbloc.controller.kopf_logging import KopfLogHandler
from enbloc.controller.login import Login
from enbloc.controller.watch import NotServedYet, Watch, WatchFailed
from enbloc.errors import ConfigError
from enbloc.telemetry import Problems
from tests.client.fake import refusal, serving
from tests.controller.conftest import eventually
from tests.controller.fake import ROOT, PodGroupServer, group
from tests.world.virtual_time import time_source

HASTY = WatchTiming(probe=0.05, retries=(0.01,), proven=0.6)


class Log:
    """What was told of PodGroups: (kind, name); "begins" before they are told of anew."""

    def __init__(self) -> None:
        self.lines: list[tuple[str | None, str]] = []

    def begins(self) -> None:
        self.lines.append(("begins", ""))

    def seen(self, kind: str | None, found: Mapping[str, Any]) -> None:
        if found["metadata"]["name"] == "bug":
            raise KeyError
        self.lines.append((kind, found["metadata"]["name"]))

    async def until(self, *lines: tuple[str | None, str]) -> None:
        await eventually(lambda: self.lines == list(lines))


@asynccontextmanager
async def following(
    server: PodGroupServer, auth: Any = None, timing: WatchTiming = HASTY
) -> AsyncGenerator[tuple[Log, Problems], None]:
    log, problems = Log(), Problems()
    async with serving(server) as url:
        cluster = Cluster(url, auth=auth or FixedAuth())
        async with Client(cluster, component="test", clock=time_source()) as client:
            groups = Groups(client, problems, log.begins, log.seen, timing)
            task = asyncio.create_task(groups.follow())
            try:
                yield log, problems
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


def logged_problems(caplog: pytest.LogCaptureFixture) -> list[str]:
    assert all(r.exc_info is None for r in caplog.records if r.levelno > logging.DEBUG)
    return [r.getMessage() for r in caplog.records if r.levelno > logging.INFO]


async def test_groups_are_listed_and_watched(caplog: pytest.LogCaptureFixture) -> None:
    server = PodGroupServer(group("a"), group("b"))
    async with following(server) as (log, problems):
        await log.until(("begins", ""), (None, "a"), (None, "b"))
        await eventually(lambda: ("watch", f"{ROOT}/podgroups") in server.asked)
        await asyncio.sleep(0.1)
        server.tell("MODIFIED", group("a", 2))
        server.tell("DELETED", group("b", 3))
        await log.until(
            ("begins", ""), (None, "a"), (None, "b"), ("MODIFIED", "a"), ("DELETED", "b")
        )
        assert not problems.active

    assert logged_problems(caplog) == []
    assert "patch" not in {verb for verb, _ in server.asked}


async def test_what_kopf_tells_of_late_hides_no_newer_state() -> None:
    log = Log()
    async with Client(
        Cluster("http://127.0.0.1:9"), component="test", clock=time_source()
    ) as client:
        groups = Groups(client, Problems(), log.begins, log.seen)
        for kind, shown in (
            ("MODIFIED", group("a", 3)),
            (None, group("a", 1)),
            ("MODIFIED", group("a", 2)),
            ("DELETED", group("a", 2)),  # of a namesake
            (None, group("a", 1)),
            (None, group("a", 3)),
            ("DELETED", group("a", 4)),
            ("ADDED", group("a", 5)),
        ):
            groups._tell(kind, shown)
    assert [kind for kind, _ in log.lines] == ["MODIFIED", None, "DELETED", "ADDED"]


async def test_a_server_that_went_back_in_time_is_believed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    server = PodGroupServer(group("a", 8))
    async with following(server) as (log, _):
        await log.until(("begins", ""), (None, "a"))
        await eventually(lambda: ("watch", f"{ROOT}/podgroups") in server.asked)
        await asyncio.sleep(0.1)
        server.version, server.groups = 3, [group("a", 2)]
        server.tell("ERROR", {"code": 410})  # makes kopf list and watch again
        await eventually(lambda: log.lines.count(("begins", "")) == 2)
        await eventually(lambda: log.lines[-1] == (None, "a"))
    assert "went back in time" in caplog.text


async def test_a_bug_in_taking_in_one_group_keeps_no_other_from_being_seen(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = PodGroupServer(group("bug"), group("b"))
    async with following(server) as (log, _):
        await log.until(("begins", ""), (None, "b"))
    assert [record.getMessage() for record in caplog.records if record.exc_info] == [
        "Failed to process PodGroup n/bug"
    ]


async def test_only_podgroups_and_discovery_are_asked_for() -> None:
    server = PodGroupServer(group("a"))
    async with following(server) as (log, _):
        await log.until(("begins", ""), (None, "a"))

    assert {path for verb, path in server.asked if verb in ("list", "watch")} == {
        f"{ROOT}/podgroups"
    }


async def test_a_watch_that_does_not_show_what_the_server_has_is_made_anew(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics §6.3"""
    monkeypatch.setattr(probe, "TURN_SECONDS", 0.01)
    server = PodGroupServer(group("a"))
    often = dataclasses.replace(HASTY, compare=0.1)
    async with following(server, timing=often) as (log, problems):
        await log.until(("begins", ""), (None, "a"))
        server.groups.append(group("b", 4))  # and no watch tells of it
        await log.until(("begins", ""), (None, "a"), ("begins", ""), (None, "a"), (None, "b"))
        await eventually(lambda: not problems.active)
    [problem] = logged_problems(caplog)
    assert problem.startswith("The watch of podgroups.enbloc.dev is stale: a list has n/b of ")


async def test_a_missing_verb_is_said_in_one_line_and_given_later_is_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = 'podgroups.enbloc.dev is forbidden: User "u" cannot watch resource "podgroups"'
    server = PodGroupServer(group("a"))
    server.spoil = lambda verb, _: refusal(403, "Forbidden", words) if verb == "watch" else None
    with caplog.at_level(logging.INFO):
        async with following(server) as (log, problems):
            await eventually(lambda: problems.active)
            seen_then = len(log.lines)
            await eventually(lambda: len(log.lines) > seen_then + 3)
            server.spoil = lambda _verb, _path: None
            await eventually(lambda: not problems.active)

    assert logged_problems(caplog) == [f"Cannot watch podgroups.enbloc.dev: {words}"]


async def test_a_missing_list_verb_is_said_with_the_fix(caplog: pytest.LogCaptureFixture) -> None:
    server = PodGroupServer(group("a"))
    server.spoil = lambda verb, _: refusal(403, "Forbidden", "no") if verb == "list" else None
    async with following(server) as (log, problems):
        await eventually(lambda: problems.active)
        server.spoil = lambda _verb, _path: None
        await log.until(("begins", ""), (None, "a"))
        assert not problems.active

    words = "Cannot list podgroups.enbloc.dev: 403 Forbidden: no"
    assert logged_problems(caplog) == [f'{words} (grant the verb "list" on podgroups.enbloc.dev)']


async def test_a_server_that_fails_once_is_nothing_to_tell_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures = iter([500, 500])

    def spoil(verb: str, _: str) -> web.Response | None:
        code = next(failures, None) if verb == "watch" else None
        return refusal(code, "InternalError") if code else None

    server = PodGroupServer(group("a"))
    server.spoil = spoil
    async with following(server) as (log, problems):
        await log.until(("begins", ""), (None, "a"), ("begins", ""), (None, "a"))
        assert not problems.active

    assert logged_problems(caplog) == []


async def test_discovery_that_lags_behind_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    empty = iter([True])

    def spoil(_: str, path: str) -> web.Response | None:
        lags = path == ROOT and next(empty, False)
        return web.json_response({"resources": []}) if lags else None

    server = PodGroupServer(group("a"))
    server.spoil = spoil
    async with following(server) as (log, _):
        await log.until(("begins", ""), ("begins", ""), (None, "a"))

    assert logged_problems(caplog) == []


async def test_a_server_that_is_not_there_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(PodGroupServer()) as url:
        pass
    problems = Problems()
    async with Client(Cluster(url), component="test", clock=time_source()) as client:
        log = Log()
        task = asyncio.create_task(Groups(client, problems, log.begins, log.seen, HASTY).follow())
        await asyncio.sleep(0.3)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert len(logged_problems(caplog)) == 1
    assert logged_problems(caplog)[0].startswith("The API server cannot be reached: Cannot connect")


async def test_the_token_is_the_clients_and_read_again_when_it_is_refused(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    server = PodGroupServer(group("a"))
    async with following(server, TokenFile(token)) as (log, _):
        await log.until(("begins", ""), (None, "a"))
        assert set(server.authorized) == {"Bearer old"}

        token.write_text("new")
        server.authorized.clear()
        refused = iter([True])
        server.spoil = lambda verb, _: (
            refusal(401, "Unauthorized") if verb == "watch" and next(refused, False) else None
        )
        server.tell("ERROR", {"code": 410})  # makes kopf list and watch again
        await eventually(lambda: "Bearer new" in server.authorized)


async def watch(login: Login) -> None:
    async with asyncio.timeout(20):
        await Watch(login, Log().seen, (0.01,), time_source().new_loop).run()


async def test_credentials_that_stay_refused_end_the_watch() -> None:
    server = PodGroupServer()
    server.spoil = lambda _verb, _path: refusal(401, "Unauthorized", "who are you?")
    async with serving(server) as url:
        with pytest.raises(WatchFailed, match="the API server rejected the credentials"):
            await watch(Login(Cluster(url)))


async def test_credentials_that_cannot_be_read_end_the_watch(tmp_path: Path) -> None:
    async with serving(PodGroupServer()) as url:
        cluster = Cluster(url, auth=TokenFile(tmp_path / "none"))
        with pytest.raises(ConfigError, match="cannot read the token"):
            await watch(Login(cluster))


async def test_a_server_without_podgroups_ends_the_watch() -> None:
    server = PodGroupServer()
    server.spoil = lambda _, path: refusal(404, "NotFound") if path == ROOT else None
    async with serving(server) as url:
        with pytest.raises(NotServedYet):
            await watch(Login(Cluster(url)))


async def test_every_request_of_kopf_names_our_controller() -> None:
    server = PodGroupServer()
    server.spoil = lambda verb, _: refusal(401, "Unauthorized") if verb == "watch" else None
    async with serving(server) as url:
        with pytest.raises(WatchFailed):
            await watch(Login(Cluster(url)))
    assert server.agents == {f"enbloc-controller/{enbloc.__version__} kopf/{version('kopf')}"}


async def test_a_login_for_a_cluster_without_credentials_never_expires() -> None:
    connection = await Login(Cluster("http://x", namespace="n"))()

    assert (connection.server, connection.default_namespace) == ("http://x", "n")
    assert connection.expiration is None
    assert connection.as_http_headers() == {}


async def test_a_login_with_a_token_expires(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    login = Login(Cluster("https://x", auth=TokenFile(tmp_path / "token"), verify=False))
    connection = await login()

    assert connection.expiration is not None
    assert connection.as_http_headers() == {"Authorization": "Bearer secret"}
    assert connection.as_ssl_context() is connection.tls
    again = await login()
    assert again == dataclasses.replace(connection, expiration=again.expiration)


def test_kopfs_lines_come_through_without_chatter(caplog: pytest.LogCaptureFixture) -> None:
    unserved: list[bool] = []
    kopf = logging.getLogger("kopf.some.where")
    with caplog.at_level(logging.DEBUG), KopfLogHandler(lambda: unserved.append(True)):
        kopf.info("Initial authentication has finished.")
        kopf.warning("Something is odd: %s", "this")
        kopf.error("Request attempt #1/2 failed; will retry: GET https://x -> Error()")
        kopf.warning("Unresolved resources cannot be served (try creating their CRDs): {}")
        kopf.error("Watcher has failed", exc_info=ValueError())
    kopf.warning("after")

    levels = {record.getMessage(): record.levelname for record in caplog.records}
    assert levels == {
        "kopf: Initial authentication has finished.": "DEBUG",
        "kopf: Something is odd: this": "WARNING",
        "kopf: Request attempt #1/2 failed; will retry: GET https://x -> Error()": "DEBUG",
        "kopf: Unresolved resources cannot be served (try creating their CRDs): {}": "DEBUG",
        "kopf: Watcher has failed": "DEBUG",
        "after": "WARNING",
    }
    assert unserved == [True]
