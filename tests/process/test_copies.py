# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Work in a copy of the process: its answer comes back, and nothing else."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from enbloc.errors import EnblocError, UsageError
from enbloc.process.copies import in_copy
from tests.hack.processes import runs, wait_until
from tests.patience import PATIENCE

#: Starts a copy that says who it is, and would go on for minutes.
_LONG = """
import os, time
from enbloc.process.copies import in_copy
def work():
    print(os.getpid(), flush=True)
    time.sleep(300)
in_copy(work)
"""

pytestmark = pytest.mark.processes


def test_what_is_changed_in_a_copy_is_not_seen_outside() -> None:
    here = {"count": 1}

    def work() -> int:
        here["count"] += 1
        return here["count"]

    assert (in_copy(work), here["count"]) == (2, 1)


def test_a_large_answer_comes_back_whole() -> None:
    assert in_copy(lambda: "x" * 1_000_000) == "x" * 1_000_000


def test_what_is_raised_in_a_copy_is_raised_outside() -> None:
    def work() -> None:
        raise UsageError("no such node")

    with pytest.raises(UsageError, match="no such node"):
        in_copy(work)


def test_an_answer_that_cannot_be_handed_over_is_an_error() -> None:
    with pytest.raises(Exception, match="pickle"):
        in_copy(lambda: lambda: None)


def test_a_copy_that_is_killed_is_told_of() -> None:
    with pytest.raises(EnblocError, match="its process was ended"):
        in_copy(lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_a_copy_that_ends_within_its_answer_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(descriptor: int, _: str) -> None:
        os.write(descriptor, b"\x80\x05")
        os._exit(9)

    def work() -> int:
        monkeypatch.setattr(os, "fdopen", cut)  # in the copy alone
        return 1

    with pytest.raises(EnblocError, match="its process was ended"):
        in_copy(work)


@pytest.mark.parametrize("call", ["pipe", "fork"])
def test_a_copy_that_cannot_be_made_is_an_error_that_says_why(
    monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail() -> int:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    before = _open_files()
    monkeypatch.setattr(os, call, fail)
    with pytest.raises(EnblocError, match="Resource temporarily unavailable"):
        in_copy(lambda: 1)
    assert _open_files() == before


def test_a_copy_does_not_outlive_a_process_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", _LONG], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
    wait_until("the copy ends", lambda: not runs(child), (), PATIENCE)


def test_a_copy_is_ended_and_reaped_where_the_wait_for_it_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    children: list[int] = []
    fork = os.fork

    def remembered() -> int:
        children.append(fork())
        return children[-1]

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fork", remembered)
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt):
            in_copy(signal.pause)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(ProcessLookupError):
        os.kill(children[0], 0)


def _open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())
