# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Clusters for pages: nodes, and gangs that run or wait on them."""

from collections.abc import Iterable
from typing import Any, Final

from enbloc.config import default_configuration
from enbloc.engine.events import Event, GroupSeen, NodeSeen, PodSeen, Stream, Synced, TopologySeen
from enbloc.model.groups import Group, GroupKey
from enbloc.model.pods import Owner, Phase, Pod, PodKey, PodUID
from enbloc.model.topology import Level, Topology
from enbloc.simulation import PresentState
from enbloc.ui.pages import Status
from enbloc.ui.view import View, view_of
from tests.world import builders

#: Server time of every world, in seconds since the epoch.
NOW: Final = 1_700_000_000.0
SYNCED: Final = tuple(Synced(stream) for stream in Stream)
#: What a gang may be told of its pods.
POD_FACTS: Final = (
    "node",
    "owner",
    "phase",
    "created",
    "started",
    "limit",
    "expected",
    "nominated",
)
RACKS: Final = TopologySeen(Topology("racks", (Level("rack", "example.com/rack"),)))


def nodes(count: int, rack: str = "", **of: Any) -> list[Event]:
    """So many alike nodes, of eight CPUs each unless it says otherwise, in one rack."""
    labels = (("example.com/rack", rack),) if rack else ()
    of = {"cpu": 8, "memory": "32Gi", "labels": labels, **of}
    return [NodeSeen(builders.node(f"{rack or 'node'}-{n}", **of)) for n in range(count)]


def gang(
    name: str, size: int, *, namespace: str = "team", minimum: int | None = None, **of: Any
) -> list[Event]:
    """A gang of pods that wait, of four CPUs each unless it says otherwise."""
    key = GroupKey(namespace, name)
    facts: dict[str, Any] = {"created": NOW - 300.0, "owner": Owner("Job", name, f"job-{key}")}
    facts |= {each: of.pop(each) for each in POD_FACTS if each in of}
    spec = builders.spec(**{"cpu": 4, "memory": "1Gi", **of})
    found: list[Event] = [GroupSeen(Group(key, f"uid-{key}", minimum or size, generation=1))]
    for n in range(size):
        pod = Pod(
            PodKey(namespace, f"{name}-{n}"),
            PodUID(f"{key}-{n}"),
            spec,
            scheduler="enbloc",
            group=key,
            **facts,
        )
        found.append(PodSeen(pod))
    return found


def running(name: str, size: int, node: str, **of: Any) -> list[Event]:
    """A gang whose pods all run on one node."""
    return gang(name, size, node=node, phase=Phase.RUNNING, **of)


def lone(name: str, namespace: str = "team", **of: Any) -> list[Event]:
    """A pod without a group that waits."""
    spec = builders.spec(**{"cpu": 4, **of})
    key = PodKey(namespace, name)
    return [PodSeen(Pod(key, PodUID(f"{key}"), spec, scheduler="enbloc", created=NOW - 60.0))]


def present(*events: Iterable[Event]) -> PresentState:
    """The cluster of these events."""
    configuration = default_configuration()
    told = tuple(event for each in events for event in each)
    return PresentState(configuration.profiles, configuration.settings, (*told, *SYNCED), NOW)


def view(*events: Iterable[Event], number: int = 1) -> View:
    """What pages show of it."""
    return view_of(present(*events), number)


def status(of: View, problem: str = "") -> Status:
    """Four seconds later."""
    now = of.present.now
    return Status(of.number, now, now + 4.0, problem, of.outlook.complete)
