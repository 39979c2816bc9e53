# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Leases: who may write what several tables look at.

::

    owner (Ownership) ──lease()──► reader (Lease) ──lease()──► reader (the same Lease)
      │ writes in place while nobody holds a Lease; else it copies and starts a new Ownership

A reader gives its lease back by being forgotten. Where a copy costs too much, the owner revokes the
leases instead, and who has one may not read any more.
"""

import weakref
from typing import Any

import numpy as np
import numpy.typing as npt


class Lease:
    """The right to read arrays that stay as they are for as long as this object lives.

    Attributes:
        revoked: the owner has changed in place what was to be read.
    """

    __slots__ = ("__weakref__", "revoked")

    exclusive = False

    def __init__(self) -> None:
        self.revoked = False

    def lease(self) -> "Lease":
        """What one more reader of the same arrays holds."""
        return self


class Ownership:
    """The right to write arrays, in place when `exclusive`, after copying them when not."""

    __slots__ = ("_lent",)

    revoked = False

    def __init__(self) -> None:
        self._lent: weakref.ref[Lease] | None = None

    @property
    def exclusive(self) -> bool:
        """Nobody else looks at the arrays."""
        return self._lent is None or self._lent() is None

    def lease(self) -> Lease:
        """What a reader of the arrays holds; one object for all of them."""
        lease = self._lent() if self._lent else None
        if lease is None:
            lease = Lease()
            self._lent = weakref.ref(lease)
        return lease

    def revoke(self) -> None:
        """What readers look at changes in place: they may read it no more."""
        lease = self._lent() if self._lent else None
        if lease is not None:
            lease.revoked = True
        self._lent = None


Claim = Ownership | Lease


class _Held:
    """An array with the lease under which it may be read, as NumPy's array protocol wants it."""

    __slots__ = ("__array_interface__", "_array", "_lease")

    def __init__(self, array: npt.NDArray[Any], lease: Lease) -> None:
        self._array = array
        self._lease = lease
        self.__array_interface__ = array.__array_interface__


def leased(array: npt.NDArray[Any], lease: Lease) -> npt.NDArray[Any]:
    """A read-only view of `array`; it and all views of it hold the lease as long as they live."""
    view = np.asarray(_Held(array, lease))
    view.flags.writeable = False
    return view
