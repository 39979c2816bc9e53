# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Order: who is before whom, in the queue, among claims, for repair, victims and what-if.

It is the profile's QueueSort plugin. Each group's key is asked for when the group changes, and
kept; everybody compares the kept keys, so that nobody can be before another in one place and after
it in another. A key that others could not be compared with is refused here, so that no comparison
elsewhere can fail. A plugin whose keys depend on more than the group says so (`Reorders`), and then
all keys are asked for again in the turn that notices.
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
        #: The place of each group that has one; all can be compared, being of one shape.
        self._keys: dict[GroupKey, Key] = {}
        #: What every key is made of, place by place; None before the first one.
        self._shape: object = None
        #: By profile, the order_version that its QueueSort gave last.
        self._versions: dict[str, object] = {}
        #: Whom the latest key was asked of, and how many of its places equals share.
        self._plugin: object = None
        self._places: int | None = None

    def fork(self) -> "Order":
        """A copy of one's own."""
        fork = Order(self._profile_of)
        fork._keys, fork._shape = dict(self._keys), self._shape
        return fork

    def key(self, facts: GroupFacts) -> Key:
        """The place of a group as these facts have it; nothing is remembered.

        Raises:
            PluginError: the plugin failed, or its key is no tuple, or of another shape than the
                first key was: whatever was compared once may still be in a heap.
        """
        plugin = self._profile_of(facts).queue_sort
        if plugin is not self._plugin:  # all profiles have the same
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
        """A group changed: its place from now on.

        Raises:
            PluginError: as `key`; the group then keeps the place that it had. One that had none is
                after all others.
        """
        key = self._keys[facts.key] = self.key(facts)
        return key

    def level(self, key: Key) -> Key | None:
        """What this key and those of equals begin with.

        None = the plugin says of nobody that they are equal.
        """
        return None if self._places is None else key[: self._places]

    def of(self, group: GroupKey) -> Key | None:
        """The place of a group; None = it has none, and is after all others."""
        return self._keys.get(group)

    def before(self, one: GroupKey, other: GroupKey) -> bool:
        """Whether one group is before another; no group is before itself."""
        mine, its = self._keys.get(one), self._keys.get(other)
        return mine is not None and one != other and (its is None or mine < its)

    def first_to_last(self, groups: Iterable[GroupKey]) -> list[GroupKey]:
        """These groups, each once, in order."""
        return sorted(groups, key=lambda group: (group not in self._keys, self._keys.get(group)))

    def forget(self, group: GroupKey) -> None:
        """A group is gone."""
        self._keys.pop(group, None)

    def outdated(self, profiles: Iterable[Profile]) -> bool:
        """Whether a plugin says that its keys are others now; asked once for each such change.

        One that fails to say so has said nothing: the order stays as it is.
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
    """What a key is made of, place by place: keys of one shape can always be compared."""
    known = _SHAPES.get(type(key))  # of most parts of most keys, without asking what they are
    if known is not None and key == key:  # noqa: PLR0124 - NaN is before and after nobody
        return known
    if isinstance(key, tuple):
        return tuple([_shape(each) for each in key])
    if isinstance(key, str):
        return str
    if isinstance(key, Real) and key == key:  # noqa: PLR0124
        return Real
    raise TypeError(f"a sort key must hold numbers, strings and tuples of these, not {key!r}")
