# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Grouped: dicts of dicts without empty ones, for what is looked up by something it shares."""

from typing import TypeVar

K = TypeVar("K")
I = TypeVar("I")  # noqa: E741  # an item's key, beside K and V
V = TypeVar("V")


class Grouped(dict[K, dict[I, V]]):
    """Values by group, and by key within the group; a group without values has no entry."""

    def put(self, group: K, key: I, value: V) -> None:
        """Set the value of a key of a group."""
        self.setdefault(group, {})[key] = value

    def drop(self, group: K, key: I) -> V | None:
        """Remove a key from a group; returns its value, None = it had none."""
        values = self.get(group)
        if values is None:
            return None
        value = values.pop(key, None)
        if not values:
            del self[group]
        return value


class Index(Grouped[K, I, None]):
    """The members of each group, in the order in which they came; an empty group has no entry."""

    def add(self, group: K, member: I) -> None:
        """Add a member to a group."""
        self.put(group, member, None)
