# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Listeners: which groups wait for the events of which plugin, and whom an event could help."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from enbloc.engine.batch import Batch, Concerned, HintOf
from enbloc.engine.queue.item import Item, Place
from enbloc.framework.hints import Happening
from enbloc.framework.profile import Profile
from enbloc.model.groups import GroupKey

#: What looking at waiting groups may cost in one turn, in looks; the next goes on where it ended.
#: To ask for hints, which needs the facts of the group, costs more than to see that none matters.
MOST_LOOKS: Final = 4096
HINTS_COST: Final = 8

#: Gives the finer answers of a waiting group's plugins.
Hints = Callable[[Item], HintOf]

#: Whether a waiting group would be refused as things are, whatever happened.
Refused = Callable[[Item], bool]

#: A waiting group, a plugin that refused it, and whether that was at PreEnqueue.
_Look = tuple[Item, str, bool]

_Index = dict[str, dict[GroupKey, None]]


class Listeners:
    """Those that wait, by the plugins that refused them, and what they have not heard yet."""

    def __init__(self) -> None:
        #: By plugin, the groups that are WAITING and that it rejected.
        self._waiting: _Index = {}
        #: By plugin, the groups that it keeps out at PreEnqueue: the `gate` of each.
        self._gated: _Index = {}
        #: What happened since the batch under way was begun, while anybody waited.
        self._unheard: list[Happening] = []
        #: A batch, and those that are still to be asked about it; None = none is under way.
        self._asking: tuple[Batch, Iterator[_Look | None]] | None = None

    def enter(self, item: Item) -> None:
        """A group waits for what its rejectors, or its gate, named; more of them than before."""
        if item.gate:
            self._gated.setdefault(item.gate, {})[item.key] = None
        if item.place is Place.WAITING:
            for name in item.rejectors:
                self._waiting.setdefault(name, {})[item.key] = None

    def leave(self, item: Item) -> None:
        """A group waits no more."""
        if item.gate:
            self._gated[item.gate].pop(item.key, None)
        if item.place is Place.WAITING:
            for name in item.rejectors:
                self._waiting[name].pop(item.key, None)

    def hear(self, happened: Sequence[Happening]) -> None:
        """Keep what happened, if anybody waits."""
        if any(self._waiting.values()) or any(self._gated.values()):
            self._unheard += happened

    @property
    def behind(self) -> bool:
        """Whether a look at all groups that wait is under way."""
        return self._asking is not None

    @property
    def news(self) -> bool:
        """Whether there is anything to ask about."""
        return bool(self._unheard) or self._asking is not None

    def begin(self, items: Mapping[GroupKey, Item]) -> bool:
        """Begin to ask about what happened, if all were asked about the batch before.

        Args:
            items: every group.
        """
        if self._asking is not None or not self._unheard:
            return False
        batch, self._unheard = Batch(self._unheard), []
        self._asking = batch, self._looks(batch, items)
        return True

    def helped(self, refused: Refused, hints: Hints) -> Iterator[tuple[Item, str, str, bool]]:
        """Whom the batch under way could help, as far as one turn goes.

        Args:
            refused: whether a group would be refused as things are.
            hints: the finer answers, asked for each waiting group whose plugin named such events.

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
        """The groups that a batch could concern, one at a time; None where it does not."""
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
    """What a batch must know of a group."""
    return Concerned(item.key, item.counted, item.infeasible)


def _profile(item: Item) -> Profile:
    assert item.profile is not None, "nobody looks at an item that nobody decided about"
    return item.profile
