# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Trials: the cluster as one group may see it when a decision about it begins."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from enbloc.engine.state.cluster import ClusterState
from enbloc.engine.state.order import Order
from enbloc.engine.state.reservations import ReservationLedger
from enbloc.engine.trial import Named, Opinion, Trial, required, telling
from enbloc.errors import PluginError
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.ledgers import reclaim
from enbloc.model.nodes import Nodes
from enbloc.model.snapshot import Snapshot

#: The most kinds into which labels may divide a group's alike members; all
#: nodes are checked for each.
MOST_BY_LABELS: Final = 128

#: Returns what plugins learned about the nodes, for one group at one time.
Opinions = Callable[[Profile, GroupFacts, Nodes, float], Sequence[Opinion]]


class Trials:
    """Makes the private copies on which decisions are tried.

    Args:
        state: the cluster.
        order: which group precedes which.
        opinions: returns what the memories of the profile's plugins say.
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
        """Return the present state with only the reservations that this group must respect.

        Args:
            profile: its plugins are asked.
            facts: the group.
            now: the engine's clock.
            ledgers: the Reserve plugins' own.
            keep: use rankings of earlier decisions, and keep new ones.

        Raises:
            PluginError: a plugin failed; or labels tell too many of its members apart.
        """
        snapshot = self._state.snapshot(ledgers)
        reclaim(snapshot.nodes, facts.key)
        # A ledger or an extender may change any answer: such rankings are not kept.
        alone = keep and not profile.reserve and not profile.extenders
        trial = Trial(
            profile,
            snapshot,
            self._state.rankings,
            self._state.epoch if alone else None,
            self._opinions(profile, facts, snapshot.nodes, now),
            self._names(facts, snapshot),
        )
        adjust(trial, facts, self._state.reservations, self._order)
        return trial

    def _names(self, facts: GroupFacts, snapshot: Snapshot) -> Named | None:
        """Return the labels that tell members apart, if all that selectors name are too many.

        Then those that decide where a member may go, not its score; and last those of them that its
        own namespace names. None = there are few.
        """
        namespace, pods = facts.key.namespace, facts.pending
        if len(pods) <= MOST_BY_LABELS:
            return None
        rankings = self._state.rankings
        templates = [rankings.number(pod.spec) for pod in pods]
        most = max(MOST_BY_LABELS, len(set(templates)))

        def few(names: Named) -> bool:
            told = (telling(pod.labels, names) for pod in pods)
            return not names or len(set(zip(templates, told, strict=True))) <= most

        if few(rankings.selected.in_namespace(namespace)):
            return None
        for foreign in (True, False):
            names = required(pods, snapshot.placed, namespace, foreign=foreign)
            if few(names):
                return names
        raise PluginError(
            "GangScheduling",
            "PreFilter",
            f"labels that required pod affinity, anti-affinity and topology spread of namespace "
            f"{namespace} name tell the {len(pods)} pending members apart into more than {most} "
            f"kinds; name fewer of their values, or use more PodGroups",
        )


def adjust(trial: Trial, facts: GroupFacts, reservations: ReservationLedger, order: Order) -> None:
    """Apply the reservations that this group must respect, and no others."""
    for reservation in reservations.set_aside(facts, order):
        if reservation.pod is not None:
            trial.remove_from(reservation.pod, reservation.node)
    for reservation in reservations.to_come(facts, order):
        row = trial.snapshot.nodes.row(reservation.node)
        if reservation.pod is not None and row is not None:
            trial.add(reservation.pod, row)
