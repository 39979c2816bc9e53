# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Evictions of members to release capacity, one at a time per pod."""

import asyncio
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from enbloc.client import eviction as kube
from enbloc.client.client import Client
from enbloc.client.errors import Fenced
from enbloc.engine.effects import Evict, StopEvict
from enbloc.engine.events import Evicted, EvictRefused, EvictStopped
from enbloc.model.pods import PodUID
from enbloc.telemetry import metrics

#: The most evictions under way.
SLOTS: Final = 16

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class _Running:
    """An eviction without an answer yet, and the pods that are evicted together with it."""

    task: asyncio.Task[None]
    together: kube.EvictionSet


class Evictions:
    """Carries out each eviction until its outcome is certain; a second of a pod replaces the first.

    Args:
        client: may write only while this process is the leader.
        now: server time, seconds since the epoch: the engine's clock.
        told: takes the outcome.
        broken: takes each task that has ended, to find bugs.
    """

    def __init__(
        self,
        client: Client,
        now: Callable[[], float],
        told: Callable[[Evicted | EvictRefused | EvictStopped], None],
        broken: Callable[[asyncio.Task[None]], None],
    ) -> None:
        self._client = client
        self._now = now
        self._told = told
        self._broken = broken
        self._slots = asyncio.Semaphore(SLOTS)
        #: Evictions without an answer yet, one per pod.
        self._running: dict[PodUID, _Running] = {}

    def start(self, effects: Sequence[Evict]) -> None:
        """Evict pods together; this replaces earlier evictions of them."""
        pods = {effect.uid: effect for effect in effects}
        replaced = {uid: self._running.pop(uid) for uid in pods if uid in self._running}
        together = kube.EvictionSet(
            pods,
            self._slots,
            whole=any(effect.whole for effect in pods.values()),
            begun=any(each.together.begun for each in replaced.values()),
        )
        for uid, each in replaced.items():
            each.task.cancel()
            each.together.ready(uid)
        for effect in pods.values():
            task = asyncio.create_task(self._run(effect, together), name=f"evict {effect.pod}")
            self._running[effect.uid] = _Running(task, together)
            task.add_done_callback(self._broken)

    def stop(self, effect: StopEvict) -> None:
        """Stop evictions that go together, unless the deletion of one of the pods was sent."""
        asked = {each.together for uid, each in self._running.items() if uid in effect.uids}
        if any(together.begun for together in asked):
            return
        stopped = [uid for uid, each in self._running.items() if each.together in asked]
        for uid in stopped:
            self._running.pop(uid).task.cancel()
            self._told(EvictStopped(uid))
        if stopped:
            extra = {"podGroup": str(effect.group), "pods": len(stopped)}
            logger.info("Stopped evictions that nobody needs any more", extra=extra)

    def close(self) -> None:
        """Give up all evictions under way; no outcome is reported."""
        for each in self._running.values():
            each.task.cancel()

    async def _run(self, effect: Evict, together: kube.EvictionSet) -> None:
        pod = effect.pod
        victim = kube.EvictionRequest(
            pod.namespace,
            pod.name,
            effect.uid,
            str(effect.reason),
            effect.message,
            effect.bare,
            effect.regardless,
            effect.rest,
        )
        try:
            outcome = await kube.evict(self._client, victim, self._now, together)
        except Fenced:
            logger.debug("Did not evict pod %s: no longer the leader", pod)
            return
        finally:
            running = self._running.get(effect.uid)
            if running is not None and running.together is together:
                del self._running[effect.uid]
        self._told(self._answer(effect, outcome))

    def _answer(self, effect: Evict, outcome: kube.Outcome) -> Evicted | EvictRefused:
        """Log and count an outcome; the event for the engine."""
        extra = {
            "pod": str(effect.pod),
            "podGroup": str(effect.group),
            "reason": str(effect.reason),
        }
        match outcome:
            case kube.Evicted():
                metrics.EVICTIONS.labels("evicted").inc()
                logger.info("Evicted a pod", extra=extra)
                return Evicted(effect.uid)
            case kube.Blocked(retry_after, message, budget):
                metrics.EVICTIONS.labels("blocked").inc()
                level = logging.INFO if budget else logging.ERROR  # to be fixed: a permission
                logger.log(level, "Eviction of a pod is blocked", extra={**extra, "err": message})
                return EvictRefused(effect.uid, message, self._now() + retry_after)
            case kube.Exempt(message):
                metrics.EVICTIONS.labels("exempt").inc()
                logger.info("Pod is not evicted", extra={**extra, "err": message})
                return EvictRefused(effect.uid, message, math.inf)
            case _:
                assert_never(outcome)
