# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reserving: what no group later in the order than a preemptor may take (semantics §10.3).

That are the nodes of its pending pods, and an amount of the cluster: what it wants free before it
starts beyond what these pods request.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from enbloc.engine.state import PREEMPTION, Against, ClusterState, Reservation, nominated
from enbloc.framework.facts import GroupFacts
from enbloc.ledgers import GETS_NOTHING, Decisions
from enbloc.model.pods import Pod, PodUID

#: Returns what must be free for a group before it may start.
ToBeFree = Callable[[GroupFacts], Counter[str]]
_NOTHING_DECIDED: Final[Mapping[PodUID, Decisions]] = {}


class Reserver:
    """Reserves for preemptors what becomes free.

    Args:
        state: holds the reservations.
        to_be_free: returns what must be free for a group before it may start.
    """

    def __init__(self, state: ClusterState, to_be_free: ToBeFree) -> None:
        self._state, self._to_be_free = state, to_be_free

    def reserve(
        self,
        facts: GroupFacts,
        nodes: Iterable[tuple[Pod, str]],
        now: float,
        until: float = math.inf,
        decided: Mapping[PodUID, Decisions] = _NOTHING_DECIDED,
    ) -> None:
        """Keep groups later in the order from taking what becomes free.

        Args:
            facts: the preemptor.
            nodes: where its pending pods are to go.
            now: the engine's clock.
            until: when that is over, engine clock; infinity = not by time.
            decided: the volumes and devices that pods get there.
        """
        rest = self._to_be_free(facts)
        for pod, node in nodes:
            name = f"{PREEMPTION}/{pod.uid}"
            rest.subtract(dict(pod.spec.requests))
            reservation = Reservation(
                name,
                PREEMPTION,
                Against.LATER,
                holder=facts.key,
                pod=nominated(name, pod, node),
                node=node,
                end=until,
                decided=decided.get(pod.uid, GETS_NOTHING) if pod.spec.holds else None,
            )
            self._state.reserve(reservation, now, crowded=True)
        if amount := tuple(sorted((+rest).items())):
            reservation = Reservation(
                f"{PREEMPTION}/{facts.key}/{facts.key.run_number}",
                PREEMPTION,
                Against.LATER,
                holder=facts.key,
                amount=amount,
                end=until,
            )
            self._state.reserve(reservation, now)
