# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Runners: the members with which a started gang's floor ran, as long as any of them is left.

A member that runs at the start is one at once; one that joins, once the floor has run with it for
SETTLED_SECONDS in all. An incomplete gang without any runner left was recreated pod by pod: it has
not started (semantics §1).
"""

import math
from collections.abc import Container, Iterable
from typing import Final

from enbloc.model.pods import PodUID

#: Seconds for which the floor must have run with a member that joins.
SETTLED_SECONDS: Final = 60.0

#: Stands for all members that succeeded; no pod has this UID.
SUCCEEDED: Final = PodUID("")


class Runners:
    """The members with which the floor ran, and for how long.

    Those that succeed stay, however long ago that was, so they are counted as one.
    """

    def __init__(self, first: Iterable[PodUID] = ()) -> None:
        #: The members with which the floor ran, and when they joined by the clock below.
        self._joined = dict.fromkeys(first, -math.inf)
        self._ran = 0.0  #: How long the floor ran in all, seconds
        self._since: float | None = None  #: It has run since then; None = it does not run

    def look(self, now: float, running: Iterable[PodUID] | None) -> None:
        """Record which members run.

        Args:
            now: the engine's clock.
            running: the members that run; None = they are not the whole floor.
        """
        if self._since is not None:
            self._ran += max(0.0, now - self._since)
        self._since = None if running is None else now
        for uid in running or ():
            self._joined.setdefault(uid, self._ran)

    def ended(self, uid: PodUID, *, succeeded: bool) -> None:
        """Forget a member that is gone or finished; if it succeeded, it counts as SUCCEEDED."""
        joined = self._joined.pop(uid, None)
        if succeeded and joined is not None:
            self._joined[SUCCEEDED] = min(joined, self._joined.get(SUCCEEDED, joined))

    def any_left(self, present: Container[PodUID]) -> bool:
        """Whether one of them is among these, or succeeded; forget the others."""
        self._joined = {
            uid: at for uid, at in self._joined.items() if uid in present or uid == SUCCEEDED
        }
        return any(self._ran - at >= SETTLED_SECONDS for at in self._joined.values())
