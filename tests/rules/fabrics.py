# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Clusters of zones, blocks and racks, and gangs that ask for them."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from enbloc.engine.events import TopologySeen
from enbloc.model.topology import Level, Topology, TopologyRequest
from tests.rules.world import World
from tests.world.builders import spec

ZONE, BLOCK, RACK, HOST = "example.com/zone", "example.com/block", "example.com/rack", "host"
FABRIC: Final = Topology(
    "default", (Level("zone", ZONE), Level("block", BLOCK), Level("rack", RACK))
)
ONE_CPU: Final = spec(cpu=1)


def fabric(
    nodes: str,
    *,
    topology: Topology | None = FABRIC,
    cpu: int = 2,
    slots: int = 32,
    **settings: Any,
) -> World:
    """Nodes as `name=zone/block/rack`, or `name=zone/block/rack:cpus`."""
    made = World(slots=slots, **settings)
    for each in nodes.split():
        name, _, place = each.partition("=")
        path, _, cpus = place.partition(":")
        labels = zip((ZONE, BLOCK, RACK), filter(None, path.split("/")), strict=False)
        made.node(name, int(cpus or cpu), labels=tuple(sorted((*labels, (HOST, name)))))
    if topology is not None:
        made.tell(TopologySeen(topology))
    return made


def gang(
    of: World,
    name: str,
    members: int,
    *,
    required: str = "",
    preferred: str = "",
    cpu: int = 1,
    topology: str = "",
    **more: Any,
) -> None:
    """A gang whose members ask for so many CPUs each."""
    request = TopologyRequest(topology, required, preferred)
    of.job(name, members, pod=spec(cpu=cpu), topology=request, **more)


def racks(of: World, name: str) -> Counter[str]:
    """How many members lie in which rack, by its path."""
    return lying(of, name, (ZONE, BLOCK, RACK))


def lying(of: World, name: str, labels: Sequence[str]) -> Counter[str]:
    """How many members lie in which domain of the last of these labels."""
    nodes = of.engine._state.nodes
    found: Counter[str] = Counter()
    for node in of.where(f"{name}-").values():
        row = nodes.row(node)
        assert row is not None
        has = dict(nodes.labels_of(row))
        found["/".join(has[label] for label in labels)] += 1
    return found


def message(of: World, name: str) -> str:
    """What the group waits for."""
    return of.condition(name)[2]


THREE_RACKS: Final = "a1=z/b/r1 a2=z/b/r1 a3=z/b/r1 b1=z/b/r2 b2=z/b/r2 c1=z/b/r3"
