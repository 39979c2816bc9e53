# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""HTTP in and out: requests to verbs, refusals to Status bodies, faults on order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web

from enbloc_sandbox.apiserver import status
from enbloc_sandbox.apiserver.faults import Fault, Faults
from enbloc_sandbox.apiserver.http import discovery, openapi
from enbloc_sandbox.apiserver.http.reading import Form, Stream, listed
from enbloc_sandbox.apiserver.request import bodies
from enbloc_sandbox.apiserver.request.options import Deletion, Options
from enbloc_sandbox.apiserver.request.target import Target, resolve
from enbloc_sandbox.apiserver.status import Refused
from enbloc_sandbox.apiserver.storage.catalog import Catalog
from enbloc_sandbox.apiserver.storage.store import encode
from enbloc_sandbox.apiserver.verbs.api import Api
from enbloc_sandbox.apiserver.verbs.operations import Operations

_PROBES: Final = frozenset({"/readyz", "/livez", "/healthz"})
_JSON: Final = "application/json"

log = logging.getLogger(__name__)


class Cut(Exception):  # noqa: N818 - not an error: a fault on order
    """Close the connection without an answer."""


class Http:
    """The request handler of one sandbox.

    Args:
        control: whether POST /sandbox/faults is served.
    """

    def __init__(self, api: Api, faults: Faults, *, control: bool) -> None:
        self._api = api
        self._faults = faults
        self._control = control
        self._operations = Operations(api)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; the Date is that of the server's clock."""
        try:
            response = await self._answer(request)
        except Refused as refusal:
            response = _refusal(refusal)
        except Cut:
            if request.transport is not None:
                request.transport.abort()
            raise asyncio.CancelledError from None
        except Exception:
            log.exception("request failed: %s %s", request.method, request.path)
            response = _refusal(
                Refused(500, "InternalError", "Internal error: see the sandbox's log")
            )
        if not response.prepared:
            response.headers["Date"] = self._date()
        return response

    def _date(self) -> str:
        return formatdate(self._api.clock(), usegmt=True)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        depth = path.strip("/").count("/")
        if (path.startswith("/api/") and depth > 1) or (path.startswith("/apis/") and depth > 2):
            return await self._resource(request)
        if path == "/sandbox/faults" and self._control:
            return await self._order(request)
        if request.method not in {"GET", "HEAD"}:
            raise status.not_allowed("the server does not allow this method on the requested path")
        return self._document(request, path.rstrip("/") or "/")

    # ── documents ────────────────────────────────────────────────────────────────────────────

    def _document(self, request: web.BaseRequest, path: str) -> web.Response:
        accept = request.headers.get("Accept", "")
        catalog = self._api.catalog
        if path in _PROBES or path.startswith(("/readyz/", "/livez/", "/healthz/")):
            return web.Response(text="ok")
        if (
            path in {"/api", "/apis"}
            and "g=apidiscovery.k8s.io" in accept
            and "v=v2;" in f"{accept};"
        ):
            body = encode(discovery.aggregated(catalog, core=path == "/api"))
            return web.Response(body=body, headers={"Content-Type": discovery.AGGREGATED})
        found = _described(catalog, path, request.host)
        if found is None:
            group = (path.split("/")[2:3] or [""])[0] if path.startswith("/apis/") else None
            known = path.startswith("/api/") or (group and catalog.is_builtin(group))
            raise status.no_route() if known else status.NoPath
        return _json(encode(found))

    async def _order(self, request: web.BaseRequest) -> web.Response:
        document = bodies.read(await request.read(), request.headers.get("Content-Type", ""))
        try:
            self._faults.order(document)
        except ValueError as error:
            raise status.bad_request(str(error)) from None
        return _json(encode(status.success()))

    # ── resources ────────────────────────────────────────────────────────────────────────────

    async def _resource(self, request: web.BaseRequest) -> web.StreamResponse:
        query = request.rel_url.query
        target = resolve(self._api.catalog, request.method, request.path, query)
        fault = self._faults.take(target.verb, target.what)
        if fault is None:
            return await self._serve(request, target)
        await asyncio.sleep(fault.delay)
        if fault.after_commit:
            await self._serve(request, target)
        elif not (fault.status or fault.hang):
            return await self._serve(request, target)
        return await _strike(fault, target)

    async def _serve(self, request: web.BaseRequest, target: Target) -> web.StreamResponse:
        query = request.rel_url.query
        form = Form.of(request.headers.get("Accept", ""), query.get("includeObject", ""))
        api, resource = self._api, target.resource
        match target.verb:
            case "watch":
                stream = Stream(api, resource, target.namespace, query, form)
                return await _stream(request, stream, self._date())
            case "list":
                return _json(listed(api, resource, target.namespace, query, form))
            case "get":
                return _json(form.one(api, resource, self._operations.get(target)))
            case _:
                return await self._write(request, target, form)

    async def _write(
        self, request: web.BaseRequest, target: Target, form: Form
    ) -> web.StreamResponse:
        query = request.rel_url.query
        options = Options.of(query, request.headers.get("User-Agent", ""), target.verb)
        media = request.headers.get("Content-Type", "")
        data = await request.read()
        if target.verb in {"delete", "deletecollection"}:
            body = bodies.read(data, media) if data else {}
            # Options in a body replace those in the query; the API server merges nothing.
            given = {} if data else query
            how = Deletion.of(given, body, dry_run=options.dry_run and not data)
            return self._delete(target, how, query, form)
        code, item = self._operations.write(target, data, media, options)
        if isinstance(item, dict):
            return _json(encode(item), code, options.warnings)
        return _json(form.one(self._api, target.resource, item), code, options.warnings)

    def _delete(
        self, target: Target, how: Deletion, query: Mapping[str, str], form: Form
    ) -> web.Response:
        resource = target.resource
        warning = self._api.kind(resource.storage).delete_warning
        warnings = [warning] if warning and not how.propagation else []
        if target.verb == "deletecollection":
            items = self._operations.delete_collection(target, how, query)
            metadata = {"resourceVersion": str(self._api.store.rv)}
            return _json(form.many(self._api, resource, items, metadata), 200, warnings)
        item, gone = self._api.delete(resource, target.key, how)
        if gone and not self._api.kind(resource.storage).returns_deleted:
            details = status.details_of(resource, target.name)
            done = status.success({**details, "uid": item.obj["metadata"]["uid"]})
            return _json(encode(done), 200, warnings)
        return _json(form.one(self._api, resource, item), 200, warnings)


def _described(catalog: Catalog, path: str, host: str) -> Mapping[str, Any] | None:
    """The document at a path that is not a resource's."""
    match path.strip("/").split("/"):
        case [""]:
            return {"paths": sorted([*_PROBES, "/api", "/apis", "/openapi/v3", "/version"])}
        case ["version"]:
            return discovery.version()
        case ["api"]:
            return discovery.core_versions(host)
        case ["apis"]:
            return discovery.group_list(catalog)
        case ["api", version]:
            return discovery.resource_list(catalog, "", version)
        case ["apis", group]:
            return discovery.group(catalog, group)
        case ["apis", group, version]:
            return discovery.resource_list(catalog, group, version)
        case ["openapi", "v3", *rest]:
            return openapi.document(catalog, "/".join(rest))
        case _:
            return None


def _json(body: bytes, code: int = 200, warnings: list[str] | None = None) -> web.Response:
    answer = web.Response(body=body, status=code, headers={"Content-Type": _JSON})
    for text in warnings or ():
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        answer.headers.add("Warning", f'299 - "{quoted}"')
    return answer


def _refusal(refusal: Refused) -> web.Response:
    if isinstance(refusal, status.NoPath):
        return web.Response(text=f"{refusal.message}\n", status=refusal.code)
    answer = _json(encode(refusal.status()), refusal.code)
    seconds = (refusal.details or {}).get("retryAfterSeconds")
    if seconds is not None:
        answer.headers["Retry-After"] = str(seconds)
    return answer


async def _strike(fault: Fault, target: Target) -> web.Response:
    if fault.hang:
        await asyncio.Event().wait()
    if fault.status is None:
        raise Cut
    return _refusal(fault.refusal(target.verb, target.what))


async def _stream(request: web.BaseRequest, stream: Stream, date: str) -> web.StreamResponse:
    headers = {"Content-Type": _JSON, "Date": date}
    answer = web.StreamResponse(status=HTTPStatus.OK, headers=headers)
    answer.enable_chunked_encoding()
    await answer.prepare(request)
    # The watcher is removed in the generator's finally: close it when the client goes away.
    # It may do so in the middle of a line, which is no fault of anybody.
    with contextlib.suppress(ConnectionResetError):
        async with contextlib.aclosing(stream.lines()) as lines:
            async for chunk in lines:
                await answer.write(chunk)
        await answer.write_eof()
    return answer
