# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes: the node table, a struct of arrays.

::

    live table ──snapshot()──► frozen copy ──fork()──► private copy on which a plan is tried
    (ClusterState's)               │                        │
                                   └──────take(rows)────────┴──► the same, fewer rows

A snapshot shares everything with its table, a fork only the content of Node objects. A table copies
what is shared before it changes it, if the other table still exists (`enbloc.model.copy_on_write`).
Arrays that a table returns are copies: they never change. Ledgers are too large to copy: those of a
snapshot or a fork may be read until its origin writes to its own.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from enbloc.model.amounts import HUGE, Amounts, held
from enbloc.model.copy_on_write import ArrayRight, Ownership
from enbloc.model.labels import Interned, Mask, Rows
from enbloc.model.node import Node, NodeChange, difference
from enbloc.model.node_columns import NodeColumns, resized
from enbloc.model.pods import Pod, PodSpec
from enbloc.model.requirements import Requirement
from enbloc.model.resources import ResourceSpace
from enbloc.model.selectors import Labels
from enbloc.model.taints import Taint

__all__ = ["Amounts", "Mask", "NodeLedgers", "Nodes", "Rows"]

Lines = npt.NDArray[np.intp]

#: Lines of the pods' matrix before the free amounts per resource: cpu and memory for scores.
_NONZERO: Final = 2
_MOST_CLASSES: Final = 8192
#: A class of more bytes than this is not kept to cache its delta.
_LARGE: Final = 16 * 1024
#: With more columns than this, the table looks for resources that no node offers any more.
_COLUMNS: Final = 64

#: Pairs of a cell's line and the amount to add to it.
_Huge = tuple[tuple[int, int], ...]

T = TypeVar("T")


class NodeLedgers(Protocol):
    """What pods hold beyond their nodes' resources, as attached to a node table."""

    def concerns(self, pod: Pod) -> bool:
        """Whether a pod may hold anything in these ledgers."""
        ...

    def place(self, pod: Pod, node: str, nodes: "Nodes", decided: Any) -> None:
        """Put a pod on a node; `decided` None = decide now what it gets there."""
        ...

    def remove(self, pod: Pod) -> None:
        """Take a pod off its node, and free what it held."""
        ...

    def fork(self) -> Self:
        """A copy with changes of its own; it may be read until this one changes."""
        ...


class Nodes:
    """The node table; rows are dense, and their order has no meaning.

    Read-only, except ClusterState's own table, and a fork for its owner.

    Args:
        space: the resources that have a column.
        ledgers: what pods hold beyond resources; owned by the table from now on.

    Attributes:
        space: the resources that have a column.
        version: grows when a node is added, changed or dropped, unless only its images changed.
        images_version: grows with each change that matters to readers of images.
        placed_version: grows with each `place`.
    """

    __slots__ = (
        "_cells",
        "_cells_right",
        "_columns",
        "_columns_right",
        "_compact_at",
        "_deltas",
        "_huge",
        "_indexes",
        "_ledgers",
        "_ledgers_right",
        "_ledgers_shared",
        "_rows",
        "_view",
        "images_version",
        "placed_version",
        "space",
        "version",
    )

    def __init__(self, space: ResourceSpace, ledgers: NodeLedgers) -> None:
        self.space = space
        self.version = 0
        self.images_version = 0
        self.placed_version = 0
        self._columns = NodeColumns(space)
        self._columns_right: ArrayRight = Ownership()
        self._cells_right: ArrayRight = Ownership()
        self._rows: Rows = slice(0, 0)
        self._cells: Amounts | None = np.zeros(
            (_NONZERO + len(space), self._columns.capacity), np.int64
        )
        self._view = self._cells[:, :0]
        self._deltas: dict[int, tuple[PodSpec, Amounts, _Huge]] = {}
        self._huge: dict[tuple[int, int], int] = {}
        self._compact_at = _COLUMNS
        self._indexes: dict[tuple[tuple[str, ...], int], tuple[Lines, int]] = {}
        self._ledgers = ledgers
        self._ledgers_right: ArrayRight = Ownership()
        #: Another table reads the same ledgers, and this one has a Lease on them.
        self._ledgers_shared = False

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return self._view.shape[1]

    @property
    def ledgers(self) -> NodeLedgers:
        """What pods hold beyond resources, read-only.

        Raises:
            RuntimeError: the ledgers from which this table's were taken have changed since.
        """
        if self._ledgers_right.revoked:
            raise RuntimeError("what pods hold has changed since this snapshot was taken")
        return self._ledgers

    @property
    def names(self) -> Sequence[str]:
        """The name of each row."""
        names = self._columns.names
        if isinstance(self._rows, slice):
            return names[self._rows]
        return [names[row] for row in self._rows]

    def row(self, name: str) -> int | None:
        """The row of a node; None if it is not in this table."""
        row = self._columns.index.get(name)
        if row is None:
            return None
        if isinstance(self._rows, slice):
            row -= self._rows.start
            return row if 0 <= row < len(self) else None
        found = np.flatnonzero(self._rows == row)
        return int(found[0]) if found.size else None

    def node(self, name: str) -> Node | None:
        """The node of that name; None if it is not in this table."""
        row = self.row(name)
        return None if row is None else self._columns.objects[self._base_row(row)]

    def named(self, names: tuple[str, ...]) -> Mask:
        """bool[N]: nodes that have one of these names."""
        mask = np.zeros(len(self), np.bool_)
        for name in names:
            row = self.row(name)
            if row is not None:
                mask[row] = True
                if not isinstance(self._rows, slice):  # it may be there more than once
                    mask |= self._rows == self._rows[row]
        return mask

    def allocatable(self, resource: str) -> Amounts:
        """int64[N]: what each node offers; zeros if no node has the resource."""
        column = self.space.find(resource)
        if column is None or column >= len(self._columns.allocatable):
            return np.zeros(len(self), np.int64)
        return self._read(self._columns.allocatable[column])

    def free(self, resource: str) -> Amounts:
        """int64[N]: allocatable less what placed pods request; below zero when overcommitted."""
        column = self.space.find(resource)
        if column is None or column + _NONZERO >= len(self._view):
            return np.zeros(len(self), np.int64)
        return _frozen(self._view[column + _NONZERO].copy())

    def requested(self, resource: str) -> Amounts:
        """int64[N]: what the pods placed on each node request."""
        return self.allocatable(resource) - self.free(resource)

    def allocatables(self, resources: tuple[str, ...]) -> Amounts:
        """int64[R, N]: as `allocatable`, for several resources at once."""
        matrix = self._columns.allocatable
        lines = self._lines(resources, 0, len(matrix))
        if lines is None:
            return np.stack([self.allocatable(resource) for resource in resources])
        if isinstance(self._rows, slice):
            return matrix[:, self._rows].take(lines, 0)
        return matrix.take(self._rows, 1).take(lines, 0)  # not of all rows first

    def frees(self, resources: tuple[str, ...]) -> Amounts:
        """int64[R, N]: as `free`, for several resources at once."""
        lines = self._lines(resources, _NONZERO, len(self._view))
        if lines is None:
            return np.stack([self.free(resource) for resource in resources])
        return self._view.take(lines, 0)  # as [lines], in half the time

    def _lines(self, resources: tuple[str, ...], first: int, end: int) -> Lines | None:
        """The lines of these resources in a matrix; None = it lacks one of them."""
        known = self._indexes.get((resources, first))
        if known is None:
            columns = [self.space.find(resource) for resource in resources]
            lines = [first + column for column in columns if column is not None]
            if len(lines) < len(columns):
                return None
            known = (np.array(lines, np.intp), max(lines, default=-1))
            self._indexes[(resources, first)] = known
        return known[0] if known[1] < end else None

    @property
    def nonzeros(self) -> Amounts:
        """int64[2, N]: `nonzero_cpu` and `nonzero_memory`."""
        return self._view[:_NONZERO].copy()

    @property
    def nonzero_cpu(self) -> Amounts:
        """int64[N], milli: requests with 100m for each container that names no cpu."""
        return _frozen(self._view[0].copy())

    @property
    def nonzero_memory(self) -> Amounts:
        """int64[N], bytes: requests with 200 MiB for each container that names no memory."""
        return _frozen(self._view[1].copy())

    @property
    def unschedulable(self) -> Mask:
        """bool[N]: `spec.unschedulable`."""
        return self._read(self._columns.unschedulable)

    @property
    def ready(self) -> Mask:
        """bool[N]: condition Ready is True."""
        return self._read(self._columns.ready)

    def labels_of(self, row: int) -> Labels:
        """The labels of one node."""
        return self._columns.labels.of(self._base_row(row))

    def label(self, key: str, value: str) -> Mask:
        """bool[N]: nodes whose label `key` is `value`."""
        return self._columns.labels.column(key).among((value,), self._rows)

    def has_label(self, key: str) -> Mask:
        """bool[N]: nodes that carry label `key`, whatever its value."""
        return self._columns.labels.column(key).cells[self._rows] != 0

    def label_values(self, key: str) -> Sequence[str | None]:
        """The value of label `key` of each node; None = it lacks it."""
        return self._columns.labels.column(key).values(self._rows)

    def domains(self, key: str) -> npt.NDArray[np.int32]:
        """int32[N]: the topology domain of each node, equal where label `key` has equal values.

        0 = the node lacks the label. Codes are below `domain_count(key)`, and valid for this table
        only; some may have no node.
        """
        return self._read(self._columns.labels.column(key).cells)

    def domain_count(self, key: str) -> int:
        """How many codes `domains(key)` may hold, including 0."""
        return len(self._columns.labels.column(key))

    def matches(self, requirement: Requirement) -> Mask:
        """bool[N]: nodes whose labels satisfy the requirement."""
        return self._columns.labels.matches(requirement, self._rows)

    def annotation(self, key: str, value: str) -> Mask:
        """bool[N]: nodes whose annotation `key` is `value`; only declared keys are kept."""
        return self._columns.annotations.column(key).among((value,), self._rows)

    def annotation_values(self, key: str) -> Sequence[str | None]:
        """The value of annotation `key` of each node; None = it lacks it."""
        return self._columns.annotations.column(key).values(self._rows)

    def image_bytes(self, name: str) -> Amounts:
        """int64[N]: the size of the image of that name on each node; 0 = it is not there."""
        sizes = self._columns.images.sizes(name, self._columns.capacity)
        return np.zeros(len(self), np.int64) if sizes is None else sizes[self._rows]

    def declares(self, features: tuple[str, ...]) -> Mask:
        """bool[N]: nodes that declare all of these features."""
        wanted = set(features)
        return self._asked(self._columns.features, wanted.issubset)

    def taints_where(self, predicate: Callable[[Taint], bool]) -> Mask:
        """bool[N]: nodes with any taint for which `predicate` holds.

        It is called once per distinct set of taints, not per node.
        """
        return self._asked(self._columns.taints, lambda taints: any(map(predicate, taints)))

    def count_taints(self, predicate: Callable[[Taint], bool]) -> Amounts:
        """int64[N]: how many taints of each node `predicate` holds for."""
        column = self._columns.taints
        return column.count(lambda taints: sum(map(predicate, taints)))[column.cells[self._rows]]

    def derived(self, name: Hashable, make: Callable[[], T]) -> T:
        """A value that `make` derives from node objects, cached by name until one changes."""
        whole = isinstance(self._rows, slice) and len(self) == len(self._columns.objects)
        return self._columns.derived(name, make) if whole else make()

    # ── deriving ─────────────────────────────────────────────────────────────────────────────

    def take(self, rows: Rows) -> "Nodes":
        """A table of some rows only; views for a slice, copies for an index array."""
        right = self._cells_right.lease() if isinstance(rows, slice) else Ownership().lease()
        return self._derive(self._view[:, rows], self._composed(rows), right)

    def with_more(
        self, rows: npt.NDArray[np.intp], spec: PodSpec, more: npt.NDArray[np.int64]
    ) -> "Nodes":
        """Some rows as they would be with further pods on each; counts only the pods' requests.

        Args:
            rows: intp[R]; a row may occur more than once.
            spec: the class of the pods; must be `countable`.
            more: int64[R], how many pods are added to each.
        """
        delta, _ = self._delta(spec)
        cells = self._view[:, rows]
        if len(delta) > len(cells):
            cells = np.pad(cells, ((0, len(delta) - len(cells)), (0, 0)))
        cells[: len(delta)] += delta[:, None] * more
        return self._derive(cells, self._composed(rows), Ownership().lease())

    def countable(self, spec: PodSpec) -> bool:
        """Whether every amount that a pod requests is small enough for sums in int64."""
        return not self._delta(spec)[1]

    def fork(self) -> "Nodes":
        """An independent copy: nobody else sees a `place` on it."""
        cells = self._view.copy()
        return self._derive(cells, self._rows, Ownership(), cells)

    def snapshot(self) -> "Nodes":
        """A frozen copy."""
        return self._derive(self._view, self._rows, self._cells_right.lease())

    def _derive(
        self, view: Amounts, rows: Rows, right: ArrayRight, cells: Amounts | None = None
    ) -> "Nodes":
        table = object.__new__(Nodes)
        table.space = self.space
        table.version = self.version
        table.images_version = self.images_version
        table.placed_version = self.placed_version
        table._columns = self._columns
        table._columns_right = self._columns_right.lease()
        table._rows = rows
        table._cells = cells
        table._cells_right = right
        table._view = view
        table._huge = self._huge
        table._compact_at = self._compact_at
        table._deltas = self._deltas
        table._indexes = self._indexes
        table._ledgers = self._ledgers
        table._ledgers_right = self._ledgers_right.lease()
        table._ledgers_shared = True
        return table

    def _composed(self, rows: Rows) -> Rows:
        if not isinstance(self._rows, slice):
            return self._rows[rows]
        if not isinstance(rows, slice):
            return rows % max(len(self), 1) + self._rows.start
        start, stop, step = rows.indices(len(self))
        first = self._rows.start
        if step != 1:
            return np.arange(start, stop, step) + first
        return slice(first + start, first + max(start, stop))

    def _base_row(self, row: int) -> int:
        """The row of the columns that a row of this table stands for."""
        return self._rows.start + row if isinstance(self._rows, slice) else int(self._rows[row])

    def _read(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return _frozen(column[self._rows].copy())

    def _asked(self, column: Interned[T], predicate: Callable[[T], bool]) -> Mask:
        return column.where(predicate).take(column.cells[self._rows])

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def add(self, row: int, pod: Pod, decided: object = None) -> None:
        """Put a pod on a row, with its requests, volumes and devices.

        Args:
            row: the node's row.
            pod: the pod.
            decided: what a plan decided for it; None = decide now.
        """
        spec = pod.spec
        self.place(row, spec)
        if spec.holds and self._ledgers.concerns(pod):
            name = self._columns.names[self._base_row(row)]
            self.own_ledgers().place(pod, name, self, decided)

    def remove(self, row: int, pod: Pod) -> None:
        """Take a pod off a row, and free what it held."""
        spec = pod.spec
        self.place(row, spec, -1)
        if spec.holds:  # whatever it held when it came
            self.own_ledgers().remove(pod)

    def own_ledgers(self) -> NodeLedgers:
        """The ledgers, writable; those of a fork or a snapshot are a copy of its own.

        Tables derived from ClusterState's table must not read their ledgers after it calls this.
        """
        if isinstance(self._ledgers_right, Ownership):
            self._ledgers_right.revoke()
        elif self._ledgers_shared:
            self._ledgers, self._ledgers_shared = self.ledgers.fork(), False
        return self._ledgers

    def place(self, row: int, spec: PodSpec, count: int = 1) -> None:
        """Add the requests of `count` alike pods to a row; a negative count removes them.

        Only on a fork, or by ClusterState on its own table.
        """
        delta, huge = self._delta(spec)
        if self._cells is None:
            raise TypeError("this node table is read-only; place pods on a fork() of it")
        lines, room = self._cells.shape
        column = self._own_cells((max(lines, len(delta)), room))[: len(delta), row]
        column += delta if count == 1 else count * delta
        if huge:
            self._count_huge(column, row, huge, count)
        self.placed_version += 1

    def _count_huge(self, column: Amounts, row: int, huge: _Huge, count: int) -> None:
        """Add huge amounts exactly, and put into the cells as much as these can hold."""
        sums = self._huge = dict(self._huge)  # snapshots and forks keep theirs
        for line, amount in huge:
            before = sums.get((line, row), 0)
            after = sums[line, row] = before + count * amount
            column[line] += held(after) - held(before)
            if not after:
                del sums[line, row]

    def new_resources(self, node: Node) -> frozenset[str]:
        """Resources that no node offered before; placed pods' requests for them are not counted."""
        return frozenset(name for name, _ in node.allocatable if self.space.find(name) is None)

    def put(self, node: Node) -> NodeChange:
        """Add a node, or update the one of that name; returns what changed. For ClusterState only.

        Placed pods that request any of its `new_resources` must be placed again.
        """
        known = self._columns.index.get(node.name)
        change = difference(None if known is None else self._columns.objects[known], node)
        if not change:
            return change
        if self.new_resources(node):
            self._deltas = {}
            for name, _ in node.allocatable:
                self.space.column(name)
        size = len(self._columns.objects)
        row = size if known is None else known
        columns, cells = self._own(max(size, row + 1))
        if NodeChange.ADDED in change or NodeChange.IMAGES in change:
            self.images_version += 1
        if change == NodeChange.IMAGES:
            columns.write_images(row, node)
            return change
        lines = slice(_NONZERO, _NONZERO + len(columns.allocatable))
        cells[lines, row] -= columns.allocatable[:, row]
        columns.write(row, node)
        cells[lines, row] += columns.allocatable[:, row]
        self._resize(max(size, row + 1))
        self._give_back_columns()
        return change

    def drop(self, name: str) -> int | None:
        """Remove a node, moving the last row into its place; returns its row, None if unknown.

        Pods placed on it are dropped; the caller keeps the pod table in step.
        """
        row = self._columns.index.get(name)
        if row is None:
            return None
        last = len(self._columns.objects) - 1
        columns, cells = self._own(last + 1)
        cells[:, row] = cells[:, last]
        cells[:, last] = 0
        if self._huge:
            self._huge = {
                (line, row if at == last else at): amount
                for (line, at), amount in self._huge.items()
                if at != row
            }
        columns.remove(row)
        self._resize(last)
        self.images_version += 1
        self._give_back_columns()
        return row

    def _give_back_columns(self) -> None:
        """Drop the columns of resources that no node offers, if they are half of many.

        Pods may still request them; they are placed again when a node offers one.
        """
        if len(self.space) <= self._compact_at:
            return
        offered: Mask = np.logical_or.reduce(self._columns.allocatable, axis=1)
        offered[: len(ResourceSpace())] = True
        kept = np.flatnonzero(offered)
        self._compact_at = max(_COLUMNS, 2 * len(kept))
        if 2 * len(kept) > len(offered):
            return
        assert self._cells is not None
        names = self.space.names
        self.space = ResourceSpace(names[line] for line in kept.tolist())
        self._columns = self._columns.only(self.space, kept)
        self._columns_right = Ownership()
        lines = np.concatenate((np.arange(_NONZERO), kept + _NONZERO))
        self._cells = self._cells.take(lines, 0)
        self._cells_right = Ownership()
        self._view = self._cells[:, : len(self._columns.objects)]
        now = {line: place for place, line in enumerate(lines.tolist())}
        self._huge = {
            (now[line], row): amount for (line, row), amount in self._huge.items() if line in now
        }
        self._deltas, self._indexes = {}, {}

    def _own(self, rows: int) -> tuple[NodeColumns, Amounts]:
        """Writable columns and cells, with space for `rows` and every resource."""
        whole = isinstance(self._rows, slice) and len(self) == len(self._columns.objects)
        if self._cells is None or not whole:
            raise TypeError("this node table is read-only; only ClusterState changes nodes")
        columns = self._columns
        fits = rows <= columns.capacity and len(columns.allocatable) == len(self.space)
        if not (fits and self._columns_right.exclusive):
            wide = columns.capacity if rows <= columns.capacity else 2 * columns.capacity
            columns = self._columns = columns.copy(wide)
            self._columns_right = Ownership()
        return columns, self._own_cells((_NONZERO + len(self.space), columns.capacity))

    def _own_cells(self, shape: tuple[int, int]) -> Amounts:
        """Writable cells of that shape."""
        assert self._cells is not None
        if self._cells.shape != shape or not self._cells_right.exclusive:
            self._cells = resized(self._cells, shape)
            self._cells_right = Ownership()
            self._view = self._cells[:, : len(self)]
        return self._cells

    def _resize(self, size: int) -> None:
        assert self._cells is not None
        self._rows = slice(0, size)
        self._view = self._cells[:, :size]
        self.version += 1

    def _delta(self, spec: PodSpec) -> tuple[Amounts, _Huge]:
        """What placing a pod of this class adds to each line of a row (int64[2 + R]).

        Returns separately the huge amounts by line, which are 0 in the array.
        """
        known = self._deltas.get(id(spec))
        if known is not None and known[0] is spec:
            return known[1], known[2]
        amounts = {0: spec.nonzero_cpu, 1: spec.nonzero_memory}
        for name, amount in spec.requests:
            column = self.space.find(name)
            if column is not None:
                amounts[_NONZERO + column] = -amount
        huge = tuple((line, amount) for line, amount in amounts.items() if abs(amount) >= HUGE)
        delta = np.zeros(_NONZERO + len(self.space), np.int64)
        for line, amount in amounts.items():
            if abs(amount) < HUGE:
                delta[line] = amount
        if len(self._deltas) >= _MOST_CLASSES:
            self._deltas.clear()
        if spec.size <= _LARGE:
            self._deltas[id(spec)] = (spec, delta, huge)
        return delta, huge


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.flags.writeable = False
    return array
