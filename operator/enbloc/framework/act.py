# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extension points of the binding cycle: what a plugin may do, with a narrow Api in hand.

These run in the shell, one task per member, after the whole group was reserved and permitted.
All PreBinds of a group finish before its first Bind. They may do I/O, and must not block, because
everything else would wait. Nobody limits their time, so they do it themselves.

::

    PreBindPreFlight ──► PreBind ──► Bind ──► PostBind
                            │          │ refused
                            └──────────┴──► Unreserve    when the plan was given up
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from enbloc.framework.decide import Plugin
from enbloc.framework.status import Status
from enbloc.ledgers import NOTHING_DECIDED, Decisions
from enbloc.model.pods import PodKey, PodUID


class Target(msgspec.Struct, frozen=True, gc=False):
    """One member on its way to its node.

    Attributes:
        annotations: merged by the API server into the pod in the same write as the bind.
        decided: what the plan decided of its volumes and devices.
    """

    plan: str
    pod: PodKey
    uid: PodUID
    node: str
    annotations: tuple[tuple[str, str], ...] = ()
    decided: Decisions = NOTHING_DECIDED


@dataclass(frozen=True, slots=True)
class Reply:
    """What the API server answered.

    Attributes:
        code: the HTTP status; 0 when no answer came.
        body: the object, where it succeeded.
        message: why it did not, with the verb and the resource; "" where it succeeded.
        retry_after: for so long the server asks not to be asked again (seconds, 30 at most);
            0 = it does not.
    """

    code: int
    body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    message: str = ""
    retry_after: float = 0.0

    @property
    def ok(self) -> bool:
        """It succeeded."""
        return 200 <= self.code < 300

    @property
    def passing(self) -> bool:
        """The server could not do it now; a write may have taken effect nevertheless."""
        return self.code in (0, 401, 429) or self.code >= 500


class Seen(NamedTuple):
    """An object, and the version of it that somebody has read.

    Attributes:
        namespace: "" for kinds without one.
        version: its resourceVersion.
    """

    kind: str
    namespace: str
    name: str
    version: int


class Api(Protocol):
    """All that a binding plugin can do to the cluster.

    Kinds are those of Kubernetes ("PersistentVolumeClaim"), and only those which scheduling may
    write; in which version a kind is served is not the plugin's to know. No request raises for
    what the server answers, and each that writes is settled before a cancellation takes effect.
    """

    async def bind(self, target: Target) -> Status:
        """Send the Binding until it is settled (semantics §3.4).

        SUCCESS when it is bound to this node; otherwise a status whose message says why not.
        An unknown outcome is sent again, and is never an answer.
        """
        ...

    def now(self) -> float:
        """Seconds of server time since the epoch, which never go back."""
        ...

    async def read(self, kind: str, namespace: str, name: str) -> Reply:
        """The object as the server has it now."""
        ...

    async def patch(
        self, kind: str, namespace: str, name: str, body: Mapping[str, Any], *, status: bool = False
    ) -> Reply:
        """Merge this into the object, or into its status; 409 if it is another one by now.

        The UID and the resourceVersion in the body's metadata, if any, are preconditions.
        """
        ...

    async def create(self, kind: str, namespace: str, body: Mapping[str, Any]) -> Reply:
        """Create an object; 409 if there is one of its name."""
        ...

    async def delete(self, kind: str, namespace: str, name: str, uid: str) -> Reply:
        """Delete the object, if it has this UID."""
        ...

    async def changed(self, seen: Sequence[Seen], timeout: float) -> bool:
        """Wait until the watch shows a later version of one of the objects, or that it is gone.

        False after `timeout` seconds. Nothing is asked of the server.
        """
        ...

    def places(self, namespace: str, pod_group: str, *, but: PodUID) -> bool:
        """Whether another pod of a PodGroup of Kubernetes is on a node, or on its way to one.

        What a group shares can be taken back only when none is. It is true of this moment: who
        decides by it has what it decides about `alone`, and PreBind looks at that again.
        """
        ...

    def alone(self, kind: str, namespace: str, name: str) -> AbstractAsyncContextManager[None]:
        """One member at a time changes this object, so that members do not conflict."""
        ...


@runtime_checkable
class PreBind(Plugin, Protocol):
    """Prepares the node or the pod (volumes, devices)."""

    async def pre_bind(self, target: Target, api: Api) -> Status:
        """Anything but SUCCESS or SKIP gives the whole group's reservation back.

        A refusal has it wait for the plugin's events, an error or an exception for the end of a
        pause. Cancelled when the plan is given up for another reason, such as a deleted member.
        """
        ...


@runtime_checkable
class PreBindPreFlight(PreBind, Protocol):
    """A PreBind plugin that has nothing to do for most members."""

    def prepares(self, target: Target) -> bool:
        """Whether PreBind has anything to do for this member; asked in the engine, so pure."""
        ...


@runtime_checkable
class PreBindTimeout(PreBind, Protocol):
    """A PreBind plugin whose work may take longer than a group usually waits.

    A group's own `scheduleTimeoutSeconds` comes first.
    """

    @property
    def pre_bind_seconds(self) -> float:
        """For how long it may hold the reservation of members that it prepares."""
        ...


@runtime_checkable
class Unreserve(PreBind, Protocol):
    """A PreBind plugin that takes back what it did when a plan is given up."""

    async def unreserve(self, target: Target, api: Api) -> Status:
        """The member is not bound by this plan, and PreBind had begun, in this process or another.

        It may have done nothing yet, all, or anything between. What another process did is known
        only by the volumes and devices that it has left, and is taken back when the group is
        refused. Of plugins the last is told first, and no other PreBind of this pod begins before
        all have ended. Anything but SUCCESS is logged, as is an exception.
        """
        ...


@runtime_checkable
class Bind(Plugin, Protocol):
    """Binds; the first plugin that does not answer SKIP decides."""

    async def bind(self, target: Target, api: Api) -> Status:
        """SUCCESS, SKIP to decline, or why it was refused.

        `await api.bind(target)` does it. What the API server answered to that wins over what the
        plugin makes of it.
        """
        ...


@runtime_checkable
class PostBind(Plugin, Protocol):
    """Is told, and cannot object."""

    async def post_bind(self, target: Target, api: Api) -> None:
        """The member is bound; an exception is logged."""
        ...
