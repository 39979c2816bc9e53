# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Troubles: what stands in the way now, logged once when it comes and once when it is over."""

import logging

logger = logging.getLogger(__name__)


class Troubles:
    """Problems by what they keep from being done; readiness is that there are none.

    Written by the event loop, read by the health server's thread.
    """

    def __init__(self) -> None:
        self._problems: dict[str, str] = {}

    def say(self, what: str, problem: str | None) -> None:
        """This is the problem with it now, or there is none.

        Args:
            what: names what is in trouble; its newest problem replaces the one before.
            problem: one line with the fix; logged once, however many things it stops.
        """
        if problem is None:
            over = self._problems.pop(what, None)
            if over is not None and over not in self._problems.values():
                logger.info("Recovered from: %s", over)
            return
        known = problem in self._problems.values()
        self._problems[what] = problem
        if not known:
            logger.error("%s%s", problem[:1].upper(), problem[1:])

    @property
    def standing(self) -> tuple[str, ...]:
        """The problems there are, each once."""
        return tuple(dict.fromkeys(list(self._problems.values())))
