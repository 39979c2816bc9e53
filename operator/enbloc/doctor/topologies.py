# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Topologies that are invalid, or whose levels do not match the nodes."""

from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import pairwise
from typing import Final

from enbloc.client.client import Client
from enbloc.client.errors import NotFound
from enbloc.client.paths import NODES, TOPOLOGIES
from enbloc.doctor.finding import Finding, Installation, Verdict
from enbloc.doctor.reading import shown
from enbloc.doctor.shapes import Named
from enbloc.model.near_words import near
from enbloc.model.text import clipped
from enbloc.model.topology import Level, Topology
from enbloc.wire.topologies import TopologyObject, topology

CHECK: Final = "topologies"


async def levels(client: Client, ours: Installation) -> AsyncIterator[Finding]:
    """Topologies that no group can use, and levels that no node is in."""
    if ours.planned:
        return
    try:
        found = [topology(each) async for each in client.list(TOPOLOGIES, shape=TopologyObject)]
    except NotFound:  # the kind does not exist: another check reports that
        return
    if not found:
        return
    nodes = [each.metadata.labels or {} async for each in client.list(NODES, shape=Named)]
    for each in found:
        for message in _wrong(each, nodes):
            yield Finding(CHECK, Verdict.WARNING, f"topology {shown(each.name)}", message)


def _wrong(found: Topology, nodes: Sequence[dict[str, str]]) -> Iterator[str]:
    """What is wrong with a Topology, given the labels of all nodes."""
    if found.problem:
        yield f"cannot be used: {clipped(found.problem)}"
        return
    if not nodes:
        return
    empty = [each for each in found.levels if not any(each.label in labels for labels in nodes)]
    known = {label for labels in nodes for label in labels}
    for level in empty:
        yield (
            f"level {level.name}: no node has the label {level.label}{near(level.label, known)}, "
            "so a group that requires the level waits; label the nodes, or fix nodeLabel"
        )
    for outer, inner in pairwise(each for each in found.levels if each not in empty):
        if _reversed(outer, inner, nodes):
            yield (
                f"level {inner.name} is listed within {outer.name}, and each {outer.name} of the "
                f"nodes lies in one {inner.name}; list the outermost level first"
            )


def _reversed(outer: Level, inner: Level, nodes: Sequence[dict[str, str]]) -> bool:
    """Whether each domain of the outer level lies in one of the inner level, which has fewer."""
    pairs = {
        (labels[outer.label], labels[inner.label])
        for labels in nodes
        if outer.label in labels and inner.label in labels
    }
    outers, inners = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    return len(pairs) == len(outers) > len(inners)
