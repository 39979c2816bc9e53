# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reserving: what no group later in the order than a preemptor may take (semantics §10.3).

That are the nodes of its pending pods, with the volumes and devices that these get there, and an
amount of the cluster, or of the domain in which its members must be: what it wants free before it
starts beyond what these pods request.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from enbloc.engine.core import Core
from enbloc.engine.policies.preemptions.under_way import UnderWay
from enbloc.engine.preemption import Unit, decided_without
from enbloc.engine.state import PREEMPTION, Against, Reservation, nominated
from enbloc.engine.trial import Trial
from enbloc.engine.turn import Turn
from enbloc.errors import PluginError
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.ledgers import GETS_NOTHING, Decisions
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID

#: Returns the cluster as a group may see it.
TrialOf = Callable[[Turn, GroupFacts, Profile], Trial]
#: Returns what must be free for a group before it may start, once some pods have left.
ToBeFree = Callable[[GroupFacts, Iterable[PodUID]], Counter[str]]
#: Where pending pods are to go.
Nominations = Sequence[tuple[Pod, str]]


class Reserver:
    """Reserves for preemptors what becomes free.

    Args:
        core: what is known of the cluster.
        trial_of: returns the cluster as a group may see it.
        to_be_free: returns what must be free for a group before it may start.
    """

    def __init__(self, core: Core, trial_of: TrialOf, to_be_free: ToBeFree) -> None:
        self._state, self._groups = core.state, core.groups
        self._trial_of, self._to_be_free = trial_of, to_be_free

    def reserve(
        self, turn: Turn, facts: GroupFacts, nodes: Nominations, victims: Sequence[Unit]
    ) -> None:
        """Keep groups later in the order from taking what becomes free.

        Args:
            turn: the present one.
            facts: the preemptor.
            nodes: where its pending pods are to go.
            victims: the units that leave.

        Raises:
            PluginError: a plugin failed; nothing is reserved.
        """
        decided = self._decided(turn, facts, nodes, victims)
        self._reserve(turn, facts, nodes, victims, math.inf, decided)

    def reserve_again(
        self, turn: Turn, facts: GroupFacts, nodes: Nominations, each: UnderWay
    ) -> None:
        """Do so for a preemption that has begun, as long as it lasts.

        If a plugin fails, the next attempt to place the group tells of that.
        """
        staying = [
            Unit(group, tuple(some.staying(self._state)), each.highest)
            for group, some in each.victims.items()
        ]
        try:
            decided = self._decided(turn, facts, nodes, staying)
        except PluginError:
            decided = {}
        self._reserve(turn, facts, nodes, staying, each.until, decided)

    def _decided(
        self, turn: Turn, facts: GroupFacts, nodes: Nominations, victims: Iterable[Unit]
    ) -> Mapping[PodUID, Decisions]:
        """Return what volumes and devices pods get on these nodes once the victims have left."""
        if not any(pod.spec.holds for pod, _ in nodes):
            return {}
        trial = self._trial_of(turn, facts, self._groups.profile(facts))
        return decided_without(victims, nodes, trial)

    def _reserve(
        self,
        turn: Turn,
        facts: GroupFacts,
        nodes: Nominations,
        victims: Iterable[Unit],
        until: float,
        decided: Mapping[PodUID, Decisions],
    ) -> None:
        for pod, node in nodes:
            name = f"{PREEMPTION}/{pod.uid}"
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
            self._state.reserve(reservation, turn.now, crowded=True)
        leaving = (pod for unit in victims for pod in unit.pods)
        if amount := self._beyond(facts, (pod for pod, _ in nodes), leaving):
            near = facts.locality
            labels = near.levels.required_labels if near is not None else ()
            held = near.held if near is not None else ()
            reservation = Reservation(
                _of_amount(facts.key),
                PREEMPTION,
                Against.LATER,
                holder=facts.key,
                family=facts.group.family if facts.group is not None else "",
                amount=amount,
                end=until,
                labels=labels,
                nodes=tuple(sorted({*held, *(node for _, node in nodes)})) if labels else (),
            )
            self._state.reserve(reservation, turn.now)

    def reduce(self, turn: Turn, facts: GroupFacts, each: UnderWay) -> None:
        """Give back what a preemptor no longer wants beyond its pods' nodes."""
        before = self._state.reservations.get(_of_amount(facts.key))
        if before is None:
            return
        reserved = self._state.reservations.of(PREEMPTION, facts.key)
        pods = (one.pod for one in reserved if one.pod)
        rest = Counter(dict(self._beyond(facts, pods, each.pods)))
        amount = tuple(sorted((rest & Counter(dict(before.amount))).items()))
        if amount != before.amount:
            turn.happened += self._state.release([before])
            if amount:
                self._state.reserve(before._replace(amount=amount), turn.now)

    def _beyond(
        self, facts: GroupFacts, pods: Iterable[Pod], victims: Iterable[Pod]
    ) -> tuple[tuple[str, int], ...]:
        """Return what a preemptor wants free beyond what these pods of it request.

        What victims of its family still fill of its minResources it wants once they are gone.
        """
        rest = self._to_be_free(facts, (pod.uid for pod in victims))
        for pod in pods:
            rest.subtract(dict(pod.spec.requests))
        return tuple(sorted((+rest).items()))


def _of_amount(key: GroupKey) -> str:
    """Return the id of what is reserved for a preemptor beyond its pods' nodes."""
    return f"{PREEMPTION}/{key}/{key.run_number}"
