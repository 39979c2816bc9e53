# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""SchedulingQueue: which group is tried next, and what the others wait for.

::

                  ┌──────── a change of its own, a hint (two or more members) ───────┐
                  ▼                                                                  │
    put ──► ACTIVE ──pop──► DECIDING  ──failed: who refused is known──► WAITING ─────┤
              ▲   └─empty?─┐    │  │                                      │ hint     │
              │            ▼    │  └──failed: an error──► BACKOFF ◄───────┘ (solo)   │
              └──ready_at──┼────┼──────────────────────────┘  └──────────────────────┘
                           └────┼── pop takes a solo that waits out its backoff early
                                ├──held──► BACKOFF, until its time or a call
                                └──placed──► PLANNED, until the plan is closed
    no quorum, InvalidSpec            ──► GATED, until a change of its own
    refused at PreEnqueue by a plugin ──► GATED, until an event that the plugin named
    nothing pending                   ──► IDLE

What happens while a group is being decided or its plan is open is remembered, and looked at when
it fails: an event that came too early is not lost.

After an attempt that failed, equals of other namespaces and owners have their turn (`Rotation`).
One that would be placed out of turn first lets those go that are ordered before it (`call_up`).
"""

import heapq
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import Any, Final

from enbloc.engine import tally as counted
from enbloc.engine.batch import Batch
from enbloc.engine.queue.item import Backoff, Item, Place
from enbloc.engine.queue.listeners import Hints, Listeners, Refused, concerned
from enbloc.engine.queue.rotation import MOST_IN_VAIN, Entry, History, Rotation, Subqueue
from enbloc.framework.hints import Happening
from enbloc.model.groups import GroupKey

#: So often in a row a hint brings a group out of its pause at once.
_MOST_HINTED: Final = 3

#: So many timers end in one turn.
MOST_DUE: Final = 256

#: So many groups that wait for their turn, or in a pause, are tried before one that is ordered
#: after them is placed; fewer if attempts cost much, which count for more than one.
MOST_CALLED: Final = 64
#: An attempt counts once, and once more for so many steps of search, about 3 ms.
STEPS_OF_ONE: Final = 625
#: And so many are passed over.
MOST_PASSED: Final = 256
#: So many in all, however many of them are placed: those that come and go are never at an end.
MOST_LET_BY: Final = 256

#: So many events are remembered for who is being decided.
MOST_REMEMBERED: Final = 1024


class SchedulingQueue:
    """Active by key, backing off by time, waiting for an event.

    Args:
        backoff: pauses after failed attempts.
        longest_wait: seconds after which a waiting group is tried even without an event.
        tally: where pods are counted that come to a queue; None = nobody asks.
    """

    def __init__(
        self, backoff: Backoff, longest_wait: float, tally: counted.Tally | None = None
    ) -> None:
        self._tally = tally or counted.Tally()
        self._backoff = backoff
        self._longest_wait = longest_wait
        #: Every group that is known, in the order in which they came.
        self._items: dict[GroupKey, Item] = {}
        #: Who failed, and when last; all lists but those that are set aside share it.
        self._history = History()
        #: Those that are ACTIVE, unless they were called up or set aside.
        self._active = Rotation(self._history)
        #: Those in BACKOFF that are tried once nobody is active; no error keeps them.
        self._early = Rotation(self._history)
        #: Those in BACKOFF that are held, and may be called up.
        self._held = Rotation(self._history)
        #: Those that are ACTIVE in namespaces that are stalled, by namespace; no list is empty, and
        #: in none do they take turns.
        self._aside: dict[str, Rotation] = {}
        #: A heap of those that go before all others; stale entries are skipped when met.
        self._called_up: list[Entry] = []
        #: A heap of when the items in BACKOFF and WAITING are due; with stale entries as well.
        self._timers: list[Entry] = []
        self._listeners = Listeners()
        #: What happened since the oldest of `_deciding` was popped, at most MOST_REMEMBERED; and
        #: how many events there have been before the first of them.
        self._events: deque[Happening] = deque()
        self._first_event = 0
        #: Those that were popped, or planned, and not yet decided; in the order of `first_unseen`.
        self._deciding: dict[GroupKey, None] = {}
        #: How many were called up since a group was placed, what those cost that were in vain, and
        #: which kinds of pods were among them since anything happened.
        self._called = self._in_vain = 0
        self._called_kinds: set[object] = set()
        #: The number of the latest move; each item has that of its own.
        self._tickets = 0

    def item(self, key: GroupKey, *, solo: bool, attempts: int = 0) -> Item:
        """The item of a group, made when new, after so many attempts."""
        item = self._items.get(key)
        if item is None:
            item = self._items[key] = Item(key, solo, attempts)
        return item

    def get(self, key: GroupKey) -> Item | None:
        """The item of a group, if it has one."""
        return self._items.get(key)

    def drop(self, key: GroupKey) -> None:
        """Forget a group."""
        item = self._items.pop(key, None)
        if item is not None:
            self._move(item, Place.IDLE)
            self.decided(item)

    def _move(self, item: Item, place: Place) -> None:
        """The item is in another list from here on, or at another place of the same."""
        self._tickets += 1
        if item.listed is not None:
            rotation, entry = item.listed
            rotation.remove(entry)
            item.listed = None
        # Entries of the heaps with an older ticket are stale and are skipped when met.
        item.ticket = self._tickets
        self._listeners.leave(item)
        item.gate, item.place = "", place
        item.held = item.held and place is Place.BACKOFF

    def _list(self, item: Item, rotation: Rotation) -> None:
        entry = _entry(item)
        item.listed = rotation, entry
        rotation.push(entry)

    def park(self, item: Item, place: Place, gate: str = "") -> None:
        """No attempt at this group until something of its own changes.

        Args:
            item: the group.
            place: why.
            gate: the plugin that refused it at PreEnqueue; its events count as well.
        """
        assert place.parked, place
        self._move(item, place)
        item.called = False
        if gate:
            item.gate = gate
            self._listeners.enter(item)

    def activate(self, item: Item, event: str = "") -> None:
        """Try this group as soon as its turn comes, by its sort key.

        Args:
            item: the group.
            event: what brought it here, for the metrics; "" = it was here before.
        """
        if event:
            self._count(counted.ACTIVE, event, item)
        self._move(item, Place.ACTIVE)
        self._list(item, self._active)

    def _count(self, queue: str, event: str, item: Item) -> None:
        self._tally.incoming[queue, event] += item.pods

    def rank(self, item: Item, sort_key: tuple[Any, ...], subqueue: Subqueue | None) -> None:
        """Give a group its position in the order, and move it there if that is another one.

        Args:
            item: the group.
            sort_key: that of its profile's QueueSort.
            subqueue: those with which it is tried strictly in order; None = as before.
        """
        before = item.sort_key, item.subqueue
        item.sort_key, item.subqueue = sort_key, subqueue or item.subqueue
        if (item.sort_key, item.subqueue) == before:
            return
        if item.place is Place.ACTIVE:
            self.activate(item)
        elif item.place is Place.BACKOFF:
            self.back_off(item)

    def back_off(self, item: Item) -> None:
        """Try this group again once its pause is over, or sooner if nothing else is to be done.

        Only time ends the pause after an error.
        """
        self._move(item, Place.BACKOFF)
        heapq.heappush(self._timers, Entry((item.ready_at,), item.ticket, item.key))
        if not item.errors:
            self._list(item, self._held if item.held else self._early)

    def hold(self, item: Item, until: float, *, error: bool) -> None:
        """No attempt before a time, though there may be capacity for the group.

        Args:
            item: the group.
            until: engine clock.
            error: as after any error, only time ends this. Else the group is called up before one
                that is ordered later is placed.
        """
        self.decided(item)
        item.errors = max(item.errors, 1) if error else 0
        if item.place is Place.BACKOFF and item.held and item.ready_at == until:
            return
        item.ready_at, item.called = until, False
        self._move(item, Place.BACKOFF)
        item.held = True
        self._count(counted.BACKOFF, counted.HELD_BACK, item)
        self.back_off(item)

    # ── an attempt ───────────────────────────────────────────────────────────────────────────

    def pop(self) -> Item | None:
        """The active group whose turn it is; it is in no queue until it is decided.

        Without any, a group that was hinted at and only waits out its pause.
        """
        entry = self._next_called_up() if self._called_up else None
        if entry is not None:
            heapq.heappop(self._called_up)
        else:
            entry = self._active.pop() or self._early.pop()
        if entry is None:
            self._history.in_vain = 0
            return None
        item = self._items[entry.group]
        if item.listed is not None and item.listed[1] is entry:
            item.listed = None
        if item.place is Place.BACKOFF:
            self._count(counted.ACTIVE, counted.TAKEN_EARLY, item)
        self._move(item, Place.DECIDING)
        self._deciding.pop(item.key, None)  # it goes to the end
        item.first_unseen = self._first_event + len(self._events)
        self._deciding[item.key] = None
        return item

    def _next_called_up(self) -> Entry | None:
        """Who was called up goes before all others, but not before those of a higher level.

        Unless many of these were tried in vain.
        """
        if self._in_vain >= MOST_CALLED:
            self._let_go(callers=False)
        called = self._first_of(self._called_up)
        if called is None or self._history.in_vain >= MOST_IN_VAIN:
            return called
        entry, level = self._active.first(), called.subqueue.level
        other = entry is not None and (level is None or entry.subqueue.level != level)
        return None if other and entry is not None and entry.key < called.key else called

    def decided(self, item: Item) -> None:
        """Nothing more can come of the attempt; the events since it began are forgotten."""
        item.first_unseen = None
        self._deciding.pop(item.key, None)
        first = next(iter(self._deciding), None)  # they are in the order of `first_unseen`
        oldest = self._items[first].first_unseen if first is not None else None
        end = self._first_event + len(self._events)
        while self._first_event < (end if oldest is None else oldest):
            self._events.popleft()
            self._first_event += 1

    def _helpers(self, item: Item, hints: Hints) -> frozenset[str]:
        """The plugins that refused a group and could be helped by what happened meanwhile."""
        if item.first_unseen is None or item.profile is None:
            return frozenset()
        first = item.first_unseen - self._first_event
        if first < 0:  # more happened than is remembered
            return item.rejectors
        missed = Batch(list(islice(self._events, first, None)))
        group, hint = concerned(item), hints(item)
        return frozenset(
            name for name in item.rejectors if missed.helps(group, item.profile, name, hint)
        )

    def failed(
        self,
        item: Item,
        now: float,
        rejectors: Iterable[str],
        pending: Iterable[str],
        hints: Hints,
        *,
        infeasible: bool = False,
        steps: int = 0,
    ) -> None:
        """An attempt failed: wait for an event of a rejector, or after an error for the time.

        An event that came while it was being decided counts. Its equals have their turn, and once
        attempts that cost this many steps were in vain, those who wait for them.

        Source: kube-scheduler v1.36 pkg/scheduler/backend/queue/scheduling_queue.go
        AddUnschedulableIfNotPresent.
        """
        cost = 1 + steps // STEPS_OF_ONE
        if item.called:
            self._in_vain += cost
        self.park(item, Place.DECIDING)
        item.let_by, item.deferred = 0, False
        self._end_turn(item, cost)
        item.infeasible = infeasible
        item.rejectors, item.pending = frozenset(rejectors), frozenset(pending)
        if item.rejectors:
            item.unschedulable += 1
            item.errors = 0
        else:
            item.errors += 1
        item.ready_at = self._backoff.ends(now, item.errors or item.unschedulable)
        helpers = self._helpers(item, hints)
        self.decided(item)
        if not item.rejectors:
            self._count(counted.BACKOFF, counted.ATTEMPT_FAILED, item)
            self.back_off(item)
        elif helpers:
            self._requeue(item, now, helpers, counted.ATTEMPT_FAILED, patient=True)
        else:
            self._wait(item, now)

    def hurried(self, item: Item) -> bool:
        """Whether a long search for a group that was popped should wait: others are new."""
        return not (item.called or item.deferred) and self._active.anew

    def defer(self, item: Item) -> None:
        """A group must be searched for, which takes long: its equals have their turn first."""
        self.decided(item)
        item.deferred = True
        self._end_turn(item, 1)
        self.activate(item)

    def set_aside(self, item: Item) -> None:
        """A group that was popped is not to be tried until its namespace is resumed."""
        self.decided(item)
        item.called = False
        self._move(item, Place.ACTIVE)
        self._list(item, self._aside.setdefault(item.key.namespace, Rotation(History())))

    def resume(self, stalled: Collection[str]) -> None:
        """Try again the first that was set aside of each namespace but these."""
        for namespace in [each for each in self._aside if each not in stalled]:
            entry = self._aside[namespace].first()
            if entry is not None:
                self.activate(self._items[entry.group])
            if not self._aside[namespace]:
                del self._aside[namespace]

    def beside(self, namespaces: Collection[str]) -> bool:
        """Whether a group of another namespace than these can be tried."""
        called = (entry.group.namespace for entry in self._called_up if self._stands(entry))
        return (
            self._active.beside(namespaces)
            or self._early.beside(namespaces)
            or any(name not in namespaces for name in (*self._aside, *called))
        )

    def _end_turn(self, item: Item, cost: int) -> None:
        self._history.failed(item.subqueue, cost)
        self._active.failed(item.subqueue)
        self._early.failed(item.subqueue)

    def rest(self, item: Item, now: float) -> None:
        """No attempt is worth it: a group that was popped waits for the next event instead."""
        self.decided(item)
        item.called = False
        self._wait(item, now)

    def listen(self, item: Item, plugins: frozenset[str], opened: int) -> None:
        """Let the events that these plugins named reach a group, as if they had refused it now."""
        item.counted = opened
        item.rejectors |= plugins
        self._listeners.enter(item)

    def _wait(self, item: Item, now: float) -> None:
        item.place = Place.WAITING
        self._count(counted.UNSCHEDULABLE, counted.ATTEMPT_FAILED, item)
        self._listeners.enter(item)
        # As upstream, nobody is forgotten even if a hint was wrong.
        latest = (now + self._longest_wait,)
        heapq.heappush(self._timers, Entry(latest, item.ticket, item.key))

    def call_up(
        self, item: Item, lacked: Callable[[Item], bool], alike: Callable[[Item], object]
    ) -> bool:
        """Let those go first that are ordered before a group, though it is not their turn.

        Neither a pause nor the rotation inverts the order (semantics §2.7 and §9.7). Of those in a
        pause only who lacked capacity, and may find it now, is called: what a plugin refused for
        another reason waits its time. Of alike pods the first is, since the others would be
        refused as it is.

        Args:
            item: a group that could be placed; it is tried again after those who are called.
            lacked: whether a group was refused for lack of capacity.
            alike: equal for groups of which one is refused where another one is; None = no other.

        Returns:
            Whether anybody was called.
        """
        called: list[Item] = []
        passed = 0
        sources = [each for each in (self._early, self._active, self._held) if each]
        for entry in merge(*sources) if sources else ():
            room = max(self._called, self._in_vain) < MOST_CALLED and item.let_by < MOST_LET_BY
            if not room or passed >= MOST_PASSED or not entry.key < item.sort_key:
                break
            other = self._items[entry.group]
            kind = alike(other)
            early = other.place is Place.BACKOFF and not other.held
            if (early and not lacked(other)) or (kind is not None and kind in self._called_kinds):
                passed += 1
                continue
            self._called += 1
            item.let_by += 1
            self._called_kinds.add(kind)
            called.append(other)
        if called:
            self.decided(item)
            for each in (*called, item):
                self._move(each, Place.ACTIVE)
                each.called = each is not item
                self._count(counted.ACTIVE, counted.CALLED_UP, each)
                heapq.heappush(self._called_up, _entry(each))
        return bool(called)

    def placed(self, item: Item) -> None:
        """An attempt placed the group; whether that is a success, its Bindings will tell."""
        self._called = self._in_vain = item.let_by = 0
        item.deferred = False
        self._called_kinds.clear()
        self._let_go(callers=True)  # there is another amount of capacity
        self.park(item, Place.PLANNED)
        item.rejectors = item.pending = frozenset()

    def _let_go(self, *, callers: bool) -> None:
        """Nobody is called up any more.

        Args:
            callers: who called others up waits for the usual turn as well; else it goes first.
        """
        called, self._called_up = self._called_up, []
        for entry in called:
            if self._stands(entry):
                item = self._items[entry.group]
                if item.called or callers:
                    item.called = False
                    self._list(item, self._active)
                else:
                    heapq.heappush(self._called_up, entry)

    def succeeded(self, item: Item) -> None:
        """A plan was carried out: the pause after the next failure is a short one again."""
        item.unschedulable = item.errors = item.hinted = 0
        item.queued = None

    # ── events ───────────────────────────────────────────────────────────────────────────────

    def hear(self, happened: Sequence[Happening]) -> None:
        """Take note of what happened; `wake` asks whom it could help."""
        self._listeners.hear(happened)
        if self._deciding:
            self._events.extend(happened)
            while len(self._events) > MOST_REMEMBERED:
                self._events.popleft()
                self._first_event += 1

    @property
    def behind(self) -> bool:
        """Whether a look at all groups that wait is under way."""
        return self._listeners.behind

    def wake(self, now: float, refused: Refused, hints: Hints) -> list[GroupKey]:
        """Re-queue the waiting groups that what happened could help, as far as one turn goes.

        Args:
            now: the engine's clock.
            refused: whether a group would be refused as things are.
            hints: the finer answers, asked for each waiting group whose plugin named such events.

        Returns:
            Groups kept out at PreEnqueue that should be looked at again.
        """
        if self._listeners.begin(self._items):
            self._called_kinds.clear()
        again: list[GroupKey] = []
        for item, name, event, gated in self._listeners.helped(refused, hints):
            if gated:
                again.append(item.key)
            else:
                self._requeue(item, now, {name}, event)
        return again

    def _requeue(
        self, item: Item, now: float, helpers: Iterable[str], event: str, *, patient: bool = False
    ) -> None:
        """A group of two or more is tried at once; a group of one waits out its backoff.

        So does everyone after an event that came during the attempt (`patient`): who holds capacity
        at Permit while events keep coming would else take it again before others had a turn. And
        so does a group that was hinted at often and failed each time, or a stream of events could
        keep a few large gangs busy for ever. Nobody waits where the plugin that can be helped was
        waiting for somebody outside, or where nothing else is to be done.
        """
        if item.ready_at <= now:
            item.hinted = 0
        waits = item.ready_at > now and (item.solo or patient or item.hinted >= _MOST_HINTED)
        if waits and not item.pending.intersection(helpers):
            self._count(counted.BACKOFF, event, item)
            self.back_off(item)
        else:
            item.hinted += 1
            self.activate(item, event)

    # ── time ─────────────────────────────────────────────────────────────────────────────────

    def due(self, now: float) -> list[Item]:
        """Take items whose time has come out of the timers, as many as one turn has time for."""
        due: list[Item] = []
        while len(due) < MOST_DUE and self._timers and self._timers[0].key[0] <= now:
            item = self._item_of(heapq.heappop(self._timers))
            if item is not None:
                due.append(item)
        return due

    def wakeup(self) -> float | None:
        """When the next timer is due; 0 when a group can be tried; None when there is neither."""
        if self._first_of(self._called_up) or self._active or self._early or self._aside:
            return 0.0
        return self.next_timer()

    def next_timer(self) -> float | None:
        """When the next timer is due, 0 while there are groups to look at; None = neither."""
        if self._listeners.news:
            return 0.0
        first = self._first_of(self._timers)
        return first.key[0] if first is not None else None

    def _first_of(self, heap: list[Entry]) -> Entry | None:
        """The first entry of a heap, once those are gone that are stale."""
        while heap and not self._stands(heap[0]):
            heapq.heappop(heap)
        return heap[0] if heap else None

    def _stands(self, entry: Entry) -> bool:
        """Whether a heap's entry is not stale."""
        item = self._items.get(entry.group)
        return item is not None and item.ticket == entry.ticket

    def _item_of(self, entry: Entry) -> Item | None:
        """The item of a heap's entry; None when the entry is stale."""
        return self._items[entry.group] if self._stands(entry) else None

    def __iter__(self) -> Iterator[Item]:
        """Every group's item."""
        return iter(self._items.values())


def _entry(item: Item) -> Entry:
    return Entry(item.sort_key, item.ticket, item.key, item.subqueue)
