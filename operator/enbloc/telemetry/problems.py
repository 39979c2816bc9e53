# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The active problems of a process, each logged once when it begins and once when it ends."""

import logging
import time
from collections.abc import Callable
from typing import Final

#: A problem may differ for each of thousands of objects, and so may each object's next failure. So
#: for one work at most MOST_LOGGED problems are logged in LOGGED_SECONDS.
MOST_LOGGED: Final = 10
LOGGED_SECONDS: Final = 60.0

logger = logging.getLogger(__name__)


class ActiveProblems:
    """The active problems, by the work that they prevent; a process without any is ready.

    The event loop writes them, and the health server's thread reads them.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._problems: dict[str, str] = {}
        self._clock = clock
        #: By work with a problem that was logged lately: since when, and how many; and the problems
        #: that were logged, among the active ones.
        self._lately: dict[str, tuple[float, int]] = {}
        self._logged: set[str] = set()

    def report(self, work: str, problem: str | None, level: int = logging.ERROR) -> None:
        """Set or clear the problem with some work.

        Args:
            work: the work that cannot be done; its newest problem replaces the last one.
            problem: one line with the fix, logged once however much work it stops; None = it is
                over.
            level: the level of the log line.
        """
        before = self._problems.pop(work, None)
        if problem is not None:
            known = problem in self._problems.values() or problem == before
            self._problems[work] = problem
            if not known and self._may_log(work):
                self._logged.add(problem)
                logger.log(level, "%s%s", problem[:1].upper(), problem[1:])
        if before is None or before in self._problems.values() or before not in self._logged:
            return
        self._logged.discard(before)
        if problem is None:
            logger.info("Recovered from: %s", before)

    def _may_log(self, work: str) -> bool:
        """Whether one more problem of this work may be logged now; counts it if so."""
        now = self._clock()
        for each, (since, _) in list(self._lately.items()):
            if now - since >= LOGGED_SECONDS:
                del self._lately[each]
        since, count = self._lately.get(work, (now, 0))
        if count >= MOST_LOGGED:
            return False
        self._lately[work] = (since, count + 1)
        return True

    @property
    def active(self) -> tuple[str, ...]:
        """The active problems, each once."""
        return tuple(dict.fromkeys(list(self._problems.values())))
