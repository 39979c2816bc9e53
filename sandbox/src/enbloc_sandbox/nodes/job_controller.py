# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The Job controller, as a client of the API.

It keeps nothing across a restart: of a Job's finished pods only those count that still exist, or
that its status counted.
"""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

import msgspec

from enbloc.client.client import Client, PatchType
from enbloc.client.items import Deleted, Seen, Synced
from enbloc.client.paths import JOBS, PODS
from enbloc.client.reflector import Reflector
from enbloc_sandbox.nodes import jobs
from enbloc_sandbox.nodes.objects import Object, settled

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Work:
    """One Job, if a watch has shown it already, and its pods by UID."""

    job: Object | None = None
    pods: dict[str, Object] = field(default_factory=dict)
    tally: jobs.Tally = field(default_factory=jobs.Tally)
    busy: bool = False
    again: bool = False


class JobController:
    """Plain and indexed Jobs. One step per Job at a time, on what the watches have shown.

    A created pod counts from the server's answer on, so a watch that lags behind it does not make
    a second one.

    Args:
        client: the API.
        retry_seconds: wait before the first replacement of a failed pod.
    """

    def __init__(self, client: Client, retry_seconds: float = 1.0) -> None:
        self._client = client
        self._retry = retry_seconds
        self._work: dict[str, _Work] = {}
        self._slots = asyncio.Semaphore(16)
        self._lists = 0
        self._tasks: asyncio.TaskGroup

    async def run(self) -> None:
        """Work until cancelled."""
        labelled = {"labelSelector": jobs.NAME_LABEL}
        async with asyncio.TaskGroup() as self._tasks:
            self._tasks.create_task(self._watch_jobs(Reflector(self._client, JOBS, Object)))
            self._tasks.create_task(
                self._watch_pods(Reflector(self._client, PODS, Object, query=labelled))
            )

    async def _watch_jobs(self, found: Reflector[Object]) -> None:
        async for item in found.stream():
            if isinstance(item, Seen):
                work = self._of(item.meta.uid)
                if work.job is None and jobs.unsupported(item.object):
                    fields = ", ".join(jobs.unsupported(item.object))
                    log.warning("job %s: not followed here: %s", item.object.key, fields)
                work.job = item.object
                self._wake(item.meta.uid)
            elif isinstance(item, Deleted):
                self._work.pop(item.meta.uid, None)
            elif isinstance(item, Synced):
                self._all_synced()

    async def _watch_pods(self, found: Reflector[Object]) -> None:
        async for item in found.stream():
            if isinstance(item, Seen):
                owner = item.object.controller_uid
                self._of(owner).pods[item.meta.uid] = item.object
                self._of(owner).tally.count(item.object, self._now())
                self._wake(owner)
            elif isinstance(item, Deleted):
                self._pod_gone(item.meta.uid)
            elif isinstance(item, Synced):
                self._all_synced()

    def _pod_gone(self, uid: str) -> None:
        for owner, work in self._work.items():
            pod = work.pods.pop(uid, None)
            if pod is not None:
                work.tally.count(pod, self._now(), gone=True)
                if work.job is None and not work.pods:
                    del self._work[owner]
                self._wake(owner)
                return

    def _all_synced(self) -> None:
        """Nothing is decided before both lists are complete."""
        self._lists += 1
        for uid in self._work:
            self._wake(uid)

    def _of(self, uid: str) -> _Work:
        return self._work.setdefault(uid, _Work())

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _wake(self, uid: str) -> None:
        """One step of a Job soon; another one after it if it is under way."""
        work = self._work.get(uid)
        if work is None or work.job is None or self._lists < 2:
            return
        if work.busy:
            work.again = True
            return
        work.busy = True
        self._tasks.create_task(self._step(uid, work))

    async def _wake_later(self, uid: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._wake(uid)

    async def _step(self, uid: str, work: _Work) -> None:
        assert work.job is not None
        job = work.job
        step = jobs.next_step(job, work.pods.values(), work.tally, self._now(), self._retry)
        created = await asyncio.gather(*(self._create(job, one, work) for one in step.create))
        await asyncio.gather(*(self._delete(pod, work) for pod in step.delete))
        if step.status is not None:
            await self._report(job, step.status)
        again_in = step.again_in if all(created) else self._retry
        if again_in is not None:
            self._tasks.create_task(self._wake_later(uid, again_in))
        work.busy = False
        if work.again:
            work.again = False
            self._wake(uid)

    async def _create(self, job: Object, index: int | None, work: _Work) -> bool:
        """Create a pod; False if the server refuses."""
        meta = job.metadata
        async with self._slots:
            made = await settled(
                lambda: self._client.create(PODS, jobs.manifest(job, index), meta.namespace)
            )
        if made is None:
            return False
        pod = msgspec.convert(made, Object)
        if pod.metadata.uid not in work.tally.seen:
            work.pods[pod.metadata.uid] = pod
        return True

    async def _delete(self, pod: Object, work: _Work) -> None:
        meta = pod.metadata
        work.tally.unwanted.add(meta.uid)
        async with self._slots:
            await settled(
                lambda: self._client.delete(PODS, meta.name, meta.namespace, uid=meta.uid)
            )

    async def _report(self, job: Object, status: dict[str, Any]) -> None:
        meta = job.metadata
        body = {"metadata": {"uid": meta.uid}, "status": status}
        await settled(
            lambda: self._client.patch(
                JOBS,
                meta.name,
                body,
                meta.namespace,
                kind=PatchType.MERGE,
                subresource="status",
            )
        )
