# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeLog: on which nodes something has changed since somebody looked."""

from collections.abc import Collection, Iterable
from typing import Final

#: Who is further behind than so many changes has to look at all nodes.
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
        """Something about these nodes has changed."""
        self._names += names
        if len(self._names) > 2 * LONGEST:
            dropped = len(self._names) - LONGEST
            del self._names[:dropped]
            self._first += dropped

    def since(self, position: int) -> Collection[str] | None:
        """The nodes that changed after so many changes; None = that is not kept any more."""
        if position < self._first:
            return None
        return set(self._names[position - self._first :])
