# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Objects and their history: one counter, a table per kind, watchers.

Objects are frozen by convention: a write builds a new document that shares subtrees with the old
one, and is encoded once; every reader and watcher gets the same bytes. Everything runs on one
event loop without awaits, so each operation is atomic.
"""

from __future__ import annotations

import asyncio
import bisect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from enbloc_sandbox.apiserver.storage.select import Selector

Key = tuple[str, str]
Document = Mapping[str, Any]

encode: Final = msgspec.json.Encoder().encode
decode: Final = msgspec.json.Decoder().decode

#: Events kept for each kind; older resourceVersions are "too old".
HISTORY: Final = 20_000

#: Events that may wait for a watcher that does not read; then its watch is ended.
BACKLOG: Final = 50_000


@dataclass(frozen=True, slots=True)
class Item:
    """One version of one object.

    Attributes:
        key: namespace ("" if it has none) and name.
        obj: the document without `managedFields`.
        managed: `managedFields`, parsed; see `fields.py`.
        rv: the resourceVersion as a number.
        data: the whole document as JSON.
    """

    key: Key
    obj: Document
    managed: tuple[Any, ...]
    rv: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of the history: `before` and `after` are None at birth and at death.

    `last` is the newest state: when an object is removed, its state at the end, which the API
    server tells the deleter but not the watchers.
    """

    rv: int
    before: Item | None
    after: Item | None
    last: Item


class Watcher:
    """One open watch: the changes it has not yet read."""

    def __init__(self, selector: Selector, ended: Callable[[Watcher], None]) -> None:
        self.selector = selector
        self.pending: list[tuple[str, Item]] = []
        self.over = False
        self.expired = False
        self._ended = ended
        self._wake = asyncio.Event()

    def offer(self, change: Change) -> None:
        """Take note of a change, as seen through the selector."""
        seen = as_seen(change, self.selector)
        if seen is not None:
            self.pending.append(seen)
            self._wake.set()
            if len(self.pending) > BACKLOG:
                self.end()

    def end(self, *, expired: bool = False) -> None:
        """End the watch, with the error "too old" if it expired."""
        self.over = True
        self.expired = expired
        self._ended(self)
        self._wake.set()

    async def wait(self, seconds: float) -> bool:
        """Whether something is to be read, or the watch is over, within that time."""
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return False
        self._wake.clear()
        return True

    def take(self) -> list[tuple[str, Item]]:
        """What has not been read yet."""
        taken, self.pending = self.pending, []
        return taken


def as_seen(change: Change, selector: Selector) -> tuple[str, Item] | None:
    """The event that a watcher with this selector sees, None for none."""
    before = change.before is not None and selector.matches(change.before.obj)
    after = change.after is not None and selector.matches(change.after.obj)
    if after:
        return ("MODIFIED" if before else "ADDED", change.last)
    if not before or change.before is None:
        return None
    # Who loses sight of an object is shown what it has seen last, in the new version.
    old = change.before
    return ("DELETED", make_item(old.key, old.obj, old.managed, change.rv))


class Table:
    """The objects of one kind, their recent changes, their watchers."""

    def __init__(self, *, by_node: bool) -> None:
        self.items: dict[Key, Item] = {}
        self.changes: list[Change] = []
        self.floor = 0
        self._by_node: dict[str, dict[Key, None]] | None = {} if by_node else None
        self._watchers: dict[str | None, dict[Watcher, None]] = {}

    def select(self, selector: Selector) -> list[Item]:
        """The objects asked for, in the order of their keys."""
        if selector.name and selector.namespace:
            item = self.items.get((selector.namespace, selector.name))
            return [item] if item is not None and selector.matches(item.obj) else []
        keys = self._candidates(selector)
        items = self.items
        if selector.everything and not selector.namespace:
            return [items[key] for key in sorted(keys)]
        return [items[key] for key in sorted(keys) if selector.matches(items[key].obj)]

    def _candidates(self, selector: Selector) -> Mapping[Key, Any]:
        if selector.node is not None and self._by_node is not None:
            return self._by_node.get(selector.node, {})
        return self.items

    def as_of(self, rv: int, selector: Selector) -> list[Item] | None:
        """The objects as they were at a resourceVersion, None if that is too old to tell."""
        if rv < self.floor:
            return None
        past = dict(self.items)
        for change in reversed(self.changes):
            if change.rv <= rv:
                break
            if change.before is None:
                past.pop(change.last.key, None)
            else:
                past[change.last.key] = change.before
        return [past[key] for key in sorted(past) if selector.matches(past[key].obj)]

    def since(self, rv: int) -> list[Change] | None:
        """The changes after a resourceVersion, None if that is too old to tell."""
        if rv < self.floor:
            return None
        return self.changes[bisect.bisect_right(self.changes, rv, key=lambda c: c.rv) :]

    def forget(self, rv: int) -> None:
        """Forget all history up to a resourceVersion."""
        self.changes.clear()
        self.floor = rv

    def watch(self, selector: Selector) -> Watcher:
        """A new watcher; end() it."""
        watcher = Watcher(selector, self._unwatch)
        self._watchers.setdefault(self._route(selector), {})[watcher] = None
        return watcher

    def watchers(self) -> Iterator[Watcher]:
        """Those that are open."""
        return iter([watcher for group in self._watchers.values() for watcher in group])

    def _unwatch(self, watcher: Watcher) -> None:
        route = self._route(watcher.selector)
        group = self._watchers.get(route, {})
        group.pop(watcher, None)
        if not group:
            self._watchers.pop(route, None)

    def _route(self, selector: Selector) -> str | None:
        return selector.node if self._by_node is not None else None

    def commit(self, change: Change) -> None:
        """Make a change, remember it and tell the watchers."""
        key = change.last.key
        if change.after is None:
            self.items.pop(key, None)
        else:
            self.items[key] = change.after
        routes: set[str | None] = {None}
        if self._by_node is not None:
            routes |= self._reindex(key, change)
        self.changes.append(change)
        if len(self.changes) > 2 * HISTORY:
            self.floor = self.changes[HISTORY - 1].rv
            del self.changes[:HISTORY]
        for route in routes:
            for watcher in list(self._watchers.get(route, ())):
                watcher.offer(change)

    def _reindex(self, key: Key, change: Change) -> set[str | None]:
        assert self._by_node is not None
        before, after = (_node(item) for item in (change.before, change.after))
        if before != after:
            if before is not None and (group := self._by_node.get(before)) is not None:
                group.pop(key, None)
                if not group:
                    del self._by_node[before]
            if after is not None:
                self._by_node.setdefault(after, {})[key] = None
        return {before, after}


def _node(item: Item | None) -> str | None:
    return None if item is None else item.obj["spec"].get("nodeName") or ""


class Store:
    """All tables and the counter of resourceVersions."""

    def __init__(self) -> None:
        self.rv = 1
        self._floor = 0
        self._tables: dict[str, Table] = {}
        self._owned: dict[str, dict[tuple[str, Key], None]] = {}
        self.listeners: list[Callable[[str, Change], None]] = []

    def expire(self) -> None:
        """Forget all history: every resourceVersion up to now is too old."""
        self.rv += 1
        self._floor = self.rv
        for table in self._tables.values():
            table.forget(self.rv)

    def table(self, storage: str) -> Table:
        """The table of that name, made on first use."""
        table = self._tables.get(storage)
        if table is None:
            table = self._tables[storage] = Table(by_node=storage == "pods")
            table.floor = self._floor
        return table

    def tables(self) -> Mapping[str, Table]:
        """All tables."""
        return self._tables

    def get(self, storage: str, key: Key) -> Item | None:
        """The object, None if there is none."""
        return self.table(storage).items.get(key)

    def dependents(self, uid: str) -> list[tuple[str, Key]]:
        """Where the objects lie that name this uid as an owner."""
        return list(self._owned.get(uid, ()))

    def put(self, storage: str, obj: Document, managed: tuple[Any, ...]) -> Item:
        """Create or replace an object."""
        metadata = obj["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        before = self.table(storage).items.get(key)
        item = self._next(key, obj, managed)
        self._commit(storage, Change(item.rv, before, item, item))
        return item

    def remove(self, storage: str, key: Key, last: Document, managed: tuple[Any, ...]) -> Item:
        """Remove an object; `last` is its final state, which watchers are shown."""
        before = self.table(storage).items[key]
        item = self._next(key, last, managed)
        self._commit(storage, Change(item.rv, before, None, item))
        return item

    def _next(self, key: Key, obj: Document, managed: tuple[Any, ...]) -> Item:
        self.rv += 1
        return make_item(key, obj, managed, self.rv)

    def _commit(self, storage: str, change: Change) -> None:
        before, after = (_owners(item) for item in (change.before, change.after))
        where = (storage, change.last.key)
        for uid in before - after:
            self._owned[uid].pop(where, None)
            if not self._owned[uid]:
                del self._owned[uid]
        for uid in after - before:
            self._owned.setdefault(uid, {})[where] = None
        self.table(storage).commit(change)
        for listener in self.listeners:
            listener(storage, change)


def make_item(key: Key, obj: Document, managed: tuple[Any, ...], rv: int) -> Item:
    """An item with its bytes; the document gets its resourceVersion."""
    stored = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(rv)}}
    if not rv:  # a dry run of a create
        del stored["metadata"]["resourceVersion"]
    if managed:
        metadata = {**stored["metadata"], "managedFields": [entry.entry() for entry in managed]}
        return Item(key, stored, managed, rv, encode({**stored, "metadata": metadata}))
    return Item(key, stored, managed, rv, encode(stored))


def _owners(item: Item | None) -> frozenset[str]:
    if item is None:
        return frozenset()
    references = item.obj["metadata"].get("ownerReferences")
    return frozenset(one["uid"] for one in references) if references else frozenset()
