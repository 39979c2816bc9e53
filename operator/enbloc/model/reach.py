# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reach: which nodes satisfy each of many conditions on their labels, all at once.

Ten thousand local volumes name a node each; evaluating each of them for every node would take
seconds.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from enbloc.model.labels import Mask
from enbloc.model.nodes import Nodes
from enbloc.model.requirements import Operator, Requirement

#: One alternative must hold, with all of its requirements; () = nowhere, ((),) = everywhere.
Conditions: TypeAlias = tuple[tuple[Requirement, ...], ...]
#: bool[K, N]: which of N nodes satisfies each of K conditions.
Matrix: TypeAlias = npt.NDArray[np.bool_]

ANYWHERE: Final[Conditions] = ((),)


def mask_of(conditions: Conditions, nodes: Nodes) -> Mask:
    """bool[N]: the nodes where the conditions hold."""
    mask = np.zeros(len(nodes), np.bool_)
    for term in conditions:
        held = np.ones(len(nodes), np.bool_)
        for requirement in term:
            held &= nodes.matches(requirement)
        mask |= held
    return mask


def matrix_of(conditions: Sequence[Conditions], nodes: Nodes) -> Matrix:
    """bool[K, N]: the nodes where each of K conditions holds."""
    matrix = np.zeros((len(conditions), len(nodes)), np.bool_)
    simple: defaultdict[str, list[tuple[int, tuple[str, ...]]]] = defaultdict(list)
    for line, each in enumerate(conditions):
        if len(each) == 1 and len(each[0]) == 1 and each[0][0].operator is Operator.IN:
            simple[each[0][0].key].append((line, each[0][0].values))
        elif each:
            matrix[line] = mask_of(each, nodes)
    for key, wanted in simple.items():
        rows: defaultdict[str, list[int]] = defaultdict(list)
        for row, value in enumerate(nodes.label_values(key)):
            if value is not None:
                rows[value].append(row)
        cells = [(line, rows[v]) for line, values in wanted for v in values if v in rows]
        for line, found in cells:
            matrix[line, found] = True
    return matrix


class Signatures(NamedTuple):
    """The signatures of nodes: nodes that satisfy the same conditions share one.

    Attributes:
        codes: int[N]: the signature of each node.
        matrix: bool[K, S]: which condition holds for each of the S signatures.
    """

    codes: npt.NDArray[np.intp]
    matrix: Matrix


def signatures(matrix: Matrix) -> Signatures:
    """The distinct columns of a matrix, in the order of their first rows."""
    count = matrix.shape[1]
    packed = np.ascontiguousarray(np.packbits(matrix, axis=0).T)
    numbers: dict[bytes, int] = {}
    codes = np.fromiter(
        (numbers.setdefault(column.tobytes(), len(numbers)) for column in packed), np.intp, count
    )
    firsts = np.full(len(numbers), count, np.intp)
    np.minimum.at(firsts, codes, np.arange(count))
    return Signatures(codes, matrix[:, firsts])


class NodesSeen(NamedTuple):
    """Identifies the nodes for which something was computed, to tell whether it is still valid."""

    names: Sequence[str]
    version: int

    def same(self, nodes: Nodes) -> bool:
        """Whether these are the same nodes, unchanged."""
        return self.names is nodes.names and self.version == nodes.version


def seen(nodes: Nodes) -> NodesSeen:
    """What identifies the current state of a table."""
    return NodesSeen(nodes.names, nodes.version)
