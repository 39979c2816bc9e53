# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The time of tests, and what they may not do."""

import asyncio
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.confined import CONFINEMENT
from tests.world.virtual_time import Clock, VirtualTimeLoop, busy, time_source


def now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_day_passes_at_once_and_timers_go_off_in_order() -> None:
    order, began = list[str](), time.perf_counter()

    async def after(hours: float, name: str) -> None:
        await asyncio.sleep(3600 * hours)
        order.append(name)

    await asyncio.gather(after(24, "last"), after(0.1, "first"), after(12, "second"))
    assert order == ["first", "second", "last"]
    assert now() == 24 * 3600
    assert time.perf_counter() - began < 3600


async def test_no_time_passes_while_bytes_are_on_their_way() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(5))
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with server:
        for _ in range(50):
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            async with asyncio.timeout(0.5):
                writer.write(b"hello")
                assert await reader.read() == b"hello"
            writer.close()
    assert now() < 0.5


async def test_loops_of_several_threads_wait_for_each_other() -> None:
    home, told = asyncio.get_running_loop(), list[tuple[str, float]]()
    runner = asyncio.Runner(loop_factory=time_source().new_loop)
    loop, done = runner.get_loop(), asyncio.Event()

    async def works() -> None:
        for _ in range(3):
            await asyncio.sleep(10)
            told.append(("there", loop.time()))
        home.call_soon_threadsafe(done.set)

    def thread() -> None:
        with runner:
            runner.run(works())

    worker = threading.Thread(target=thread)
    worker.start()
    for _ in range(3):
        await asyncio.sleep(9)
        told.append(("here", now()))
    async with asyncio.timeout(100):
        await done.wait()
    worker.join()
    assert sorted(told, key=lambda each: each[1]) == told
    assert told[-1] == ("there", 30)


async def test_a_thread_of_an_executor_is_not_overtaken() -> None:
    async with asyncio.timeout(1000):
        await asyncio.to_thread(sum, range(200_000))
    assert now() < 1000


async def test_a_long_step_takes_its_time_from_everybody() -> None:
    sleeping = asyncio.create_task(asyncio.sleep(5))
    await asyncio.sleep(0)
    busy(7)
    await sleeping
    assert now() == 7


async def test_timers_that_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    for fraction in (1e-13, 5e-10, 3e-7):
        await asyncio.sleep(fraction)
        await asyncio.sleep(1 / 3)


class Stall(Clock):
    """Before time passes, the process does not run for some seconds; meanwhile something comes."""

    def __init__(self, seconds: float, comes: Callable[[], object]) -> None:
        self._missed = 0.0
        super().__init__(lambda: time.perf_counter() + self._missed)
        self._seconds, self._comes = seconds, comes

    def pass_on(self, waited: float = 0.0) -> float:
        if not self._missed:
            self._comes()
            self._missed = self._seconds
        return super().pass_on(waited)


@pytest.mark.parametrize("timeout", [0.01, 5.0])
@pytest.mark.parametrize("seconds", [0.3, 20.0])
def test_what_comes_while_the_process_does_not_run_is_noticed_before_time_passes(
    seconds: float, timeout: float
) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)

    async def receives() -> bytes:
        async with asyncio.timeout(timeout):
            return await asyncio.get_running_loop().sock_recv(ours, 5)

    clock = Stall(seconds, lambda: theirs.send(b"hello"))
    with ours, theirs, asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(clock)) as runner:
        assert runner.run(receives()) == b"hello"


def test_a_day_passes_at_once_after_the_process_did_not_run_for_long() -> None:
    clock = Stall(20, lambda: None)
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(clock)) as runner:
        runner.run(asyncio.sleep(24 * 3600))
    assert clock.now == 24 * 3600


@pytest.mark.parametrize("others", [1, 20])
def test_a_step_takes_the_work_that_it_is_and_not_what_others_keep_it_from(others: int) -> None:
    """Of a minute's work, what is beyond the first seconds counts; others' time never does."""
    work = 0.0

    async def works() -> None:
        nonlocal work
        for _ in range(6000):
            work += 0.01
            await asyncio.sleep(0)

    clock = Clock(lambda: (1 + others) * work, lambda: work)
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(clock)) as runner:
        runner.run(works())
    assert 50 < clock.now < 60


@pytest.fixture
def forgiven() -> Iterator[None]:
    """What a test may not do is what it is about."""
    yield
    CONFINEMENT.forgive()


@pytest.mark.usefixtures("forgiven")
def test_a_test_that_starts_a_process_fails() -> None:
    with pytest.raises(AssertionError, match="mark it `processes`"):
        subprocess.run([sys.executable, "-c", ""], check=True)


@pytest.mark.usefixtures("forgiven")
async def test_nor_may_it_start_one_in_its_loop() -> None:
    with pytest.raises(AssertionError, match="mark it `processes`"):
        await asyncio.create_subprocess_exec(sys.executable)


@pytest.mark.usefixtures("forgiven")
def test_a_test_that_talks_to_another_machine_fails() -> None:
    with (
        socket.socket() as made,
        pytest.raises(AssertionError, match="connects to"),
    ):
        made.connect(("192.0.2.1", 80))


@pytest.mark.usefixtures("forgiven")
def test_it_fails_even_where_that_is_caught() -> None:
    with suppress(AssertionError):
        subprocess.run([sys.executable, "-c", ""], check=True)
    with pytest.raises(AssertionError, match="starts a process"):
        CONFINEMENT.ended()


def test_at_most_twenty_tests_wait_for_real_seconds() -> None:
    mark = "@pytest.mark." + "real_time("
    files = Path(__file__).parent.rglob("*.py")
    assert sum(file.read_text(encoding="utf-8").count(mark) for file in files) <= 20


@pytest.mark.real_time("this is what it is about")
async def test_where_it_is_marked_time_is_real() -> None:
    assert not isinstance(asyncio.get_running_loop(), VirtualTimeLoop)
