# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The picture of the dashboard, and what its queries and the alerts say of given samples."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from hack import dashboard_picture as picture

RULES: Final = picture.ROOT / "helm/enbloc/files/rules.yaml"


def test_the_picture_is_drawn_from_the_dashboard_as_it_is() -> None:
    assert not picture.drift(), "run `python hack/dashboard_picture.py` and commit the picture"


def test_the_picture_shows_every_panel() -> None:
    text = picture.PICTURE.read_text(encoding="utf-8")
    titles = re.findall(r'"title": "(.*?)"', picture.DASHBOARD.read_text(encoding="utf-8"))
    assert len(titles) > 20
    assert all(f">{escape(title)}</text>" in text for title in titles if title != "enbloc")


def test_what_does_not_change_is_kept_once() -> None:
    scraped = picture._scraped([1, 5, 3, 7], 4 * picture.EVERY)
    assert [value for _, value in scraped] == [5, 5, 7, 7]
    assert scraped[0][0] == picture.EVERY


# ── alerts, by Prometheus' own engine ────────────────────────────────────────────────────────

MINUTE: Final = 60.0
#: Series that are there in every install: one scheduler that leads, and one controller.
WELL: Final[Mapping[str, tuple[float, float]]] = {
    'enbloc_build_info{version="1"}': (1, 0),
    'enbloc_reservations{purpose="binding"}': (0, 0),
    'workqueue_depth{name="podgroup_controller"}': (0, 0),
    'leader_election_master_status{name="enbloc-scheduler"}': (1, 0),
    "enbloc_lease_conflict": (0, 0),
    "enbloc_partial_binds": (0, 0),
    'scheduler_pending_pods{queue="active"}': (3, 0),
    'enbloc_podgroup_plan_duration_seconds_count{result="scheduled"}': (0, 10),
    'enbloc_podgroup_plan_duration_seconds_bucket{le="8.192"}': (0, 10),
    'enbloc_podgroup_plan_duration_seconds_bucket{le="4.096"}': (0, 10),
    'enbloc_podgroup_plan_duration_seconds_bucket{le="+Inf"}': (0, 10),
    "enbloc_oldest_pending_podgroup_age_seconds": (60, 0),
    "enbloc_infeasible_podgroups": (0, 0),
    'scheduler_schedule_attempts_total{result="scheduled"}': (0, 100),
    'scheduler_schedule_attempts_total{result="error"}': (0, 1),
    'enbloc_bind_duration_seconds_count{result="bound"}': (0, 100),
    'enbloc_bind_duration_seconds_count{result="refused"}': (0, 1),
    'enbloc_watch_failing{resource="pods"}': (0, 0),
    "enbloc_events_dropped_total": (0, 0),
    'enbloc_throttled_requests_total{verb="get"}': (0, 0),
    'rest_client_requests_total{code="200"}': (0, 100),
    'rest_client_requests_total{code="<error>"}': (0, 1),
    'enbloc_evictions_total{outcome="blocked"}': (0, 0),
}
#: What makes each alert fire: a series with its value at first and what a minute adds to it.
#: None = it is gone.
FIRES: Final[Mapping[str, Mapping[str, tuple[float, float] | None]]] = {
    "EnblocSchedulerDown": {'enbloc_reservations{purpose="binding"}': None},
    "EnblocControllerDown": {'workqueue_depth{name="podgroup_controller"}': None},
    "EnblocNoLeader": {'leader_election_master_status{name="enbloc-scheduler"}': (0, 0)},
    "EnblocLeaseConflict": {"enbloc_lease_conflict": (1, 0)},
    "EnblocGangsPartiallyBound": {"enbloc_partial_binds": (2, 0)},
    "EnblocQueueStuck": {
        'enbloc_podgroup_plan_duration_seconds_count{result="scheduled"}': (90, 0)
    },
    "EnblocPodGroupWaitsLong": {"enbloc_oldest_pending_podgroup_age_seconds": (90_000, 60)},
    "EnblocPodGroupInfeasible": {"enbloc_infeasible_podgroups": (1, 0)},
    "EnblocSchedulingErrors": {'scheduler_schedule_attempts_total{result="error"}': (0, 20)},
    "EnblocBindErrors": {'enbloc_bind_duration_seconds_count{result="refused"}': (0, 20)},
    "EnblocPlanSlow": {
        'enbloc_podgroup_plan_duration_seconds_bucket{le="4.096"}': (0, 1),
    },
    "EnblocStreamStale": {'enbloc_watch_failing{resource="pods"}': (1, 0)},
    "EnblocEventsDropped": {"enbloc_events_dropped_total": (0, 5)},
    "EnblocThrottled": {'enbloc_throttled_requests_total{verb="get"}': (0, 120)},
    "EnblocAPIErrors": {'rest_client_requests_total{code="<error>"}': (0, 20)},
    "EnblocStatusBehind": {'workqueue_depth{name="podgroup_controller"}': (500, 0)},
    "EnblocEvictionsBlocked": {'enbloc_evictions_total{outcome="blocked"}': (0, 1)},
}
#: It is told apart by how often a value changes.
BY_CHANGES: Final = "EnblocLeaderFlapping"
#: Evaluated at this time, after everything has been so for an hour.
AT: Final = 60 * MINUTE


def series(
    state: Mapping[str, tuple[float, float] | None], job: str = "enbloc"
) -> list[dict[str, Any]]:
    """Samples of an hour, one a minute."""
    found: list[dict[str, Any]] = []
    for text, at in state.items():
        if at is None:
            continue
        name, _, labels = text.partition("{")
        named = dict(re.findall(r'(\w+)="(.*?)"', labels))
        values = [(minute * MINUTE, at[0] + minute * at[1]) for minute in range(61)]
        whole = {"__name__": name, "job": job, "instance": "i", **named}
        found.append({"labels": whole, "values": values})
    return found


def alerts(groups: Sequence[Mapping[str, Any]] | None = None) -> dict[str, str]:
    """Each alert's expression, with what is recorded written out.

    Args:
        groups: of rules; without them, those of the file.
    """
    known: Sequence[Mapping[str, Any]] = groups or yaml.safe_load(RULES.read_text())["groups"]
    rules = [rule for group in known for rule in group["rules"]]
    recorded = {rule["record"]: rule["expr"] for rule in rules if "record" in rule}
    found: dict[str, str] = {}
    for rule in rules:
        if "alert" in rule:
            expression = rule["expr"]
            for name, meaning in recorded.items():
                expression = expression.replace(name, f"({meaning})")
            found[rule["alert"]] = expression
    return found


def firing(samples: list[dict[str, Any]]) -> set[str]:
    """The alerts that fire on these samples."""
    return {alert for alert, _ in firing_by_job(samples)}


def firing_by_job(
    samples: list[dict[str, Any]], groups: Sequence[Mapping[str, Any]] | None = None
) -> set[tuple[str, str | None]]:
    """The alerts that fire on these samples, each with its job."""
    known = alerts(groups)
    queries = [
        {"expr": expression, "start": AT, "end": AT, "step": MINUTE}
        for expression in known.values()
    ]
    results = picture.evaluated(samples, queries)
    return {
        (name, found["labels"].get("job"))
        for name, result in zip(known, results, strict=True)
        for found in result
    }


@pytest.mark.controlplane
def test_no_alert_fires_while_all_is_well() -> None:
    assert firing(series(WELL)) == set()


@pytest.mark.controlplane
@pytest.mark.parametrize("alert", FIRES)
def test_an_alert_fires_on_what_it_is_for_and_no_other_does(alert: str) -> None:
    assert firing(series({**WELL, **FIRES[alert]})) == {alert}


@pytest.mark.controlplane
def test_a_queue_is_stuck_too_if_nothing_was_decided_since_the_start() -> None:
    # A series of decisions begins with the first one.
    decided = (name for name in WELL if name.startswith("enbloc_podgroup_plan_duration_seconds"))
    assert firing(series({**WELL, **dict.fromkeys(decided)})) == {"EnblocQueueStuck"}


@pytest.mark.controlplane
def test_a_lease_that_changes_hands_often_is_noticed() -> None:
    name = 'leader_election_master_status{name="enbloc-scheduler"}'
    samples = series({**WELL, name: (1, 0)})
    [lease] = [each for each in samples if each["labels"]["__name__"] == name.partition("{")[0]]
    lease["values"] = [(at, float(round(at / MINUTE) % 2 == 0)) for at, _ in lease["values"]]
    assert firing(samples) == {BY_CHANGES}


def test_there_is_a_case_for_every_alert() -> None:
    assert {*FIRES, BY_CHANGES} == alerts().keys()


def test_the_recording_is_small() -> None:
    assert Path(picture.RECORDED).stat().st_size < 300_000
