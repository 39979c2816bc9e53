# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Regions: a trial with members limited to some rows, and how these rows are determined."""

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
from enbloc.model.text import several

#: The most domains with held members that are named.
_MOST_NAMED: Final = 3


class Region(NamedTuple):
    """Where further members may be.

    Attributes:
        mask: bool[N]: the rows.
        near: bool[N]: the preferred rows.
        pinned: members are there that determine it, at each level that is required.
        outside: why members may not be on other rows.
    """

    mask: Mask
    near: Mask
    pinned: bool
    outside: str


def inside(trial: Trial, mask: Mask, reason: str, near: Mask | None = None) -> Trial:
    """Return the trial with members limited to some rows.

    Args:
        trial: unchanged.
        mask: bool[N]: the rows.
        reason: why they may not be elsewhere.
        near: bool[N]: those of them that are preferred; None = all are equally good.
    """
    scores = np.zeros(len(mask), np.int64)
    if near is not None:
        scores[near] = MAX_NODE_SCORE
    return trial.fork(preferring(GANG_PLUGIN, scores, mask, reason))


def chain_of(locality: Locality, role: str) -> tuple[Locality, ...]:
    """Return what a member of a role must keep to: for the group, then for each part it is in."""
    found = (locality,)
    for part in locality.parts:
        if part.about(role):
            return (*found, *chain_of(part, role))
    return found


def region_of(chain: Sequence[Locality], placed: Iterable[tuple[Pod, int]], nodes: Nodes) -> Region:
    """Return where members of a role may be, given the held and placed members.

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
    """Return the domains of a level that some rows are in, in words."""
    held = np.unique(domains.levels[level].codes[rows])
    held = held[held >= 0]
    if not len(held):
        return f"all domains of {name}"
    said = [domains.path(nodes, level, each) for each in held[:_MOST_NAMED].tolist()]
    return f"{name} {several(said, _MOST_NAMED, len(held))}"


def rows_around(codes: Numbers, rows: Numbers) -> Mask | None:
    """Return bool[N]: the rows that share a domain with one of these; None = these are in none."""
    held = codes[rows]
    held = held[held >= 0]
    return np.isin(codes, held) if len(held) else None


def held_rows(locality: Locality, nodes: Nodes) -> list[int]:
    """Return the rows of held members."""
    return [row for name in locality.held if (row := nodes.row(name)) is not None]


def required_domains(locality: Locality, nodes: Nodes) -> Numbers | None:
    """Return int64[N]: the domain of the required level of each row, from 1 on.

    0 = members may not be there: it is in no domain, or others hold another one. None = no level is
    required.
    """
    if locality.levels.required is None:
        return None
    codes = domains_of(nodes, locality.levels.labels).levels[locality.levels.required].codes
    allowed = rows_around(codes, np.array(held_rows(locality, nodes), np.int64))
    return codes + 1 if allowed is None else np.where(allowed, codes + 1, 0)


def held_ranks(locality: Locality, nodes: Nodes) -> list[tuple[int, int]]:
    """Return the ranks of held members, each with its row."""
    return [
        (rank, row)
        for node, rank in zip(locality.held, locality.ranks, strict=True)
        if rank is not None and (row := nodes.row(node)) is not None
    ]


class PlannedMember(NamedTuple):
    """A member of a plan, the row where it is to be (None = that is gone), and its rank."""

    pod: Pod
    row: int | None
    rank: int | None


def misplaced(locality: Locality, planned: Sequence[PlannedMember], nodes: Nodes) -> bool:
    """Whether these and the held members violate what is required of their domains.

    Args:
        locality: where they are to be.
        planned: all members of a plan, whether bound or not.
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
    """Whether rows are in several domains, in none, or in others than the held ones."""
    domains = {int(codes[row]) for row in planned if row is not None}
    stay = {int(codes[row]) for row in held if row is not None} - {-1}
    return -1 in domains or (len(domains) > 1 if not stay else not domains <= stay)
