# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Exact: the HiGHS solver finds an answer to a packing; installed with the extra `exact`.

It is bounded by the nodes of its tree, never by time, so that its answer is always the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from enbloc.engine.packing.model import Counts, KindsApart, Packing

#: HiGHS uses floats; above this, its refutation could be a rounding error.
_LARGEST: Final = 2**31

_OPTIONS: Final[Mapping[str, object]] = {"output_flag": False, "threads": 1, "random_seed": 1}

#: Steps per node of the tree; and per variable, at the root and at the other nodes.
_FIRST: Final = 2000
_ROOT: Final = 5
_NODE: Final = 1

#: Steps per constraint, before it is solved.
_ROW: Final = 2


@dataclass(slots=True)
class SolverAnswer:
    """The result of the solver.

    Attributes:
        counts: int64[C, M], checked in integers; None = none was found.
        refuted: the solver says that there is none.
        steps: the cost.
    """

    counts: Counts | None = None
    refuted: bool = False
    steps: int = 0


@cache
def available() -> bool:
    """Whether the solver is installed."""
    return find_spec("highspy") is not None


def solve(packing: Packing, steps: int) -> SolverAnswer:
    """Find an answer to a packing or refute it, within so many steps."""
    size = int((packing.places > 0).sum())
    root, node = _FIRST + _ROOT * size, _FIRST + _NODE * size
    if steps < root:
        return SolverAnswer()
    model = _model(packing, steps - root)
    if model is None:
        return SolverAnswer()
    root += model.steps
    highspy = import_module("highspy")
    solver = highspy.Highs()
    limit = 1 + (steps - root) // node
    for name, value in {**_OPTIONS, "mip_max_nodes": limit}.items():
        solver.setOptionValue(name, value)
    solver.passModel(model.lp(highspy))
    solver.run()
    status, info = solver.getModelStatus(), solver.getInfo()
    answer = SolverAnswer(steps=root + node * max(0, info.mip_node_count - 1))
    if status == highspy.HighsModelStatus.kInfeasible:
        answer.refuted = model.largest <= _LARGEST
    elif info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        values = np.rint(np.array(solver.getSolution().col_value[:size])).astype(np.int64)
        counts = np.zeros(packing.places.shape, np.int64)
        counts[np.nonzero(packing.places)] = values
        if packing.holds(counts):
            answer.counts = counts
    return answer


class _SpentError(Exception):
    """The next constraint would cost more than is left."""


@dataclass
class _Model:
    """Rows of an integer program; the first variables are the places, one each.

    Attributes:
        upper: of each variable; the lower bounds are 0.
        budget: steps that building it may cost.
        steps: what it has cost.
        largest: the largest number in it.
    """

    upper: list[float]
    budget: int
    steps: int = 0
    columns: list[npt.NDArray[np.int64]] = field(default_factory=list[npt.NDArray[np.int64]])
    factors: list[npt.NDArray[np.int64]] = field(default_factory=list[npt.NDArray[np.int64]])
    bounds: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    largest: int = 0

    def charge(self, steps: int) -> None:
        """Take steps off the budget, before the work that they are for."""
        self.steps += steps
        if self.steps > self.budget:
            raise _SpentError

    def add(self, columns: Sequence[int], factors: Sequence[int], low: float, high: float) -> None:
        """Add a constraint: low ≤ Σ factor × variable ≤ high."""
        self.columns.append(np.array(columns, np.int64))
        self.factors.append(np.array(factors, np.int64))
        self.bounds.append((low, high))
        self.largest = max(self.largest, *(int(abs(f)) for f in factors))

    def lp(self, highspy: Any) -> Any:
        """Return the program in the solver's own form."""
        lp = highspy.HighsLp()
        count = len(self.upper)
        lp.num_col_, lp.num_row_ = count, len(self.bounds)
        lp.col_cost_, lp.col_lower_ = np.zeros(count), np.zeros(count)
        lp.col_upper_ = np.array(self.upper, np.float64)
        lp.row_lower_ = np.array([low for low, _ in self.bounds], np.float64)
        lp.row_upper_ = np.array([high for _, high in self.bounds], np.float64)
        lp.integrality_ = [highspy.HighsVarType.kInteger] * count
        matrix = lp.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.num_col_, matrix.num_row_ = count, len(self.bounds)
        matrix.start_ = np.cumsum([0, *map(len, self.columns)])
        matrix.index_ = np.concatenate(self.columns)
        matrix.value_ = np.concatenate(self.factors).astype(np.float64)
        return lp


def _model(packing: Packing, budget: int) -> _Model | None:
    """Return the packing as an integer program; None = building it costs more than the budget."""
    places = packing.places
    model = _Model(places[places > 0].astype(float).tolist(), budget)
    column = np.full(places.shape, -1, np.int64)
    column[places > 0] = np.arange(len(model.upper))
    try:
        _add_needs(model, packing, column)
        _add_room(model, packing, column)
        for apart in packing.apart:
            _add_apart(model, column, apart)
        _add_pools(model, packing, column)
    except _SpentError:
        return None
    return model


def _add_needs(model: _Model, packing: Packing, column: npt.NDArray[np.int64]) -> None:
    """Add the number of members of each kind, and the minimum of each floor."""
    for kind, count in enumerate(packing.counts):
        mine = column[kind][column[kind] >= 0]
        if int(packing.places[kind].sum()) > count:
            model.add(mine.tolist(), [1] * len(mine), -np.inf, count)
    for index, need in enumerate(packing.needs):
        model.charge(len(need.kinds))
        lines = column[list(need.kinds)]
        mine = lines[lines >= 0]
        model.add(mine.tolist(), [1] * len(mine), need.members, np.inf if index else need.members)


def _add_room(model: _Model, packing: Packing, column: npt.NDArray[np.int64]) -> None:
    """Add the room of each row that its places together could exceed."""
    exceeds = packing.places.T @ packing.requests > packing.room
    model.charge(_ROW * int(exceeds.sum()))
    for row, resource in zip(*np.nonzero(exceeds), strict=True):
        kinds = np.flatnonzero((packing.places[:, row] > 0) & (packing.requests[:, resource] > 0))
        requests = packing.requests[kinds, resource].tolist()
        room = int(packing.room[row, resource])
        model.add(column[kinds, row].tolist(), requests, -np.inf, room)


def _add_pools(model: _Model, packing: Packing, column: npt.NDArray[np.int64]) -> None:
    """Add the pools that their members together could exceed."""
    for pool in packing.pools:
        kinds, rows = np.nonzero((column >= 0) & pool.rows & (pool.amounts > 0)[:, None])
        model.charge(_ROW + len(rows) // 8)
        if len(rows):
            factors = pool.amounts[kinds].tolist()
            model.add(column[kinds, rows].tolist(), factors, -np.inf, pool.free)


def _add_apart(model: _Model, column: npt.NDArray[np.int64], apart: KindsApart) -> None:
    """Add at most one of those that exclude each other in each domain."""
    cliques: list[tuple[int, ...]] = []
    for clique in _cliques(apart.pairs):
        model.charge(len(clique))
        cliques.append(clique)
    looking = 1 + (len(apart.pairs) + sum(map(len, cliques))) // 8
    for domain in range(1, int(apart.domains.max(initial=0)) + 1):
        model.charge(looking)
        inside = column[:, apart.domains == domain]
        members = [line[line >= 0].tolist() for line in inside]
        stand_in: dict[int, list[int]] = {}
        for clique in cliques:
            present = [kind for kind in clique if members[kind]]
            if len(present) > 1 or (present and len(members[present[0]]) > 1):
                model.charge(_ROW)
                terms = [c for kind in present for c in _one(model, kind, apart, members, stand_in)]
                model.add(terms, [1] * len(terms), -np.inf, 1)


def _one(
    model: _Model,
    kind: int,
    apart: KindsApart,
    members: list[list[int]],
    stand_in: dict[int, list[int]],
) -> list[int]:
    """Return variables whose sum is 1 if any of a kind is in the domain, and 0 if none is."""
    if apart.pairs[kind, kind]:
        return members[kind]
    if kind not in stand_in:
        model.upper.append(1)
        stand_in[kind] = [len(model.upper) - 1]
        model.charge(_ROW * len(members[kind]))
        for variable in members[kind]:
            most = int(model.upper[variable])
            model.add([variable, *stand_in[kind]], [1, -most], -np.inf, 0)
    return stand_in[kind]


def _cliques(pairs: npt.NDArray[np.bool_]) -> Iterator[tuple[int, ...]]:
    """Yield sets of kinds that all exclude each other, and together cover every pair."""
    left = np.triu(pairs)
    for a, b in sorted(np.argwhere(left).tolist(), key=lambda pair: (pair[0] == pair[1], pair)):
        if not left[a, b]:
            continue
        clique = [a] if a == b else [a, b]
        able: npt.NDArray[np.bool_] = np.logical_and.reduce(pairs[clique])
        able[clique] = False
        while able.any():
            clique.append(int(able.argmax()))
            able &= pairs[clique[-1]]
            able[clique[-1]] = False
        left[np.ix_(clique, clique)] = False
        yield tuple(clique)
