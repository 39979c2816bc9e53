# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
import logging
from collections import Counter
from dataclasses import dataclass, field

import pytest
from msgspec import structs
from prometheus_client import REGISTRY

from enbloc.engine import Census, Tally
from enbloc.engine.effects import Attempt, Decided, Emit, EventType
from enbloc.engine.plan import PlanResult
from enbloc.live.report import DecisionLog, GroupCounts, count_bound, count_end
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason
from enbloc.telemetry.logs import DETAIL

GROUP = GroupKey("ns", "g")
DECIDED = Decided(GROUP, "enbloc", 1, "scheduled", 8, "", "plan-1")


@dataclass
class Groups:
    """So many groups in each plight."""

    below: int = 0
    part: int = 0

    tally: Tally = field(default_factory=Tally)
    seen: Census | None = None

    def census(self) -> Census:
        return self.seen or Census(podgroups=Counter(active=self.below + self.part))

    def below_minimum(self) -> int:
        return self.below

    def in_part(self) -> int:
        return self.part


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_the_time_below_the_minimum_is_summed_over_groups() -> None:
    groups = Groups()
    counts = GroupCounts(groups, lambda: 0, lambda: True, lambda: 0.0)
    before = value("enbloc_below_minimum_seconds_total")
    for now, groups.below in ((100.0, 5), (101.0, 0), (103.0, 2), (104.5, 3)):
        counts.count(now)
    passed = value("enbloc_below_minimum_seconds_total") - before
    assert passed == 0 * 1.0 + 2 * 2.0 + 3 * 1.5


def test_gangs_bound_in_part_and_those_that_never_fit_are_counted() -> None:
    groups, infeasible = Groups(part=3), [2]
    counts = GroupCounts(groups, lambda: infeasible[0], lambda: True, lambda: 0.0)
    counts.count(100.0)
    assert value("enbloc_partial_binds") == 3
    assert value("enbloc_infeasible_podgroups") == 2
    groups.part = infeasible[0] = 0
    counts.count(101.0)
    assert value("enbloc_partial_binds") == 0
    assert value("enbloc_infeasible_podgroups") == 0


def test_who_does_not_lead_counts_its_queue_and_nothing_twice() -> None:
    leads = [False]
    groups = Groups(below=1, part=3)
    counts = GroupCounts(groups, lambda: 0, lambda: leads[0], lambda: 0.0)
    before = value("enbloc_below_minimum_seconds_total")
    counts.count(100.0)
    assert value("enbloc_podgroups", status="active") == 4
    assert value("enbloc_partial_binds") == 0
    leads[0] = True
    counts.count(200.0)  # from now on
    counts.count(201.0)
    assert value("enbloc_below_minimum_seconds_total") - before == 1.0
    assert value("enbloc_partial_binds") == 3


async def test_who_leads_no_more_shows_nothing_of_what_it_did() -> None:
    groups = Groups(part=2)
    groups.seen = Census(pods={"active": 4}, reserved={"binding": 1}, oldest=1.0)
    task = asyncio.create_task(
        GroupCounts(groups, lambda: 0, lambda: True, lambda: 5.0).run(),
    )
    await asyncio.sleep(0)
    assert value("scheduler_pending_pods", queue="active") == 4
    task.cancel()
    await asyncio.wait([task])
    assert value("scheduler_pending_pods", queue="active") == 0
    assert value("enbloc_reservations", purpose="binding") == 0
    assert value("enbloc_partial_binds") == 0
    assert value("enbloc_oldest_pending_podgroup_age_seconds") == 0


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [(EventReason.GANG_REPAIRED, "repaired"), (EventReason.GANG_TIMED_OUT, "evicted")],
)
def test_the_end_of_a_gang_bound_in_part_is_counted(reason: EventReason, outcome: str) -> None:
    def ended() -> float:
        return value("enbloc_partial_binds_ended_total", outcome=outcome)

    before = ended()
    emit = Emit(EventType.NORMAL, reason, "Repairing", "", "enbloc.dev/scheduler", "u", group=GROUP)
    count_end(emit)
    count_end(structs.replace(emit, reason=EventReason.GANG_SCHEDULED))
    assert ended() == before + 1


def test_what_a_search_cost_is_counted_and_said_if_there_was_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    before = value("enbloc_search_steps_total", result="another order")
    log = DecisionLog()
    log.decided(DECIDED, 0.01)
    log.decided(structs.replace(DECIDED, search="another order", steps=40), 0.01)
    assert value("enbloc_search_steps_total", result="another order") == before + 40
    without, searched = (vars(record) for record in caplog.records)
    assert "steps" not in without
    assert (searched["search"], searched["steps"]) == ("another order", 40)


@pytest.mark.parametrize("verdict", PlanResult)
def test_each_verdict_has_its_line(verdict: PlanResult, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    DecisionLog().decided(structs.replace(DECIDED, result=verdict.value), 0.01)
    [record] = caplog.records
    assert vars(record)["result"] == verdict.value


def test_a_pod_without_a_group_is_told_of_as_a_pod(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(DETAIL)
    DecisionLog().decided(structs.replace(DECIDED, group=GroupKey("ns", "/web"), solo=True), 0.01)
    [record] = caplog.records
    assert record.message == "Placed pod"
    assert (vars(record)["pod"], vars(record)["podGroup"]) == ("ns/web", "")


@pytest.mark.parametrize("verdict", PlanResult)
def test_by_default_a_pod_without_a_group_has_a_line_unless_it_is_placed(
    verdict: PlanResult, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    DecisionLog().decided(structs.replace(DECIDED, solo=True, result=verdict.value), 0.01)
    assert bool(caplog.records) == (verdict is not PlanResult.PLACED)


def test_an_attempt_counts_for_every_pod_and_infeasible_as_unschedulable() -> None:
    labels = {"result": "unschedulable", "profile": "counted"}
    refused = structs.replace(DECIDED, profile="counted", result="infeasible", pods=8)
    DecisionLog().decided(refused, 0.3)
    assert value("scheduler_schedule_attempts_total", **labels) == 8
    assert value("scheduler_scheduling_attempt_duration_seconds_count", **labels) == 8
    assert value("scheduler_podgroup_schedule_attempts_total", **labels) == 1
    DecisionLog().decided(structs.replace(refused, solo=True, pods=1), 0.3)
    assert value("scheduler_schedule_attempts_total", **labels) == 9
    assert value("scheduler_podgroup_schedule_attempts_total", **labels) == 1


def test_a_placed_pod_counts_once_it_is_bound() -> None:
    attempt = Attempt(3, queued=100.0, decided=107.0)
    DecisionLog().decided(structs.replace(DECIDED, profile="bound"), 0.3)
    labels = {"result": "scheduled", "profile": "bound"}
    assert value("scheduler_schedule_attempts_total", **labels) == 0
    sli = "scheduler_pod_scheduling_sli_duration_seconds_sum"
    before = value(sli, attempts="3")
    count_bound("bound", attempt, 107.5, bound=True)
    assert value("scheduler_schedule_attempts_total", **labels) == 1
    assert value("scheduler_scheduling_attempt_duration_seconds_sum", **labels) == 0.5
    assert value(sli, attempts="3") == before + 7.5
    count_bound("bound", attempt, 108.0, bound=False)
    failed = {**labels, "result": "error"}
    assert value("scheduler_schedule_attempts_total", **failed) == 1


def test_queues_reasons_and_durations_are_shown_and_what_is_gone_is_zero() -> None:
    groups = Groups()
    counts = GroupCounts(groups, lambda: 0, lambda: True, lambda: 500.0)
    groups.seen = Census(reasons=Counter(Shown=2), oldest=460.0)
    groups.tally.incoming["active", "ShownEvent"] += 3
    groups.tally.group_waits.append(7.0)
    groups.tally.waited_at_permit("Shown", 5.0)
    waits = value("enbloc_podgroup_wait_duration_seconds_sum")
    counts.count(1.0)
    assert value("enbloc_pending_podgroups", reason="Shown") == 2
    assert value("enbloc_oldest_pending_podgroup_age_seconds") == 40.0
    labels = {"queue": "active", "event": "ShownEvent"}
    assert value("scheduler_queue_incoming_pods_total", **labels) == 3
    assert value("enbloc_podgroup_wait_duration_seconds_sum") == waits + 7.0
    assert value("scheduler_permit_wait_duration_seconds_sum", result="Shown") == 5.0
    groups.seen = Census()
    counts.count(2.0)
    assert value("enbloc_pending_podgroups", reason="Shown") == 0
    assert value("enbloc_oldest_pending_podgroup_age_seconds") == 0
    assert value("scheduler_queue_incoming_pods_total", **labels) == 3
    assert value("enbloc_podgroup_wait_duration_seconds_sum") == waits + 7.0
