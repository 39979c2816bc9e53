# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Open preemptions: those that are under way, and which of them something concerns.

Most of what happens concerns none of them, so a turn asks only those that are indexed by what
happened (semantics §9.1).
"""

from collections.abc import Collection, Iterator

from enbloc.engine.deadlines import Deadlines
from enbloc.engine.policies.preemptions.under_way import UnderWay
from enbloc.engine.turn import Turn
from enbloc.framework.facts import GroupFacts
from enbloc.model.grouped import Index
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodUID


class OpenPreemptions:
    """By preemptor, its preemption; each has reservations for its pending pods, unless planned."""

    def __init__(self) -> None:
        self._of: dict[GroupKey, UnderWay] = {}
        #: The number of each: those that began first are asked first.
        self._numbers: dict[GroupKey, int] = {}
        self._next = 0
        #: Preemptors, by victim, by group of victims, and by node.
        self._by_pod: Index[PodUID, GroupKey] = Index()
        self._by_group: Index[GroupKey, GroupKey] = Index()
        self._by_node: Index[str, GroupKey] = Index()
        #: When those end whose nodes are reserved for a while.
        self._ends: Deadlines[GroupKey] = Deadlines()
        #: Those to look at whatever happens.
        self._marked: dict[GroupKey, None] = {}

    def __contains__(self, key: GroupKey) -> bool:
        return key in self._of

    def __bool__(self) -> bool:
        return bool(self._of)

    def of(self, key: GroupKey) -> UnderWay | None:
        """Return the preemption of a group; None = it has none under way."""
        return self._of.get(key)

    def add(self, each: UnderWay) -> None:
        """Add a preemption; its victims and nodes stay as they are."""
        key = each.key
        self._of[key], self._numbers[key] = each, self._next
        self._next += 1
        for pod in each.pods:
            self._by_pod.add(pod.uid, key)
        for group in each.victims:
            self._by_group.add(group, key)
        for node in each.nodes.values():
            self._by_node.add(node, key)
        self._marked[key] = None
        self.timed(each)

    def drop(self, each: UnderWay) -> None:
        """Drop a preemption that is over."""
        key = each.key
        del self._of[key], self._numbers[key]
        for pod in each.pods:
            self._by_pod.drop(pod.uid, key)
        for group in each.victims:
            self._by_group.drop(group, key)
        for node in each.nodes.values():
            self._by_node.drop(node, key)
        self._marked.pop(key, None)
        self._ends.drop(key)

    def timed(self, each: UnderWay) -> None:
        """Record until when the nodes of a preemption are reserved."""
        self._ends.put(each.key, each.until)

    def limit(self, facts: GroupFacts, now: float) -> None:
        """Limit for how long nodes are reserved for a preemptor that lacks a quorum."""
        each = self._of.get(facts.key)
        if each is not None:
            each.limit(now, quorum=facts.quorum)
            self.timed(each)

    def mark(self, groups: Collection[GroupKey]) -> None:
        """Have those looked at that wait for members of some groups."""
        for group in groups:
            self._marked |= self._by_group.get(group, {})

    # ── queries ──────────────────────────────────────────────────────────────────────────────

    def others_count_on(self, uid: PodUID, but: UnderWay) -> bool:
        """Whether any other of them needs a pod gone."""
        waiting = (self._of[key] for key in self._by_pod.get(uid, ()) if key != but.key)
        return any(uid in each.counts_on for each in waiting)

    def refused(self, turn: Turn) -> None:
        """Pass refused evictions to those that wait for the pods."""
        for answer in turn.refused_evictions:
            for key in self._by_pod.get(answer.uid, ()):
                self._of[key].refused(answer)

    def concerned(self, turn: Turn, lost: Collection[str]) -> Iterator[UnderWay]:
        """Yield those that a turn concerns; they may end meanwhile, and others be marked.

        Args:
            turn: whose refused, hanging, leaving and released victims count, and its time.
            lost: nodes where it is unknown when their pods end.
        """
        for answer in turn.refused_evictions:
            self._marked |= self._by_pod.get(answer.uid, {})
        for pod in turn.hanging:
            self._marked |= self._by_pod.get(pod.uid, {})
        self.mark((*turn.leaving, *turn.released))
        for node in lost:
            self._marked |= self._by_node.get(node, {})
        self._marked |= dict.fromkeys(self._ends.due(turn.now))
        while self._marked:
            marked, self._marked = self._marked, {}
            for key in sorted(marked, key=self._numbers.__getitem__):
                each = self._of.get(key)
                if each is not None:
                    yield each

    def deadline(self) -> float:
        """Return when the next of them ends, engine clock; infinity = none by time."""
        return self._ends.first()
