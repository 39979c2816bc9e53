# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Work in a copy of the process: its answer comes back, and nothing else."""

import os
import signal

import pytest

from enbloc.errors import EnblocError, UsageError
from enbloc.process.copies import in_copy

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
