# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Remedies: of each kind of change the least with which a group starts, as it was tried."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from enbloc.engine.events import Event
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodKey
from enbloc.simulation.changes import (
    MOST_ALTERNATIVES,
    Alternatives,
    Asked,
    Change,
    Whose,
    changes,
)
from enbloc.simulation.cluster import GivenUpError, SimulatedCluster
from enbloc.simulation.waiting import group_of, victims_of


class Result(NamedTuple):
    """What becomes of a group in a cluster that was changed.

    Attributes:
        nodes: where its members go that have none; empty = it does not start.
        victims: pods of lower priority that give way to it, if it starts.
    """

    nodes: tuple[str, ...]
    victims: tuple[PodKey, ...]

    @property
    def starts(self) -> bool:
        """Members of it get nodes."""
        return bool(self.nodes)


#: Says what becomes of the group if this happens.
Try = Callable[[Sequence[Event]], Result]


@dataclass(frozen=True, slots=True)
class Remedy:
    """The least change of one kind with which a group starts; one degree less is too little.

    Attributes:
        whose: in whose hand it is.
        text: as what follows "it would start with".
        degree: how large it is, in units of its own.
        victims: pods of lower priority that give way then.
        of_nodes: the text tells what nodes have: labels or taints.
        change: all degrees of it; None = it was worked out in another process.
    """

    whose: Whose
    text: str
    degree: int
    victims: tuple[PodKey, ...]
    of_nodes: bool
    change: Change | None


def outcome(settled: SimulatedCluster, key: GroupKey) -> Result:
    """What became of one group.

    Args:
        settled: after the scheduler did what it could.
        key: of the group.
    """
    # By who was bound, who are few: a copy of a process pays for each object that it looks at.
    bound = settled.told.bound
    shown = (settled.pods.get(uid) for uid in bound)
    pods = [pod for pod in shown if pod is not None and group_of(pod) == key]
    nodes = {bound[pod.uid] for pod in pods}
    return Result(tuple(sorted(nodes)), victims_of(settled, key, pods))


def least(alternatives: Alternatives, attempt: Try) -> tuple[Remedy | None, bool]:
    """The change of the smallest degree that helps, and the first of several; None = none does.

    Beside it whether all were tried that could be smaller.
    """
    best: Remedy | None = None
    for number, change in enumerate(alternatives):
        most = change.most if best is None else min(change.most, best.degree - 1)
        if most < 1:
            return best, True
        if number >= MOST_ALTERNATIVES:
            return best, False
        best = _least(change, most, attempt) or best
    return best, True


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
    return Remedy(change.whose, change.words(most), most, result.victims, change.of_nodes, change)


class Bounded:
    """Tries so often at most.

    Args:
        attempt: tries.
        most: how often.
    """

    def __init__(self, attempt: Try, most: int) -> None:
        self._attempt = attempt
        self._left = most

    def __call__(self, events: Sequence[Event]) -> Result:
        """Try once more.

        Raises:
            GivenUpError: it was tried so often already.
        """
        if not self._left:
            raise GivenUpError
        self._left -= 1
        return self._attempt(events)


def remedies(asked: Asked, attempt: Try) -> tuple[Sequence[Remedy], bool]:
    """Of each kind of change the least that helps, and whether all kinds were tried.

    Args:
        asked: who is to start.
        attempt: raises GivenUpError once it was asked often enough.
    """
    found: list[Remedy] = []
    complete = True
    try:
        for alternatives in changes(asked):
            best, every = least(alternatives, attempt)
            complete &= every
            if best is not None:
                found.append(best)
    except GivenUpError:
        return found, False
    return found, complete
