# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Room: how many members of a deficit each domain could take, by sums.

It is an upper bound: what members of several kinds take from each other, and which members filters
keep apart, is left to the trial.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from enbloc.engine.packing import Need, Packing, packing_now, plain_requests
from enbloc.engine.topology.tree import DomainLevel, Numbers
from enbloc.engine.trial import MOST_SLOTS, ClassKey, Slots, Trial
from enbloc.framework.facts import GroupFacts
from enbloc.model.nodes import Mask


@dataclass(frozen=True, slots=True)
class RowCapacity:
    """What a deficit needs, and what each row of the node table could take of it.

    Attributes:
        needs: the floors; the first is the group's own, of all kinds.
        counts: how many members of each kind there are.
        places: int64[C, N], how many members of a kind alone a row could take.
        slots: int64[N], how many members of any kind each row could take.
        beyond: int64[N], the same if the number of members were unlimited.
        kept: `beyond` for identical members, with cached sums; None = the members differ.
    """

    needs: tuple[Need, ...]
    counts: tuple[int, ...]
    places: Numbers
    slots: Numbers
    beyond: Numbers
    kept: Slots | None = None

    @property
    def members(self) -> int:
        """The number of members needed in all."""
        return self.needs[0].members

    @property
    def alike(self) -> bool:
        """Whether all members are of one kind."""
        return len(self.counts) == 1

    def of_level(self, level: DomainLevel) -> "LevelRoom":
        """Return the room of the domains of a level."""
        if self.alike:
            slots = self.beyond_of(level) if self.kept is not None else level.sums(self.slots)
            return self._of(slots[None], slots)
        by_kind = np.array([level.sums(line) for line in self.places])
        return self._of(by_kind, level.sums(self.slots))

    def beyond_of(self, level: DomainLevel) -> Numbers:
        """Return int64[D]: the sum of `beyond` in each domain of a level."""
        if self.kept is not None:
            return self.kept.sums(level.bins, level.count)
        return level.sums(self.beyond)

    def everywhere(self) -> "LevelRoom":
        """Return the room of all rows as one domain."""
        return self._of(self.places.sum(axis=1, keepdims=True), self.slots.sum(keepdims=True))

    def _of(self, by_kind: Numbers, slots: Numbers) -> "LevelRoom":
        usable = np.minimum(by_kind, np.array(self.counts, np.int64)[:, None])
        enough = slots >= self.members
        for need in self.needs:
            enough &= usable[list(need.kinds)].sum(axis=0) >= need.members
        return LevelRoom(slots, np.minimum(usable.sum(axis=0), slots), enough)


@dataclass(frozen=True, slots=True)
class LevelRoom:
    """What the domains of a level could take.

    Attributes:
        slots: int64[D], members of any kind, if their number were unlimited.
        usable: int64[D], of the existing members.
        enough: bool[D], whether that may meet every floor.
    """

    slots: Numbers
    usable: Numbers
    enough: Mask


def room_now(
    facts: GroupFacts, kinds: Collection[ClassKey], trial: Trial, steps: int
) -> RowCapacity:
    """Return what a deficit needs, and what is free for it.

    Args:
        facts: the group as it is.
        kinds: the classes of its pending members, each once.
        trial: without them.
        steps: if the sums would cost more, the room is unlimited.
    """
    members, rows = max(1, facts.lacking), len(trial.snapshot.nodes)
    slots = _slots_of_alike(facts, kinds, trial)
    if slots is not None:
        count = len(facts.pending)
        usable = np.minimum(slots.values, count)
        return RowCapacity(
            (Need(members, (0,)),), (count,), usable[None], usable, slots.values, slots
        )
    packing = packing_now(facts, trial, steps)
    return boundless(members, rows) if packing is None else room_of(packing, rows)


def _slots_of_alike(facts: GroupFacts, kinds: Collection[ClassKey], trial: Trial) -> Slots | None:
    """Return the slots of the members' only class; None = several classes, or others matter."""
    if facts.roles or len(kinds) != 1:
        return None
    [key], pod = kinds, facts.pending[0]
    requests = None if key.host else plain_requests(pod, trial)
    return None if requests is None else trial.ranking(pod, key).slots(trial.nodes, requests)


def room_of(packing: Packing, rows: int) -> RowCapacity:
    """Return what a packing needs and finds, on a node table of so many rows."""
    places = _of_all(packing.places, packing, rows)
    slots = places.sum(axis=0)
    beyond = _beyond(packing, rows)
    if len(packing.kinds) > 1:
        slots = np.minimum(slots, beyond)
    # If a row takes fewer than its room and their number allow, something else limits it.
    limited = slots < np.minimum(beyond, sum(packing.counts))
    return RowCapacity(
        packing.needs, packing.counts, places, slots, np.where(limited, slots, beyond)
    )


def _beyond(packing: Packing, rows: int) -> Numbers:
    """Return int64[N]: the room if each member requested only the least that any of them does."""
    least = packing.requests.min(axis=0, initial=2**62)
    room = np.full(len(packing.rows), MOST_SLOTS, np.int64)
    for resource in np.flatnonzero((least > 0) & (least < 2**62)):
        np.minimum(room, packing.room[:, resource] // least[resource], out=room)
    return _of_all(room, packing, rows)


def _of_all(values: Numbers, packing: Packing, rows: int) -> Numbers:
    """Return int64[…, N]: the values of a packing's rows, 0 for all other rows."""
    if len(packing.rows) == rows:
        return values
    found = np.zeros((*values.shape[:-1], rows), np.int64)
    found[..., packing.rows] = values
    return found


def boundless(members: int, rows: int) -> RowCapacity:
    """Return room for all members on each row: the real room is unknown."""
    places = np.full((1, rows), members, np.int64)
    return RowCapacity((Need(members, (0,)),), (members,), places, places[0], places[0])


def fewest(members: int, sizes: Numbers, groups: Numbers, count: int) -> Numbers:
    """Return int64[G]: how many of the largest parts of each group hold so many members.

    Args:
        members: to be held.
        sizes: int64[P], what each part could hold.
        groups: int64[P], the group of each, below `count`; -1 = of none.
        count: G.

    Returns:
        If all parts together are too small: their number plus one.
    """
    order = np.lexsort((-sizes, groups))
    order = order[groups[order] >= 0]
    of, held = groups[order], np.cumsum(sizes[order])
    starts = np.searchsorted(of, np.arange(count))
    before = np.append(0, held)[starts]  # what the groups before it hold
    short = held - sizes[order] - before[of] < members  # too few without this part
    taken = np.bincount(of[short], minlength=count)
    totals = np.bincount(of, sizes[order], count).astype(np.int64)
    return np.where(totals < members, len(sizes) + 1, taken).astype(np.int64)


def largest_first(
    members: int,
    sizes: Numbers,
    near: Numbers,
    cost: Callable[[int], Sequence[Numbers]] = lambda _: (),
) -> Sequence[int]:
    """Return the fewest parts that hold the members: the largest, and last the best that suffices.

    Args:
        members: to be held.
        sizes: int64[P].
        near: int64[P], how many members each part already has; most go first.
        cost: of holding so many members, int64[P] each, the first counts most; then the size does.

    Returns:
        Their indices; all parts with room if that is not enough.
    """
    order = np.lexsort((-sizes, -near))
    order = order[sizes[order] > 0]
    held = np.cumsum(sizes[order])
    count = int(np.searchsorted(held, members)) + 1
    if count > len(order):
        return order.tolist()
    left = members - (int(held[count - 2]) if count > 1 else 0)
    rest = order[count - 1 :]
    will_do = rest[(sizes[rest] >= left) & (near[rest] == near[rest[0]])]
    if len(will_do) > 1:
        keys = [each[will_do] for each in (*cost(left), sizes)]
        will_do = will_do[np.lexsort(keys[::-1])]
    return [*order[: count - 1].tolist(), int(will_do[0])]
