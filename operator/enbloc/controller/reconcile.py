# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The controller's part of a PodGroup's status, from the group, its members and the scheduler.

Pure: what is, and the time, go in; what should be written comes out. The word that sums the group
up is the reason of condition Ready (api.md §1); this is how it moves::

    Pending ─► WaitingForMembers ◄──────────► MembersCannotExist
                │   ▲                          (owners can bring no more; said instead)
                ▼   │ members went away
               Unschedulable, Infeasible, WaitingOnPermit, SchedulerError, …
                │   ▲                  ▲
                ▼   │                  │ evicted by the scheduler: TimedOut
               Binding ─► Starting ─► Running ◄─► BelowMinimum
                              │          │             │
                              └──────────┴──► Succeeded, Failed ─► (a new life: Pending)

    from anywhere: InvalidSpec, for as long as the spec makes no sense

Who says what, first match: the spec (InvalidSpec); the end of this life (Succeeded, Failed: also
condition Finished); no word of the scheduler about this life (Pending, WaitingForMembers,
MembersCannotExist); its condition Scheduled at TimedOut; its condition Satisfied at False in a
group that has started (BelowMinimum); Scheduled at True, whatever its reason (Starting, Running);
else the reason and message of Scheduled as they stand, so that the two never contradict each
other, except that what members exist is counted now (WaitingForMembers, MembersCannotExist).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from enbloc.controller.existence import Creators, cannot_exist, floors, of_role, suspended
from enbloc.controller.life import FIRST_LOOK, Recall, Verdict, View, how_it_ended, look
from enbloc.controller.members import Member
from enbloc.model.groups import Group
from enbloc.model.names import Condition, Reason
from enbloc.model.pods import Phase
from enbloc.model.text import clipped
from enbloc.model.times import time_text

_COUNTS: Final = ("members", "scheduled", "ready")

StatusPatch = dict[str, Any]
"""The whole of the controller's part of `status`, as JSON, to be applied by its field manager."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What follows from one look at a group.

    Attributes:
        patch: what the controller should write; None when that already stands.
        recall: what to give to the next look, once that is written.
        ended: the life of the group ended, which was not known before.
    """

    patch: StatusPatch | None
    recall: Recall
    ended: bool


def reconcile(  # each is one source of the status
    group: Group,
    status: Mapping[str, Any],
    members: Collection[Member],
    creators: Creators,
    now: float,
    recall: Recall = FIRST_LOOK,
) -> Conclusion:
    """What the controller should write.

    Args:
        group: the PodGroup as the codec reads it.
        status: its `status` as it stands, both writers' parts.
        members: the pods that name it.
        creators: what makes them, by UID.
        now: server time, seconds since the epoch.
        recall: what the last look left to be remembered.
    """
    view = look(group, status, members, creators, recall)
    end = how_it_ended(view)
    ended = end is not None and view.finished is None
    before = {item["type"]: item for item in status.get("conditions") or ()}
    conditions = [_condition(Condition.READY, _ready(view, end), before, group.generation, now)]
    if end is not None:
        if ended:  # the verdict about an earlier life is no part of this one
            before.pop(Condition.FINISHED, None)
        # The server's clock is known to a second only; no member is younger than its end.
        since = max(now, *(member.created for member in view.life), 0.0)
        conditions.append(_condition(Condition.FINISHED, end, before, group.generation, since))
    wanted: StatusPatch = {
        "observedGeneration": group.generation,
        **_counts(members),
        "failed": view.failed,
        "conditions": conditions,
    }
    if group.roles:
        wanted["roles"] = [
            {"name": name, **_counts(m for m in members if m.role == name)}
            for name in sorted(role.name for role in group.roles)
        ]
    patch = None if wanted == _ours(status) else wanted
    return Conclusion(patch, view.recall(end), ended)


def _counts(members: Iterable[Member]) -> dict[str, int]:
    live = [member for member in members if member.live]
    values = (len(live), sum(m.bound for m in live), sum(m.ready for m in live))
    return dict(zip(_COUNTS, values, strict=True))


# ── the summary ──────────────────────────────────────────────────────────────────────────────


def _ready(view: View, end: Verdict | None) -> Verdict:
    """The verdict of condition Ready; its reason is the state of the group in one word."""
    if view.group.problem:
        return Verdict("False", Reason.INVALID_SPEC, view.group.problem)
    if end is not None:
        return replace(end, status="False")
    scheduled = view.conditions.get(Condition.SCHEDULED)
    if scheduled is None or scheduled.status == "Unknown":
        return _waiting(view) or Verdict(
            "Unknown", Reason.PENDING, "the scheduler has not looked at this group yet"
        )
    satisfied = view.conditions.get(Condition.SATISFIED)
    if (
        view.started
        and satisfied is not None
        and satisfied.status == "False"
        and scheduled.reason != Reason.TIMED_OUT
    ):
        return replace(satisfied, reason=Reason.BELOW_MINIMUM)
    if scheduled.status == "True":
        return _starting_or_running(view)
    if scheduled.reason == Reason.WAITING_FOR_MEMBERS:
        return _waiting(view) or scheduled
    return scheduled


def _waiting(view: View) -> Verdict | None:
    """Which members do not exist, and whether they ever can; None = all do."""
    missing = _missing(view)
    if not missing:
        return None
    never = cannot_exist(view.group, view.life, view.succeeded, view.creators)
    if never:
        return Verdict("False", Reason.MEMBERS_CANNOT_EXIST, never)
    words = "; ".join(filter(None, (missing, suspended(view.creators))))
    return Verdict("False", Reason.WAITING_FOR_MEMBERS, words)


def _missing(view: View) -> str:
    """Which members do not exist yet, as "6 of 8 members exist"; "" = all do."""
    exist = Counter(member.role for member in view.life if member.live) + view.succeeded
    return "; ".join(
        f"role {role}: {count} of {minimum} members exist"
        if role
        else f"{count} of {minimum} members exist"
        for role, minimum in floors(view.group)
        if (count := of_role(exist, role)) < minimum
    )


def _starting_or_running(view: View) -> Verdict:
    running = [m for m in view.life if m.live and m.phase is Phase.RUNNING]
    succeeded = view.succeeded.total()
    words = f"{len(running)} of {view.group.min_member} members run" + (
        f", {succeeded} succeeded" if succeeded else ""
    )
    if view.started or view.reaches_floor(Counter(m.role for m in running) + view.succeeded):
        return Verdict("True", Reason.RUNNING, words)
    return Verdict("False", Reason.STARTING, words)


# ── what is written ──────────────────────────────────────────────────────────────────────────


def _condition(
    type_: str,
    verdict: Verdict,
    standing: Mapping[str, Mapping[str, Any]],
    generation: int,
    now: float,
) -> dict[str, Any]:
    """All six fields; lastTransitionTime is kept while the status stays what it was."""
    before = standing.get(type_)
    same = before is not None and before["status"] == verdict.status
    return {
        "type": str(type_),
        "status": verdict.status,
        "reason": str(verdict.reason),
        "message": clipped(verdict.message),
        "observedGeneration": generation,
        "lastTransitionTime": before["lastTransitionTime"] if before and same else time_text(now),
    }


def _ours(status: Mapping[str, Any]) -> StatusPatch:
    """The controller's part of a status, in the order in which `reconcile` puts it."""
    conditions = {item["type"]: item for item in status.get("conditions") or ()}
    ours: StatusPatch = {
        key: status[key] for key in ("observedGeneration", *_COUNTS, "failed") if key in status
    }
    ours["conditions"] = [
        conditions[type_] for type_ in (Condition.READY, Condition.FINISHED) if type_ in conditions
    ]
    roles = [
        {key: role[key] for key in ("name", *_COUNTS) if key in role}
        for role in status.get("roles") or ()
        if any(key in role for key in _COUNTS)  # the others are the scheduler's alone
    ]
    if roles:
        ours["roles"] = sorted(roles, key=lambda role: str(role["name"]))
    return ours
