# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeLog: which nodes have changed since a reader last looked."""

from collections.abc import Collection, Iterable
from typing import Final

#: How many changes are kept at least; a reader further behind may have to look at all nodes.
LONGEST: Final = 16_384


class NodeLog:
    """The names of nodes in the order of their changes; only the latest are kept."""

    __slots__ = ("_first", "_names")

    def __init__(self) -> None:
        self._first = 0
        self._names: list[str] = []

    @property
    def end(self) -> int:
        """The number of changes so far."""
        return self._first + len(self._names)

    def note(self, names: Iterable[str]) -> None:
        """Record that these nodes have changed."""
        self._names += names
        if len(self._names) > 2 * LONGEST:
            dropped = len(self._names) - LONGEST
            del self._names[:dropped]
            self._first += dropped

    def since(self, position: int) -> Collection[str] | None:
        """The nodes that changed since `position`; None = the log does not reach back so far."""
        if position < self._first:
            return None
        return set(self._names[position - self._first :])
