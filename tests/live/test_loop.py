# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
import time
from collections.abc import Sequence

import pytest

from enbloc.engine.effects import CancelPlan, Effect
from enbloc.engine.events import Event, NodeGone
from enbloc.live.event_queue import BATCH, EventQueue
from enbloc.live.loop import LONG_STEP, TURNS, Loop


class Echo:
    """Answers every node with a plan's end, one a step; asks for another step while it has any."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.left: list[str] = []
        self.steps = self.stood_by = 0
        self.alarm: float | None = None
        self.takes = 0.0

    def apply(self, event: Event) -> None:
        assert isinstance(event, NodeGone)
        self.told.append(event.name)
        self.left.append(event.name)

    def step(self, now: float) -> Sequence[Effect]:
        self.steps += 1
        time.sleep(self.takes)  # noqa: TID251  # a long step
        if self.alarm is not None and now >= self.alarm:
            self.alarm = None
            return [CancelPlan("alarm")]
        return [CancelPlan(self.left.pop(0))] if self.left else []

    def stand_by(self) -> None:
        self.stood_by += 1

    def wakeup(self) -> float | None:
        return 0.0 if self.left else self.alarm


class World:
    def __init__(self) -> None:
        self.engine = Echo()
        self.queue = EventQueue()
        self.effects: list[str] = []
        self.allowed = True
        self.loop = Loop(self.engine, self.queue, self.start, self.now, lambda: self.allowed)

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def start(self, effects: Sequence[Effect], seconds: float) -> None:
        assert seconds >= 0
        self.effects += [effect.plan for effect in effects if isinstance(effect, CancelPlan)]

    async def rest(self) -> None:
        """Let the loop run until it waits."""
        for _ in range(50):
            await asyncio.sleep(0)


@pytest.fixture
async def world() -> World:
    return World()


async def test_what_is_put_is_applied_in_order_and_stepped_until_the_engine_rests(
    world: World,
) -> None:
    running = asyncio.create_task(world.loop.run())
    for name in ("a", "b", "c"):
        world.queue.put(NodeGone(name))
    await world.rest()
    assert world.engine.told == world.effects == ["a", "b", "c"]
    assert not running.done()
    world.loop.stop()
    await running


async def test_an_alarm_of_the_engine_ends_the_wait_without_any_event(world: World) -> None:
    world.engine.alarm = world.now() + 0.01
    running = asyncio.create_task(world.loop.run())
    await asyncio.sleep(0.05)
    assert world.effects == ["alarm"]
    assert world.engine.steps == 1
    world.loop.stop()
    await running


async def test_while_stepping_is_forbidden_events_are_applied_and_nothing_spins(
    world: World,
) -> None:
    world.allowed = False
    running = asyncio.create_task(world.loop.run())
    world.queue.put(NodeGone("a"))
    await world.queue.caught_up()
    await world.rest()
    assert world.engine.told == ["a"]
    assert (world.engine.steps, world.engine.stood_by) == (0, 1)
    world.allowed = True
    world.queue.wake()
    await world.rest()
    assert world.effects == ["a"]
    world.loop.stop()
    await running


async def test_a_stop_takes_effect_before_the_next_step(world: World) -> None:
    world.queue.put(NodeGone("a"))
    world.loop.stop()
    await world.loop.run()
    assert world.engine.steps == 0


async def test_a_flood_of_events_does_not_keep_others_from_their_turn(world: World) -> None:
    for index in range(3 * BATCH):
        world.queue.put(NodeGone(str(index)))
    running = asyncio.create_task(world.loop.run())
    turns = 0
    while len(world.engine.told) < 3 * BATCH:
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 3
    world.loop.stop()
    await running


async def test_a_request_does_not_wait_for_a_long_step_at_each_of_its_turns(world: World) -> None:
    """As a Binding does that is sent while a flood makes each step a long one."""
    world.engine.takes = 2 * LONG_STEP
    for index in range(3 * TURNS):
        world.queue.put(NodeGone(str(index)))
    running = asyncio.create_task(world.loop.run())
    for _ in range(TURNS):
        await asyncio.sleep(0)
        assert world.engine.steps == 1
    await asyncio.sleep(0)
    assert world.engine.steps == 2
    world.loop.stop()
    await running


def test_of_what_takes_each_others_place_only_the_newest_waits() -> None:
    queue = EventQueue()
    queue.put_newest("n1", NodeGone("n1 at first"))
    queue.put(NodeGone("between"))
    for number in range(BATCH):
        queue.put_newest("n2", NodeGone(f"n2 for the {number}. time"))
    queue.put_newest("n1", NodeGone("n1 at last"))
    assert queue.take(2) == [NodeGone("between"), NodeGone(f"n2 for the {BATCH - 1}. time")]
    queue.put_newest("n2", NodeGone("n2 again"))
    assert queue.take() == [NodeGone("n1 at last"), NodeGone("n2 again")]
    queue.put_newest("n1", NodeGone("n1 again"))
    assert queue.take() == [NodeGone("n1 again")]
