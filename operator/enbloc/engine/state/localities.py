# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Localities: what a PodGroup requests of topology, resolved with the existing Topologies."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from enbloc.framework.facts import Locality
from enbloc.model.groups import Group
from enbloc.model.pods import Pod
from enbloc.model.topology import (
    KeepApart,
    Level,
    Topology,
    TopologyLevels,
    TopologyPart,
    TopologyRequest,
    resolved,
    resolved_apart,
)


def locality_of(
    group: Group, bound: Sequence[Pod], topologies: Mapping[str, Topology]
) -> tuple[Locality | None, str]:
    """Return where members of a group are to be, None = anywhere; and the problem, "" = none.

    Args:
        group: its PodGroup.
        bound: its bound members.
        topologies: by name.
    """
    request = group.topology or TopologyRequest()
    levels, problem = resolved(request, topologies)
    aparts, wrong = resolved_apart(request, topologies)
    problem = problem or wrong
    found: list[Locality] = []
    for part in group.topology_parts:
        each, wrong = _part(part, request.topology, levels, bound, topologies)
        problem = problem or wrong
        found += each
    if problem or not (found or levels or aparts):
        return None, problem
    if levels is None:
        levels = TopologyLevels(_levels(found, aparts), None, None)
    held, ranks = tuple(pod.node for pod in bound), tuple(pod.rank for pod in bound)
    return Locality(levels, held, parts=tuple(found), apart=aparts, ranks=ranks), ""


def _levels(
    parts: Sequence[Locality], aparts: Sequence[tuple[KeepApart, tuple[str, ...]]]
) -> tuple[Level, ...]:
    """Return the levels to report for a group that requires and prefers none."""
    if parts:
        return parts[0].levels.levels
    return tuple(Level(label, label) for label in aparts[0][1])


def _part(
    part: TopologyPart,
    topology: str,
    around: TopologyLevels | None,
    bound: Sequence[Pod],
    topologies: Mapping[str, Topology],
) -> tuple[list[Locality], str]:
    """Return where members of one part are to be, or if it says nothing, of the parts within it.

    Args:
        part: of a PodGroup.
        topology: the name of the Topology that the PodGroup names.
        around: what applies to the enclosing part; None = nothing.
        bound: the bound members of the PodGroup.
        topologies: by name.

    Returns:
        These, and the problem; "" = none.
    """
    request = replace(part.request, topology=topology)
    levels, problem = resolved(request, topologies, part.field)
    if not problem and levels is not None and around is not None:
        problem = _contradicts(levels, around, part.field)
    within: list[Locality] = []
    for each in part.parts:
        found, wrong = _part(each, topology, levels or around, bound, topologies)
        problem = problem or wrong
        within += found
    if problem or levels is None:
        return within, problem
    own = [pod for pod in bound if pod.role in part.roles]
    held, ranks = tuple(pod.node for pod in own), tuple(pod.rank for pod in own)
    return [Locality(levels, held, part.roles, tuple(within), part.field, ranks=ranks)], ""


def _contradicts(levels: TopologyLevels, around: TopologyLevels, field: str) -> str:
    """Return what is wrong with a part's levels, given the requirement for all; "" = nothing."""
    inner, outer = levels.required, around.required
    if inner is None or outer is None or levels.levels != around.levels or inner >= outer:
        return ""
    names = [level.name for level in levels.levels]
    return (
        f"{field}.topology.required: {names[inner]} is not within {names[outer]}, in one of which "
        "all of the group must lie; require a level within it, or leave this out"
    )
