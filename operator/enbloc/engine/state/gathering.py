# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gathering: members of one owner, and with which they may be counted (semantics §2.4)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from enbloc.engine.state.run import Run, record_of
from enbloc.model.groups import Group
from enbloc.model.pods import Phase, Pod, PodKey, PodUID
from enbloc.model.runs import attempt_of

#: Members that existed when the floor was first held, and have no quorum of their own for this long
#: after their last pod came (seconds), are no next run but belong to that run.
COMPANION_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Gathering:
    """The live members of one owner in one run.

    Attributes:
        pods: in the order of arrival; at least one.
    """

    owner: str
    run: Run
    pods: Sequence[Pod]

    @property
    def since(self) -> tuple[float, PodKey]:
        """The place of its oldest member among all pods."""
        return min(pod.seniority for pod in self.pods)

    @property
    def latest(self) -> float:
        """When its last member was created, server seconds."""
        return max(pod.created for pod in self.pods)


def gathered(runs: Iterable[Run], owners: Mapping[PodUID, str]) -> list[Gathering]:
    """Return the owners of these runs that have live members, the oldest first.

    Args:
        runs: each once.
        owners: by the UIDs of pods.
    """
    gathering = (
        Gathering(owner, run, pods)
        for run in runs
        for owner, pods in by_owner(run.live.values(), owners).items()
    )
    return sorted(gathering, key=lambda each: each.since)


def by_owner(pods: Iterable[Pod], owners: Mapping[PodUID, str]) -> dict[str, list[Pod]]:
    """Return the pods of each owner, in the same order."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        found.setdefault(owners[pod.uid], []).append(pod)
    return found


def adopted(before: Pod, now: Pod) -> bool:
    """Whether another controller adopted a pod; one that was only released keeps its owner."""
    return now.owner_key not in ("", before.owner_key) and not (before.owning_pod or now.owning_pod)


def has_quorum(pods: Sequence[Pod], group: Group | None) -> bool:
    """Whether these members, if all are held, are enough for the floor of the PodGroup."""
    if group is None or len(pods) < group.min_member:
        return False
    return group.reached(Counter(pod.role for pod in pods))


def names(each: Gathering) -> bool:
    """Whether the run is named after this owner."""
    return next(iter(each.run.owners), None) == each.owner


def was_with(run: Run, each: Gathering) -> bool:
    """Whether members existed when the plan of a run was made.

    What this process did not see is derived from times of whole seconds: they came no later than
    the members that gave the run its place in the queue, or before any of it was bound.
    """
    if run.planned_here:
        return each.owner in run.companions
    since = each.since[0]
    bound = (pod.bound_at for pod in run.bound)
    first = min((run.scheduled or 0.0, *bound))
    return since + 1.0 <= first or since <= (run.queue_time or 0.0)


def closed_with(runs: Sequence[Run], each: Gathering) -> Run | None:
    """Return the run whose floor was first held while these existed, even if it has ended."""
    closed = [run for run in reversed(runs) if run.scheduled is not None]
    living = next((run for run in closed if run.live), None)
    if living is not None and was_with(living, each):
        return living
    return next((run for run in closed if each.owner in run.companions), None)


def begun(runs: Sequence[Run]) -> Run | None:
    """Return the newest live run that gathers no longer; None = there is none."""
    return next((run for run in reversed(runs) if run.live and not run.gathers), None)


def lacking_in(run: Run | None, them: Sequence[Gathering], group: Group | None) -> AbstractSet[str]:
    """Return the roles of further members that a live run needs; an owner may bring these alone.

    These are the roles of which it has no member. If nothing of it is bound or succeeded, and it
    lacks the quorum, they are all roles of the waiting owners that complete it.

    Args:
        run: as `begun` returns it.
        them: all owners of which nothing is bound or planned.
        group: of all of them.
    """
    if run is None or group is None or run.superseded:
        return frozenset()
    there = {pod.role for pod in run.live.values()} | run.succeeded.keys()
    roles = {role for role, least in group.minimums() if least} - there
    if run.committed or run.bound or run.all_succeeded:
        return roles
    mine = list(run.live.values())
    others = [pod for each in them if not has_quorum(each.pods, group) for pod in each.pods]
    apart = has_quorum(mine, group) or has_quorum(others, group)
    if apart or not has_quorum(mine + others, group):
        return roles
    return roles | {pod.role for pod in others}


def vacant_in(runs: Sequence[Run], owners: Mapping[PodUID, str]) -> list[tuple[Run, str]]:
    """Return the owners without a live member that did not all succeed, where others live.

    Args:
        runs: the newest last.
        owners: by the UIDs of pods.
    """
    found: list[tuple[Run, str]] = []
    for run in reversed(runs):
        if not run.lost or not run.live or run.gathers:
            continue
        live = {owners[uid] for uid in run.live}
        found += [(run, owner) for owner in run.owners if owner in run.lost and owner not in live]
    return found


def note_companions(run: Run, them: Sequence[Gathering], group: Group | None) -> bool:
    """Record the owners that were there when this run was planned, and still wait.

    Returns:
        Whether there are any.
    """
    if run.scheduled is not None:
        since = -math.inf if run.live else run.scheduled
        run.companions = {
            each.owner
            for each in them
            if each.run.scheduled is None
            and not has_quorum(each.pods, group)
            and (was_with(run, each) or each.since[0] <= since)
        }
    return bool(run.companions)


def mixed(rest: Sequence[Gathering]) -> list[list[Gathering]]:
    """Group owners without a quorum in one run, but no two attempts of one JobSet."""
    outdated = _outdated([each.owner for each in rest])
    together = [each for each in rest if each.owner not in outdated]
    old = [[each] for each in rest if each.owner in outdated]
    return [*old, together] if together else old


def same_jobset(owner: str, owners: Iterable[str]) -> bool:
    """Whether an owner is an attempt of the JobSet of which one of these is an attempt."""
    named = attempt_of(owner)
    others = [other[0] for each in owners if (other := attempt_of(each)) is not None]
    return named is not None and named[0] in others


def _outdated(owners: Iterable[str]) -> frozenset[str]:
    """Return the attempts of a JobSet for which these owners include a newer one."""
    attempts = {owner: named for owner in owners if (named := attempt_of(owner))}
    newest: dict[str, int] = {}
    for jobset, attempt in attempts.values():
        newest[jobset] = max(attempt, newest.get(jobset, 0))
    return frozenset(owner for owner, (jobset, n) in attempts.items() if n < newest[jobset])


def note_attempts(runs: Sequence[Run]) -> list[Run]:
    """Mark runs with outdated attempts: only a JobSet's newest attempt is worth completing.

    Returns:
        The runs for which that has changed.
    """
    if not any("/" in each for run in runs for each in run.owners):
        return []
    outdated = _outdated(owner for run in runs for owner in run.owners)
    changed: list[Run] = []
    for run in runs:
        superseded = not outdated.isdisjoint(run.owners)
        if superseded is not run.superseded:
            changed.append(run)
        run.superseded = superseded
    return changed


def planned_with(runs: Sequence[Run], each: Gathering, group: Group | None) -> Run | None:
    """Return the run to which an owner belongs by times alone; None = there is none.

    Args:
        runs: whose members were found after a restart.
        each: has live members, the oldest first.
        group: of all of them.
    """
    first = each.pods[0]
    for run in runs:
        if not _may_mix(run, each, group):
            continue
        if run.pods and not run.live:
            if there(run, first):
                return run
        elif run.scheduled is None and _lacks(run, group) and queued(run, first):
            return run
    return None


def joined(run: Run, each: Gathering, group: Group | None) -> bool:
    """Whether a former leader planned an owner with a member of an open plan.

    Args:
        run: the one with the open plan; the member's binding record names the owner's run.
        each: of another run.
        group: of both.
    """
    counts = each.run.committed or each.run.scheduled is not None
    return run.scheduled is None and not counts and _may_mix(run, each, group)


def _may_mix(run: Run, each: Gathering, group: Group | None) -> bool:
    """Whether an owner may belong to a run: it is no gang by itself, nor another attempt."""
    attempts = [attempt_of(owner) for owner in (*run.owners, each.owner)]
    apart = len({named[0] for named in attempts if named}) == sum(map(bool, attempts))
    return apart and not has_quorum(each.pods, group)


def _lacks(run: Run, group: Group | None) -> bool:
    """Whether the known members of a run are too few for its floor."""
    done = (pod for pod in run.pods.values() if pod.phase is Phase.SUCCEEDED)
    return not has_quorum([*run.live.values(), *done], group)


def goes_on(run: Run, bare: Sequence[Pod]) -> bool:
    """Whether pods without a controller, which share one owner, still belong to a run."""
    if not run.pods and run.scheduled is None:
        return True  # nothing of it was ever bound
    scheduled = run.scheduled or 0.0
    return any(pod.owner is None for pod in run.live.values()) or any(
        pod.node or pod.created <= scheduled or there(run, pod) for pod in bare
    )


def there(run: Run, pod: Pod) -> bool:
    """Whether a pod existed when members of a run were bound."""
    return queued(run, pod) or any(
        pod.created < (each.scheduled_at or 0.0) for each in run.pods.values() if each.node
    )


def queued(run: Run, pod: Pod) -> bool:
    """Whether a pod existed when a run got its place in the queue, by its binding records."""
    records = [record for each in run.pods.values() if (record := record_of(each))]
    return any(pod.created <= record.queue_time for record in records)
