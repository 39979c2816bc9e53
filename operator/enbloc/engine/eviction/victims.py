# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Victims: members that are evicted together, from the choice until they are gone.

An eviction::

    CHOSEN ──Evict──► SENT ──accepted, or the watch shows it──► LEAVING ──► gone
      │                 │                                          │
      └─ cancelled      ├─ refused (a budget)                      └─ late: no longer waited for
                        └─ stopped: no longer needed, and nothing was sent yet

A policy that needs capacity chooses the victims; nothing else evicts. At most one unit is sent per
turn. Several evictions may be under way: each concerns only the groups that wait for its capacity.
Of one group, another may begin once all victims of the former one terminate: they may take an hour,
and the next run of the group does not concern them.
"""

import enum
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from enbloc.engine.deadlines import Deadlines
from enbloc.engine.effects import Evict, StopEvict
from enbloc.engine.events import EvictRefused
from enbloc.engine.turn import Departure, Turn
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.model.pods import Pod, PodUID

#: No further unit is handed out while answers about this many members are awaited: victims that
#: were not told may still stay.
MOST_AWAITED: Final = 16
#: If no answer has come for this long (seconds) about any victim of an eviction, those still
#: awaited count as refusals.
ANSWER_SECONDS: Final = 300.0


class VictimStage(enum.Enum):
    """How far the eviction of a victim has come."""

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
        group: of these members.
        pods: the members, in the order of eviction; terminating ones are only waited for.
        reason: of the pod condition DisruptionTarget.
        message: of the condition, for people.
        beneficiary: the group that waits for their capacity; None = the queue.
        until: when none is waited for any longer, engine clock: a node may be gone.
        patience: seconds to wait for each beyond its grace period, from when it certainly leaves.
        by: the preemptor, for people: pods without a controller go too; "" = no preemptor.
        regardless: pods that a PodDisruptionBudget protects go too.
        whole: their group cannot run without them.
        rest: others of these have left: it is still the same preemption.
        victims: those that are not gone yet.
        staying: how many of them do not terminate yet.
        awaited: those with an awaited answer.
        answered: when the last answer came, engine clock.
        left: some of them certainly leave because they were told to.
        stopped: those with an awaited answer stay if nothing was sent to delete them.
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
    staying: int = 0
    awaited: set[PodUID] = field(default_factory=set[PodUID])
    answered: float = math.inf
    left: bool = False
    stopped: bool = False

    def __post_init__(self) -> None:
        self.victims = {pod.uid: Victim(pod) for pod in self.pods}


class Victims:
    """The evictions that are under way, oldest first."""

    def __init__(self) -> None:
        #: By group, its last eviction; all victims of earlier ones terminate.
        self._evictions: dict[GroupKey, Eviction] = {}
        #: Those of them that are not handed out yet.
        self._chosen: dict[GroupKey, Eviction] = {}
        #: When those end that are waited for so long at most.
        self._untils: Deadlines[Eviction] = Deadlines()
        #: By member, until it is gone.
        self._eviction_of: dict[PodUID, Eviction] = {}
        #: Victims that certainly leave since the last turn; and those of them that were told to.
        self._leaving: list[tuple[Eviction, Victim]] = []
        self._departures: list[Departure] = []
        #: Groups that may have another eviction since the last turn.
        self._able: list[GroupKey] = []
        #: When members should be gone.
        self._ends: Deadlines[PodUID] = Deadlines()
        #: Evictions with awaited answers, and the number of these members in all.
        self._asked: dict[GroupKey, Eviction] = {}
        self._awaited = 0
        #: Evictions with an answer since the last turn.
        self._heard: dict[GroupKey, Eviction] = {}
        #: What to stop in this turn.
        self._stops: list[StopEvict] = []

    def __bool__(self) -> bool:
        """Whether a chosen member still holds its capacity."""
        return bool(self._eviction_of)

    def choose(self, eviction: Eviction) -> None:
        """Have pods evicted when their turn comes.

        Of each group one eviction at a time, until all of its victims terminate.
        """
        assert not self.staying(eviction.group), f"{eviction.group} has an eviction under way"
        for uid in [uid for uid in eviction.victims if uid in self._eviction_of]:
            del eviction.victims[uid]  # it already leaves, in an eviction before this one
            victim = self._eviction_of[uid].victims[uid]
            if victim.stage is VictimStage.LEAVING:
                self._leaving.append((eviction, victim))
        if not eviction.victims:
            return
        self._evictions[eviction.group] = self._chosen[eviction.group] = eviction
        eviction.staying = len(eviction.victims)
        self._untils.put(eviction, eviction.until)
        self._eviction_of |= dict.fromkeys(eviction.victims, eviction)
        for pod in eviction.pods:
            if pod.deleting:
                self.terminating(pod.uid)

    def cancel(self, group: GroupKey) -> bool:
        """Cancel a group's eviction; return whether none of it was handed out yet.

        If it was, and no victim certainly leaves, they stay if nothing was sent to delete them;
        answers will tell.
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
        """Hand out the oldest chosen eviction, pod by pod, and what to stop."""
        turn.effects += self._stops
        self._stops = []
        while self._may_send:
            eviction = self._chosen.pop(next(iter(self._chosen)))
            due = [v for v in eviction.victims.values() if v.stage is VictimStage.CHOSEN]
            if not due:
                continue  # all of them are terminating
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

    # ── outcomes ─────────────────────────────────────────────────────────────────────────────

    def accepted(self, uid: PodUID) -> None:
        """Record that the API server has accepted an eviction."""
        eviction = self._eviction_of.get(uid)
        if eviction is not None:
            self._leaves(uid, eviction)

    def terminating(self, uid: PodUID) -> None:
        """Record that the watch shows a pod terminating."""
        eviction = self._eviction_of.get(uid)
        if eviction is not None:
            victim = eviction.victims[uid]
            eviction.staying -= not victim.terminating
            victim.terminating = True
            if not eviction.staying:
                self._able.append(eviction.group)
            self._leaves(uid, eviction)

    def gone(self, uid: PodUID, *, finished: bool = False) -> Eviction | None:
        """Record that a pod no longer holds its capacity; return its eviction.

        A pod that was told to leave and is gone before the answer has left for that, unless it has
        finished.
        """
        eviction = self._eviction_of.get(uid)
        if eviction is not None:
            if not finished:
                self._leaves(uid, eviction)
            self._remove(uid, eviction)
        return eviction

    def stays(self, uid: PodUID) -> Eviction | None:
        """Record a stopped eviction of a member; return it, unless the member leaves anyway."""
        eviction = self._eviction_of.get(uid)
        if eviction is None or not (eviction.stopped and uid in eviction.awaited):
            return None
        self._remove(uid, eviction)
        return eviction

    def _leaves(self, uid: PodUID, eviction: Eviction) -> None:
        """Record that a member certainly leaves; the next turn knows since when."""
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
        eviction.staying -= not eviction.victims[uid].terminating
        del self._eviction_of[uid], eviction.victims[uid]
        self._ends.drop(uid)
        self._answer(uid, eviction)
        if not eviction.victims:
            self._untils.drop(eviction)
            for evictions in (self._evictions, self._chosen):
                if evictions.get(eviction.group) is eviction:
                    del evictions[eviction.group]

    def _answer(self, uid: PodUID, eviction: Eviction) -> None:
        """Record that no answer about a member is awaited any more."""
        if uid not in eviction.awaited:
            return
        eviction.awaited.remove(uid)
        self._awaited -= 1
        self._heard[eviction.group] = eviction
        if not eviction.awaited:
            del self._asked[eviction.group]

    def expire(self, turn: Turn) -> None:
        """Process departures; stop waiting for members that hang or whose eviction was refused.

        The turn records their groups, and until when an eviction was refused for which group.
        Without any answer it counts as refused, or it would be waited for for ever.
        """
        turn.departures, self._departures = self._departures, []
        for answer in turn.refused_evictions:
            self._refused(turn, answer)
        for eviction in self._heard.values():
            eviction.answered = turn.now
        self._heard = {}
        for eviction, victim in self._leaving:
            end = turn.now + victim.pod.grace + eviction.patience
            victim.end = min(victim.end, end)  # several may wait for it
            if victim.pod.uid in self._eviction_of:
                self._ends.put(victim.pod.uid, victim.end)
            turn.leaving.append(eviction.group)
        self._leaving = []
        turn.leaving += self._able
        self._able = []
        for eviction in self._untils.due(turn.now):
            turn.released.append(eviction.group)
            self._stop(eviction)
            if eviction.staying:
                turn.refused.append((eviction.group, math.inf))
                turn.change(eviction.group)
            for uid in [uid for uid in eviction.victims if uid not in self._ends]:
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
            # It is gone, or about to be, in any case: the watch will show it, or it is late.
            victim = eviction.victims[uid]
            if victim.stage is not VictimStage.LEAVING:
                victim.stage = VictimStage.CHOSEN  # it was not told
                self._leaves(uid, eviction)
            return
        self._remove(uid, eviction)
        turn.released.append(eviction.group)
        turn.refused.append((eviction.group, answer.retry_at))
        turn.change(eviction.group)

    def _late(self, now: float) -> list[PodUID]:
        """Return the victims that should be gone by now, or without any answer."""
        late = dict.fromkeys(self._ends.due(now))
        for eviction in self._asked.values():
            if eviction.answered + ANSWER_SECONDS <= now:
                late |= dict.fromkeys(sorted(eviction.awaited))
                self._stop(eviction)
        return [*late]

    # ── queries ──────────────────────────────────────────────────────────────────────────────

    def of(self, group: GroupKey) -> Eviction | None:
        """Return the last eviction of a group, while it is under way."""
        return self._evictions.get(group)

    def evicts(self, uid: PodUID) -> bool:
        """Whether a pod is being evicted, if only as a member of a group that it named before."""
        return uid in self._eviction_of

    def staying(self, group: GroupKey) -> int:
        """Return how many members of a group are to leave and do not terminate yet."""
        eviction = self._evictions.get(group)
        return eviction.staying if eviction is not None else 0

    def latest(self, uids: Iterable[PodUID]) -> float:
        """Return until when some pods are waited for, engine clock.

        Infinity = not all of them certainly leave yet; minus infinity = none is to.
        """
        evicted = ((self._eviction_of.get(uid), uid) for uid in uids)
        return max(
            (of.victims[uid].end for of, uid in evicted if of is not None), default=-math.inf
        )

    def leaving(self) -> Sequence[Pod]:
        """Return the members that terminate or are to, and are still waited for."""
        return [eviction.victims[uid].pod for uid, eviction in self._eviction_of.items()]

    def deadline(self) -> float:
        """Return when a victim is late; 0 while one is chosen and not sent, or there is news."""
        if self._may_send or self._leaving or self._able or self._departures or self._stops:
            return 0.0
        times = [eviction.answered + ANSWER_SECONDS for eviction in self._asked.values()]
        return min([self._untils.first(), self._ends.first(), *times])
