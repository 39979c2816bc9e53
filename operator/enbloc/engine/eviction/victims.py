# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Victims: members that are evicted together, from the choice until they are gone.

A unit::

    CHOSEN ──Evict──► SENT ──the watch shows it terminating──► TERMINATING ──► gone
      │                 │                                          │
      └─ cancelled      └─ refused (a budget, already gone)        └─ late: not waited for any more

Whoever wants capacity chooses a unit; nobody else evicts. At most one unit is sent in a turn.
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
    """The units that are under way, the oldest first."""

    def __init__(self) -> None:
        #: By group, those of its members that are being evicted; one unit a group at most.
        self._units: dict[GroupKey, Eviction] = {}
        #: The same by member, until it is gone.
        self._unit_of: dict[PodUID, Eviction] = {}

    def __bool__(self) -> bool:
        """Some member was chosen and holds its capacity yet."""
        return bool(self._units)

    def choose(self, unit: Eviction) -> None:
        """Let a unit be evicted as soon as its turn comes; one of a group at a time."""
        assert unit.group not in self._units, f"{unit.group} has a unit under way"
        self._units[unit.group] = unit
        self._unit_of |= dict.fromkeys(unit.stages, unit)

    def cancel(self, group: GroupKey) -> bool:
        """Let the unit of a group stay where it is, if none of its evictions was handed out yet."""
        unit = self._units.get(group)
        if unit is None or unit.sent:
            return False
        for uid in list(unit.stages):
            self._remove(uid, unit)
        return True

    def evict(self, turn: Turn) -> Eviction | None:
        """Hand out the evictions of the oldest unit that was chosen."""
        unit = next((unit for unit in self._units.values() if not unit.sent), None)
        if unit is None:
            return None
        for pod in unit.pods:
            if unit.stages.get(pod.uid) is VictimStage.CHOSEN:
                unit.stages[pod.uid] = VictimStage.SENT
                evict = Evict(
                    pod.key,
                    pod.uid,
                    unit.group,
                    unit.reason,
                    unit.message,
                    bare=unit.preempts,
                    regardless=unit.regardless,
                )
                turn.effects.append(evict)
        return unit

    # ── what becomes of them ─────────────────────────────────────────────────────────────────

    def terminating(self, uid: PodUID) -> None:
        """The watch shows a pod terminating."""
        unit = self._unit_of.get(uid)
        if unit is not None:
            unit.stages[uid] = VictimStage.TERMINATING

    def gone(self, uid: PodUID) -> Eviction | None:
        """A pod holds its capacity no more; the unit that it was of."""
        unit = self._unit_of.get(uid)
        if unit is not None:
            self._remove(uid, unit)
        return unit

    def expire(self, turn: Turn) -> None:
        """Stop to wait for members that do not leave, or whose eviction was refused.

        The turn says whose they were, and to whom an eviction was refused until when. One of which
        nothing was heard is as good as refused, or it would be asked for and waited for for ever.
        """
        for unit in [unit for unit in self._units.values() if unit.until <= turn.now]:
            turn.released.append(unit.group)
            if self.staying(unit.group):
                turn.refused.append((unit.group, math.inf))
                turn.change(unit.group)
            for uid in list(unit.stages):
                self._remove(uid, unit)
        for answer in turn.refused_evictions:
            refused = self.gone(answer.uid)
            if refused is not None:
                turn.released.append(refused.group)
                turn.refused.append((refused.group, answer.retry_at))
                turn.change(refused.group)

    def _remove(self, uid: PodUID, unit: Eviction) -> None:
        del self._unit_of[uid], unit.stages[uid]
        if not unit.stages:
            del self._units[unit.group]

    # ── what is asked ────────────────────────────────────────────────────────────────────────

    def of(self, group: GroupKey) -> Eviction | None:
        """The unit of a group that is under way."""
        return self._units.get(group)

    def staying(self, group: GroupKey) -> int:
        """How many members of a group are to leave, and do not terminate yet."""
        unit = self._units.get(group)
        if unit is None:
            return 0
        return sum(stage is not VictimStage.TERMINATING for stage in unit.stages.values())

    def leaving(self) -> Sequence[Pod]:
        """The members that terminate or are to, and are waited for yet."""
        return [pod for unit in self._units.values() for pod in unit.pods if pod.uid in unit.stages]

    def deadline(self) -> float | None:
        """When a unit is late; 0 while one is chosen and not sent."""
        times = (unit.until if unit.sent else 0.0 for unit in self._units.values())
        return min(times, default=None)
