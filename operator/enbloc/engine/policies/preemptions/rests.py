# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Rests: which pods of partially evicted gangs are left, and when to evict them again."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from enbloc.engine.deadlines import Deadlines
from enbloc.engine.eviction import Victims
from enbloc.engine.policies.preemptions.begun import left_in_part
from enbloc.engine.policies.preemptions.under_way import rest_of_gang
from enbloc.engine.preemption import of_kueue
from enbloc.engine.queue import Backoff
from enbloc.engine.state import ClusterState, Groups
from enbloc.engine.turn import Departure, Turn
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
    """Gangs partially evicted for a higher priority, until they run whole again.

    Groups of Kueue are no groups of this scheduler, so none of its reviews tells their rest.

    Args:
        state: the cluster.
        groups: of its pods.
        victims: which pods are being evicted.
    """

    def __init__(self, state: ClusterState, groups: Groups, victims: Victims) -> None:
        self._state, self._groups, self._victims = state, groups, victims
        #: What another leader has begun with groups of Kueue was looked at.
        self._took_over = False
        self._of: dict[GroupKey, _Rest] = {}
        #: When each is told again; without an entry, once none of it is being evicted.
        self._due: Deadlines[GroupKey] = Deadlines()

    def __contains__(self, group: GroupKey) -> bool:
        return group in self._of

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

    def expire(self, turn: Turn) -> None:
        """Have gangs reviewed whose rest is due; tell that of groups of Kueue."""
        if not self._took_over:
            self._took_over = True
            for group, pods in left_in_part(self._state, self._groups).items():
                self.add(group, pods)
                self._due.put(group, turn.now)
        for group in self._due.due(turn.now):
            if of_kueue(group):
                self._tell(group, turn.now)
            else:
                turn.change(group)

    def _tell(self, group: GroupKey, now: float) -> None:
        """Evict the rest of a group of Kueue, unless some of it is told and does not leave yet."""
        if self._victims.staying(group):
            self._due.put(group, now + FIRST_WAIT)
            return
        pods = (self._state.pods.get(uid) for uid in sorted(self._of[group].uids))
        left = self.take(group, [pod for pod in pods if pod is not None and pod.bound], now)
        if left:
            self._victims.choose(rest_of_gang(group, left))

    def take(self, group: GroupKey, bound: Sequence[Pod], now: float) -> Sequence[Pod]:
        """Return the bound members of a gang that are to be told now; later they may be again."""
        rest = self._of.get(group)
        if rest is None or group in self._due:
            return ()
        left = [pod for pod in bound if pod.uid in rest.uids and not pod.deleting]
        if left:
            rest.times += 1
            self._due.put(group, now + Backoff(FIRST_WAIT, LONGEST_WAIT).after(rest.times))
        else:
            self.end(group)
        return left

    def deadline(self) -> float:
        """Return when the next rest is due, engine clock; infinity = none is."""
        return self._due.first()
