# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Outlook: the cluster as one group may see it when a decision about it begins."""

from collections.abc import Callable, Mapping, Sequence

from enbloc.engine.parts import Opinion
from enbloc.engine.state import ClusterState
from enbloc.engine.tentative import Tentative
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.nodes import Nodes

#: What the engine itself thinks of the nodes, for one group at one time.
Opinions = Callable[[GroupFacts, Nodes, float], Sequence[Opinion]]


class Outlook:
    """Makes the private copies on which decisions are tried.

    Args:
        state: the cluster.
        opinions: what is to be asked beyond the profile's plugins.
    """

    def __init__(self, state: ClusterState, opinions: Opinions) -> None:
        self._state = state
        self._opinions = opinions

    def tentative(
        self,
        profile: Profile,
        facts: GroupFacts,
        now: float,
        ledgers: Mapping[str, object],
        *,
        keep: bool = True,
    ) -> Tentative:
        """The present state without the shadows that do not count for this group.

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
        tentative = Tentative(
            profile,
            snapshot,
            self._state.rankings,
            self._state.epoch if alone else None,
            self._opinions(facts, snapshot.nodes, now),
        )
        for shadow in self._state.shadows.not_for(facts):
            tentative.lift(shadow.pod, shadow.node)
        return tentative
