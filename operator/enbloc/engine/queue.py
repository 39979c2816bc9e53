# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""SchedulingQueue: which group is tried next, and what the others wait for.

::

                  ┌──────── a change of its own, a hint (two or more members) ───────┐
                  ▼                                                                  │
    put ──► ACTIVE ──pop──► (decided) ──failed: who refused is known──► WAITING ─────┤
              ▲                 │  │                                      │ hint     │
              │                 │  └──failed: an error──► BACKOFF ◄───────┘ (solo)   │
              └──ready_at───────┼──────────────────────────┘  └─────────────────────-┘
                                └──placed──► PARKED, until the plan is closed
    no quorum, InvalidSpec, nothing pending ──► PARKED, until a change of its own
"""

import enum
import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from enbloc.framework.hints import Happening
from enbloc.framework.profile import Profile
from enbloc.model.groups import GroupKey


class Place(enum.Enum):
    """Where an item is; each is in exactly one place."""

    PARKED = "parked"
    ACTIVE = "active"
    BACKOFF = "backoff"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds before a failed group may be tried again: initial × 2^(n − 1), at most maximum.

    Source: kube-scheduler (framework.md §4.2).
    """

    initial: float = 1.0
    maximum: float = 10.0

    def after(self, failures: int) -> float:
        """The pause after so many failures in a row; 0 after none."""
        if failures <= 0:
            return 0.0
        # 2^31 seconds is past any maximum; the bound keeps the float finite.
        return min(self.maximum, self.initial * 2.0 ** min(failures - 1, 31))


@dataclass(slots=True)
class Item:
    """One group in the queue.

    Attributes:
        unschedulable, errors: failures in a row of each kind.
        ready_at: no attempt before, unless a hint says so; engine clock.
        sort_key: its place in the order; smaller goes first.
        profile: the profile that decides about it.
        rejectors: the plugins that refused the last attempt.
        fingerprint: what the group looked like at the last attempt; a difference re-queues it.
    """

    key: GroupKey
    solo: bool
    place: Place = Place.PARKED
    attempts: int = 0
    unschedulable: int = 0
    errors: int = 0
    last_attempt: float | None = None
    ready_at: float = 0.0
    sort_key: tuple[Any, ...] = ()
    profile: Profile | None = None
    rejectors: frozenset[str] = field(default_factory=frozenset)
    fingerprint: object = None
    ticket: int = 0


class SchedulingQueue:
    """Active by key, backing off by time, waiting for an event."""

    def __init__(self, backoff: Backoff, longest_wait: float) -> None:
        self._backoff = backoff
        self._longest_wait = longest_wait
        self._items: dict[GroupKey, Item] = {}
        self._active: list[tuple[tuple[Any, ...], int, GroupKey]] = []
        self._timers: list[tuple[float, int, GroupKey]] = []
        self._waiting: dict[GroupKey, None] = {}
        self._tickets = 0

    def item(self, key: GroupKey, *, solo: bool) -> Item:
        """The item of a group, made when new."""
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = Item(key, solo)
        return item

    def get(self, key: GroupKey) -> Item | None:
        """The item of a group, if it has one."""
        return self._items.get(key)

    def drop(self, key: GroupKey) -> None:
        """Forget a group."""
        item = self._items.pop(key, None)
        if item is not None:
            self._move(item, Place.PARKED)

    def _move(self, item: Item, place: Place) -> None:
        self._tickets += 1
        # Entries of the heaps with an older ticket are stale and are skipped when met.
        item.ticket = self._tickets
        item.place = place
        if place is Place.WAITING:
            self._waiting[item.key] = None
        else:
            self._waiting.pop(item.key, None)

    def park(self, item: Item) -> None:
        """Nothing to decide about this group until something of its own changes."""
        self._move(item, Place.PARKED)

    def activate(self, item: Item) -> None:
        """Try this group as soon as its turn comes, by its sort key."""
        self._move(item, Place.ACTIVE)
        heapq.heappush(self._active, (item.sort_key, item.ticket, item.key))

    def back_off(self, item: Item) -> None:
        """Try this group again once its pause is over."""
        self._move(item, Place.BACKOFF)
        heapq.heappush(self._timers, (item.ready_at, item.ticket, item.key))

    def failed(self, item: Item, now: float, rejectors: Iterable[str]) -> None:
        """An attempt failed: wait for an event of a rejector, or after an error for the time."""
        item.rejectors = frozenset(rejectors)
        if item.rejectors:
            item.unschedulable += 1
            item.errors = 0
        else:
            item.errors += 1
        item.ready_at = now + self._backoff.after(item.errors or item.unschedulable)
        if not item.rejectors:
            self.back_off(item)
            return
        self._move(item, Place.WAITING)
        # As upstream, nobody is forgotten even if a hint was wrong.
        heapq.heappush(self._timers, (now + self._longest_wait, item.ticket, item.key))

    def placed(self, item: Item) -> None:
        """An attempt placed the group; whether that is a success, its Bindings will tell."""
        item.rejectors = frozenset()
        self.park(item)

    def succeeded(self, item: Item) -> None:
        """A plan was carried out: the pause after the next failure is a short one again."""
        item.unschedulable = item.errors = 0

    def wake(
        self,
        happening: Happening,
        now: float,
        wants: Callable[[Item, Happening], bool],
    ) -> None:
        """Re-queue the waiting groups that this could help.

        A group of two or more is tried at once; a group of one waits out its backoff, as upstream.
        """
        for key in list(self._waiting):
            item = self._items[key]
            if not wants(item, happening):
                continue
            if item.solo and item.ready_at > now:
                self.back_off(item)
            else:
                self.activate(item)

    def due(self, now: float) -> list[Item]:
        """Take the items whose time has come out of the timers."""
        due: list[Item] = []
        while self._timers and self._timers[0][0] <= now:
            entry = heapq.heappop(self._timers)
            if not self._stale(entry):
                due.append(self._items[entry[2]])
        return due

    def pop(self) -> Item | None:
        """The active group with the smallest key; it is parked until it is decided."""
        while self._active:
            entry = heapq.heappop(self._active)
            if not self._stale(entry):
                item = self._items[entry[2]]
                self.park(item)
                return item
        return None

    def wakeup(self) -> float | None:
        """When the next timer is due; 0 when a group is active; None when there is neither."""
        while self._active and self._stale(self._active[0]):
            heapq.heappop(self._active)
        if self._active:
            return 0.0
        while self._timers and self._stale(self._timers[0]):
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def _stale(self, entry: tuple[Any, int, GroupKey]) -> bool:
        item = self._items.get(entry[2])
        return item is None or item.ticket != entry[1]

    def counts(self) -> dict[Place, int]:
        """How many groups are in each place."""
        counts = dict.fromkeys(Place, 0)
        for item in self._items.values():
            counts[item.place] += 1
        return counts
