# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Workers answer what they are asked, in copies and branches too; whatever ends, nobody hangs."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from enbloc.errors import EnblocError, UsageError
from enbloc.process.forks import ForkedWorker
from enbloc.process.workers import (
    GoOn,
    ThreadWorker,
    TooMuchAskedError,
    Worker,
    WorkerEndedError,
)
from tests.hack.processes import runs, wait_until
from tests.patience import PATIENCE

Known = list[int]
#: Starts a worker with a branch that has a copy, says who they are, and would go on for minutes.
_LONG = """
import asyncio, os, time
from enbloc.process.forks import ForkedWorker
def me(state): return os.getpid()
def stay(state, go_on):
    print(os.getpid(), flush=True)
    time.sleep(300)
def same(state, go_on): return state
async def main(worker):
    branch = await worker.branch(same)
    print(await worker.ask(me), await branch.ask(me), flush=True)
    await branch.copy(stay, 300.0)
worker = ForkedWorker.start([])
asyncio.run(main(worker))
"""
#: Takes in what loses its parent, as process 1 of a container does, while a worker does that forked
#: another one; says who both were.
_ORPHAN = """
import asyncio, ctypes, os, signal, sys
from enbloc.process.forks import ForkedWorker
def me(state): return os.getpid()
def same(state, go_on): return state
async def main(worker):
    parent = await worker.branch(same)
    child = await parent.branch(same)
    pids = [await each.ask(me) for each in (parent, child)]
    os.kill(pids[0], signal.SIGKILL)
    print(*pids, flush=True)
    sys.stdin.read()
ctypes.CDLL(None).prctl(36, 1)
worker = ForkedWorker.start([])
asyncio.run(main(worker))
"""


@pytest.fixture(params=[pytest.param("forked", marks=pytest.mark.processes), "threads"])
async def worker(request: pytest.FixtureRequest) -> AsyncIterator[Worker[Known]]:
    state = [1, 2, 3]
    made: Worker[Known] = (
        ForkedWorker.start(state) if request.param == "forked" else ThreadWorker(state)
    )
    yield made
    made.close()


@pytest.fixture
async def forked() -> AsyncIterator[ForkedWorker[Known]]:
    made = ForkedWorker.start([1, 2, 3])
    yield made
    made.close()


def put(state: Known, *, number: int) -> None:
    state.append(number)


def total(state: Known) -> int:
    return sum(state)


def summed(state: Known, go_on: GoOn) -> int:
    return sum(state) if go_on() else 0


def doubled(state: Known, go_on: GoOn) -> Known:
    assert go_on()
    return [2 * each for each in state]


def large(state: Known) -> str:
    return "x" * 3_000_000 + str(len(state))


def refuse(state: Known, go_on: GoOn) -> Any:
    del go_on
    raise UsageError(f"{len(state)} are too many")


class TwofoldError(Exception):
    """An exception that cannot be made again from its arguments."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


def refuse_oddly(state: Known) -> None:
    del state
    raise TwofoldError("so", "odd")


def wait_for_the_end(state: Known, go_on: GoOn) -> int:
    while go_on():
        time.sleep(0.01)  # noqa: TID251  # what takes long
    return len(state)


def ignore_the_end(state: Known, go_on: GoOn) -> int:
    del go_on
    signal.pause()
    return len(state)


def end(state: Known) -> None:
    del state
    os.kill(os.getpid(), signal.SIGKILL)


def end_at_once(state: Known, go_on: GoOn) -> Any:
    del go_on
    end(state)


def process(state: Known) -> int:
    del state
    return os.getpid()


async def test_what_is_asked_of_a_worker_it_answers_and_keeps(worker: Worker[Known]) -> None:
    await worker.ask(partial(put, number=4))
    assert await worker.ask(total) == 10


async def test_a_copy_is_asked_and_a_branch_goes_on_from_there(worker: Worker[Known]) -> None:
    assert await worker.copy(summed, 60.0) == 6
    branch = await worker.branch(doubled)
    await worker.ask(partial(put, number=4))
    assert await branch.ask(total) == 12
    further = await branch.branch(doubled, 60.0)
    assert (await further.ask(total), await branch.copy(summed, 60.0)) == (24, 12)


async def test_a_large_answer_comes_whole(worker: Worker[Known]) -> None:
    assert len(await worker.ask(large)) == 3_000_001


async def test_what_is_raised_is_raised_where_it_was_asked(worker: Worker[Known]) -> None:
    with pytest.raises(UsageError, match="3 are too many"):
        await worker.copy(refuse, 60.0)
    with pytest.raises(UsageError, match="3 are too many"):
        await worker.branch(refuse)
    with pytest.raises(Exception, match="so odd"):
        await worker.ask(refuse_oddly)
    assert await worker.ask(total) == 6


@pytest.mark.real_time
async def test_who_works_for_too_long_is_told(worker: Worker[Known]) -> None:
    """A thread and another process have no virtual time."""
    assert await worker.copy(wait_for_the_end, 0.05) == 3


async def test_many_are_asked_at_once(worker: Worker[Known]) -> None:
    asked = [worker.ask(total) for _ in range(20)] + [worker.copy(summed, 60.0) for _ in range(10)]
    assert set(await asyncio.gather(*asked)) == {6}


@pytest.mark.processes
async def test_a_copy_that_goes_on_for_too_long_is_ended(
    forked: ForkedWorker[Known], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("enbloc.process.forks._GRACE", 0.05)
    brief = ForkedWorker.start([1])
    with pytest.raises(WorkerEndedError, match="for lack of memory or of time"):
        await brief.copy(ignore_the_end, 0.05)
    assert await brief.ask(total) == 1
    brief.close()
    assert await forked.ask(total) == 6


@pytest.mark.processes
async def test_what_is_killed_is_told_of(forked: ForkedWorker[Known]) -> None:
    with pytest.raises(WorkerEndedError):
        await forked.copy(end_at_once, 60.0)
    with pytest.raises(WorkerEndedError):
        await forked.branch(end_at_once)
    branch = await forked.branch(doubled)
    with pytest.raises(WorkerEndedError):
        await branch.ask(end)
    with pytest.raises(WorkerEndedError):
        await branch.ask(total)
    assert await forked.ask(total) == 6


@pytest.mark.processes
async def test_a_branch_ends_when_nobody_refers_to_it(forked: ForkedWorker[Known]) -> None:
    branch = await forked.branch(doubled)
    further = await branch.branch(doubled)
    pids = [await each.ask(process) for each in (branch, further)]
    del branch
    gc.collect()
    assert await further.ask(total) == 24
    del further
    gc.collect()
    wait_until("both end", lambda: not any(map(runs, pids)), (), PATIENCE)


@pytest.mark.processes
async def test_who_no_longer_waits_for_an_answer_leaves_nothing(
    forked: ForkedWorker[Known],
) -> None:
    asking = asyncio.create_task(forked.copy(wait_for_the_end, 0.5))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait([asking])
    assert await forked.ask(total) == 6


@pytest.mark.processes
async def test_where_too_many_files_are_open_nothing_is_asked_and_the_worker_stays(
    forked: ForkedWorker[Known], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr("socket.socketpair", fail)
        for asked in (forked.ask(total), forked.copy(summed, 300.0), forked.branch(doubled)):
            with pytest.raises(TooMuchAskedError, match="too much is asked at once"):
                await asked
    assert await forked.ask(total) == 6


@pytest.mark.processes
async def test_all_end_when_the_first_is_closed() -> None:
    worker = ForkedWorker.start([1])
    branch = await worker.branch(doubled)
    pids = [await each.ask(process) for each in (worker, branch)]
    asking = asyncio.create_task(branch.copy(ignore_the_end, 300.0))
    await asyncio.sleep(0)
    worker.close()
    with pytest.raises(WorkerEndedError):
        await asking
    wait_until("they end", lambda: not any(map(runs, pids)), (), PATIENCE)
    with pytest.raises(WorkerEndedError):
        await worker.ask(total)


@pytest.mark.processes
def test_none_outlives_a_process_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", _LONG], stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        pids = [int(each) for _ in range(2) for each in started.stdout.readline().split()]
        assert len(pids) == 3
        started.kill()
    wait_until("they end", lambda: not any(map(runs, pids)), (), PATIENCE)


@pytest.mark.processes
def test_what_loses_its_parent_is_no_zombie_of_the_first_process() -> None:
    command = [sys.executable, "-c", _ORPHAN]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        pids = [int(each) for each in started.stdout.readline().split()]
        assert len(pids) == 2
        there = [Path(f"/proc/{pid}") for pid in pids]
        wait_until("none is left", lambda: not any(map(Path.exists, there)), (), PATIENCE)


@pytest.mark.processes
@pytest.mark.parametrize("call", ["socket.socketpair", "os.fork"])
def test_a_worker_that_cannot_be_started_is_an_error_that_says_why(
    monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail(*_: object) -> int:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(call, fail)
    with pytest.raises(EnblocError, match="cannot start a process to work in: Resource"):
        ForkedWorker.start([1])
