# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes: the node table, a struct of arrays.

::

    live table ──snapshot()──► frozen copy ──fork()──► private copy on which a plan is tried
    (ClusterState's)               │                        │
                                   └──────take(rows)────────┴──► the same, fewer rows

What Node objects say is shared by all of them and copied only when the live table changes it;
what pods take up is copied at once (a memcpy).
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.model.labels import allowed
from enbloc.model.node import Node, NodeChange, difference
from enbloc.model.node_columns import NodeColumns, resized
from enbloc.model.pods import PodSpec
from enbloc.model.requirements import Requirement
from enbloc.model.resources import ResourceSpace
from enbloc.model.taints import Taint

Mask = npt.NDArray[np.bool_]
Amounts = npt.NDArray[np.int64]
Rows = slice | npt.NDArray[np.int64]

#: Lines of the pods' matrix before the free room per resource: cpu and memory for scores.
_NONZERO: Final = 2
_MOST_CLASSES: Final = 8192


class Nodes:
    """The node table; rows are dense and their order means nothing.

    Read-only for everyone but ClusterState's own table and the owner of a fork.

    Attributes:
        space: the resources that have a column.
        version: grows when a node is added, changed or dropped.
        placed_version: grows with each `place`.
    """

    __slots__ = (
        "_cells",
        "_columns",
        "_deltas",
        "_rows",
        "_shared",
        "_view",
        "placed_version",
        "space",
        "version",
    )

    def __init__(self, space: ResourceSpace) -> None:
        self.space = space
        self.version = 0
        self.placed_version = 0
        self._columns = NodeColumns(space)
        self._shared = False
        self._rows: Rows = slice(0, 0)
        self._cells: Amounts | None = np.zeros(
            (_NONZERO + len(space), self._columns.capacity), np.int64
        )
        self._view = self._cells[:, :0]
        self._deltas: dict[int, tuple[PodSpec, Amounts]] = {}

    # ── reading ──────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return self._view.shape[1]

    @property
    def names(self) -> Sequence[str]:
        """The name of each row."""
        rows = self._rows
        if isinstance(rows, slice):
            names = self._columns.names
            return names if len(self) == len(names) else names[rows]
        return [self._columns.names[row] for row in rows]

    def row(self, name: str) -> int | None:
        """The row of a node; None if it has none here."""
        row = self._columns.index.get(name)
        if row is None:
            return None
        if isinstance(self._rows, slice):
            row -= self._rows.start
            return row if 0 <= row < len(self) else None
        found = np.flatnonzero(self._rows == row)
        return int(found[0]) if found.size else None

    def named(self, names: tuple[str, ...]) -> Mask:
        """bool[N]: nodes that have one of these names."""
        mask = np.zeros(len(self), np.bool_)
        for name in names:
            row = self.row(name)
            if row is not None:
                mask[row] = True
        return mask

    def allocatable(self, resource: str) -> Amounts:
        """int64[N]: what each node offers; zeros when no node has it."""
        column = self.space.find(resource)
        if column is None or column >= len(self._columns.allocatable):
            return np.zeros(len(self), np.int64)
        return self._read(self._columns.allocatable[column])

    def free(self, resource: str) -> Amounts:
        """int64[N]: allocatable less what placed pods request; below zero when overcommitted."""
        column = self.space.find(resource)
        if column is None or column + _NONZERO >= len(self._view):
            return np.zeros(len(self), np.int64)
        return self._view[column + _NONZERO]

    def requested(self, resource: str) -> Amounts:
        """int64[N]: what the pods placed on each node request."""
        return self.allocatable(resource) - self.free(resource)

    @property
    def nonzero_cpu(self) -> Amounts:
        """int64[N], milli: requests with 100m for each container that names no cpu."""
        return self._view[0]

    @property
    def nonzero_memory(self) -> Amounts:
        """int64[N], bytes: requests with 200 MiB for each container that names no memory."""
        return self._view[1]

    @property
    def unschedulable(self) -> Mask:
        """bool[N]: `spec.unschedulable`."""
        return self._read(self._columns.unschedulable)

    @property
    def ready(self) -> Mask:
        """bool[N]: condition Ready is True."""
        return self._read(self._columns.ready)

    def label(self, key: str, value: str) -> Mask:
        """bool[N]: nodes whose label `key` is `value`."""
        column = self._columns.labels.get(key)
        if column is None:
            return np.zeros(len(self), np.bool_)
        return column.cells[self._rows] == column.code(value)

    def has_label(self, key: str) -> Mask:
        """bool[N]: nodes that carry label `key`, whatever its value."""
        column = self._columns.labels.get(key)
        if column is None:
            return np.zeros(len(self), np.bool_)
        return column.cells[self._rows] != 0

    def matches(self, requirement: Requirement) -> Mask:
        """bool[N]: nodes whose labels satisfy the requirement."""
        column = self._columns.labels.get(requirement.key)
        if column is None:
            return np.full(len(self), requirement.matches(None), np.bool_)
        return allowed(column, requirement)[column.cells[self._rows]]

    def taints_where(self, predicate: Callable[[Taint], bool]) -> Mask:
        """bool[N]: nodes with any taint for which `predicate` holds.

        It is asked once per distinct set of taints, not per node.
        """
        column = self._columns.taints
        return column.where(lambda taints: any(map(predicate, taints)))[column.cells[self._rows]]

    def count_taints(self, predicate: Callable[[Taint], bool]) -> Amounts:
        """int64[N]: how many taints of each node `predicate` holds for."""
        column = self._columns.taints
        return column.count(lambda taints: sum(map(predicate, taints)))[column.cells[self._rows]]

    # ── deriving ─────────────────────────────────────────────────────────────────────────────

    def take(self, rows: Rows) -> "Nodes":
        """The same facts for some rows only; views for a slice, copies for an index array."""
        return self._derive(self._view[:, rows], self._composed(rows))

    def fork(self) -> "Nodes":
        """A copy of one's own: `place` on it is seen by nobody else."""
        cells = self._view.copy()
        return self._derive(_frozen(cells), self._rows, cells)

    def snapshot(self) -> "Nodes":
        """A frozen copy."""
        return self._derive(_frozen(self._view.copy()), self._rows)

    def _derive(self, view: Amounts, rows: Rows, cells: Amounts | None = None) -> "Nodes":
        self._shared = True
        table = object.__new__(Nodes)
        table.space = self.space
        table.version = self.version
        table.placed_version = self.placed_version
        table._columns = self._columns
        table._shared = True
        table._rows = rows
        table._cells = cells
        table._view = view
        table._deltas = self._deltas
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

    def _read(self, column: npt.NDArray) -> npt.NDArray:  # type: ignore[type-arg]  # any dtype
        cut = column[self._rows]
        cut.flags.writeable = False
        return cut

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def place(self, row: int, spec: PodSpec, sign: int = 1) -> None:
        """Count a pod's requests on a row; `sign=-1` takes them off again.

        Only on a fork, or by ClusterState on its own table.
        """
        delta = self._delta(spec)
        cells = self._cells
        if cells is None:
            raise TypeError("this node table is read-only; place pods on a fork() of it")
        if len(cells) < len(delta):
            cells = self._widen(len(delta))
        column = cells[: len(delta), row]
        if sign > 0:
            column += delta
        else:
            column -= delta
        self.placed_version += 1

    def put(self, node: Node) -> NodeChange:
        """Add a node, or update the one of that name; says what changed. ClusterState's only."""
        row = self._columns.index.get(node.name)
        change = difference(None if row is None else self._columns.objects[row], node)
        if not change:
            return change
        size = len(self._columns.names)
        for name, _ in node.allocatable:
            self.space.column(name)
        columns, cells = self._own(size + 1 if row is None else size)
        if row is None:
            row, size = size, size + 1
        lines = slice(_NONZERO, _NONZERO + len(columns.allocatable))
        cells[lines, row] -= columns.allocatable[:, row]
        columns.write(row, node)
        cells[lines, row] += columns.allocatable[:, row]
        self._resize(size)
        return change

    def drop(self, name: str) -> int | None:
        """Remove a node by moving the last row into its place; returns its row, None if unknown.

        What was placed on it is forgotten; the caller keeps the pod table in step.
        """
        row = self._columns.index.get(name)
        if row is None:
            return None
        last = len(self._columns.names) - 1
        columns, cells = self._own(last + 1)
        cells[:, row] = cells[:, last]
        cells[:, last] = 0
        columns.remove(row)
        self._resize(last)
        return row

    def _own(self, rows: int) -> tuple[NodeColumns, Amounts]:
        """Columns and cells that may be written, with room for `rows` and every resource."""
        if self._cells is None or len(self) != len(self._columns.names):
            raise TypeError("this node table is read-only; only ClusterState changes nodes")
        columns = self._columns
        fits = rows <= columns.capacity and len(columns.allocatable) == len(self.space)
        if self._shared or not fits:
            wide = columns.capacity if rows <= columns.capacity else 2 * columns.capacity
            columns = self._columns = columns.copy(wide)
            self._shared = False
        shape = (_NONZERO + len(self.space), columns.capacity)
        if self._cells.shape != shape:
            self._cells = resized(self._cells, shape)
        return columns, self._cells

    def _widen(self, lines: int) -> Amounts:
        """Room for pods' requests of resources that no node has offered yet."""
        assert self._cells is not None
        cells: Amounts = resized(self._cells, (lines, self._cells.shape[1]))
        view = cells[:, : len(self)]
        self._view = view if self._view.flags.writeable else _frozen(view)
        self._cells = cells
        return cells

    def _resize(self, size: int) -> None:
        assert self._cells is not None
        self._rows = slice(0, size)
        self._view = self._cells[:, :size]
        self.version += 1

    def _delta(self, spec: PodSpec) -> Amounts:
        """int64[2 + R]: what placing a pod of this class adds to each line of a row."""
        known = self._deltas.get(id(spec))
        if known is not None and known[0] is spec:
            return known[1]
        columns = [(self.space.column(name), amount) for name, amount in spec.requests]
        delta = np.zeros(_NONZERO + len(self.space), np.int64)
        delta[:_NONZERO] = spec.nonzero_cpu, spec.nonzero_memory
        for column, amount in columns:
            delta[_NONZERO + column] -= amount
        if len(self._deltas) >= _MOST_CLASSES:
            self._deltas.clear()
        self._deltas[id(spec)] = (spec, delta)
        return delta


def _frozen(array: npt.NDArray) -> npt.NDArray:  # type: ignore[type-arg]  # any dtype
    """A view of `array` that refuses writes."""
    view = array.view()
    view.flags.writeable = False
    return view
