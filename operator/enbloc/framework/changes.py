# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How a binding plugin looks at an object, and changes it against all that goes on meanwhile."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from enbloc.framework.act import Api, Reply, Seen, Target
from enbloc.framework.status import SUCCESS, Code, Status
from enbloc.model.versions import version_of

Body = Mapping[str, Any]

#: For so long a request is repeated that the server cannot serve now (seconds).
PATIENCE: Final = 30.0
#: So often a change is decided anew because somebody else has changed the object.
MOST_CONFLICTS: Final = 16
#: How long a watch may take to show what was written (seconds).
SHOWN_SECONDS: Final = 10.0
#: The first and the longest pause between two tries (seconds).
_PAUSES: Final = (0.1, 5.0)


@dataclass(frozen=True, slots=True)
class Object:
    """Which object it is.

    Attributes:
        namespace: "" for kinds without one.
    """

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {where}"

    def seen(self, body: Body) -> Seen:
        """It, in the version of this body."""
        version = version_of(text_of(part(body, "metadata"), "resourceVersion"))
        return Seen(self.kind, self.namespace, self.name, version)


#: What to merge into an object that is like this; empty = it is as wanted; a text = why it cannot
#: be as wanted.
Decide = Callable[[Body], Body | str]


@dataclass(frozen=True, slots=True)
class Changed:
    """What became of an object that was to be changed.

    Attributes:
        body: as it is now; empty where it was not changed.
        code: the HTTP status of the request that failed; 0 = none did, or none was answered.
        problem: why it is not as wanted; "" = it is.
    """

    body: Body
    code: int = 0
    problem: str = ""


def failed(problem: str) -> Status:
    """Success, or an error: the group is tried again after a pause."""
    return Status(Code.ERROR, problem) if problem else SUCCESS


async def look(api: Api, it: Object) -> Reply:
    """Read an object; what passes is waited out for PATIENCE seconds."""
    until, pause = api.now() + PATIENCE, _PAUSES[0]
    while True:
        reply = await api.read(it.kind, it.namespace, it.name)
        if not reply.passing or api.now() >= until:
            return reply
        await api.changed((), pause)
        pause = min(_PAUSES[1], pause * 2)


async def change(
    api: Api, it: Object, decide: Decide, *, status: bool = False, known: Body | None = None
) -> Changed:
    """Have an object as it is wanted; nothing is written where it is so already.

    Each write holds for the very state that was decided about: where another came first, it is
    looked at again. A write whose outcome is unknown is settled by the next look.

    Args:
        api: the cluster.
        it: which object.
        decide: what to merge into it; asked anew about each state.
        status: merge it into the status.
        known: as the object was a moment ago; None = it has to be read first.
    """
    until, pause, conflicts = api.now() + PATIENCE, _PAUSES[0], 0
    async with api.alone(it.kind, it.namespace, it.name):
        while True:
            reply = (
                await api.read(it.kind, it.namespace, it.name)
                if known is None
                else Reply(200, known)
            )
            known = None
            seen: tuple[Seen, ...] = ()
            if reply.ok:
                wanted = decide(reply.body)
                if isinstance(wanted, str):
                    return Changed({}, problem=wanted)
                if not wanted:
                    return Changed(reply.body)
                seen = (it.seen(reply.body),)
                patch = _conditional(wanted, reply.body)
                reply = await api.patch(it.kind, it.namespace, it.name, patch, status=status)
                if reply.ok:
                    return Changed(reply.body)
                conflicts += reply.code == 409
            again = reply.passing or (bool(seen) and reply.code == 409)
            if not again or conflicts > MOST_CONFLICTS or api.now() >= until:
                return Changed({}, reply.code, f"{it}: {reply.message}")
            # After a conflict the watch shows soon what came first; else time has to pass.
            await api.changed(seen if reply.code == 409 else (), pause)
            pause = min(_PAUSES[1], pause * 2)


def _conditional(wanted: Body, body: Body) -> Body:
    """A patch that holds for this very state of the object only."""
    metadata = part(body, "metadata")
    identity = {key: metadata.get(key, "") for key in ("uid", "resourceVersion")}
    return {**wanted, "metadata": {**part(wanted, "metadata"), **identity}}


async def shown(api: Api, it: Object, body: Body) -> bool:
    """Wait until the watch shows an object in this version, or a later one.

    Returns:
        False if it has not for SHOWN_SECONDS.
    """
    seen = it.seen(body)
    return await api.changed((seen._replace(version=seen.version - 1),), SHOWN_SECONDS)


async def node_of(api: Api, target: Target) -> Reply | str:
    """The node that the pod is bound to; "" = none, or the pod is gone; a Reply = not known."""
    reply = await look(api, Object("Pod", target.pod.namespace, target.pod.name))
    if reply.code == 404:
        return ""
    if not reply.ok:
        return reply
    if text_of(part(reply.body, "metadata"), "uid") != target.uid:
        return ""
    return text_of(part(reply.body, "spec"), "nodeName")


def part(body: Body, name: str) -> Body:
    """An object within an object; empty if it is none."""
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def text_of(body: Body, name: str) -> str:
    """A text within an object; "" if it is none."""
    found = body.get(name)
    return found if isinstance(found, str) else ""
