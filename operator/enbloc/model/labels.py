# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Columns of interned values, and label requirements answered for all rows at once."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, Generic, TypeVar, assert_never

import numpy as np
import numpy.typing as npt

from enbloc.model.requirements import Operator, Requirement, integer
from enbloc.model.selectors import Labels

T = TypeVar("T")

Codes = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]
Rows = slice | npt.NDArray[np.int64]

#: A column looks for unused values when it has this many new ones.
_SLACK: Final = 256
#: It also does when the new ones have this many bytes, if sizes are known.
_SLACK_BYTES: Final = 16 * 2**20
#: How many keys have a column at a time. Each costs 4 bytes per row.
_MOST_KEYS: Final = 256


class Interned(Generic[T]):
    """A column of values stored as codes, so that predicates run once per distinct value.

    Code 0 is `missing`. `size` gives the approximate bytes of a value; None = few. Copies share the
    list of values, which only grows. When a column finds most values unused, or too many bytes, it
    renumbers the used ones for itself alone.

    Attributes:
        cells: int32[capacity], the code of each row.
    """

    __slots__ = ("_bytes", "_codes", "_given", "_integers", "_latest", "_limit", "_most", "_size",
                 "_values", "cells")  # fmt: skip

    def __init__(self, missing: T, capacity: int, size: Callable[[T], int] | None = None) -> None:
        self._values = [missing]
        self._codes = {missing: 0}
        #: The last value given to `set`, and its code.
        self._given, self._latest = missing, 0
        self._integers: tuple[npt.NDArray[np.int64], Mask] | None = None
        self._limit = _SLACK
        self._size = size
        self._bytes, self._most = 0, _SLACK_BYTES
        self.cells: Codes = np.zeros(capacity, np.int32)

    def __len__(self) -> int:
        """The number of codes: D."""
        return len(self._values)

    def set(self, row: int, value: T) -> None:
        """Give a row its value."""
        if self._given is value:  # to hash a large one is dear, and many rows share it
            self.cells[row] = self._latest
            return
        code = self._codes.get(value)
        if code is None:
            if self._size is not None:
                self._bytes += self._size(value)
            if len(self._values) >= self._limit or self._bytes > self._most:
                self._renumber()
            code = self._codes[value] = len(self._values)
            self._values.append(value)
        self.cells[row] = self._latest = code
        self._given = value

    def fill(self, values: Iterable[T]) -> None:
        """Set the values of the first rows of a new column; faster than `set`."""
        codes = self._codes
        cells = [codes.setdefault(value, len(codes)) for value in values]
        self._values += list(codes)[1:]
        self._limit = 2 * len(codes) + _SLACK
        self.cells[: len(cells)] = cells

    def move(self, row: int, last: int) -> None:
        """Move the value of `last` to `row`."""
        self.cells[row] = self.cells[last]
        self.cells[last] = 0

    def code(self, value: T) -> int:
        """The code of a value; -1 = no row has it."""
        return self._codes.get(value, -1)

    def value(self, row: int) -> T:
        """The value of a row."""
        return self._values[int(self.cells[row])]

    def values(self, rows: Rows) -> list[T]:
        """The values of these rows."""
        return [self._values[code] for code in self.cells[rows].tolist()]

    def where(self, predicate: Callable[[T], bool]) -> Mask:
        """bool[D], by code: `predicate` of each of the D distinct values."""
        return np.fromiter(map(predicate, self._values), np.bool_, len(self._values))

    def count(self, measure: Callable[[T], int]) -> npt.NDArray[np.int64]:
        """int64[D], by code: `measure` of each of the D distinct values."""
        return np.fromiter(map(measure, self._values), np.int64, len(self._values))

    def among(self, values: Collection[T], rows: Rows) -> Mask:
        """bool[rows]: whether the value of each row is one of `values`."""
        cells = self.cells[rows]
        codes = [code for value in values if (code := self._codes.get(value)) is not None]
        if len(codes) == 1:
            return cells == codes[0]
        found = np.zeros(len(self._values), np.bool_)
        found[codes] = True
        return found.take(cells)

    def satisfies(self: "Interned[str | None]", requirement: Requirement, rows: Rows) -> Mask:
        """bool[rows]: whether each row's value, as that of a label, satisfies the requirement."""
        match requirement.operator:
            case Operator.IN:
                return self.among(requirement.values, rows)
            case Operator.NOT_IN:
                return ~self.among(requirement.values, rows)
            case Operator.EXISTS:
                return self.cells[rows] != 0
            case Operator.DOES_NOT_EXIST:
                return self.cells[rows] == 0
            case Operator.GT | Operator.LT:
                return self._compared(requirement).take(self.cells[rows])
            case _:
                assert_never(requirement.operator)

    def _compared(self: "Interned[str | None]", requirement: Requirement) -> Mask:
        """bool[D], by code: which values are integers above or below the requirement's one."""
        known = self._integers
        if known is None or len(known[0]) != len(self._values):
            read = [None if value is None else integer(value) for value in self._values]
            numbers = np.array([number or 0 for number in read], np.int64)
            known = self._integers = numbers, np.array([number is not None for number in read])
        limit = integer(requirement.values[0]) if len(requirement.values) == 1 else None
        if limit is None:
            return np.zeros(len(self._values), np.bool_)
        numbers, are = known
        above = requirement.operator is Operator.GT
        return are & ((numbers > limit) if above else (numbers < limit))

    def copy(self, capacity: int) -> "Interned[T]":
        """An independent copy of the column, with space for `capacity` rows."""
        twin: Interned[T] = object.__new__(Interned)
        twin._values, twin._codes, twin._limit = self._values, self._codes, self._limit
        twin._integers, twin._given, twin._latest = self._integers, self._given, self._latest
        twin._size, twin._bytes, twin._most = self._size, self._bytes, self._most
        twin.cells = np.zeros(capacity, np.int32)
        twin.cells[: len(self.cells)] = self.cells
        return twin

    def _renumber(self) -> None:
        used = np.zeros(len(self._values), np.bool_)
        used[self.cells] = True
        used[0] = True
        kept = np.flatnonzero(used)
        if 2 * len(kept) <= len(self._values) or self._bytes > self._most:
            numbers = np.zeros(len(self._values), np.int32)
            numbers[kept] = np.arange(len(kept))
            self.cells = numbers.take(self.cells)
            self._values = [self._values[code] for code in kept]
            self._codes = {value: code for code, value in enumerate(self._values)}
            self._integers, self._given, self._latest = None, self._values[0], 0
        self._limit = 2 * len(self._values) + _SLACK
        if self._size is not None:
            self._bytes = sum(map(self._size, self._values))
            self._most = 2 * self._bytes + _SLACK_BYTES


class LabelColumns:
    """The labels of many rows, with a column for each key that is asked about.

    A column is made when its key is first asked about, and kept up to date from then on: of a
    cluster's many keys, selectors use few. A key that no row has gets no column, because selectors
    may name any number of those.
    """

    __slots__ = ("_capacity", "_carried", "_columns", "_rows")

    def __init__(self) -> None:
        self._rows: list[Labels] = []
        self._carried: dict[str, int] = {}
        self._columns: dict[str, Interned[str | None]] = {}
        self._capacity = _SLACK

    def of(self, row: int) -> Labels:
        """The labels of one row."""
        return self._rows[row]

    def column(self, key: str) -> Interned[str | None]:
        """The column of a key; None = the row has no such label."""
        column = self._columns.pop(key, None)
        if column is None:
            if key not in self._carried:
                return Interned(None, self._capacity)
            column = self._made(key)
            if len(self._columns) >= _MOST_KEYS:
                del self._columns[next(iter(self._columns))]
        # The least recently used column comes first.
        self._columns[key] = column
        return column

    def matches(self, requirement: Requirement, rows: Rows) -> Mask:
        """bool[rows]: whether each row's labels satisfy the requirement."""
        return self.column(requirement.key).satisfies(requirement, rows)

    def write(self, row: int, labels: Labels) -> None:
        """Set the labels of an existing row, or of the next one."""
        if row == len(self._rows):
            self._append()
        old = self._rows[row]
        self._rows[row] = labels
        if old == labels:
            return
        self._count(old, labels)
        if not self._columns:
            return
        for key, value in {**dict.fromkeys(dict(old)), **dict(labels)}.items():
            column = self._columns.get(key)
            if column is not None:
                column.set(row, value)

    def remove(self, row: int) -> None:
        """Remove a row by moving the last one into its place."""
        last = len(self._rows) - 1
        for column in self._columns.values():
            column.move(row, last)
        self._count(self._rows[row], ())
        labels = self._rows.pop()
        if row != last:
            self._rows[row] = labels

    def copy(self) -> "LabelColumns":
        """An independent copy."""
        twin = LabelColumns()
        twin._rows = self._rows.copy()
        twin._carried = self._carried.copy()
        twin._capacity = self._capacity
        twin._columns = {key: column.copy(self._capacity) for key, column in self._columns.items()}
        return twin

    def _count(self, old: Labels, new: Labels) -> None:
        """Update the counts of keys when a row changes from `old` to `new`."""
        carried = self._carried
        for key, _ in new:
            carried[key] = carried.get(key, 0) + 1
        for key, _ in old:
            if carried[key] > 1:
                carried[key] -= 1
            else:
                del carried[key]

    def _append(self) -> None:
        self._rows.append(())
        if len(self._rows) > self._capacity:
            self._capacity *= 2
            columns = self._columns.items()
            self._columns = {key: column.copy(self._capacity) for key, column in columns}

    def _made(self, key: str) -> Interned[str | None]:
        column: Interned[str | None] = Interned(None, self._capacity)
        column.fill(self._values(key))
        return column

    def _values(self, key: str) -> Iterator[str | None]:
        for labels in self._rows:
            for name, value in labels:
                if name == key:
                    yield value
                    break
            else:
                yield None
