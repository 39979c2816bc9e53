# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The controller's part of a PodGroup's status, from the group, its members and the scheduler.

Pure: what is, and the time, go in; what should be written comes out. The word that sums the group
up is the reason of condition Ready (api.md §1)::

    Pending ─► WaitingForMembers ─► Unschedulable, Infeasible, … ─► Binding ─► Starting ─► Running
                                                  ▲                    │          │           │
                                                  └── BelowMinimum ◄───┴──────────┴───────────┤
                                                                            Succeeded, Failed ◄┘

What the scheduler decided is taken from its conditions Scheduled and Satisfied as it says it, so
that the two never contradict each other; the controller itself adds only what it alone observes:
InvalidSpec, the counts, Starting or Running, and how the group ended.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

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
class Verdict:
    """A condition without its times: `status` is "True", "False" or "Unknown"."""

    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class _View:
    """What a verdict is drawn from.

    Attributes:
        life: the live members, and the others of the present incarnation.
        succeeded: members that succeeded in it, by role.
        conditions: the conditions that stand, by type.
        started: the floor has run together in this incarnation.
    """

    group: Group
    life: Collection[Member]
    succeeded: Counter[str]
    conditions: Mapping[str, Verdict]
    started: bool

    def reaches_floor(self, counts: Counter[str]) -> bool:
        """Whether these members are the minimum of the group and of each role."""
        return counts.total() >= self.group.min_member and all(
            counts[role.name] >= role.min_member for role in self.group.roles
        )


def reconcile(  # each is one source of the status
    group: Group,
    status: Mapping[str, Any],
    members: Collection[Member],
    jobs: Mapping[str, bool],
    now: float,
    *,
    failed_before: int = 0,
) -> StatusPatch | None:
    """What the controller should write, or None when that already stands.

    Args:
        group: the PodGroup as the codec reads it.
        status: its `status` as it stands, both writers' parts.
        members: the pods that name it.
        jobs: how the Jobs that ended did, by UID; True = complete.
        now: server time, seconds since the epoch.
        failed_before: failures already counted in this incarnation, some of pods gone since.
    """
    view = _look(group, status, members)
    end = _end(view, jobs)
    if end is None and Condition.FINISHED in view.conditions:
        # A new life has begun, and the scheduler's words are about the one before.
        view = replace(view, succeeded=Counter(), conditions={}, started=False)
    verdicts = {Condition.READY: _ready(view, end)}
    if end is not None:
        verdicts[Condition.FINISHED] = end
    failed = sum(member.phase is Phase.FAILED for member in view.life)
    wanted: StatusPatch = {
        "observedGeneration": group.generation,
        **_counts(members),
        "failed": max(failed_before, failed),
        "conditions": [
            _condition(type_, verdict, status, group.generation, now)
            for type_, verdict in verdicts.items()
        ],
    }
    if group.roles:
        wanted["roles"] = [
            {"name": name, **_counts(m for m in members if m.role == name)}
            for name in sorted(role.name for role in group.roles)
        ]
    return None if wanted == _ours(status) else wanted


def finished(status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The condition by which a status says that the group ended; None if it does not."""
    found = (c for c in status.get("conditions") or () if c["type"] == Condition.FINISHED)
    return next((condition for condition in found if condition["status"] == "True"), None)


def _counts(members: Iterable[Member]) -> dict[str, int]:
    live = [member for member in members if member.live]
    values = (len(live), sum(m.bound for m in live), sum(m.ready for m in live))
    return dict(zip(_COUNTS, values, strict=True))


def _look(group: Group, status: Mapping[str, Any], members: Collection[Member]) -> _View:
    memory = group.memory
    life = _present(members, memory.incarnation)
    seen = Counter(member.role for member in life if member.phase is Phase.SUCCEEDED)
    remembered = Counter(dict(memory.roles))
    remembered[""] = max(0, memory.succeeded - remembered.total())
    return _View(
        group=group,
        life=life,
        succeeded=seen | remembered,
        conditions={
            item["type"]: Verdict(item["status"], item["reason"], item.get("message", ""))
            for item in status.get("conditions") or ()
        },
        started=memory.started is not None,
    )


def _present(members: Collection[Member], incarnation: str) -> Collection[Member]:
    """The live members, and those created since the first one of this incarnation was.

    A pod without a controller carries no identity, so an earlier life is told by its time.
    """
    start = min((m.created for m in members if incarnation in (m.uid, m.incarnation)), default=0.0)
    return [m for m in members if m.live or m.created >= start] if incarnation else members


# ── the summary ──────────────────────────────────────────────────────────────────────────────


def _ready(view: _View, end: Verdict | None) -> Verdict:
    """The verdict of condition Ready; its reason is the state of the group in one word."""
    if view.group.problem:
        return Verdict("False", Reason.INVALID_SPEC, view.group.problem)
    if end is not None:
        return replace(end, status="False")
    scheduled = view.conditions.get(Condition.SCHEDULED)
    missing = _missing(view)
    if scheduled is None or scheduled.status == "Unknown":
        if missing:
            return Verdict("False", Reason.WAITING_FOR_MEMBERS, missing)
        return Verdict("Unknown", Reason.PENDING, "the scheduler has not looked at this group yet")
    satisfied = view.conditions.get(Condition.SATISFIED)
    if view.started and satisfied is not None and satisfied.status == "False":
        return replace(satisfied, reason=Reason.BELOW_MINIMUM)
    if scheduled.status == "True":
        return _starting_or_running(view)
    if missing and scheduled.reason == Reason.WAITING_FOR_MEMBERS:
        return replace(scheduled, message=missing)
    return scheduled


def _missing(view: _View) -> str:
    """Which members do not exist yet, as "6 of 8 members exist"; "" = all do."""
    exist = Counter(member.role for member in view.life if member.live) + view.succeeded
    parts = []
    if exist.total() < view.group.min_member:
        parts.append(f"{exist.total()} of {view.group.min_member} members exist")
    parts += [
        f"role {role.name}: {exist[role.name]} of {role.min_member} members exist"
        for role in view.group.roles
        if exist[role.name] < role.min_member
    ]
    return "; ".join(parts)


def _starting_or_running(view: _View) -> Verdict:
    running = [m for m in view.life if m.live and m.phase is Phase.RUNNING]
    succeeded = view.succeeded.total()
    words = f"{len(running)} of {view.group.min_member} members run" + (
        f", {succeeded} succeeded" if succeeded else ""
    )
    if view.started or view.reaches_floor(Counter(m.role for m in running) + view.succeeded):
        return Verdict("True", Reason.RUNNING, words)
    return Verdict("False", Reason.STARTING, words)


# ── the end ──────────────────────────────────────────────────────────────────────────────────


def _end(view: _View, jobs: Mapping[str, bool]) -> Verdict | None:
    """How the group ended, or None while it has not (gangs.md §7.2).

    The Jobs that own members decide; for members without a controller, that all of them finished.
    Other owners are never done: they create pods for as long as they exist.
    """
    if any(member.live and member.job not in jobs for member in view.life):
        return None
    before = view.conditions.get(Condition.FINISHED)
    if before is not None and before.status == "True":
        return before
    owners = {member.job for member in view.life if member.job}
    bare = [member for member in view.life if member.bare]
    if (
        not view.life
        or not owners <= jobs.keys()
        or not all(member.finished for member in bare)
        or any(not member.job and not member.bare for member in view.life)
    ):
        return None
    good = all(jobs[owner] for owner in owners)
    if bare:
        good = good and view.reaches_floor(view.succeeded)
    failed = sum(member.phase is Phase.FAILED for member in view.life)
    words = f"{view.succeeded.total()} members succeeded, {failed} failed"
    return Verdict("True", Reason.SUCCEEDED if good else Reason.FAILED, words)


# ── what is written ──────────────────────────────────────────────────────────────────────────


def _condition(
    type_: str, verdict: Verdict, status: Mapping[str, Any], generation: int, now: float
) -> dict[str, Any]:
    """All six fields; lastTransitionTime is kept while the status stays what it was."""
    before = next((c for c in status.get("conditions") or () if c["type"] == type_), None)
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
