# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Label requirements, compiled to masks over interned columns."""

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from enbloc.model.requirements import Operator, Requirement

T = TypeVar("T")


class Interned(Generic[T]):
    """A column of values kept as codes, so that a question is asked once per distinct value.

    Code 0 is `missing`. Values are append-only until `copy` finds most of them unused.

    Attributes:
        cells: int32[capacity], the code of each row.
    """

    __slots__ = ("_codes", "_values", "cells")

    def __init__(self, missing: T, capacity: int) -> None:
        self._values = [missing]
        self._codes = {missing: 0}
        self.cells: npt.NDArray[np.int32] = np.zeros(capacity, np.int32)

    def set(self, row: int, value: T) -> None:
        """Give a row its value."""
        code = self._codes.get(value)
        if code is None:
            code = self._codes[value] = len(self._values)
            self._values.append(value)
        self.cells[row] = code

    def code(self, value: T) -> int:
        """The code of a value; -1 = no row ever had it."""
        return self._codes.get(value, -1)

    def value(self, row: int) -> T:
        """The value of a row."""
        return self._values[int(self.cells[row])]

    def where(self, predicate: Callable[[T], bool]) -> npt.NDArray[np.bool_]:
        """bool[D], by code: what `predicate` says of each of the D distinct values."""
        return np.fromiter(map(predicate, self._values), np.bool_, len(self._values))

    def count(self, measure: Callable[[T], int]) -> npt.NDArray[np.int64]:
        """int64[D], by code: what `measure` says of each of the D distinct values."""
        return np.fromiter(map(measure, self._values), np.int64, len(self._values))

    def codes_of(self, values: tuple[T, ...]) -> npt.NDArray[np.bool_]:
        """bool[D], by code: whether the value is one of `values`."""
        found = np.zeros(len(self._values), np.bool_)
        for value in values:
            code = self._codes.get(value)
            if code is not None:
                found[code] = True
        return found

    def copy(self, rows: int, capacity: int) -> "Interned[T]":
        """A column of its own with the first `rows` rows, unused values left out when many."""
        twin = Interned(self._values[0], capacity)
        if len(self._values) > 2 * rows + 64:
            used, cells = np.unique(self.cells[:rows], return_inverse=True)
            kept = [self._values[int(code)] for code in used if code]
            first = 0 if used.size and used[0] == 0 else 1
            twin._values += kept
            twin._codes.update({value: code for code, value in enumerate(kept, start=1)})
            twin.cells[:rows] = cells + first
        else:
            twin._values = self._values.copy()
            twin._codes = self._codes.copy()
            twin.cells[:rows] = self.cells[:rows]
        return twin


def allowed(column: "Interned[str | None]", requirement: Requirement) -> npt.NDArray[np.bool_]:
    """bool[D], by code of a label's column: which of its values satisfy the requirement."""
    match requirement.operator:
        case Operator.IN:
            return column.codes_of(requirement.values)
        case Operator.NOT_IN:
            return ~column.codes_of(requirement.values)
        case _:
            return column.where(requirement.matches)
