# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How a binding plugin reads an object, and changes it while others may change it too."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from enbloc.framework.act import Api, ReadObject, Reply, Target
from enbloc.framework.status import SUCCESS, Code, Status
from enbloc.model.versions import version_of

Body = Mapping[str, Any]

#: How long a request that fails for now is repeated (seconds).
PATIENCE: Final = 30.0
#: How often a change is decided anew because somebody else changed the object.
MOST_CONFLICTS: Final = 16
#: How long a watch may take to show what was written (seconds).
SHOWN_SECONDS: Final = 10.0
#: The first and the longest pause between two tries (seconds).
_PAUSES: Final = (0.1, 5.0)


@dataclass(frozen=True, slots=True)
class Object:
    """The identity of an object.

    Attributes:
        namespace: "" for kinds without one.
    """

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where}"

    def seen(self, body: Body) -> ReadObject:
        """The object in the version of this body."""
        version = version_of(text_of(part(body, "metadata"), "resourceVersion"))
        return ReadObject(self.kind, self.namespace, self.name, version)


#: Given an object, returns what to merge into it; empty = it is as wanted; a text = why it cannot
#: be. If that depends on other objects, the function reads them first.
Decide = Callable[[Body], Body | str | Awaitable[Body | str]]


@dataclass(frozen=True, slots=True)
class Changed:
    """The result of a change to an object.

    Attributes:
        body: as it is now; empty where it was not changed.
        code: the HTTP status of the request that failed; 0 = none failed, or it got no answer.
        problem: why it is not as wanted; "" = it is.
    """

    body: Body
    code: int = 0
    problem: str = ""


def failed(problem: str) -> Status:
    """SUCCESS for "", else an error, after which the group is retried after its backoff."""
    return Status(Code.ERROR, problem) if problem else SUCCESS


class Patience:
    """Waits between the tries of a request; none begins more than PATIENCE seconds from now.

    A try follows each wait, so a single long wait that the server asks for does not end the
    request.

    Args:
        api: the cluster.
    """

    def __init__(self, api: Api) -> None:
        self._api = api
        self._until = api.now() + PATIENCE
        self._pause = _PAUSES[0]

    async def wait(self, reply: Reply, seen: Sequence[ReadObject] = ()) -> bool:
        """Wait before the next try, at least as long as the server asks.

        Args:
            reply: the answer to the last try.
            seen: a change of these ends the wait.

        Returns:
            False if the time is over, so that no other try may follow.
        """
        if self._api.now() >= self._until:
            return False
        await self._api.changed(seen, max(self._pause, reply.retry_after))
        self._pause = min(_PAUSES[1], self._pause * 2)
        return True


async def look(api: Api, it: Object) -> Reply:
    """Read an object; retry transient failures for PATIENCE seconds."""
    patience = Patience(api)
    while True:
        reply = await api.read(it.kind, it.namespace, it.name)
        if not reply.passing or not await patience.wait(reply):
            return reply


async def change(api: Api, it: Object, decide: Decide, *, status: bool = False) -> Changed:
    """Bring an object into the wanted state; write nothing if it is in it already.

    Each write is conditional on the version that was decided about: after a conflict the object is
    read and decided again. The next read settles a write whose outcome is unknown.

    Args:
        api: the cluster.
        it: which object.
        decide: what to merge into it; asked anew before each try.
        status: merge it into the status.
    """
    async with api.alone(it.kind, it.namespace, it.name):
        return await change_alone(api, it, decide, status=status)


async def change_alone(
    api: Api, it: Object, decide: Decide, *, status: bool = False, known: Body | None = None
) -> Changed:
    """As `change`, for callers that hold the object `alone` already.

    Args:
        api: the cluster.
        it: which object.
        decide: what to merge into it; asked anew before each try.
        status: merge it into the status.
        known: the object as the caller just changed it; None = read it first.
    """
    patience, conflicts = Patience(api), 0
    while True:
        reply = (
            await api.read(it.kind, it.namespace, it.name) if known is None else Reply(200, known)
        )
        known = None
        seen: tuple[ReadObject, ...] = ()
        if reply.ok:
            body, wanted = reply.body, decide(reply.body)
            if isinstance(wanted, Awaitable):
                wanted = await wanted
            if isinstance(wanted, str):
                return Changed({}, problem=wanted)
            if not wanted:
                return Changed(body)
            seen = (it.seen(body),)
            patch = _conditional(wanted, body)
            reply = await api.patch(it.kind, it.namespace, it.name, patch, status=status)
            if reply.ok:
                return Changed(reply.body)
            conflicts += reply.code == 409
        conflict = bool(seen) and reply.code == 409
        # After a conflict the watch soon shows the other write; else wait.
        if (
            not (reply.passing or conflict)
            or conflicts > MOST_CONFLICTS
            or not await patience.wait(reply, seen if conflict else ())
        ):
            return Changed({}, reply.code, f"{it}: {reply.message}")


def _conditional(wanted: Body, body: Body) -> Body:
    """A patch that applies only to this version of the object."""
    metadata = part(body, "metadata")
    identity = {key: metadata.get(key, "") for key in ("uid", "resourceVersion")}
    return {**wanted, "metadata": {**part(wanted, "metadata"), **identity}}


async def shown(api: Api, it: Object, body: Body) -> bool:
    """Wait until the watch shows an object in this version, or a later one.

    Returns:
        False if it does not within SHOWN_SECONDS.
    """
    seen = it.seen(body)
    return await api.changed((seen._replace(version=seen.version - 1),), SHOWN_SECONDS)


async def node_of(api: Api, target: Target) -> Reply | str:
    """The node that the pod is bound to; "" = none, or pod gone; a Reply = the read failed."""
    reply = await look(api, Object("Pod", target.pod.namespace, target.pod.name))
    if reply.code == 404:
        return ""
    if not reply.ok:
        return reply
    if text_of(part(reply.body, "metadata"), "uid") != target.uid:
        return ""
    return text_of(part(reply.body, "spec"), "nodeName")


def part(body: Body, name: str) -> Body:
    """The object in a field; empty if the field holds none."""
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def text_of(body: Body, name: str) -> str:
    """The string in a field; "" if the field holds none."""
    found = body.get(name)
    return found if isinstance(found, str) else ""
