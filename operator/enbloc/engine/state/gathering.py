# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gathering: members of one identity, and with whom they may be counted (semantics §2.4)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.engine.state.members import Members
from enbloc.model.groups import Group
from enbloc.model.incarnation import attempt_of
from enbloc.model.pods import Pod, PodKey

#: Who was there when the floor was first held, and has no quorum of its own for so long after its
#: last pod came (seconds), is no next run, but of that life.
COMPANION_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Gathering:
    """The live members of one identity in one life of which nothing is bound or planned.

    Attributes:
        pods: in the order in which they came; there is one at least.
    """

    identity: str
    life: Members
    pods: Sequence[Pod]

    @property
    def since(self) -> tuple[float, PodKey]:
        """The place of its oldest member among all pods."""
        return min(pod.seniority for pod in self.pods)

    @property
    def latest(self) -> float:
        """When its last member was created, server seconds."""
        return max(pod.created for pod in self.pods)


def has_quorum(each: Gathering, group: Group | None) -> bool:
    """Whether the members of one identity are enough for the floor."""
    if group is None or len(each.pods) < group.min_member:
        return False
    of_role = Counter(pod.role for pod in each.pods)
    return all(of_role[role] >= least for role, least in group.minimums())


def names(each: Gathering) -> bool:
    """Whether the life of an identity has its name from it."""
    return next(iter(each.life.identities), None) == each.identity


def was_with(life: Members, each: Gathering) -> bool:
    """Whether members were there when the plan of a life was made.

    What this process did not see is told by times of whole seconds: who came no later than the
    members that gave the life its place in the queue, or before any of it was bound.
    """
    if life.planned_here:
        return each.identity in life.companions
    since = each.since[0]
    bound = (pod.scheduled_at or pod.created for pod in life.bound)
    first = min((life.scheduled or 0.0, *bound))
    return since + 1.0 <= first or since <= (life.queue_time or 0.0)


def mixed(rest: Sequence[Gathering]) -> list[list[Gathering]]:
    """Identities without a quorum gather in one life, but no two attempts of one JobSet."""
    newest: dict[str, int] = {}
    for each in rest:
        jobset, attempt = attempt_of(each.identity) or ("", 0)
        newest[jobset] = max(attempt, newest.get(jobset, 0))
    mixed: list[Gathering] = []
    old: list[list[Gathering]] = []
    for each in rest:
        named = attempt_of(each.identity)
        if named is not None and named[1] < newest[named[0]]:
            old.append([each])
        else:
            mixed.append(each)
    return [*old, mixed] if mixed else old
