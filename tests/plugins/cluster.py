# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A small API server of objects, with the faults that a test gives it; in virtual time."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from enbloc.framework.act import ReadObject, Reply, Target
from enbloc.framework.status import SUCCESS, Status
from enbloc.model.pods import PodUID

Json = dict[str, Any]
#: What comes instead of the answer to (verb, kind, name); None = nothing does.
Fault = Callable[[str, str, str], Reply | None]


def no_fault(verb: str, kind: str, name: str) -> None:
    del verb, kind, name


class Cluster:
    """Serves the Api of binding plugins.

    Attributes:
        objects: by kind, namespace and name.
        sent: the writes that were asked for, "verb kind name".
        reads: how many objects were read.
        before: answers in the place of the server, which does nothing then.
        after: answers in the place of the server, which has done what was asked.
        lag: by how much the watch is late (seconds).
        latency: how long each request takes (seconds).
        told: is called with each object after it was written.
        placed: pods of PodGroups of Kubernetes that are on a node or on their way to one, by UID.
    """

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Json] = {}
        self.sent: list[str] = []
        self.reads = 0
        self.before: Fault = no_fault
        self.after: Fault = no_fault
        self.lag = 0.0
        self.latency = 0.0
        self.told: Callable[[str, Json], object] = lambda *_: None
        self.placed: dict[PodUID, str] = {}
        self._version = 0
        self._shown: dict[tuple[str, str, str], int | None] = {}
        self._changes = asyncio.Condition()
        self._locks: dict[tuple[str, str, str], asyncio.Lock] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    # ── what a test does ─────────────────────────────────────────────────────────────────────

    def put(self, kind: str, name: str, namespace: str = "ns", uid: str = "", **body: Any) -> None:
        """Add or replace an object."""
        metadata = {"name": name, "namespace": namespace, "uid": uid or f"uid-{name}"}
        metadata |= body.pop("metadata", {})
        self._store((kind, namespace, name), {**body, "metadata": metadata})

    def edit(self, kind: str, name: str, patch: Mapping[str, Any], namespace: str = "ns") -> None:
        """Merge something into an object, as somebody else does."""
        key = (kind, namespace, name)
        self._store(key, merged(self.objects[key], patch))

    def drop(self, kind: str, name: str, namespace: str = "ns") -> None:
        """Have an object gone."""
        self._version += 1
        del self.objects[kind, namespace, name]
        self._show((kind, namespace, name), None)

    def get(self, kind: str, name: str, namespace: str = "ns") -> Json:
        return self.objects[kind, namespace, name]

    def after_seconds(self, seconds: float, act: Callable[..., None], *arguments: Any) -> None:
        asyncio.get_running_loop().call_later(seconds, act, *arguments)

    # ── the Api ──────────────────────────────────────────────────────────────────────────────

    async def bind(self, target: Target) -> Status:
        del target
        return SUCCESS

    def now(self) -> float:
        return 1_800_000_000.0 + asyncio.get_running_loop().time()

    async def read(self, kind: str, namespace: str, name: str) -> Reply:
        self.reads += 1
        return await self._answer("get", (kind, namespace, name), lambda found: found)

    async def patch(
        self, kind: str, namespace: str, name: str, body: Mapping[str, Any], *, status: bool = False
    ) -> Reply:
        wanted = dict(body)
        if not status:
            wanted.pop("status", None)
        given = wanted.pop("metadata", {})
        if status:
            wanted = {"status": wanted["status"]}

        def write(found: Json) -> Json | Reply:
            for field in ("uid", "resourceVersion"):
                if given.get(field, found["metadata"][field]) != found["metadata"][field]:
                    return Reply(409, message=f'the {kind} "{name}" has been modified')
            metadata = {} if status else {**given, "resourceVersion": ""}
            return self._store(
                (kind, namespace, name), merged(found, {**wanted, "metadata": metadata})
            )

        return await self._answer(
            "patch/status" if status else "patch", (kind, namespace, name), write
        )

    async def create(self, kind: str, namespace: str, body: Mapping[str, Any]) -> Reply:
        name = body["metadata"]["name"]
        key = (kind, namespace, name)

        def write(found: Json) -> Json | Reply:
            if found:
                return Reply(409, message=f'{kind} "{name}" already exists')
            metadata = {"namespace": namespace, "uid": f"uid-{name}-{self._version}"}
            return self._store(key, {**body, "metadata": {**metadata, **body["metadata"]}})

        return await self._answer("create", key, write, absent=True)

    async def delete(self, kind: str, namespace: str, name: str, uid: str) -> Reply:
        def write(found: Json) -> Json | Reply:
            if found["metadata"]["uid"] != uid:
                return Reply(409, message="the UID is another")
            gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
            self._store((kind, namespace, name), merged(found, {"metadata": gone}))
            return {}

        return await self._answer("delete", (kind, namespace, name), write)

    async def changed(self, seen: Sequence[ReadObject], timeout: float) -> bool:
        def has_passed(each: ReadObject) -> bool:
            shown = self._shown.get((each.kind, each.namespace, each.name), 0)
            return shown is None or shown > each.version

        try:
            async with asyncio.timeout(timeout), self._changes:
                await self._changes.wait_for(lambda: any(map(has_passed, seen)))
        except TimeoutError:
            return False
        return True

    def places(self, namespace: str, pod_group: str, *, but: PodUID) -> bool:
        del namespace
        return any(uid != but and of == pod_group for uid, of in self.placed.items())

    @asynccontextmanager
    async def alone(self, kind: str, namespace: str, name: str) -> AsyncGenerator[None]:
        async with self._locks.setdefault((kind, namespace, name), asyncio.Lock()):
            yield

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _answer(
        self,
        verb: str,
        key: tuple[str, str, str],
        act: Callable[[Json], Json | Reply],
        *,
        absent: bool = False,
    ) -> Reply:
        kind, _, name = key
        if verb != "get":
            self.sent.append(f"{verb} {kind} {name}")
        await asyncio.sleep(self.latency)
        if (instead := self.before(verb, kind, name)) is not None:
            return instead
        if key not in self.objects and not absent:
            return Reply(404, message=f'{kind} "{name}" not found')
        done = act(self.objects.get(key, {}))
        if (instead := self.after(verb, kind, name)) is not None:
            return instead
        return done if isinstance(done, Reply) else Reply(200, done)

    def _store(self, key: tuple[str, str, str], body: Json) -> Json:
        self._version += 1
        body = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self._version)}}
        metadata = body["metadata"]
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            self.objects.pop(key, None)
            self._show(key, None)
        else:
            self.objects[key] = body
            self._show(key, self._version)
        self.told(key[0], body)
        return body

    def _show(self, key: tuple[str, str, str], version: int | None) -> None:
        async def show() -> None:
            await asyncio.sleep(self.lag)
            async with self._changes:
                self._shown[key] = version
                self._changes.notify_all()

        task = asyncio.ensure_future(show())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def merged(found: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7386)."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(found) if isinstance(found, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def once(reply: Reply, asked: str) -> Fault:
    """This answer to the first request of that verb and kind."""
    return times(1, reply, asked)


def times(count: int, reply: Reply, asked: str) -> Fault:
    """This answer to the first so many requests of that verb and kind."""
    left = [count]

    def fault(verb: str, kind: str, name: str) -> Reply | None:
        del name
        if f"{verb} {kind}" != asked or not left[0]:
            return None
        left[0] -= 1
        return reply

    return fault
