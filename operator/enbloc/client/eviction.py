# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Evicting a pod to release capacity, until the outcome is certain (semantics §4.5).

::

    look: GET ──gone, finished, no controller──► Exempt
      │   └────terminating─────────────────────► Evicted
      ▼
    mark: PATCH DisruptionTarget=True, if the pod is still as seen
      ▼
    wait until all of the set are marked or settled ──one refused, `whole`──► Blocked
      ├─ Pending, or regardless of budgets ──► DELETE, with UID ──► Evicted
      └─ else ─────► Eviction API, with UID ──┬─201──────────────► Evicted
                                              └─429 of a budget──► Blocked
    409, 404, 401, 429, timeout, reset, 5xx: look again
    another refusal, and one by a webhook or a policy with any code: Blocked

The pod keeps its own grace period: a shorter one releases capacity while containers still run.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

import msgspec

from enbloc.client.backoff import Backoff
from enbloc.client.client import Client, PatchType
from enbloc.client.errors import (
    APIError,
    Conflict,
    Fenced,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from enbloc.client.paths import PODS
from enbloc.model.names import DISRUPTION_TARGET
from enbloc.model.times import seconds_of
from enbloc.wire.conditions import pod_condition
from enbloc.wire.objects import ConditionObject, OwnerReference

#: The least wait before a refused eviction is tried again (seconds).
PAUSE: Final = 10.0
#: The longest wait that an answer may ask for (seconds).
LONGEST_PAUSE: Final = 300.0
#: What the message of a 500 contains that is a refusal, not a failure of the server.
_ANSWERS: Final = ("failed calling webhook", "more than one PodDisruptionBudget")


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str
    resource_version: str
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class _Status(msgspec.Struct):
    phase: str | None = None
    conditions: tuple[ConditionObject, ...] | None = None


class _Pod(msgspec.Struct):
    """The fields read of a pod; an answer without UID or resourceVersion is not a pod."""

    metadata: _Metadata
    status: _Status = msgspec.field(default_factory=_Status)


@dataclass(frozen=True, slots=True)
class EvictionRequest:
    """The pod to evict, and why.

    Attributes:
        namespace: of the pod.
        name: of the pod.
        uid: of the pod; another pod of that name is left alone.
        reason: the reason of its condition DisruptionTarget.
        message: the message of that condition, for people.
        bare: evict it even if it has no controller.
        regardless: delete it even if a disruption budget forbids its eviction.
        unmarked: evict it even if the API server refuses the condition.
    """

    namespace: str
    name: str
    uid: str
    reason: str
    message: str
    bare: bool = False
    regardless: bool = False
    unmarked: bool = False


class Evicted(msgspec.Struct, frozen=True):
    """The pod is being deleted, or is deleted."""


class Blocked(msgspec.Struct, frozen=True):
    """The pod may not be evicted now.

    Attributes:
        retry_after: seconds before another try makes sense.
        message: the server's message.
        budget: a disruption budget forbids it; else a permission, a webhook or enbloc's request.
    """

    retry_after: float
    message: str
    budget: bool


class Exempt(msgspec.Struct, frozen=True):
    """The pod will not be evicted: it is gone, finished, bare, or its namespace is terminating."""

    message: str


Outcome = Evicted | Blocked | Exempt


class EvictionSet:
    """Pods to evict together: none is evicted before all are marked or settled otherwise.

    From the marks, the next leader knows the other pods of the set.

    Args:
        uids: of the pods.
        slots: limits how many pods have a request in flight at once; None = no limit.
        whole: keep all of them if one is refused before any deletion was sent.
        begun: some may have been deleted already.

    Attributes:
        slots: limits how many pods have a request in flight at once.
        begun: a deletion of one was sent, or one is terminating.
        refusal: why all of them are kept; None = they are not.
    """

    def __init__(
        self,
        uids: Collection[str],
        slots: asyncio.Semaphore | None = None,
        *,
        whole: bool = False,
        begun: bool = False,
    ) -> None:
        self.slots = slots or asyncio.Semaphore(len(uids))
        self.begun = begun
        self.refusal: Blocked | None = None
        self._whole = whole
        self._left = set(uids)
        self._all = asyncio.Event()

    def ready(self, uid: str) -> None:
        """Note that a pod is marked or settled, so that the others need not wait for it."""
        self._left.discard(uid)
        if not self._left:
            self._all.set()

    def settled(self, outcome: Outcome) -> None:
        """Note the certain outcome of one pod."""
        match outcome:
            case Evicted():
                self.begun = True
            case Blocked() if self._whole and not self.begun:
                self.refusal = outcome
            case _:
                pass

    async def wait(self) -> None:
        """Wait until all are marked or settled."""
        await self._all.wait()


async def evict(
    client: Client,
    victim: EvictionRequest,
    now: Callable[[], float],
    together: EvictionSet | None = None,
) -> Outcome:
    """Evict a pod, and return once the outcome is certain.

    After an unclear answer it reads the pod again, and repeats the request if that is needed.

    Args:
        client: the API.
        victim: the pod.
        now: server time, seconds since the epoch.
        together: the pods that it is evicted with; None = it alone.

    Raises:
        Fenced: not sent, because the client may no longer write.
    """
    attempt = _Attempt(client, victim, now, together or EvictionSet([victim.uid]))
    try:
        outcome = await _settle(attempt)
        attempt.together.settled(outcome)
        return outcome
    finally:
        attempt.ready()


async def _settle(attempt: "_Attempt") -> Outcome:
    """Try again until the outcome is certain."""
    backoff = Backoff(initial=0.1)
    while True:
        try:
            outcome = await attempt.go()
        except Fenced:
            raise
        except APIError as error:
            if not _look_again(error):
                return _refused(error)
            await backoff.wait_out(error)
        else:
            if outcome is not None:
                return outcome
            await asyncio.sleep(backoff.next())


class _Attempt:
    """The steps to evict one pod: look, mark, evict; remembers whether a deletion was sent."""

    def __init__(
        self,
        client: Client,
        victim: EvictionRequest,
        now: Callable[[], float],
        together: EvictionSet,
    ) -> None:
        self._client = client
        self._victim = victim
        self._now = now
        self.together = together
        self._sent = together.begun

    def ready(self) -> None:
        """Let the others of the set no longer wait for this pod."""
        self.together.ready(self._victim.uid)

    async def go(self) -> Outcome | None:
        """Run the steps once; None if the pod has to be read again."""
        async with self.together.slots:
            found = await self._look()
        if not isinstance(found, _Pod):
            return found
        self.ready()
        await self.together.wait()
        async with self.together.slots:
            return self.together.refusal or await self._evict(found)

    async def _look(self) -> _Pod | Outcome:
        """The marked pod, or its outcome if that is already certain."""
        victim = self._victim
        try:
            pod: _Pod = await self._client.get(PODS, victim.name, victim.namespace, shape=_Pod)
        except NotFound as missing:
            if missing.resource_missing:  # from a proxy: every API server has pods
                raise
            return self._gone(str(missing))
        if pod.metadata.uid != victim.uid:
            return self._gone(f"another pod has the name {victim.name}")
        settled = _settled(pod, bare=victim.bare)
        if settled is not None:
            return settled
        try:
            return await self._mark(pod)
        except APIError as error:
            if not victim.unmarked or not _is_refusal(error):
                raise
            return pod

    async def _evict(self, marked: _Pod) -> Outcome:
        """Delete the pod, or create an Eviction of it."""
        victim = self._victim
        self._sent = self.together.begun = True
        pending = _phase(marked) == "Pending"
        if pending or victim.regardless:
            # A Pending pod must not have started meanwhile; a running one may be in any state.
            version = marked.metadata.resource_version if pending else ""
            await self._client.delete(
                PODS, victim.name, victim.namespace, uid=victim.uid, resource_version=version
            )
        else:
            await self._ask()
        return Evicted()

    def _gone(self, message: str) -> Outcome:
        return Evicted() if self._sent else Exempt(message)

    async def _mark(self, pod: _Pod) -> _Pod:
        """Set DisruptionTarget on the pod if it is still in the state that was read."""
        victim, metadata = self._victim, pod.metadata
        condition = pod_condition(
            DISRUPTION_TARGET,
            "True",
            victim.reason,
            victim.message,
            max(self._now(), seconds_of(metadata.creation_timestamp or "") or 0.0),
            same=_is_marked(pod),
        )
        marked: _Pod = await self._client.patch(
            PODS,
            victim.name,
            {
                "metadata": {"uid": victim.uid, "resourceVersion": metadata.resource_version},
                "status": {"conditions": [condition]},
            },
            victim.namespace,
            kind=PatchType.STRATEGIC,
            subresource="status",
            shape=_Pod,
        )
        return marked

    async def _ask(self) -> None:
        """Create the Eviction, once."""
        victim = self._victim
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": victim.name, "namespace": victim.namespace},
            "deleteOptions": {"preconditions": {"uid": victim.uid}},
        }
        await self._client.create(
            PODS, body, victim.namespace, name=victim.name, subresource="eviction", tries=1
        )


def _settled(pod: _Pod, *, bare: bool) -> Outcome | None:
    """The outcome that is certain before any write; None if the pod has to be evicted."""
    metadata = pod.metadata
    if metadata.deletion_timestamp:
        return Evicted()
    if _phase(pod) in {"Succeeded", "Failed"}:
        return Exempt("the pod has finished and holds no capacity")
    if not bare and not any(owner.controller for owner in metadata.owner_references or ()):
        return Exempt("the pod has no controller that would replace it")
    return None


def _phase(pod: _Pod) -> str:
    return pod.status.phase or "Pending"


def _is_marked(pod: _Pod) -> bool:
    conditions = pod.status.conditions or ()
    return any(c.type == DISRUPTION_TARGET and c.status == "True" for c in conditions)


def _look_again(error: APIError) -> bool:
    """Whether to read the pod again: it changed, may be gone, or the answer says nothing of it."""
    if error.denied:
        return False
    match error:
        case ServerError():
            return not any(answer in error.message for answer in _ANSWERS)
        case TooManyRequests():
            return not _is_of_budget(error)
        case _:
            return isinstance(error, NotFound | Conflict | Unauthorized | Unreachable)


def _is_refusal(error: APIError) -> bool:
    """Whether the server refused, and would refuse the same request again."""
    return not isinstance(error, Fenced) and not _look_again(error)


def _refused(error: APIError) -> Blocked | Exempt:
    if error.namespace_terminating:
        return Exempt(str(error))
    pause = min(max(PAUSE, error.retry_after), LONGEST_PAUSE)
    if _is_of_budget(error):
        return Blocked(pause, _why(error), budget=True)
    return Blocked(pause, str(error), budget=False)


def _is_of_budget(error: APIError) -> bool:
    return isinstance(error, TooManyRequests) and error.has_cause("DisruptionBudget")


def _why(error: APIError) -> str:
    """The message with the budget that forbids the eviction."""
    said = (str(cause["message"]) for cause in error.causes if cause.get("message"))
    return "; ".join(said) or str(error)
