# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""NodeColumns: the content of the Node objects, one column per attribute."""

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from enbloc.model.images import Images
from enbloc.model.labels import Interned, LabelColumns
from enbloc.model.node import Node
from enbloc.model.resources import ResourceSpace
from enbloc.model.taints import Taint

_FIRST_CAPACITY: Final = 64
_MOST_DERIVED: Final = 16

T = TypeVar("T")


class NodeColumns:
    """Struct of arrays over the nodes, dense: rows 0 … size − 1 are in use.

    Shared by every snapshot and fork of a table; a table that changes them while they are shared
    makes a `copy` first. Rows from `size` on are zero.

    Attributes:
        allocatable: int64[R, capacity], one line per column of the ResourceSpace.
        objects: the Node each row was read from.
    """

    __slots__ = (
        "_derived",
        "_names",
        "allocatable",
        "annotations",
        "features",
        "images",
        "index",
        "labels",
        "objects",
        "ready",
        "space",
        "taints",
        "unschedulable",
    )

    def __init__(self, space: ResourceSpace) -> None:
        self.space = space
        self.index: dict[str, int] = {}
        self.objects: list[Node] = []
        self.labels = LabelColumns()
        self.annotations = LabelColumns()
        self.images = Images()
        self.taints: Interned[tuple[Taint, ...]] = Interned((), _FIRST_CAPACITY)
        self.features: Interned[tuple[str, ...]] = Interned((), _FIRST_CAPACITY)
        self.allocatable: npt.NDArray[np.int64] = np.zeros((len(space), _FIRST_CAPACITY), np.int64)
        self.unschedulable: npt.NDArray[np.bool_] = np.zeros(_FIRST_CAPACITY, np.bool_)
        self.ready: npt.NDArray[np.bool_] = np.zeros(_FIRST_CAPACITY, np.bool_)
        self._names: tuple[str, ...] | None = ()
        #: Values derived from these columns, by name.
        self._derived: dict[Hashable, Any] = {}

    @property
    def capacity(self) -> int:
        """How many rows fit before the arrays grow."""
        return int(self.allocatable.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each row."""
        if self._names is None:
            self._names = tuple(node.name for node in self.objects)
        return self._names

    def copy(self, capacity: int) -> "NodeColumns":
        """An independent copy with space for `capacity` rows, at least as many as now."""
        twin = NodeColumns(self.space)
        twin.index = self.index.copy()
        twin.objects = self.objects.copy()
        twin.labels = self.labels.copy()
        twin.annotations = self.annotations.copy()
        twin.images = self.images.copy()
        twin.taints = self.taints.copy(capacity)
        twin.features = self.features.copy(capacity)
        twin.allocatable = resized(self.allocatable, (len(self.space), capacity))
        twin.unschedulable = resized(self.unschedulable, (capacity,))
        twin.ready = resized(self.ready, (capacity,))
        twin._names = self._names
        twin._derived = self._derived.copy()
        return twin

    def only(self, space: ResourceSpace, lines: npt.NDArray[np.intp]) -> "NodeColumns":
        """An independent copy with only the resources on these lines, numbered as in `space`."""
        twin = self.copy(self.capacity)
        twin.space = space
        twin.allocatable = self.allocatable.take(lines, 0)
        return twin

    def derived(self, name: Hashable, make: Callable[[], T]) -> T:
        """A value that `make` derives from all but the images; cached until a row changes.

        Args:
            name: the value's name; only a few values are kept.
            make: derives the value from these columns.
        """
        if name not in self._derived:
            if len(self._derived) >= _MOST_DERIVED:
                del self._derived[next(iter(self._derived))]
            self._derived[name] = make()
        found: T = self._derived[name]
        return found

    def write(self, row: int, node: Node) -> None:
        """Write `node` to `row`, an existing one or the next."""
        self._derived.clear()
        if row == len(self.objects):
            self.objects.append(node)
            self.index[node.name] = row
            self._names = None
            images: tuple[tuple[str, int], ...] = ()
        else:
            images = self.objects[row].images
            self.objects[row] = node
        self.images.write(row, images, node.images)
        self.labels.write(row, node.labels)
        self.annotations.write(row, node.annotations)
        self.taints.set(row, node.taints)
        self.features.set(row, node.features)
        self.unschedulable[row] = node.unschedulable
        self.ready[row] = node.ready
        self.allocatable[:, row] = 0
        for name, amount in node.allocatable:
            self.allocatable[self.space.column(name), row] = amount

    def write_images(self, row: int, node: Node) -> None:
        """As `write`, if only the images differ from the row."""
        self.images.write(row, self.objects[row].images, node.images)
        self.objects[row] = node

    def remove(self, row: int) -> None:
        """Remove a row by moving the last one into its place."""
        self._derived.clear()
        last = len(self.objects) - 1
        self.images.write(row, self.objects[row].images, ())
        self.labels.remove(row)
        self.annotations.remove(row)
        self.taints.move(row, last)
        self.features.move(row, last)
        for cells in self._cells():
            cells[..., row] = cells[..., last]
            cells[..., last] = 0
        del self.index[self.objects[row].name]
        node = self.objects.pop()
        if row != last:
            self.images.move(row, last, node.images)
            self.objects[row] = node
            self.index[node.name] = row
        self._names = None

    def _cells(self) -> tuple[npt.NDArray[Any], ...]:
        return self.allocatable, self.unschedulable, self.ready


def resized(array: npt.NDArray[np.generic], shape: tuple[int, ...]) -> npt.NDArray:  # type: ignore[type-arg]  # dtype in = dtype out, which the stubs cannot say
    """A copy of `array` with zeros (or False) where `shape` is larger."""
    wider = np.zeros(shape, array.dtype)
    wider[tuple(slice(0, length) for length in array.shape)] = array
    return wider
