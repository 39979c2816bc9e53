# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Held capacity: what a lost member requested is kept for its replacement (semantics §4.1)."""

from collections.abc import Sequence

from enbloc.engine.binding import Plans
from enbloc.engine.policies.policy import Policy
from enbloc.engine.policies.repair import Repair
from enbloc.engine.state import HELD, Against, ClusterState, Groups, Reservation, Run, stand_in
from enbloc.engine.turn import Loss, Turn
from enbloc.framework.facts import GroupFacts, Lacking
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod


class HeldCapacity(Policy):
    """Reserves the node of each member that a gang has lost and needs again.

    Args:
        state: holds the reservations.
        groups: the members of every group.
        plans: what is being bound.
        repair: tells until when a gang may wait.
    """

    def __init__(self, state: ClusterState, groups: Groups, plans: Plans, repair: Repair) -> None:
        self._state, self._groups, self._plans = state, groups, plans
        self._repair = repair
        #: By group, what is held, or was until a plan opened: it is held again for those whom the
        #: plan does not bind.
        self._lost: dict[GroupKey, list[Reservation]] = {}

    def burst(self, turn: Turn, run: Run) -> None:
        """Hold the capacity of lost members while others of the group are being bound."""
        open_plan = self._plans.of(run.key)
        if open_plan is not None and (
            run.key in turn.losses or (run.key in self._lost and open_plan.lost)
        ):
            facts = self._groups.facts(run)
            # Until the plan is closed and the need is known.
            until = turn.now + self._repair.timeout(facts)
            self._hold_needed(turn, facts, open_plan.outstanding(), until)

    def review(self, turn: Turn, run: Run, facts: GroupFacts) -> None:
        """Hold the capacity of lost members until the deadline, but no longer than needed."""
        if run.solo:
            return
        if self._plans.of(run.key) is not None:
            self.burst(turn, run)
            return
        until = self._repair.deadline_of(facts.key)
        held = self._state.reservations.of(HELD, facts.key)
        if until <= turn.now or self._repair.releasing(facts.key):
            self._lost.pop(facts.key, None)
            turn.happened += self._state.release(held)
            return
        for reservation in held:
            self._state.reserve(reservation._replace(end=until), turn.now)
        lost = self._lost.get(facts.key, ())
        self._lost[facts.key] = [each._replace(end=until) for each in lost]
        self._hold_needed(turn, facts, (), until)
        held = self._state.reservations.of(HELD, facts.key)
        if held:
            self._lost[facts.key] = list(held)
        else:
            self._lost.pop(facts.key, None)

    def _hold_needed(
        self, turn: Turn, facts: GroupFacts, coming: Sequence[Pod], until: float
    ) -> None:
        """Hold what the deficit needs, of what is or was held and was lost since the last turn.

        Args:
            turn: names the lost members.
            facts: the group.
            coming: members that an open plan may still bind.
            until: when what is lost now is released, engine clock.
        """
        lacking = Lacking(facts.floors)
        for pod in coming:
            lacking.take(pod.role)
        held = self._state.reservations.of(HELD, facts.key)
        spare = [c for c in held if c.pod is not None and not lacking.take(c.pod.role)]
        turn.happened += self._state.release(spare)
        fresh = [_held(loss, facts.key, until) for loss in turn.losses.get(facts.key, ())]
        # Of the earlier ones the largest first: the others may have been replaced by now.
        earlier = sorted(self._lost.get(facts.key, ()), key=_requests, reverse=True)
        self._lost[facts.key] = [*fresh, *earlier]
        for each in self._lost[facts.key]:
            over = each.end <= turn.now or self._state.reservations.get(each.id) is not None
            if each.pod is None or over or not lacking.wants(each.pod.role):
                continue
            if self._state.reserve(each, turn.now):
                lacking.take(each.pod.role)

    def forget(self, turn: Turn, run: Run) -> None:
        """Release what is held for a group that is gone."""
        self._lost.pop(run.key, None)
        turn.happened += self._state.release(self._state.reservations.of(HELD, run.key))


def _held(loss: Loss, group: GroupKey, until: float) -> Reservation:
    """Return what holds the node of a lost member for its group until a time, engine clock."""
    name = f"{HELD}/{loss.pod.uid}"
    pod = stand_in(name, loss.pod, loss.node)
    return Reservation(name, HELD, Against.LATER, holder=group, pod=pod, node=loss.node, end=until)


def _requests(held: Reservation) -> tuple[tuple[str, int], ...]:
    return held.pod.spec.requests if held.pod is not None else ()
