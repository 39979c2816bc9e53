# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Regions: a trial on which members may lie in some rows only, and what that follows from."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from enbloc.engine.plan import GANG_PLUGIN
from enbloc.engine.topology.tree import Numbers, domains_of
from enbloc.engine.trial import Trial, preferring
from enbloc.framework.decide import MAX_NODE_SCORE
from enbloc.framework.facts import Locality
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod

#: Why a member may not lie where others of its gang do not.
_OUTSIDE = "node(s) were outside of the topology domain of its gang"


class Region(NamedTuple):
    """Where further members may lie.

    Attributes:
        mask: bool[N]: the rows.
        near: bool[N]: those that go before the others.
        pinned: members are there that say so, at each level that is required.
    """

    mask: Mask
    near: Mask
    pinned: bool


def inside(trial: Trial, mask: Mask, reason: str = _OUTSIDE, near: Mask | None = None) -> Trial:
    """The same trial, on which members may lie in some rows only.

    Args:
        trial: stays as it is.
        mask: bool[N]: the rows.
        reason: why they may not lie elsewhere.
        near: bool[N]: those of them that go before the others; None = all are as good.
    """
    scores = np.zeros(len(mask), np.int64)
    if near is not None:
        scores[near] = MAX_NODE_SCORE
    return trial.fork(preferring(GANG_PLUGIN, scores, mask, reason))


def chain_of(locality: Locality, role: str) -> tuple[Locality, ...]:
    """What a member of a role must keep to: that of the group, then of each part that it is in."""
    found = (locality,)
    for part in locality.parts:
        if part.about(role):
            return (*found, *chain_of(part, role))
    return found


def region_of(chain: Sequence[Locality], placed: Iterable[tuple[Pod, int]], nodes: Nodes) -> Region:
    """Where members of a role may lie, given who is held and who is placed.

    Args:
        chain: of the role.
        placed: members that a plan has placed, with their rows.
        nodes: the node table.
    """
    mask = np.ones(len(nodes), np.bool_)
    near, pinned = mask, True
    known = list(placed)
    for each in chain:
        levels = domains_of(nodes, each.levels.labels).levels
        rows = held_rows(each, nodes)
        rows += [row for pod, row in known if each.about(pod.role)]
        at = np.array(rows, np.int64)
        if each.levels.required is not None:
            own = _domains_around(levels[each.levels.required].codes, at)
            pinned &= own is not None
            if own is not None:
                mask = mask & own
        if each.levels.preferred is not None:
            closer = _domains_around(levels[each.levels.preferred].codes, at)
            near = near if closer is None else closer
    return Region(mask, near, pinned)


def _domains_around(codes: Numbers, rows: Numbers) -> Mask | None:
    """bool[N]: the rows that share a domain with one of these; None = these are in none."""
    held = codes[rows]
    held = held[held >= 0]
    return np.isin(codes, held) if len(held) else None


def held_rows(locality: Locality, nodes: Nodes) -> list[int]:
    """The rows of members that are held."""
    return [row for name in locality.held if (row := nodes.row(name)) is not None]


def required_domains(locality: Locality, nodes: Nodes) -> Numbers | None:
    """int64[N]: the domain of the required level that each row is in, from 1 on.

    0 = members may not lie there, since it is in none, or since others hold another. None = nothing
    is required.
    """
    if locality.levels.required is None:
        return None
    codes = domains_of(nodes, locality.levels.labels).levels[locality.levels.required].codes
    allowed = _domains_around(codes, np.array(held_rows(locality, nodes), np.int64))
    return codes + 1 if allowed is None else np.where(allowed, codes + 1, 0)


def in_several_domains(
    locality: Locality | None, placed: Sequence[tuple[Pod, int | None]], nodes: Nodes
) -> bool:
    """Whether members on these rows, and those that are held, are not in one required domain."""
    if locality is None:
        return False
    own = [(pod, row) for pod, row in placed if locality.about(pod.role)]
    return _in_several(locality, own, nodes) or any(
        in_several_domains(part, own, nodes) for part in locality.parts
    )


def _in_several(locality: Locality, placed: Sequence[tuple[Pod, int | None]], nodes: Nodes) -> bool:
    required = locality.levels.required
    if required is None:
        return False
    level = domains_of(nodes, locality.levels.labels).levels[required]
    planned = {int(level.codes[row]) for _, row in placed if row is not None}
    held = {int(level.codes[row]) for row in held_rows(locality, nodes)} - {-1}
    return -1 in planned or (len(planned) > 1 if not held else not planned <= held)
