# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the engine learns of volumes and devices, and on which servers."""

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from enbloc.client.items import Timing
from enbloc.config import default_profiles
from enbloc.engine.events import Event, FactGone, FactSeen, TopologyGone, TopologySeen
from enbloc.framework.act import ReadObject
from enbloc.framework.profile import Profile
from enbloc.live import fact_informers
from enbloc.live.event_queue import EventQueue
from enbloc.live.fact_informers import FACTS, wanted
from enbloc.live.informer import Informer
from enbloc.live.informers import Informers
from enbloc.live.malformed import MalformedObjects
from enbloc.live.object_watches import ObjectWatches
from enbloc.model.topology import Level, Topology
from enbloc.storage.facts import PersistentVolumeClaim
from enbloc.telemetry import ActiveProblems
from tests.client.fake import answer, event, refusal, talking_to

QUICK = Timing(retry=(0.01, 0.05), refused=(0.01, 0.05))
CLAIMS = "persistentvolumeclaims"
TOPOLOGIES = "topologies"
SERVED = "enbloc.dev/v1alpha1 topologies"
Json = dict[str, Any]


class Server:
    """Has these resources, "group/version plural" each, and no object but what is listed.

    Attributes:
        lists: by plural.
        forbidden: plurals that may not be listed.
        changes: lines of the watch of each, by plural.
    """

    def __init__(self, *has: str) -> None:
        self.has = set(has)
        self.lists: dict[str, list[Json]] = {}
        self.forbidden: set[str] = set()
        self.changes: dict[str, asyncio.Queue[bytes]] = {}
        self.listed: list[str] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        _, *parts = request.path.strip("/").split("/")
        group = "/".join(parts[:2]) if request.path.startswith("/apis/") else parts[0]
        rest = parts[len(group.split("/")) :]
        if not rest:
            names = [each.split()[1] for each in self.has if each.split()[0] == group]
            if not names:
                return refusal(404, "NotFound")
            return answer({"resources": [{"name": name} for name in names]})
        plural = rest[-1]
        if f"{group} {plural}" not in self.has:
            return refusal(404, "NotFound")
        if plural in self.forbidden:
            return refusal(403, "Forbidden", "no such right")
        if "watch" in request.query:
            return await self._watch(request, plural)
        self.listed.append(f"{group} {plural}")
        metadata = {"resourceVersion": "7"}
        return answer({"metadata": metadata, "items": self.lists.get(plural, [])})

    async def _watch(self, request: web.BaseRequest, plural: str) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(await self.changes.setdefault(plural, asyncio.Queue()).get())

    def change(self, plural: str, kind: str, thing: Json) -> None:
        self.changes.setdefault(plural, asyncio.Queue()).put_nowait(event(kind, thing))


EVERYTHING = [f"{kind.resource.api_version} {kind.resource.plural}" for kind in FACTS]


class World:
    """Informers under way.

    Attributes:
        events: that they have led to.
        said: on malformed objects.
    """

    def __init__(self, informers: dict[str, Informer[Any]], queue: EventQueue) -> None:
        self.informers = informers
        self._queue = queue
        self.events: list[Event] = []

    async def synced(self, seconds: float = 10) -> None:
        async with asyncio.timeout(seconds):
            for informer in self.informers.values():
                await informer.synced.wait()
        self.events += self._queue.take()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not holds():
                await asyncio.sleep(0.01)
                self.events += self._queue.take()


@asynccontextmanager
async def world(
    server: Server,
    *only: str,
    watches: ObjectWatches | None = None,
    said: list[tuple[str, str]] | None = None,
    problems: ActiveProblems | None = None,
) -> AsyncGenerator[World]:
    queue = EventQueue()
    notes = said if said is not None else []
    malformed = MalformedObjects(lambda about, note: notes.append((about.name, note)))
    malformed.tell()
    async with talking_to(server) as client:
        informers = Informers(
            client, queue, malformed, default_profiles(), problems or ActiveProblems(), QUICK
        )
        made = (*informers.facts(watches), *informers.topologies())
        chosen = {each.name: each for each in made if not only or each.name in only}
        running = [asyncio.create_task(each.run()) for each in chosen.values()]
        try:
            yield World(chosen, queue)
        finally:
            for task in running:
                task.cancel()
            await asyncio.wait(running)


def claim(name: str, version: int = 5, **more: Any) -> Json:
    identity = {"name": name, "namespace": "ns", "uid": f"uid-{name}"}
    return {"metadata": {**identity, "resourceVersion": str(version), **more}, "spec": {}}


async def test_claims_that_come_and_go_are_facts_that_come_and_go() -> None:
    server = Server(*EVERYTHING)
    server.lists[CLAIMS] = [claim("c")]
    async with world(server, CLAIMS) as opened:
        await opened.synced()
        server.change(CLAIMS, "DELETED", claim("c", 9))
        await opened.until(lambda: len(opened.events) == 2)
    seen, gone = opened.events
    assert isinstance(seen, FactSeen)
    assert isinstance(seen.fact, PersistentVolumeClaim)
    assert seen.fact.key == "ns/c"
    assert gone == FactGone("PersistentVolumeClaim", "ns/c")


async def test_a_cluster_scoped_object_is_gone_by_its_name() -> None:
    server = Server(*EVERYTHING)
    server.lists["storageclasses"] = [{"metadata": {"name": "fast", "resourceVersion": "5"}}]
    async with world(server, "storageclasses") as opened:
        await opened.synced()
        gone = {"metadata": {"name": "fast", "resourceVersion": "9"}}
        server.change("storageclasses", "DELETED", gone)
        await opened.until(lambda: FactGone("StorageClass", "fast") in opened.events)


async def test_every_kind_is_read_where_its_plugins_are_enabled() -> None:
    server = Server(*EVERYTHING)
    async with world(server, *(kind.resource.plural for kind in FACTS)) as opened:
        await opened.synced()
    assert sorted(server.listed) == sorted(EVERYTHING)
    assert opened.events == []


@pytest.mark.parametrize(
    ("disabled", "kinds"),
    [
        pytest.param(
            {"DynamicResources"},
            {each.resource.kind for each in FACTS if each.versions == ("v1",)},
            id="no devices",
        ),
        pytest.param(
            {"VolumeBinding", "VolumeZone", "NodeVolumeLimits", "DynamicResources"},
            {"PersistentVolumeClaim"},
            id="only who else uses a claim",
        ),
    ],
)
def test_a_kind_that_no_plugin_reads_is_not_watched(disabled: set[str], kinds: set[str]) -> None:
    [given] = default_profiles().values()
    plugins = tuple(each for each in given.plugins if each.name not in disabled)
    profile = Profile("enbloc", plugins)
    assert {each.resource.kind for each in wanted([profile])} == kinds
    assert wanted([]) == []
    assert len(wanted([given, profile])) == len(FACTS)


async def test_a_server_without_devices_delays_nothing_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    problems = ActiveProblems()
    async with world(Server("v1 pods"), "resourceclaims", problems=problems) as opened:
        await opened.synced(1.0)
        [informer] = opened.informers.values()
        assert informer.readable()
        async with asyncio.timeout(1.0):
            await informer.confirm(math.inf)
    assert opened.events == []
    assert not problems.active
    [record] = caplog.records
    assert record.message == (
        "The API server does not serve resourceclaims.resource.k8s.io: "
        "pods that need devices by ResourceClaims are not scheduled"
    )


async def test_an_older_server_is_asked_in_the_version_that_it_has() -> None:
    server = Server(
        "resource.k8s.io/v1beta1 resourceclaims", "resource.k8s.io/v1beta2 resourceclaims"
    )
    watches = ObjectWatches()
    async with world(server, "resourceclaims", watches=watches) as opened:
        await opened.synced()
    assert server.listed == ["resource.k8s.io/v1beta2 resourceclaims"]
    found = watches.resource("ResourceClaim")
    assert found is not None
    assert found.version == "v1beta2"


async def test_what_a_server_begins_to_have_is_read_from_then_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fact_informers, "LOOK_SECONDS", 0.05)
    server = Server("v1 pods")
    server.lists["resourceclaims"] = [claim("c")]
    async with world(server, "resourceclaims") as opened:
        await opened.synced()
        assert opened.events == []
        server.has.add("resource.k8s.io/v1 resourceclaims")
        await opened.until(lambda: len(opened.events) == 1)


async def test_a_version_that_a_server_drops_is_left_for_the_one_that_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fact_informers, "LOOK_SECONDS", 0.05)
    server = Server("resource.k8s.io/v1beta1 resourceclaims")
    server.lists["resourceclaims"] = [claim("c")]
    async with world(server, "resourceclaims") as opened:
        await opened.synced()
        server.has = {"resource.k8s.io/v1 resourceclaims"}
        server.lists["resourceclaims"] = []
        server.change("resourceclaims", "ERROR", {"kind": "Status", "code": 410})
        await opened.until(lambda: FactGone("ResourceClaim", "ns/c") in opened.events)
    assert server.listed[-1] == "resource.k8s.io/v1 resourceclaims"


async def test_what_may_not_be_read_is_named_and_the_scheduler_goes_on_without(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("enbloc.live.informer.OPTIONAL_SECONDS", 1)
    server, problems = Server(*EVERYTHING), ActiveProblems()
    server.forbidden = {CLAIMS}
    async with world(server, CLAIMS, problems=problems) as opened:
        await opened.synced()
        [informer] = opened.informers.values()
        assert not informer.readable()
        assert not problems.active
        assert (
            'no such right (grant the verb "list" on persistentvolumeclaims); until then: '
            "pods with PersistentVolumeClaims are not scheduled"
        ) in caplog.text
        server.forbidden = set()
        server.change(CLAIMS, "ADDED", claim("c"))
        await opened.until(informer.readable)


async def test_a_server_that_does_not_say_what_it_has_is_asked_again() -> None:
    server, problems = Server(*EVERYTHING), ActiveProblems()
    told = asyncio.Event()
    starting = [True, True]

    async def flaky(request: web.BaseRequest) -> web.StreamResponse:
        if not starting:
            return await server(request)
        if len(starting) == 1:
            assert problems.active, "the first answer was told of"
            told.set()
        starting.pop()
        return refusal(503, "Unavailable", "starting")

    async with talking_to(flaky) as client:
        made = Informers(
            client, EventQueue(), MalformedObjects(lambda *_: None), default_profiles(), problems
        ).facts()
        [informer] = [each for each in made if each.name == CLAIMS]
        running = asyncio.create_task(informer.run())
        async with asyncio.timeout(10):
            await told.wait()
            assert not informer.synced.is_set()
            await informer.synced.wait()
        assert not problems.active
        running.cancel()
        await asyncio.wait([running])


async def test_where_discovery_is_forbidden_the_newest_version_is_listed() -> None:
    server = Server(*EVERYTHING)
    server.lists["resourceclaims"] = [claim("c")]

    async def closed(request: web.BaseRequest) -> web.StreamResponse:
        if request.path.endswith("/v1"):
            return refusal(403, "Forbidden", "no discovery")
        return await server(request)

    queue = EventQueue()
    async with talking_to(closed) as client:
        malformed = MalformedObjects(lambda *_: None)
        made = Informers(client, queue, malformed, default_profiles(), ActiveProblems()).facts()
        [informer] = [each for each in made if each.name == "resourceclaims"]
        await informer.read_once()
    assert server.listed == ["resource.k8s.io/v1 resourceclaims"]
    assert len(queue.take()) == 1


async def test_an_object_that_cannot_be_read_is_told_of() -> None:
    server, said = Server(*EVERYTHING), list[tuple[str, str]]()
    many = {"resources": {"requests": {"storage": "many"}}}
    server.lists[CLAIMS] = [
        {**claim("bad"), "spec": "x"},
        {**claim("odd", 6), "spec": many},
        claim("good", 7),
    ]
    async with world(server, CLAIMS, said=said) as opened:
        await opened.synced()
    assert [name for name, _ in said] == ["bad", "odd"]
    assert "spec" in said[0][1]
    assert said[1][1].startswith("Malformed fields are ignored: spec.resources.requests")
    assert len(opened.events) == 2


async def test_who_waits_for_an_object_hears_of_what_the_stream_brings() -> None:
    server, watches = Server(*EVERYTHING), ObjectWatches()
    server.lists[CLAIMS] = [claim("c")]
    async with world(server, CLAIMS, watches=watches) as opened:
        await opened.synced()
        seen = ReadObject("PersistentVolumeClaim", "ns", "c", 5)
        waiting = asyncio.create_task(watches.changed([seen], 60))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        server.change(CLAIMS, "MODIFIED", claim("c", 8))
        async with asyncio.timeout(5):
            assert await waiting
        assert not await watches.changed([seen._replace(version=8)], 0.05)
        server.change(CLAIMS, "DELETED", claim("c", 9))
        async with asyncio.timeout(5):
            assert await watches.changed([seen._replace(version=8)], 60)


async def test_one_reading_takes_what_the_server_has() -> None:
    server, queue = Server(*EVERYTHING), EventQueue()
    server.lists[CLAIMS] = [claim("c")]
    server.has = {each for each in EVERYTHING if "resource.k8s.io" not in each}
    async with talking_to(server) as client:
        malformed = MalformedObjects(lambda *_: None)
        for each in Informers(
            client, queue, malformed, default_profiles(), ActiveProblems()
        ).facts():
            await each.read_once()
    [seen] = queue.take()
    assert isinstance(seen, FactSeen)


# ── topologies ───────────────────────────────────────────────────────────────────────────────


def layers(name: str, version: int = 5, **more: Any) -> Json:
    """A Topology of racks."""
    rack = {"name": "rack", "nodeLabel": "example.com/rack"}
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": {"levels": [rack], **more}}


async def test_topologies_that_come_change_and_go_are_told_of() -> None:
    server = Server(SERVED)
    server.lists[TOPOLOGIES] = [layers("default")]
    async with world(server, TOPOLOGIES) as opened:
        await opened.synced()
        server.change(TOPOLOGIES, "MODIFIED", layers("default", 8, levels=[]))
        server.change(TOPOLOGIES, "DELETED", layers("default", 9))
        await opened.until(lambda: len(opened.events) == 3)
    seen, changed, gone = opened.events
    assert seen == TopologySeen(Topology("default", (Level("rack", "example.com/rack"),)))
    assert isinstance(changed, TopologySeen)
    assert changed.topology.problem.startswith("spec.levels: it lists no level")
    assert gone == TopologyGone("default")


async def test_a_topology_that_cannot_be_used_is_told_of() -> None:
    server, said = Server(SERVED), list[tuple[str, str]]()
    server.lists[TOPOLOGIES] = [layers("odd", levels="rack"), layers("good", 6)]
    async with world(server, TOPOLOGIES, said=said) as opened:
        await opened.synced()
    [(name, note)] = said
    assert name == "odd"
    assert "spec.levels: Expected `array`" in note
    assert len(opened.events) == 2


async def test_a_server_of_an_older_install_has_no_topologies_and_delays_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with world(Server("enbloc.dev/v1alpha1 podgroups"), TOPOLOGIES) as opened:
        await opened.synced(1.0)
    assert opened.events == []
    [record] = caplog.records
    assert record.message == (
        "The API server does not serve topologies.enbloc.dev: spec.topology of PodGroups can name "
        "node labels only"
    )


async def test_topologies_are_waited_for_where_the_server_has_them() -> None:
    server = Server(SERVED)
    listing = asyncio.Event()

    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        if request.path.endswith(TOPOLOGIES):
            await listing.wait()
        return await server(request)

    async with talking_to(slow) as client:
        malformed = MalformedObjects(lambda *_: None)
        informer = Informers(client, EventQueue(), malformed, {}, ActiveProblems()).topologies()[0]
        running = asyncio.create_task(informer.run())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await informer.synced.wait()
        listing.set()
        async with asyncio.timeout(10):
            await informer.synced.wait()
        running.cancel()
        await asyncio.wait([running])


def test_kinds_are_known_by_the_plugins_of_the_default_profile() -> None:
    [given] = default_profiles().values()
    names = {plugin.name for plugin in given.plugins}
    assert all(kind.plugins <= names for kind in FACTS)
    assert len({replace(kind.resource, version="") for kind in FACTS}) == len(FACTS)
