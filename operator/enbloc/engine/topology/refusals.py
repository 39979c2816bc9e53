# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Refusals: why no domain holds a gang, and what the best one lacks."""

from collections.abc import Sequence

from enbloc.engine.packing import Packing
from enbloc.engine.topology.candidates import DomainCandidates
from enbloc.engine.topology.regions import held_rows
from enbloc.engine.topology.room import room_of
from enbloc.engine.topology.tree import domains_of
from enbloc.framework.facts import Locality
from enbloc.model.nodes import Nodes


def no_domain(candidates: DomainCandidates, tried: int, nodes: Nodes, *, everywhere: bool) -> str:
    """Return why no domain of the required level holds the deficit; "" = none is required.

    Args:
        candidates: the domains, none of which holds it.
        tried: how many of the required level were tried.
        nodes: the node table.
        everywhere: there was time for all of them.
    """
    required = candidates.levels.required
    if required is None:
        return ""
    if not tried and everywhere:
        return _none_large_enough(candidates, required, nodes)
    name, members = candidates.levels.levels[required].name, candidates.room.members
    if not everywhere:
        searched = f"searched {tried} domain{'s' if tried != 1 else ''}"
        return f"no domain of {name} that was tried takes {members}; {searched}"
    best = candidates.best()
    if candidates.pinned and best is not None:
        path = candidates.domains.path(nodes, required, best[0])
        return f"{name} {path}, which holds members, does not take {members}"
    return f"no domain of {name} takes {members}, though {tried} may have room for so many"


def _none_large_enough(candidates: DomainCandidates, required: int, nodes: Nodes) -> str:
    level, members = candidates.levels.levels[required], candidates.room.members
    best = candidates.best()
    said = f"no node is in a domain of {level.name}"
    if best is not None:
        domain, room = best
        path = candidates.domains.path(nodes, required, domain)
        where = f"{path}, which holds members," if candidates.pinned else path
        but = _but(candidates, required, *best)
        said = f"{level.name} {where} has room for {room} of {members}{but}"
    outside = candidates.domains.levels[required].outside()
    if not outside:
        return said
    nodes_ = f"{outside} of {len(nodes)} nodes"
    if level.tier is not None:
        be = "is" if outside == 1 else "are"
        return f"{said}; {nodes_} {be} in no HyperNode of {level.name}"
    labels = " or ".join(each.label for each in candidates.levels.levels[: required + 1])
    said = f"{said}; {nodes_} {'has' if outside == 1 else 'have'} no label {labels}"
    if best is None and level.name == level.label and "/" not in level.label:
        return f"{said}; if {level.name} is to be a level, create the Topology that has it"
    return said


def too_small(locality: Locality, packings: Sequence[Packing], nodes: Nodes) -> str:
    """Return why no domain of the required level could hold the deficit even if it were empty.

    Args:
        locality: where members are to be.
        packings: the alternative deficits on empty nodes.
        nodes: the node table.

    Returns:
        One sentence; "" = some domain may, or none has any room, which is reported elsewhere.
    """
    required = locality.levels.required
    if required is None:
        return ""
    domains = domains_of(nodes, locality.levels.labels)
    held = held_rows(locality, nodes)
    said = ""
    for packing in packings:
        members = packing.needs[0].members
        found = DomainCandidates(domains, locality.levels, room_of(packing, len(nodes)), held)
        best = found.best()
        if best is None or not best[1] or found.may_hold():
            return ""
        name, path = locality.levels.levels[required].name, domains.path(nodes, required, best[0])
        which = "which holds members" if found.pinned else "the largest"
        said = said or (
            f"needs a domain of {name} with room for {members} more members; {path}, {which}, "
            f"has room for {best[1]} when it is empty{_but(found, required, *best)}"
        )
    return said


def _but(candidates: DomainCandidates, level: int, domain: int, room: int) -> str:
    """Return why a domain with room for enough members is refuted; "" = it has no such room.

    Args:
        candidates: none of which suffices.
        level: the index of its level.
        domain: its number there.
        room: for how many members of any kind it has room.
    """
    if room < candidates.room.members:
        return ""
    if lacking := candidates.lacking(level, domain):
        return f", but {lacking}"
    alone = candidates.room.of_level(candidates.domains.levels[level])
    return ", but not in whole slices" if alone.enough[domain] else ", but not for each role"
