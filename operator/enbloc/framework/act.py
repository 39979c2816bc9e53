# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extension points of the binding cycle, and the narrow Api with which plugins act on the cluster.

These run in the shell, one task per member, after the whole group was reserved and permitted. All
PreBinds of a group finish before its first Bind. They may do I/O but must not block the event loop.
The engine sets no time limit: each plugin must limit its own time.

::

    PreBindPreFlight ──► PreBind ──► Bind ──► PostBind
                            │          │ refused
                            └──────────┴──► Unreserve    when the plan is abandoned
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
    """A member that is being bound, and its node.

    Attributes:
        annotations: merged by the API server into the pod in the same write as the bind.
        decided: the plan's decisions about its volumes and devices.
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
        code: the HTTP status; 0 when no answer came, or only that of a proxy; 403 for all that a
            webhook or a policy denied.
        body: the object, if the request succeeded.
        message: why it failed, with the verb and the resource; "" if it succeeded.
        retry_after: seconds to wait before the next request, as the server asks (30 at most); 0 =
            it asks for none.
    """

    code: int
    body: Mapping[str, Any] = field(default_factory=dict[str, Any])
    message: str = ""
    retry_after: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the request succeeded."""
        return 200 <= self.code < 300

    @property
    def passing(self) -> bool:
        """Whether the failure is transient; a write may have taken effect nevertheless."""
        return self.code in (0, 401, 429) or self.code >= 500


class ReadObject(NamedTuple):
    """An object and the version of it that was read.

    Attributes:
        namespace: "" for kinds without one.
        version: its resourceVersion.
    """

    kind: str
    namespace: str
    name: str
    version: int


class Api(Protocol):
    """Everything a binding plugin can do to the cluster.

    Kinds are named as in Kubernetes ("PersistentVolumeClaim"), and only those that scheduling may
    write are served; plugins need not know the API version of a kind. No answer of the server
    raises an exception. A write is settled before a cancellation takes effect.
    """

    async def bind(self, target: Target) -> Status:
        """Send the Binding until it is settled (semantics §3.4).

        SUCCESS if the pod is bound to this node; otherwise a status whose message says why not.
        While the outcome is unknown, the Binding is sent again; "unknown" is never returned.
        """
        ...

    def now(self) -> float:
        """Server time, in seconds since the epoch; it never goes back."""
        ...

    async def read(self, kind: str, namespace: str, name: str) -> Reply:
        """Read the object from the server."""
        ...

    async def patch(
        self, kind: str, namespace: str, name: str, body: Mapping[str, Any], *, status: bool = False
    ) -> Reply:
        """Merge `body` into the object or its status; 409 if a precondition does not hold.

        The UID and the resourceVersion in the body's metadata, if any, are preconditions.
        """
        ...

    async def create(self, kind: str, namespace: str, body: Mapping[str, Any]) -> Reply:
        """Create an object; 409 if one of that name exists."""
        ...

    async def delete(self, kind: str, namespace: str, name: str, uid: str) -> Reply:
        """Delete the object, if it has this UID."""
        ...

    async def changed(self, seen: Sequence[ReadObject], timeout: float) -> bool:
        """Wait until the watch shows that one of the objects has changed or is gone.

        Returns False after `timeout` seconds. Sends no request to the server.
        """
        ...

    def places(self, namespace: str, pod_group: str, *, but: PodUID) -> bool:
        """Whether another pod of a Kubernetes PodGroup is on a node or being bound to one.

        What a group shares can be released only if none is. The answer holds for this moment only:
        a caller that acts on it must hold the object `alone`, and PreBind checks the object again.
        """
        ...

    def alone(self, kind: str, namespace: str, name: str) -> AbstractAsyncContextManager[None]:
        """Lock an object, so that only one member at a time changes it."""
        ...


@runtime_checkable
class PreBind(Plugin, Protocol):
    """Prepares the node or the pod (volumes, devices)."""

    async def pre_bind(self, target: Target, api: Api) -> Status:
        """Prepare; any answer but SUCCESS or SKIP releases the whole group's reservation.

        After a refusal the group waits for the plugin's events, after an error or an exception for
        its backoff. The call is cancelled if the plan is abandoned for another reason, such as a
        deleted member.
        """
        ...


@runtime_checkable
class PreBindPreFlight(PreBind, Protocol):
    """A PreBind plugin that has nothing to do for most members."""

    def prepares(self, target: Target) -> bool:
        """Whether PreBind has work to do for this member; runs in the engine, so must be pure."""
        ...


@runtime_checkable
class PreBindTimeout(PreBind, Protocol):
    """A PreBind plugin whose work may take longer than the default schedule timeout.

    A group's own `scheduleTimeoutSeconds` takes precedence.
    """

    @property
    def pre_bind_seconds(self) -> float:
        """How many seconds it may hold the reservation of members that it prepares."""
        ...


@runtime_checkable
class Unreserve(PreBind, Protocol):
    """A PreBind plugin that undoes its work when a plan is abandoned."""

    async def unreserve(self, target: Target, api: Api) -> Status:
        """Undo PreBind for a member that this plan does not bind.

        PreBind began in this process or another, and may have done nothing, part or all of its
        work. What another process did is known only from the volumes and devices that it left, and
        is undone when the group is refused. Plugins are called in reverse order, and no other
        PreBind of this pod begins before all have ended. Any answer but SUCCESS is logged, as is an
        exception.
        """
        ...


@runtime_checkable
class Bind(Plugin, Protocol):
    """Binds; the first plugin that does not answer SKIP decides."""

    async def bind(self, target: Target, api: Api) -> Status:
        """Bind: SUCCESS, SKIP to decline, or a status that says why it was refused.

        Call `await api.bind(target)`. The API server's answer to it overrides the plugin's own
        answer.
        """
        ...


@runtime_checkable
class PostBind(Plugin, Protocol):
    """Is notified after a bind; cannot refuse it."""

    async def post_bind(self, target: Target, api: Api) -> None:
        """Called once the member is bound; an exception is logged."""
        ...
