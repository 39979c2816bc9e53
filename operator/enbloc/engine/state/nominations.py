# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Nominations: pending pods of other schedulers that will sit on a certain node.

A pod is nominated there, or pinned to it by its name as a DaemonSet's are (semantics §6.1). Groups
of higher priority need not leave the capacity of a nominated one alone; a pinned one can go nowhere
else.
"""

import math
from typing import Final

from enbloc.engine.state.claims import NOMINATION, Against, Claim
from enbloc.model.pods import Pod, PodSpec, PodUID
from enbloc.model.requirements import Operator

#: A nomination that came to nothing is forgotten after so many seconds (semantics §6.1).
NOMINATION_SECONDS: Final = 300.0


class Nominations:
    """Which pods of other schedulers claim a node, and which nominations came to nothing."""

    def __init__(self) -> None:
        self._lapsed: dict[PodUID, str] = {}

    def claim(self, pod: Pod, before: Claim | None) -> Claim | None:
        """What a pending pod of another scheduler claims; None = nothing, or not any more.

        Args:
            pod: as it is.
            before: what it has claimed so far.
        """
        node = expected_on(pod)
        if not node:
            self._lapsed.pop(pod.uid, None)
            return None
        if pinned_to(pod.spec) == node:
            return Claim(pod.uid, NOMINATION, Against.EVERYONE, pod=pod, node=node)
        if self._lapsed.get(pod.uid) == node:
            return None
        # Events carry no time: the next turn says when five minutes are over.
        end = before.end if before is not None and before.node == node else math.nan
        return Claim(pod.uid, NOMINATION, Against.NOT_ABOVE, pod=pod, node=node, end=end)

    def lapse(self, claim: Claim) -> None:
        """A nomination is over; the same one claims nothing again."""
        self._lapsed[PodUID(claim.id)] = claim.node

    def forget(self, uid: PodUID) -> None:
        """A pod is gone, or is no pending pod of another scheduler."""
        self._lapsed.pop(uid, None)


def expected_on(pod: Pod) -> str:
    """The node on which a pending pod will sit: pinned by its name, or nominated; "" = unknown."""
    if pod.node or not pod.live or pod.gates:
        return ""
    return pinned_to(pod.spec) or pod.nominated


def pinned_to(spec: PodSpec) -> str:
    """The only node that required node affinity by `metadata.name` leaves, as DaemonSets do."""
    names: set[str] = set()
    for term in spec.node_affinity or ():
        exact = [f for f in term.fields if f.key == "metadata.name" and f.operator is Operator.IN]
        if not exact:
            return ""
        names.update(exact[0].values)
    return names.pop() if len(names) == 1 else ""
