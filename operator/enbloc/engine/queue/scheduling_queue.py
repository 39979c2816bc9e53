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

Events while a group is being decided or its plan is open are remembered, and checked if it fails:
an event that came too early is not lost.

After a failed attempt, equals of other namespaces and owners have their turn (`Rotation`). A group
that would be placed out of turn first lets groups earlier in the order go (`call_up`).
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import Any, Final

from enbloc.engine import tally as counted
from enbloc.engine.batch import Batch
from enbloc.engine.deadlines import Deadlines
from enbloc.engine.queue.item import Backoff, Item, QueuePlace
from enbloc.engine.queue.listeners import Hints, Listeners, Refused, concerned
from enbloc.engine.queue.rotation import (
    MOST_IN_VAIN,
    STRICT,
    FailureHistory,
    QueueEntry,
    Rotation,
    Subqueue,
)
from enbloc.framework.hints import Happening
from enbloc.model.groups import GroupKey

#: The most times in a row that a hint ends a group's pause at once.
_MOST_HINTED: Final = 3

#: The most timers that one turn processes.
MOST_DUE: Final = 256

#: The most groups, waiting for their turn or in a pause, that are tried before one later in the
#: order is placed; expensive attempts count more than once.
MOST_CALLED: Final = 64
#: An attempt counts once, and once more for each multiple of these steps of search, about 3 ms.
STEPS_OF_ONE: Final = 625
#: The most groups that are passed over.
MOST_PASSED: Final = 256
#: The most in all, however many of them are placed: pods that come and go never end.
MOST_LET_BY: Final = 256

#: The most events that are remembered for groups that are being decided.
MOST_REMEMBERED: Final = 1024


class SchedulingQueue:
    """Groups that are active (by key), backing off (by time), or waiting for an event.

    Args:
        backoff: pauses after failed attempts.
        longest_wait: seconds after which a waiting group is tried even without an event.
        tally: counts pods that come to a queue; None = not counted.
    """

    def __init__(
        self, backoff: Backoff, longest_wait: float, tally: counted.Tally | None = None
    ) -> None:
        self._tally = tally or counted.Tally()
        self._backoff = backoff
        self._longest_wait = longest_wait
        #: Every known group, in the order of arrival.
        self._items: dict[GroupKey, Item] = {}
        #: Which namespaces and owners failed, and when last; all lists share it, but those set
        #: aside.
        self._history = FailureHistory()
        #: ACTIVE groups that were not called up or set aside.
        self._active = Rotation(self._history)
        #: Groups in BACKOFF that are tried once no group is active; not those held by an error.
        self._early = Rotation(self._history)
        #: Groups in BACKOFF that are held, and may be called up.
        self._held = Rotation(self._history)
        #: ACTIVE groups in stalled namespaces, by namespace; no list is empty, and none takes
        #: turns.
        self._aside: dict[str, Rotation] = {}
        #: The groups that go before all others, strictly in order.
        self._called_up = Rotation(FailureHistory())
        #: When items in BACKOFF and WAITING are due.
        self._timers: Deadlines[GroupKey] = Deadlines()
        self._listeners = Listeners()
        #: Events since the oldest of `_deciding` was popped, at most MOST_REMEMBERED; and the
        #: number of events before the first of them.
        self._events: deque[Happening] = deque()
        self._first_event = 0
        #: Popped or planned groups that are not yet decided, in the order of `first_unseen`.
        self._deciding: dict[GroupKey, None] = {}
        #: How many groups were called up since one was placed, what those in vain cost, and which
        #: kinds of pods were among them since the last event.
        self._called = self._in_vain = 0
        self._called_kinds: set[object] = set()
        #: The number of the latest move; each item keeps that of its own.
        self._tickets = 0

    def item(
        self, key: GroupKey, *, solo: bool, attempts: int = 0, last_attempt: float | None = None
    ) -> Item:
        """Return the item of a group; create it, with these attempts of the past, if new."""
        item = self._items.get(key)
        if item is None:
            item = Item(key, solo, attempts, last_attempt=last_attempt)
            self._items[key] = item
        return item

    def get(self, key: GroupKey) -> Item | None:
        """Return the item of a group, if it has one."""
        return self._items.get(key)

    def drop(self, key: GroupKey) -> None:
        """Forget a group."""
        item = self._items.pop(key, None)
        if item is not None:
            self._move(item, QueuePlace.IDLE)
            self.decided(item)

    def _move(self, item: Item, place: QueuePlace) -> None:
        """Move an item to another list, or to another place in the same list."""
        self._tickets += 1
        if item.listed is not None:
            rotation, entry = item.listed
            rotation.remove(entry)
            item.listed = None
        item.ticket = self._tickets
        self._timers.drop(item.key)
        self._listeners.leave(item)
        item.gate, item.place = "", place
        item.held = item.held and place is QueuePlace.BACKOFF

    def _list(self, item: Item, rotation: Rotation, among: Subqueue | None = None) -> None:
        entry = QueueEntry(item.sort_key, item.ticket, item.key, among or item.subqueue)
        item.listed = rotation, entry
        rotation.push(entry)

    def park(self, item: Item, place: QueuePlace, gate: str = "") -> None:
        """Try this group only after something of its own changes.

        Args:
            item: the group.
            place: the reason.
            gate: the plugin that refused it at PreEnqueue; its events count too.
        """
        assert place.parked, place
        self._move(item, place)
        item.called = False
        if gate:
            item.gate = gate
            self._listeners.enter(item)

    def activate(self, item: Item, event: str = "") -> None:
        """Try this group when its turn comes, by its sort key.

        Args:
            item: the group.
            event: what brought it here, for the metrics; "" = it was here already.
        """
        if event:
            self._count(counted.ACTIVE, event, item)
        self._move(item, QueuePlace.ACTIVE)
        self._list(item, self._active)

    def _count(self, queue: str, event: str, item: Item) -> None:
        self._tally.incoming[queue, event] += item.pods

    def rank(self, item: Item, sort_key: tuple[Any, ...], subqueue: Subqueue | None) -> None:
        """Set a group's position in the order, and move it there if it has changed.

        Args:
            item: the group.
            sort_key: from its profile's QueueSort.
            subqueue: the groups with which it is tried strictly in order; None = as before.
        """
        before = item.sort_key, item.subqueue
        item.sort_key, item.subqueue = sort_key, subqueue or item.subqueue
        if (item.sort_key, item.subqueue) == before:
            return
        if item.place is QueuePlace.ACTIVE:
            self.activate(item)
        elif item.place is QueuePlace.BACKOFF:
            self.back_off(item)

    def back_off(self, item: Item) -> None:
        """Try this group again once its pause is over, or sooner if the queue is otherwise idle.

        Only time ends the pause after an error.
        """
        self._move(item, QueuePlace.BACKOFF)
        self._timers.put(item.key, item.ready_at)
        if not item.errors:
            self._list(item, self._held if item.held else self._early)

    def hold(self, item: Item, until: float, *, error: bool) -> None:
        """Try this group no earlier than a time, though there may be capacity for it.

        Args:
            item: the group.
            until: engine clock.
            error: as after any error, only time ends this. Otherwise the group is called up before
                one later in the order is placed.
        """
        self.decided(item)
        item.errors = max(item.errors, 1) if error else 0
        if item.place is QueuePlace.BACKOFF and item.held and item.ready_at == until:
            return
        item.ready_at, item.called = until, False
        self._move(item, QueuePlace.BACKOFF)
        item.held = True
        self._count(counted.BACKOFF, counted.HELD_BACK, item)
        self.back_off(item)

    # ── an attempt ───────────────────────────────────────────────────────────────────────────

    def pop(self) -> Item | None:
        """Pop the active group whose turn it is; it is in no queue until it is decided.

        If none is active, pop a group that was hinted at and only waits out its pause.
        """
        entry = self._next_called_up()
        if entry is not None:
            self._called_up.remove(entry)
        else:
            entry = self._active.pop() or self._early.pop()
        if entry is None:
            self._history.in_vain = 0
            return None
        item = self._items[entry.group]
        item.listed = None
        if item.place is QueuePlace.BACKOFF:
            self._count(counted.ACTIVE, counted.TAKEN_EARLY, item)
        self._move(item, QueuePlace.DECIDING)
        self._deciding.pop(item.key, None)  # move it to the end
        item.first_unseen = self._first_event + len(self._events)
        self._deciding[item.key] = None
        return item

    def _next_called_up(self) -> QueueEntry | None:
        """Return the next called-up entry, unless a group of a higher level is active.

        After many attempts in vain, the levels do not matter.
        """
        if self._in_vain >= MOST_CALLED:
            self._let_go(callers=False)
        called = self._called_up.first()
        if called is None or self._history.in_vain >= MOST_IN_VAIN:
            return called
        entry, level = self._active.first(), self._items[called.group].subqueue.level
        other = entry is not None and (level is None or entry.subqueue.level != level)
        return None if other and entry is not None and entry.key < called.key else called

    def decided(self, item: Item) -> None:
        """End an attempt; forget the events since it began."""
        item.first_unseen = None
        self._deciding.pop(item.key, None)
        first = next(iter(self._deciding), None)  # sorted by `first_unseen`
        oldest = self._items[first].first_unseen if first is not None else None
        end = self._first_event + len(self._events)
        while self._first_event < (end if oldest is None else oldest):
            self._events.popleft()
            self._first_event += 1

    def _helpers(self, item: Item, hints: Hints) -> frozenset[str]:
        """Return the plugins that refused a group and that events during the attempt may help."""
        if item.first_unseen is None or item.profile is None:
            return frozenset()
        first = item.first_unseen - self._first_event
        if first < 0:  # not all of these events are remembered
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
        """Handle a failed attempt: wait for an event of a rejector, after an error, for time.

        An event that came during the attempt counts. The group's equals have their turn; once
        attempts that cost this many steps were in vain, so have groups of lower levels.

        Source: kube-scheduler v1.36 pkg/scheduler/backend/queue/scheduling_queue.go
        AddUnschedulableIfNotPresent.
        """
        cost = 1 + steps // STEPS_OF_ONE
        if item.called:
            self._in_vain += cost
        self.park(item, QueuePlace.DECIDING)
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
        """Whether a long search for a popped group should wait because others were never tried."""
        return not (item.called or item.deferred) and self._active.anew

    def defer(self, item: Item) -> None:
        """Defer a group that must be searched for, which takes long: its equals go first."""
        self.decided(item)
        item.deferred = True
        self._end_turn(item, 1)
        self.activate(item)

    def set_aside(self, item: Item) -> None:
        """Set a popped group aside until its namespace is resumed."""
        self.decided(item)
        item.called = False
        self._move(item, QueuePlace.ACTIVE)
        self._list(item, self._aside.setdefault(item.key.namespace, Rotation(FailureHistory())))

    def resume(self, stalled: Collection[str]) -> None:
        """Reactivate the first group that was set aside in each namespace but these."""
        for namespace in [each for each in self._aside if each not in stalled]:
            entry = self._aside[namespace].first()
            if entry is not None:
                self.activate(self._items[entry.group])
            if not self._aside[namespace]:
                del self._aside[namespace]

    def beside(self, namespaces: Collection[str]) -> bool:
        """Whether a group of another namespace than these can be tried."""
        return any(
            each.beside(namespaces) for each in (self._active, self._early, self._called_up)
        ) or any(name not in namespaces for name in self._aside)

    def _end_turn(self, item: Item, cost: int) -> None:
        self._history.failed(item.subqueue, cost)
        self._active.failed(item.subqueue)
        self._early.failed(item.subqueue)

    def rest(self, item: Item, now: float) -> None:
        """Make a popped group wait for the next event, since no attempt is useful."""
        self.decided(item)
        item.called = False
        self._wait(item, now)

    def listen(self, item: Item, plugins: frozenset[str], opened: int) -> None:
        """Let events that these plugins named reach a group, as if they had refused it now."""
        item.counted = opened
        item.rejectors |= plugins
        self._listeners.enter(item)

    def _wait(self, item: Item, now: float) -> None:
        item.place = QueuePlace.WAITING
        self._count(counted.UNSCHEDULABLE, counted.ATTEMPT_FAILED, item)
        self._listeners.enter(item)
        # As upstream, every group is tried at last, even if a hint was wrong.
        self._timers.put(item.key, now + self._longest_wait)

    def call_up(
        self, item: Item, lacked: Callable[[Item], bool], alike: Callable[[Item], object]
    ) -> bool:
        """Call up groups that are earlier in the order than this one, though it is not their turn.

        Neither a pause nor the rotation inverts the order (semantics §2.7 and §9.7). Of the groups
        in a pause, call only those that lacked capacity and may find it now; groups that a plugin
        refused for another reason wait out their time. Of identical pods call the first; the others
        would be refused as it is.

        Args:
            item: a group that could be placed; it is tried again after the called groups.
            lacked: whether a group was refused for lack of capacity.
            alike: equal for groups that are refused alike; None = like no other.

        Returns:
            Whether any group was called.
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
            early = other.place is QueuePlace.BACKOFF and not other.held
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
                self._move(each, QueuePlace.ACTIVE)
                each.called = each is not item
                self._count(counted.ACTIVE, counted.CALLED_UP, each)
                self._list(each, self._called_up, STRICT)
        return bool(called)

    def placed(self, item: Item) -> None:
        """Record that an attempt placed the group; its Bindings will show whether it succeeds."""
        self._called = self._in_vain = item.let_by = 0
        item.deferred = False
        self._called_kinds.clear()
        self._let_go(callers=True)  # the free capacity has changed
        self.park(item, QueuePlace.PLANNED)
        item.rejectors = item.pending = frozenset()

    def _let_go(self, *, callers: bool) -> None:
        """End the call-up of all groups.

        Args:
            callers: groups that called others up return to their usual turn, too; else they go
                first.
        """
        for entry in [*self._called_up]:
            item = self._items[entry.group]
            if item.called or callers:
                item.called = False
                self._called_up.remove(entry)
                self._list(item, self._active)

    def succeeded(self, item: Item) -> None:
        """Record that a plan was carried out: the pause after the next failure is short again."""
        item.unschedulable = item.errors = item.hinted = 0
        item.queued = None

    # ── events ───────────────────────────────────────────────────────────────────────────────

    def hear(self, happened: Sequence[Happening]) -> None:
        """Record events; `wake` finds the groups that they could help."""
        self._listeners.hear(happened)
        if self._deciding:
            self._events.extend(happened)
            while len(self._events) > MOST_REMEMBERED:
                self._events.popleft()
                self._first_event += 1

    @property
    def behind(self) -> bool:
        """Whether a pass over all waiting groups is under way."""
        return self._listeners.behind

    def wake(self, now: float, refused: Refused, hints: Hints) -> list[GroupKey]:
        """Re-queue the waiting groups that events could help, as far as one turn goes.

        Args:
            now: the engine's clock.
            refused: whether a group would be refused now.
            hints: the queueing hints, called for each waiting group whose plugin named such events.

        Returns:
            Groups kept out at PreEnqueue that should be reviewed.
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
        """Re-queue a group: two or more pods are tried at once; a single pod waits out its backoff.

        Every group waits after an event that came during its attempt (`patient`): otherwise, while
        events keep coming, a group that holds capacity at Permit would take it again before others
        had a turn. A group that was hinted at often and failed each time waits too, or a stream of
        events could keep a few large gangs busy for ever. No group waits if the helped plugin was
        waiting for an external party, or if the queue is otherwise idle.
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
        """Remove the items that are due from the timers, at most as many as one turn processes."""
        return [self._items[key] for key in self._timers.due(now, MOST_DUE)]

    def wakeup(self) -> float:
        """Return when the next timer is due; 0 = a group can be tried now; infinity = neither."""
        if self._called_up or self._active or self._early or self._aside:
            return 0.0
        return self.next_timer()

    def next_timer(self) -> float:
        """Return when the next timer is due; 0 = there are groups to check; infinity = neither."""
        return 0.0 if self._listeners.news else self._timers.first()

    def __iter__(self) -> Iterator[Item]:
        """Iterate over every group's item."""
        return iter(self._items.values())
