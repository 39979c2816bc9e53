# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Layered: tables whose forks cost only what is changed in them."""

from collections.abc import Iterator
from typing import ClassVar, Final, Generic, Self, TypeVar

from enbloc.model.grouped import Grouped

I = TypeVar("I")  # noqa: E741  # an item's key, beside K and V
K = TypeVar("K")
V = TypeVar("V")

_GONE: Final = None


class Layered(Generic[K, V]):
    """Values by key; a fork has its origin's values until it sets others.

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

    def set(self, key: K, value: V | None) -> V | None:
        """Set a key's value (None = remove it); returns the old one."""
        old = self.get(key)
        if self._own is not None:
            self._own[key] = value
        else:
            self.remember(key, value)
        return old

    def items(self) -> Iterator[tuple[K, V]]:
        """All keys with their values; do not set any while iterating."""
        own = self._own or {}
        yield from ((key, value) for key, value in self._base.items() if key not in own)
        yield from ((key, value) for key, value in own.items() if value is not None)

    @property
    def used(self) -> bool:
        """Whether any key has, or had, a value."""
        return bool(self._base or self._own)

    def remember(self, key: K, value: V | None) -> None:
        """As `set`, for the origin and those of its forks that have not set the key."""
        if value is None:
            self._base.pop(key, _GONE)
        else:
            self._base[key] = value

    def differs(self, key: K) -> bool:
        """Whether this fork has set a value of its own for the key."""
        return self._own is not None and key in self._own

    def fork(self) -> "Layered[K, V]":
        """A copy whose changes nobody else sees."""
        made: Layered[K, V] = Layered()
        made._base, made._own = self._base, dict(self._own or {})
        return made


class LayeredGroups(Generic[K, I, V]):
    """Values by group, and by key within the group; a group may have very many keys."""

    __slots__ = ("_base", "_own")

    def __init__(self) -> None:
        self._base: Grouped[K, I, V] = Grouped()
        self._own: dict[K, dict[I, V | None]] | None = None

    def items(self, group: K) -> Iterator[tuple[I, V]]:
        """The keys of a group, each with its value."""
        base = self._base.get(group, {})
        own = self._own.get(group) if self._own is not None else None
        if own is None:
            yield from base.items()
            return
        yield from ((key, value) for key, value in base.items() if key not in own)
        yield from ((key, value) for key, value in own.items() if value is not None)

    def get(self, group: K, key: I) -> V | None:
        """The value of a key of a group; None = it has none."""
        own = self._own.get(group) if self._own is not None else None
        if own is not None and key in own:
            return own[key]
        base = self._base.get(group)
        return None if base is None else base.get(key)

    def set(self, group: K, key: I, value: V | None) -> None:
        """Set the value of a key of a group; None = remove it."""
        if self._own is not None:
            self._own.setdefault(group, {})[key] = value
        elif value is not None:
            self._base.put(group, key, value)
        else:
            self._base.drop(group, key)

    def fork(self) -> "LayeredGroups[K, I, V]":
        """A copy whose changes nobody else sees."""
        made: LayeredGroups[K, I, V] = LayeredGroups()
        made._base = self._base
        made._own = {group: own.copy() for group, own in (self._own or {}).items()}
        return made


class Forked:
    """A table with several attributes, some of which `fork` forks; the others are shared.

    Attributes:
        own: the names of the attributes that are forked.
    """

    own: ClassVar[tuple[str, ...]]

    def fork(self) -> Self:
        """A copy whose changes nobody else sees."""
        made = object.__new__(type(self))
        attributes = made.__dict__
        attributes.update(self.__dict__)
        for name in self.own:
            attributes[name] = attributes[name].fork()
        return made
