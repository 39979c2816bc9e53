# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeColumns: what the Node objects say, one column per attribute."""

from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.model.labels import Interned
from enbloc.model.node import Node
from enbloc.model.resources import ResourceSpace
from enbloc.model.taints import Taint

_FIRST_CAPACITY: Final = 64


class NodeColumns:
    """Struct of arrays over the nodes, dense: rows 0 … size − 1 are in use.

    Shared by every snapshot and fork of a table; the table that wants to change them makes a
    `copy` first. Rows from `size` on are zero.

    Attributes:
        allocatable: int64[R, capacity], one line per column of the ResourceSpace.
        objects: the Node each row was read from.
    """

    __slots__ = (
        "allocatable",
        "index",
        "labels",
        "names",
        "objects",
        "ready",
        "space",
        "taints",
        "unschedulable",
    )

    def __init__(self, space: ResourceSpace) -> None:
        self.space = space
        self.names: list[str] = []
        self.index: dict[str, int] = {}
        self.objects: list[Node] = []
        self.labels: dict[str, Interned[str | None]] = {}
        self.taints: Interned[tuple[Taint, ...]] = Interned((), _FIRST_CAPACITY)
        self.allocatable: npt.NDArray[np.int64] = np.zeros((len(space), _FIRST_CAPACITY), np.int64)
        self.unschedulable: npt.NDArray[np.bool_] = np.zeros(_FIRST_CAPACITY, np.bool_)
        self.ready: npt.NDArray[np.bool_] = np.zeros(_FIRST_CAPACITY, np.bool_)

    @property
    def capacity(self) -> int:
        """Rows that fit before the arrays are made longer."""
        return int(self.allocatable.shape[1])

    def copy(self, capacity: int = 0) -> "NodeColumns":
        """Columns of one's own, with room for at least `capacity` rows."""
        size = len(self.names)
        wide = max(capacity, self.capacity)
        twin = NodeColumns(self.space)
        twin.names = self.names.copy()
        twin.index = self.index.copy()
        twin.objects = self.objects.copy()
        twin.labels = {
            key: column.copy(size, wide)
            for key, column in self.labels.items()
            if column.cells.any()
        }
        twin.taints = self.taints.copy(size, wide)
        twin.allocatable = resized(self.allocatable, (len(self.space), wide))
        twin.unschedulable = resized(self.unschedulable, (wide,))
        twin.ready = resized(self.ready, (wide,))
        return twin

    def write(self, row: int, node: Node) -> None:
        """Make `row` (an existing one, or the next) say what `node` says."""
        if row == len(self.names):
            self.names.append(node.name)
            self.objects.append(node)
            self.index[node.name] = row
            old_keys: set[str] = set()
        else:
            old_keys = {key for key, _ in self.objects[row].labels}
            self.objects[row] = node
        for key, value in node.labels:
            column = self.labels.get(key)
            if column is None:
                column = self.labels[key] = Interned(None, self.capacity)
            column.set(row, value)
            old_keys.discard(key)
        for key in old_keys:
            self.labels[key].set(row, None)
        self.taints.set(row, node.taints)
        self.unschedulable[row] = node.unschedulable
        self.ready[row] = node.ready
        self.allocatable[:, row] = 0
        for name, amount in node.allocatable:
            self.allocatable[self.space.column(name), row] = amount

    def remove(self, row: int) -> None:
        """Take a row out by moving the last one into its place."""
        last = len(self.names) - 1
        for cells in self._cells():
            cells[..., row] = cells[..., last]
            cells[..., last] = 0
        del self.index[self.names[row]]
        name, node = self.names.pop(), self.objects.pop()
        if row != last:
            self.names[row], self.objects[row] = name, node
            self.index[name] = row

    def _cells(self) -> list[npt.NDArray[np.generic]]:
        interned = [column.cells for column in self.labels.values()]
        return [
            *interned, self.taints.cells, self.allocatable, self.unschedulable, self.ready,
        ]  # fmt: skip


def resized(array: npt.NDArray[np.generic], shape: tuple[int, ...]) -> npt.NDArray:  # type: ignore[type-arg]  # dtype in = dtype out, which the stubs cannot say
    """A copy of `array` with zeros (or False) in what `shape` adds."""
    wider = np.zeros(shape, array.dtype)
    wider[tuple(slice(0, length) for length in array.shape)] = array
    return wider
