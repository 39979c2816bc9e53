# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Places: which nodes could hold a member of a group, as the plugins of its profile say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from enbloc.engine.events import FactSeen, NamespaceSeen, NodeSeen, PodSeen, WorkloadSeen
from enbloc.engine.state import Arrays, Checkpoint, Pending, Seat
from enbloc.engine.trial import Trial
from enbloc.errors import EnblocError
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from enbloc.simulation import Present, Waiting

#: So many classes of alike members are looked at; a gang has few.
_MOST_CLASSES: Final = 16


@dataclass(frozen=True, slots=True)
class Places:
    """Where single members of a group could be, whether or not all of them fit together.

    Attributes:
        now: nodes with room for one of its waiting members, beside what is there.
        empty: nodes that could hold one if all pods were gone that do not belong to their node.
    """

    now: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()


class Finder:
    """Finds places in one cluster; what it makes of that is made once, when it is first needed.

    Args:
        present: the cluster.
    """

    def __init__(self, present: Present) -> None:
        self._present = present
        self._snapshots: tuple[Snapshot, Snapshot] | None = None

    def places(self, waiting: Waiting) -> Places:
        """Where members of a group could be; one member stands for all of its class."""
        profile = self._present.profiles.get(waiting.pending[0].scheduler)
        if profile is None:
            return Places()
        if self._snapshots is None:
            self._snapshots = _snapshot(self._present, full=True), _snapshot(self._present)
        try:
            now, empty = (
                frozenset(_feasible(Trial(profile, snapshot), waiting.pending))
                for snapshot in self._snapshots
            )
        except EnblocError:  # a plugin failed: its group says so
            return Places()
        return Places(now, empty)


def _feasible(trial: Trial, pods: Sequence[Pod]) -> Iterable[str]:
    names = trial.snapshot.nodes.names
    asked = dict(zip(trial.keys(pods), pods, strict=True))
    for key, pod in islice(asked.items(), _MOST_CLASSES):
        ranking = trial.filter_of(pod, key)
        if ranking.refused is None:
            yield from (names[row] for row in ranking.mask.nonzero()[0].tolist())


def _snapshot(present: Present, *, full: bool = False) -> Snapshot:
    """The tables that plugins look at, with all placed pods, or those that belong to their node."""
    tables = Checkpoint()
    for event in present.events:
        match event:
            case NodeSeen() | NamespaceSeen() | WorkloadSeen() | FactSeen():
                tables.apply(event)
            case PodSeen(pod) if not pod.finished:
                stays = full or pod.mirror or (pod.owner and pod.owner.kind == "DaemonSet")
                if pod.node and stays:
                    tables.apply(Seat(pod.node, pod))
                if pod.spec.holds and (stays or not pod.node):
                    tables.apply(Pending(pod.uid, pod))
            case _:
                pass
    return Arrays(tables).snapshot({})
