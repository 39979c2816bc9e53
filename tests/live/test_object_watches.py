# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who hears when that an object has changed; in virtual time."""

import asyncio

import pytest

from enbloc.client.items import Meta
from enbloc.client.paths import PERSISTENT_VOLUME_CLAIMS, Resource
from enbloc.framework.act import ReadObject
from enbloc.live.object_watches import UNWATCHED_SECONDS, ObjectWatches

KIND = PERSISTENT_VOLUME_CLAIMS.kind


class Shown:
    """A stream that has shown these versions, by name; 0 = the object is gone."""

    def __init__(self, **versions: int) -> None:
        self.resource: Resource = PERSISTENT_VOLUME_CLAIMS
        self.versions = versions

    def has_passed(self, namespace: str, name: str, version: int) -> bool:
        assert namespace == "ns"
        shown = self.versions.get(name)
        return shown is not None and (shown == 0 or shown > version)


class World:
    def __init__(self, **versions: int) -> None:
        self.shown = Shown(**versions)
        self.watches = ObjectWatches()
        self.watches.follow(self.shown)

    def show(self, name: str, version: int) -> None:
        self.shown.versions[name] = version
        self.watches.saw(KIND, Meta(name=name, namespace="ns"))

    def after(self, seconds: float, name: str, version: int) -> None:
        asyncio.get_running_loop().call_later(seconds, self.show, name, version)


def seen(name: str, version: int, kind: str = KIND) -> ReadObject:
    return ReadObject(kind, "ns", name, version)


def clock() -> float:
    return asyncio.get_running_loop().time()


async def test_what_was_shown_already_is_not_waited_for() -> None:
    world = World(a=5)
    assert await world.watches.changed([seen("a", 4)], 60)
    assert clock() == 0


@pytest.mark.parametrize("version", [pytest.param(6, id="newer"), pytest.param(0, id="gone")])
async def test_a_wait_ends_with_the_first_object_that_changes(version: int) -> None:
    world = World(a=5, b=5)
    world.after(10, "b", version)
    assert await world.watches.changed([seen("a", 5), seen("b", 5)], 60)
    assert clock() == 10


async def test_a_version_that_the_watch_has_yet_to_show_is_no_change() -> None:
    world = World(a=5)
    world.after(1, "a", 6)
    world.after(2, "a", 7)
    assert await world.watches.changed([seen("a", 6)], 60)
    assert clock() == 2


async def test_a_wait_without_a_change_ends_with_its_time() -> None:
    world = World(a=5)
    world.after(1, "b", 9)
    assert not await world.watches.changed([seen("a", 5)], 60)
    assert clock() == 60


async def test_what_no_stream_shows_is_waited_for_a_moment_only() -> None:
    assert not await World().watches.changed([seen("a", 5, "ResourceClaim")], 60)
    assert clock() == UNWATCHED_SECONDS


async def test_nothing_is_kept_of_waits_that_are_over() -> None:
    world = World(a=5)
    waiting = asyncio.create_task(world.watches.changed([seen("a", 5)], 60))
    await asyncio.sleep(1)
    waiting.cancel()
    await asyncio.wait([waiting])
    await world.watches.changed([seen("a", 5)], 1)
    assert world.watches._waiting == {}
