# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Jobs, StatefulSets and ReplicaSets, from what the API server sends."""

from typing import Any

import msgspec
import pytest

from enbloc.controller.creator_objects import (
    JobObject,
    SetObject,
    job,
    replica_set,
    stateful_set,
)
from enbloc.controller.creators import JOB, REPLICA_SET, STATEFUL_SET, Creator, count_indexes
from enbloc.model.groups import GroupKey
from enbloc.wire.auto_groups import group_name

TRAIN = GroupKey("n", "train")
METADATA = {"name": "x", "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 3}
LABELS = {"enbloc.dev/pod-group": "train", "enbloc.dev/role": "worker"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": []}}


def a_job(status: Any = None, **spec: Any) -> Creator:
    metadata = METADATA | {"creationTimestamp": "2023-11-14T22:13:20Z"}
    body = {"metadata": metadata, "spec": spec, "status": status}
    return job(msgspec.convert(body, JobObject))


def a_set(**spec: Any) -> SetObject:
    return msgspec.convert({"metadata": METADATA, "spec": spec}, SetObject)


def test_a_job_as_it_is_written() -> None:
    found = a_job(
        {
            "succeeded": 4,
            "failedIndexes": "2,5-7",
            "conditions": [{"type": "Complete", "status": "True"}],
        },
        parallelism=8,
        completions=16,
        completionMode="Indexed",
        backoffLimit=2,
        suspend=True,
        template=TEMPLATE,
    )

    assert found == Creator(
        kind=JOB,
        name="x",
        uid="u",
        group=TRAIN,
        role="worker",
        created=1_700_000_000.0,
        pods=8,
        completions=16,
        succeeded=4,
        failed=4,
        ended=True,
        indexed=True,
        suspended=True,
        backoff_limit=2,
        generation=3,
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("3", 1), ("1,3-5,9", 5), ("5-3", 0), ("x,-1,3-,²", 0), (f"0-{'9' * 99}", 0)],
)
def test_how_many_indexes_failed(text: str, count: int) -> None:
    assert count_indexes(text) == count


def test_a_job_of_a_jobset_has_the_owner_of_its_pods() -> None:
    """Semantics §1."""
    key = "jobset.sigs.k8s.io/"
    labels = {f"{key}jobset-uid": "s", f"{key}restart-attempt": "2"}
    assert a_job(template={"metadata": {"labels": labels}}).owner == "s/2"
    assert a_job(template=TEMPLATE).owner == "u"


def test_a_job_of_a_jobset_has_the_podgroup_of_its_part() -> None:
    """Semantics §6.6."""
    key = "jobset.sigs.k8s.io/"
    labels = {f"{key}jobset-name": "s", f"{key}replicatedjob-name": "then"}
    part = a_job(template={"metadata": {"labels": labels}})
    assert part.group == GroupKey("n", group_name("JobSet", "s"))
    assert part.wave == GroupKey("n", group_name("JobSet", "s", part="then"))
    named = a_job(template={"metadata": {"labels": labels | LABELS}})
    assert (named.group, named.wave) == (TRAIN, None)
    assert a_job().wave is None


def test_what_a_job_leaves_out() -> None:
    bare, queue = a_job(), a_job(parallelism=4)

    assert (bare.pods, bare.completions, bare.backoff_limit) == (1, 1, 6)
    assert bare.group == GroupKey("n", group_name("Job", "x", "u")), "of its own, if there is one"
    assert (queue.pods, queue.completions) == (4, None)
    assert job(JobObject()).ended is None


@pytest.mark.parametrize(
    ("conditions", "ended"),
    [
        pytest.param([], None, id="it goes on"),
        pytest.param([("Failed", "False")], None, id="it has not failed"),
        pytest.param([("FailureTarget", "True")], None, id="its last pods are about to go"),
        pytest.param([("SuccessCriteriaMet", "True"), ("Complete", "True")], True, id="complete"),
        pytest.param([("FailureTarget", "True"), ("Failed", "True")], False, id="failed"),
    ],
)
def test_how_a_job_ended(conditions: list[tuple[str, str]], ended: bool | None) -> None:
    given = [{"type": type_, "status": status} for type_, status in conditions]

    assert a_job({"conditions": given}).ended is ended


DISRUPTED = {"type": "DisruptionTarget", "status": "True"}


@pytest.mark.parametrize(
    ("rules", "counted"),
    [
        pytest.param([], True, id="4.5 without a rule each deletion counts"),
        pytest.param(
            [{"action": "Ignore", "onPodConditions": [DISRUPTED]}], False, id="4.5 it is ignored"
        ),
        pytest.param(
            [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}],
            False,
            id="4.5 a condition without a status is one that is true",
        ),
        pytest.param(
            [{"action": "Ignore", "onPodConditions": [DISRUPTED | {"status": "False"}]}],
            True,
            id="4.5 what is not disrupted is ignored",
        ),
        pytest.param(
            [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [3]}}],
            True,
            id="4.5 an exit code is ignored",
        ),
        pytest.param(
            [
                {"action": "FailJob", "onPodConditions": [DISRUPTED]},
                {"action": "Ignore", "onPodConditions": [DISRUPTED]},
            ],
            True,
            id="4.5 the first rule that matches decides",
        ),
    ],
)
def test_whether_deletions_count_against_the_backoff_limit(rules: Any, counted: bool) -> None:
    policy = {"rules": rules}
    found = a_job(backoffLimit=2, backoffLimitPerIndex=1, podFailurePolicy=policy)

    assert found.backoff_limit == (2 if counted else None)
    assert found.index_limit == (1 if counted else None)


def test_a_stateful_set_is_ordered_unless_it_says_parallel() -> None:
    ordered = stateful_set(a_set(replicas=3, template=TEMPLATE))
    parallel = stateful_set(a_set(replicas=3, podManagementPolicy="Parallel", template=TEMPLATE))

    assert (ordered.kind, ordered.pods, ordered.group) == (STATEFUL_SET, 3, TRAIN)
    assert ordered.ordered
    assert not parallel.ordered


def test_a_replica_set_is_known_by_its_deployment() -> None:
    owner = {"kind": "Deployment", "name": "web", "uid": "d", "controller": True}
    other = {"kind": "Backup", "name": "b", "uid": "b"}
    body = {"metadata": METADATA | {"ownerReferences": [other, owner]}, "spec": {"replicas": 2}}
    found = replica_set(msgspec.convert(body, SetObject))

    assert (found.kind, found.pods, found.title) == (REPLICA_SET, 2, "Deployment web")
    assert replica_set(a_set()).title == "ReplicaSet x"
    assert replica_set(SetObject()).pods == 1


@pytest.mark.parametrize(
    ("replicas", "desired", "pods"),
    [
        pytest.param(2, "8", 8, id="a rollout is under way"),
        pytest.param(8, "6", 8, id="the Deployment is being scaled down"),
        pytest.param(0, "8", 0, id="a former ReplicaSet"),
        pytest.param(2, "many", 2, id="a note that makes no sense"),
    ],
)
def test_a_replica_set_will_have_what_its_deployment_wants(
    replicas: int, desired: str, pods: int
) -> None:
    note = {"annotations": {"deployment.kubernetes.io/desired-replicas": desired}}
    body = {"metadata": METADATA | note, "spec": {"replicas": replicas}}

    assert replica_set(msgspec.convert(body, SetObject)).pods == pods


def test_a_template_names_its_group_by_the_field_of_kubernetes_too() -> None:
    template = {"spec": {"schedulingGroup": {"podGroupName": "train"}, "containers": []}}

    assert a_job(template=template).group == TRAIN


def test_the_annotation_of_a_template_wins_as_on_a_pod() -> None:
    annotated = {"metadata": {"labels": LABELS, "annotations": {"enbloc.dev/pod-group": "other"}}}

    assert a_job(template=annotated).group == GroupKey("n", "other")
