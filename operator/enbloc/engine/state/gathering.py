# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gathering: members of one identity, and with which they may be counted (semantics §2.4)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.engine.state.members import Members, record_of
from enbloc.model.groups import Group
from enbloc.model.pods import Phase, Pod, PodKey, PodUID
from enbloc.model.runs import attempt_of

#: Members that existed when the floor was first held, and have no quorum of their own for this long
#: after their last pod came (seconds), are no next run but belong to that life.
COMPANION_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Gathering:
    """The live members of one identity in one life without a bound or planned member.

    Attributes:
        pods: in the order of arrival; at least one.
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
    return group.reached(Counter(pod.role for pod in each.pods))


def names(each: Gathering) -> bool:
    """Whether the life is named after this identity."""
    return next(iter(each.life.identities), None) == each.identity


def was_with(life: Members, each: Gathering) -> bool:
    """Whether members existed when the plan of a life was made.

    What this process did not see is derived from times of whole seconds: they came no later than
    the members that gave the life its place in the queue, or before any of it was bound.
    """
    if life.planned_here:
        return each.identity in life.companions
    since = each.since[0]
    bound = (pod.bound_at for pod in life.bound)
    first = min((life.scheduled or 0.0, *bound))
    return since + 1.0 <= first or since <= (life.queue_time or 0.0)


def closed_with(lives: Sequence[Members], each: Gathering) -> Members | None:
    """Return the life whose floor was first held while these existed, even if it has ended."""
    closed = [life for life in reversed(lives) if life.scheduled is not None]
    living = next((life for life in closed if life.live), None)
    if living is not None and was_with(living, each):
        return living
    return next((life for life in closed if each.identity in life.companions), None)


def vacant_in(
    lives: Sequence[Members], identities: Mapping[PodUID, str]
) -> list[tuple[Members, str]]:
    """Return the identities without a live member that did not all succeed, where others live.

    Args:
        lives: the newest last.
        identities: by the UIDs of pods.
    """
    found: list[tuple[Members, str]] = []
    for life in reversed(lives):
        if not life.lost or not life.live or life.gathers:
            continue
        live = {identities[uid] for uid in life.live}
        found += [(life, its) for its in life.identities if its in life.lost and its not in live]
    return found


def awaited(life: Members, them: Sequence[Gathering], group: Group | None) -> bool:
    """Record the waiting companions of a life in status; return whether there are any."""
    if life.scheduled is not None:
        since = -math.inf if life.live else life.scheduled
        life.companions = {
            each.identity
            for each in them
            if each.life.scheduled is None
            and not has_quorum(each, group)
            and (was_with(life, each) or each.since[0] <= since)
        }
    return bool(life.companions)


def mixed(rest: Sequence[Gathering]) -> list[list[Gathering]]:
    """Group identities without a quorum in one life, but no two attempts of one JobSet."""
    outdated = _outdated([each.identity for each in rest])
    mixed = [each for each in rest if each.identity not in outdated]
    old = [[each] for each in rest if each.identity in outdated]
    return [*old, mixed] if mixed else old


def _outdated(identities: Iterable[str]) -> frozenset[str]:
    """Return the attempts of a JobSet for which these identities include a newer one."""
    attempts = {its: named for its in identities if (named := attempt_of(its))}
    newest: dict[str, int] = {}
    for jobset, attempt in attempts.values():
        newest[jobset] = max(attempt, newest.get(jobset, 0))
    return frozenset(its for its, (jobset, n) in attempts.items() if n < newest[jobset])


def note_attempts(lives: Sequence[Members]) -> list[Members]:
    """Mark lives with outdated attempts: only a JobSet's newest attempt is worth completing.

    Returns:
        The lives for which that has changed.
    """
    if not any("/" in each for life in lives for each in life.identities):
        return []
    outdated = _outdated(its for life in lives for its in life.identities)
    changed: list[Members] = []
    for life in lives:
        superseded = not outdated.isdisjoint(life.identities)
        if superseded is not life.superseded:
            changed.append(life)
        life.superseded = superseded
    return changed


def planned_with(lives: Sequence[Members], each: Gathering, group: Group | None) -> Members | None:
    """Return the life to which an identity belongs by times alone; None = there is none.

    Args:
        lives: whose members were found after a restart.
        each: has live members, the oldest first.
        group: of all of them.
    """
    first = each.pods[0]
    for life in lives:
        if not _may_mix(life, each, group):
            continue
        if life.pods and not life.live:
            if there(life, first):
                return life
        elif life.scheduled is None and _lacks(life, group) and queued(life, first):
            return life
    return None


def joined(life: Members, each: Gathering, group: Group | None) -> bool:
    """Whether a former leader planned an identity with a member of an open plan.

    Args:
        life: of the plan; the binding record of the member names the identity's life.
        each: of another life.
        group: of both.
    """
    begun = each.life.committed or each.life.scheduled is not None
    return life.scheduled is None and not begun and _may_mix(life, each, group)


def _may_mix(life: Members, each: Gathering, group: Group | None) -> bool:
    """Whether an identity may belong to a life: it is no gang by itself, nor another attempt."""
    attempts = [attempt_of(its) for its in (*life.identities, each.identity)]
    apart = len({named[0] for named in attempts if named}) == sum(map(bool, attempts))
    return apart and not has_quorum(each, group)


def _lacks(life: Members, group: Group | None) -> bool:
    """Whether the known members of a life are too few for its floor."""
    done = (pod for pod in life.pods.values() if pod.phase is Phase.SUCCEEDED)
    return not has_quorum(Gathering("", life, [*life.live.values(), *done]), group)


def goes_on(life: Members, bare: Sequence[Pod]) -> bool:
    """Whether pods without a controller, which share one identity, still belong to a life."""
    if not life.pods and life.scheduled is None:
        return True  # nothing of it was ever bound
    scheduled = life.scheduled or 0.0
    return any(pod.owner is None for pod in life.live.values()) or any(
        pod.node or pod.created <= scheduled or there(life, pod) for pod in bare
    )


def there(life: Members, pod: Pod) -> bool:
    """Whether a pod existed when members of a life were bound."""
    return queued(life, pod) or any(
        pod.created < (each.scheduled_at or 0.0) for each in life.pods.values() if each.node
    )


def queued(life: Members, pod: Pod) -> bool:
    """Whether a pod existed when a life got its place in the queue, by its binding records."""
    records = [record for each in life.pods.values() if (record := record_of(each))]
    return any(pod.created <= record.queue_time for record in records)
