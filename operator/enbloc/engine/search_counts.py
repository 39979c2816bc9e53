# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Counts: what shows by adding up that a packing has no answer, before anything is searched."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from enbloc.engine.search_model import Need, Packing


@dataclass(frozen=True, slots=True)
class Shortage:
    """Less is there than is needed.

    Attributes:
        need: so much of it; a count of places for members, or an amount of a resource.
        have: at most so much can be had.
        resource: its name; "" = places.
        kinds: of whom the need is.
        apart: the kinds need a node each.
    """

    need: int
    have: int
    resource: str
    kinds: tuple[int, ...]
    apart: bool = False


def shortage(packing: Packing) -> Shortage | None:
    """The first shortage that adding up shows; None = it shows none."""
    for need in reversed(packing.needs):
        found = _of_places(packing, need)
        if found is not None:
            return found
    return _of_resources(packing)


def counting_decides(packing: Packing) -> bool:
    """Whether a packing without a shortage has an answer that any order finds."""
    if len(packing.kinds) > 1:
        return False
    return sum(bool(each.pairs.any()) for each in packing.apart) <= 1


def _of_places(packing: Packing, need: Need) -> Shortage | None:
    kinds = list(need.kinds)
    counts = packing.counts
    each = [min(counts[kind], places_of(packing, kind)) for kind in kinds]
    have = sum(each)
    apart = False
    for domains, pairs in packing.apart:
        alike = [kind for kind in kinds if pairs[kind, kind]]
        if alike and pairs[np.ix_(alike, alike)].all():
            places = packing.places[alike]
            inside = np.unique(domains[places.any(axis=0)])
            most = int((inside != 0).sum() + places[:, domains == 0].sum())
            others = sum(n for kind, n in zip(kinds, each, strict=True) if kind not in alike)
            if most + others < have:
                have, apart = most + others, True
    together = _together(packing, kinds)
    if together < have:
        have, apart = together, False
    return Shortage(need.count, have, "", need.kinds, apart) if have < need.count else None


def places_of(packing: Packing, kind: int) -> int:
    """How many members of a kind fit, were they alone."""
    places = packing.places[kind]
    have = int(places.sum())
    for domains, pairs in packing.apart:
        if pairs[kind, kind]:
            inside = np.unique(domains[places > 0])
            have = min(have, int((inside != 0).sum() + places[domains == 0].sum()))
    return have


def _together(packing: Packing, kinds: Sequence[int]) -> int:
    """How many members fit if each requested only the least that any of them does."""
    least = packing.requests[kinds].min(axis=0)
    places = packing.places[kinds].sum(axis=0)
    for resource in np.flatnonzero(least):
        np.minimum(places, packing.room[:, resource] // least[resource], out=places)
    return int(places.sum())


def _of_resources(packing: Packing) -> Shortage | None:
    demand = _least_demand(packing)
    usable = np.minimum(packing.room, packing.places.T @ packing.requests).sum(axis=0)
    for column, (name, unit) in enumerate(packing.resources):
        need, have = demand[column], int(usable[column])
        if need > have:
            return Shortage(need * unit, have * unit, name, packing.needs[0].kinds)
    return None


def _least_demand(packing: Packing) -> list[int]:
    """Of each resource, what the members that need the least of it and meet the floors need."""
    demands: list[int] = []
    for column in packing.requests.T.tolist():
        members = sorted(
            (amount, kind)
            for kind, amount in enumerate(column)
            for _ in range(packing.counts[kind])
        )
        taken: set[int] = set()
        for need in (*packing.needs[1:], packing.needs[0]):
            missing = need.count - sum(members[index][1] in need.kinds for index in taken)
            free = (i for i, (_, k) in enumerate(members) if k in need.kinds and i not in taken)
            taken.update(index for index, _ in zip(free, range(missing), strict=False))
        demands.append(sum(members[index][0] for index in taken))
    return demands
