# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
from typing import Any

import msgspec
from aiohttp import web

from enbloc.engine.events import PodGone, PodSeen, Stream, Synced
from enbloc.live.inbox import Inbox
from enbloc.live.notes import Notes
from enbloc.live.reflect import Feeds
from enbloc.live.statuses import PodConditions
from enbloc.telemetry import Troubles
from tests.kube.fake import answer, pod, pods, talking_to


class Server:
    """Lists a good pod and one that cannot be read, and keeps what events are written."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.written = asyncio.Event()

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "POST":
            self.events.append(msgspec.json.decode(await request.read()))
            self.written.set()
            return answer(self.events[-1], 201)
        if "watch" in request.query:
            response = web.StreamResponse()
            await response.prepare(request)
            gone = {"type": "DELETED", "object": pod("good", 9)}
            await response.write(msgspec.json.encode(gone) + b"\n")
            await asyncio.sleep(60)
            return response
        return pods(7, pod("good", 5), pod("bad", 6, priority="high"))


async def test_an_object_that_cannot_be_read_is_told_of_and_the_stream_goes_on() -> None:
    server, inbox, troubles = Server(), Inbox(), Troubles()
    async with talking_to(server) as client, Notes(client) as notes:
        feed = Feeds(client, inbox, notes, troubles).pods(
            PodConditions(client, lambda: 0.0, troubles)
        )
        running = asyncio.create_task(feed.run())
        async with asyncio.timeout(10):
            await feed.synced.wait()
            await server.written.wait()
            events = list(inbox.take())
            while len(events) < 3:
                await inbox.wait(None)
                events += inbox.take()
        running.cancel()
        await asyncio.wait([running])
    seen, synced, gone = events
    assert isinstance(seen, PodSeen)
    assert seen.pod.key.name == "good"
    assert synced == Synced(Stream.PODS)
    assert isinstance(gone, PodGone)
    [event] = server.events
    assert event["reason"] == "MalformedObject"
    assert event["regarding"]["name"] == "bad"
    assert "spec.priority" in event["note"]
