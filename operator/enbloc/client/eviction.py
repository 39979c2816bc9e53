# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Evicting a pod to release capacity, until the outcome is certain (semantics §4.5).

::

    look: GET ──gone, finished, no controller──► Exempt
      │   └────terminating─────────────────────► Evicted
      ▼
    mark: PATCH DisruptionTarget=True, if the pod is still as seen
      ▼
    all that go together are marked, or settled ──one refused, of a whole──► Blocked
      ├─ Pending, or regardless of budgets ──► DELETE, with UID ──► Evicted
      └─ else ─────► Eviction API, with UID ──┬─201──────────────► Evicted
                                              └─429 of a budget──► Blocked
    409, 404, 401, 429, timeout, reset, 5xx: look again
    another refusal, and one of a webhook or a policy with whatever code: Blocked

The grace period is the pod's own: a shorter one releases capacity while containers still run.
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

#: The least wait before a pod that was refused is asked for again (seconds).
PAUSE: Final = 10.0
#: What an answer may ask for at most (seconds).
LONGEST_PAUSE: Final = 300.0
#: What a 500 says that is an answer, and not a failure of the server.
_ANSWERS: Final = ("failed calling webhook", "more than one PodDisruptionBudget")
#: What a webhook or a policy that refuses says, which chooses the code by itself: many take 429, so
#: that `kubectl drain` tries again.
_DENIED: Final = ("denied the request", "denied request")


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
    """What is read of a pod; an answer without a UID or a resourceVersion shows none."""

    metadata: _Metadata
    status: _Status = msgspec.field(default_factory=_Status)


@dataclass(frozen=True, slots=True)
class Victim:
    """The pod that is to go, and why.

    Attributes:
        namespace: of the pod.
        name: of the pod.
        uid: of the pod; another pod of that name is left alone.
        reason: of its condition DisruptionTarget.
        message: of it, for people.
        bare: it goes even if it has no controller.
        regardless: it goes even if a budget forbids it: it is deleted.
        unmarked: it goes even if the mark is refused.
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
    """The pod is being deleted, or was."""


class Blocked(msgspec.Struct, frozen=True):
    """The pod may not go now.

    Attributes:
        retry_after: seconds before it is worth another try.
        message: in the server's words.
        budget: a disruption budget forbids it; else a permission, a webhook or our own request.
    """

    retry_after: float
    message: str
    budget: bool


class Exempt(msgspec.Struct, frozen=True):
    """The pod will not be evicted: it is gone, finished, bare, or its namespace is terminating."""

    message: str


Outcome = Evicted | Blocked | Exempt


class Together:
    """Pods that are evicted together: none is, before all are marked or settled otherwise.

    So whoever leads next knows who else was to go.

    Args:
        uids: of the pods.
        slots: bounds how many pods are asked about at once; None = their number does.
        whole: all of them stay if one is refused before any deletion was sent.
        begun: some may have been deleted already.

    Attributes:
        slots: bounds how many pods are asked about at once.
        begun: a deletion of one was sent, or one is leaving.
        refusal: why all of them stay; None = they do not.
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
        """A pod is marked or settled, or goes with others now."""
        self._left.discard(uid)
        if not self._left:
            self._all.set()

    def settled(self, outcome: Outcome) -> None:
        """The outcome of one is certain."""
        match outcome:
            case Evicted():
                self.begun = True
            case Blocked() if self._whole and not self.begun:
                self.refusal = outcome
            case _:
                pass

    async def wait(self) -> None:
        """Until all are marked, or settled."""
        await self._all.wait()


async def evict(
    client: Client,
    victim: Victim,
    now: Callable[[], float],
    together: Together | None = None,
) -> Outcome:
    """Evict a pod that has a controller; what may have happened is looked at, and sent again.

    Ends only when the outcome is certain, or cancelled.

    Args:
        client: the API.
        victim: the pod.
        now: server time, seconds since the epoch.
        together: with whom it goes; None = alone.

    Raises:
        Fenced: not sent, because the client may no longer write.
    """
    attempt = _Attempt(client, victim, now, together or Together([victim.uid]))
    try:
        outcome = await _settle(attempt)
        attempt.together.settled(outcome)
        return outcome
    finally:
        attempt.ready()


async def _settle(attempt: "_Attempt") -> Outcome:
    """Try until the outcome is certain."""
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
    """One round of looking, marking and evicting; remembers whether a deletion was sent."""

    def __init__(
        self,
        client: Client,
        victim: Victim,
        now: Callable[[], float],
        together: Together,
    ) -> None:
        self._client = client
        self._victim = victim
        self._now = now
        self.together = together
        self._sent = together.begun

    def ready(self) -> None:
        """Nobody waits for this pod any more."""
        self.together.ready(self._victim.uid)

    async def go(self) -> Outcome | None:
        """Once through; None if the pod has to be looked at again."""
        async with self.together.slots:
            found = await self._look()
        if not isinstance(found, _Pod):
            return found
        self.ready()
        await self.together.wait()
        async with self.together.slots:
            return self.together.refusal or await self._evict(found)

    async def _look(self) -> _Pod | Outcome:
        """The pod, marked; or what is certain of it already."""
        victim = self._victim
        try:
            pod: _Pod = await self._client.get(PODS, victim.name, victim.namespace, shape=_Pod)
        except NotFound as missing:
            if missing.resource_missing:  # somebody on the way says so: every server has pods
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
        """Have it deleted."""
        victim = self._victim
        self._sent = self.together.begun = True
        pending = _phase(marked) == "Pending"
        if pending or victim.regardless:
            # What is Pending must not start meanwhile; of a running pod any state will do.
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
        """Say on the pod why it goes; the resourceVersion keeps this off any other state of it."""
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
        """Send the Eviction, once."""
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
    """What is certain before anything is written; None if the pod has yet to be evicted."""
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
    """Whether the pod changed, nothing was learnt, or it may be gone in spite of this answer."""
    if any(words in error.message for words in _DENIED):
        return False
    match error:
        case ServerError():
            return not any(answer in error.message for answer in _ANSWERS)
        case TooManyRequests():
            return not _is_of_budget(error)
        case _:
            return isinstance(error, NotFound | Conflict | Unauthorized | Unreachable)


def _is_refusal(error: APIError) -> bool:
    """Whether it is an answer, and the same request would get it again."""
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
    """Which budget forbids it."""
    said = (str(cause["message"]) for cause in error.causes if cause.get("message"))
    return "; ".join(said) or str(error)
