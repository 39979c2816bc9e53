# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the status of a PodGroup stores for the next process."""

from collections.abc import Iterable
from typing import Final

from enbloc.model.groups import MOST_RUNS_KEPT, GroupMemory, Relaunch, RunMemory
from enbloc.model.names import Condition
from enbloc.wire.objects import PodGroupStatusObject, RelaunchObject, RunObject
from enbloc.wire.times import seconds_of_text

#: How much of a condition's message is kept (characters).
_LONGEST_NOTE: Final = 1024


def memory(status: PodGroupStatusObject) -> GroupMemory:
    """What the status of a PodGroup says of its runs."""
    said = {each.type: each.message or "" for each in status.conditions or ()
            if each.status == "True"}  # fmt: skip
    return GroupMemory(
        run_name=status.run or "",
        started=seconds_of_text(status.started_time),
        succeeded=status.succeeded or 0,
        roles=tuple((role.name, role.succeeded or 0) for role in status.roles or ()),
        attempts=status.attempts or 0,
        initially_scheduled=Condition.INITIALLY_SCHEDULED in said,
        runs=tuple(_run(each) for each in status.runs or () if each.name)[-MOST_RUNS_KEPT:],
        expected=status.expected,
        preempted=said.get(Condition.DISRUPTION_TARGET, "")[:_LONGEST_NOTE],
        last_attempt=seconds_of_text(status.last_attempt_time),
    )


def _run(run: RunObject) -> RunMemory:
    # Earlier versions wrote 0 of a sub-group that came while the gang ran.
    nodes = ((each.name, each.min_group_count or None) for each in run.sub_groups or ())
    counts = [("", run.min_group_count), *nodes]
    return RunMemory(
        name=run.name,
        owners=run.owners or (),
        minimums=_minimums(run),
        scheduled=seconds_of_text(run.scheduled_time),
        started=seconds_of_text(run.started_time),
        succeeded=run.succeeded or 0,
        roles=_succeeded(run),
        queue_time=seconds_of_text(run.queue_time),
        plan=run.plan or "",
        group_counts=_recorded(counts),
        relaunch=_relaunch(run.relaunch) if run.relaunch is not None else None,
    )


def _relaunch(found: RelaunchObject) -> Relaunch:
    return Relaunch(
        found.succeeded or 0,
        _minimums(found),
        _succeeded(found),
        seconds_of_text(found.last_scheduled_time),
    )


def _minimums(found: RunObject | RelaunchObject) -> tuple[tuple[str, int], ...]:
    roles = ((role.name, role.min_member) for role in found.roles or ())
    return _recorded((("", found.min_member), *roles))


def _recorded(numbers: Iterable[tuple[str, int | None]]) -> tuple[tuple[str, int], ...]:
    """What a status says of each name; a server that does not validate may send any number."""
    return tuple((name, number) for name, number in numbers if number is not None and number >= 0)


def _succeeded(found: RunObject | RelaunchObject) -> tuple[tuple[str, int], ...]:
    return tuple((role.name, role.succeeded or 0) for role in found.roles or ())
