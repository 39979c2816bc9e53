# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the suite runs on: the embedded sandbox, or a real control plane; one interface."""

import asyncio
import datetime as dt
import socket
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self
from urllib.parse import urlsplit

import aiohttp
import yaml

from enbloc.model import names
from hack.build_controlplane import built
from tests.controlplane import ControlPlane
from tests.e2e.processes import environment
from tests.hack.processes import Process, wait_until

ROOT = Path(__file__).parent.parent.parent
CRDS = ROOT / "crds"
INSTALL = ROOT / "manifests" / "install.yaml"
KINDS = ROOT / "manifests" / "enbloc-crds.yaml"
#: What of install.yaml is applied: there is no kubelet that could run our image.
NOT_APPLIED = {"Deployment", "PodDisruptionBudget", "Service"}

Component = Literal["scheduler", "controller"]


class Target(Protocol):
    """An API server with enbloc's kinds installed, that can be disturbed."""

    #: Node lifecycle, Jobs, service accounts are seen to by a kube-controller-manager.
    complete: bool
    #: What an object owned is deleted after it.
    collects: bool

    @property
    def url(self) -> str:
        """The API server's address."""
        ...

    @property
    def kubeconfig(self) -> Path:
        """The administrator's."""
        ...

    def kubeconfig_of(self, component: Component) -> Path:
        """That of one of our processes, with the permissions it is given and no more."""
        ...

    def check(self) -> None:
        """Raise if the API server has died."""
        ...

    async def restart_server(self, down_seconds: float, *, crash: bool = False) -> None:
        """Have the server go away and come back with all that it held."""
        ...

    async def crash(self, down_seconds: float) -> None:
        """Have the server and its store end as in a power cut, and come back."""
        ...

    async def expire_watches(self) -> None:
        """End all watches, and refuse to resume those that are behind (410)."""
        ...

    def without_permission(
        self, component: Component, verb: str, resource: str
    ) -> AbstractAsyncContextManager[None]:
        """Answer 403 to one of our processes for this verb, for as long as the context lasts."""
        ...

    def kubectl(self) -> tuple[Path, Mapping[str, str]]:
        """The kubectl that `make e2e` has built, and the environment of the administrator."""
        ...


@dataclass(frozen=True)
class Exempt:
    """A time in which refusals are no fault of ours; `verb` and `resource` None are all."""

    since: dt.datetime
    until: dt.datetime
    verb: str | None = None
    resource: str | None = None


@dataclass
class ControlPlaneTarget:
    """A real control plane, on which enbloc has the roles of manifests/."""

    cp: ControlPlane
    exempt: list[Exempt] = field(default_factory=list)
    _kubeconfigs: dict[Component, Path] = field(default_factory=dict)
    complete: bool = True

    def __post_init__(self) -> None:
        self.collects = self.complete
        for file in (KINDS, INSTALL):
            for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
                if document["kind"] not in NOT_APPLIED:
                    self.cp.apply(document)
        self.cp.established(CRD_NAME)

    @property
    def url(self) -> str:
        return self.cp.url

    @property
    def kubeconfig(self) -> Path:
        return self.cp.kubeconfig

    def kubeconfig_of(self, component: Component) -> Path:
        if component not in self._kubeconfigs:
            self._kubeconfigs[component] = self.cp.kubeconfig_for_service_account(
                names.NAMESPACE, f"enbloc-{component}"
            )
        return self._kubeconfigs[component]

    def check(self) -> None:
        self.cp.check()

    async def restart_server(self, down_seconds: float, *, crash: bool = False) -> None:
        since = dt.datetime.now(dt.UTC)
        await asyncio.to_thread(self.cp.restart_apiserver, down_seconds, crash=crash)
        # It answers before it knows the roles, and then refuses everybody but the administrator.
        self.exempt.append(Exempt(since, dt.datetime.now(dt.UTC)))

    async def crash(self, down_seconds: float) -> None:
        since = dt.datetime.now(dt.UTC)
        await asyncio.to_thread(self.cp.crash, down_seconds)
        self.exempt.append(Exempt(since, dt.datetime.now(dt.UTC)))

    async def expire_watches(self) -> None:
        # What a server remembers of changes begins at its start: whoever is behind that gets 410.
        await self.restart_server(0, crash=True)

    @asynccontextmanager
    async def without_permission(
        self, component: Component, verb: str, resource: str
    ) -> AsyncGenerator[None]:
        path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/enbloc-{component}"
        before = (await asyncio.to_thread(self.cp.ask, "GET", path))["rules"]
        group = _group(before, verb, resource)
        since = dt.datetime.now(dt.UTC)
        try:
            await self._set_rules(path, list(_without(before, verb, resource)))
            await self._until_allowed(component, verb, resource, group, allowed=False)
            yield
        finally:
            await self._set_rules(path, before)
            await self._until_allowed(component, verb, resource, group, allowed=True)
            self.exempt.append(Exempt(since, dt.datetime.now(dt.UTC), verb, resource))

    async def _set_rules(self, path: str, rules: list[dict[str, Any]]) -> None:
        merge = "application/merge-patch+json"
        await asyncio.to_thread(self.cp.ask, "PATCH", path, {"rules": rules}, kind=merge)

    async def _until_allowed(
        self, component: Component, verb: str, resource: str, group: str, *, allowed: bool
    ) -> None:
        """Wait until the authorizer knows: it learns of changed roles by watches of its own."""
        plural, _, subresource = resource.partition("/")
        about = {"verb": verb, "group": group, "resource": plural, "subresource": subresource}
        review = {"spec": {"user": user_name(component), "resourceAttributes": about}}
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

        def as_wanted() -> bool:
            return bool(self.cp.ask("POST", path, review)["status"]["allowed"]) is allowed

        what = f"{component} {'may' if allowed else 'may not'} {verb} {resource}"
        await asyncio.to_thread(wait_until, what, as_wanted, [])

    def kubectl(self) -> tuple[Path, Mapping[str, str]]:
        return self.cp.bin("kubectl"), environment() | self.cp.kubectl_environment()


class SandboxTarget:
    """The embedded API server, in a process of its own.

    Args:
        directory: for its log and its kubeconfig.
    """

    complete = False
    collects = True

    def __init__(self, directory: Path) -> None:
        self.kubeconfig = directory / "sandbox.kubeconfig"
        command = [sys.executable, "-m", "tests.e2e.sandbox_server", str(self.kubeconfig)]
        self._server = Process("sandbox", command, directory / "sandbox.log", environment())

    def __enter__(self) -> Self:
        self._server.start()
        try:
            wait_until("the sandbox serves", self._says_where, [self._server])
        except BaseException:
            self._server.stop()
            raise
        document = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        self.url = str(document["clusters"][0]["cluster"]["server"])
        return self

    def _says_where(self) -> bool:
        return self.kubeconfig.exists() and "current-context" in self.kubeconfig.read_text()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.stop()

    def kubeconfig_of(self, component: Component) -> Path:
        del component  # there are no roles
        return self.kubeconfig

    def check(self) -> None:
        self._server.check()

    async def restart_server(self, down_seconds: float, *, crash: bool = False) -> None:
        del crash  # its connections are always reset
        await self._order(do="refuse", seconds=down_seconds)
        there = urlsplit(self.url)

        def listens() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex((there.hostname, there.port)) == 0

        await asyncio.sleep(down_seconds)
        await asyncio.to_thread(wait_until, "the sandbox is back", listens, [self._server], 10)

    async def crash(self, down_seconds: float) -> None:
        await self.restart_server(down_seconds)  # its store is its memory

    async def expire_watches(self) -> None:
        await self._order(do="expire_watches")

    @asynccontextmanager
    async def without_permission(
        self, component: Component, verb: str, resource: str
    ) -> AsyncGenerator[None]:
        del component
        await self._order(do="add", verb=verb, resource=resource, status=403)
        try:
            yield
        finally:
            await self._order(do="clear")

    async def _order(self, **order: Any) -> None:
        """Have the server do something wrong, even if it cannot answer any more."""
        with suppress(aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session,
                session.post(f"{self.url}/sandbox/faults", json=order) as answer,
            ):
                assert answer.status == 200, await answer.text()

    def kubectl(self) -> tuple[Path, Mapping[str, str]]:
        own = {
            "KUBECONFIG": str(self.kubeconfig),
            "KUBECACHEDIR": str(self.kubeconfig.with_suffix(".cache")),
            "KUBERC": "off",
        }
        return built(["kubectl"]) / "kubectl", environment() | own


CRD_NAME = f"{names.POD_GROUP_PLURAL}.{names.API_GROUP}"


def user_name(component: str) -> str:
    """Who one of our processes is, to the API server."""
    return f"system:serviceaccount:{names.NAMESPACE}:enbloc-{component}"


def _group(rules: list[dict[str, Any]], verb: str, resource: str) -> str:
    """The API group of a resource, by the first rule that grants a verb on it."""
    found = (one for one in rules if resource in one["resources"] and verb in one["verbs"])
    return str(next(found)["apiGroups"][0])


def _without(rules: list[dict[str, Any]], verb: str, resource: str) -> Iterator[dict[str, Any]]:
    taken = False
    for rule in rules:
        if resource in rule["resources"] and verb in rule["verbs"]:
            taken = True
            rest = [each for each in rule["verbs"] if each != verb]
            others = [each for each in rule["resources"] if each != resource]
            if rest:
                yield {**rule, "resources": [resource], "verbs": rest}
            if others:
                yield {**rule, "resources": others}
        else:
            yield rule
    assert taken, f"no rule grants {verb} on {resource}"
