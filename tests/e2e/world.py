# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a test does to a cluster, and what it waits for; nothing is waited for without a bound."""

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from enbloc.client.client import Client, PatchType
from enbloc.client.cluster_access import load
from enbloc.client.errors import AlreadyExists, Conflict, NotFound, Unreachable
from enbloc.client.paths import CRDS as CRD_KIND
from enbloc.client.paths import (
    EVENTS,
    JOBS,
    NAMESPACES,
    NODES,
    POD_GROUPS,
    PODS,
    Resource,
)
from enbloc.model import names
from enbloc_sandbox.nodes import Kubelet, Pace, Shape, run_controllers
from tests.e2e import manifests
from tests.e2e.observer import Observer
from tests.e2e.processes import ForkedServer, Server, finished, told
from tests.e2e.targets import CRD_NAME, CRDS, Component, Target
from tests.patience import PATIENCE

SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
#: How long nothing must happen before a test believes that nothing will (seconds).
QUIET = 1.0
GIB = 2**30
#: So many objects are created at the same time.
AT_ONCE = 32

_numbers = itertools.count(1)


@asynccontextmanager
async def opened(
    target: Target,
    path: Path,
    labels: Mapping[str, str] | None = None,
    *,
    forks: bool = False,
) -> AsyncGenerator["World"]:
    """A world for as long as the context lasts, judged at its end unless something failed.

    Args:
        target: the API server.
        path: where logs and kubeconfigs go.
        labels: of its namespace, from before the processes start.
        forks: the processes need not be started from nothing.
    """
    async with Client(await load(target.kubeconfig), component="e2e") as client:
        world = World(target, client, path, forks=forks)
        well = False
        try:
            await world.open(labels)
            yield world
            well = not world.failed
        finally:
            await world.close(judge=well)


class World:
    """One test's namespace, nodes and processes on a target.

    Args:
        target: the API server.
        client: the administrator's.
        path: where logs and kubeconfigs go.
        forks: the processes need not be started from nothing.
    """

    def __init__(self, target: Target, client: Client, path: Path, *, forks: bool = False) -> None:
        self.target = target
        self.client = client
        self.path = path
        self._kind = ForkedServer if forks else Server
        self.namespace = f"e2e-{next(_numbers)}"
        self.observer = Observer(client)
        #: Where the two processes' roles let them keep their Leases.
        self.lease_namespace = names.NAMESPACE
        self.scheduler: Server
        self.controller: Server
        #: The test has failed: there is nothing left to judge.
        self.failed = False
        #: The processes that were started, in order.
        self.servers: list[Server] = []
        self._logs = itertools.count()
        #: Thousandths of a CPU that each node of the test has.
        self.room: dict[str, int] = {}
        self._minimums: dict[str, int] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._nodes: list[str] = []
        # A write that waits too long for its turn fails, on a slow machine among a few hundred.
        self._turns = asyncio.Semaphore(AT_ONCE)
        self.stack = AsyncExitStack()

    # ── life ─────────────────────────────────────────────────────────────────────────────────

    async def open(self, labels: Mapping[str, str] | None = None) -> None:
        """Start the observer and both processes in a new namespace with these labels."""
        self.keep("observer", self.observer.run())
        if not self.target.complete:
            self.keep("controllers", run_controllers(self.client))
        await self.client.create(NAMESPACES, manifests.namespace(self.namespace, labels))
        with suppress(AlreadyExists):
            await self.client.create(NAMESPACES, manifests.namespace(self.lease_namespace))
        self.scheduler = self._start("scheduler")
        self.controller = self._start("controller")
        # Somebody's controller makes one as well, but after a restart of the server not soon.
        with suppress(AlreadyExists):
            account = {"metadata": {"name": "default"}}
            await self.client.create(SERVICE_ACCOUNTS, account, self.namespace)
        async with asyncio.timeout(PATIENCE):
            await self.observer.synced.wait()

    async def close(self, *, judge: bool) -> None:
        """Judge what was seen, then leave nothing behind.

        Args:
            judge: whether the test has got to its end.
        """
        try:
            if judge:
                await self._judge()
        finally:
            for server in self.servers:
                server.stop(0)
                print(server.tail(200))
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            self._tasks.clear()
            await self.stack.aclose()
            await self._clean()

    async def _judge(self) -> None:
        def whole() -> bool:
            return not self.observer.in_part(self.namespace, self._minimums)

        await self.until(whole, f"no gang of {self._minimums} is placed in part")
        await self.pod("marker", scheduler="nobody")

        def caught_up() -> bool:
            return bool(self.observer.of(self.namespace, "marker"))

        await self.until(caught_up, "the observer has seen all that happened")
        self.observer.judge(self.namespace, self._minimums)
        for server in self.servers:
            if server.pid:
                await self._ends_well(server)

    async def _ends_well(self, server: Server) -> None:
        """It stops when it is asked to, with exit code 0."""
        code = await server.end()
        assert code == 0, f"{server.name} ended with {code}\n{server.tail()}"

    async def _clean(self) -> None:
        for resource in (JOBS, POD_GROUPS, PODS):
            try:
                found = [item async for item in self.client.list(resource, self.namespace)]
            except NotFound:  # the test took the CRD away
                await self.apply_crd()
                continue
            names_found = [item["metadata"]["name"] for item in found]
            few = 50  # at once, or a busy machine answers the last ones too late
            for first in range(0, len(names_found), few):
                some = names_found[first : first + few]
                await asyncio.gather(*(self._delete(resource, name) for name in some))
        await asyncio.gather(*(self._delete(NODES, name) for name in self._nodes))
        await self._delete(NAMESPACES, self.namespace)

    async def _delete(self, resource: Resource, name: str) -> None:
        """Delete without waiting for a kubelet, and with all that the object owns."""
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "propagationPolicy": "Background",
        }
        namespace = self.namespace if resource.namespaced else None
        with suppress(NotFound):
            try:
                await self.client.request("delete", resource, name, namespace, body=body)
            except Unreachable:  # a busy machine: ask once more
                await self.client.request("delete", resource, name, namespace, body=body)

    # ── processes ────────────────────────────────────────────────────────────────────────────

    async def start_scheduler(
        self,
        *arguments: str,
        kubeconfig: Path | None = None,
        restart: bool = False,
    ) -> Server:
        """Start one more scheduler, or another one in place of the first.

        Args:
            arguments: more flags.
            kubeconfig: instead of the one with the scheduler's role.
            restart: kill the one that runs, as a crash does.
        """
        if restart:
            self.scheduler.kill()
        self.scheduler = self._start("scheduler", *arguments, kubeconfig=kubeconfig)
        return self.scheduler

    def elect(self, lease_seconds: float) -> tuple[str, ...]:
        """The flags of a process that takes part in an election.

        A Lease that lasts longer than a test waits is only ever had by who is given it.
        """
        return (
            "--leader-elect",
            f"--lease-namespace={self.lease_namespace}",
            f"--leader-elect-lease-duration={lease_seconds:g}s",
        )

    async def start_controller(self, *arguments: str) -> Server:
        """Start one more controller."""
        self.controller = self._start("controller", *arguments)
        return self.controller

    def _start(
        self, component: Component, *arguments: str, kubeconfig: Path | None = None
    ) -> Server:
        log = self.path / f"{component}-{next(self._logs)}.log"
        file = kubeconfig or self.target.kubeconfig_of(component)
        alone = [] if "--leader-elect" in arguments else ["--no-leader-elect"]
        flags = [f"--kubeconfig={file}", *alone, "--secure-port=0"]
        server = self._kind(component, [*flags, "--log-format=text", *arguments], log)
        server.start()
        self.servers.append(server)
        return server

    # ── objects ──────────────────────────────────────────────────────────────────────────────

    async def nodes(
        self,
        count: int,
        *,
        cpu: int,
        gpus: int = 0,
        start: float = 0.0,
        labels: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Add nodes, served by a fake kubelet; return when they can take pods.

        Args:
            count: how many.
            cpu: CPUs of each.
            gpus: GPUs of each.
            start: how long a pod is Pending there before it is Running (seconds).
            labels: more labels of each.
        """
        first = len(self._nodes)
        added = [f"{self.namespace}-n{first + index}" for index in range(count)]
        self._nodes += added
        more = tuple((labels or {}).items())
        shapes = [Shape(name, cpu * 1000, 64 * GIB, gpus, labels=more) for name in added]
        self.room.update((name, cpu * 1000) for name in added)
        kubelet = Kubelet(self.client, shapes, Pace(lease=4.0, start=start))
        self.keep(f"kubelet {first}", kubelet.run())
        # kube-controller-manager untaints them. After restarts of the server its watches wait up
        # to 60 s: client-go's backoff ends at 30 s, and its jitter doubles that at most.
        await self.until(
            lambda: self.observer.ready_nodes() >= set(added), "all nodes are ready", timeout=90
        )
        return added

    async def group(self, name: str, minimum: int, **spec: Any) -> None:
        """Create a PodGroup, whose minimum the observer watches over from now on."""
        self.watch_over(name, minimum)
        await self._create(POD_GROUPS, manifests.group(name, minimum, **spec))

    def watch_over(self, group: str, minimum: int) -> None:
        """Have the test fail if this gang ends between none and its minimum."""
        self._minimums[group] = minimum

    async def pod(self, name: str, group: str = "", **how: Any) -> None:
        """Create a pod; see `manifests.pod` for how."""
        await self._create(PODS, manifests.pod(name, group, **how))

    async def gang(self, name: str, size: int, *, minimum: int | None = None, **how: Any) -> None:
        """Create a PodGroup and its pods, all of which it needs unless told otherwise."""
        await self.group(name, minimum or size)
        await asyncio.gather(*(self.pod(f"{name}-{index}", name, **how) for index in range(size)))

    async def job(self, name: str, size: int, group: str, **how: Any) -> None:
        """Create an indexed Job that runs all its pods at once."""
        await self._create(JOBS, manifests.job(name, size, group, **how))

    async def _create(self, resource: Resource, body: Mapping[str, Any]) -> None:
        async with self._turns:
            await self.client.create(resource, body, self.namespace)

    async def delete_job(self, name: str) -> None:
        """Delete a Job, and wait until its pods are gone."""
        await self._delete(JOBS, name)
        if not self.target.collects:
            pods = self.observer.of(self.namespace, name)
            await asyncio.gather(*(self._delete(PODS, pod.metadata.name) for pod in pods))
        await self.until(
            lambda: not self.observer.of(self.namespace, name), f"the pods of {name} are gone"
        )

    async def orphan_job(self, name: str) -> None:
        """`kubectl delete job --cascade=orphan`: its pods stay; return when it is gone."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan"}
        await self.client.request("delete", JOBS, name, self.namespace, body=body)
        await self._gone(JOBS, name)

    async def delete_pod(self, name: str) -> None:
        """Delete a pod, as a user does."""
        self.observer.deleted_by_test.add(name)
        await self.client.delete(PODS, name, self.namespace)

    async def remove_pod(self, name: str) -> None:
        """Delete a pod, and wait until its name is free."""
        await self.delete_pod(name)
        await self._gone(PODS, name)

    async def delete_group(self, name: str) -> None:
        """Delete a PodGroup, as a user does."""
        del self._minimums[name]
        await self.client.delete(POD_GROUPS, name, self.namespace)

    async def cordon(self, node: str, *, cordoned: bool) -> None:
        """`kubectl cordon` or `uncordon`."""
        await self._patch_node(node, {"spec": {"unschedulable": cordoned or None}})

    async def label(self, node: str, key: str, value: str) -> None:
        """`kubectl label node`."""
        await self._patch_node(node, {"metadata": {"labels": {key: value}}})

    async def taint(self, node: str, key: str) -> None:
        """`kubectl taint node` with effect NoSchedule."""
        await self._taints(node, lambda found: [*found, {"key": key, "effect": "NoSchedule"}])

    async def untaint(self, node: str, key: str) -> None:
        """Take that taint off."""
        await self._taints(node, lambda found: [one for one in found if one["key"] != key])

    async def _taints(self, node: str, change: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        """The list is written whole, so the node must still be the one that was read."""
        for _ in range(5):
            found = await self.client.get(NODES, node)
            taints = change(found["spec"].get("taints", []))
            version = {"resourceVersion": found["metadata"]["resourceVersion"]}
            with suppress(Conflict):
                await self._patch_node(node, {"metadata": version, "spec": {"taints": taints}})
                return
        raise AssertionError(f"node {node} never stands still")

    async def _patch_node(self, node: str, patch: Mapping[str, Any]) -> None:
        await self.client.patch(NODES, node, patch, kind=PatchType.MERGE)

    async def remove_crd(self) -> None:
        """Delete the CRD of PodGroups, and wait until it is gone."""
        await self._delete(CRD_KIND, CRD_NAME)
        await self._gone(CRD_KIND, CRD_NAME)

    async def expire_watches(self) -> None:
        """End all watches, and see that a client that is behind hears of it (410)."""
        ours = await self.client.get(NAMESPACES, self.namespace)
        version = ours["metadata"]["resourceVersion"]
        await self.target.expire_watches()
        query = {"resourceVersion": version, "timeoutSeconds": 5}
        async with self.client.watch(NAMESPACES, query=query, silence=10) as stream:
            said = b"".join([chunk async for chunk in stream])
        assert b'"code":410' in said, said

    async def apply_crd(self) -> None:
        """Have the CRD of PodGroups, and its resource served."""
        for file in CRDS.glob("*.yaml"):
            with suppress(AlreadyExists):
                await self.client.create(CRD_KIND, yaml.safe_load(file.read_text("utf-8")))
        await self._answers(lambda: self.client.page(POD_GROUPS, self.namespace))

    async def kubectl(self, *arguments: str, stdin: str = "") -> str:
        """Run kubectl in the test's namespace; what it printed."""
        path, env = self.target.kubectl()
        command = [str(path), "-n", self.namespace, *arguments]
        ended = await finished(command, env, stdin=stdin)
        assert ended.returncode == 0, f"kubectl {' '.join(arguments)}: {ended.stderr}"
        return ended.stdout

    async def kubectl_until(self, text: str, *arguments: str) -> str:
        """What kubectl prints up to the first line with this text, as from a watch."""
        path, env = self.target.kubectl()
        command = [str(path), "-n", self.namespace, *arguments]
        async with asyncio.timeout(PATIENCE):
            return await told(command, env, text)

    # ── waiting ──────────────────────────────────────────────────────────────────────────────

    async def until(
        self, holds: Callable[[], bool], what: str, *, timeout: float = PATIENCE
    ) -> None:
        """Wait until something holds; looked at after each change that the observer sees."""
        deadline = time.monotonic() + timeout
        while not holds():
            self._all_well()
            assert time.monotonic() < deadline, f"not within {timeout:g} s: {what}"
            async with self.observer.changed:
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.1):
                        await self.observer.changed.wait()

    async def bound(self, prefix: str, count: int, *, timeout: float = PATIENCE) -> None:
        """Wait until so many pods, by the beginning of their names, have a node."""

        def enough() -> bool:
            return len(self.observer.bound(self.namespace, prefix)) >= count

        await self.until(enough, f"{count} pods of {prefix} are bound", timeout=timeout)

    async def running(self, prefix: str, count: int, *, timeout: float = PATIENCE) -> None:
        """Wait until so many pods, by the beginning of their names, run."""

        def enough() -> bool:
            pods = self.observer.of(self.namespace, prefix)
            return sum(pod.status.phase == "Running" for pod in pods) >= count

        await self.until(enough, f"{count} pods of {prefix} run", timeout=timeout)

    async def either_bound(self, wanted: Mapping[str, int]) -> str:
        """Wait until one of these gangs is bound whole; which."""

        def first() -> str:
            for name, size in wanted.items():
                if len(self.observer.bound(self.namespace, name)) >= size:
                    return name
            return ""

        await self.until(lambda: bool(first()), f"one of {wanted} is bound")
        return first()

    async def all_finished(self, count: int, *, timeout: float = PATIENCE) -> None:
        """Wait until so many pods have succeeded."""

        def done() -> bool:
            pods = self.observer.of(self.namespace)
            return sum(pod.status.phase == "Succeeded" for pod in pods) == count

        await self.until(done, f"{count} pods have succeeded", timeout=timeout)

    async def quiet(self) -> None:
        """Give something that must not happen the time to happen."""
        await asyncio.sleep(QUIET)

    async def condition(
        self,
        group: str,
        kind: str,
        status: str,
        *,
        reason: str = "",
        message: str = "",
        timeout: float = PATIENCE,
    ) -> None:
        """Wait for a condition of a PodGroup.

        Args:
            group: the PodGroup.
            kind: the condition's type.
            status: "True", "False" or "Unknown".
            reason: if given, its reason.
            message: if given, part of its message.
            timeout: in seconds.
        """
        found: list[Any] = []

        async def is_there() -> bool:
            found[:] = await self.conditions(group)
            return any(
                one["type"] == kind
                and one["status"] == status
                and reason in ("", one["reason"])
                and message in one["message"]
                for one in found
            )

        await self.eventually(
            is_there,
            lambda: f"{group} has {kind}={status} {reason} {message}; it has {found}",
            timeout,
        )

    async def there(self, group: str) -> None:
        """Wait until there is such a PodGroup."""
        await self._answers(lambda: self.client.get(POD_GROUPS, group, self.namespace))

    async def conditions(self, group: str) -> list[Any]:
        """The conditions of a PodGroup now."""
        status = (await self.client.get(POD_GROUPS, group, self.namespace)).get("status") or {}
        return list(status.get("conditions") or ())

    async def event(
        self,
        name: str,
        reason: str,
        *,
        note: str = "",
        count: int | None = None,
        timeout: float = PATIENCE,
    ) -> None:
        """Wait for an event about an object of this name; None = reported any number of times."""
        found: list[tuple[str, str, int]] = []

        async def is_there() -> bool:
            found[:] = [
                (item["reason"], item["note"], (item.get("series") or {}).get("count", 1))
                async for item in self.client.list(EVENTS, self.namespace)
                if item["regarding"]["name"] == name
            ]
            return any(
                said == reason and note in text and count in (None, times)
                for said, text, times in found
            )

        await self.eventually(
            is_there, lambda: f"event {reason} {note!r} about {name}; there are {found}", timeout
        )

    async def _answers(self, call: Callable[[], Any]) -> None:
        async def there() -> bool:
            try:
                await call()
            except NotFound:
                return False
            return True

        await self.eventually(there, lambda: "the API server has it", PATIENCE)

    async def _gone(self, resource: Resource, name: str) -> None:
        namespace = self.namespace if resource.namespaced else None

        async def gone() -> bool:
            with suppress(NotFound):
                await self.client.get(resource, name, namespace)
                return False
            return True

        await self.eventually(gone, lambda: f"{name} is gone", PATIENCE)

    async def eventually(
        self, probe: Callable[[], Any], what: Callable[[], str], timeout: float = PATIENCE
    ) -> None:
        """Wait until a question to the API server is answered with yes."""
        deadline = time.monotonic() + timeout
        while not await probe():
            self._all_well()
            assert time.monotonic() < deadline, f"not within {timeout:g} s: {what()}"
            await asyncio.sleep(0.1)

    def keep(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Something that must go on for as long as the test does."""
        self._tasks[name] = asyncio.create_task(work)

    def _all_well(self) -> None:
        """Raise what ended one of the things that must run as long as the test."""
        self.target.check()
        for server in self.servers:
            server.must_run()
        for name, task in self._tasks.items():
            if task.done():
                raise AssertionError(f"the {name} of the test ended") from task.exception()
