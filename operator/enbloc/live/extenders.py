# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extenders of all profiles: they answer questions about pods, and may bind them."""

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Final, Self

import msgspec

from enbloc.client.backoff import Backoff
from enbloc.client.binding import Binding, Bound, Refused, look
from enbloc.client.client import Client
from enbloc.client.errors import (
    APIError,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
    readable,
)
from enbloc.client.extender import ExtenderClient, ExtenderFailed, ExtenderRequest
from enbloc.client.items import Identified
from enbloc.client.paths import PODS
from enbloc.engine.effects import AskExtender
from enbloc.engine.events import ExtenderAnswer
from enbloc.framework.extenders import Extender, NodeVictims
from enbloc.framework.profile import Profile
from enbloc.live.raw_nodes import without_managed_fields
from enbloc.model.binding import RefusalCause
from enbloc.model.pods import Pod, PodKey, PodUID
from enbloc.wire import codec
from enbloc.wire.objects import PodObject

#: The most pods read at the same time.
READS: Final = 16

_IDENTIFIED: Final = msgspec.json.Decoder(Identified).decode
_POD: Final = msgspec.json.Decoder(PodObject).decode

logger = logging.getLogger(__name__)


class Extenders:
    """The extenders that the profiles name; an async context manager.

    Args:
        client: the API; may write only while this process is the leader.
        profiles: by schedulerName.
    """

    def __init__(self, client: Client, profiles: Mapping[str, Profile]) -> None:
        self._client = client
        self._profiles = {name: profile.extenders for name, profile in profiles.items()}
        #: In the order of all profiles' extenders, open inside the context; else empty.
        self._clients: list[ExtenderClient] = []
        self._stack = AsyncExitStack()
        asked = (each for extenders in self._profiles.values() for each in extenders)
        wanting = any(
            (each.filter_verb or each.prioritize_verb) and not each.node_cache_capable
            for each in asked
        )
        #: The nodes as JSON, by name, for extenders without a node cache; None = none needs them.
        self.nodes: dict[str, msgspec.Raw] | None = {} if wanting else None

    async def __aenter__(self) -> Self:
        """Connect to all extenders.

        Raises:
            ConfigError: a certificate cannot be used.
        """
        async with AsyncExitStack() as stack:
            for extenders in self._profiles.values():
                for extender in extenders:
                    if not any(known.extender == extender for known in self._clients):
                        caller = await stack.enter_async_context(ExtenderClient(extender))
                        self._clients.append(caller)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def answer(self, ask: AskExtender) -> ExtenderAnswer:
        """Ask an extender; the answer holds a failure, but that of prioritize is only logged."""
        caller = self._client_of(self._profiles[ask.profile][ask.extender])
        answer = ExtenderAnswer(ask.question)
        try:
            pod = await self._pod(ask.pod.key, ask.pod.uid)
            if ask.candidates:
                left = await self._preempt(caller, pod, ask)
                return ExtenderAnswer(ask.question, candidates=left)
            question = ExtenderRequest(pod, ask.nodes, self.nodes or {})
            if ask.filter:
                found = await caller.filter(question)
                answer = ExtenderAnswer(
                    ask.question, found.feasible, found.refused, found.unresolvable
                )
                question = dataclasses.replace(question, nodes=found.feasible)
        except (ExtenderFailed, APIError) as error:
            return ExtenderAnswer(ask.question, problem=str(error))
        if ask.prioritize and question.nodes:
            try:
                scores = await caller.prioritize(question)
                answer = msgspec.structs.replace(answer, scores=scores)
            except ExtenderFailed as error:
                logger.warning(
                    "Extender gave no scores; continuing without them",
                    extra={
                        "extender": str(caller.extender.url),
                        "pod": str(ask.pod.key),
                        "err": str(error),
                    },
                )
        return answer

    async def _preempt(
        self, caller: ExtenderClient, pod: msgspec.Raw, ask: AskExtender
    ) -> tuple[NodeVictims, ...]:
        """Ask for a pod's victims; without pods that are gone, and nodes without victims left."""
        if caller.extender.node_cache_capable:
            return await caller.preempt(pod, ask.candidates, {})
        objects = await self._objects(ask.victims)
        there = (
            each._replace(pods=tuple(uid for uid in each.pods if uid in objects))
            for each in ask.candidates
        )
        left = [each for each in there if each.pods]
        return await caller.preempt(pod, left, objects) if left else ()

    async def _objects(self, pods: Sequence[Pod]) -> Mapping[PodUID, msgspec.Raw]:
        """The pods that still exist, as JSON."""
        slots = asyncio.Semaphore(READS)

        async def read(pod: Pod) -> msgspec.Raw | None:
            async with slots:
                try:
                    return await self._pod(pod.key, pod.uid)
                except ExtenderFailed:
                    return None

        found = await asyncio.gather(*map(read, pods))
        shown = zip(pods, found, strict=True)
        return {pod.uid: raw for pod, raw in shown if raw is not None}

    async def bind(
        self, profile: str, binding: Binding, unknown: Callable[[], None]
    ) -> Bound | Refused | None:
        """Let the first extender that binds this pod send its Binding; None = none did.

        After an error the pod itself shows the outcome; if the extender gave no answer, it gets
        its timeout once more.

        Args:
            profile: the profile that schedules the pod.
            binding: of the pod; extenders do not write its annotations.
            unknown: called when the outcome is not known yet.

        Raises:
            Fenced: nothing was sent, because this process may no longer be the leader.
        """
        try:
            binders = await self._binders(profile, binding)
        except APIError as error:  # its extender, if any, must not be passed over
            return Refused(RefusalCause.SCHEDULER_ERROR, str(error))
        for extender in binders:
            try:
                with self._client.writing("bind", str(extender.url)) as sending:
                    sending()
                    await self._client_of(extender).bind(binding)
            except ExtenderFailed as error:
                logger.warning(
                    "Extender failed to bind a pod",
                    extra={"extender": str(extender.url), "pod": binding.name, "err": str(error)},
                )
                if error.unknown:
                    unknown()
                refused = Refused(RefusalCause.SCHEDULER_ERROR, f"{extender.url}: {error}")
                patience = extender.timeout if error.unknown else 0.0
                outcome = await self._settled(binding, refused, patience)
                if outcome is not refused or not extender.ignorable:
                    return outcome
            else:
                return Bound()
        return None

    def _client_of(self, extender: Extender) -> ExtenderClient:
        return next(each for each in self._clients if each.extender == extender)

    async def _binders(self, profile: str, binding: Binding) -> Sequence[Extender]:
        """The extenders of a profile that bind this pod; it is read if that depends on the pod.

        Raises:
            APIError: it may not or cannot be read.
        """
        binders = [each for each in self._profiles[profile] if each.bind_verb]
        if all(not each.managed for each in binders):
            return binders
        try:
            raw = await self._pod(PodKey(binding.namespace, binding.name), PodUID(binding.uid))
        except ExtenderFailed:
            return ()  # the pod is gone, as the Binding will show
        pod = codec.pod(readable(_POD, raw, "get", PODS.label()))
        return [each for each in binders if each.interested(pod)]

    async def _settled(
        self, binding: Binding, refused: Refused, patience: float
    ) -> Bound | Refused:
        """The pod's outcome; `refused` if it still has no node after `patience` seconds."""
        now = asyncio.get_running_loop().time
        backoff, end = Backoff(), now() + patience
        while True:
            outcome = await look(self._client, binding, refused)
            if outcome is not None and (outcome is not refused or now() >= end):
                return outcome
            await asyncio.sleep(backoff.next())

    async def _pod(self, key: PodKey, uid: PodUID) -> msgspec.Raw:
        """The pod as JSON; retried while the server does not answer.

        Raises:
            ExtenderFailed: the pod is gone.
            APIError: it may not be read.
        """
        backoff = Backoff()
        while True:
            try:
                raw = await self._client.request("get", PODS, key.name, key.namespace)
                shown = readable(_IDENTIFIED, raw, "get", PODS.label())
                plain = readable(without_managed_fields, raw, "get", PODS.label())
            except NotFound as missing:
                if not missing.resource_missing:
                    break
                await asyncio.sleep(backoff.next())  # from a proxy: every API server has pods
            except (Unreachable, ServerError, TooManyRequests, Unauthorized):
                await asyncio.sleep(backoff.next())
            else:
                if shown.metadata.uid == uid:
                    return plain
                break
        raise ExtenderFailed(f"pod {key} is gone")
