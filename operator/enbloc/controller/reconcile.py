# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The controller's part of a PodGroup's status, from the group, its members and the scheduler.

Pure: takes the current state and the time, and returns what should be written. The reason of
condition Ready sums up the group in one word (docs/reference/api.md). Its transitions::

    Pending ─► WaitingForMembers ◄──────────► MembersCannotExist
                │   ▲                          (owners can bring no more; said instead)
                ▼   │ members went away
               Unschedulable, Infeasible, WaitingOnPermit, SchedulerError, …
                │   ▲                  ▲
                ▼   │                  │ evicted by the scheduler: TimedOut
               Binding ─► Starting ─► Running ◄─► BelowMinimum
                              │          │             │
                              └──────────┴──► Succeeded, Failed ─► (a new run: Pending)

    from anywhere: InvalidSpec, as long as the spec is invalid

The first match decides: the spec is invalid (InvalidSpec); this run ended (Succeeded, Failed: also
condition Finished); the scheduler has not reported on this run (Pending, WaitingForMembers,
MembersCannotExist); its condition Scheduled is at TimedOut or Preempted; its condition Satisfied is
False in a group that has started (BelowMinimum, TopologyDomainFull); Scheduled is True, with any
reason (Starting, Running). Otherwise Ready copies the reason and message of Scheduled, so that the
two never contradict each other, but counts the existing members anew (WaitingForMembers,
MembersCannotExist).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import msgspec

from enbloc.controller.existence import (
    Creators,
    at_once,
    cannot_exist,
    of_role,
    suspended,
)
from enbloc.controller.members import Member
from enbloc.controller.runs import (
    FIRST_LOOK,
    ConditionState,
    RunHistory,
    RunView,
    how_it_ended,
    look,
)
from enbloc.model.field_ownership import CONTROLLER_FIELDS
from enbloc.model.groups import Group
from enbloc.model.names import Condition, Reason
from enbloc.model.pods import Phase
from enbloc.wire.conditions import group_condition
from enbloc.wire.objects import GroupConditionObject

StatusPatch = dict[str, Any]
"""The whole of the controller's part of `status`, as JSON, to be applied by its field manager."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The result of one look at a group.

    Attributes:
        patch: what the controller should write; None = the status already says so.
        history: to pass to the next look, once `patch` is written.
        ended: this look found that the run of the group ended.
    """

    patch: StatusPatch | None
    history: RunHistory
    ended: bool


def reconcile(  # each is one source of the status
    group: Group,
    status: Mapping[str, Any],
    members: Collection[Member],
    creators: Creators,
    now: float,
    history: RunHistory = FIRST_LOOK,
) -> Conclusion:
    """Work out what the controller should write.

    Args:
        group: the PodGroup as the codec reads it.
        status: its current `status`, both writers' parts.
        members: its pods.
        creators: what creates its pods, by UID.
        now: server time, seconds since the epoch.
        history: from the last look.
    """
    now = max(now, group.created)  # clocks differ by seconds (semantics §7.3)
    view = look(group, status, members, creators, history)
    end = how_it_ended(view)
    ended = end is not None and view.finished is None
    shown = msgspec.convert(status.get("conditions") or (), tuple[GroupConditionObject, ...])
    before = {condition.type: condition for condition in shown}
    conditions = [_condition(Condition.READY, _ready(view, end), before, group.generation, now)]
    if end is not None:
        if ended:  # a standing Finished is about an earlier run
            before.pop(Condition.FINISHED, None)
        # The server's clock is known only to the second; no member may be younger than the end.
        since = max(now, *(member.created for member in view.current), 0.0)
        conditions.append(_condition(Condition.FINISHED, end, before, group.generation, since))
    wanted: StatusPatch = {
        "observedGeneration": group.generation,
        **_counts(members),
        "failed": view.failed,
        "conditions": conditions,
    }
    expected = at_once(view.group, view.current, creators, view.controllers)
    if expected is not None:
        wanted["expected"] = expected
    if group.roles:
        wanted["roles"] = [
            {"name": name, **_counts(m for m in members if m.role == name)}
            for name in sorted(role.name for role in group.roles)
        ]
    patch = None if wanted == CONTROLLER_FIELDS.part(status) else wanted
    return Conclusion(patch, view.history(end), ended)


def _counts(members: Iterable[Member]) -> dict[str, int]:
    live = [member for member in members if member.live]
    return {
        "members": len(live),
        "scheduled": sum(m.bound for m in live),
        "ready": sum(m.ready for m in live),
    }


# ── the summary ──────────────────────────────────────────────────────────────────────────────


def _ready(view: RunView, end: ConditionState | None) -> ConditionState:
    """The state of condition Ready; its reason is the state of the group in one word."""
    if view.group.problem:
        return ConditionState("False", Reason.INVALID_SPEC, view.group.problem)
    if end is not None:
        return replace(end, status="False")
    scheduled = view.conditions.get(Condition.SCHEDULED)
    if scheduled is None or scheduled.status == "Unknown":
        return _waiting(view) or ConditionState(
            "Unknown", Reason.PENDING, "waiting for the scheduler"
        )
    satisfied = view.conditions.get(Condition.SATISFIED)
    if (
        view.started
        and satisfied is not None
        and satisfied.status == "False"
        and scheduled.reason not in (Reason.TIMED_OUT, Reason.PREEMPTED)
    ):
        # Scheduled also says what missing members wait for, if the scheduler tried to place them.
        tried = scheduled.reason in (Reason.BELOW_MINIMUM, Reason.TOPOLOGY_DOMAIN_FULL)
        lacking = scheduled if tried else replace(satisfied, reason=Reason.BELOW_MINIMUM)
        words = lacking.message
        if scheduled.reason == Reason.INVALID_SPEC:
            words = f"{words}; {scheduled.message}"
        return replace(satisfied, reason=lacking.reason, message=words)
    if scheduled.status == "True":
        ready = _starting_or_running(view)
        if view.started and satisfied is not None and satisfied.status == "True":
            # Satisfied counts by the minimum at the gang's start, and says if it was raised since.
            return replace(ready, message=satisfied.message)
        return ready
    if scheduled.reason == Reason.WAITING_FOR_MEMBERS:
        return _waiting(view) or scheduled
    return scheduled


def _waiting(view: RunView) -> ConditionState | None:
    """The state of Ready while members are missing, and whether they can exist; None = none are."""
    missing = _missing(view)
    said = view.conditions.get(Condition.SCHEDULED)
    if not missing:
        return None
    never = cannot_exist(view.group, view.current, view.succeeded, view.creators)
    if never:
        return ConditionState("False", Reason.MEMBERS_CANNOT_EXIST, never)
    if said is not None and said.message.startswith(missing[0]):
        missing[0] = said.message  # the scheduler also says which pods do not count, and why
    words = "; ".join(filter(None, (*missing, suspended(view.creators))))
    return ConditionState("False", Reason.WAITING_FOR_MEMBERS, words)


def _missing(view: RunView) -> list[str]:
    """Which members do not exist yet, in the scheduler's wording: "6 of 8 members exist"."""
    exist = Counter(member.role for member in view.current if member.live) + view.succeeded
    if view.reaches_floor(exist):
        return []
    return [
        f"{count} of {minimum} members{f' of role {role}' if role else ''} exist"
        for role, minimum in view.group.floors()
        if (count := of_role(exist, role)) < minimum
    ]


def _starting_or_running(view: RunView) -> ConditionState:
    running = [m for m in view.current if m.live and m.phase is Phase.RUNNING]
    succeeded = view.succeeded.total()
    words = f"{len(running)} of {view.group.least} members run" + (
        f", {succeeded} succeeded" if succeeded else ""
    )
    if view.started or view.reaches_floor(Counter(m.role for m in running) + view.succeeded):
        return ConditionState("True", Reason.RUNNING, words)
    return ConditionState("False", Reason.STARTING, words)


def _condition(
    kind: str,
    state: ConditionState,
    standing: Mapping[str, GroupConditionObject],
    generation: int,
    now: float,
) -> dict[str, Any]:
    """A condition as JSON."""
    condition = group_condition(
        kind, state.status, state.reason, state.message, generation, now, standing.get(kind)
    )
    return cast("dict[str, Any]", msgspec.to_builtins(condition))
