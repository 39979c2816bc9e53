# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import logging

import pytest

from enbloc.kube.clock import ServerClock


def test_the_clock_takes_the_offset_once_and_then_follows_the_monotonic_clock() -> None:
    offset, local = [1000.0], [5.0]
    clock = ServerClock(lambda: offset[0], lambda: local[0])
    assert clock.now() == 1005.0
    offset[0], local[0] = 2000.0, 6.0
    assert clock.now() == 1006.0


def test_where_the_server_tells_no_time_the_wall_clock_of_the_first_call_has_to_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    local, wall = [5.0], [1000.0]
    clock = ServerClock(lambda: None, lambda: local[0], lambda: wall[0])
    assert clock.now() == 1000.0
    local[0], wall[0] = 6.0, 2000.0
    assert clock.now() == 1001.0
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
