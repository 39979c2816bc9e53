# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Executor: carries out the engine's decisions; outcomes return through the queue."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, assert_never

from enbloc.client.client import Client
from enbloc.client.errors import Fenced
from enbloc.client.events import Recorder
from enbloc.engine.effects import (
    AskExtender,
    Bind,
    CancelPlan,
    Decided,
    Effect,
    Emit,
    Evict,
    PreBind,
    SetGangRunning,
    SetGroupStatus,
    SetPodCondition,
    StopEvict,
    Unreserve,
)
from enbloc.engine.events import BindUnknown, Bound, SlotsFree
from enbloc.framework.act import Target
from enbloc.framework.profile import Profile
from enbloc.live import binding
from enbloc.live.bind_slots import BindSlots
from enbloc.live.event_queue import EventQueue
from enbloc.live.evictions import Evictions
from enbloc.live.extenders import Extenders
from enbloc.live.notices import notice
from enbloc.live.object_watches import ObjectWatches
from enbloc.live.objects import Objects
from enbloc.live.preparations import Preparations
from enbloc.live.report import DecisionLog, count_bound, count_end
from enbloc.live.statuses import GroupStatuses, PodConditions
from enbloc.live.traces import Traces
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodUID
from enbloc.telemetry import metrics
from enbloc.telemetry.logs import DETAIL

#: How long a stop waits for statuses (seconds); the next leader writes them again.
STATUS_SECONDS: Final = 1.0

logger = logging.getLogger(__name__)


class Executor:
    """Starts each effect at once; the engine sends at most as many Binds as it was given slots.

    Args:
        client: may write only while this process is the leader.
        profiles: by schedulerName, for the plugins of the binding cycle.
        queue: where outcomes go.
        groups: writes the status of PodGroups.
        pods: writes the condition of pods.
        recorder: writes events.
        extenders: answer the engine's questions, and may bind.
        now: server time, seconds since the epoch: the engine's clock.
        watches: tell plugins of changes to the objects that they write.
        places: as `Engine.places`.
        slots: how many Bindings may be in flight.
        traces: record decisions and Bindings; None = no traces.
    """

    def __init__(  # noqa: PLR0913  # one for each kind of effect
        self,
        client: Client,
        profiles: Mapping[str, Profile],
        queue: EventQueue,
        groups: GroupStatuses,
        pods: PodConditions,
        recorder: Recorder,
        extenders: Extenders,
        now: Callable[[], float],
        *,
        watches: ObjectWatches,
        places: Callable[[GroupKey, PodUID], bool],
        slots: BindSlots,
        traces: Traces | None = None,
    ) -> None:
        self._client = client
        self._profiles = profiles
        self._queue = queue
        self._groups = groups
        self._pods = pods
        self._recorder = recorder
        self._now = now
        self._traces = traces
        self._extenders = extenders
        self._decisions = DecisionLog(traces)
        #: Bindings under way.
        self._binds: set[asyncio.Task[None]] = set()
        self._slots = slots
        #: Slots that the engine uses or may use; above the limit for a while if that is lowered.
        self._given = slots.limit
        self._objects = Objects(client, watches, now, places)
        self._preparations = Preparations(self._api, queue.put, self._settled)
        self._asking: set[asyncio.Task[None]] = set()
        self._evictions = Evictions(client, now, queue.put, self._settled)
        #: Set once a task has failed because of a bug; then `_fault` is its exception.
        self._broken = asyncio.Event()
        self._fault: BaseException | None = None
        queue.put(SlotsFree(self._given))

    def start(self, effects: Sequence[Effect], seconds: float) -> None:  # noqa: C901  # one case for each kind of effect
        """Carry out what one step decided.

        Args:
            effects: in the order in which to start them.
            seconds: how long the step took; shared equally among its decisions.
        """
        decided: list[Decided] = []
        evicted: list[Evict] = []
        for effect in effects:
            match effect:
                case Bind(target=target):
                    self._preparations.handed_out(target.uid)
                    self._begin(self._bind(effect), f"bind {target.pod}", self._binds)
                case PreBind():
                    self._preparations.begin(effect, self._profiles[effect.profile])
                case CancelPlan(plan, members):
                    self._preparations.cancel(plan, members)
                case Unreserve(profile, target):
                    self._preparations.take_back(self._profiles[profile], target)
                case SetGroupStatus():
                    self._groups.writer.put(effect.group, effect)
                case SetPodCondition() | SetGangRunning():
                    self._pods.put(effect)
                case Evict():
                    evicted.append(effect)
                case StopEvict():
                    self._evictions.stop(effect)
                case Emit():
                    count_end(effect)
                    self._recorder.emit(notice(effect))
                case AskExtender():
                    self._begin(self._ask(effect), f"ask {effect.question}", self._asking)
                case Decided():
                    decided.append(effect)
                case _:
                    assert_never(effect)
        self._evictions.start(evicted)
        for each in decided:
            self._decisions.decided(each, seconds / len(decided))

    async def run(self) -> None:
        """Wait until a task fails because of a bug, and raise its exception; until cancelled.

        Its outcome is unknown, so only a restart from what the API server shows is safe.
        """
        await self._broken.wait()
        assert self._fault is not None
        raise self._fault

    async def finish(self, seconds: float) -> None:
        """Wait for what is under way, then give up the rest.

        Args:
            seconds: the longest wait for Bindings and Unreserves; statuses wait for
                STATUS_SECONDS more.
        """
        self._evictions.close()  # the next leader looks at the pods, and decides anew
        until = time.monotonic() + seconds
        if self._binds:
            await asyncio.wait(self._binds, timeout=seconds)
        await self._preparations.finish(until - time.monotonic())
        if self._binds:
            logger.warning("Stopping with %d Bindings whose outcome is unknown", len(self._binds))
        await asyncio.gather(
            self._groups.writer.finish(STATUS_SECONDS), self._pods.writer.finish(STATUS_SECONDS)
        )
        self.close()

    def close(self) -> None:
        """Give up everything under way."""
        for task in (*self._binds, *self._asking):
            task.cancel()
        self._preparations.close()
        self._evictions.close()
        self._groups.writer.close()
        self._pods.writer.close()

    def _begin(
        self, work: Coroutine[Any, Any, None], name: str, among: set[asyncio.Task[None]]
    ) -> None:
        """Start a task for this work; it is in `among` until it ends."""
        task = asyncio.create_task(work, name=name)
        among.add(task)
        task.add_done_callback(among.discard)
        task.add_done_callback(self._settled)

    async def _ask(self, effect: AskExtender) -> None:
        self._queue.put(await self._extenders.answer(effect))

    def _settled(self, task: asyncio.Task[None]) -> None:
        fault = None if task.cancelled() else task.exception()
        if fault is not None:
            self._fault = fault
            self._broken.set()

    async def _bind(self, effect: Bind) -> None:
        profile, target = self._profiles[effect.profile], effect.target
        api = self._api(target)
        began = time.monotonic()
        try:
            with metrics.series(metrics.GOROUTINES, "binding").track_inprogress():
                event = await binding.bind(profile, target, api, self._extenders)
        except Fenced:
            logger.debug("Gave up the Binding of pod %s: no longer the leader", target.pod)
            return
        seconds = time.monotonic() - began
        self._queue.put(event)
        self._free_slot(seconds)
        bound = isinstance(event, Bound)
        if not bound:
            self._preparations.refused(profile, target)
        count_bound(effect.profile, effect.attempt, self._now(), bound=bound)
        if self._traces is not None:
            self._traces.bound(effect, seconds, "bound" if bound else "refused")
        if logger.isEnabledFor(DETAIL):
            _say(target, seconds, bound=bound)
        if bound:
            try:
                await binding.after(profile, target, api)
            except Fenced:
                logger.debug("Gave up PostBind of pod %s: no longer the leader", target.pod)

    def _free_slot(self, seconds: float) -> None:
        """Free the slot of a Binding that ended; give the engine what the limit now allows."""
        self._slots.ended(time.monotonic(), seconds, len(self._binds))
        self._given -= 1
        more = self._slots.limit - self._given
        if more > 0:
            self._given += more
            self._queue.put(SlotsFree(more))

    def _api(self, target: Target) -> binding.MemberApi:
        def unknown() -> None:
            self._queue.put(BindUnknown(target.plan, target.uid))

        return binding.MemberApi(self._client, unknown, self._objects, target.plan)


def _say(target: Target, seconds: float, *, bound: bool) -> None:
    """Log how a Binding ended."""
    logger.log(
        DETAIL,
        "Bound pod to node" if bound else "Binding of a pod was refused",
        extra={
            "pod": str(target.pod),
            "node": target.node,
            "plan": target.plan,
            "duration": round(seconds, 6),
        },
    )
