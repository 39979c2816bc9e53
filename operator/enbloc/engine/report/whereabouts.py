# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whereabouts: in which domains of its topology a group's bound members are, for its status."""

from collections import Counter
from collections.abc import Container, Iterable
from typing import Final

from enbloc.engine.effects import TopologyStatus
from enbloc.engine.topology import domains_of, held_rows, lies_in
from enbloc.framework.facts import Locality
from enbloc.model.nodes import Nodes


def topology_status(locality: Locality | None, nodes: Nodes) -> TopologyStatus | None:
    """Return where a group's bound members are; None = no topology requested, or none bound."""
    rows = held_rows(locality, nodes) if locality is not None else ()
    if locality is None or not rows:
        return None
    levels = locality.levels
    domains = domains_of(nodes, levels.labels)
    spread, innermost = lies_in(domains, rows)
    names = [level.name for level in levels.levels]
    if innermost is None:
        return TopologyStatus("", "", tuple(zip(names, spread, strict=True)))
    domain = int(domains.levels[innermost].codes[rows[0]])
    path = domains.path(nodes, innermost, domain)
    return TopologyStatus(names[innermost], path, tuple(zip(names, spread, strict=True)))


#: Gangs in more domains than this are counted together.
_MOST_DOMAINS: Final = 8


def counted(statuses: Iterable[TopologyStatus], levels: Container[str]) -> Counter[tuple[str, str]]:
    """Return how many gangs are in how many domains of each level: `(level, domains)`.

    Args:
        statuses: of the gangs.
        levels: of the Topologies. PodGroups may name any label; node labels that are no level of a
            Topology count together, as "".
    """
    found: Counter[tuple[str, str]] = Counter()
    for status in statuses:
        for level, count in status.spread:
            domains = str(count) if count <= _MOST_DOMAINS else f"more than {_MOST_DOMAINS}"
            found[level if level in levels else "", domains] += 1
    return found
