# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Assign: which member goes where, tried in order on a fork."""

from collections.abc import Sequence

from enbloc.engine.ranking import Ranking
from enbloc.framework import decide
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.framework.status import Diagnosis
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod, PodSpec
from enbloc.model.snapshot import Snapshot


class Tentative:
    """A private copy of the snapshot on which members are placed one after the other.

    Alike members share one Ranking. A class that found no node once finds none again on this
    fork, because room only shrinks; plugins that read CLUSTER may open room, so they are asked
    again.
    """

    def __init__(self, profile: Profile, snapshot: Snapshot) -> None:
        self._profile = profile
        self._snapshot = snapshot
        self.nodes: Nodes = snapshot.nodes.fork()
        self._signers = [
            plugin for plugin in profile.plugins if decide.implements(plugin, decide.Sign)
        ]
        self._rankings: dict[object, Ranking] = {}
        self._classes: dict[int, int] = {}
        self._numbers: dict[PodSpec, int] = {}
        self._log: list[tuple[Pod, int]] = []
        self._seen: dict[object, int] = {}

    def ranking(self, pod: Pod) -> Ranking:
        """The ranking of the pod's class, up to date with every placement so far."""
        key = (self._class_of(pod), *(plugin.signature(pod) for plugin in self._signers))
        ranking = self._rankings.get(key)
        if ranking is None:
            ranking = Ranking(pod, self._profile, self._snapshot, self.nodes, self._log)
            self._rankings[key] = ranking
        else:
            for placed, row in self._log[self._seen[key] :]:
                ranking.placed(placed, row)
        self._seen[key] = len(self._log)
        return ranking

    def _class_of(self, pod: Pod) -> int:
        """A number that pods with equal specs share; comparing is dear, identity is cheap."""
        known = self._classes.get(id(pod.spec))
        if known is None:
            known = self._numbers.setdefault(pod.spec, len(self._numbers))
            self._classes[id(pod.spec)] = known
        return known

    def place(self, pod: Pod) -> int | None:
        """Put a pod on its best node; the row, or None when no node is feasible."""
        row = self.ranking(pod).best()
        if row is not None:
            self.put(pod, row)
        return row

    def put(self, pod: Pod, row: int) -> None:
        """Put a pod on a row, feasible or not."""
        self.nodes.place(row, pod.spec)
        self._log.append((pod, row))


class Outcome:
    """What the ordered pass found.

    Attributes:
        needed: members of the deficit with their rows, in the order they were placed.
        surplus: members beyond it that fitted as well.
        unplaced: members that did not fit and were not needed.
        diagnosis: of the first member that did not fit while it was needed; None = all fitted.
        failed: the floor could not be met.
    """

    def __init__(self) -> None:
        self.needed: list[tuple[Pod, int]] = []
        self.surplus: list[tuple[Pod, int]] = []
        self.unplaced: list[Pod] = []
        self.diagnosis: Diagnosis | None = None
        self.failed = False


def ordered_pass(facts: GroupFacts, profile: Profile, snapshot: Snapshot) -> Outcome:
    """Place the deficit, whole, then whatever else fits, oldest member first.

    Each role's deficit is met from members of that role, then the group's from all that are
    left; a member that does not fit is passed over while others can meet the floor in its place.
    """
    tentative = Tentative(profile, snapshot)
    outcome = Outcome()
    left = list(facts.pending)
    for floor in facts.roles:
        ours = [pod for pod in left if pod.role == floor.role]
        left = [pod for pod in left if pod.role != floor.role]
        spare = _meet(floor.deficit, ours, tentative, outcome)
        left = sorted([*left, *spare], key=lambda pod: pod.seniority)
        if outcome.failed:
            return outcome
    left = _meet(facts.total.deficit - len(outcome.needed), left, tentative, outcome)
    if outcome.failed:
        return outcome
    for pod in (*outcome.unplaced, *left):
        row = tentative.place(pod)
        if row is not None:
            outcome.surplus.append((pod, row))
    kept = {pod.uid for pod, _ in (*outcome.needed, *outcome.surplus)}
    outcome.unplaced = [pod for pod in facts.pending if pod.uid not in kept]
    if outcome.unplaced and outcome.diagnosis is None:
        outcome.diagnosis = tentative.ranking(outcome.unplaced[0]).diagnosis()
    return outcome


def _meet(
    deficit: int, candidates: Sequence[Pod], tentative: Tentative, outcome: Outcome
) -> list[Pod]:
    """Place `deficit` of the candidates; give back those that were not tried."""
    wanted = len(outcome.needed) + max(0, deficit)
    for index, pod in enumerate(candidates):
        if len(outcome.needed) >= wanted:
            return list(candidates[index:])
        row = tentative.place(pod)
        if row is not None:
            outcome.needed.append((pod, row))
            continue
        outcome.unplaced.append(pod)
        if outcome.diagnosis is None:
            outcome.diagnosis = tentative.ranking(pod).diagnosis()
        if len(outcome.needed) + len(candidates) - index - 1 < wanted:
            break
    outcome.failed = len(outcome.needed) < wanted
    return []
