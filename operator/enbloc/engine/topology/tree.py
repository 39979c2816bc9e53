# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Tree: the domains of a node table, level by level, as columns.

::

    row                0   1   2   3   4
    zone               z1  z1  z1  z2  –         a node without the label is outside
    rack               r1  r1  r2  r1  r1
    codes at "zone"    0   0   0   1  -1
    codes at "rack"    0   0   1   2  -1         z1/r1, z1/r2, z2/r1; outside here as well

Domains are numbered by their first row, so that among equals the one with the first row goes first,
as everywhere in the engine.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from enbloc.model.nodes import Mask, Nodes
from enbloc.model.quantity import MAXIMUM

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DomainLevel:
    """The domains of one level.

    Attributes:
        label: the node label.
        codes: int64[N], the domain of each row, from 0 on; -1 = none.
        bins: int64[N], the same from 1 on; 0 = none.
        first: int64[D], the first row of each domain.
        parents: int64[D], the domain of each at the level above; 0 at the outermost.
    """

    label: str
    codes: Numbers
    bins: Numbers
    first: Numbers
    parents: Numbers

    @property
    def count(self) -> int:
        """The number of domains."""
        return len(self.first)

    def sums(self, values: Numbers) -> Numbers:
        """Return int64[D]: the sum in each domain of values of rows (int64[N])."""
        return np.bincount(self.bins, values, 1 + self.count)[1:].astype(np.int64)

    def amounts(self, values: Numbers) -> Numbers:
        """Return int64[D]: exact sums of amounts (none negative), at most the maximum of int64."""
        low = self.sums(values & 0xFFFF_FFFF)
        high = self.sums(values >> 32) + (low >> 32)
        return np.where(high < 2**31, (high << 32) | (low & 0xFFFF_FFFF), MAXIMUM)

    def mask(self, domain: int) -> Mask:
        """Return bool[N]: the rows of a domain."""
        return self.codes == domain

    def outside(self) -> int:
        """Return how many rows are in no domain."""
        return int(np.count_nonzero(self.codes < 0))


@dataclass(frozen=True, slots=True)
class Domains:
    """The domains of a node table, outermost level first."""

    levels: tuple[DomainLevel, ...]

    def path(self, nodes: Nodes, level: int, domain: int) -> str:
        """Return a domain in words: the label values from the outermost level on, `z1/b3/r7`."""
        row = int(self.levels[level].first[domain])
        labels = dict(nodes.labels_of(row))
        return "/".join(labels[each.label] for each in self.levels[: level + 1])


def domains_of(nodes: Nodes, labels: Sequence[str]) -> Domains:
    """Return the domains that node labels define, outermost label first.

    They are cached with the table until a node comes, goes or changes.
    """
    key = tuple(labels)
    return nodes.derived(("domains", key), lambda: _domains(nodes, key))


def _domains(nodes: Nodes, labels: Sequence[str]) -> Domains:
    found: list[DomainLevel] = []
    above = np.zeros(len(nodes), np.int64)
    for label in labels:
        own = nodes.domains(label).astype(np.int64)
        inside = np.flatnonzero((own > 0) & (above >= 0))
        path = above[inside] * nodes.domain_count(label) + own[inside]
        _, first, numbers = np.unique(path, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        turn = np.empty_like(order)
        turn[order] = np.arange(len(order))
        codes = np.full(len(nodes), -1, np.int64)
        codes[inside] = turn[numbers]
        rows = inside[first[order]]
        found.append(DomainLevel(label, codes, codes + 1, rows, above[rows]))
        above = codes
    return Domains(tuple(found))


def lies_in(domains: Domains, rows: Iterable[int]) -> tuple[Sequence[int], int | None]:
    """Return how many domains of each level rows are in; and the innermost level with just one.

    Rows without the label of a level are in none of its domains; such a level cannot be that one.
    """
    at = np.fromiter(rows, np.int64)
    spread: list[int] = []
    innermost: int | None = None
    for place, level in enumerate(domains.levels):
        codes = np.unique(level.codes[at])
        inside = codes[codes >= 0]
        spread.append(len(inside))
        if len(codes) == len(inside) == 1:
            innermost = place
    return spread, innermost
