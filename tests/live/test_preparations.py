# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of prepared members when their plan is given up; in virtual time."""

import asyncio
from dataclasses import dataclass, field
from typing import ClassVar

import pytest

from enbloc.config import default_profiles
from enbloc.engine.effects import PreBind
from enbloc.engine.events import Event, PreBindFailed, PreBound, Unreserved
from enbloc.framework.act import Api, Target
from enbloc.framework.profile import Profile
from enbloc.framework.status import SUCCESS, Code, Status
from enbloc.live.binding import MemberApi
from enbloc.live.objects import UNRESERVE_SECONDS
from enbloc.live.preparations import Preparations
from enbloc.model.groups import GroupKey
from enbloc.model.pods import PodKey, PodUID
from tests.client.memory import MemoryClient, Store
from tests.live.objects import objects


@dataclass
class Slow:
    """Prepares a member in a second, and takes it back in ten.

    Attributes:
        skips: members that it has nothing to do for.
        answer: of Unreserve.
    """

    name: ClassVar[str] = "Slow"
    told: list[str] = field(default_factory=list)
    skips: frozenset[str] = frozenset()
    answer: Status | Exception = SUCCESS
    undo_seconds: float = 10.0

    def prepares(self, target: Target) -> bool:
        return target.pod.name not in self.skips

    async def pre_bind(self, target: Target, api: Api) -> Status:
        del api
        self._tell("prepares", target)
        await asyncio.sleep(1)
        self._tell("prepared", target)
        return SUCCESS

    async def unreserve(self, target: Target, api: Api) -> Status:
        del api
        self._tell("takes back", target)
        await asyncio.sleep(self.undo_seconds)
        self._tell("took back", target)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def _tell(self, what: str, target: Target) -> None:
        now = round(asyncio.get_running_loop().time())
        self.told.append(f"{now} {what} {target.pod.name} of {target.plan}")


@dataclass
class Sharing(Slow):
    """What members take back is of an object that they share."""

    name: ClassVar[str] = "Sharing"

    async def unreserve(self, target: Target, api: Api) -> Status:
        async with api.alone("ResourceClaim", "ns", "shared"):
            return await super().unreserve(target, api)


class World:
    def __init__(self, plugin: Slow) -> None:
        self.plugin = plugin
        self.events: list[Event] = []
        self.faults: list[BaseException | None] = []
        [given] = default_profiles().values()
        self.profile = Profile("enbloc", (plugin, *given.plugins))
        client = MemoryClient(Store())
        shared = objects(client)

        def api(target: Target) -> MemberApi:
            return MemberApi(client, lambda: None, shared, target.plan)

        self.preparations = Preparations(api, self.events.append, self._settled)

    def _settled(self, task: asyncio.Task[None]) -> None:
        self.faults.append(None if task.cancelled() else task.exception())

    def begin(self, name: str, plan: str = "p1", group: str = "g") -> None:
        effect = PreBind("enbloc", GroupKey("ns", group), target(name, plan))
        self.preparations.begin(effect, self.profile)

    @property
    def outcomes(self) -> list[Event]:
        """Those of PreBinds."""
        return [each for each in self.events if not isinstance(each, Unreserved)]

    def cancel(self, plan: str = "p1", *names: str) -> None:
        self.preparations.cancel(plan, frozenset(PodUID(f"uid-{name}") for name in names))


def target(name: str, plan: str = "p1") -> Target:
    return Target(plan, PodKey("ns", name), PodUID(f"uid-{name}"), "n1")


async def test_a_plan_given_up_is_taken_back_for_members_that_were_and_were_not_done() -> None:
    world = World(Slow())
    world.begin("a")
    await asyncio.sleep(1.5)
    world.begin("b")
    await asyncio.sleep(0.25)
    world.cancel()
    await asyncio.sleep(20)
    assert world.plugin.told == [
        "0 prepares a of p1",
        "1 prepared a of p1",
        "2 prepares b of p1",
        "2 takes back a of p1",
        "2 takes back b of p1",
        "12 took back a of p1",
        "12 took back b of p1",
    ]
    assert world.events == [
        PreBound("p1", PodUID("uid-a")),
        Unreserved("p1", PodUID("uid-a")),
        Unreserved("p1", PodUID("uid-b")),
    ]


async def test_the_next_prebinds_of_a_group_begin_when_the_last_are_taken_back() -> None:
    """They may want the very devices that these give back."""
    world = World(Slow())
    world.begin("a")
    await asyncio.sleep(0.5)
    world.cancel()
    world.begin("a", "p2")
    world.begin("b", "p2")
    world.begin("c", "p3", group="h")
    await asyncio.sleep(20)
    told = [each for each in world.plugin.told if " of p2" in each]
    assert told == [
        "10 prepares b of p2",
        "10 prepares a of p2",
        "12 prepared b of p2",
        "12 prepared a of p2",
    ]
    assert "2 prepared c of p3" in world.plugin.told


async def test_a_plan_that_waits_for_an_earlier_one_can_be_given_up_too() -> None:
    world = World(Slow())
    world.begin("a")
    await asyncio.sleep(0.5)
    world.cancel()
    world.begin("b", "p2")
    await asyncio.sleep(1)
    world.cancel("p2")
    world.begin("a", "p3")
    await asyncio.sleep(30)
    assert world.plugin.told[-2:] == ["12 prepares a of p3", "12 prepared a of p3"]
    assert {each for each in world.events if isinstance(each, Unreserved)} == {
        Unreserved("p1", PodUID("uid-a")),
        Unreserved("p2", PodUID("uid-b")),
    }


async def test_a_new_plan_for_a_pod_takes_back_what_the_old_one_did() -> None:
    world = World(Slow())
    world.begin("a")
    await asyncio.sleep(2)
    world.begin("a", "p2")
    await asyncio.sleep(20)
    assert world.plugin.told[2:4] == ["2 takes back a of p1", "12 took back a of p1"]
    world.cancel("p1")  # of which nothing is left
    await asyncio.sleep(20)
    assert len(world.plugin.told) == 6


async def test_one_member_may_be_given_up_alone() -> None:
    world = World(Slow())
    world.begin("a")
    world.begin("b")
    await asyncio.sleep(2)
    world.cancel("p1", "a", "unknown")
    await asyncio.sleep(20)
    assert [each for each in world.plugin.told if "back" in each] == [
        "2 takes back a of p1",
        "12 took back a of p1",
    ]


async def test_what_was_prepared_for_a_bound_member_stays() -> None:
    world = World(Slow())
    world.begin("a")
    await asyncio.sleep(2)
    world.preparations.handed_out(PodUID("uid-a"))
    world.cancel()
    await asyncio.sleep(20)
    assert not any("back" in each for each in world.plugin.told)


async def test_what_was_prepared_for_a_refused_member_is_taken_back() -> None:
    world = World(Slow())
    world.begin("a")
    await asyncio.sleep(2)
    world.preparations.handed_out(PodUID("uid-a"))
    world.preparations.refused(world.profile, target("a"))
    await asyncio.sleep(20)
    assert world.plugin.told[-1] == "12 took back a of p1"


async def test_a_plugin_is_not_asked_about_members_that_it_has_nothing_to_do_for() -> None:
    world = World(Slow(skips=frozenset({"a"})))
    world.begin("a")
    await asyncio.sleep(0.5)
    world.cancel()
    await asyncio.sleep(20)
    assert world.outcomes == [PreBound("p1", PodUID("uid-a"))]
    assert world.plugin.told == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        pytest.param(Status(Code.ERROR, "it stays"), "Could not take back", id="says so"),
        pytest.param(ValueError("broken"), "Plugin Slow failed at Unreserve", id="breaks"),
    ],
)
async def test_what_cannot_be_taken_back_is_logged_and_hinders_nobody(
    answer: Status | Exception, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(Slow(answer=answer))
    world.begin("a")
    world.cancel()
    world.begin("a", "p2")
    await asyncio.sleep(20)
    assert words in caplog.text
    assert PreBound("p2", PodUID("uid-a")) in world.events
    assert not any(world.faults)


async def test_an_unreserve_that_hangs_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    world = World(Slow(undo_seconds=1e6))
    world.begin("a")
    world.cancel()
    world.begin("a", "p2")
    await asyncio.sleep(UNRESERVE_SECONDS + 5)
    assert "took longer than 120 s" in caplog.text
    assert world.outcomes == [PreBound("p2", PodUID("uid-a"))]


async def test_the_wait_for_members_that_share_an_object_counts_against_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(Sharing())
    for index in range(24):
        world.begin(f"a-{index}")
    await asyncio.sleep(2)
    world.cancel()
    await asyncio.sleep(245)
    assert sum("took back" in each for each in world.plugin.told) == 24
    assert caplog.text == ""
    assert world.preparations._tasks == set()


async def test_one_that_hangs_holds_the_others_up_for_a_time_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(Sharing(undo_seconds=1e6))
    for name in "abc":
        world.begin(name)
    await asyncio.sleep(2)
    world.cancel()
    await asyncio.sleep(3 * UNRESERVE_SECONDS + 1)
    assert [each.split()[1:4] for each in world.plugin.told[-3:]] == [
        ["takes", "back", name] for name in "abc"
    ]
    assert caplog.text.count("took longer than") == 3
    assert world.preparations._tasks == set()


async def test_those_that_wait_for_each_other_are_given_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A plugin of somebody else may have two objects to itself, in any order."""

    class Crossing(Slow):
        async def unreserve(self, target: Target, api: Api) -> Status:
            first, second = ("x", "y") if target.pod.name == "a" else ("y", "x")
            async with api.alone("ResourceClaim", "ns", first):
                await asyncio.sleep(1)
                async with api.alone("ResourceClaim", "ns", second):
                    return await super().unreserve(target, api)

    world = World(Crossing())
    world.begin("a")
    world.begin("b")
    await asyncio.sleep(2)
    world.cancel()
    await asyncio.sleep(3 * UNRESERVE_SECONDS)
    assert "took longer than" in caplog.text
    assert world.preparations._tasks == set()


async def test_a_stop_waits_for_what_is_being_taken_back() -> None:
    world = World(Slow())
    world.begin("a")
    await asyncio.sleep(0.5)
    world.cancel()
    await world.preparations.finish(20)
    assert world.plugin.told[-1] == "10 took back a of p1"
    world.begin("a")
    await asyncio.sleep(0.5)
    world.preparations.close()
    await asyncio.sleep(5)
    assert not any(isinstance(event, PreBound | PreBindFailed) for event in world.events)
    assert not any(world.faults)


async def test_nothing_is_kept_of_members_that_are_settled() -> None:
    world = World(Slow())
    for name in "abc":
        world.begin(name)
    await asyncio.sleep(2)
    world.preparations.handed_out(PodUID("uid-a"))
    world.cancel()
    await asyncio.sleep(20)
    kept = world.preparations
    assert (kept._begun, kept._of_plan, kept._undoing, kept._tasks) == ({}, {}, {}, set())


async def test_what_is_left_of_another_process_is_taken_back_once_at_a_time() -> None:
    world = World(Slow())
    world.preparations.take_back(world.profile, target("a"))
    world.preparations.take_back(world.profile, target("a"))
    await asyncio.sleep(0.5)
    world.begin("a", "p2")
    world.preparations.take_back(world.profile, target("a"))
    await asyncio.sleep(20)
    assert world.plugin.told == [
        "0 takes back a of p1",
        "10 took back a of p1",
        "10 prepares a of p2",
        "11 prepared a of p2",
    ]
