# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import logging

import pytest

from enbloc.client.clock import ServerClock, TimeSource


def clock_of(offset: list[float | None], local: list[float]) -> ServerClock:
    return ServerClock(lambda: offset[0], TimeSource(lambda: local[0]))


def test_the_clock_follows_the_local_one_while_the_server_agrees_within_two_seconds() -> None:
    """semantics §4.2: what a clock does that is set anew would move deadlines."""
    offset: list[float | None] = [1000.0]
    local = [5.0]
    clock = clock_of(offset, local)
    assert clock.now() == 1005.0
    offset[0], local[0] = 1001.9, 6.0
    assert clock.now() == 1006.0
    offset[0], local[0] = None, 7.0
    assert clock.now() == 1007.0


@pytest.mark.parametrize("wrong", [3 * 3600.0, -3 * 3600.0])
def test_the_clock_is_corrected_by_a_tenth_of_the_time_that_passes_and_never_goes_back(
    wrong: float,
) -> None:
    offset: list[float | None] = [1000.0]
    local = [0.0]
    clock = clock_of(offset, local)
    before = clock.now()
    offset[0] = 1000.0 + wrong
    for _ in range(40 * 3600 // 10):
        local[0] += 10.0
        now = clock.now()
        assert 9.0 - 1e-6 <= now - before <= 11.0 + 1e-6
        before = now
    assert abs(before - (1000.0 + wrong + local[0])) <= 2.0


def test_a_clock_that_was_not_asked_for_hours_is_corrected_by_seconds_only() -> None:
    """As after a machine has slept: the hours themselves have passed, and count."""
    offset: list[float | None] = [1000.0]
    local = [0.0]
    clock = clock_of(offset, local)
    clock.now()
    offset[0], local[0] = 5000.0, 3 * 3600.0
    assert clock.now() == 1000.0 + 3 * 3600.0 + 6.0


def test_where_the_server_tells_no_time_the_wall_clock_of_the_first_call_has_to_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    local, wall = [5.0], [1000.0]
    clock = ServerClock(lambda: None, TimeSource(lambda: local[0], lambda: wall[0]))
    assert clock.now() == 1000.0
    local[0], wall[0] = 6.0, 2000.0
    assert clock.now() == 1001.0
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
