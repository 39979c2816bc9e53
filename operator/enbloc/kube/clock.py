# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The clock of every process: server time, advanced by the local monotonic clock alone."""

import time
from collections.abc import Callable


class ServerClock:
    """Seconds of server time since the epoch, once the server's time is known.

    The offset is taken once: a clock that is set anew would move deadlines (semantics §4.2).
    Before the first answer of the server there is no time, and nothing to decide either.

    Args:
        offset: server time minus the monotonic clock, None while unknown: `server_offset` of the
            client, which has it from the Date header.
        monotonic: the local clock, in seconds.
    """

    def __init__(
        self,
        offset: Callable[[], float | None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read_offset = offset
        self._monotonic = monotonic
        self._offset: float | None = None

    def now(self) -> float:
        """The time.

        Raises:
            AssertionError: the server has not answered yet.
        """
        if self._offset is None:
            self._offset = self._read_offset()
        assert self._offset is not None, "the API server has not told its time yet"
        return self._offset + self._monotonic()
