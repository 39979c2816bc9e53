# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What stands in the way now: said once when it comes, and once when it is over."""

import logging

log = logging.getLogger(__name__)


class Notices:
    """Problems by what they keep from being done; readiness is that there are none."""

    def __init__(self) -> None:
        self._standing: dict[str, str] = {}

    def say(self, what: str, problem: str | None) -> None:
        """This is the problem with it now, or there is none."""
        before = self._standing.get(what)
        if problem is None:
            if self._standing.pop(what, None) is not None:
                log.info("Recovered: %s", what)
        elif problem != before:
            self._standing[what] = problem
            log.error("%s%s", problem[:1].upper(), problem[1:])

    @property
    def standing(self) -> bool:
        """Whether there is any."""
        return bool(self._standing)
