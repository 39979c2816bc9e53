# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Overview: the domains of a topology as a tree, with the free capacity of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from enbloc.engine.topology import Domains, domains_of
from enbloc.model.nodes import Nodes
from enbloc.model.resources import CPU, MEMORY
from enbloc.model.topology import Level, Topology

#: The most domains that are shown; the others are counted.
MOST: Final = 1000
#: The suffix of resource names for GPUs.
_GPU: Final = "/gpu"

Amounts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DomainCapacity:
    """A domain, and what is free in it.

    Attributes:
        depth: the place of its level, 0 for the outermost.
        path: the label values, the outermost first, with "/" between them.
        nodes: the number of its nodes.
        ready: how many of them are Ready and not cordoned.
        free: by resource, allocatable of the ready nodes minus the requests of placed pods: CPU in
            milli, everything else in whole units.
    """

    depth: int
    path: str
    nodes: int
    ready: int
    free: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Overview:
    """The domains of a topology.

    Attributes:
        topology: its name.
        levels: the shown levels, the outermost first.
        nodes: the number of all nodes.
        domains: depth-first, in the order of label values; at most MOST.
        more: level name → the number of domains that are not shown.
        outside: node label → the number of nodes that lack it and have all outer labels.
    """

    topology: str
    levels: Sequence[Level]
    nodes: int
    domains: Sequence[DomainCapacity]
    more: Mapping[str, int]
    outside: Mapping[str, int]


def overview(nodes: Nodes, topology: Topology, depth: int | None = None) -> Overview:
    """The domains of a topology on these nodes.

    Args:
        nodes: the node table, with the placed pods.
        topology: a usable one.
        depth: how many of its levels to show; None = all.
    """
    levels = topology.levels[:depth]
    domains = domains_of(nodes, [level.label for level in levels])
    order = sorted(_paths(domains, nodes))
    counted = [_Counted(each.codes, each.count, nodes) for each in domains.levels]
    rest = [place for _, place, _ in order[MOST:]]
    return Overview(
        topology.name,
        levels,
        len(nodes),
        [counted[place].of(domain, place, path) for path, place, domain in order[:MOST]],
        {level.name: rest.count(place) for place, level in enumerate(levels) if place in rest},
        _outside(domains),
    )


def _paths(domains: Domains, nodes: Nodes) -> list[tuple[tuple[str, ...], int, int]]:
    """Each domain as (label values, index of its level, number within the level)."""
    found: list[tuple[tuple[str, ...], int, int]] = []
    around: list[tuple[str, ...]] = [()]
    for place, level in enumerate(domains.levels):
        values = nodes.label_values(level.label)
        paths: list[tuple[str, ...]] = []
        for row, parent in zip(level.first.tolist(), level.parents.tolist(), strict=True):
            paths.append((*around[parent], values[row] or ""))
        found += [(path, place, domain) for domain, path in enumerate(paths)]
        around = paths
    return found


def _outside(domains: Domains) -> dict[str, int]:
    """Node label → the number of nodes that lack it and are in a domain of the next outer level."""
    found: dict[str, int] = {}
    before = 0
    for level in domains.levels:
        lacking = level.outside()
        if lacking > before:
            found[level.label] = lacking - before
        before = lacking
    return found


class _Counted:
    """The sums over the nodes of each domain of a level.

    Args:
        codes: int64[N], the domain of each node; -1 = it is in none.
        count: the number of domains.
        nodes: the node table.
    """

    def __init__(self, codes: Amounts, count: int, nodes: Nodes) -> None:
        self._inside, self._count = codes >= 0, count
        self._codes = codes[self._inside]
        ready = nodes.ready & ~nodes.unschedulable
        self._nodes = self._sums(np.ones(len(nodes), np.int64))
        self._ready = self._sums(ready.astype(np.int64))
        self._free = {
            name: self._sums(np.where(ready, np.maximum(nodes.free(name), 0), 0))
            for name in nodes.space.names
            if name in (CPU, MEMORY) or name.endswith(_GPU)
        }

    def _sums(self, values: Amounts) -> Amounts:
        sums = np.zeros(self._count, np.int64)  # exact, unlike the floats of np.bincount
        np.add.at(sums, self._codes, values[self._inside])
        return sums

    def of(self, domain: int, depth: int, path: Sequence[str]) -> DomainCapacity:
        """The capacity of a domain."""
        return DomainCapacity(
            depth,
            "/".join(path),
            int(self._nodes[domain]),
            int(self._ready[domain]),
            {name: int(sums[domain]) for name, sums in self._free.items()},
        )
