# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the demo sees and does at the API server: watches that narrate, writes, bounded waits."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from enbloc.client import items
from enbloc.client.client import Client
from enbloc.client.errors import NotFound
from enbloc.client.paths import NODES, POD_GROUPS, PODS, Resource
from enbloc.client.reflector import Reflector
from enbloc_sandbox.demo.observed import GroupSeen, PodSeen, Seen, held, read_group, read_pod
from enbloc_sandbox.demo.processes import Child, DemoError
from enbloc_sandbox.demo.scenario import JOB_LABEL, NAMESPACE
from enbloc_sandbox.demo.screen import Screen
from enbloc_sandbox.nodes import Object

_PARALLEL: Final = 16
_OURS: Final = {"labelSelector": JOB_LABEL}


class Stage:
    """The demo's view of the API server, kept by watches, and its hands.

    Args:
        client: the API.
        screen: where to tell what happens.
        children: processes without which nothing goes on.
    """

    def __init__(self, client: Client, screen: Screen, children: Sequence[Child]) -> None:
        #: All that was seen since the last `forget()`, in order.
        self.log: list[Seen] = []
        #: The latest state of each pod that exists.
        self.pods: dict[str, PodSeen] = {}
        #: The latest state of each PodGroup.
        self.groups: dict[str, GroupSeen] = {}
        self._told: dict[str, PodSeen] = {}
        self._untold: dict[str, PodSeen] = {}
        self._changed = asyncio.Condition()
        self._client = client
        self._screen = screen
        self._children = children

    # ── seeing ───────────────────────────────────────────────────────────────────────────────

    async def watch_pods(self) -> None:
        """Follow the demo's pods, until cancelled."""
        pods = Reflector(self._client, PODS, Object, namespace=NAMESPACE, query=_OURS)
        async for item in pods.stream():
            if isinstance(item, items.Seen):
                await self._saw(read_pod(self._screen.clock(), item.object))
            elif isinstance(item, items.Deleted) and item.meta.name in self.pods:
                last = self.pods[item.meta.name]
                await self._saw(PodSeen(self._screen.clock(), last.name, last.gang, phase=""))

    async def watch_groups(self) -> None:
        """Follow the demo's PodGroups, until cancelled."""
        groups = Reflector(self._client, POD_GROUPS, Object, namespace=NAMESPACE)
        async for item in groups.stream():
            if isinstance(item, items.Seen):
                seen = read_group(self._screen.clock(), item.object)
                before = self.groups.get(seen.name)
                self.groups[seen.name] = seen
                self.log.append(seen)
                if seen.shown and (before is None or before.shown != seen.shown):
                    self.tell()
                    self._screen.group(seen)
                await self._notify()

    async def narrate(self, every: float) -> None:
        """Tell what happened to the pods every so many seconds, until cancelled."""
        while True:
            await asyncio.sleep(every)
            self.tell()

    def held(self) -> dict[str, int]:
        """How many pods of each job sit on a node or have succeeded there."""
        return held(self.pods.values())

    def tell(self) -> None:
        """Print what has happened to the pods and was not printed yet."""
        changes = [(self._told.get(name), pod) for name, pod in self._untold.items()]
        self._told.update(self._untold)
        self._untold.clear()
        self._screen.pods(changes)

    async def _saw(self, pod: PodSeen) -> None:
        self.log.append(pod)
        self._untold[pod.name] = pod
        if pod.phase:
            self.pods[pod.name] = pod
        else:
            self.pods.pop(pod.name, None)
        await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def forget(self) -> None:
        """Begin a new log; what exists stays known."""
        self.tell()
        self.log = []

    # ── doing ────────────────────────────────────────────────────────────────────────────────

    async def until(self, seconds: float, what: str, holds: Callable[[], bool]) -> None:
        """Wait until something holds, looking after every change seen.

        Raises:
            DemoError: it did not come to hold in time, or one of our processes ended.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not holds():
            for child in self._children:
                child.check()
            if loop.time() > end:
                logs = ", ".join(str(child.log) for child in self._children)
                raise DemoError(f"timed out after {seconds:.0f} s waiting for {what}; see {logs}")
            try:
                async with asyncio.timeout(0.2), self._changed:
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def decided(self, names: Sequence[str], seconds: float) -> None:
        """Wait until each of these pods is on a node, or was told that there is no room.

        Raises:
            DemoError: they are not in time.
        """

        def holds() -> bool:
            found = [self.pods.get(name) for name in names]
            return all(pod is not None and (pod.node or pod.waiting) for pod in found)

        what = f"the scheduler to decide on {names[0]} to {names[-1]}"
        await self.until(seconds, what, holds)

    async def nodes_ready(self, count: int, seconds: float) -> None:
        """Wait until that many nodes take pods.

        Raises:
            DemoError: they did not in time.
        """
        ready: set[str] = set()

        async def look() -> None:
            async for item in Reflector(self._client, NODES, Object).stream():
                if isinstance(item, items.Seen):
                    node = item.object
                    (ready.discard if node.spec.get("taints") else ready.add)(item.meta.name)
                    await self._notify()

        looking = asyncio.create_task(look())
        try:
            await self.until(seconds, f"{count} nodes to be ready", lambda: len(ready) >= count)
        finally:
            looking.cancel()

    async def create(self, resource: Resource, bodies: Iterable[dict[str, Any]]) -> None:
        """Create objects, in their order."""
        for body in bodies:
            await self._client.create(resource, body, NAMESPACE)

    async def listed_pods(self) -> list[PodSeen]:
        """The demo's pods as the API server lists them now."""
        found = self._client.list(PODS, NAMESPACE, query=_OURS)
        return [read_pod(self._screen.clock(), msgspec.convert(one, Object)) async for one in found]

    async def delete_pods(self, seconds: float) -> None:
        """Delete all pods of the demo, those that wait for room first, until they are gone.

        Raises:
            DemoError: they are not gone in time.
        """
        slots = asyncio.Semaphore(_PARALLEL)

        async def delete(name: str) -> None:
            async with slots:
                try:
                    await self._client.delete(PODS, name, NAMESPACE)
                except NotFound:
                    return

        for placed in (False, True):
            names = [pod.name for pod in self.pods.values() if bool(pod.node) is placed]
            await asyncio.gather(*map(delete, names))
        await self.until(seconds, "the pods to be gone", lambda: not self.pods)
        self.tell()
