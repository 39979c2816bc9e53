# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Returning: pods that a workload gains are placed only once its PodGroup can be up to date.

A user who scales or resumes a workload may also change how many pods, or which roles, it is to
have. Its controller creates these pods at once, while the PodGroup that enbloc's controller keeps
for it still states what the gang needed before. And a gang that is relaunched after successes
needs all members that are made anew, however many these are. Source: semantics §2.4, §2.5.
"""

from collections.abc import Sequence
from typing import Final

from enbloc.engine.policies.pauses import Pause
from enbloc.engine.policies.policy import Policy
from enbloc.engine.report import ReasonAndMessage
from enbloc.framework.facts import GroupFacts
from enbloc.model.names import Reason
from enbloc.model.pods import Pod

#: Seconds after its last pod was created until the PodGroup of a workload is up to date: the
#: controller writes it at most once a second.
RETURN_SECONDS: Final = 2.0

#: The longest wait after the first pod came, seconds.
LONGEST_SECONDS: Final = 10.0

_WHY: Final = ReasonAndMessage(
    Reason.WAITING_FOR_MEMBERS, "its pods are being created anew; waiting for the last of them"
)


class Returning(Policy):
    """Waits while pods come that change what their gang needs."""

    def pause(self, facts: GroupFacts, now: float) -> Pause | None:
        """Pause for a while after the last pod was created that may change it."""
        returns = facts.returning is not None
        pods = facts.pending if returns else _unlisted(facts)
        if not pods:
            return None
        created = [pod.created for pod in pods]
        first = min(created) if facts.returning is None else facts.returning
        until = min(max(created) + RETURN_SECONDS, first + LONGEST_SECONDS)
        if now >= until:
            return None
        why = _WHY if returns else _why(pods)
        return Pause(until, refused=True, cause=why, why=why)


def _unlisted(facts: GroupFacts) -> Sequence[Pod]:
    """Return the members of roles that a workload's PodGroup does not list, if the gang is whole.

    Such a role may be new; then it is placed whole. What the gang itself lacks does not wait.
    """
    group = facts.group
    if group is None or not (group.derived and group.roles) or facts.deficit:
        return ()
    listed = {role.name for role in group.roles}
    return [pod for pod in facts.pending if pod.role and pod.role not in listed]


def _why(pods: Sequence[Pod]) -> ReasonAndMessage:
    roles = ", ".join(sorted({pod.role for pod in pods}))
    text = f"waiting until its PodGroup can list what its new pods belong to: {roles}"
    return ReasonAndMessage(Reason.WAITING_FOR_MEMBERS, text)
