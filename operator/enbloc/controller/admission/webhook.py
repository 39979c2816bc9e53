# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The webhooks' server: HTTPS for the API server; reloads its certificate when that changes."""

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from aiohttp import web

from enbloc.controller.admission.review import (
    Decide,
    ReviewError,
    reviewed,
    scheduled_by,
    warned_pod,
)
from enbloc.errors import ConfigError
from enbloc.process.serving import Webhooks

#: The largest review (bytes): the API server sends the old and the new object, each up to 3 MiB.
LARGEST: Final = 8 * 2**20
#: Seconds between two checks of the certificate files.
LOOK_SECONDS: Final = 10.0
#: All addresses, IPv4 and IPv6.
_ANY: Final = ("0.0.0.0", "::")  # noqa: S104  # compared, not bound

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

logger = logging.getLogger(__name__)


@asynccontextmanager
async def serve_webhooks(webhooks: Webhooks, names: Collection[str]) -> AsyncGenerator[None]:
    """Serve the webhooks inside the context.

    Args:
        webhooks: the address and the certificate.
        names: the schedulerNames that we serve.

    Raises:
        ConfigError: the port or the certificate cannot be used.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    state = _load(context, webhooks.certificate)
    app = web.Application(client_max_size=LARGEST)
    app.router.add_post("/mutate/pods/{scheduler}", _injecting(names))
    app.router.add_post("/mutate/pods/{scheduler}/{kinds}", _injecting(names))
    app.router.add_post("/validate/pods", _answering(warned_pod(names)))
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    reloading: asyncio.Task[None] | None = None
    try:
        host = None if webhooks.bind_address in _ANY else webhooks.bind_address
        site = web.TCPSite(runner, host, webhooks.port, ssl_context=context)
        try:
            await site.start()
        except OSError as error:
            raise ConfigError(f"--webhook-port {webhooks.port}: {error.strerror}") from error
        reloading = asyncio.create_task(_keep_loading(context, webhooks.certificate, state))
        logger.info("Serving admission webhooks on port %d", webhooks.port)
        yield
    finally:
        if reloading is not None:
            reloading.cancel()
        await runner.cleanup()


def _answering(decide: Decide) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return _reply(await request.read(), decide)

    return answer


def _injecting(names: Collection[str]) -> Handler:
    """Handle `/mutate/pods/NAME/job.statefulset`: schedulerName and kinds of the pods' owners.

    A webhook's path may hold only lower-case letters, dots and dashes.
    """

    async def answer(request: web.Request) -> web.StreamResponse:
        scheduler = request.match_info["scheduler"]
        if scheduler not in names:
            return web.Response(status=404, text=f"no scheduler of ours is named {scheduler}\n")
        kinds = [kind for kind in request.match_info.get("kinds", "").split(".") if kind]
        return _reply(await request.read(), scheduled_by(scheduler, kinds))

    return answer


def _reply(raw: bytes, decide: Decide) -> web.Response:
    try:
        return web.Response(body=reviewed(raw, decide), content_type="application/json")
    except ReviewError as error:
        return web.Response(status=400, text=f"{error}\n")


def _load(context: ssl.SSLContext, files: tuple[Path, Path]) -> tuple[float, ...]:
    """Use this certificate for new connections; return the state of its files."""
    try:
        state = tuple(path.stat().st_mtime_ns for path in files)
        context.load_cert_chain(*files)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"--webhook-cert-file {files[0]}, --webhook-key-file {files[1]}: cannot be used: "
            f"{error}"
        ) from error
    return state


async def _keep_loading(
    context: ssl.SSLContext, files: tuple[Path, Path], state: tuple[float, ...]
) -> None:
    """Reload the certificate whenever its files change."""
    problem = ""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            if tuple(path.stat().st_mtime_ns for path in files) == state:
                continue
            state = _load(context, files)
            problem = ""
            logger.info("Serving admission webhooks with a new certificate")
        except (OSError, ConfigError) as error:
            if str(error) != problem:
                problem = str(error)
                logger.error("%s; going on with the one before", error)  # noqa: TRY400
