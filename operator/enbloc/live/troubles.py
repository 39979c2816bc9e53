# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Troubles: what stands in the way now, logged once when it comes and once when it goes."""

import logging

from enbloc.kube.errors import Forbidden

logger = logging.getLogger(__name__)


class Troubles:
    """What readiness shows; written by the event loop, read by the health server's thread."""

    def __init__(self) -> None:
        self._now: dict[str, str] = {}

    def came(self, what: str, message: str) -> None:
        """Something is in the way.

        Args:
            what: names it; the same name replaces it, and `went` takes it away.
            message: says what is wrong, and what to do; said once, however many it stops.
        """
        known = message in self._now.values()
        self._now[what] = message
        if not known:
            logger.error(message)

    def went(self, what: str) -> None:
        """It is gone, if it was there."""
        message = self._now.pop(what, None)
        if message is not None and message not in self._now.values():
            logger.info("Recovered from: %s", message)

    def text(self) -> str:
        """All of it in one line; "" = nothing."""
        return "; ".join(dict.fromkeys(list(self._now.values())))


def advice(error: Forbidden) -> str:
    """What a refused write means for the one who runs enbloc, and the fix."""
    return (
        f"Not allowed to {error.verb} {error.resource}: {error.message}; grant the verb to "
        "the scheduler's role (manifests/base/rbac/scheduler.yaml)"
    )
