# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Returning: a gang that comes back from nothing is not tried before its PodGroup can be right.

Whoever scales a workload, or resumes it, may change in the same moment how many pods it is to have.
Its controller makes these pods at once, while the PodGroup that enbloc's controller keeps for it
still says what the gang needed before. Source: semantics §2.5.
"""

from typing import Final

from enbloc.engine.policies.pauses import Pause
from enbloc.engine.policies.policy import Policy
from enbloc.engine.report import Explanation
from enbloc.framework.facts import GroupFacts
from enbloc.model.names import Reason

#: So long after its last pod was created the PodGroup of a workload is right (seconds): the
#: controller writes it at most once a second.
RETURN_SECONDS: Final = 2.0

#: But no longer than this after the first one was created (seconds).
LONGEST_SECONDS: Final = 10.0

_WHY: Final = Explanation(
    Reason.WAITING_FOR_MEMBERS, "its pods are being created anew; waiting for the last of them"
)


class Returning(Policy):
    """Lets PodGroups that are kept for other objects settle when members of theirs come back."""

    def pause(self, facts: GroupFacts, now: float) -> Pause | None:
        """Until a while after the last member was created, where none of those before is left."""
        if not facts.returning:
            return None
        created = [pod.created for pod in facts.pending]
        until = min(max(created) + RETURN_SECONDS, min(created) + LONGEST_SECONDS)
        return Pause(until, refused=True, cause=_WHY, why=_WHY) if now < until else None
