# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One embedded API server: start, stop, where it listens, its kubeconfig."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import yaml
from aiohttp import web

from enbloc_sandbox.apiserver.faults import Faults
from enbloc_sandbox.apiserver.garbage_collector import Collector
from enbloc_sandbox.apiserver.http.handler import Http
from enbloc_sandbox.apiserver.kinds.registry import hooks, seed
from enbloc_sandbox.apiserver.request.options import Options
from enbloc_sandbox.apiserver.storage.catalog import Catalog
from enbloc_sandbox.apiserver.storage.store import Watcher
from enbloc_sandbox.apiserver.verbs.api import Api

#: Clients that connect at once; the kernel makes those beyond it wait for a second or more.
BACKLOG: Final = 1024
HOST: Final = "127.0.0.1"  # and no other: there is no authentication

#: In the repository a link to its `crds/`, which a wheel has the files of.
_CRDS: Final = Path(__file__).with_name("crds")


def load_crds() -> list[dict[str, Any]]:
    """The CRDs of enbloc.

    Raises:
        FileNotFoundError: a checkout or package without them.
    """
    if files := sorted(_CRDS.glob("*.yaml")):
        return [yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader) for file in files]
    raise FileNotFoundError(f"no CRDs in {_CRDS}")


def resource_names() -> frozenset[str]:
    """What a fault may concern: the resources that are served, with the CRDs of enbloc.

    Subresources are named as in "pods/binding".
    """
    served = [(each.plural, each.subresources) for each in Catalog()]
    for crd in load_crds():
        plural = crd["spec"]["names"]["plural"]
        served += [(plural, each.get("subresources", {})) for each in crd["spec"]["versions"]]
    return frozenset(
        name for plural, below in served for name in (plural, *(f"{plural}/{sub}" for sub in below))
    )


class Sandbox:
    """An API server in this process.

    Args:
        port: 0 for any free one.
        crds: installed at start; give `load_crds()` for those of enbloc.
        faults: the fault hook; by default one that does nothing yet.
        control: whether POST /sandbox/faults drives the fault hook.
        advice: what to warn of who creates an object, by plural and group ("deployments.apps").
        clock: the time in seconds since the epoch.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        crds: Sequence[dict[str, Any]] | None = None,
        faults: Faults | None = None,
        control: bool = False,
        advice: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.faults = Faults() if faults is None else faults
        self._port = port
        self._crds = load_crds() if crds is None else list(crds)
        self._control = control
        self._advice = advice
        self._clock = clock
        self._api: Api | None = None
        self._server: web.Server | None = None
        self._runner: web.ServerRunner | None = None
        self._site: web.TCPSite | None = None
        self._closed: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """http://127.0.0.1:PORT."""
        return f"http://{HOST}:{self._port}"

    @property
    def watches(self) -> int:
        """How many watches are open."""
        return sum(1 for _ in self._watchers())

    async def start(self) -> None:
        """Listen. Raises OSError if the port is taken."""
        api = self._api = Api(self._clock, hooks(), self._advice)
        Collector(api)
        seed(api)
        for crd in self._crds:
            resource = api.catalog.builtin("customresourcedefinitions", "apiextensions.k8s.io")
            api.create(resource, "", crd, Options(manager="sandbox"))
        http = Http(api, self.faults, control=self._control)
        # Without cancellation an idle watch would outlive its client until the next event.
        self._server = web.Server(http.handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(self._server, shutdown_timeout=0)
        await self._runner.setup()
        await self._listen()
        self.faults.on_refuse = self._refuse
        self.faults.on_end = self._end_watches

    async def stop(self) -> None:
        """Drop all connections and forget everything."""
        if self._closed is not None:
            self._closed.cancel()
        self._end_watches(False)
        if self._runner is not None:
            await self._runner.cleanup()
        self._runner = self._site = self._server = self._api = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def kubeconfig(self) -> dict[str, Any]:
        """A complete kubeconfig document."""
        context = {"cluster": "sandbox", "user": "sandbox", "namespace": "default"}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "sandbox", "cluster": {"server": self.url}}],
            "users": [{"name": "sandbox", "user": {}}],
            "contexts": [{"name": "sandbox", "context": context}],
            "current-context": "sandbox",
        }

    def write_kubeconfig(self, path: Path) -> None:
        """Write the kubeconfig, readable by its owner only."""
        path.touch(mode=0o600)
        path.write_text(yaml.safe_dump(self.kubeconfig(), sort_keys=False), encoding="utf-8")

    # ── faults ───────────────────────────────────────────────────────────────────────────────

    async def _listen(self) -> None:
        assert self._runner is not None
        self._site = web.TCPSite(
            self._runner, HOST, self._port, backlog=BACKLOG, reuse_address=True
        )
        await self._site.start()
        self._port = self._runner.addresses[0][1]

    def _refuse(self, seconds: float) -> None:
        self._closed = asyncio.get_running_loop().create_task(self._away(seconds))

    async def _away(self, seconds: float) -> None:
        assert self._site is not None
        assert self._server is not None
        await self._site.stop()
        for connection in list(self._server.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await asyncio.sleep(seconds)
        await self._listen()

    def _watchers(self) -> Iterator[Watcher]:
        tables = self._api.store.tables().values() if self._api is not None else ()
        return (watcher for table in tables for watcher in table.watchers())

    def _end_watches(self, expired: bool) -> None:
        for watcher in self._watchers():
            watcher.end(expired=expired)
        if expired and self._api is not None:
            self._api.store.expire()
