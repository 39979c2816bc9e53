# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The active problems of a process, each logged once when it begins and once when it ends."""

import logging

logger = logging.getLogger(__name__)


class ActiveProblems:
    """The active problems, by the work that they prevent; a process without any is ready.

    The event loop writes them, and the health server's thread reads them.
    """

    def __init__(self) -> None:
        self._problems: dict[str, str] = {}

    def report(self, work: str, problem: str | None, level: int = logging.ERROR) -> None:
        """Set or clear the problem with some work.

        Args:
            work: the work that cannot be done; its newest problem replaces the last one.
            problem: one line with the fix, logged once however much work it stops; None = it is
                over.
            level: the level of the log line.
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
        """The active problems, each once."""
        return tuple(dict.fromkeys(list(self._problems.values())))
