# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A server with PodGroups and nothing else, whose answers a test can spoil."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiohttp import web

ROOT = "/apis/enbloc.dev/v1alpha1"
KINDS = {
    "/api/v1": ["namespaces", "events"],
    "/apis/apiextensions.k8s.io/v1": ["customresourcedefinitions"],
    ROOT: ["podgroups"],
}


class PodGroupServer:
    """Serves discovery, and list and watch of PodGroups.

    Args:
        groups: the PodGroups that there are.
        kinds: what discovery shows, by path.

    Attributes:
        spoil: asked first, with the verb ("get", "list", "watch", "patch") and the path: an
            answer of its own, or None.
        version: the resourceVersion of its lists.
        asked: verb and path of every request.
        authorized: the Authorization header of every request.
        agents: the User-Agent headers.
    """

    def __init__(self, *groups: dict[str, Any], kinds: Mapping[str, Sequence[str]] = KINDS) -> None:
        self.groups = list(groups)
        self.version = 9
        self._kinds = kinds
        self.agents: set[str] = set()
        self.spoil: Callable[[str, str], web.Response | None] = lambda _verb, _path: None
        self.asked: list[tuple[str, str]] = []
        self.authorized: list[str | None] = []
        self._watchers: list[asyncio.Queue[dict[str, Any]]] = []

    def tell(self, kind: str, group: dict[str, Any]) -> None:
        """An event for all watches."""
        for watcher in self._watchers:
            watcher.put_nowait({"type": kind, "object": group})

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        listing = path == f"{ROOT}/podgroups"
        verb = "list" if listing else {"PATCH": "patch"}.get(request.method, "get")
        verb = "watch" if "watch" in request.query else verb
        self.asked.append((verb, path))
        self.authorized.append(request.headers.get("Authorization"))
        self.agents.add(request.headers.get("User-Agent", ""))
        spoilt = self.spoil(verb, path)
        if spoilt is not None:
            return spoilt
        if verb == "watch":
            return await self._watch(request)
        if listing:
            return web.json_response(
                {"metadata": {"resourceVersion": str(self.version)}, "items": self.groups}
            )
        if path not in self._kinds and path not in ("/api", "/apis"):
            return web.json_response({"kind": "Status", "status": "Failure"}, status=404)
        return web.json_response(_discovery(path, self._kinds))

    async def _watch(self, request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._watchers.append(events)
        while True:
            await response.write(json.dumps(await events.get()).encode() + b"\n")


def _discovery(path: str, kinds: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    if path == "/api":
        return {"versions": ["v1"]}
    if path == "/apis":
        versions = [p.removeprefix("/apis/").split("/") for p in kinds if p.startswith("/apis/")]
        return {
            "groups": [
                {"name": name, "versions": [{"version": v}], "preferredVersion": {"version": v}}
                for name, v in versions
            ]
        }
    return {
        "resources": [
            {
                "name": plural,
                "kind": plural[:-1].capitalize(),
                "singularName": plural[:-1],
                "namespaced": plural != "customresourcedefinitions",
                "verbs": ["list", "watch", "patch"],
            }
            for plural in kinds[path]
        ]
    }


def group(name: str, version: int = 1, **more: Any) -> dict[str, Any]:
    """A PodGroup as a server shows it."""
    metadata = {
        "name": name,
        "namespace": "n",
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
        "generation": 1,
    }
    kind = {"apiVersion": "enbloc.dev/v1alpha1", "kind": "PodGroup"}
    return {**kind, "metadata": metadata, "spec": {"minMember": 1}, **more}
