# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trials: the cluster as one group may see it when a decision about it begins."""

from collections.abc import Callable, Mapping, Sequence

from enbloc.engine.state import Claims, ClusterState, Order
from enbloc.engine.trial import Opinion, Trial
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.nodes import Nodes

#: What plugins learned of the nodes, for one group at one time.
Opinions = Callable[[Profile, GroupFacts, Nodes, float], Sequence[Opinion]]


class Trials:
    """Makes the private copies on which decisions are tried.

    Args:
        state: the cluster.
        order: who is before whom.
        opinions: what the memories of the profile's plugins say.
    """

    def __init__(self, state: ClusterState, order: Order, opinions: Opinions) -> None:
        self._state, self._order = state, order
        self._opinions = opinions

    def trial(
        self,
        profile: Profile,
        facts: GroupFacts,
        now: float,
        ledgers: Mapping[str, object],
        *,
        keep: bool = True,
    ) -> Trial:
        """The present state with the claims that count against this group, and no others.

        Args:
            profile: whom to ask.
            facts: the group.
            now: the engine's clock.
            ledgers: the Reserve plugins' own.
            keep: use rankings of earlier decisions, and keep these.
        """
        snapshot = self._state.snapshot(ledgers)
        # What a ledger or an extender says may change any answer: such rankings are not kept.
        alone = keep and not profile.reserve and not profile.extenders
        trial = Trial(
            profile,
            snapshot,
            self._state.rankings,
            self._state.epoch if alone else None,
            self._opinions(profile, facts, snapshot.nodes, now),
        )
        adjust(trial, facts, self._state.claims, self._order)
        return trial


def adjust(trial: Trial, facts: GroupFacts, claims: Claims, order: Order) -> None:
    """Let the claims count that this group must leave alone, and no others."""
    for claim in claims.set_aside(facts, order):
        if claim.pod is not None:
            trial.lift(claim.pod, claim.node)
    for claim in claims.to_come(facts, order):
        row = trial.snapshot.nodes.row(claim.node)
        if claim.pod is not None and row is not None:
            trial.put(claim.pod, row)
