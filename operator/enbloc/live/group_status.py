# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The scheduler's part of a PodGroup's status, as the API shows it."""

from itertools import starmap
from typing import Final

import msgspec

from enbloc.engine.effects import SetGroupStatus, TopologyStatus
from enbloc.model.field_ownership import SCHEDULER_FIELDS
from enbloc.model.groups import Relaunch, RunMemory
from enbloc.model.names import Condition
from enbloc.model.times import time_text
from enbloc.wire.conditions import group_condition
from enbloc.wire.objects import (
    PodGroupMetadata,
    PodGroupSpecObject,
    PodGroupStatusObject,
    RelaunchObject,
    RoleStatusObject,
    RunObject,
    RunRoleObject,
    RunSubGroupObject,
)


class TopologyShown(msgspec.Struct, gc=False, omit_defaults=True):
    """`status.topology`."""

    level: str | None = None
    path: str | None = None
    spread: dict[str, int] | None = None


class SchedulerStatus(PodGroupStatusObject, omit_defaults=True):
    """The scheduler's part of a status, as it is or as it should be.

    Times are RFC 3339 in UTC, to the second.
    """

    priority: int | None = None
    last_attempt_time: str | None = None
    next_attempt_time: str | None = None
    topology: TopologyShown | None = None

    def reason(self, kind: Condition) -> str:
        """The reason of one condition; "" if it is absent."""
        return next((c.reason for c in self.conditions or () if c.type == kind), "")

    def own(self) -> "SchedulerStatus":
        """A copy without what others write, in a fixed order, so that two can be compared."""
        roles = [role for role in self.roles or () if role.succeeded is not None]
        conditions = [c for c in self.conditions or () if c.type in SCHEDULER_FIELDS.conditions]
        return msgspec.structs.replace(
            self,
            roles=tuple(sorted(roles, key=lambda role: role.name)) or None,
            expected=None,
            conditions=tuple(sorted(conditions, key=lambda c: c.type)) or None,
        )


class GroupObject(msgspec.Struct, gc=False):
    """A PodGroup with all status fields that the scheduler writes."""

    metadata: PodGroupMetadata = msgspec.field(default_factory=PodGroupMetadata)
    spec: PodGroupSpecObject | None = None
    status: SchedulerStatus | None = None


NOTHING: Final = SchedulerStatus()


def wanted(
    effect: SetGroupStatus, shown: SchedulerStatus, now: float, created: float = 0.0
) -> SchedulerStatus:
    """What the status should say; no time in it is before the object's creation (semantics §7.3).

    Args:
        effect: what the engine decided.
        shown: the status last seen; a condition whose status is unchanged keeps its
            lastTransitionTime.
        now: server time, seconds since the epoch.
        created: creationTimestamp of the PodGroup, same unit.
    """
    before = {condition.type: condition for condition in shown.conditions or ()}
    return SchedulerStatus(
        run=effect.run_name or None,
        started_time=_text(effect.started, created),
        succeeded=effect.succeeded,
        roles=tuple(RoleStatusObject(role.name, role.succeeded) for role in effect.roles) or None,
        priority=effect.priority,
        attempts=effect.attempts,
        last_attempt_time=_text(effect.last_attempt, created),
        next_attempt_time=_text(effect.next_attempt, created),
        runs=tuple(_run(run, created) for run in effect.runs) or None,
        topology=_topology(effect.topology),
        conditions=tuple(
            group_condition(
                value.type,
                "Unknown" if value.status is None else str(value.status),
                value.reason,
                value.message,
                effect.generation,
                max(now, created),
                before.get(value.type),
            )
            for value in effect.conditions
        ),
    ).own()


def _topology(found: TopologyStatus | None) -> TopologyShown | None:
    if found is None:
        return None
    return TopologyShown(found.level or None, found.path or None, dict(found.spread) or None)


def _run(run: RunMemory, earliest: float) -> RunObject:
    counts = dict(run.group_counts)
    return RunObject(
        name=run.name,
        owners=run.owners or None,
        min_member=dict(run.minimums).get(""),
        scheduled_time=_text(run.scheduled, earliest),
        started_time=_text(run.started, earliest),
        succeeded=run.succeeded,
        roles=_roles(run),
        queue_time=_text(run.queue_time, 0.0),
        plan=run.plan or None,
        min_group_count=counts.pop("", None),
        sub_groups=tuple(starmap(RunSubGroupObject, counts.items())) or None,
        relaunch=_relaunch(run.relaunch) if run.relaunch is not None else None,
    )


def _relaunch(found: Relaunch) -> RelaunchObject:
    latest = _text(found.latest, 0.0)
    return RelaunchObject(found.succeeded, latest, dict(found.minimums).get(""), _roles(found))


def _roles(of: RunMemory | Relaunch) -> tuple[RunRoleObject, ...] | None:
    minimums, succeeded = dict(of.minimums), dict(of.roles)
    names = [name for name in dict.fromkeys((*minimums, *succeeded)) if name]
    return tuple(RunRoleObject(n, minimums.get(n), succeeded.get(n)) for n in names) or None


def _text(seconds: float | None, earliest: float) -> str | None:
    return None if seconds is None else time_text(max(seconds, earliest))
