# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc_sandbox.nodes.jobs import (
    INDEX_KEY,
    NAME_LABEL,
    Step,
    Tally,
    compressed,
    finished,
    manifest,
    next_step,
    unsupported,
)
from enbloc_sandbox.nodes.objects import Metadata, Object


def job(status: dict[str, Any] | None = None, **spec: Any) -> Object:
    template = {"metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "c"}]}}
    return Object(Metadata("J", "train", "ns"), {"template": template, **spec}, status or {})


def pod(uid: str, phase: str = "Running", index: int | None = None, **more: Any) -> Object:
    annotations = None if index is None else {INDEX_KEY: str(index)}
    meta = Metadata(uid, uid, "ns", annotations=annotations, **more)
    ready = {"type": "Ready", "status": "True" if phase == "Running" else "False"}
    return Object(meta, {}, {"phase": phase, "conditions": [ready]})


def step(found: Object, *pods: Object, now: float = 100.0, tally: Tally | None = None) -> Step:
    known = tally or Tally()
    for one in pods:
        known.count(one, now=0.0)
    return next_step(found, pods, known, now, retry_seconds=1.0)


def conditions(status: dict[str, Any] | None) -> dict[str, str]:
    assert status is not None
    return {one["type"]: one["status"] for one in status["conditions"]}


def test_an_indexed_job_starts_its_lowest_indexes() -> None:
    found = step(job(completionMode="Indexed", completions=5, parallelism=3))
    assert found.create == (0, 1, 2)


def test_a_plain_job_starts_as_many_as_run_at_once() -> None:
    assert step(job(completions=5, parallelism=2)).create == (None, None)


def test_a_job_that_names_no_number_runs_one_pod() -> None:
    assert step(job()).create == (None,)
    assert conditions(step(job(), pod("p", "Succeeded")).status)["Complete"] == "True"


def test_an_indexed_job_goes_on_with_the_indexes_that_are_neither_done_nor_under_way() -> None:
    found = step(
        job(completionMode="Indexed", completions=4, parallelism=2),
        pod("p0", "Succeeded", 0),
        pod("p1", "Running", 1),
    )
    assert found.create == (2,)
    assert found.status is not None
    counts = {
        key: found.status[key] for key in ("active", "ready", "succeeded", "completedIndexes")
    }
    assert counts == {"active": 1, "ready": 1, "succeeded": 1, "completedIndexes": "0"}


def test_a_failed_pod_is_replaced_after_a_growing_wait() -> None:
    indexed = job(completionMode="Indexed", completions=1, backoffLimit=3)
    assert step(indexed, pod("p", "Failed", 0), now=0.4).again_in == pytest.approx(0.6)
    assert step(indexed, pod("p", "Failed", 0), now=1.0).create == (0,)
    twice = (pod("p", "Failed", 0), pod("q", "Failed", 0))
    assert step(indexed, *twice, now=1.0).again_in == pytest.approx(1.0)


def test_a_deleted_pod_counts_as_failed_and_is_replaced() -> None:
    gone = pod("p", "Running", 0, deletion_timestamp="2026-01-01T00:00:00Z")
    found = step(job(completionMode="Indexed", completions=1), gone)
    assert found.create == (0,)
    assert found.status is not None
    assert found.status["failed"] == 1


def test_a_pod_that_vanished_while_running_counts_as_failed_and_one_of_ours_does_not() -> None:
    tally = Tally(unwanted={"ours"})
    tally.count(pod("p"), now=0.0, gone=True)
    tally.count(pod("ours"), now=0.0, gone=True)
    assert set(tally.failed) == {"p"}


def test_beyond_the_backoff_limit_the_rest_is_deleted_before_the_job_fails() -> None:
    found = job(completions=2, parallelism=2, backoffLimit=0)
    active = pod("q")
    first = step(found, pod("p", "Failed"), active)
    assert first.delete == (active,)
    assert conditions(first.status) == {"FailureTarget": "True"}
    assert first.status is not None
    again = step(job(first.status, completions=2, backoffLimit=0), pod("p", "Failed"))
    assert conditions(again.status) == {"FailureTarget": "True", "Failed": "True"}


def test_a_job_is_complete_once_every_index_succeeded() -> None:
    found = step(
        job(completionMode="Indexed", completions=2, parallelism=2),
        pod("p0", "Succeeded", 0),
        pod("p1", "Succeeded", 1),
    )
    assert conditions(found.status) == {"SuccessCriteriaMet": "True", "Complete": "True"}
    assert found.status is not None
    assert found.status["completionTime"]
    done = job(found.status, completionMode="Indexed", completions=2)
    assert finished(done)
    assert step(done) == Step()


def test_finished_pods_count_after_they_are_gone() -> None:
    tally = Tally()
    tally.count(pod("p0", "Succeeded", 0), now=0.0)
    found = step(job(completionMode="Indexed", completions=1), tally=tally)
    assert conditions(found.status)["Complete"] == "True"


def test_a_work_queue_starts_no_more_pods_once_one_succeeded() -> None:
    queue = job(parallelism=2)
    assert step(queue).create == (None, None)
    half = step(queue, pod("p", "Succeeded"), pod("q"))
    assert half.create == ()
    assert not {"Complete"} & set(conditions(half.status))
    done = step(queue, pod("p", "Succeeded"), pod("q", "Succeeded"))
    assert conditions(done.status)["Complete"] == "True"


def test_suspending_deletes_what_runs_and_resuming_starts_it_again() -> None:
    active = pod("p", "Running", 0)
    held = step(job(completionMode="Indexed", completions=1, suspend=True), active)
    assert held.delete == (active,)
    assert conditions(held.status) == {"Suspended": "True"}
    tally = Tally(unwanted={"p"})
    resumed = step(
        job(held.status, completionMode="Indexed", completions=1, suspend=False), tally=tally
    )
    assert resumed.create == (0,)
    assert conditions(resumed.status) == {"Suspended": "False"}


def test_lower_parallelism_deletes_pods_that_do_not_run_first() -> None:
    running, waiting = pod("p", "Running"), pod("q", "Pending")
    found = step(job(completions=5, parallelism=1), waiting, running)
    assert found.delete == (waiting,)


def test_a_second_pod_of_an_index_is_deleted() -> None:
    first, second = pod("p", "Running", 0), pod("q", "Pending", 0)
    found = step(job(completionMode="Indexed", completions=2, parallelism=2), first, second)
    assert found.delete == (second,)
    assert found.create == (1,)


def test_a_status_that_is_right_is_not_written() -> None:
    found = job(completions=1)
    status = step(found, pod("p")).status
    assert status is not None
    assert step(job(status, completions=1), pod("p")).status is None


def test_a_pod_carries_its_job_its_index_and_its_owner() -> None:
    made = manifest(job(completionMode="Indexed", completions=2), 1)
    meta = made["metadata"]
    assert meta["generateName"] == "train-1-"
    assert meta["labels"]["x"] == "y"
    assert meta["labels"][NAME_LABEL] == "train"
    assert meta["labels"][INDEX_KEY] == meta["annotations"][INDEX_KEY] == "1"
    assert meta["ownerReferences"] == [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "train",
            "uid": "J",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert made["spec"]["hostname"] == "train-1"
    assert [one["name"] for one in made["spec"]["containers"][0]["env"]] == ["JOB_COMPLETION_INDEX"]
    assert "env" not in manifest(job(), None)["spec"]["containers"][0]


def test_fields_that_are_not_followed_are_named() -> None:
    assert unsupported(job(successPolicy={"rules": []}, completions=1)) == ["spec.successPolicy"]


IGNORING: dict[str, Any] = {
    "podReplacementPolicy": "Failed",
    "podFailurePolicy": {
        "rules": [
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
            {"action": "Ignore", "onExitCodes": {"operator": "NotIn", "values": [1]}},
        ]
    },
}


def ended(uid: str, code: int = 0, *, disrupted: bool = False) -> Object:
    found = pod(uid, "Failed")
    target = {"type": "DisruptionTarget", "status": "True" if disrupted else "False"}
    containers = [{"name": "c", "state": {"terminated": {"exitCode": code}}}]
    return Object(
        found.metadata, {}, found.status | {"conditions": [target], "containerStatuses": containers}
    )


@pytest.mark.parametrize(
    ("failed", "count", "fails"),
    [
        pytest.param(ended("p", disrupted=True), 0, False, id="disrupted: not its own fault"),
        pytest.param(ended("p", 1), 1, False, id="no rule fits: it counts"),
        pytest.param(ended("p", 42), 1, True, id="a code that fails the Job"),
        pytest.param(ended("p", 42, disrupted=True), 0, False, id="the first rule that fits"),
        pytest.param(ended("p", 7), 0, False, id="any code but one"),
    ],
)
def test_the_failure_policy_says_what_a_failure_counts_for(
    failed: Object, count: int, *, fails: bool
) -> None:
    found = step(job(backoffLimit=3, **IGNORING), failed)

    assert found.status is not None
    assert found.status["failed"] == count
    assert conditions(found.status) == (
        {"FailureTarget": "True", "Failed": "True"} if fails else {}
    )
    assert found.create == (() if fails else (None,))


def test_disruptions_that_are_ignored_never_use_up_the_backoff_limit() -> None:
    pods = [ended(f"p{i}", disrupted=True) for i in range(9)]

    assert step(job(backoffLimit=0, **IGNORING), *pods, now=0.0).create == (None,)
    assert step(job(backoffLimit=8), *pods).status is not None
    assert conditions(step(job(backoffLimit=8), *pods).status) == {
        "FailureTarget": "True",
        "Failed": "True",
    }


def test_a_job_that_replaces_late_waits_until_the_pod_has_ended() -> None:
    late = job(completionMode="Indexed", completions=1, podReplacementPolicy="Failed")
    leaving = pod("p", "Running", 0, deletion_timestamp="2026-01-01T00:00:00Z")
    tally = Tally()
    first = step(late, leaving, tally=tally)

    assert first.create == ()
    assert first.status is not None
    assert first.status["failed"] == 0

    tally.count(leaving, now=0.0, gone=True)
    after = step(late, tally=tally)

    assert after.create == (0,)
    assert after.status is not None
    assert after.status["failed"] == 1


@given(st.sets(st.integers(0, 60)))
def test_compressed_indexes_can_be_read_back(indexes: set[int]) -> None:
    read: set[int] = set()
    for run in filter(None, compressed(indexes).split(",")):
        first, _, last = run.partition("-")
        read |= set(range(int(first), int(last or first) + 1))
    assert read == indexes


@given(
    completions=st.integers(1, 6),
    parallelism=st.integers(1, 6),
    phases=st.lists(st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]), max_size=8),
)
def test_never_more_pods_than_parallelism_and_never_two_of_an_index(
    completions: int, parallelism: int, phases: list[str]
) -> None:
    found = job(completionMode="Indexed", completions=completions, parallelism=parallelism)
    pods = [pod(f"p{i}", phase, i % completions) for i, phase in enumerate(phases)]
    after = step(found, *pods, now=1e9)
    kept = [one for one in pods if not one.finished and one not in after.delete]
    indexes = [one.annotations[INDEX_KEY] for one in kept] + [str(i) for i in after.create]
    assert len(indexes) <= parallelism
    assert len(set(indexes)) == len(indexes)
