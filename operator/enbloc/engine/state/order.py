# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Order: which group precedes which, in the queue and for reservations, repair and what-if.

It is the profile's QueueSort plugin. Each group's key is requested when the group changes, and
kept; all comparisons use the kept keys, so that the order is the same everywhere. A key that others
could not be compared with is refused here, so that no comparison elsewhere can fail. A plugin whose
keys depend on more than the group says so (`Reorders`); then all keys are requested again in the
turn that notices.
"""

from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any, Final

from enbloc.engine.trial import asked
from enbloc.errors import PluginError
from enbloc.framework import decide
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.groups import Group, GroupKey

#: A place in the order: the smaller goes first.
Key = tuple[Any, ...]

_SHAPES: Final[Mapping[type, object]] = {str: str, int: Real, float: Real, bool: Real}


class Order:
    """The place of every group.

    Args:
        profile_of: the profile that decides about a group.
    """

    def __init__(self, profile_of: Callable[[GroupFacts], Profile]) -> None:
        self._profile_of: Final = profile_of
        #: The place of each group that has one; all have one shape and can be compared.
        self._keys: dict[GroupKey, Key] = {}
        #: The types of every key, element by element; None before the first one.
        self._shape: object = None
        #: By profile, the last order_version of its QueueSort.
        self._versions: dict[str, object] = {}
        #: The plugin that gave the latest key, and how many of its elements equals share.
        self._plugin: object = None
        self._places: int | None = None

    def fork(self) -> "Order":
        """Return an independent copy."""
        fork = Order(self._profile_of)
        fork._keys, fork._shape = dict(self._keys), self._shape
        return fork

    def key(self, facts: GroupFacts) -> Key:
        """Return the place of a group with these facts; nothing is recorded.

        Raises:
            PluginError: the plugin failed, or its key is no tuple, or of another shape than the
                first key: earlier keys may still be in a heap.
        """
        plugin = self._profile_of(facts).queue_sort
        if plugin is not self._plugin:  # all profiles share one
            places = plugin.level_places if decide.implements(plugin, decide.Levels) else None
            self._plugin, self._places = plugin, places if isinstance(places, int) else None
        group = facts.group or Group(facts.key)
        key = asked(plugin.name, "QueueSort", plugin.sort_key, group, facts)
        return asked(plugin.name, "QueueSort", self._comparable, key)

    def _comparable(self, key: object) -> Key:
        if not isinstance(key, tuple):
            raise TypeError(f"a sort key must be a tuple, not {type(key).__name__}")
        shape = _shape(key)
        if self._shape is None:
            self._shape = shape
        if shape != self._shape:
            raise TypeError(f"the sort key {key} cannot be compared with those of other groups")
        return key

    def note(self, facts: GroupFacts) -> Key:
        """Set the place of a changed group.

        Raises:
            PluginError: as `key`; the group then keeps its place. A group without one is after all
                others.
        """
        key = self._keys[facts.key] = self.key(facts)
        return key

    def level(self, key: Key) -> Key | None:
        """Return the prefix that this key shares with those of equals.

        None = the plugin defines no equals.
        """
        return None if self._places is None else key[: self._places]

    def of(self, group: GroupKey) -> Key | None:
        """Return the place of a group; None = it has none, and is after all others."""
        return self._keys.get(group)

    def before(self, one: GroupKey, other: GroupKey) -> bool:
        """Whether one group precedes another; no group precedes itself."""
        mine, its = self._keys.get(one), self._keys.get(other)
        return mine is not None and one != other and (its is None or mine < its)

    def first_to_last(self, groups: Iterable[GroupKey]) -> list[GroupKey]:
        """Return these groups, each once, in order."""
        return sorted(groups, key=lambda group: (group not in self._keys, self._keys.get(group)))

    def forget(self, group: GroupKey) -> None:
        """Forget a group that is gone."""
        self._keys.pop(group, None)

    def outdated(self, profiles: Iterable[Profile]) -> bool:
        """Whether a plugin says that its keys have changed; asked once for each such change.

        A plugin that fails to answer has said nothing: the order stays as it is.
        """
        changed = False
        for profile in profiles:
            plugin = profile.queue_sort
            if decide.implements(plugin, decide.Reorders):
                try:
                    changed |= asked(plugin.name, "QueueSort", self._newer, profile.name, plugin)
                except PluginError:
                    continue
        return changed

    def _newer(self, profile: str, plugin: decide.Reorders) -> bool:
        version = plugin.order_version()
        newer = bool(self._versions.get(profile, version) != version)
        self._versions[profile] = version
        return newer


def _shape(key: object) -> object:
    """Return the types of a key, element by element: keys of one shape can be compared."""
    known = _SHAPES.get(type(key))  # of most elements of most keys, without further checks
    if known is not None and key == key:  # noqa: PLR0124 - NaN is before and after nobody
        return known
    if isinstance(key, tuple):
        return tuple([_shape(each) for each in key])
    if isinstance(key, str):
        return str
    if isinstance(key, Real) and key == key:  # noqa: PLR0124
        return Real
    raise TypeError(f"a sort key must hold numbers, strings and tuples of these, not {key!r}")
