# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Leases: who may write arrays that several tables read.

::

    owner (Ownership) ──lease()──► reader (Lease) ──lease()──► reader (the same Lease)
      │ writes in place while nobody holds a Lease; else it copies and starts a new Ownership

A lease ends when its reader is garbage-collected. Where a copy costs too much, the owner revokes
the leases instead, and their holders may no longer read.
"""

import weakref
from typing import Any

import numpy as np
import numpy.typing as npt


class Lease:
    """The right to read arrays, which do not change for as long as this object lives.

    Attributes:
        revoked: the owner has changed the arrays in place.
    """

    __slots__ = ("__weakref__", "revoked")

    exclusive = False

    def __init__(self) -> None:
        self.revoked = False

    def lease(self) -> "Lease":
        """A lease for another reader of the same arrays."""
        return self


class Ownership:
    """The right to write arrays: in place if `exclusive`, else after copying them."""

    __slots__ = ("_lent",)

    revoked = False

    def __init__(self) -> None:
        self._lent: weakref.ref[Lease] | None = None

    @property
    def exclusive(self) -> bool:
        """Whether nobody else reads the arrays."""
        return self._lent is None or self._lent() is None

    def lease(self) -> Lease:
        """The lease for readers of the arrays; one object for all of them."""
        lease = self._lent() if self._lent else None
        if lease is None:
            lease = Lease()
            self._lent = weakref.ref(lease)
        return lease

    def revoke(self) -> None:
        """Revoke the readers' lease, because the arrays change in place."""
        lease = self._lent() if self._lent else None
        if lease is not None:
            lease.revoked = True
        self._lent = None


ArrayRight = Ownership | Lease


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
