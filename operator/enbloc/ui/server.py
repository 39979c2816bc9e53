# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The HTTP server of the page: answers browsers from the latest view, and only reads."""

import asyncio
import ipaddress
import logging
import re
import socket
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, fields
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from enbloc.errors import ConfigError
from enbloc.model.dns_names import LABEL
from enbloc.model.groups import GroupKey
from enbloc.model.names import UI_PORT
from enbloc.model.text import whole_number
from enbloc.process.workers import TooMuchAskedError, WorkerEndedError
from enbloc.telemetry import Certificates, listening
from enbloc.ui import questions
from enbloc.ui.access import Access, RefusedError
from enbloc.ui.group_page import explanation_page, group_page, under_way_page
from enbloc.ui.links import EXPLANATION, KINDS, key_of
from enbloc.ui.nodes_page import NodesQuery
from enbloc.ui.pages import EVENTS, Status, message
from enbloc.ui.queue_page import QueueQuery, queue_page
from enbloc.ui.state import Keeper, Latest
from enbloc.ui.time_page import WINDOWS, TimeQuery
from enbloc.ui.view import Viewer, shown
from enbloc.ui.what_if_page import MOST_BODY, WHAT_IF, WhatIfForm, what_if_page

#: The longest path with its query (bytes).
MOST_TARGET: Final = 2048
#: The most connections at once, of which one more ends the oldest; and the most event streams.
MOST_CONNECTIONS: Final = 256
#: The longest TLS handshake (seconds).
HANDSHAKE_SECONDS: Final = 5.0
MOST_STREAMS: Final = 64
#: The longest silence on an event stream, and the longest stream: then the browser reconnects, and
#: its access is checked again (seconds).
SILENCE_SECONDS: Final = 15.0
STREAM_SECONDS: Final = 300.0
#: How long a request waits for an explanation, and after how long the browser asks again (seconds).
PATIENCE_SECONDS: Final = 1.0
AGAIN_SECONDS: Final = 2
#: The longest time to receive a form (seconds).
FORM_SECONDS: Final = 10.0
#: How long a stop waits for open requests (seconds).
GRACE_SECONDS: Final = 1.0

POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Server": "enbloc",
}
_STATIC: Final = {
    "enbloc.css": "text/css",
    "enbloc.js": "text/javascript",
    "enbloc.svg": "image/svg+xml",
}
_READS: Final = ("GET", "HEAD")
#: An IPv6 address or a name, and maybe a port.
_HOST: Final = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+))(?::[0-9]{1,5})?")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Address:
    """Where the page is served.

    Attributes:
        host: an address of this machine; 0.0.0.0 and :: mean all of them.
        port: 0 for any free one.
        certificate: files of the certificate and of its key; None = a self-signed one, or plain
            HTTP on a loopback address.
    """

    host: str = "127.0.0.1"
    port: int = UI_PORT
    certificate: tuple[Path, Path] | None = None

    @property
    def local(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether a host name or address is a loopback one, which others cannot reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Site:
    """The pages of one cluster.

    Args:
        keeper: has the latest view.
        access: decides who may see what.
        local: whether to answer only requests whose Host is this machine, so that a foreign page
            whose DNS name resolves to this machine is refused.
    """

    def __init__(self, keeper: Keeper, access: Access, *, local: bool) -> None:
        self._keeper, self._access, self._local = keeper, access, local
        self._streams = 0
        self._answering = False
        self._closing = asyncio.Event()
        folder = files("enbloc.ui") / "static"
        self._static = {name: (folder / name).read_bytes() for name in _STATIC}

    def application(self) -> web.Application:
        """The application that answers requests."""
        app = web.Application(middlewares=[self._guarded], client_max_size=MOST_BODY)
        routes: Mapping[str, Handler] = {
            "/": self._queue,
            "/nodes": self._nodes,
            "/time": self._time,
            WHAT_IF: self._ask,
            EVENTS: self._events,
            "/static/{file}": self._file,
            "/livez": self._alive,
            "/readyz": self._ready,
            **{f"/{kind}/{{namespace}}/{{name}}": self._group for kind in KINDS},
            **{f"/{kind}/{{namespace}}/{{name}}/{EXPLANATION}": self._explain for kind in KINDS},
        }
        for path, handler in routes.items():
            app.router.add_get(path, handler)
        app.router.add_post(WHAT_IF, self._what_if)
        app.on_response_prepare.append(_prepare)
        app.on_shutdown.append(self._shut)
        return app

    async def _shut(self, app: web.Application) -> None:
        del app
        self._closing.set()

    # ── every request ────────────────────────────────────────────────────────────────────────

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse invalid requests, and turn errors into an error page."""
        try:
            self._check(request)
            return await handler(request)
        except RefusedError as error:
            return _refusal(error.code, str(error))
        except web.HTTPRequestEntityTooLarge:
            return _refusal(413, f"send at most {MOST_BODY >> 10} KiB")
        except web.HTTPException as error:
            return _refusal(error.status, "there is no such page")
        except TooMuchAskedError as error:
            return _refusal(503, str(error))
        except WorkerEndedError as error:
            logger.warning("Failed to serve %s: %s", request.path, error)
            self._keeper.make_anew()
            return _refusal(503, f"{error}; try again")
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:  # a bug must not close the connection without an answer
            logger.exception("Failed to serve %s", request.path)
            return _refusal(500, "the page cannot be made; the log says why")

    def _check(self, request: web.Request) -> None:
        """Check that a request may be answered.

        Raises:
            RefusedError: it may not be answered.
        """
        asks = request.method == "POST" and request.path == WHAT_IF
        if request.method not in _READS and not asks:
            raise RefusedError(405, "use GET or HEAD: nothing can be changed here")
        if len(request.raw_path) > MOST_TARGET:
            raise RefusedError(414, "the address is too long")
        if self._local and not _names_this_machine(request.headers.get("Host", "")):
            raise RefusedError(421, "this server answers to localhost and 127.0.0.1 only")
        site, mode = (request.headers.get(f"Sec-Fetch-{name}", "") for name in ("Site", "Mode"))
        if site in ("cross-site", "same-site") and mode != "navigate":
            raise RefusedError(403, "pages of others may lead here, and load nothing")
        if asks and not _from_here(request, site):
            raise RefusedError(403, "a form of this page sends it, and none of another")

    def _view(self, viewer: Viewer) -> Latest:
        """The latest view.

        Raises:
            RefusedError: there is none yet.
        """
        view = self._keeper.view
        if view is None:
            raise RefusedError(503, self._problem(viewer) or "the cluster is being read; try again")
        return view

    def _status(self, view: Latest, viewer: Viewer) -> Status:
        """The age of a view, and the problem that keeps it from being newer."""
        read_at = self._keeper.read_at(view)
        head, problem = view.head, self._problem(viewer)
        return Status(head.number, read_at, self._keeper.now(), problem, head.complete)

    def _problem(self, viewer: Viewer) -> str:
        """The first problem; in general words for viewers who may not see everything."""
        wrong = self._keeper.problems.active
        if not wrong:
            return ""
        return wrong[0] if viewer.everything else "the cluster cannot be read in full at present"

    # ── pages ────────────────────────────────────────────────────────────────────────────────

    async def _queue(self, request: web.Request) -> web.StreamResponse:
        query = QueueQuery(_text(request, "namespace"), _text(request, "name"), _page(request))
        viewer = await self._access.viewer(_authorization(request), ())
        view = self._view(viewer)
        namespaces = _asked(query.namespace, view.head.namespaces)
        viewer = await self._access.viewer(_authorization(request), namespaces, nodes=True)
        status = self._status(view, viewer)
        page = partial(queue_page, viewer=viewer, query=query, status=status)
        return _html(await view.read(page))

    async def _nodes(self, request: web.Request) -> web.StreamResponse:
        query = NodesQuery(_text(request, "rack"), _text(request, "shape"), _page(request))
        viewer = await self._access.viewer(_authorization(request), (), nodes=True)
        if not viewer.nodes:
            raise RefusedError(403, "you may not list the nodes of this cluster")
        view = self._view(viewer)
        namespaces = view.head.namespaces
        viewer = await self._access.viewer(_authorization(request), namespaces, nodes=True)
        found = await self._keeper.places(view, viewer)
        status = self._status(view, viewer)
        page = partial(
            questions.nodes,
            viewer=viewer,
            found=found,
            query=query,
            status=status,
            quarantined=self._keeper.node_events.quarantined(self._keeper.now()),
        )
        text = await view.read(page)
        if text is None:
            raise RefusedError(404, "there are no such nodes")
        return _html(text)

    async def _time(self, request: web.Request) -> web.StreamResponse:
        hours = _number(request, "hours", 0)
        query = TimeQuery(
            _text(request, "namespace"), hours if hours in WINDOWS else 0, _page(request)
        )
        viewer = await self._access.viewer(_authorization(request), ())
        view = self._view(viewer)
        namespaces = _asked(query.namespace, await view.read(questions.of_time))
        viewer = await self._access.viewer(_authorization(request), namespaces)
        status = self._status(view, viewer)
        page = partial(questions.time, viewer=viewer, query=query, status=status)
        return _html(await view.read(page))

    async def _group(self, request: web.Request) -> web.StreamResponse:
        view, key = await self._meant(request)
        viewer = await self._access.viewer(_authorization(request), (key.namespace,), nodes=True)
        explained = self._keeper.known(key)
        known = shown(explained, viewer) if explained is not None else None
        members = await view.read(partial(questions.members, key=key))
        history = await self._keeper.histories.of(key, members)
        page = partial(
            group_page,
            viewer=viewer,
            key=key,
            page=_page(request),
            status=self._status(view, viewer),
            known=known,
            history=history,
        )
        return _html(await view.read(page))

    async def _explain(self, request: web.Request) -> web.StreamResponse:
        view, key = await self._meant(request)
        viewer = await self._access.viewer(_authorization(request), (key.namespace,), nodes=True)
        if not await view.read(partial(questions.waits, key=key)):
            raise RefusedError(404, "it does not wait")
        asked = self._keeper.explanation(view, key)
        await asyncio.wait([asked.answer], timeout=PATIENCE_SECONDS)
        status = self._status(asked.view, viewer)
        if not asked.answer.done():
            again = {"Refresh": str(AGAIN_SECONDS)}
            return _html(under_way_page(key, status), 202, again)
        explained = asked.answer.result()
        if explained is None:
            raise RefusedError(404, "it does not wait")
        return _html(explanation_page(shown(explained, viewer), viewer, status))

    async def _ask(self, request: web.Request) -> web.StreamResponse:
        viewer = await self._access.viewer(_authorization(request), (), nodes=True)
        status = self._status(self._view(viewer), viewer)
        return _html(what_if_page(WhatIfForm(), None, status, nodes=viewer.nodes))

    async def _what_if(self, request: web.Request) -> web.StreamResponse:
        """Answer a what-if question; one at a time, because each may take long."""
        await self._access.viewer(_authorization(request), ())
        form = await _form(request)
        named = (form.namespace,) if LABEL.fullmatch(form.namespace) else ()
        viewer = await self._access.viewer(_authorization(request), named, nodes=True)
        view = self._view(viewer)
        if not named or not viewer.sees(form.namespace):
            raise RefusedError(403, "there is no such namespace, or you may not see its groups")
        if form.of_nodes and not viewer.nodes:
            raise RefusedError(403, "you may not list the nodes of this cluster")
        if self._answering:
            raise RefusedError(503, "another question is being answered; try again")
        self._answering = True
        try:
            told = await self._keeper.what_if(view, form, viewer)
        finally:
            self._answering = False
        status = self._status(view, viewer)
        return _html(what_if_page(form, told, status, nodes=viewer.nodes))

    async def _meant(self, request: web.Request) -> tuple[Latest, GroupKey]:
        """The group or pod that an address means.

        Raises:
            RefusedError: it does not exist, or the viewer may not see it; the message is the same.
        """
        info = request.match_info
        key = key_of(request.path.split("/")[1], info["namespace"], info["name"])
        namespaces = () if key is None else (key.namespace,)
        viewer = await self._access.viewer(_authorization(request), namespaces)
        view = self._view(viewer)
        if (
            key is None
            or not viewer.sees(key.namespace)
            or not await view.read(partial(questions.knows, key=key))
        ):
            raise RefusedError(404, "there is no such group or pod, or you may not see it")
        return view, key

    # ── other answers ────────────────────────────────────────────────────────────────────────

    async def _file(self, request: web.Request) -> web.StreamResponse:
        await self._access.viewer(_authorization(request), ())
        name = request.match_info["file"]
        if name not in self._static:
            raise RefusedError(404, "there is no such file")
        return web.Response(body=self._static[name], content_type=_STATIC[name], charset="utf-8")

    async def _alive(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(text="ok")

    async def _ready(self, request: web.Request) -> web.StreamResponse:
        del request
        if self._keeper.view is None:
            return web.Response(status=503, text="the cluster is being read\n")
        return web.Response(text="ok")

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Send the number of every new view, for up to STREAM_SECONDS."""
        await self._access.viewer(_authorization(request), ())
        if self._streams >= MOST_STREAMS:
            raise RefusedError(503, "too many browsers wait for news; reload the page instead")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if request.method == "HEAD":
            return response
        self._streams += 1
        try:
            with suppress(ConnectionError):
                await self._tell(response)
        finally:
            self._streams -= 1
        return response

    async def _tell(self, response: web.StreamResponse) -> None:
        loop = asyncio.get_running_loop()
        end, number = loop.time() + STREAM_SECONDS, 0
        closing = asyncio.ensure_future(self._closing.wait())
        newer = asyncio.ensure_future(self._keeper.newer(number))
        try:
            while loop.time() < end and not closing.done():
                await asyncio.wait(
                    {newer, closing},
                    timeout=SILENCE_SECONDS,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if newer.done():
                    number = newer.result()
                    newer = asyncio.ensure_future(self._keeper.newer(number))
                    await response.write(f"event: view\ndata: {number}\n\n".encode())
                else:
                    await response.write(b": nothing new\n\n")
        finally:
            closing.cancel()
            newer.cancel()


# ── reading requests ─────────────────────────────────────────────────────────────────────────


def _authorization(request: web.Request) -> str:
    return request.headers.get("Authorization", "")


def _text(request: web.Request, name: str) -> str:
    return request.query.get(name, "").strip()


def _page(request: web.Request) -> int:
    return _number(request, "page", 1)


def _number(request: web.Request, name: str, otherwise: int) -> int:
    number = whole_number(request.query.get(name, ""), 9)
    return otherwise if number is None else number


def _asked(namespace: str, every: Collection[str]) -> Collection[str]:
    """The namespaces for which access has to be decided."""
    if not namespace:
        return every
    # Text that is not a valid namespace is not reviewed.
    return (namespace,) if LABEL.fullmatch(namespace) else ()


async def _form(request: web.Request) -> WhatIfForm:
    """The content of a what-if form.

    Raises:
        RefusedError: it cannot be read, or does not arrive in time.
    """
    try:
        async with asyncio.timeout(FORM_SECONDS):
            sent = await request.post()
    except TimeoutError as error:
        raise RefusedError(408, "the form took too long") from error
    except (ValueError, LookupError, web.RequestPayloadError) as error:
        raise RefusedError(400, "the form cannot be read") from error
    given = {field.name: sent.get(field.name, "") for field in fields(WhatIfForm)}
    return WhatIfForm(**{name: v.strip() for name, v in given.items() if isinstance(v, str)})


def _from_here(request: web.Request, site: str) -> bool:
    """Whether a page of this server sends a form, by the browser's headers; without them, no.

    Because the pages send no referrer, browsers that send Sec-Fetch-Site send no usable Origin.
    """
    if site:
        return site == "same-origin"
    host = request.headers.get("Host", "")
    return bool(host) and urlsplit(request.headers.get("Origin", "")).netloc == host


def _names_this_machine(host: str) -> bool:
    """Whether a Host header names this machine, with any port."""
    found = _HOST.fullmatch(host)
    return found is not None and is_loopback((found[1] or found[2]).lower())


# ── answers ──────────────────────────────────────────────────────────────────────────────────


def _html(text: str, code: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(
        text=text, status=code, content_type="text/html", charset="utf-8", headers=headers
    )


_TITLES: Final = {
    401: "Who are you?",
    403: "Not allowed",
    404: "Not found",
    405: "Not allowed",
    413: "Too long",
    414: "Too long",
    421: "Not here",
    503: "Not now",
}


def _refusal(code: int, text: str) -> web.Response:
    headers = {401: {"WWW-Authenticate": "Bearer"}, 405: {"Allow": ", ".join(_READS)}}.get(code)
    title = _TITLES.get(code, "Failed")
    return _html(message(title, f"{text[:1].upper()}{text[1:]}."), code, headers)


async def _prepare(request: web.Request, response: web.StreamResponse) -> None:
    del request
    response.headers.update(HEADERS)


# ── serving ──────────────────────────────────────────────────────────────────────────────────


@asynccontextmanager
async def served(site: Site, address: Address) -> AsyncGenerator[str]:
    """Serve for as long as the context lasts; yields the URL.

    Raises:
        ConfigError: the address, the port or the certificate cannot be used.
    """
    listener = listening(address.host, address.port, "--port", zero="any free one")
    context = None if address.local else _tls(address)
    runner = web.AppRunner(
        site.application(),
        access_log=None,
        handle_signals=False,
        shutdown_timeout=GRACE_SECONDS,
        keepalive_timeout=30.0,
    )
    await runner.setup()
    assert runner.server is not None, "it was set up"
    limited = _Limited(runner.server)
    loop = asyncio.get_running_loop()
    # A connection does not count before its handshake has ended.
    hurry = None if context is None else HANDSHAKE_SECONDS
    server = await loop.create_server(
        limited, sock=listener, ssl=context, ssl_handshake_timeout=hurry
    )
    try:
        host = f"[{address.host}]" if ":" in address.host else address.host
        scheme = "http" if context is None else "https"
        yield f"{scheme}://{host}:{listener.getsockname()[1]}"
    finally:
        server.close()
        await runner.cleanup()


class _Limited:
    """Makes the protocol of a connection; one more than MOST_CONNECTIONS ends the oldest."""

    def __init__(self, server: web.Server) -> None:
        self._server = server

    def __call__(self) -> asyncio.BaseProtocol:
        there = self._server.connections
        for oldest in there[: max(0, len(there) + 1 - MOST_CONNECTIONS)]:
            transport = oldest.transport
            oldest.force_close()
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()  # `close` would wait for a client that reads nothing
        return self._server()


def _tls(address: Address) -> ssl.SSLContext:
    """The TLS context of all connections; its certificate may change with the files."""
    names = ("localhost", "127.0.0.1", "::1", socket.gethostname())
    certificates = Certificates(address.certificate, names=names)
    context = certificates.context()

    def choose(sock: ssl.SSLObject | ssl.SSLSocket, name: str | None, of: ssl.SSLContext) -> None:
        del name, of
        with suppress(ConfigError):
            sock.context = certificates.context()

    context.sni_callback = choose
    return context
