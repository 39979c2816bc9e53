# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""An HTTP extender on a real socket, which answers as a test tells it."""

import inspect
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from enbloc.framework.extenders import Extender
from enbloc.model.credentials import URL
from tests.client.fake import serving


class FakeExtender:
    """Answers each verb; a verb without an answer is 404.

    Attributes:
        answers: by verb: what to answer as JSON, or a function of the arguments.
        asked: (verb, arguments) of all calls.
        url: where it serves.
    """

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = answers
        self.asked: list[tuple[str, Any]] = []
        self.url = ""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        verb = request.path.rsplit("/", 1)[-1]
        arguments = msgspec.json.decode(await request.read())
        assert request.method == "POST"
        assert request.content_type == "application/json"
        self.asked.append((verb, arguments))
        if verb not in self.answers:
            return web.Response(status=404, text="no such verb")
        answer = self.answers[verb]
        if inspect.iscoroutinefunction(answer):
            answer = await answer(arguments)
        return answer if isinstance(answer, web.StreamResponse) else web.json_response(answer)

    @asynccontextmanager
    async def serving(self, tls: ssl.SSLContext | None = None) -> AsyncGenerator["FakeExtender"]:
        """Serve below /sched/."""
        async with serving(self, tls) as url:
            self.url = f"{url}/sched/"
            yield self

    def extender(self, **more: Any) -> Extender:
        """What a profile says of it."""
        verbs: dict[str, Any] = {f"{verb}_verb": verb for verb in self.answers}
        return Extender(URL(self.url), **verbs, **more)
