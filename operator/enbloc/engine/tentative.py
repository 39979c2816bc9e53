# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Tentative: a fork on which members are placed one after the other, and taken back."""

from collections.abc import Sequence
from dataclasses import dataclass

from enbloc.engine.parts import Change, Opinion
from enbloc.engine.ranking import Ranking
from enbloc.engine.rankings import ClassKey, Rankings
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

    @property
    def changes(self) -> Sequence[Change]:
        """Who came and left beyond the snapshot, in order."""
        return tuple(self._log)

    @property
    def selector_keys(self) -> frozenset[str]:
        """The label keys by which pods of one spec are told apart."""
        return self._rankings.keys_now()

    @property
    def opinions(self) -> Sequence[Opinion]:
        """What counts for every class, from beyond the profile."""
        return self._everywhere

    def opinions_of(self, key: ClassKey) -> Sequence[Opinion]:
        """What somebody outside said of a class."""
        return self._opinions.get(key, ())

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
            opinions = (*self._everywhere, *self.opinions_of(key))
            entry.ranking.consult(opinions, self.snapshot.nodes)
            self._entries[key] = entry
        news = self._log[entry.seen :]
        if news and not entry.ranking.catch_up(self.nodes, news):
            entry.ranking = Ranking(pod, self.profile, self.snapshot, self.nodes, self._log)
            entry.ranking.consult((*self._everywhere, *self.opinions_of(key)), self.nodes)
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

    def lift(self, pod: Pod, node: str) -> None:
        """Take a pod off the node on which the snapshot counts it, if that is there."""
        row = self.snapshot.nodes.row(node)
        if row is not None:
            self.take_off(pod, row)

    @property
    def mark(self) -> int:
        """Where the changes are now, for `rewind`."""
        return len(self._log)

    def rewind(self, mark: int) -> None:
        """Undo every change since `mark`, the latest first."""
        for change in reversed(self._log[mark : self._applied]):
            assert self._fork is not None
            self._fork.place(change.row, change.pod.spec, 1 if change.left else -1)
        self._applied = min(self._applied, mark)
        undone = self._log[mark:]
        del self._log[mark:]
        for key, entry in list(self._entries.items()):
            seen = undone[: max(0, entry.seen - mark)]
            back = [Change(pod, row, not left) for pod, row, left in reversed(seen)]
            if back and not entry.ranking.catch_up(self.nodes, back):
                del self._entries[key]
            entry.seen = min(entry.seen, mark)

    def diagnosis(self, pod: Pod) -> Diagnosis:
        """Why no node is feasible for the pod's class."""
        return self.ranking(pod).diagnosis(self.nodes)

    def keep(self) -> None:
        """Hand the rankings back for the next decision; nothing may be asked of this any more."""
        if self._epoch is not None:
            for key, entry in self._entries.items():
                self._rankings.give(key, entry.ranking, self._log[: entry.seen], self._epoch)
