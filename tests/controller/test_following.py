# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Sources on an API server, while the watch of PodGroups begins anew, and while one has a bug."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from enbloc.client.client import Client
from enbloc.client.discovery import first_served
from enbloc.client.errors import NotFound, ServerError, TooManyRequests
from enbloc.client.events import Recorder
from enbloc.client.items import Item, Malformed, Meta, Synced
from enbloc.client.paths import CRDS, EVENTS, POD_GROUPS, Resource
from enbloc.client.reflector import Reflector
from enbloc.controller.answers import listed
from enbloc.controller.members import Members
from enbloc.controller.session import key_of
from enbloc.controller.sources import follow
from enbloc.controller.sources.coscheduling import COSCHEDULING, RESOURCE, CoschedulingPodGroup
from enbloc.controller.sources.declared import declaration
from enbloc.controller.sources.declaring_pods import Read
from enbloc.controller.sources.follow import Sources
from enbloc.controller.sources.source import Derived, GroupView, RefusedGroup, Source
from enbloc.model.groups import GroupKey
from enbloc.model.names import MIN_MEMBER_KEY, POD_GROUP_KEY, SCHEDULER_NAME, EventReason
from enbloc.telemetry import ActiveProblems
from enbloc.wire.objects import PodObject
from tests.controller.conftest import World, eventually
from tests.controller.test_sources import CRD

pytestmark = pytest.mark.parametrize("world", ["sandbox"], indirect=True)


@pytest.fixture(autouse=True)
async def _installed(world: World) -> None:
    await world.client.create(CRDS, CRD)
    await eventually(lambda: world.client.serves(RESOURCE))


async def theirs(world: World, name: str) -> None:
    await world.create(RESOURCE, metadata={"name": name}, spec={"minMember": 2})


async def made(world: World, name: str) -> dict[str, Any] | None:
    try:
        return await world.get(POD_GROUPS, name)
    except NotFound:
        return None


async def shown_anew(world: World, sources: Sources) -> None:
    """As the session does that has read a list."""
    page = listed(await world.client.page(POD_GROUPS))
    sources.listed({GroupKey(*key_of(each)): each for each in page.groups}, page.version)


@asynccontextmanager
async def following(
    world: World, *sources: Source[Any], read: Read = declaration
) -> AsyncGenerator[Sources, None]:
    """These sources, in the place of their own scheduler; the test is their watch of PodGroups."""
    recorder = Recorder(world.client, "here")
    followed = Sources(
        world.client,
        world.client,
        sources,
        members=Members(),
        ask=lambda _: None,
        problems=ActiveProblems(),
        recorder=recorder,
        now=lambda: 0.0,
        scheduler_names=[SCHEDULER_NAME, *(n for each in sources for n in each.scheduler_names)],
        read=read,
    )
    tasks = [asyncio.ensure_future(each) for each in (followed.run(), recorder.run())]
    await shown_anew(world, followed)
    try:
        yield followed
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        await followed.finish(0)
        assert all(isinstance(each, asyncio.CancelledError) for each in ended), ended


async def test_what_is_deleted_while_podgroups_are_listed_again_is_made_again(
    world: World,
) -> None:
    async with following(world, COSCHEDULING) as sources:
        await theirs(world, "a")
        first = await eventually(lambda: made(world, "a"))
        sources.group_seen(first)
        await world.client.delete(POD_GROUPS, "a", world.namespace)
        await shown_anew(world, sources)  # and no watch tells of it any more
        second = await eventually(lambda: made(world, "a"))
        assert second["metadata"]["uid"] != first["metadata"]["uid"]


async def test_what_is_known_of_a_podgroup_stands_while_podgroups_are_listed_again(
    world: World,
) -> None:
    async with following(world, COSCHEDULING) as sources:
        await theirs(world, "a")
        first = await eventually(lambda: made(world, "a"))
        sources.group_seen(first)
        await shown_anew(world, sources)
        assert sources.derived.found(GroupKey(world.namespace, "a")) == first
        await theirs(world, "b")
        await eventually(lambda: made(world, "b"))
        assert sources.derived.found(GroupKey(world.namespace, "a")) == first


async def told(world: World, name: str, note: str) -> bool:
    events = [one async for one in world.client.list(EVENTS, world.namespace)]
    return any(one["regarding"]["name"] == name and note in one["note"] for one in events)


def of_which_one_is_a_bug(found: CoschedulingPodGroup) -> Derived | RefusedGroup:
    if found.metadata.name == "a":
        raise ZeroDivisionError
    derived = COSCHEDULING.derive(found)
    assert isinstance(derived, Derived | RefusedGroup)
    return derived


async def test_an_object_that_a_bug_keeps_from_being_read_is_told_and_others_are_followed(
    world: World,
) -> None:
    async with following(world, replace(COSCHEDULING, derive=of_which_one_is_a_bug)):
        await theirs(world, "a")
        await theirs(world, "b")
        await eventually(lambda: made(world, "b"))
        await eventually(lambda: told(world, "a", "ZeroDivisionError"))
        assert await made(world, "a") is None


def of_which_one_report_is_a_bug(
    found: CoschedulingPodGroup, view: GroupView
) -> Mapping[str, Any] | None:
    if found.metadata.name == "a":
        raise ZeroDivisionError
    assert COSCHEDULING.report is not None
    return COSCHEDULING.report(found, view)


async def test_an_object_that_a_bug_keeps_from_being_answered_is_told_and_others_are_answered(
    world: World,
) -> None:
    async with following(world, replace(COSCHEDULING, report=of_which_one_report_is_a_bug)):
        await theirs(world, "a")
        await theirs(world, "b")

        async def answered() -> bool:
            return bool((await world.get(RESOURCE, "b")).get("status"))

        await eventually(answered)
        await eventually(lambda: told(world, "a", "ZeroDivisionError"))
        assert await made(world, "a") is not None


async def test_an_object_that_a_user_names_as_owner_is_not_told_why_a_group_waits(
    world: World,
) -> None:
    """A label and an ownerReference are anybody's to write."""
    async with following(world, COSCHEDULING) as sources:
        await theirs(world, "a")
        first = await eventually(lambda: made(world, "a"))
        forged = {**first, "metadata": {**first["metadata"], "name": "forged", "uid": "forged"}}
        for found, said in (forged, "forged words"), (first, "true words"):
            ready = {"type": "Ready", "reason": "Infeasible", "message": said}
            sources.group_seen({**found, "status": {"conditions": [ready]}})
        await eventually(lambda: told(world, "a", "true words"))
        assert not await told(world, "a", "forged words")


def a_pod(name: str) -> PodObject:
    """It declares a group of its own name."""
    body = {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": name,
            "annotations": {POD_GROUP_KEY: name, MIN_MEMBER_KEY: "2"},
        },
        "spec": {"schedulerName": SCHEDULER_NAME},
    }
    return msgspec.convert(body, PodObject)


async def test_a_pod_that_a_bug_keeps_from_being_read_is_told_and_others_are_read(
    world: World,
) -> None:
    def of_which_one_is_a_bug(
        labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> Derived | RefusedGroup | None:
        if annotations[POD_GROUP_KEY] == "a":
            raise ZeroDivisionError
        return declaration(labels, annotations)

    async with following(world, COSCHEDULING, read=of_which_one_is_a_bug) as sources:
        for name in "ab":
            sources.declaring.put(a_pod(name))
        [(_, reason, note)] = sources.declaring.outcome(GroupKey("ns", "a")).words
        assert reason == EventReason.INVALID_SPEC
        assert "ZeroDivisionError" in note
        assert sources.declaring.outcome(GroupKey("ns", "b")).wanted is not None


async def test_that_nothing_is_known_of_what_is_served_is_told_once_until_it_is(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    failing = [True]
    asked = 0

    async def flaky(client: Client, resources: Sequence[Resource]) -> Resource | None:
        nonlocal asked
        asked += 1
        if failing:
            raise ServerError("get", "/apis/scheduling.x-k8s.io/v1alpha1", "no backend", code=503)
        return await first_served(client, resources)

    monkeypatch.setattr(follow, "first_served", flaky)
    await theirs(world, "g")
    async with following(world, COSCHEDULING):
        await eventually(lambda: asked > 3)
        failing.clear()
        await eventually(lambda: made(world, "g"))
    begun, ended = [each.message for each in caplog.records if "no backend" in each.message]
    assert begun.startswith("Cannot get /apis/scheduling.x-k8s.io/v1alpha1: 503")
    assert ended.startswith("Recovered from: ")


async def test_a_server_that_is_busy_is_asked_again_what_it_serves_when_it_says(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Semantics §3.4"""
    times: list[float] = []

    async def busy(client: Client, resources: Sequence[Resource]) -> Resource | None:
        times.append(asyncio.get_running_loop().time())
        if len(times) == 1:
            raise TooManyRequests("get", "/apis", "busy", code=429, retry_after=20.0)
        return await first_served(client, resources)

    monkeypatch.setattr(follow, "first_served", busy)
    async with following(world, COSCHEDULING):
        await eventually(lambda: len(times) > 1)
    assert times[1] - times[0] >= 20


async def test_an_object_without_a_name_is_ignored(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """There is nothing to write an event on, and other objects get theirs."""

    async def shown(_: Reflector[Any]) -> AsyncGenerator[Item[Any]]:
        yield Malformed(Meta(), "metadata.name: missing")
        yield Malformed(Meta("u1", "g", world.namespace, "7"), "spec.minMember: no number")
        yield Synced()
        await asyncio.get_running_loop().create_future()

    monkeypatch.setattr(Reflector, "stream", shown)
    async with following(world, COSCHEDULING):

        async def told() -> list[str]:
            return [each["note"] async for each in world.client.list(EVENTS, world.namespace)]

        assert await eventually(told) == ["spec.minMember: no number"]
    assert "Ignored a malformed object of podgroups.scheduling.x-k8s.io" in caplog.text
