# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preparations: runs PreBinds, and undoes what they did when a plan is given up.

::

    begin ──► PreBind ──► handed_out ──► bound: it stays
                 │             └───────► refused ──┐
                 └──── cancel (the plan) ──────────┴──► Unreserve ──► the group's next PreBinds

The PreBind of a pod waits for the Unreserves of its group: it may need what they release.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from enbloc.client.errors import Fenced
from enbloc.engine.effects import PreBind
from enbloc.engine.events import Event, Unreserved
from enbloc.framework.act import Target
from enbloc.framework.profile import Profile
from enbloc.live import binding
from enbloc.live.binding import MemberApi
from enbloc.live.objects import UNRESERVE_SECONDS
from enbloc.model.grouped import Index
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodUID

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A member whose PreBind has begun."""

    profile: Profile
    group: GroupKey
    target: Target
    task: asyncio.Task[None]


class _Undoing:
    """The Unreserves of one group that are under way."""

    def __init__(self) -> None:
        #: How many; at zero, `done` is set and this is dropped.
        self.count = 0
        self.done = asyncio.Event()


class Preparations:
    """Runs PreBind and Unreserve of members.

    Args:
        api: makes the API of the plugins of one member.
        done: takes the outcome of each PreBind and Unreserve.
        settled: takes each task that has ended.
    """

    def __init__(
        self,
        api: Callable[[Target], MemberApi],
        done: Callable[[Event], None],
        settled: Callable[[asyncio.Task[None]], None],
    ) -> None:
        self._api = api
        self._done = done
        self._settled = settled
        #: Members whose PreBind has begun and that are not handed out; the same by plan.
        self._begun: dict[PodUID, _Begun] = {}
        self._of_plan: Index[str, PodUID] = Index()
        #: The latest Unreserve under way of each pod; and those of each group.
        self._undoing: dict[PodUID, asyncio.Task[None]] = {}
        self._of_group: dict[GroupKey, _Undoing] = {}
        #: All PreBinds and Unreserves under way.
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, effect: PreBind, profile: Profile) -> None:
        """Run the PreBind plugins of a member, once what earlier plans did is undone."""
        target, group = effect.target, effect.group
        self._undo(target.uid)
        own, others = self._undoing.get(target.uid), self._of_group.get(group)
        task = self._start(self._prepare(profile, target, own, others), f"prepare {target.pod}")
        self._begun[target.uid] = _Begun(profile, group, target, task)
        self._of_plan.add(target.plan, target.uid)

    def cancel(self, plan: str, members: frozenset[PodUID]) -> None:
        """Stop the PreBinds of a plan, and undo what they did.

        Args:
            plan: the plan that is given up.
            members: only these; empty = all whose Binding was not handed out.
        """
        for uid in sorted(members) or list(self._of_plan.get(plan, ())):
            begun = self._begun.get(uid)
            if begun is not None and begun.target.plan == plan:
                self._undo(uid)

    def handed_out(self, uid: PodUID) -> None:
        """Keep what was prepared for a member, because its Binding is being sent."""
        self._forget(uid)

    def refused(self, profile: Profile, target: Target) -> None:
        """Undo what was prepared for a member, because its Binding was refused."""
        if profile.pre_bind:
            self._unreserve(profile, target, None)

    def take_back(self, profile: Profile, target: Target) -> None:
        """Undo what an earlier attempt left for a member that has no open plan."""
        if profile.pre_bind and target.uid not in self._begun and target.uid not in self._undoing:
            self._unreserve(profile, target, None)

    async def finish(self, seconds: float) -> None:
        """Wait for every Unreserve under way, at most `seconds`."""
        if self._undoing:
            await asyncio.wait(self._undoing.values(), timeout=max(0.0, seconds))

    def close(self) -> None:
        """Give up everything under way."""
        for task in self._tasks:
            task.cancel()

    def _undo(self, uid: PodUID) -> None:
        begun = self._forget(uid)
        if begun is not None:
            begun.task.cancel()
            task = self._unreserve(begun.profile, begun.target, begun.task)
            undoing = self._of_group.setdefault(begun.group, _Undoing())
            undoing.count += 1
            task.add_done_callback(lambda _: self._undone_of(begun.group, undoing))

    def _forget(self, uid: PodUID) -> _Begun | None:
        begun = self._begun.pop(uid, None)
        if begun is not None:
            self._of_plan.drop(begun.target.plan, uid)
        return begun

    def _unreserve(
        self, profile: Profile, target: Target, pre_bind: asyncio.Task[None] | None
    ) -> asyncio.Task[None]:
        before = [task for task in (pre_bind, self._undoing.get(target.uid)) if task is not None]
        task = self._start(self._take_back(profile, target, before), f"unreserve {target.pod}")
        self._undoing[target.uid] = task
        task.add_done_callback(lambda task: self._undone(target.uid, task))
        return task

    def _undone_of(self, group: GroupKey, undoing: _Undoing) -> None:
        undoing.count -= 1
        if not undoing.count:
            undoing.done.set()
            del self._of_group[group]

    def _undone(self, uid: PodUID, task: asyncio.Task[None]) -> None:
        if self._undoing.get(uid) is task:
            del self._undoing[uid]

    async def _prepare(
        self,
        profile: Profile,
        target: Target,
        own: asyncio.Task[None] | None,
        others: _Undoing | None,
    ) -> None:
        if own is not None:
            await asyncio.wait([own])
        if others is not None:
            await others.done.wait()
        try:
            self._done(await binding.prepare(profile, target, self._api(target)))
        except Fenced:
            logger.debug("Did not prepare pod %s: no longer the leader", target.pod)

    async def _take_back(
        self, profile: Profile, target: Target, before: list[asyncio.Task[None]]
    ) -> None:
        if before:
            await asyncio.wait(before)
        api = self._api(target)
        try:
            # Limited, because the next PreBind of the pod waits for it.
            async with asyncio.timeout(UNRESERVE_SECONDS) as api.limit:
                await binding.unreserve(profile, target, api)
        except Fenced:
            logger.debug("Did not unreserve pod %s: no longer the leader", target.pod)
        except TimeoutError:
            text = "Unreserve of pod %s took longer than %.0f s"
            logger.warning(text, target.pod, UNRESERVE_SECONDS)
        self._done(Unreserved(target.plan, target.uid))

    def _start(self, work: Coroutine[object, object, None], name: str) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        task.set_name(name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._settled)
        return task
