# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""When the pods of sets with exclusive placement come (semantics §5.2)."""

import json

import pytest

from tests.workloads.given import expanded, waves


def test_workers_that_wait_for_the_node_of_their_leader_come_after_it() -> None:
    """Semantics §5.2."""
    found = expanded("""
        apiVersion: leaderworkerset.x-k8s.io/v1
        kind: LeaderWorkerSet
        metadata:
          name: serve
          annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: rack}
        spec:
          replicas: 2
          leaderWorkerTemplate: {size: 2, workerTemplate: TEMPLATE}
        """)
    assert waves(found) == [["serve-0", "serve-1"], ["serve-0-1", "serve-1-1"]]


def test_with_exclusive_placement_the_first_pod_of_each_job_comes_before_the_others() -> None:
    """Semantics §5.2."""
    key = "alpha.jobset.sigs.k8s.io/exclusive-topology"
    found = expanded(f"""
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        metadata: {{name: train}}
        spec:
          replicatedJobs:
          - name: learn
            replicas: 2
            template:
              metadata: {{annotations: {{{key}: rack}}}}
              spec: {{parallelism: 2, template: TEMPLATE}}
          - name: report
            dependsOn: [{{name: learn, status: Ready}}]
            template: {{spec: {{parallelism: 2, template: TEMPLATE}}}}
        """)
    assert waves(found) == [
        ["train-learn-0-0", "train-learn-1-0"],
        ["train-learn-0-1", "train-learn-1-1"],
        ["train-report-0-0", "train-report-0-1"],
    ]
    note = f"JobSet default/train: annotation {key} is not followed in this answer"
    assert found.notes == [note]


@pytest.mark.parametrize(
    ("also", "expected"),
    [
        ({}, [["j-a-0-0"], ["j-a-0-1"], ["j-b-0-0"], ["j-b-0-1"]]),
        (
            {"alpha.jobset.sigs.k8s.io/node-selector": "true"},
            [["j-a-0-0", "j-a-0-1"], ["j-b-0-0", "j-b-0-1"]],
        ),
    ],
    ids=["by affinity", "by node selector"],
)
def test_jobs_in_order_wait_for_all_pods_of_the_one_before(
    also: dict[str, str], expected: list[list[str]]
) -> None:
    """Semantics §5.2."""
    annotations = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"} | also
    found = expanded(f"""
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        metadata: {{name: j, annotations: {json.dumps(annotations)}}}
        spec:
          startupPolicy: {{startupPolicyOrder: InOrder}}
          replicatedJobs:
          - {{name: a, template: {{spec: {{parallelism: 2, template: TEMPLATE}}}}}}
          - {{name: b, template: {{spec: {{parallelism: 2, template: TEMPLATE}}}}}}
        """)
    assert waves(found) == expected


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({"exclusive-topology": "rack"}, [["j-a-0-0"], ["j-a-0-1"], ["j-b-0-0", "j-b-0-1"]]),
        ({"node-selector": "true"}, [["j-a-0-0", "j-a-0-1"], ["j-b-0-0", "j-b-0-1"]]),
    ],
    ids=["exclusive", "by a selector, but not exclusive"],
)
def test_pods_may_have_exclusive_placement_of_their_own(
    annotations: dict[str, str], expected: list[list[str]]
) -> None:
    """Semantics §5.2."""
    own = {f"alpha.jobset.sigs.k8s.io/{key}": value for key, value in annotations.items()}
    pod = json.dumps({"annotations": own})
    found = expanded(f"""
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        metadata: {{name: j}}
        spec:
          startupPolicy: {{startupPolicyOrder: InOrder}}
          replicatedJobs:
          - name: a
            template:
              spec:
                parallelism: 2
                template: {{metadata: {pod}, spec: {{containers: [{{name: c}}]}}}}
          - {{name: b, template: {{spec: {{parallelism: 2, template: TEMPLATE}}}}}}
        """)
    assert waves(found) == expected
    assert len(found.notes) == (len(expected) == 3)
