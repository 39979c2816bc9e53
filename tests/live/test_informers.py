# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from aiohttp import web

from enbloc.client.events import ObjectReference, Recorder
from enbloc.config import default_profiles
from enbloc.engine.events import (
    Event,
    NamespaceGone,
    NamespaceSeen,
    PodGone,
    PodSeen,
    Stream,
    Synced,
    WorkloadGone,
    WorkloadSeen,
)
from enbloc.framework.profile import Profile
from enbloc.live import notices
from enbloc.live.event_queue import EventQueue
from enbloc.live.informer import Informer
from enbloc.live.informers import Informers
from enbloc.live.malformed import MalformedObjects
from enbloc.live.statuses import PodConditions
from enbloc.model.names import POD_GROUP_KEY
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.model.workloads import WorkloadKey, equals
from enbloc.telemetry import ActiveProblems
from tests.client.fake import answer, event, pod, pods, stream, talking_to


class Server:
    """Lists a good pod and one that cannot be read, and keeps what events are written."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "POST":
            self.events.append(msgspec.json.decode(await request.read()))
            return answer(self.events[-1], 201)
        if "watch" in request.query:
            response = web.StreamResponse()
            await response.prepare(request)
            await response.write(event("DELETED", pod("good", 9)))
            await asyncio.sleep(60)
            return response
        return pods(7, pod("good", 5), pod("bad", 6, priority="high"))


async def test_an_object_that_cannot_be_read_is_told_of_and_the_stream_goes_on() -> None:
    server, queue, problems = Server(), EventQueue(), ActiveProblems()
    async with talking_to(server) as client:
        recorder = Recorder(client, "here")
        malformed = MalformedObjects(
            lambda about, note: recorder.emit(notices.malformed(about, note))
        )
        malformed.tell()
        informer = Informers(client, queue, malformed, {}, problems).pods(
            PodConditions(client, lambda: 0.0, problems)
        )
        running = asyncio.create_task(informer.run())
        async with asyncio.timeout(10):
            await informer.synced.wait()
            await recorder.flush(10)
            events = list(queue.take())
            while len(events) < 3:
                await queue.wait(None)
                events += queue.take()
        running.cancel()
        await asyncio.wait([running])
    seen, synced, gone = events
    assert isinstance(seen, PodSeen)
    assert seen.pod.key.name == "good"
    assert synced == Synced(Stream.PODS)
    assert isinstance(gone, PodGone)
    [written] = server.events
    assert written["reason"] == "MalformedObject"
    assert written["regarding"]["name"] == "bad"
    assert "spec.priority" in written["note"]


Told = list[tuple[str, str]]


async def told(profiles: Mapping[str, Profile], resource: str, *found: Any) -> Told:
    """Name and text of the events that a list of pods or nodes leads to."""
    said: Told = []
    malformed = MalformedObjects(lambda about, note: said.append((about.name, note)))
    malformed.tell()

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        if "watch" in request.query:
            await asyncio.sleep(60)
        return pods(7, *found)

    async with talking_to(server) as client:
        informers = Informers(client, EventQueue(), malformed, profiles, ActiveProblems())
        conditions = PodConditions(client, lambda: 0.0, ActiveProblems())
        informer: Informer[Any] = (
            informers.nodes() if resource == "nodes" else informers.pods(conditions)
        )
        running = asyncio.create_task(informer.run())
        async with asyncio.timeout(10):
            await informer.synced.wait()
        running.cancel()
        await asyncio.wait([running])
    return said


async def test_what_counts_as_absent_in_a_node_is_said_on_it() -> None:
    bad, good = listed("bad", status={"allocatable": {"gpu": "many"}}), listed("good")
    [(name, text)] = await told({}, "nodes", bad, good)
    assert name == "bad"
    assert text.startswith("Malformed fields are ignored: status.allocatable")


async def test_what_counts_as_absent_in_a_member_is_said_on_it_if_it_is_ours() -> None:
    def member(name: str, scheduler: str, **annotations: str) -> dict[str, Any]:
        container = {"name": "c", "resources": {"requests": {"cpu": "much"}}}
        shown = listed(name, spec={"schedulerName": scheduler, "containers": [container]})
        shown["metadata"]["annotations"] = annotations
        return shown

    [(name, text)] = await told(
        default_profiles(),
        "pods",
        member("ours", "enbloc", **{POD_GROUP_KEY: "g"}),
        member("theirs", "other", **{POD_GROUP_KEY: "g"}),
        member("alone", "enbloc"),  # the engine says it on this one
    )
    assert name == "ours"
    assert text.startswith("Malformed fields are ignored: spec.containers[0]")


def ignore(about: ObjectReference, note: str) -> None:
    """Nothing is wrong with these objects."""
    raise AssertionError(about, note)


def spreading(labels: dict[str, str], *expressions: dict[str, Any]) -> dict[str, Any]:
    return {"selector": {"matchLabels": labels, "matchExpressions": list(expressions)}}


APP = {"app": "web"}
EXISTS = Selector((*equals(APP).requirements, Requirement("tier", Operator.EXISTS)))

#: Stream → spec of an object, and the selector that the engine is told of.
SPECS: dict[Stream, list[tuple[Any, Selector | None]]] = {
    Stream.SERVICES: [({"selector": APP}, equals(APP)), ({}, None)],
    Stream.REPLICATION_CONTROLLERS: [({"selector": APP}, equals(APP)), (None, None)],
    Stream.REPLICA_SETS: [
        (spreading(APP, {"key": "tier", "operator": "Exists"}), EXISTS),
        (spreading(APP, {"key": "tier", "operator": "Near"}), None),
    ],
    Stream.STATEFUL_SETS: [(spreading({}), Selector()), ({}, None)],
}


def listed(name: str, **more: Any) -> dict[str, Any]:
    identity = {"name": name, "uid": f"uid-{name}", "resourceVersion": "3"}
    return {"metadata": {**identity, "labels": {"team": "a", "env": "b"}, "namespace": ""}, **more}


async def fed(stream: Stream, found: list[Any]) -> list[Event]:
    """What a informer says of a list, and of the end of its first object."""

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        if "watch" not in request.query:
            return pods(7, *found)
        response = web.StreamResponse()
        await response.prepare(request)
        gone = {"metadata": {**found[0]["metadata"], "resourceVersion": "9"}}
        await response.write(event("DELETED", gone))
        await asyncio.sleep(60)
        return response

    queue, events = EventQueue(), list[Event]()
    async with talking_to(server) as client:
        informers = Informers(client, queue, MalformedObjects(ignore), {}, ActiveProblems())
        every: tuple[Informer[Any], ...] = (informers.namespaces(), *informers.workloads())
        [informer] = [informer for informer in every if informer.stream is stream]
        running = asyncio.create_task(informer.run())
        async with asyncio.timeout(10):
            while len(events) < len(found) + 2:
                await queue.wait(None)
                events += queue.take()
        running.cancel()
        await asyncio.wait([running])
    return events


async def test_the_engine_learns_the_labels_of_namespaces() -> None:
    assert await fed(Stream.NAMESPACES, [listed("ns")]) == [
        NamespaceSeen("ns", (("env", "b"), ("team", "a"))),
        Synced(Stream.NAMESPACES),
        NamespaceGone("ns"),
    ]


@pytest.mark.parametrize("stream", SPECS)
async def test_the_engine_learns_what_selects_pods(stream: Stream) -> None:
    found = [listed(f"w{index}", spec=spec) for index, (spec, _) in enumerate(SPECS[stream])]
    kind = {
        Stream.SERVICES: "Service",
        Stream.REPLICATION_CONTROLLERS: "ReplicationController",
        Stream.REPLICA_SETS: "ReplicaSet",
        Stream.STATEFUL_SETS: "StatefulSet",
    }[stream]
    keys = [WorkloadKey(kind, "", item["metadata"]["name"]) for item in found]
    assert await fed(stream, found) == [
        *(
            WorkloadSeen(key, selector)
            for key, (_, selector) in zip(keys, SPECS[stream], strict=True)
        ),
        Synced(stream),
        WorkloadGone(keys[0]),
    ]


def shown(version: int, **status: Any) -> dict[str, Any]:
    """A bound pod as its kubelet shows it."""
    return {**pod("p", version, nodeName="n"), "status": status}


READY = [{"type": "Ready", "status": "True"}]


def pods_seen(events: list[Event]) -> int:
    return sum(isinstance(each, PodSeen) for each in events)


def ended(events: list[Event]) -> bool:
    """Whether the pod is gone."""
    return bool(events) and isinstance(events[-1], PodGone)


async def heard(
    informer: Informer[Any], queue: EventQueue, enough: Callable[[list[Event]], bool]
) -> list[Event]:
    """The events of an informer, until there are enough."""
    running, events = asyncio.create_task(informer.run()), list[Event]()
    async with asyncio.timeout(10):
        while not enough(events):
            await queue.wait(None)
            events += queue.take()
    running.cancel()
    await asyncio.wait([running])
    return events


@pytest.mark.parametrize(
    ("later", "told"),
    [
        pytest.param(shown(6, phase="Running", conditions=READY), 0, id="it is ready"),
        pytest.param(shown(6, phase="Running", podIP="10.0.0.1"), 0, id="it has an address"),
        pytest.param(shown(6, phase="Succeeded"), 1, id="it is over"),
        pytest.param({**pod("p", 6, nodeName="n", priority=1), "status": {"phase": "Running"}}, 1,
                     id="it has another priority"),
        pytest.param({**pod("p", 6), "status": {"phase": "Running"}}, 1, id="it has no node"),
    ],
)  # fmt: skip
async def test_of_a_bound_pod_only_what_changes_something_that_is_read_is_an_event(
    later: dict[str, Any], told: int
) -> None:
    async def server(request: web.BaseRequest) -> web.StreamResponse:
        if "watch" not in request.query:
            return pods(5, shown(5, phase="Running"))
        lines = [event("MODIFIED", later), event("DELETED", shown(9))]
        return await stream(request, lines, "hang")

    queue, problems, seen = EventQueue(), ActiveProblems(), list[Any]()
    async with talking_to(server) as client:
        malformed = MalformedObjects(lambda *_: None)
        informer = Informers(client, queue, malformed, {}, problems).pods(also=seen.append)
        events = await heard(informer, queue, ended)
    assert pods_seen(events) == 1 + told
    assert len(seen) == 4  # the controller is told of each: added, synced, modified, deleted


async def test_a_pod_that_waits_is_an_event_whatever_has_changed() -> None:
    async def server(request: web.BaseRequest) -> web.StreamResponse:
        if "watch" not in request.query:
            return pods(5, pod("p", 5))
        return await stream(request, [event("MODIFIED", pod("p", 6))], "hang")

    queue, problems = EventQueue(), ActiveProblems()
    async with talking_to(server) as client:
        malformed = MalformedObjects(lambda *_: None)
        informer = Informers(client, queue, malformed, {}, problems).pods()
        await heard(informer, queue, lambda events: pods_seen(events) >= 2)


async def watched(*later: dict[str, Any]) -> tuple[list[Event], list[str]]:
    """The events of a bound pod that is listed, shown so later, and deleted; what is said of it."""

    async def server(request: web.BaseRequest) -> web.StreamResponse:
        if "watch" not in request.query:
            return pods(5, shown(5, phase="Running"))
        lines = [event("MODIFIED", each) for each in later]
        return await stream(request, [*lines, event("DELETED", shown(99))], "hang")

    queue, said = EventQueue(), list[str]()
    malformed = MalformedObjects(lambda _, note: said.append(note))
    malformed.tell()
    async with talking_to(server) as client:
        informer = Informers(client, queue, malformed, {}, ActiveProblems()).pods()
        events = await heard(informer, queue, ended)
    return events, said


async def test_a_pod_that_was_shown_without_its_node_is_bound_again_when_it_shows_it() -> None:
    """As by an API server that was behind for a moment, and then shows what it showed before."""
    unbound = {**pod("p", 6), "status": {"phase": "Pending"}}
    events, _ = await watched(unbound, shown(7, phase="Running"))
    assert [each.pod.node for each in events if isinstance(each, PodSeen)] == ["n", "", "n"]


async def test_other_tasks_have_turns_among_objects_that_take_long() -> None:
    async def server(request: web.BaseRequest) -> web.StreamResponse:
        if "watch" not in request.query:
            return pods(5, *(pod(f"p{index}", 5) for index in range(8)))
        return await stream(request, [], "hang")

    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def slowly(_: Any) -> None:
        at.append(turns)
        time.sleep(0.01)  # noqa: TID251  # as patterns for all nodes may

    queue, at, other = EventQueue(), list[int](), asyncio.create_task(others())
    async with talking_to(server) as client:
        malformed = MalformedObjects(lambda *_: None)
        informer = Informers(client, queue, malformed, {}, ActiveProblems()).pods(also=slowly)
        await heard(informer, queue, lambda events: pods_seen(events) == 8)
    other.cancel()
    assert at[:8] == sorted(set(at[:8]))


async def test_a_bound_pod_that_can_be_read_again_is_malformed_no_more() -> None:
    odd = [pod("p", version, nodeName="n", priority="high") for version in (6, 8)]
    _, said = await watched(odd[0], shown(7, phase="Running"), odd[1])
    assert len(said) == 2
