# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Leavers: the pods of one group that leave for a preemptor, and their progress."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

from enbloc.engine.preemption import Preemption
from enbloc.engine.state import ClusterState
from enbloc.model.budgets import Budgets
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod, PodUID


class Evicting(enum.Enum):
    """How far the eviction of some pods has come."""

    LATER = "others evict some of their group: who is left is told once all of these terminate"
    TOLD = "they were told"
    FORCED = "some were gone before an eviction was refused: the rest is deleted all the same"
    KEPT = "they cannot be evicted"


@dataclass(slots=True, eq=False)
class Leavers:
    """Pods of one group that leave for one preemptor.

    Attributes:
        pods: all of them, including those that are gone or terminated already.
        needed: their group cannot run without them.
        minimum: those of them that a gang cannot run without, if it has several pods.
        regardless: they are evicted even if a budget forbids it.
        evicting: how far their eviction has come.
        refused: an eviction was refused, and the consequence is not decided yet.
    """

    pods: list[Pod] = field(default_factory=list[Pod])
    needed: bool = False
    minimum: frozenset[PodUID] = frozenset()
    regardless: bool = False
    evicting: Evicting = Evicting.TOLD
    refused: bool = False

    def staying(self, state: ClusterState) -> list[Pod]:
        """Return those that still hold their capacity, as they are now."""
        return [state.pods[pod.uid] for pod in self.pods if stays(pod, state)]

    def left(self, state: ClusterState) -> Sequence[Pod]:
        """Return those that do not leave yet."""
        return [pod for pod in self.staying(state) if not pod.deleting]


def stays(pod: Pod, state: ClusterState) -> bool:
    """Whether a victim still holds its capacity."""
    now = state.pods.get(pod.uid)
    return now is not None and not now.finished


def terminates(uid: PodUID, state: ClusterState) -> bool:
    """Whether the watch shows that a pod terminates."""
    now = state.pods.get(uid)
    return now is not None and now.deleting


def leavers_of(found: Preemption, budgets: Budgets) -> dict[GroupKey, Leavers]:
    """Return the leaving pods by group; a gang's minimum follows its other pods."""
    made = dict[GroupKey, Leavers]()
    for unit in sorted(found.victims, key=lambda unit: unit.of is None):
        if unit.planned:
            continue
        some = made.setdefault(unit.group, Leavers())
        some.pods += unit.pods
        some.needed |= unit.of is None
        if unit.gang:
            some.minimum = frozenset(pod.uid for pod in unit.pods)
    beyond = {unit.group for unit in found.beyond}
    for group, some in made.items():
        some.regardless = group in beyond or budgets.refused(some.pods)
    return made
