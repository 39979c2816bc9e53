# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Tree order: identical members lie along the tree in the order of their controller's numbers."""

from collections import deque
from collections.abc import Hashable, Sequence

import numpy as np

from enbloc.engine.topology.tree import Domains
from enbloc.model.member_index import member_index
from enbloc.model.pods import Pod

Placed = Sequence[tuple[Pod, int]]


def along_the_tree(
    placed: Placed, alike: Sequence[Hashable], domains: Domains
) -> list[tuple[Pod, int]]:
    """Give the same rows to the same members, neighbours in rank to rows that are near each other.

    The rows stay in the order in which plugins accepted them, one after the other.

    Args:
        placed: members and their rows.
        alike: equal for members that can swap rows; None = a member that cannot.
        domains: tells which rows are near each other.
    """
    of: dict[Hashable, list[int]] = {}
    for place, key in enumerate(alike):
        if key is not None:
            of.setdefault(key, []).append(place)
    found = list(placed)
    for places in of.values():
        pods = sorted((placed[at][0] for at in places), key=_turn)
        rows = _depth_first([placed[at][1] for at in places], domains)
        on: dict[int, deque[Pod]] = {}
        for pod, row in zip(pods, rows, strict=True):
            on.setdefault(row, deque()).append(pod)
        for at in places:
            row = placed[at][1]
            found[at] = on[row].popleft(), row
    return found


def _turn(pod: Pod) -> tuple[object, ...]:
    return member_index(pod), pod.seniority


def _depth_first(rows: Sequence[int], domains: Domains) -> list[int]:
    """Return rows in the order of the tree of domains."""
    at = np.array(rows, np.intp)
    order = np.lexsort((at, *(level.codes[at] for level in reversed(domains.levels))))
    found: list[int] = at[order].tolist()
    return found
