# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Listeners: which groups wait for the events of which plugin, and which an event could help."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from enbloc.engine.batch import Batch, Concerned, HintOf
from enbloc.engine.queue.item import Item, QueuePlace
from enbloc.framework.hints import Happening
from enbloc.framework.profile import Profile
from enbloc.model.groups import GroupKey

#: The cost of checking waiting groups in one turn; the next turn continues. A check costs 1, and
#: a call for hints, which needs the facts of the group, costs more.
MOST_LOOKS: Final = 4096
HINTS_COST: Final = 8

#: Returns the queueing hints of a waiting group's plugins.
Hints = Callable[[Item], HintOf]

#: Whether a waiting group would be refused now, whatever happened.
Refused = Callable[[Item], bool]

#: A waiting group, a plugin that refused it, and whether that was at PreEnqueue.
_Look = tuple[Item, str, bool]

_Index = dict[str, dict[GroupKey, None]]


class Listeners:
    """Waiting groups by the plugins that refused them, and the events that they have not seen."""

    def __init__(self) -> None:
        #: By plugin, the WAITING groups that it rejected.
        self._waiting: _Index = {}
        #: By plugin, the groups that it keeps out at PreEnqueue: the plugin is their `gate`.
        self._gated: _Index = {}
        #: Events since the current batch began, while any group waited.
        self._unheard: list[Happening] = []
        #: A batch, and the groups that remain to be asked about it; None = no batch is under way.
        self._asking: tuple[Batch, Iterator[_Look | None]] | None = None

    def enter(self, item: Item) -> None:
        """List a group under its rejectors, or its gate; it may be listed under some already."""
        if item.gate:
            self._gated.setdefault(item.gate, {})[item.key] = None
        if item.place is QueuePlace.WAITING:
            for name in item.rejectors:
                self._waiting.setdefault(name, {})[item.key] = None

    def leave(self, item: Item) -> None:
        """Remove a group that no longer waits."""
        if item.gate:
            self._gated[item.gate].pop(item.key, None)
        if item.place is QueuePlace.WAITING:
            for name in item.rejectors:
                self._waiting[name].pop(item.key, None)

    def hear(self, happened: Sequence[Happening]) -> None:
        """Keep what happened, if any group waits."""
        if any(self._waiting.values()) or any(self._gated.values()):
            self._unheard += happened

    @property
    def behind(self) -> bool:
        """Whether a pass over all waiting groups is under way."""
        return self._asking is not None

    @property
    def news(self) -> bool:
        """Whether there is anything to ask about."""
        return bool(self._unheard) or self._asking is not None

    def begin(self, items: Mapping[GroupKey, Item]) -> bool:
        """Start a batch of the new events, if the last one is done; return whether one started.

        Args:
            items: every group.
        """
        if self._asking is not None or not self._unheard:
            return False
        batch, self._unheard = Batch(self._unheard), []
        self._asking = batch, self._looks(batch, items)
        return True

    def helped(self, refused: Refused, hints: Hints) -> Iterator[tuple[Item, str, str, bool]]:
        """Yield the groups that the current batch could help, as far as one turn goes.

        Args:
            refused: whether a group would be refused now.
            hints: the queueing hints, called for each waiting group whose plugin named such events.

        Yields:
            A group, the plugin that refused it, the event, and whether that was at PreEnqueue.
        """
        if self._asking is None:
            return
        batch, looks = self._asking
        left = MOST_LOOKS
        for look in looks:
            left -= 1
            if look is not None and (look[2] or not refused(look[0])):
                item, name, gated = look
                left -= HINTS_COST
                event = batch.helps(concerned(item), _profile(item), name, hints(item))
                if event:
                    yield item, name, event, gated
            if left <= 0:
                return
        self._asking = None

    def _looks(self, batch: Batch, items: Mapping[GroupKey, Item]) -> Iterator[_Look | None]:
        """Yield the groups that a batch could concern, one at a time; None for each other one."""
        for gated, index in ((False, self._waiting), (True, self._gated)):
            for name in list(index):
                concerns: dict[str, bool] = {}
                waiting = index[name]
                for key in list(waiting):
                    item = items.get(key) if key in waiting else None
                    if item is None or item.profile is None:
                        yield None
                        continue
                    profile = item.profile
                    if profile.name not in concerns:
                        concerns[profile.name] = batch.concerns(profile, name)
                    yield (item, name, gated) if concerns[profile.name] else None


def concerned(item: Item) -> Concerned:
    """Return what a batch must know of a group."""
    return Concerned(item.key, item.counted, item.infeasible)


def _profile(item: Item) -> Profile:
    assert item.profile is not None, "nobody looks at an item that nobody decided about"
    return item.profile
