# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Overlay: a mapping of which forks are cheap."""

from collections.abc import Iterator
from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

#: Of its entries, so many may have changed since the common part was made; or this many at least.
_PART: Final = 8
_LEAST: Final = 256


class Overlay(Generic[K, V]):
    """A mapping; a fork shares what has not changed for long, and copies the rest.

    ::

        common entries, never written ◄── this one's changes
                                      ◄── a fork's changes
    """

    __slots__ = ("_changes", "_common")

    def __init__(self) -> None:
        self._common: dict[K, V] = {}
        self._changes: dict[K, V | None] = {}

    def get(self, key: K) -> V | None:
        """The value; None = there is none."""
        if key in self._changes:
            return self._changes[key]
        return self._common.get(key)

    def put(self, key: K, value: V | None) -> V | None:
        """Set a value, or drop it (None); gives the old one."""
        old = self.get(key)
        if old is value:
            return old
        self._changes[key] = value
        if len(self._changes) > max(_LEAST, len(self._common) // _PART):
            merged = {**self._common, **self._changes}
            self._common = {key: value for key, value in merged.items() if value is not None}
            self._changes = {}
        return old

    @property
    def changed(self) -> bool:
        """It has, or had, any entry."""
        return bool(self._common or self._changes)

    def items(self) -> Iterator[tuple[K, V]]:
        """All entries; none may be changed meanwhile."""
        for key, value in self._common.items():
            if key not in self._changes:
                yield key, value
        for key, changed in self._changes.items():
            if changed is not None:
                yield key, changed

    def fork(self) -> "Overlay[K, V]":
        """A copy of its own."""
        made: Overlay[K, V] = Overlay()
        made._common = self._common
        made._changes = self._changes.copy()
        return made
