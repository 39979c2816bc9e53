# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a scheduler knows at its start, or part of it: lists each resource once, writes nothing."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enbloc.client.client import Client
from enbloc.client.errors import APIError
from enbloc.client.events import ObjectReference
from enbloc.client.paths import PRIORITY_CLASSES, STORAGE_CLASSES
from enbloc.config import Configuration
from enbloc.engine.events import Event, NodeSeen, PodSeen, TopologySeen
from enbloc.ledgers import Ledgers
from enbloc.live.event_queue import EventQueue
from enbloc.live.informer import Informer
from enbloc.live.informers import Informers
from enbloc.live.malformed import MalformedObjects
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from enbloc.model.resources import ResourceSpace
from enbloc.model.topology import Topology
from enbloc.simulation import PresentState
from enbloc.telemetry import ActiveProblems
from enbloc.workloads import Admission, default_storage_class, priority_classes


@dataclass(frozen=True, slots=True)
class Reading:
    """A snapshot of a cluster.

    Attributes:
        present: every first list.
        problems: what could not be read of which object, or kind, one line each.
    """

    present: PresentState
    problems: Sequence[str]


@dataclass(frozen=True, slots=True)
class NodeReading:
    """A snapshot of a cluster's nodes.

    Attributes:
        nodes: the node table, with the pods that are placed.
        topologies: by name.
        problems: what could not be read of which object, one line each.
    """

    nodes: Nodes
    topologies: Mapping[str, Topology]
    problems: Sequence[str]


async def read_once(client: Client, configuration: Configuration) -> Reading:
    """List everything that the scheduler lists, each resource once.

    Args:
        client: the API; `client.permissions.SIMULATION` is all it needs.
        configuration: of the scheduler.

    Raises:
        ExceptionGroup: one APIError for each resource that cannot be listed, except those that a
            scheduler does without whatever the error is.
    """
    queue, problems = EventQueue(), list[str]()
    informers = Informers(client, queue, _kept(problems), configuration.profiles, ActiveProblems())
    made = informers.every()
    for informer, error in await _read_all(made):
        problems.append(str(error))
        informer.do_without()
    present = PresentState(
        configuration.profiles,
        configuration.settings,
        tuple(_taken(queue)),
        client.server_clock().now(),
    )
    return Reading(present, problems)


async def read_nodes(client: Client) -> NodeReading:
    """List nodes, pods and Topologies once; other projects' Topologies where they may be read.

    Args:
        client: the API; `client.permissions.TOPOLOGY` is all it needs.

    Raises:
        ExceptionGroup: one APIError for each resource that cannot be listed.
    """
    queue, problems = EventQueue(), list[str]()
    informers = Informers(client, queue, _kept(problems), {}, ActiveProblems())
    made = (informers.nodes(), informers.pods(), *informers.topologies())
    problems += [str(error) for _, error in await _read_all(made)]
    nodes, topologies = Nodes(ResourceSpace(), Ledgers()), dict[str, Topology]()
    bound: list[Pod] = []
    for event in _taken(queue):
        match event:
            case NodeSeen(node):
                nodes.put(node)
            case PodSeen(pod) if pod.node and not pod.finished:
                bound.append(pod)
            case TopologySeen(topology):
                topologies[topology.name] = topology
            case _:
                pass
    for pod in bound:
        row = nodes.row(pod.node)
        if row is not None:
            nodes.place(row, pod.spec)
    return NodeReading(nodes, topologies, problems)


async def read_admission(client: Client) -> Admission:
    """List what the API server fills in when a pod or a claim is created.

    Args:
        client: the API; `client.permissions.SIMULATION` is all it needs.

    Raises:
        APIError: it cannot be read.
    """
    return Admission(
        priority_classes([each async for each in client.list(PRIORITY_CLASSES)]),
        default_storage_class([each async for each in client.list(STORAGE_CLASSES)]),
    )


def _kept(problems: list[str]) -> MalformedObjects:
    """A collector of malformed objects that adds a line for each to `problems`."""

    def say(about: ObjectReference, note: str) -> None:
        name = f"{about.namespace}/{about.name}" if about.namespace else about.name
        problems.append(f"{about.resource.kind} {name}: {note}")

    malformed = MalformedObjects(say)
    malformed.tell()
    return malformed


def _taken(queue: EventQueue) -> Iterator[Event]:
    """All events of a queue, in order."""
    while events := queue.take():
        yield from events


async def _read_all(
    informers: Sequence[Informer[Any]],
) -> Sequence[tuple[Informer[Any], APIError]]:
    """Fill the queue with one list each; return the expendable ones that cannot be read.

    Raises:
        ExceptionGroup: one APIError for each other one that cannot be read.
    """
    errors = await asyncio.gather(*map(_read, informers))
    failed = [
        (informer, error)
        for informer, error in zip(informers, errors, strict=True)
        if error is not None
    ]
    if required := [error for informer, error in failed if not informer.expendable]:
        raise ExceptionGroup("the cluster cannot be read", required)
    return [(informer, error) for informer, error in failed if informer.expendable]


async def _read(informer: Informer[Any]) -> APIError | None:
    try:
        await informer.read_once()
    except APIError as error:
        return error
    return None
