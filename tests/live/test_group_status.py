# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0

from typing import Any

import msgspec
import pytest
from msgspec import structs

from enbloc.engine.effects import ConditionValue, RoleSucceeded, SetGroupStatus, TopologyStatus
from enbloc.live.group_status import NOTHING, SchedulerStatus, wanted
from enbloc.model.field_ownership import SCHEDULER_FIELDS
from enbloc.model.groups import GroupKey, RunMemory
from enbloc.model.names import Condition, Reason
from enbloc.model.times import time_text
from enbloc.wire.codec import group
from enbloc.wire.objects import GroupConditionObject, PodGroupObject, RoleStatusObject

T0, T1 = 1_800_000_000.7, 1_800_000_060.2


def effect(
    *conditions: ConditionValue, generation: int = 1, roles: tuple[RoleSucceeded, ...] = ()
) -> SetGroupStatus:
    return SetGroupStatus(
        group=GroupKey("ns", "g"),
        uid="u",
        generation=generation,
        run_name="job-1",
        started=None,
        succeeded=0,
        roles=roles,
        attempts=3,
        last_attempt=T0,
        next_attempt=None,
        conditions=conditions,
    )


def scheduled(status: bool | None, message: str = "") -> ConditionValue:
    reason = {True: Reason.SCHEDULED, False: Reason.UNSCHEDULABLE, None: Reason.PENDING}[status]
    return ConditionValue(Condition.SCHEDULED, status, reason, message)


def only(shown: SchedulerStatus) -> GroupConditionObject:
    assert shown.conditions is not None
    [condition] = shown.conditions
    return condition


@pytest.mark.parametrize(
    ("status", "text"),
    [
        pytest.param(True, "True", id="yes"),
        pytest.param(False, "False", id="no"),
        pytest.param(None, "Unknown", id="not decided yet"),
    ],
)
def test_a_condition_has_all_six_fields(status: bool | None, text: str) -> None:
    condition = only(wanted(effect(scheduled(status, "why"), generation=7), NOTHING, T1))
    assert condition.type == "Scheduled"
    assert condition.status == text
    assert condition.observed_generation == 7
    assert condition.last_transition_time == time_text(T1)
    assert condition.message == "why"


def test_the_transition_time_stays_while_the_status_stays() -> None:
    first = wanted(effect(scheduled(False, "no room")), NOTHING, T0)
    second = wanted(effect(scheduled(False, "less room")), first, T1)
    third = wanted(effect(scheduled(True, "room")), second, T1)
    assert only(second).last_transition_time == time_text(T0)
    assert only(third).last_transition_time == time_text(T1)


def test_a_new_generation_is_a_change_and_the_same_again_is_none() -> None:
    first = wanted(effect(scheduled(True)), NOTHING, T0)
    assert wanted(effect(scheduled(True)), first, T1) == first.own()
    assert wanted(effect(scheduled(True), generation=2), first, T1) != first.own()


def test_what_the_controller_writes_is_neither_compared_nor_sent() -> None:
    mine = wanted(effect(scheduled(True), roles=(RoleSucceeded("ps", 1),)), NOTHING, T0)
    assert mine.conditions is not None
    assert mine.roles is not None
    shown = SchedulerStatus(
        run=mine.run,
        succeeded=mine.succeeded,
        attempts=mine.attempts,
        last_attempt_time=mine.last_attempt_time,
        roles=(RoleStatusObject("worker"), *mine.roles),
        conditions=(GroupConditionObject("Ready", "True"), *mine.conditions),
    )
    assert (
        wanted(effect(scheduled(True), roles=(RoleSucceeded("ps", 1),)), shown, T1) == shown.own()
    )


def test_what_the_scheduler_shows_is_what_it_owns() -> None:
    names = {field.encode_name for field in msgspec.structs.fields(SchedulerStatus)}
    assert names - {"expected"} == {*SCHEDULER_FIELDS.fields, "roles", "conditions"}


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        pytest.param(
            TopologyStatus("block", "z1/b3", (("zone", 1), ("block", 1), ("rack", 4))),
            {"level": "block", "path": "z1/b3", "spread": {"zone": 1, "block": 1, "rack": 4}},
            id="in one block",
        ),
        pytest.param(
            TopologyStatus("", "", (("zone", 2), ("rack", 5))),
            {"spread": {"zone": 2, "rack": 5}},
            id="in no one domain",
        ),
        pytest.param(None, None, id="it asks for no topology"),
    ],
)
def test_where_the_bound_members_lie_is_shown(
    found: TopologyStatus | None, shown: dict[str, Any] | None
) -> None:
    status = wanted(structs.replace(effect(scheduled(True)), topology=found), NOTHING, T0)

    assert msgspec.to_builtins(status).get("topology") == shown


def test_where_the_bound_members_lie_is_a_change_and_the_same_again_is_none() -> None:
    near = TopologyStatus("rack", "r1", (("rack", 1),))
    first = wanted(structs.replace(effect(scheduled(True)), topology=near), NOTHING, T0)
    listed = msgspec.convert(msgspec.to_builtins(first), SchedulerStatus)

    assert wanted(structs.replace(effect(scheduled(True)), topology=near), listed, T1) == listed
    assert wanted(effect(scheduled(True)), listed, T1) != listed.own()


def test_no_time_lies_before_the_object() -> None:
    """Semantics §7.3."""
    created = T1 + 3
    early = structs.replace(effect(scheduled(True)), started=T0)
    shown = wanted(early, NOTHING, T1, created)
    assert shown.started_time == shown.last_attempt_time == time_text(created)
    assert only(shown).last_transition_time == time_text(created)


def test_what_is_remembered_of_a_tree_is_read_as_it_was_written() -> None:
    """Semantics §2.8."""
    run = RunMemory(
        "job-1",
        minimums=(("", 4), ("a", 2)),
        roles=(("a", 1),),
        group_counts=(("", 2), ("slices", 1)),
    )
    shown = wanted(structs.replace(effect(scheduled(True)), runs=(run,)), NOTHING, T0)
    document = {"metadata": {"name": "g", "namespace": "ns"}, "status": msgspec.to_builtins(shown)}
    assert group(msgspec.convert(document, PodGroupObject)).memory.runs == (run,)
