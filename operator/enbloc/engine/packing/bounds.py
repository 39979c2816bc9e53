# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Bounds: sums that show, before any search, that a packing has no answer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul

import numpy as np
import numpy.typing as npt

from enbloc.engine.packing.model import KindsApart, Need, Packing, Shared
from enbloc.model.amounts import sums
from enbloc.model.quantity import render
from enbloc.model.resources import MEMORY


@dataclass(frozen=True, slots=True)
class Shortage:
    """Less is available than is needed.

    Attributes:
        need: the needed number of places for members, or amount of a resource.
        have: the most that is available.
        resource: its name; "" = places.
        kinds: the kinds that need it.
        apart: members need a domain each of this node label, "" = a node each; None = capacity is
            short.
        unit: for a pool, the unit; then `resource` names the pool.
        members: how many members need so much of a pool.
    """

    need: int
    have: int
    resource: str
    kinds: tuple[int, ...]
    apart: str | None = None
    unit: str = ""
    members: int = 0

    def text(self) -> str:
        """Return for a pool what members need of it, and what is left."""
        one = self.members == 1
        need, have = _amount(self.unit, self.need), _amount(self.unit, self.have)
        members = f"{self.members} {'member needs' if one else 'members need'}"
        return (
            f"{members} {need} {self.resource}; {have} {'is' if _bytes(self.unit) else 'are'} left"
        )


def _amount(unit: str, amount: int) -> str:
    return render(MEMORY, amount) if _bytes(unit) else f"{amount} {unit}"


def _bytes(unit: str) -> bool:
    return unit == "bytes"


def shortage(packing: Packing) -> Shortage | None:
    """Return the first shortage that sums show; None = they show none."""
    each = np.minimum(packing.counts, packing.places.sum(axis=1))
    for need in _narrowest_first(packing):
        found = _of_places(packing, need, each)
        if found is not None:
            return found
        found = _of_pools(packing, need)
        if found is not None:
            return found
    return _of_resources(packing)


def _narrowest_first(packing: Packing) -> Iterator[Need]:
    """Yield the need of each kind that the others are too few for; then the floors."""
    for need in packing.needs:
        there = sum(packing.counts[kind] for kind in need.kinds)
        for kind in need.kinds:
            yield Need(need.members - there + packing.counts[kind], (kind,))
    yield from reversed(packing.needs)


def counting_decides(packing: Packing) -> bool:
    """Whether a packing without a shortage has an answer that any order finds."""
    if len(packing.kinds) > 1 or packing.pools:
        return False
    apart = sum(bool(each.pairs.any()) for each in packing.apart)
    spread = sum(each.hard for kind in packing.kinds for each in kind.pods[0].spec.spread)
    return apart + spread <= 1


def _of_places(packing: Packing, need: Need, each: npt.NDArray[np.int64]) -> Shortage | None:
    """Check places for `need`; `each`, int64[C]: how many of each kind fit without the others."""
    kinds = list(need.kinds)
    have = int(each[kinds].sum())
    apart: str | None = None
    for rule in packing.apart:
        most = _apart(packing, rule, kinds, each)
        if most < have or (most == have < need.members):
            have, apart = most, rule.key
    together = _together(packing, kinds)
    if together < have:
        have, apart = together, None
    return Shortage(need.members, have, "", need.kinds, apart) if have < need.members else None


def _of_pools(packing: Packing, need: Need) -> Shortage | None:
    """Check what rows share, if each member took the least that any in `need` takes."""
    kinds = list(need.kinds)
    places = packing.places[kinds].sum(axis=0)
    left = np.ones(len(places), np.bool_)
    scarce: list[Shared] = []
    have = takes = 0
    for pool in packing.pools:  # overlapping pools are ignored, as if they had enough
        least = int(pool.amounts[kinds].min())
        if not least or not left[pool.rows].all():
            continue
        left &= ~pool.rows
        most = int(places[pool.rows].sum())
        have += min(most, pool.free // least)
        if pool.free // least < most:
            scarce.append(pool)
            takes = takes or least
    elsewhere = int(places[left].sum())
    if not scarce or have + elsewhere >= need.members:
        return None
    members, more = need.members - elsewhere, len(scarce) - 1
    name = f"{scarce[0].name} and {more} more" if more else scarce[0].name
    free = sum(pool.free for pool in scarce)
    return Shortage(members * takes, free, name, need.kinds, unit=scarce[0].unit, members=members)


def _apart(
    packing: Packing, rule: KindsApart, kinds: Sequence[int], each: npt.NDArray[np.int64]
) -> int:
    """Return how many members fit if only equal or all mutually excluding kinds conflict."""
    alike = [kind for kind in kinds if rule.pairs[kind, kind]]
    clique = bool(rule.pairs[np.ix_(alike, alike)].all())
    most = int(each[[kind for kind in kinds if kind not in alike]].sum())
    for group in [alike] if clique else [[kind] for kind in alike]:
        places = packing.places[group]
        inside = np.bincount(rule.domains, places.any(axis=0)) > 0
        domains = int(inside[1:].sum() + places[:, rule.domains == 0].sum())
        most += min(int(each[group].sum()), domains)
    return most


def _together(packing: Packing, kinds: Sequence[int]) -> int:
    """Return how many members fit if each requested only the least that any of them does."""
    least = packing.requests[kinds].min(axis=0)
    places = packing.places[kinds].sum(axis=0)
    for resource in np.flatnonzero(least):
        np.minimum(places, packing.room[:, resource] // least[resource], out=places)
    return int(places.sum())


def _of_resources(packing: Packing) -> Shortage | None:
    demand = _least_demand(packing)
    usable = sums(np.minimum(packing.room, packing.places.T @ packing.requests).T)
    for (name, unit), need, have in zip(packing.resources, demand, usable, strict=True):
        if need > have:
            return Shortage(need * unit, have * unit, name, packing.needs[0].kinds)
    return None


def _least_demand(packing: Packing) -> list[int]:
    """Return, per resource, what the members that need least of it and meet the floors need."""
    demands: list[int] = []
    for column in packing.requests.T:
        cheapest = np.argsort(column, kind="stable")
        left = np.array(packing.counts, np.int64)
        for need in (*packing.needs[1:], packing.needs[0]):
            kinds = cheapest[np.isin(cheapest, need.kinds)]
            missing = need.members - sum(packing.counts[k] for k in kinds) + int(left[kinds].sum())
            before = np.cumsum(left[kinds]) - left[kinds]
            left[kinds] -= (missing - before).clip(0, left[kinds])
        taken = (packing.counts - left).tolist()
        demands.append(sum(map(mul, taken, column.tolist())))
    return demands
