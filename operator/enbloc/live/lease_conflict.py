# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Lease conflict: another install, not a replica of this one, keeps this scheduler on standby."""

import logging
import time
from collections.abc import Callable, Collection
from typing import Final

from enbloc.model.names import DEFAULT_SCHEDULER, KUBE_SCHEDULER_LEASE, KUBE_SYSTEM
from enbloc.telemetry import metrics

#: Seconds that a conflict may last before this process is not ready. An update that changes
#: profiles or the Lease looks like a conflict: the old replica ends only once the new one is ready.
GRACE: Final = 300.0

logger = logging.getLogger(__name__)


def unseen_by_kube_scheduler(serves: Collection[str], lease: str) -> str:
    """Why a kube-scheduler would not notice that its name is served here; "" = no such risk.

    Args:
        serves: the schedulerNames that are served.
        lease: namespace and name of the Lease in use; "" = none.
    """
    theirs = f"{KUBE_SYSTEM}/{KUBE_SCHEDULER_LEASE}"
    if DEFAULT_SCHEDULER not in serves or lease == theirs:
        return ""
    taken = f"takes the Lease {lease}" if lease else "takes no Lease"
    return (
        f"This scheduler serves {DEFAULT_SCHEDULER} and {taken}, so a kube-scheduler, which takes "
        f"{theirs}, binds the same pods; stop kube-scheduler, or elect without naming a Lease"
    )


class LeaseConflict:
    """Reports in the log, a metric and an event that this process stands by, and for whom.

    Written by the event loop, read by the health server's thread.

    Args:
        say: writes an event with this note.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._say = say
        self._clock = clock
        #: When the conflict began; None = no conflict.
        self._since: float | None = None
        metrics.LEASE_CONFLICT.set(0)

    def tell(self, text: str | None) -> None:
        """Record what keeps this process from leading; None = nothing."""
        metrics.LEASE_CONFLICT.set(text is not None)
        if text is None:
            self._since = None
            logger.info("Lease conflict resolved: no other install blocks this one")
            return
        if self._since is None:
            self._since = self._clock()
        logger.warning("Standing by: %s", text)
        self._say(f"standing by: {text}")

    def passing(self) -> bool:
        """Whether there is no conflict, or it may still pass by itself."""
        since = self._since
        return since is None or self._clock() - since < GRACE
