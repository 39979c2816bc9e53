# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Rivals: other schedulers in the cluster that serve one of our schedulerNames.

Each scheduler writes the names that it serves on its Lease. After it has taken its own Lease, it
reads all others, and releases its own if one of them serves one of its names. Each of two rivals
writes before it reads, so at least one sees the other; a scheduler leads only if it sees no rival.

A Lease may be edited, deleted or restored from a backup, and looks may fail, so that two lead all
the same. So a leader looks as well: after it has written its Lease again, and from time to time.
"""

import logging
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from enbloc.client.client import Client
from enbloc.client.clock import boot_clock
from enbloc.client.errors import Forbidden, NotFound
from enbloc.client.lease_objects import (
    LONGEST,
    SHOWN,
    LeaseObject,
    LeaseSpec,
    RoleBindingObject,
    follows,
    served_by,
)
from enbloc.client.paths import CLUSTER_ROLE_BINDINGS, LEASES
from enbloc.model.names import (
    COMPONENT_KEY,
    HOLDER_KEY,
    KUBE_SYSTEM,
    PART_OF_KEY,
    SCHEDULER_NAME,
    SCHEDULER_NAMES_KEY,
)
from enbloc.model.text import clipped, printable

#: A rival's Lease expires after this many times its duration, so that the rival's own replicas,
#: which wait one duration, come first.
PATIENCE: Final = 2.0

_SCHEDULER: Final = "scheduler"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _State:
    """What a Lease says, in a form of bounded size: anyone who may edit it can make it large.

    Attributes:
        holder: printable and cut; "" = nobody.
        renewed: when it says that it was renewed.
        transitions: see leaseTransitions.
        common: the schedulerNames that both it and we serve.
        vain: whether it was given back and serves no name at all, so nobody led with it.
        lasts: its duration as it counts, seconds.
    """

    holder: str
    renewed: str | None
    transitions: int
    common: frozenset[str]
    vain: bool
    lasts: float


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is remembered of a rival's Lease.

    Attributes:
        state: the last one with a name in common.
        since: when that was seen first, or when it was found gone, on `clock`; -inf = it is over.
        gone: the Lease was deleted, or names nothing in common any more. Its holder leads until it
            notices that.
        renewed: whether its holder was seen to renew it, so it is no Lease that somebody left.
    """

    state: _State
    since: float
    gone: bool = False
    renewed: bool = False


@dataclass(frozen=True, slots=True)
class Rival:
    """A rival that is seen by a leader.

    Attributes:
        told: its Lease, the holder and the fix.
        leads: whether its holder was seen to renew the Lease; else another look will tell.
    """

    told: str
    leads: bool


class Rivals:
    """Finds the Leases of rivals; for one event loop.

    Anyone who may edit a namespace may write Leases there. So a Lease counts only if some
    ClusterRoleBinding of enbloc grants permissions to its namespace, or if it is in kube-system,
    where who replaces kube-scheduler has it. If no such binding is found for our own namespace,
    every Lease counts before we lead, and none once we do.

    Args:
        client: the API; without permission to list Leases and ClusterRoleBindings in the whole
            cluster, some rivals are not found, or Leases count that should not.
        namespace: of our own Lease.
        name: of our own Lease.
        serves: the schedulerNames that we serve.
        duration: of our own Lease, seconds.
        report: called with each new problem that keeps us from leading and does not pass by
            itself (unlike a Lease that a replica holds), and with None when it is over.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespace: str,
        name: str,
        serves: Collection[str],
        duration: float,
        report: Callable[[str | None], None] = lambda _: None,
        clock: Callable[[], float] = boot_clock,
    ) -> None:
        self._client = client
        self._own = (namespace, name)
        self._serves = frozenset(serves)
        self._duration = duration
        self._report = report
        self._clock = clock
        self._said = ""
        #: The Leases that serve one of our names, by namespace and name.
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._warned = False

    def marked(
        self, metadata: Mapping[str, Any], holder: str, *, in_vain: bool = False
    ) -> dict[str, Any]:
        """The metadata of our Lease, with the names that we serve.

        Args:
            metadata: the current metadata.
            holder: who holds the Lease now; "" = it is released.
            in_vain: we never led, so a rival need not wait for our replicas: name nothing.
        """
        labels = {**(metadata.get("labels") or {}), COMPONENT_KEY: _SCHEDULER}
        served = "" if in_vain else ",".join(sorted(self._serves))
        ours = {SCHEDULER_NAMES_KEY: served, HOLDER_KEY: holder}
        annotations = {**(metadata.get("annotations") or {}), **ours}
        return {**metadata, "labels": labels, "annotations": annotations}

    def compare(self, lease: Mapping[str, Any]) -> None:
        """Report if the holder of our own Lease serves other names."""
        shown = msgspec.convert(lease, LeaseObject)
        served = served_by(shown)
        if not served or served == self._serves:
            self._say("")
            return
        self._say(
            f"the Lease {_where(self._own)} is held by {_holder(shown)}, which serves "
            f"{_named(served)}, and not {_named(self._serves)}; if that is another install, give "
            "this one a Lease of its own with leaderElection.resourceName"
        )

    async def lead(self) -> bool:
        """Whether a rival leads; reports its Lease, the holder and the fix.

        Raises:
            APIError: the Leases cannot be read.
        """
        await self._look(await self._installs())
        standing = sorted(key for key, seen in self._seen.items() if seen.since > -math.inf)
        self._say(self._told(standing[0]) if standing else "")
        return bool(standing)

    async def lead_too(self) -> Rival | None:
        """The rival that leads while we do, or that may.

        Raises:
            APIError: the Leases cannot be read.
        """
        namespaces = await self._installs()
        if not namespaces:  # anyone could end our term
            return None
        await self._look(namespaces)
        held = [
            (not seen.renewed, key)
            for key, seen in self._seen.items()
            if seen.since > -math.inf and seen.state.holder and not seen.gone
        ]
        if not held:
            return None
        unsure, key = min(held)
        return Rival(self._told(key), leads=not unsure)

    def _told(self, key: tuple[str, str]) -> str:
        """What to say of the rival with this Lease."""
        state = self._seen[key].state
        return (
            f"the scheduler of the Lease {_where(key)} (held by {state.holder or 'nobody now'}) "
            f"serves {_named(state.common)} too; give each scheduler a schedulerName of its own, "
            "or remove one of the two"
        )

    def _say(self, text: str) -> None:
        before, self._said = self._said, text
        if before != text:
            self._report(text or None)

    async def _look(self, namespaces: Collection[str]) -> None:
        """Read the Leases of others, and remember those that serve one of our names.

        Args:
            namespaces: in which they count; empty = in all.
        """
        began = self._clock()
        read, found = await self._read(sorted(namespaces) or [None])
        now = self._clock()
        before, self._seen = self._seen, {}
        for key in before.keys() | found.keys():
            if namespaces and key[0] not in namespaces:
                continue
            seen = before.get(key)
            if key in found or key[0] in read or None in read:
                seen = _seen_next(seen, found.get(key), now)
            if seen is not None and began - seen.since >= PATIENCE * seen.state.lasts:
                seen = None if seen.gone else replace(seen, since=-math.inf)
            if seen is not None:
                self._seen[key] = seen

    async def _read(
        self, namespaces: Collection[str | None]
    ) -> tuple[set[str | None], dict[tuple[str, str], _State]]:
        """The namespaces that could be read, and the Leases that serve our names, or did.

        Args:
            namespaces: which to read; None = all. A tenant may have written any number of Leases.
        """
        query = {"labelSelector": f"{COMPONENT_KEY}={_SCHEDULER}"}
        read: set[str | None] = set()
        found: dict[tuple[str, str], _State] = {}
        for namespace in namespaces:
            try:
                async for lease in self._client.list(
                    LEASES, namespace, query=query, shape=LeaseObject
                ):
                    key = (lease.metadata.namespace, lease.metadata.name)
                    state = self._state(lease)
                    if key != self._own and (state.common or key in self._seen):
                        found[key] = state
            except Forbidden as error:
                self._warn(error)
            else:
                read.add(namespace)
        return read, found

    def _warn(self, error: Forbidden) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(
                "Cannot see whether another scheduler serves the same schedulerName: %s",
                error.advice,
            )

    def _state(self, lease: LeaseObject) -> _State:
        spec, serves = lease.spec or LeaseSpec(), served_by(lease)
        holder = _holder(lease)
        return _State(
            holder=holder,
            renewed=spec.renew_time,
            transitions=spec.lease_transitions or 0,
            common=self._serves & serves,
            vain=not holder and not serves,
            lasts=max(min(spec.lease_duration_seconds or 0, LONGEST), self._duration),
        )

    async def _installs(self) -> frozenset[str]:
        """The namespaces in which installs may have Leases; empty = unknown."""
        query = {"labelSelector": f"{PART_OF_KEY}={SCHEDULER_NAME}"}
        found: set[str] = set()
        try:
            async for binding in self._client.list(
                CLUSTER_ROLE_BINDINGS, query=query, shape=RoleBindingObject
            ):
                found.update(each.namespace for each in binding.subjects or () if each.namespace)
        except (Forbidden, NotFound):
            return frozenset()
        everywhere = frozenset({*found, KUBE_SYSTEM})
        return everywhere if found and self._own[0] in everywhere else frozenset()


def _seen_next(seen: _Seen | None, state: _State | None, now: float) -> _Seen | None:
    """What to remember of a Lease after another look.

    Args:
        seen: what is remembered; None = nothing.
        state: what it says now; None = it does not exist.
        now: seconds on the clock of `since`.
    """
    if state is None or not state.common:
        if seen is None or seen.since == -math.inf:
            return None
        if state is not None and state.vain and follows(state.transitions, seen.state.transitions):
            return None
        return seen if seen.gone else _Seen(seen.state, now, gone=True)
    if seen is None:
        # A Lease released before our first look never was a rival's.
        return _Seen(state, now if state.holder else -math.inf)
    before = seen.state
    same = (state.holder, state.renewed) == (before.holder, before.renewed)
    renewed = seen.renewed if same else state.holder == before.holder
    return _Seen(state, seen.since if same and not seen.gone else now, renewed=renewed)


def _holder(lease: LeaseObject) -> str:
    """The holder of a Lease, made printable: anyone who may edit it may write any name."""
    return clipped(printable((lease.spec and lease.spec.holder_identity) or ""), SHOWN)


def _where(key: tuple[str, str]) -> str:
    return "/".join(key)


def _named(names: Collection[str]) -> str:
    some = sorted(names)
    return ("schedulerName " if len(some) == 1 else "schedulerNames ") + ", ".join(some)
