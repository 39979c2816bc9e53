# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Places: which nodes could hold a member of a group, and what the others lack."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

import numpy as np

from enbloc.engine.events import FactSeen, NamespaceSeen, NodeSeen, PodSeen, WorkloadSeen
from enbloc.engine.state import Arrays, Checkpoint, ClaimUserSeen, Seat
from enbloc.engine.trial import Trial
from enbloc.errors import EnblocError
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from enbloc.simulation import PresentState, Waiting

#: The most classes of alike members that are looked at; a gang has few.
_MOST_CLASSES: Final = 16


#: What a node has too little of for one member: `(resource, amount)` in name order.
Lack = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class MemberNodes:
    """The nodes that could hold single members of a group, whether or not all fit together.

    Attributes:
        now: nodes with room for one of its waiting members now.
        empty: nodes that could hold one if all pods were gone except those that belong to their
            node.
        lacks: nodes that only have too little of some resources for its first member.
        refused: `(the scheduler's reason, number of nodes)` for the rest, for that member.
    """

    now: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    lacks: Mapping[str, Lack] = field(default_factory=dict[str, Lack])
    refused: Sequence[tuple[str, int]] = ()


class Finder:
    """Finds places in one cluster; builds its tables when they are first needed.

    Args:
        present: the cluster.
    """

    def __init__(self, present: PresentState) -> None:
        self._present = present
        self._snapshots: tuple[Snapshot, Snapshot] | None = None

    def places(self, waiting: Waiting) -> MemberNodes:
        """The places of a group's members; one member stands for all of its class."""
        profile = self._present.profiles.get(waiting.pending[0].scheduler)
        if profile is None:
            return MemberNodes()
        if self._snapshots is None:
            self._snapshots = _snapshot(self._present, full=True), _snapshot(self._present)
        full, bare = (Trial(profile, snapshot) for snapshot in self._snapshots)
        try:
            now = frozenset(_feasible(full, waiting.pending))
            empty = frozenset(_feasible(bare, waiting.pending))
            return MemberNodes(now, empty, *_others(full, waiting.pending[0], now))
        except EnblocError:  # a plugin failed: the group's status says so
            return MemberNodes()


def _feasible(trial: Trial, pods: Sequence[Pod]) -> Iterable[str]:
    names = trial.snapshot.nodes.names
    asked = dict(zip(trial.keys(pods), pods, strict=True))
    for key, pod in islice(asked.items(), _MOST_CLASSES):
        ranking = trial.filter_of(pod, key)
        if ranking.refused is None:
            yield from (names[row] for row in ranking.mask.nonzero()[0].tolist())


def _others(
    trial: Trial, pod: Pod, now: frozenset[str]
) -> tuple[Mapping[str, Lack], Sequence[tuple[str, int]]]:
    """What nodes lack that would take the pod without requests; and why the rest refuse it.

    Args:
        trial: with the pods on the nodes.
        pod: of the group.
        now: the nodes with room for a member.
    """
    nodes = trial.snapshot.nodes
    names = [name for name, _ in pod.spec.requests]
    short = [amount - nodes.free(name) for name, amount in pod.spec.requests]
    others = ~nodes.named(tuple(now))
    modest = trial.filter_of(replace(pod, spec=replace(pod.spec, requests=())))
    lacking = others & np.any([each > 0 for each in short], axis=0) & modest.mask
    rows: list[int] = lacking.nonzero()[0].tolist()
    lacks = {
        nodes.names[row]: tuple(
            (name, int(each[row])) for name, each in zip(names, short, strict=True) if each[row] > 0
        )
        for row in rows
    }
    left = others & ~lacking
    if not left.any():
        return lacks, ()
    found = trial.filter_of(pod).diagnosis(nodes, left)
    reasons = found.reasons or ((found.message, int(left.sum())),)
    return lacks, sorted(reasons, key=lambda reason: -reason[1])


def _snapshot(present: PresentState, *, full: bool = False) -> Snapshot:
    """The tables for plugins, with all placed pods (`full`) or only those that belong to a node."""
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
                    tables.apply(ClaimUserSeen(pod.uid, pod))
            case _:
                pass
    return Arrays(tables).snapshot({})
