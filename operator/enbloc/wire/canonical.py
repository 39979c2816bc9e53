# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Canonical: one object for all that are equal, for as long as any of them is used."""

from collections.abc import Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary, ref

T = TypeVar("T", bound=Hashable)


class Canonical(Generic[T]):
    """Objects that were given before and are in use yet; it keeps none itself."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[T, ref[T]] = WeakKeyDictionary()

    def of(self, thing: T) -> T:
        """The one that stands for all that are equal to this."""
        known = self._known.get(thing)
        found = known() if known is not None else None
        if found is None:
            self._known[thing] = ref(thing)
            return thing
        return found

    def __len__(self) -> int:
        return len(self._known)
