# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is exposed: kube-scheduler's names as its dashboards expect them, and no tenant's words."""

import re
from pathlib import Path

import pytest
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

import enbloc
from enbloc.telemetry import metrics
from enbloc.telemetry.metrics import DECLARED, SharedHistogram

BY_NAME = {metric.name: metric for metric in DECLARED}

#: Name, kind (counter, gauge, histogram), labels and buckets of kube-scheduler v1.36, client-go
#: and its work queues.
UPSTREAM = """
scheduler_pending_pods g queue
scheduler_schedule_attempts_total c result,profile
scheduler_scheduling_attempt_duration_seconds h result,profile 0.001*2^15
scheduler_scheduling_algorithm_duration_seconds h - 0.001*2^15
scheduler_pod_scheduling_sli_duration_seconds h attempts 0.01*2^20
scheduler_pod_scheduling_attempts h - 1*2^5
scheduler_framework_extension_point_duration_seconds h extension_point,status,profile 0.0001*2^12
scheduler_plugin_execution_duration_seconds h plugin,extension_point,status 0.00001*1.5^20
scheduler_plugin_evaluation_total c plugin,extension_point,profile
scheduler_queue_incoming_pods_total c queue,event
scheduler_preemption_attempts_total c -
scheduler_preemption_victims h - 1*2^7
scheduler_permit_wait_duration_seconds h result 0.001*2^15
scheduler_cache_size g type
scheduler_unschedulable_pods g plugin,profile
scheduler_goroutines g operation
scheduler_event_handling_duration_seconds h event 0.0001*2^12
scheduler_podgroup_schedule_attempts_total c result,profile
scheduler_podgroup_scheduling_attempt_duration_seconds h result,profile 0.001*2^15
scheduler_podgroup_scheduling_algorithm_duration_seconds h - 0.001*2^15
leader_election_master_status g name
leader_election_slowpath_total c name
rest_client_requests_total c code,method,host
rest_client_request_duration_seconds h verb,host
rest_client_rate_limiter_duration_seconds h verb,host
workqueue_depth g name
workqueue_adds_total c name
workqueue_queue_duration_seconds h name 0.00000001*10^10
workqueue_work_duration_seconds h name 0.00000001*10^10
workqueue_unfinished_work_seconds g name
workqueue_longest_running_processor_seconds g name
workqueue_retries_total c name
"""


@pytest.mark.parametrize("line", UPSTREAM.strip().splitlines(), ids=lambda line: line.split()[0])
def test_names_labels_and_buckets_are_those_of_upstream(line: str) -> None:
    name, kind, labels, *buckets = line.split()
    declared = BY_NAME[name]
    assert declared.kind[0] == kind
    assert set(declared.labels) == ({*labels.split(",")} if labels != "-" else set())
    for text in buckets:
        start, factor, count = (float(number) for number in re.split(r"[*^]", text))
        expected = [start * factor**power for power in range(int(count))]
        assert list(declared.buckets) == pytest.approx(expected, rel=1e-5)


def test_nothing_has_the_name_of_upstream_that_upstream_does_not_have() -> None:
    ours = {metric.name for metric in DECLARED if metric.name.startswith("enbloc_")}
    assert set(BY_NAME) - ours == {line.split()[0] for line in UPSTREAM.strip().splitlines()}


def test_names_follow_the_conventions_of_prometheus() -> None:
    for metric in DECLARED:
        assert re.fullmatch(r"[a-z][a-z0-9_]*[a-z0-9]", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name


def test_no_label_can_hold_a_word_of_a_tenant() -> None:
    of_objects = {"namespace", "pod", "podgroup", "node", "uid", "message", "user", "group"}
    for metric in DECLARED:
        assert not of_objects & metric.labels.keys(), metric.name
        assert all(metric.labels.values()), f"{metric.name}: what can its labels be?"


def test_every_queue_of_writes_is_named_and_no_other() -> None:
    sources = [path.read_text("utf-8") for path in Path(enbloc.__file__).parent.rglob("*.py")]
    queues = {name for text in sources for name in re.findall(r'\bqueue="(\w+)"', text)}
    texts = {each.labels["name"] for each in DECLARED if each.name.startswith("workqueue_")}

    assert queues
    assert [set(re.findall(r"\w+_\w+", text)) for text in texts] == [queues]


def test_every_metric_that_is_exposed_is_declared() -> None:
    exposed = {
        family.name + ("_total" if family.type == "counter" else "")
        for family in REGISTRY.collect()
    }
    others = {name for name in exposed if name.startswith(("process_", "python_"))}
    assert exposed - others == set(BY_NAME)
    assert {"process_resident_memory_bytes", "python_info"} <= others


def test_a_series_that_is_kept_is_the_one_that_its_labels_name() -> None:
    for labels in (("create", "pods"), ("patch", "pods"), ("create", "pods")):
        assert metrics.series(metrics.THROTTLED, *labels) is metrics.THROTTLED.labels(*labels)


def test_there_is_one_series_for_each_counter() -> None:
    assert b"_created" not in generate_latest()


@pytest.mark.parametrize("amount", [0.0625, 0.125, 3.0])
def test_what_is_true_of_many_at_once_counts_for_each_of_them(amount: float) -> None:
    registry = CollectorRegistry()
    one = SharedHistogram("one", "", buckets=(0.125, 1.0), registry=registry)
    many = SharedHistogram("many", "", buckets=(0.125, 1.0), registry=registry)
    for _ in range(8):
        one.observe(amount)
    many.observe_all(amount, 8)
    text = generate_latest(registry).decode()
    shown = [line.split("_", 1)[1] for line in text.splitlines() if line.startswith("one_")]
    assert shown
    assert shown == [
        line.split("_", 1)[1] for line in text.splitlines() if line.startswith("many_")
    ]


def test_so_many_attempts_are_told_apart_as_upstream_does() -> None:
    assert [metrics.attempts_label(n) for n in (1, 14, 15, 400)] == ["1", "14", "15+", "15+"]
