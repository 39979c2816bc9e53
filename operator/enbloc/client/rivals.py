# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Rivals: other schedulers in the cluster that serve one of our schedulerNames.

Each scheduler writes the names that it serves on its Lease. After it has taken its own Lease, it
reads all others, and releases its own if one of them serves one of its names. Each of two rivals
writes before it reads, so at least one sees the other; a scheduler leads only if it sees no rival.
"""

import logging
from collections.abc import Callable, Collection, Mapping
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


class Rivals:
    """Finds the Leases of rivals; for one event loop.

    Anyone who may edit a namespace may write Leases there. So a Lease counts only if some
    ClusterRoleBinding of enbloc grants permissions to its namespace, or if it is in kube-system,
    where who replaces kube-scheduler has it. If no such binding is found for our own namespace,
    every Lease counts.

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
        #: The Leases that serve one of our names, each with when it changed last, on `clock`.
        self._seen: dict[tuple[str, str], tuple[LeaseObject, float]] = {}
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
        now, found = self._clock(), await self._overlapping()
        seen, self._seen = self._seen, {}
        for key, lease in found.items():
            before, since = seen.pop(key, (None, now))
            if before is None or _state(before) != _state(lease):
                # A Lease released before our first look never was a rival's.
                since = now if before is not None or _state(lease)[0] else float("-inf")
            self._seen[key] = (lease, since)
        self._seen |= seen  # deleted: its holder leads until it notices that
        standing = [
            key
            for key, (lease, since) in sorted(self._seen.items())
            if now - since < PATIENCE * self._lasts(lease)
        ]
        for key in seen.keys() - standing:
            del self._seen[key]
        if not standing:
            self._say("")
            return False
        lease, _ = self._seen[standing[0]]
        both = _named(self._serves & served_by(lease))
        holder = _holder(lease) or "nobody now"
        self._say(
            f"the scheduler of the Lease {_where(standing[0])} (held by {holder}) serves {both} "
            "too; give each scheduler a schedulerName of its own, or remove one of the two"
        )
        return True

    def _say(self, text: str) -> None:
        before, self._said = self._said, text
        if before != text:
            self._report(text or None)

    def _lasts(self, lease: LeaseObject) -> float:
        spec = lease.spec or LeaseSpec()
        return max(min(spec.lease_duration_seconds or 0, LONGEST), self._duration)

    async def _overlapping(self) -> dict[tuple[str, str], LeaseObject]:
        """The Leases of others that serve one of our names, by namespace and name."""
        query = {"labelSelector": f"{COMPONENT_KEY}={_SCHEDULER}"}
        found: dict[tuple[str, str], LeaseObject] = {}
        # No other namespace is read: a tenant may have written any number of Leases.
        namespaces: list[str | None] = [*sorted(await self._installs())]
        try:
            for namespace in namespaces or [None]:
                async for lease in self._client.list(
                    LEASES, namespace, query=query, shape=LeaseObject
                ):
                    key = (lease.metadata.namespace, lease.metadata.name)
                    if key != self._own and self._serves & served_by(lease):
                        found[key] = lease
                    else:
                        self._seen.pop(key, None)
        except Forbidden as error:
            if not self._warned:
                self._warned = True
                logger.warning(
                    "Cannot see whether another scheduler serves the same schedulerName: %s",
                    error.advice,
                )
            return {}
        return found

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


def _state(lease: LeaseObject) -> tuple[str, str | None]:
    """Who holds a Lease, and when it was renewed."""
    spec = lease.spec or LeaseSpec()
    return (spec.holder_identity or "", spec.renew_time)


def _holder(lease: LeaseObject) -> str:
    """The holder of a Lease, made printable: anyone who may edit it may write any name."""
    return clipped(printable((lease.spec and lease.spec.holder_identity) or ""), SHOWN)


def _where(key: tuple[str, str]) -> str:
    return "/".join(key)


def _named(names: Collection[str]) -> str:
    some = sorted(names)
    return ("schedulerName " if len(some) == 1 else "schedulerNames ") + ", ".join(some)
