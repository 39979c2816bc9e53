# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Line: the groups that wait for another search for victims, now or from some time on."""

import math
from collections.abc import Callable, Collection

from enbloc.model.groups import GroupKey


class Line:
    """Groups in the order in which they are called up.

    Namespaces take turns, so that a thousand groups of one delay nobody else's; of one namespace
    the first come are the first. Who was called up and was not tried, since others had taken the
    effort, keeps its place.
    """

    def __init__(self) -> None:
        #: By namespace, the one whose turn it is first; none is empty.
        self._waiting: dict[str, dict[GroupKey, None]] = {}
        #: Who was called up and was not tried since.
        self._called: set[GroupKey] = set()
        #: From when groups wait, engine clock: a delay ends, or the protection of others.
        self._later: dict[GroupKey, float] = {}
        #: Groups that wait once one of these is not being bound any more.
        self._after: dict[GroupKey, Collection[GroupKey]] = {}

    def __bool__(self) -> bool:
        """Somebody waits now."""
        return bool(self._waiting)

    def add(self, group: GroupKey) -> None:
        """A group waits from now on, if it does not yet."""
        namespace = group.namespace
        if group in self._called:
            self._called.remove(group)
            there = self._waiting.pop(namespace, {})
            self._waiting = {namespace: {group: None, **there}, **self._waiting}
        else:
            self._waiting.setdefault(namespace, {}).setdefault(group)

    def later(self, group: GroupKey, time: float) -> None:
        """A group waits from a time on, whatever was said of it before."""
        self._later[group] = time

    def after(self, group: GroupKey, others: Collection[GroupKey]) -> None:
        """A group waits once one of others is not being bound any more; no others = by no means."""
        self._after.pop(group, None)
        if others:
            self._after[group] = others

    def expire(self, now: float, is_bound_now: Callable[[GroupKey], bool]) -> None:
        """Take in whose time has come."""
        for group in [group for group, time in self._later.items() if time <= now]:
            del self._later[group]
            self.add(group)
        for group, others in tuple(self._after.items()):
            if not all(map(is_bound_now, others)):
                del self._after[group]
                self.add(group)

    def deadline(self) -> float:
        """When `expire` is to be asked, engine clock; infinity = never by time."""
        return min(self._later.values(), default=math.inf)

    def call(self) -> GroupKey:
        """Whose turn it is; there is somebody."""
        namespace, there = next(iter(self._waiting.items()))
        group = next(iter(there))
        self._leave(group)
        if namespace in self._waiting:
            self._waiting[namespace] = self._waiting.pop(namespace)
        self._called.add(group)
        return group

    def tried(self, group: GroupKey) -> None:
        """It was its turn: who comes again is the last."""
        self._called.discard(group)

    def discard(self, group: GroupKey) -> None:
        """A group waits no more, now or later."""
        self._leave(group)
        self._called.discard(group)
        self._later.pop(group, None)
        self._after.pop(group, None)

    def _leave(self, group: GroupKey) -> None:
        there = self._waiting.get(group.namespace)
        if there is not None and group in there:
            del there[group]
            if not there:
                del self._waiting[group.namespace]
