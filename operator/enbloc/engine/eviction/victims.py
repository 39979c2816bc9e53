# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Victims: members that are evicted together, from the choice until they are gone.

An eviction::

    CHOSEN ──Evict──► SENT ──the watch shows it terminating──► TERMINATING ──► gone
      │                 │                                          │
      └─ cancelled      └─ refused (a budget, already gone)        └─ late: not waited for any more

Whoever wants capacity chooses who goes; nobody else evicts. At most one is sent in a turn.
Several may be under way: each concerns only those who wait for its capacity.
"""

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from enbloc.engine.effects import Evict
from enbloc.engine.turn import Turn
from enbloc.model.groups import GroupKey
from enbloc.model.names import Reason
from enbloc.model.pods import Pod, PodUID


class VictimStage(enum.Enum):
    """How far a victim has come."""

    CHOSEN = "chosen"
    SENT = "sent"
    TERMINATING = "terminating"


@dataclass(slots=True, eq=False)
class Eviction:
    """Members of one group that are evicted together.

    Attributes:
        group: whose members they are.
        pods: the members, in the order in which they are evicted.
        reason: of the pod condition DisruptionTarget.
        message: of it, for people.
        beneficiary: the group that waits for their capacity; None = the queue.
        until: when it is waited for no more, engine clock: a node may be gone.
        preempts: the beneficiary is preferred by its priority: pods without a controller go too,
        regardless: and those that a PodDisruptionBudget would keep.
        stages: of the members that are not gone yet.
    """

    group: GroupKey
    pods: Sequence[Pod]
    reason: Reason
    message: str
    beneficiary: GroupKey | None
    until: float
    preempts: bool = False
    regardless: bool = False
    stages: dict[PodUID, VictimStage] = field(init=False)

    def __post_init__(self) -> None:
        self.stages = dict.fromkeys((pod.uid for pod in self.pods), VictimStage.CHOSEN)

    @property
    def sent(self) -> bool:
        """The evictions of its members were handed out."""
        return VictimStage.CHOSEN not in self.stages.values()


class Victims:
    """The evictions that are under way, the oldest first."""

    def __init__(self) -> None:
        #: By group, those of its members that are being evicted; one a group at most.
        self._evictions: dict[GroupKey, Eviction] = {}
        #: The same by member, until it is gone.
        self._eviction_of: dict[PodUID, Eviction] = {}

    def __bool__(self) -> bool:
        """Some member was chosen and holds its capacity yet."""
        return bool(self._evictions)

    def choose(self, eviction: Eviction) -> None:
        """Let pods be evicted as soon as their turn comes; one eviction of a group at a time."""
        assert eviction.group not in self._evictions, f"{eviction.group} has an eviction under way"
        for uid in eviction.stages.keys() & self._eviction_of.keys():
            del eviction.stages[uid]  # it leaves already, as a member of another group
        if not eviction.stages:
            return
        self._evictions[eviction.group] = eviction
        self._eviction_of |= dict.fromkeys(eviction.stages, eviction)

    def cancel(self, group: GroupKey) -> bool:
        """Let the pods of a group stay, if none of their evictions was handed out yet."""
        eviction = self._evictions.get(group)
        if eviction is None or eviction.sent:
            return False
        for uid in list(eviction.stages):
            self._remove(uid, eviction)
        return True

    def evict(self, turn: Turn) -> Eviction | None:
        """Hand out the oldest eviction that was chosen, pod by pod."""
        eviction = next((each for each in self._evictions.values() if not each.sent), None)
        if eviction is None:
            return None
        for pod in eviction.pods:
            if eviction.stages.get(pod.uid) is VictimStage.CHOSEN:
                eviction.stages[pod.uid] = VictimStage.SENT
                evict = Evict(
                    pod.key,
                    pod.uid,
                    eviction.group,
                    eviction.reason,
                    eviction.message,
                    bare=eviction.preempts,
                    regardless=eviction.regardless,
                )
                turn.effects.append(evict)
        return eviction

    # ── what becomes of them ─────────────────────────────────────────────────────────────────

    def terminating(self, uid: PodUID) -> None:
        """The watch shows a pod terminating."""
        eviction = self._eviction_of.get(uid)
        if eviction is not None:
            eviction.stages[uid] = VictimStage.TERMINATING

    def gone(self, uid: PodUID) -> Eviction | None:
        """A pod holds its capacity no more; the eviction that it was of."""
        eviction = self._eviction_of.get(uid)
        if eviction is not None:
            self._remove(uid, eviction)
        return eviction

    def expire(self, turn: Turn) -> None:
        """Stop to wait for members that do not leave, or whose eviction was refused.

        The turn says whose they were, and to whom an eviction was refused until when. One of which
        nothing was heard is as good as refused, or it would be asked for and waited for for ever.
        """
        for eviction in [e for e in self._evictions.values() if e.until <= turn.now]:
            turn.released.append(eviction.group)
            if self.staying(eviction.group):
                turn.refused.append((eviction.group, math.inf))
                turn.change(eviction.group)
            for uid in list(eviction.stages):
                self._remove(uid, eviction)
        for answer in turn.refused_evictions:
            refused = self.gone(answer.uid)
            if refused is not None:
                turn.released.append(refused.group)
                turn.refused.append((refused.group, answer.retry_at))
                turn.change(refused.group)

    def _remove(self, uid: PodUID, eviction: Eviction) -> None:
        del self._eviction_of[uid], eviction.stages[uid]
        if not eviction.stages:
            del self._evictions[eviction.group]

    # ── what is asked ────────────────────────────────────────────────────────────────────────

    def of(self, group: GroupKey) -> Eviction | None:
        """The eviction of a group that is under way."""
        return self._evictions.get(group)

    def staying(self, group: GroupKey) -> int:
        """How many members of a group are to leave, and do not terminate yet."""
        eviction = self._evictions.get(group)
        if eviction is None:
            return 0
        return sum(stage is not VictimStage.TERMINATING for stage in eviction.stages.values())

    def leaving(self) -> Sequence[Pod]:
        """The members that terminate or are to, and are waited for yet."""
        return [
            pod
            for eviction in self._evictions.values()
            for pod in eviction.pods
            if pod.uid in eviction.stages
        ]

    def deadline(self) -> float | None:
        """When an eviction is late; 0 while one is chosen and not sent."""
        times = (eviction.until if eviction.sent else 0.0 for eviction in self._evictions.values())
        return min(times, default=None)
