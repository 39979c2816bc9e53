# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Active problems of a process, each logged once when it begins and once when it has ended."""

import logging

logger = logging.getLogger(__name__)


class Problems:
    """Problems by the work that they keep from being done; ready means that there are none.

    Written by the event loop, read by the health server's thread.
    """

    def __init__(self) -> None:
        self._problems: dict[str, str] = {}

    def report(self, work: str, problem: str | None, level: int = logging.ERROR) -> None:
        """Take note of the problem with some work, or that there is none.

        Args:
            work: what cannot be done; its newest problem replaces the one before.
            problem: one line with the fix; logged once, however much work it stops. None = over.
            level: at which it is logged.
        """
        if problem is None:
            over = self._problems.pop(work, None)
            if over is not None and over not in self._problems.values():
                logger.info("Recovered from: %s", over)
            return
        known = problem in self._problems.values()
        self._problems[work] = problem
        if not known:
            logger.log(level, "%s%s", problem[:1].upper(), problem[1:])

    @property
    def active(self) -> tuple[str, ...]:
        """The problems there are, each once."""
        return tuple(dict.fromkeys(list(self._problems.values())))
