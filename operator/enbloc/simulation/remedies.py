# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Remedies: of each kind of change the least with which a group starts, as it was tried."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from enbloc.engine.events import Event
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodKey
from enbloc.simulation.changes import Alternatives, Asked, Change, Whose, changes
from enbloc.simulation.cluster import Present, SimulatedCluster
from enbloc.simulation.waiting import group_of


class Result(NamedTuple):
    """What becomes of a group in a cluster that was changed.

    Attributes:
        nodes: where its members go that have none; empty = it does not start.
        victims: pods of lower priority that give way to it.
    """

    nodes: tuple[str, ...]
    victims: tuple[PodKey, ...]

    @property
    def starts(self) -> bool:
        """Members of it get nodes."""
        return bool(self.nodes)


#: Says what becomes of the group if this had happened before the scheduler began.
Try = Callable[[Sequence[Event]], Result]


class OutOfTriesError(Exception):
    """So many changes have been tried that no more is."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """The least change of one kind with which a group starts; one degree less is too little.

    Attributes:
        whose: in whose hand it is.
        text: as what follows "it would start with".
        degree: how large it is, in units of its own.
        victims: pods of lower priority that give way then.
        change: all degrees of it.
    """

    whose: Whose
    text: str
    degree: int
    victims: tuple[PodKey, ...]
    change: Change


def trying(present: Present, key: GroupKey) -> Try:
    """Try on the engine itself, anew each time.

    Args:
        present: the cluster as it is.
        key: of the group.
    """

    def attempt(events: Sequence[Event]) -> Result:
        cluster = SimulatedCluster(present)
        cluster.tell(events)
        return outcome(cluster.settle(), key)

    return attempt


def outcome(settled: SimulatedCluster, key: GroupKey) -> Result:
    """What became of one group.

    Args:
        settled: after the scheduler did what it could.
        key: of the group.
    """
    group = settled.groups.get(key)
    pods = [pod for pod in settled.pods.values() if group_of(pod) == key]
    by = {pod.uid for pod in pods} | ({group.uid} if group is not None else set())
    nodes = (settled.told.bound[pod.uid] for pod in pods if pod.uid in settled.told.bound)
    victims = (pod for pod, winner in settled.told.preempted.items() if winner in by)
    return Result(tuple(sorted(set(nodes))), tuple(victims))


def remedies(asked: Asked, attempt: Try) -> Iterator[Remedy]:
    """Of each kind of change the least that helps; those of the user's own hand first.

    Raises:
        OutOfTriesError: `attempt` has had enough; what was found before stands.
    """
    for alternatives in changes(asked):
        found = least(alternatives, attempt)
        if found is not None:
            yield found


def least(alternatives: Alternatives, attempt: Try) -> Remedy | None:
    """The change of the smallest degree that helps, and the first of several; None = none does."""
    best: Remedy | None = None
    for change in alternatives:
        most = change.most if best is None else min(change.most, best.degree - 1)
        if most < 1:
            break
        best = _least(change, most, attempt) or best
    return best


def _least(change: Change, most: int, attempt: Try) -> Remedy | None:
    """The smallest degree that helps, up to this one; None = none does."""
    result = attempt(change.events(most))
    if not result.starts:
        return None
    low = 0  # too little
    while most - low > 1:
        middle = (low + most) // 2
        tried = attempt(change.events(middle))
        if tried.starts:
            most, result = middle, tried
        else:
            low = middle
    return Remedy(change.whose, change.words(most), most, result.victims, change)


def bounded(attempt: Try, most: int) -> Try:
    """The same, so often at most."""
    left = iter(range(most))

    def limited(events: Sequence[Event]) -> Result:
        if next(left, None) is None:
            raise OutOfTriesError
        return attempt(events)

    return limited


def until_enough(found: Iterable[Remedy]) -> tuple[Sequence[Remedy], bool]:
    """All that is found, and whether all was tried."""
    kept: list[Remedy] = []
    try:
        for each in found:
            kept.append(each)
    except OutOfTriesError:
        return kept, False
    return kept, True
