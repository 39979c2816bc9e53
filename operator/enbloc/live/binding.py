# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The binding cycle of one member: PreBind, Bind and PostBind plugins, and their outcome."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, assert_never

from enbloc.client import binding as kube
from enbloc.client.client import Client
from enbloc.engine.events import (
    BindRefused,
    Bound,
    Event,
    PreBindFailed,
    PreBound,
)
from enbloc.framework.act import PreBind, PreBindPreFlight, ReadObject, Reply, Target, Unreserve
from enbloc.framework.decide import implements
from enbloc.framework.profile import Profile
from enbloc.framework.status import SUCCESS, Code, Status, refuse
from enbloc.live.extenders import Extenders
from enbloc.live.objects import Objects
from enbloc.live.plugin_times import MemberCall
from enbloc.model.binding import RefusalCause
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodUID
from enbloc.telemetry import metrics

logger = logging.getLogger(__name__)


def binding_of(target: Target) -> kube.Binding:
    """The Binding of one member."""
    return kube.Binding(
        namespace=target.pod.namespace,
        name=target.pod.name,
        uid=target.uid,
        node=target.node,
        annotations=dict(target.annotations),
    )


class MemberApi:
    """The API of the binding plugins of one member; remembers the outcome of its Binding.

    Args:
        client: may write only while this process is the leader.
        unknown: called once, when the outcome of the Binding is not known yet.
        objects: sends the other requests.
        plan: the plan of the member; plans take turns.
    """

    def __init__(
        self, client: Client, unknown: Callable[[], None], objects: Objects, plan: str
    ) -> None:
        self._client = client
        self._unknown = unknown
        self._objects = objects
        self._plan = plan
        #: Paused while others hold an object that this member wants `alone`.
        self.limit: asyncio.Timeout | None = None
        #: None until a Binding is settled.
        self.outcome: kube.Bound | kube.Refused | None = None

    async def bind(self, target: Target) -> Status:
        """Send the Binding until it is settled."""
        binding = binding_of(target)
        began = time.monotonic()
        outcome = await kube.bind(self._client, binding)
        if isinstance(outcome, kube.Unknown):
            _observe("unknown", began)
            logger.warning(
                "Retrying a Binding whose outcome is unknown",
                extra={"pod": str(target.pod), "node": target.node, "err": outcome.message},
            )
            self._unknown()
            outcome = await kube.settle(self._client, binding)
        return self._settle(outcome, began)

    def now(self) -> float:
        """Seconds of server time since the epoch."""
        return self._objects.now()

    async def read(self, kind: str, namespace: str, name: str) -> Reply:
        """The object as the server has it now."""
        return await self._objects.read(self._plan, kind, namespace, name)

    async def patch(
        self, kind: str, namespace: str, name: str, body: Mapping[str, Any], *, status: bool = False
    ) -> Reply:
        """Apply a merge patch to the object, or to its status."""
        return await self._objects.patch(self._plan, kind, namespace, name, body, status=status)

    async def create(self, kind: str, namespace: str, body: Mapping[str, Any]) -> Reply:
        """Create an object."""
        return await self._objects.create(self._plan, kind, namespace, body)

    async def delete(self, kind: str, namespace: str, name: str, uid: str) -> Reply:
        """Delete the object if it has this UID."""
        return await self._objects.delete(self._plan, kind, namespace, name, uid)

    async def changed(self, seen: Sequence[ReadObject], timeout: float) -> bool:
        """Wait until the watch shows a later version of one of the objects."""
        return await self._objects.watches.changed(seen, timeout)

    def places(self, namespace: str, pod_group: str, *, but: PodUID) -> bool:
        """Whether another pod of a Kubernetes PodGroup has a node, or is about to get one."""
        return self._objects.places(GroupKey(namespace, pod_group), but)

    def alone(self, kind: str, namespace: str, name: str) -> AbstractAsyncContextManager[None]:
        """Hold this object, so that only one member at a time changes it."""
        return self._objects.alone(kind, namespace, name, self.limit)

    async def bind_by(self, extenders: Extenders, profile: str, target: Target) -> Status:
        """Let an extender send the Binding; SKIP if none of them binds this pod."""
        began = time.monotonic()
        outcome = await extenders.bind(profile, binding_of(target), self._unknown)
        return Status(Code.SKIP) if outcome is None else self._settle(outcome, began)

    def _settle(self, outcome: kube.Bound | kube.Refused, began: float) -> Status:
        self.outcome = outcome
        if isinstance(outcome, kube.Bound):
            _observe("bound", began)
            return SUCCESS
        _observe("refused", began)
        return refuse(outcome.message)


def _observe(outcome: str, began: float) -> None:
    metrics.series(metrics.BIND_DURATION, outcome).observe(time.monotonic() - began)


def _has_work(plugin: PreBind, target: Target) -> bool:
    return not implements(plugin, PreBindPreFlight) or plugin.prepares(target)


async def prepare(profile: Profile, target: Target, api: MemberApi) -> Event:
    """Run the PreBind plugins of one member that have something to do for it.

    Raises:
        Fenced: a request was not sent, because this process may no longer be the leader.
    """
    for plugin in profile.pre_bind:
        with MemberCall(profile.name, plugin.name, "PreBind") as call:
            if _has_work(plugin, target):
                call.answered(await plugin.pre_bind(target, api))
        status = call.status
        if status.code not in (Code.SUCCESS, Code.SKIP):
            who = plugin.name if status.rejected else ""
            return PreBindFailed(target.plan, target.uid, call.message, who)
    return PreBound(target.plan, target.uid)


async def unreserve(profile: Profile, target: Target, api: MemberApi) -> None:
    """Have the PreBind plugins undo what they did for one member, the last plugin first.

    Raises:
        Fenced: a request was not sent, because this process may no longer be the leader.
    """
    for plugin in reversed(profile.pre_bind):
        with MemberCall(profile.name, plugin.name, "Unreserve") as call:
            if implements(plugin, Unreserve) and _has_work(plugin, target):
                call.answered(await plugin.unreserve(target, api))
        if call.status.code not in (Code.SUCCESS, Code.SKIP):
            logger.warning(
                "Could not take back all that was prepared for a pod",
                extra={"pod": str(target.pod), "plugin": plugin.name, "err": call.status.message},
            )


async def bind(profile: Profile, target: Target, api: MemberApi, extenders: Extenders) -> Event:
    """Bind one member by an extender that binds it, else by the first plugin that does not skip.

    The API server's answer takes precedence over the status that a plugin returns.

    Raises:
        Fenced: this process may no longer be the leader. Nothing was sent, or the next leader
            will see the outcome.
    """
    status = await api.bind_by(extenders, profile.name, target)
    for plugin in profile.bind:
        if status.code is not Code.SKIP:
            break
        with MemberCall(profile.name, plugin.name, "Bind") as call:
            call.answered(await plugin.bind(target, api))
        status = call.status
        if status.code is Code.ERROR:
            status = Status(Code.ERROR, call.message)
    return _event(target, api.outcome, status)


def _event(target: Target, outcome: kube.Bound | kube.Refused | None, status: Status) -> Event:
    """The event for a Binding's outcome; if we did not send it, by what the plugins said."""
    match outcome:
        case kube.Bound():
            return Bound(target.plan, target.uid)
        case kube.Refused(cause, message):
            # The operator must fix it: a permission, a webhook.
            if cause is RefusalCause.SCHEDULER_ERROR:
                logger.error(
                    "API server rejected a Binding",
                    extra={"pod": str(target.pod), "node": target.node, "err": message},
                )
            return BindRefused(target.plan, target.uid, cause, message)
        case None if status.ok:  # a plugin that binds in its own way
            return Bound(target.plan, target.uid)
        case None:
            text = status.message
            if status.code is Code.SKIP:
                text = "every Bind plugin skipped the pod; enable DefaultBinder"
            return BindRefused(target.plan, target.uid, RefusalCause.SCHEDULER_ERROR, text)
        case _:
            assert_never(outcome)


async def after(profile: Profile, target: Target, api: MemberApi) -> None:
    """Tell the PostBind plugins; they cannot object.

    Raises:
        Fenced: a request was not sent, because this process may no longer be the leader.
    """
    for plugin in profile.post_bind:
        with MemberCall(profile.name, plugin.name, "PostBind") as call:
            await plugin.post_bind(target, api)
            call.answered(SUCCESS)
