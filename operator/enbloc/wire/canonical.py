# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Canonical: one object for all equal ones, as long as it is in use."""

from collections.abc import Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary, ref

T = TypeVar("T", bound=Hashable)


class Canonical(Generic[T]):
    """Weak references to canonical objects that are still in use."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[T, ref[T]] = WeakKeyDictionary()

    def of(self, thing: T) -> T:
        """The canonical object that equals this one."""
        known = self._known.get(thing)
        found = known() if known is not None else None
        if found is None:
            self._known[thing] = ref(thing)
            return thing
        return found

    def __len__(self) -> int:
        return len(self._known)
