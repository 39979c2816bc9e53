# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Remedies: of each kind of change, the least that was tried with which a group starts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from enbloc.engine.events import Event
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodKey
from enbloc.simulation.changes import (
    MOST_ALTERNATIVES,
    Alternatives,
    Change,
    GroupToStart,
    Whose,
    changes,
)
from enbloc.simulation.cluster import GivenUpError, SimulatedCluster
from enbloc.simulation.waiting import group_of, victims_of

#: The degrees that are tried first if a larger one may not help.
_FEW: Final = (1, 2, 4)


class TryResult(NamedTuple):
    """The outcome for a group in a changed cluster.

    Attributes:
        nodes: the nodes that its waiting members get; empty = it does not start.
        victims: pods of lower priority that are evicted for it, if it starts.
    """

    nodes: tuple[str, ...]
    victims: tuple[PodKey, ...]

    @property
    def starts(self) -> bool:
        """Whether members of it get nodes."""
        return bool(self.nodes)


#: Events → the outcome for the group if they happen.
Try = Callable[[Sequence[Event]], TryResult]


@dataclass(frozen=True, slots=True)
class Remedy:
    """The least change of one kind with which a group starts; one degree less is not enough.

    Attributes:
        whose: who can make it.
        text: its description, as it follows "it would start with".
        degree: its size, in units of its kind.
        victims: pods of lower priority that are evicted then.
        of_nodes: whether the text reveals labels or taints of nodes.
        change: the change in all its degrees; None = it comes from another process.
    """

    whose: Whose
    text: str
    degree: int
    victims: tuple[PodKey, ...]
    of_nodes: bool
    change: Change | None


def outcome(settled: SimulatedCluster, key: GroupKey) -> TryResult:
    """The outcome for one group.

    Args:
        settled: the settled cluster.
        key: of the group.
    """
    # Over the few bound pods: in a copied process, each object looked at costs memory.
    bound = settled.told.bound
    shown = (settled.pods.get(uid) for uid in bound)
    pods = [pod for pod in shown if pod is not None and group_of(pod) == key]
    nodes = {bound[pod.uid] for pod in pods}
    return TryResult(tuple(sorted(nodes)), victims_of(settled, key, pods))


def least(alternatives: Alternatives, attempt: Try) -> tuple[Remedy | None, bool]:
    """The change that helps in the smallest degree, the first of equals; None = none helps.

    Returns:
        The remedy, and whether all changes were tried that could be smaller.
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
    """The smallest degree that helps, at most `most`; None = none helps.

    Of a change that is not steady, it is a degree that helps where one less does not, and the
    smallest if that is one of a few.
    """
    low, result = 0, None  # the largest degree known not to help, and what the smallest known does
    few = () if change.steady else (each for each in _FEW if each < most)
    for tried in (*few, most):
        found = attempt(change.events(tried))
        if found.starts:
            most, result = tried, found
            break
        low = tried
    if result is None:
        return None
    while most - low > 1:
        middle = (low + most) // 2
        found = attempt(change.events(middle))
        if found.starts:
            most, result = middle, found
        else:
            low = middle
    return Remedy(change.whose, change.words(most), most, result.victims, change.of_nodes, change)


def bounded(attempt: Try, most: int) -> Try:
    """The same Try, at most so many times; then it raises GivenUpError."""
    tries = iter(range(most))

    def tried(events: Sequence[Event]) -> TryResult:
        if next(tries, None) is None:
            raise GivenUpError
        return attempt(events)

    return tried


def remedies(asked: GroupToStart, attempt: Try) -> tuple[Sequence[Remedy], bool]:
    """Of each kind of change, the least that helps; and whether all kinds were tried.

    Args:
        asked: the group that should start.
        attempt: tries a change; GivenUpError ends the search.
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
