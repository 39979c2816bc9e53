# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Regions: a trial on which members may lie in some rows only, and what that follows from."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

import numpy as np

from enbloc.engine.plan import GANG_PLUGIN
from enbloc.engine.topology.tree import Domains, Numbers, domains_of
from enbloc.engine.trial import Trial, preferring
from enbloc.framework.decide import MAX_NODE_SCORE
from enbloc.framework.facts import Locality
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod

#: Of domains that members hold so many are named.
_MOST_NAMED: Final = 3


class Region(NamedTuple):
    """Where further members may lie.

    Attributes:
        mask: bool[N]: the rows.
        near: bool[N]: those that go before the others.
        pinned: members are there that say so, at each level that is required.
        outside: why members may not lie on other rows.
    """

    mask: Mask
    near: Mask
    pinned: bool
    outside: str


def inside(trial: Trial, mask: Mask, reason: str, near: Mask | None = None) -> Trial:
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
    near, pinned, where = mask, True, ""
    known = list(placed)
    for each in chain:
        domains = domains_of(nodes, each.levels.labels)
        levels, required = domains.levels, each.levels.required
        rows = held_rows(each, nodes)
        rows += [row for pod, row in known if each.about(pod.role)]
        at = np.array(rows, np.int64)
        if required is not None:
            codes = levels[required].codes
            own = rows_around(codes, at)
            pinned &= own is not None
            mask = mask & (codes >= 0 if own is None else own)
            where = _named(each.levels.levels[required].name, domains, required, at, nodes)
        if each.levels.preferred is not None:
            closer = rows_around(levels[each.levels.preferred].codes, at)
            near = near if closer is None else closer
    return Region(mask, near, pinned, f"node(s) were outside of {where or 'their domain'}")


def _named(name: str, domains: Domains, level: int, rows: Numbers, nodes: Nodes) -> str:
    """The domains of a level that some rows are in, in words."""
    held = np.unique(domains.levels[level].codes[rows])
    held = held[held >= 0]
    if not len(held):
        return f"all domains of {name}"
    said = [domains.path(nodes, level, each) for each in held[:_MOST_NAMED].tolist()]
    more = len(held) - len(said)
    return f"{name} {' and '.join(said)}" + (f" and {more} more" if more else "")


def rows_around(codes: Numbers, rows: Numbers) -> Mask | None:
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
    allowed = rows_around(codes, np.array(held_rows(locality, nodes), np.int64))
    return codes + 1 if allowed is None else np.where(allowed, codes + 1, 0)


def held_ranks(locality: Locality, nodes: Nodes) -> list[tuple[int, int]]:
    """The ranks of members that are held, each with its row."""
    return [
        (rank, row)
        for node, rank in zip(locality.held, locality.ranks, strict=True)
        if rank is not None and (row := nodes.row(node)) is not None
    ]


class Planned(NamedTuple):
    """A member of a plan, the row where it is to be (None = that is gone), and its rank."""

    pod: Pod
    row: int | None
    rank: int | None


def misplaced(locality: Locality, planned: Sequence[Planned], nodes: Nodes) -> bool:
    """Whether these members do not lie with each other, and those that are held, as is required.

    Args:
        locality: where they are to lie.
        planned: all members of a plan, whether or not they are bound yet.
        nodes: the node table.
    """
    own = [each for each in planned if locality.about(each.pod.role)]
    required, levels = locality.levels.required, domains_of(nodes, locality.levels.labels).levels
    if required is not None and own:
        held = held_rows(locality, nodes)
        if _spread(levels[required].codes, [each.row for each in own], held):
            return True
    ranked = [(each.rank, each.row) for each in own if each.rank is not None]
    known = held_ranks(locality, nodes) if locality.levels.slices else ()
    for size, place in locality.levels.slices:
        rows = _by_slice(ranked, size)
        held_by_slice = _by_slice(known, size)
        for number, each in rows.items():
            if _spread(levels[place].codes, each, held_by_slice.get(number, ())):
                return True
    return any(misplaced(part, own, nodes) for part in locality.parts)


R = TypeVar("R", bound="int | None")


def _by_slice(ranked: Iterable[tuple[int, R]], size: int) -> dict[int, list[R]]:
    found: dict[int, list[R]] = {}
    for rank, row in ranked:
        found.setdefault(rank // size, []).append(row)
    return found


def _spread(codes: Numbers, planned: Sequence[int | None], held: Sequence[int | None]) -> bool:
    """Whether rows are in several domains, in none, or in others than those that are held."""
    domains = {int(codes[row]) for row in planned if row is not None}
    stay = {int(codes[row]) for row in held if row is not None} - {-1}
    return -1 in domains or (len(domains) > 1 if not stay else not domains <= stay)
