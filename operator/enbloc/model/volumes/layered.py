# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Layered: a dictionary whose forks cost what was changed in them."""

from typing import Final, Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_GONE: Final = None


class Layered(Generic[K, V]):
    """Values by key; those of a fork are its origin's until it sets others.

    Values are never changed, only replaced. The origin must not change while a fork is in use.
    """

    __slots__ = ("_base", "_own")

    def __init__(self) -> None:
        self._base: dict[K, V] = {}
        self._own: dict[K, V | None] | None = None

    def get(self, key: K) -> V | None:
        """The value of a key; None = it has none."""
        if self._own is not None and key in self._own:
            return self._own[key]
        return self._base.get(key)

    def set(self, key: K, value: V | None) -> None:
        """Give a key its value; None = it has none."""
        if self._own is not None:
            self._own[key] = value
        else:
            self.remember(key, value)

    def remember(self, key: K, value: V | None) -> None:
        """As `set`, for the origin and all of its forks that have set no other."""
        if value is None:
            self._base.pop(key, _GONE)
        else:
            self._base[key] = value

    def differs(self, key: K) -> bool:
        """Whether this fork has set a value of its own."""
        return self._own is not None and key in self._own

    def fork(self) -> "Layered[K, V]":
        """A copy whose changes nobody else sees."""
        made: Layered[K, V] = Layered()
        made._base, made._own = self._base, dict(self._own or {})
        return made
