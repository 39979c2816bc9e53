# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Nominations: pending pods of other schedulers that will be on a certain node.

A pod is nominated there, or belongs to a DaemonSet and is pinned to it by name (semantics §6.1).
Any user who may create pods can write both, so neither counts for long, nor against groups of
higher priority; a pinned pod counts only if its scheduler is alive.
"""

import math
from collections.abc import Container
from typing import Final

from enbloc.engine.state.reservations import NOMINATION, Against, Reservation
from enbloc.model.pods import Pod, PodSpec, PodUID
from enbloc.model.requirements import NAME_FIELD, Operator

#: A reservation that led to nothing is forgotten after this many seconds (semantics §6.1).
NOMINATION_SECONDS: Final = 300.0


class Nominations:
    """Which pods of other schedulers are to have a node, and for which that led to nothing.

    Args:
        alive: other schedulers that are known to run.
    """

    def __init__(self, alive: Container[str]) -> None:
        self._alive = alive
        #: By pod, the node of an expired nomination, for as long as the pod names that node.
        self._lapsed: dict[PodUID, str] = {}

    def reservation(self, pod: Pod, before: Reservation | None) -> Reservation | None:
        """Return what to reserve for a pending pod of another scheduler; None = nothing (any more).

        Args:
            pod: as it is.
            before: what was reserved for it so far.
        """
        pinned = pinned_to(pod.spec) if self._comes_soon(pod) else ""
        node = pinned or pod.nominated
        if pod.node or not pod.live or pod.gates or not node:
            self._lapsed.pop(pod.uid, None)
            return None
        if self._lapsed.get(pod.uid) == node:
            return None
        # Events carry no time: the next turn sets when five minutes are over.
        end = before.end if before is not None and before.node == node else math.nan
        if pinned:
            end = pod.created + NOMINATION_SECONDS
        return Reservation(pod.uid, NOMINATION, Against.NOT_ABOVE, pod=pod, node=node, end=end)

    def _comes_soon(self, pod: Pod) -> bool:
        """Whether its controller wants it on its node, and its scheduler runs."""
        owner = pod.owner
        daemon = owner is not None and (owner.kind, owner.api_version) == ("DaemonSet", "apps/v1")
        return daemon and pod.scheduler in self._alive

    def lapse(self, reservation: Reservation) -> None:
        """End a nomination; nothing is reserved for the same one again."""
        self._lapsed[PodUID(reservation.id)] = reservation.node

    def forget(self, uid: PodUID) -> None:
        """Forget a pod that is gone, or is no pending pod of another scheduler."""
        self._lapsed.pop(uid, None)


def pinned_to(spec: PodSpec) -> str:
    """Return the only node that required node affinity by `metadata.name` leaves."""
    names: set[str] = set()
    for term in spec.node_affinity or ():
        exact = [f for f in term.fields if f.key == NAME_FIELD and f.operator is Operator.IN]
        if not exact:
            return ""
        names.update(exact[0].values)
    return names.pop() if len(names) == 1 else ""
