# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A scripted API server on a real socket: each test writes the handler that answers."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.client.items import Meta
from enbloc.model.request_rate import RequestRate

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Pod(msgspec.Struct):
    """What the tests read of a pod; ``spec`` is an object, so that a pod can be malformed."""

    metadata: Meta
    spec: dict[str, Any] = {}


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncGenerator[str, None]:
    """The base URL of a server that answers with the handler."""
    server = web.Server(handler, access_log=None)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls, backlog=1024)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def talking_to(handler: Handler, **options: Any) -> AsyncGenerator[Client, None]:
    """A client of a server that answers with the handler."""
    async with (
        serving(handler) as url,
        Client(Cluster(url), component="test", **options) as client,
    ):
        yield client


def answer(body: Any, code: int = 200, **headers: str) -> web.Response:
    return web.json_response(body, status=code, headers=headers)


def refusal(code: int, reason: str, message: str = "", **details: Any) -> web.Response:
    status = {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }
    return answer(status, code)


def pod(name: str, version: int, uid: str = "", **spec: Any) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(version),
    }
    return {"metadata": metadata, "spec": spec}


def pods(version: int, *items: Any, more: str = "") -> web.Response:
    metadata = {"resourceVersion": str(version)} | ({"continue": more} if more else {})
    return answer({"kind": "PodList", "metadata": metadata, "items": list(items)})


def event(kind: str, thing: Any) -> bytes:
    return msgspec.json.encode({"type": kind, "object": thing}) + b"\n"


def bookmark(version: int) -> bytes:
    return event("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(version)}})


async def stream(
    request: web.BaseRequest, lines: Iterable[bytes], then: str = "end"
) -> web.StreamResponse:
    """A watch that sends these bytes, and then ends, hangs or is reset."""
    response = web.StreamResponse()
    response.content_type = "application/json"
    await response.prepare(request)
    for line in lines:
        await response.write(line)
    if then == "hang":
        await asyncio.sleep(3600)
    if then == "reset":
        reset(request)
    return response


def reset(request: web.BaseRequest) -> None:
    """Drop the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()


class Script:
    """Answers one after the other; the last is repeated. Keeps requests and decoded bodies."""

    def __init__(self, *answers: Handler) -> None:
        self.answers = list(answers)
        self.seen: list[web.BaseRequest] = []
        self.bodies: list[Any] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        self.seen.append(request)
        body = await request.read()
        self.bodies.append(msgspec.json.decode(body) if body else None)
        next_answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await next_answer(request)


def says(response: Callable[[], web.StreamResponse]) -> Handler:
    """An answer that does not depend on the request."""

    async def handler(_: web.BaseRequest) -> web.StreamResponse:
        return response()

    return handler


#: One request at once, and another one after the test.
SELDOM = RequestRate(0.001, 1)


async def waits(work: Awaitable[Any]) -> bool:
    """Whether this waits for its turn."""
    try:
        async with asyncio.timeout(0.05):
            await work
    except TimeoutError:
        return True
    return False


#: What a proxy on the way may answer in the place of the API server.
HTML = says(lambda: web.Response(text="<html>", content_type="text/html"))
TOMORROW = says(lambda: answer({}, 429, **{"Retry-After": "86400"}))


async def hangs(_: web.BaseRequest) -> web.StreamResponse:
    await asyncio.sleep(3600)
    raise AssertionError


async def resets(request: web.BaseRequest) -> web.StreamResponse:
    reset(request)
    return web.Response()
