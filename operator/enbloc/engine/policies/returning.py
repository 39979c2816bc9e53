# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Returning: pods that a workload gains are not placed before its PodGroup can be right.

Whoever scales a workload, or resumes it, may change in the same moment how many pods it is to have,
or of which roles. Its controller makes these pods at once, while the PodGroup that enbloc's
controller keeps for it still says what the gang needed before. Source: semantics §2.5.
"""

from collections.abc import Sequence
from typing import Final

from enbloc.engine.policies.pauses import Pause
from enbloc.engine.policies.policy import Policy
from enbloc.engine.report import Explanation
from enbloc.framework.facts import GroupFacts
from enbloc.model.names import Reason
from enbloc.model.pods import Pod

#: So long after its last pod was created the PodGroup of a workload is right (seconds): the
#: controller writes it at most once a second.
RETURN_SECONDS: Final = 2.0

#: But no longer than this after the first one was created (seconds).
LONGEST_SECONDS: Final = 10.0

_WHY: Final = Explanation(
    Reason.WAITING_FOR_MEMBERS, "its pods are being created anew; waiting for the last of them"
)


class Returning(Policy):
    """Lets PodGroups that are kept for other objects settle when pods come that change them."""

    def pause(self, facts: GroupFacts, now: float) -> Pause | None:
        """Until a while after the last pod was created that the PodGroup may not tell of yet."""
        pods = facts.pending if facts.returning else _unlisted(facts)
        if not pods:
            return None
        created = [pod.created for pod in pods]
        until = min(max(created) + RETURN_SECONDS, min(created) + LONGEST_SECONDS)
        if now >= until:
            return None
        why = _WHY if facts.returning else _why(pods)
        return Pause(until, refused=True, cause=why, why=why)


def _unlisted(facts: GroupFacts) -> Sequence[Pod]:
    """Members of roles that the PodGroup of a workload does not list, beside a gang that is whole.

    The role may be new, and then is placed whole. What the gang itself lacks waits for nothing.
    """
    group = facts.group
    if group is None or not (group.derived and group.roles) or facts.deficit:
        return ()
    listed = {role.name for role in group.roles}
    return [pod for pod in facts.pending if pod.role and pod.role not in listed]


def _why(pods: Sequence[Pod]) -> Explanation:
    roles = ", ".join(sorted({pod.role for pod in pods}))
    text = f"waiting until its PodGroup can list what its new pods belong to: {roles}"
    return Explanation(Reason.WAITING_FOR_MEMBERS, text)
