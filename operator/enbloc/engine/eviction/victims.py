# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Victims: members that are evicted together, from the choice until they are gone.

An eviction::

    CHOSEN ──Evict──► SENT ──accepted, or the watch shows it──► LEAVING ──► gone
      │                 │                                          │
      └─ cancelled      ├─ refused (a budget)                      └─ late: not waited for any more
                        └─ stopped: nobody needs it any more, and nothing was sent yet

Whoever wants capacity chooses who goes; nobody else evicts. At most one is sent in a turn.
Several may be under way: each concerns only those who wait for its capacity.
"""

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from enbloc.engine.effects import Evict, StopEvict
from enbloc.engine.events import EvictRefused
from enbloc.engine.turn import Departure, Turn
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.model.pods import Pod, PodUID

#: No further unit is handed out while the answers about so many members are awaited: who was not
#: told may stay yet.
MOST_AWAITED: Final = 16
#: When no answer has come for so long (seconds) about any of those that go together, those of them
#: that are awaited count as refusals.
ANSWER_SECONDS: Final = 300.0


class VictimStage(enum.Enum):
    """How far a victim has come."""

    CHOSEN = "chosen"
    SENT = "sent"
    LEAVING = "leaving"


@dataclass(slots=True, eq=False)
class Victim:
    """One member that is being evicted.

    Attributes:
        terminating: the watch shows that it terminates.
        end: when it is late, engine clock; known once it leaves.
    """

    pod: Pod
    stage: VictimStage = VictimStage.CHOSEN
    terminating: bool = False
    end: float = math.inf


@dataclass(slots=True, eq=False)
class Eviction:
    """Members of one group that are evicted together.

    Attributes:
        group: whose members they are.
        pods: the members, in the order in which they are evicted; who terminates already is only
            waited for.
        reason: of the pod condition DisruptionTarget.
        message: of it, for people.
        beneficiary: the group that waits for their capacity; None = the queue.
        until: when all are waited for no more, engine clock: a node may be gone.
        patience: seconds for which each is waited for beyond its grace period, from when it is
            certain that it leaves.
        by: who is preferred to them by its priority, for people: pods without a controller go
            too; "" = nobody.
        regardless: and those that a PodDisruptionBudget would keep.
        whole: their group cannot run without them.
        rest: others of these have left: it is still the same preemption.
        victims: those that are not gone yet.
        awaited: those of which an answer is.
        answered: when one came last, engine clock.
        left: it is certain of some that they leave because they were told to.
        stopped: those of which an answer is awaited stay if nothing was sent to delete them.
    """

    group: GroupKey
    pods: Sequence[Pod]
    reason: Reason
    message: str
    beneficiary: GroupKey | None
    until: float = math.inf
    patience: float = math.inf
    by: str = ""
    regardless: bool = False
    whole: bool = False
    rest: bool = False
    victims: dict[PodUID, Victim] = field(init=False)
    awaited: set[PodUID] = field(default_factory=set[PodUID])
    answered: float = math.inf
    left: bool = False
    stopped: bool = False

    def __post_init__(self) -> None:
        self.victims = {pod.uid: Victim(pod) for pod in self.pods}


class Victims:
    """The evictions that are under way, the oldest first."""

    def __init__(self) -> None:
        #: By group, those of its members that are being evicted; one a group at most.
        self._evictions: dict[GroupKey, Eviction] = {}
        #: Those of them that were not handed out yet.
        self._chosen: dict[GroupKey, Eviction] = {}
        #: The same by member, until it is gone.
        self._eviction_of: dict[PodUID, Eviction] = {}
        #: Who leaves for certain since the last turn; and those of them that were told to.
        self._leaving: list[tuple[Eviction, Victim]] = []
        self._departures: list[Departure] = []
        #: `(end, member)`, the first on top; those that are gone are skipped.
        self._ends: list[tuple[float, PodUID]] = []
        #: Those of which answers are awaited, and about how many members in all.
        self._asked: dict[GroupKey, Eviction] = {}
        self._awaited = 0
        #: Those of which one came since the last turn.
        self._heard: dict[GroupKey, Eviction] = {}
        #: What is to be stopped in this turn.
        self._stops: list[StopEvict] = []

    def __bool__(self) -> bool:
        """Some member was chosen and holds its capacity yet."""
        return bool(self._evictions)

    def choose(self, eviction: Eviction) -> None:
        """Let pods be evicted as soon as their turn comes; one eviction of a group at a time."""
        assert eviction.group not in self._evictions, f"{eviction.group} has an eviction under way"
        for uid in eviction.victims.keys() & self._eviction_of.keys():
            del eviction.victims[uid]  # it leaves already, as a member of another group
        if not eviction.victims:
            return
        self._evictions[eviction.group] = self._chosen[eviction.group] = eviction
        self._eviction_of |= dict.fromkeys(eviction.victims, eviction)
        for pod in eviction.pods:
            if pod.deleting:
                self.terminating(pod.uid)

    def cancel(self, group: GroupKey) -> bool:
        """Let the pods of a group stay; whether none of their evictions was handed out yet.

        If they were and none of them leaves for certain, they stay if nothing was sent to delete
        them: answers say so.
        """
        eviction = self._chosen.get(group)
        if eviction is None:
            self._stop(self._evictions.get(group))
            return False
        for uid in list(eviction.victims):
            self._remove(uid, eviction)
        return True

    def _stop(self, eviction: Eviction | None) -> None:
        if eviction is not None and eviction.awaited and not (eviction.left or eviction.stopped):
            eviction.stopped = True
            self._stops.append(StopEvict(eviction.group, frozenset(eviction.awaited)))

    def evict(self, turn: Turn) -> Eviction | None:
        """Hand out the oldest eviction that was chosen, pod by pod, and what is to be stopped."""
        turn.effects += self._stops
        self._stops = []
        while self._may_send:
            eviction = self._chosen.pop(next(iter(self._chosen)))
            due = [v for v in eviction.victims.values() if v.stage is VictimStage.CHOSEN]
            if not due:
                continue  # all of them terminate already
            eviction.answered, self._asked[eviction.group] = turn.now, eviction
            self._awaited += len(due)
            for victim in due:
                victim.stage = VictimStage.SENT
                eviction.awaited.add(victim.pod.uid)
                turn.effects.append(
                    Evict(
                        victim.pod.key,
                        victim.pod.uid,
                        eviction.group,
                        eviction.reason,
                        eviction.message,
                        bare=bool(eviction.by),
                        regardless=eviction.regardless,
                        whole=eviction.whole and not eviction.rest,
                        rest=eviction.rest,
                    )
                )
            return eviction
        return None

    @property
    def _may_send(self) -> bool:
        return bool(self._chosen) and self._awaited < MOST_AWAITED

    # ── what becomes of them ─────────────────────────────────────────────────────────────────

    def accepted(self, uid: PodUID) -> None:
        """The API server has accepted an eviction."""
        eviction = self._eviction_of.get(uid)
        if eviction is not None:
            self._leaves(uid, eviction)

    def terminating(self, uid: PodUID) -> None:
        """The watch shows a pod terminating."""
        eviction = self._eviction_of.get(uid)
        if eviction is not None:
            eviction.victims[uid].terminating = True
            self._leaves(uid, eviction)

    def gone(self, uid: PodUID, *, finished: bool = False) -> Eviction | None:
        """A pod holds its capacity no more; the eviction that it was of.

        One that was told to leave and is gone before the answer has left for that, unless it has
        finished.
        """
        eviction = self._eviction_of.get(uid)
        if eviction is not None:
            if not finished:
                self._leaves(uid, eviction)
            self._remove(uid, eviction)
        return eviction

    def stays(self, uid: PodUID) -> Eviction | None:
        """The eviction of a member was stopped; that, unless it leaves all the same."""
        eviction = self._eviction_of.get(uid)
        if eviction is None or not (eviction.stopped and uid in eviction.awaited):
            return None
        self._remove(uid, eviction)
        return eviction

    def _leaves(self, uid: PodUID, eviction: Eviction) -> None:
        """A member leaves for certain; the next turn knows since when."""
        victim = eviction.victims[uid]
        if victim.stage is VictimStage.LEAVING:
            return
        if victim.stage is VictimStage.SENT:
            eviction.left = True
            self._departures.append(
                Departure(
                    eviction.group,
                    victim.pod,
                    eviction.by,
                    eviction.beneficiary,
                    eviction.pods,
                    eviction.whole,
                    eviction.rest,
                )
            )
        victim.stage = VictimStage.LEAVING
        self._answer(uid, eviction)
        self._leaving.append((eviction, victim))

    def _remove(self, uid: PodUID, eviction: Eviction) -> None:
        del self._eviction_of[uid], eviction.victims[uid]
        self._answer(uid, eviction)
        if not eviction.victims:
            del self._evictions[eviction.group]
            self._chosen.pop(eviction.group, None)

    def _answer(self, uid: PodUID, eviction: Eviction) -> None:
        """An answer about a member is awaited no more."""
        if uid not in eviction.awaited:
            return
        eviction.awaited.remove(uid)
        self._awaited -= 1
        self._heard[eviction.group] = eviction
        if not eviction.awaited:
            del self._asked[eviction.group]

    def expire(self, turn: Turn) -> None:
        """Take in who leaves; stop to wait for who does not, or whose eviction was refused.

        The turn says whose they were, and to whom an eviction was refused until when. One of which
        nothing was heard is as good as refused, or it would be asked for and waited for for ever.
        """
        turn.departures, self._departures = self._departures, []
        for answer in turn.refused_evictions:
            self._refused(turn, answer)
        for eviction in self._heard.values():
            eviction.answered = turn.now
        self._heard = {}
        for eviction, victim in self._leaving:
            victim.end = turn.now + victim.pod.grace + eviction.patience
            if victim.end < math.inf and victim.pod.uid in eviction.victims:
                heappush(self._ends, (victim.end, victim.pod.uid))
        self._leaving = []
        for eviction in [e for e in self._evictions.values() if e.until <= turn.now]:
            turn.released.append(eviction.group)
            self._stop(eviction)
            if self.staying(eviction.group):
                turn.refused.append((eviction.group, math.inf))
                turn.change(eviction.group)
            for uid in list(eviction.victims):
                self._remove(uid, eviction)
        for uid in self._late(turn.now):
            eviction = self._eviction_of[uid]
            turn.hanging.append(eviction.victims[uid].pod)
            turn.released.append(eviction.group)
            turn.change(eviction.group)
            self._remove(uid, eviction)

    def _refused(self, turn: Turn, answer: EvictRefused) -> None:
        uid = answer.uid
        eviction = self._eviction_of.get(uid)
        if eviction is None:
            return
        if eviction.by and answer.final:
            # It is gone, or about to be, whatever we do: the watch will show it, or it is late.
            victim = eviction.victims[uid]
            if victim.stage is not VictimStage.LEAVING:
                victim.stage = VictimStage.CHOSEN  # nobody told it
                self._leaves(uid, eviction)
            return
        self._remove(uid, eviction)
        turn.released.append(eviction.group)
        turn.refused.append((eviction.group, answer.retry_at))
        turn.change(eviction.group)

    def _late(self, now: float) -> list[PodUID]:
        """Those who should be gone by now, or of whom nothing was heard."""
        late = dict[PodUID, None]()
        while self._ends and self._ends[0][0] <= now:
            end, uid = heappop(self._ends)
            eviction = self._eviction_of.get(uid)
            if eviction is not None and eviction.victims[uid].end == end:
                late[uid] = None
        for eviction in self._asked.values():
            if eviction.answered + ANSWER_SECONDS <= now:
                late |= dict.fromkeys(sorted(eviction.awaited))
                self._stop(eviction)
        return [*late]

    # ── what is asked ────────────────────────────────────────────────────────────────────────

    def of(self, group: GroupKey) -> Eviction | None:
        """The eviction of a group that is under way."""
        return self._evictions.get(group)

    def staying(self, group: GroupKey) -> int:
        """How many members of a group are to leave, and do not terminate yet."""
        eviction = self._evictions.get(group)
        if eviction is None:
            return 0
        return sum(not victim.terminating for victim in eviction.victims.values())

    def latest(self, group: GroupKey) -> float:
        """Until when members of a group are waited for, engine clock.

        Infinity = it is not certain yet that all of them leave; minus infinity = none is to.
        """
        eviction = self._evictions.get(group)
        if eviction is None:
            return -math.inf
        return max(victim.end for victim in eviction.victims.values())

    def leaving(self) -> Sequence[Pod]:
        """The members that terminate or are to, and are waited for yet."""
        return [
            victim.pod
            for eviction in self._evictions.values()
            for victim in eviction.victims.values()
        ]

    def deadline(self) -> float | None:
        """When somebody is late; 0 while one is chosen and not sent, or there is news."""
        if self._may_send or self._leaving or self._departures or self._stops:
            return 0.0
        times = [eviction.until for eviction in self._evictions.values()]
        if self._ends:
            times.append(self._ends[0][0])
        times += [eviction.answered + ANSWER_SECONDS for eviction in self._asked.values()]
        return min(times, default=None)
