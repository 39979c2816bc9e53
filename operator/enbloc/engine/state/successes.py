# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Successes: what succeeded members of one run count for (semantics §2.2)."""

from bisect import bisect_right
from collections import Counter
from operator import itemgetter

from enbloc.model.pods import Pod


class Successes:
    """What succeeded members count for, deleted ones too; none is taken back.

    Attributes:
        roles: the number of each role; "" = without one.
        requests: what they requested, by resource.
        ranks: their ranks, as ascending ranges `(first, end)` that do not touch: mostly one.
        priority: the lowest of them; None = there are none.
        recorded: one has a binding record.
        earliest: server time at which the first of them was bound; None = there are none.
        latest: the same of the last.
    """

    def __init__(self) -> None:
        self.roles: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()
        self.ranks: list[tuple[int, int]] = []
        self.priority: int | None = None
        self.recorded = False
        self.earliest: float | None = None
        self.latest: float | None = None

    def add(self, pod: Pod) -> None:
        """Record one more succeeded member."""
        self.roles[pod.role] += 1
        self.requests.update(dict(pod.spec.requests))
        if pod.rank is not None:
            self._take(pod.rank)
        self.priority = pod.priority if self.priority is None else min(self.priority, pod.priority)
        self.recorded |= bool(pod.binding_record)
        bound = pod.bound_at
        self.earliest = bound if self.earliest is None else min(self.earliest, bound)
        self.latest = bound if self.latest is None else max(self.latest, bound)

    def _take(self, rank: int) -> None:
        """Add a rank to the ranges, and unite those that touch now."""
        ranks, first, end = self.ranks, rank, rank + 1
        at = bisect_right(ranks, rank, key=itemgetter(0))
        if at and ranks[at - 1][1] >= rank:
            at -= 1
            first, before = ranks.pop(at)
            end = max(before, end)
        if at < len(ranks) and ranks[at][0] == end:
            _, end = ranks.pop(at)
        ranks.insert(at, (first, end))
