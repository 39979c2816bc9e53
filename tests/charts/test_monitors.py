# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Several installs, each with its monitors and alerts: what befalls one is noticed."""

from typing import Any, Final

import pytest

from enbloc.model.names import NAMESPACE
from tests.charts.rendering import by_key, render
from tests.hack.test_dashboard import FIRES, WELL, alerts, firing_by_job, series

pytestmark = pytest.mark.controlplane

#: Of docs/how-to/run-a-second-scheduler.md.
BATCH: Final = "controller.enabled=false,scheduler.config.profiles[0].schedulerName=batch"


def on(key: str) -> str:
    return f"{key}.enabled=true,{key}.renderMode=alwaysRender"


def installs(*keys: str) -> dict[str, dict[str, Any]]:
    """What two releases in one cluster render with these values on, each by kind and name."""
    asked = ",".join(map(on, keys))
    return {
        "enbloc": by_key(render("--set", asked, namespace=NAMESPACE)),
        "batch": by_key(
            render("--set", f"{asked},{BATCH}", release="batch", namespace="batch-system")
        ),
    }


def jobs(rendered: dict[str, Any], kind: str) -> list[str]:
    """The label `job` that each monitor of a kind gives what it scrapes."""
    specs = [d["spec"] for d in rendered.values() if d["kind"] == kind]
    endpoints = [(s.get("endpoints") or s["podMetricsEndpoints"])[0] for s in specs]
    return [
        rule["replacement"]
        for endpoint in endpoints
        for rule in endpoint.get("relabelings", ())
        if rule.get("targetLabel") == "job"
    ]


def groups(rendered: dict[str, Any]) -> Any:
    [rule] = [d for d in rendered.values() if d["kind"] == "PrometheusRule"]
    return rule["spec"]["groups"]


@pytest.mark.parametrize("kind", ["ServiceMonitor", "PodMonitor"])
def test_each_process_of_each_install_is_a_job_of_its_own(kind: str) -> None:
    found = installs(kind[0].lower() + kind[1:])

    assert jobs(found["enbloc"], kind) == ["enbloc-scheduler", "enbloc-controller"]
    assert jobs(found["batch"], kind) == ["batch-enbloc-scheduler"]


def test_a_relabeling_of_the_user_s_comes_after_the_job() -> None:
    rule = "serviceMonitor.relabelings[0]"
    theirs = f"{rule}.targetLabel=job,{rule}.replacement=other"

    rendered = by_key(render("--set", f"{on('serviceMonitor')},{theirs}"))

    assert jobs(rendered, "ServiceMonitor")[:2] == ["enbloc-scheduler", "other"]


def test_an_install_that_is_stuck_is_noticed_beside_one_that_decides() -> None:
    found = installs("serviceMonitor", "prometheusRule")
    first, *_ = jobs(found["enbloc"], "ServiceMonitor")
    [second] = jobs(found["batch"], "ServiceMonitor")
    stuck = {**WELL, **FIRES["EnblocQueueStuck"]}

    firing = firing_by_job(series(WELL, first) + series(stuck, second), groups(found["batch"]))

    assert firing == {("EnblocQueueStuck", second)}


@pytest.mark.parametrize("monitor", ["serviceMonitor", "podMonitor"])
def test_an_install_that_is_gone_is_noticed_beside_one_that_runs(monitor: str) -> None:
    found = installs(monitor, "prometheusRule")
    first, *_ = jobs(found["enbloc"], monitor[0].upper() + monitor[1:])
    samples = series(WELL, first)

    assert firing_by_job(samples, groups(found["enbloc"])) == set()
    assert firing_by_job(samples, groups(found["batch"])) == {
        ("EnblocSchedulerDown", "batch-enbloc-scheduler")
    }


def test_without_a_monitor_of_its_own_an_install_asks_for_any_scheduler() -> None:
    # Whoever scrapes it has chosen the job.
    for rendered in installs("prometheusRule").values():
        assert alerts(groups(rendered)) == alerts()
