# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Extension points of the binding cycle: what a plugin may do, with a narrow Api in hand.

These run in the shell, one task per member, after the whole group was reserved and permitted.
All PreBinds of a group finish before its first Bind. They may do I/O, and must not block, because
everything else would wait. Nobody limits their time, so they do it themselves.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from enbloc.framework.decide import Plugin
from enbloc.framework.status import Status
from enbloc.model.ledgers import NOTHING_DECIDED, Decisions
from enbloc.model.pods import PodKey, PodUID


@dataclass(frozen=True, slots=True)
class Target:
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


class Api(Protocol):
    """All that a binding plugin can do to the cluster."""

    async def bind(self, target: Target) -> Status:
        """Send the Binding until it is settled (semantics §3.4).

        SUCCESS when it is bound to this node; otherwise a status whose message says why not.
        An unknown outcome is sent again, and is never an answer.
        """
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

    async def unreserve(self, target: Target, api: Api) -> None:
        """The member is not bound by this plan, and PreBind had begun; an exception is logged.

        No other PreBind of this pod begins before it has ended.
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
