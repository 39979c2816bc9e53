# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Rests: which pods of partially evicted gangs are left, and when to evict them again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from enbloc.engine.deadlines import Deadlines
from enbloc.engine.queue import Backoff
from enbloc.engine.turn import Departure
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID

#: A refused eviction is retried after this (seconds), doubling
FIRST_WAIT: Final = 10.0
#: up to this.
LONGEST_WAIT: Final = 600.0


@dataclass(slots=True)
class _Rest:
    """One gang.

    Attributes:
        uids: the pods that leave with those that have left.
        times: how often the rest was told.
    """

    uids: set[PodUID] = field(default_factory=set[PodUID])
    times: int = 0


class Rests:
    """Gangs partially evicted for a higher priority, until they run whole again."""

    def __init__(self) -> None:
        self._of: dict[GroupKey, _Rest] = {}
        #: When each is told again; without an entry, once none of it is being evicted.
        self._due = Deadlines()

    def leave(self, departure: Departure, now: float) -> None:
        """Record that a member which a gang cannot run without certainly leaves."""
        if departure.whole and len(departure.together) > 1:
            if departure.group not in self._of:
                self._due.put(departure.group, now + FIRST_WAIT)
            self.add(departure.group, departure.together)

    def add(self, group: GroupKey, pods: Iterable[Pod]) -> None:
        """Record that a part of a gang is gone, and that these pods are to go."""
        rest = self._of.setdefault(group, _Rest())
        rest.uids.update(pod.uid for pod in pods)

    def end(self, group: GroupKey) -> None:
        """Forget a gang that runs whole or is gone."""
        self._of.pop(group, None)
        self._due.drop(group)

    def expire(self, now: float) -> Sequence[GroupKey]:
        """Return the gangs whose rest is due."""
        return self._due.due(now)

    def take(self, group: GroupKey, bound: Sequence[Pod], now: float) -> Sequence[Pod]:
        """Return the bound members of a gang that are to be told now; later they may be again."""
        rest = self._of.get(group)
        if rest is None or group in self._due:
            return ()
        left = [pod for pod in bound if pod.uid in rest.uids and not pod.deleting]
        if left:
            rest.times += 1
            self._due.put(group, now + Backoff(FIRST_WAIT, LONGEST_WAIT).after(rest.times))
        return left

    def deadline(self) -> float:
        """Return when the next rest is due, engine clock; infinity = none is."""
        return self._due.first()
