# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""When a group is reconciled, in virtual time."""

import asyncio
import logging

import pytest
import uvloop

from enbloc.controller.pacer import BUG_SECONDS, Pacer
from enbloc.model.groups import GroupKey

pytestmark = [pytest.mark.looptime(start=0)]
A = GroupKey("n", "a")
B = GroupKey("n", "b")


class Recorder:
    """Reconciles by noting when it was called."""

    def __init__(self, *wants: float | None, takes: float = 0.0) -> None:
        self.calls: list[tuple[float, GroupKey]] = []
        self._wants = list(wants)
        self._takes = takes
        self.running = 0
        self.most = 0

    async def __call__(self, key: GroupKey) -> float | None:
        self.calls.append((asyncio.get_running_loop().time(), key))
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(self._takes)
        self.running -= 1
        return self._wants.pop(0) if self._wants else None


async def test_the_first_change_is_looked_at_at_once() -> None:
    recorder = Recorder()
    pacer = Pacer(recorder)

    pacer.ask(A)
    pacer.ask(B)
    await asyncio.sleep(5)

    assert recorder.calls == [(0, A), (0, B)]


async def test_a_burst_is_looked_at_once_at_its_start_and_once_a_second() -> None:
    recorder = Recorder()
    pacer = Pacer(recorder)

    for _ in range(25):
        pacer.ask(A)
        await asyncio.sleep(0.1)
    await asyncio.sleep(5)

    assert recorder.calls == [(0, A), (1, A), (2, A), (3, A)]


async def test_a_change_while_it_is_looked_at_is_looked_at_afterwards() -> None:
    recorder = Recorder(takes=3)
    pacer = Pacer(recorder)

    pacer.ask(A)
    await asyncio.sleep(1)
    pacer.ask(A)
    pacer.ask(A)
    await asyncio.sleep(10)

    assert recorder.calls == [(0, A), (3, A)]


async def test_a_call_that_wants_to_be_repeated_is() -> None:
    recorder = Recorder(4.0, None)
    pacer = Pacer(recorder)

    pacer.ask(A)
    await asyncio.sleep(20)

    assert recorder.calls == [(0, A), (4, A)]


async def test_a_change_does_not_wait_for_a_repetition() -> None:
    recorder = Recorder(10.0)
    pacer = Pacer(recorder)

    pacer.ask(A)
    await asyncio.sleep(2)
    pacer.ask(A)
    await asyncio.sleep(20)

    assert recorder.calls == [(0, A), (2, A)]


async def test_only_so_many_run_at_the_same_time() -> None:
    recorder = Recorder(takes=1)
    pacer = Pacer(recorder, parallel=2)

    for name in "abcde":
        pacer.ask(GroupKey("n", name))
    await asyncio.sleep(10)

    assert len(recorder.calls) == 5
    assert recorder.most == 2


async def test_a_bug_is_logged_with_the_group_and_tried_again_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls: list[float] = []

    async def broken(_: GroupKey) -> float | None:
        calls.append(asyncio.get_running_loop().time())
        if len(calls) == 1:
            raise ZeroDivisionError
        return None

    pacer = Pacer(broken)
    with caplog.at_level(logging.ERROR):
        pacer.ask(A)
        await asyncio.sleep(100)

    assert calls == [0, BUG_SECONDS]
    assert [record.__dict__["podGroup"] for record in caplog.records] == ["n/a"]


async def test_a_group_that_is_gone_is_not_looked_at() -> None:
    recorder = Recorder()
    pacer = Pacer(recorder)

    pacer.ask(A, delay=5)
    pacer.forget(A)
    await asyncio.sleep(10)

    assert recorder.calls == []


async def test_closing_waits_for_what_runs_and_starts_nothing_more() -> None:
    recorder = Recorder(takes=3)
    pacer = Pacer(recorder)

    pacer.ask(A)
    await asyncio.sleep(1)
    pacer.ask(A)
    pacer.ask(B, delay=1)
    await pacer.close()
    pacer.ask(B)
    await asyncio.sleep(10)

    assert recorder.calls == [(0, A)]
    assert recorder.running == 0


def test_uvloop_whose_immediate_timers_know_no_time_is_paced_as_well() -> None:
    recorder = Recorder()

    async def ask_twice() -> None:
        pacer = Pacer(recorder)
        pacer.ask(A)
        pacer.ask(A)
        await asyncio.sleep(0.01)
        await pacer.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(ask_twice())

    assert [key for _, key in recorder.calls] == [A]
