# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import pytest

from enbloc.kube.clock import ServerClock


def test_the_clock_takes_the_offset_once_and_then_follows_the_monotonic_clock() -> None:
    offset: list[float | None] = [None]
    local = [5.0]
    clock = ServerClock(lambda: offset[0], lambda: local[0])
    with pytest.raises(AssertionError, match="not told its time"):
        clock.now()
    offset[0] = 1000.0
    assert clock.now() == 1005.0
    offset[0], local[0] = 2000.0, 6.0
    assert clock.now() == 1006.0
