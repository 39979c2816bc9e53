# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Assign: which member goes where, tried in order on a fork."""

from collections.abc import Sequence
from dataclasses import dataclass

from enbloc.engine.parts import Change, Opinion
from enbloc.engine.ranking import Ranking
from enbloc.engine.rankings import ClassKey, Rankings
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.framework.status import Diagnosis
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot


@dataclass(slots=True)
class _Entry:
    """A ranking, and how much of the log it has seen."""

    ranking: Ranking
    seen: int = 0


class Tentative:
    """A private copy of the snapshot on which members are placed one after the other.

    Alike members share one Ranking, which is brought up to date when it is asked for.

    Attributes:
        profile: whom to ask.
        snapshot: the cluster as it is.

    Args:
        rankings: says which pods are alike, and keeps rankings of earlier decisions; None = pods
            are told apart by all of their labels.
        epoch: under which kept rankings are valid; None = none is taken and none is kept.
        opinions: of every class, from beyond the profile; who has any keeps no rankings.
    """

    def __init__(
        self,
        profile: Profile,
        snapshot: Snapshot,
        rankings: Rankings | None = None,
        epoch: object = None,
        opinions: Sequence[Opinion] = (),
    ) -> None:
        self.profile = profile
        self.snapshot = snapshot
        self._rankings = rankings or Rankings(every_label=True)
        self._epoch = None if opinions else epoch
        self._everywhere = opinions
        self._fork: Nodes | None = None
        self._log: list[Change] = []
        self._applied = 0
        self._entries: dict[ClassKey, _Entry] = {}
        self._opinions: dict[ClassKey, Sequence[Opinion]] = {}

    @property
    def nodes(self) -> Nodes:
        """The node table with every placement so far."""
        if not self._log:
            return self.snapshot.nodes
        if self._fork is None:
            self._fork = self.snapshot.nodes.fork()
        for change in self._log[self._applied :]:
            self._fork.place(change.row, change.pod.spec, -1 if change.left else 1)
        self._applied = len(self._log)
        return self._fork

    def key(self, pod: Pod) -> ClassKey:
        """The class of a pod."""
        return self._rankings.key(pod, self.profile)

    def consulted(self, key: ClassKey, opinions: Sequence[Opinion]) -> None:
        """Let what somebody outside said of a class count from now on."""
        self._opinions[key] = opinions
        entry = self._entries.get(key)
        if entry is not None:
            entry.ranking.consult(opinions, self.nodes)

    def ranking(self, pod: Pod) -> Ranking:
        """The ranking of the pod's class, up to date with every placement so far."""
        key = self.key(pod)
        entry = self._entries.get(key)
        if entry is None:
            kept = None
            if self._epoch is not None:
                kept = self._rankings.take(key, self.snapshot, self._epoch)
            entry = _Entry(kept or Ranking(pod, self.profile, self.snapshot))
            entry.ranking.consult(self._everywhere, self.snapshot.nodes)
            self._entries[key] = entry
        news = self._log[entry.seen :]
        if news and not entry.ranking.catch_up(self.nodes, news):
            entry.ranking = Ranking(pod, self.profile, self.snapshot, self.nodes, self._log)
            entry.ranking.consult((*self._everywhere, *self._opinions.get(key, ())), self.nodes)
        entry.seen = len(self._log)
        return entry.ranking

    def place(self, pod: Pod) -> int | None:
        """Put a pod on its best node; the row, or None when no node is feasible."""
        row = self.ranking(pod).best()
        if row is not None:
            self.put(pod, row)
        return row

    def put(self, pod: Pod, row: int) -> None:
        """Put a pod on a row, whatever its ranking says."""
        self._log.append(Change(pod, row))

    def take_off(self, pod: Pod, row: int) -> None:
        """Take a pod off a row on which the snapshot counts it."""
        self._log.append(Change(pod, row, left=True))

    def diagnosis(self, pod: Pod) -> Diagnosis:
        """Why no node is feasible for the pod's class."""
        return self.ranking(pod).diagnosis(self.nodes)

    def keep(self) -> None:
        """Hand the rankings back for the next decision; nothing may be asked of this any more."""
        if self._epoch is not None:
            for key, entry in self._entries.items():
                self._rankings.give(key, entry.ranking, self._log[: entry.seen], self._epoch)


class Outcome:
    """What the ordered pass found.

    Attributes:
        needed: members of the deficit with their rows, in the order they were placed.
        surplus: members beyond it that fitted as well.
        unplaced: members that did not fit and were not needed.
        diagnoses: why members found no node, each different answer once; empty = all fitted.
        failed: the floor could not be met.
    """

    def __init__(self) -> None:
        self.needed: list[tuple[Pod, int]] = []
        self.surplus: list[tuple[Pod, int]] = []
        self.unplaced: list[Pod] = []
        self.diagnoses: list[Diagnosis] = []
        self.failed = False

    def note(self, diagnosis: Diagnosis) -> None:
        """A member found no node."""
        if diagnosis not in self.diagnoses:
            self.diagnoses.append(diagnosis)


def ordered_pass(facts: GroupFacts, tentative: Tentative) -> Outcome:
    """Place the deficit, whole, then whatever else fits, oldest member first.

    Each role's deficit is met from members of that role, then the group's from all that are
    left; a member that does not fit is passed over while others can meet the floor in its place.
    """
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
    for pod in {tentative.key(pod): pod for pod in reversed(outcome.unplaced)}.values():
        outcome.note(tentative.diagnosis(pod))
    return outcome


def _meet(
    deficit: int, candidates: Sequence[Pod], tentative: Tentative, outcome: Outcome
) -> list[Pod]:
    """Place `deficit` of the candidates; give back those that were not tried."""
    wanted = len(outcome.needed) + max(0, deficit)
    explained: set[ClassKey] = set()
    for index, pod in enumerate(candidates):
        if len(outcome.needed) >= wanted:
            return list(candidates[index:])
        row = tentative.place(pod)
        if row is not None:
            outcome.needed.append((pod, row))
            continue
        outcome.unplaced.append(pod)
        key = tentative.key(pod)
        if key not in explained:
            explained.add(key)
            outcome.note(tentative.diagnosis(pod))
        if len(outcome.needed) + len(candidates) - index - 1 < wanted:
            break
    outcome.failed = len(outcome.needed) < wanted
    return []
