# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import logging
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest
from prometheus_client import REGISTRY

from enbloc.engine import Census, Tally
from enbloc.engine.effects import Decided, Emit, EventType
from enbloc.engine.plan import PlanResult
from enbloc.live.report import DecisionLog, GroupCounts, count_end
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason

GROUP = GroupKey("ns", "g")
DECIDED = Decided(GROUP, "enbloc", 1, "scheduled", 8, "", "plan-1")


@dataclass
class Groups:
    """So many groups in each plight."""

    below: int = 0
    part: int = 0

    tally: Tally = field(default_factory=Tally)

    def census(self) -> Census:
        return Census(podgroups=Counter(active=self.below + self.part))

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
    count_end(replace(emit, reason=EventReason.GANG_SCHEDULED))
    assert ended() == before + 1


def test_what_a_search_cost_is_counted_and_said_if_there_was_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    before = value("enbloc_search_steps_total", result="another order")
    log = DecisionLog()
    log.decided(DECIDED, 0.01)
    log.decided(replace(DECIDED, search="another order", steps=40), 0.01)
    assert value("enbloc_search_steps_total", result="another order") == before + 40
    without, searched = (vars(record) for record in caplog.records)
    assert "steps" not in without
    assert (searched["search"], searched["steps"]) == ("another order", 40)


@pytest.mark.parametrize("verdict", PlanResult)
def test_each_verdict_has_its_line(verdict: PlanResult, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    DecisionLog().decided(replace(DECIDED, result=verdict.value), 0.01)
    [record] = caplog.records
    assert vars(record)["result"] == verdict.value
