# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Line: the groups that wait for another search for victims, now or from a later time."""

from collections.abc import Callable, Collection

from enbloc.engine.deadlines import Deadlines
from enbloc.model.grouped import Index
from enbloc.model.groups import GroupKey


class PreemptorQueue:
    """Groups in the order in which they are called up.

    Namespaces take turns, so that a thousand groups of one delay no other; within a namespace,
    first come, first served. A group that was called up but not tried, since others had used up the
    effort, keeps its place.
    """

    def __init__(self) -> None:
        #: By namespace, the next one first.
        self._waiting: Index[str, GroupKey] = Index()
        #: Groups that were called up and not tried since.
        self._called: set[GroupKey] = set()
        #: From when groups wait, engine clock: a delay ends, or the protection of others.
        self._later: Deadlines[GroupKey] = Deadlines()
        #: Groups that wait once one of these others is no longer being bound.
        self._after: dict[GroupKey, Collection[GroupKey]] = {}
        #: The same by one of these others.
        self._waiting_for: Index[GroupKey, GroupKey] = Index()

    def __bool__(self) -> bool:
        """Whether any group waits now."""
        return bool(self._waiting)

    def add(self, group: GroupKey) -> None:
        """Let a group wait from now on, if it does not yet."""
        namespace = group.namespace
        if group in self._called:
            self._called.remove(group)
            there = self._waiting.pop(namespace, {})
            self._waiting = Index({namespace: {group: None, **there}, **self._waiting})
        else:
            self._waiting.add(namespace, group)

    def later(self, group: GroupKey, time: float) -> None:
        """Let a group wait from a time on; replaces an earlier time."""
        self._later.put(group, time)

    def after(self, group: GroupKey, others: Collection[GroupKey]) -> None:
        """Let a group wait once one of others is no longer being bound; no others = cancel that."""
        for other in self._after.pop(group, ()):
            self._waiting_for.drop(other, group)
        if others:
            self._after[group] = others
        for other in others:
            self._waiting_for.add(other, group)

    def expire(self, now: float, is_bound_now: Callable[[GroupKey], bool]) -> None:
        """Move groups whose time has come to the line."""
        for group in self._later.due(now):
            self.add(group)
        over = [other for other in self._waiting_for if not is_bound_now(other)]
        found = {group for other in over for group in self._waiting_for[other]}
        for group in [group for group in self._after if group in found] if found else ():
            self.after(group, ())
            self.add(group)

    def deadline(self) -> float:
        """Return when to call `expire`, engine clock; infinity = never by time."""
        return self._later.first()

    def call(self) -> GroupKey:
        """Call up the next group; there must be one."""
        namespace, there = next(iter(self._waiting.items()))
        group = next(iter(there))
        self._waiting.drop(namespace, group)
        if namespace in self._waiting:
            self._waiting[namespace] = self._waiting.pop(namespace)
        self._called.add(group)
        return group

    def tried(self, group: GroupKey) -> None:
        """Record that a group was tried: if it comes again, it is the last."""
        self._called.discard(group)

    def discard(self, group: GroupKey) -> None:
        """Remove a group, for now and later."""
        self._waiting.drop(group.namespace, group)
        self._called.discard(group)
        self._later.drop(group)
        self.after(group, ())
