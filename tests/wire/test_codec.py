# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods as the API server sends them become facts, and never an exception."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.groups import GroupKey
from enbloc.model.pods import Owner, Phase, Pod, PodKey
from enbloc.wire.codec import NodeObject, PodGroupObject, PodObject, group, node, pod

BOUND = {"name": "p", "namespace": "n", "uid": "u"}
KEY = "enbloc.dev/pod-group"
SAVED = "1970-01-01T00:01:00Z"


def read_pod(
    metadata: dict[str, Any] | None = None,
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
) -> Pod:
    document = {"metadata": {**BOUND, **(metadata or {})}, "spec": spec or {}, "status": status}
    return pod(msgspec.json.decode(msgspec.json.encode(document), type=PodObject))


# ── pods ─────────────────────────────────────────────────────────────────────────────────────


def test_a_pod_says_who_and_where_it_is() -> None:
    made = read_pod(
        {
            "resourceVersion": "42",
            "creationTimestamp": "2026-01-01T00:00:10Z",
            "ownerReferences": [
                {"kind": "Node", "name": "x", "uid": "1"},
                {"kind": "Job", "name": "train", "uid": "2", "controller": True},
            ],
            "annotations": {"enbloc.dev/plan": '{"plan":"p1"}', "note": "grüß"},
        },
        {"schedulerName": "enbloc", "nodeName": "node-1", "priority": 5},
        {"phase": "Running"},
    )

    assert made.key == PodKey("n", "p")
    assert str(made.key) == "n/p"
    assert (made.uid, made.scheduler, made.node, made.priority) == ("u", "enbloc", "node-1", 5)
    assert made.resource_version == 42
    assert made.created == 1767225610.0
    assert made.owner == Owner("Job", "train", "2")
    assert made.owner_key == "2"
    assert made.binding_record == '{"plan":"p1"}'
    assert made.annotations_size == len('enbloc.dev/plan{"plan":"p1"}note') + 6
    assert made.bound
    assert made.running
    assert made.problem == ""


def test_a_bare_pod_with_nothing_but_nulls_is_read() -> None:
    nulls = {
        "labels": None, "annotations": None, "ownerReferences": None, "deletionTimestamp": None,
        "creationTimestamp": None,
    }  # fmt: skip
    made = read_pod(nulls, {"nodeName": None, "schedulingGates": None, "containers": None})

    assert made.problem == ""
    assert (made.phase, made.node, made.group, made.owner) == (Phase.PENDING, "", None, None)
    assert made.owner_key == ""
    assert made.live
    assert not made.bound


@pytest.mark.parametrize("scheduler", ["enbloc", "kai-scheduler"])
def test_a_pod_whose_workload_is_not_read_is_a_member_if_another_key_names_its_group(
    scheduler: str,
) -> None:
    """Semantics §6.5."""
    spec = {"schedulerName": scheduler, "workloadRef": {"name": "train", "podGroup": "workers"}}
    made = read_pod({"annotations": {"pod-group-name": "g"}}, spec)
    assert (made.group, made.problem) == (GroupKey("n", "g"), "")
    made = read_pod(None, spec)
    # KAI's pod grouper is about to name the group.
    assert bool(made.problem) is (scheduler == "enbloc")
    assert bool(made.group) is (scheduler != "enbloc")


@pytest.mark.parametrize(
    ("phase", "read", "finished"),
    [
        ("Pending", Phase.PENDING, False),
        ("Succeeded", Phase.SUCCEEDED, True),
        ("Failed", Phase.FAILED, True),
        ("Unknown", Phase.UNKNOWN, False),
        ("Dreaming", Phase.UNKNOWN, False),
        (None, Phase.PENDING, False),
    ],
)
def test_phases(phase: str | None, read: Phase, *, finished: bool) -> None:
    made = read_pod(status={"phase": phase})

    assert made.phase is read
    assert made.finished is finished


def test_a_terminating_pod_and_a_gated_pod() -> None:
    made = read_pod(
        {"deletionTimestamp": "2026-01-01T00:00:00Z"}, {"schedulingGates": [{"name": "wait"}]}
    )

    assert made.deleting
    assert made.gated
    assert not made.live


@pytest.mark.parametrize(
    ("condition", "scheduled_at", "unschedulable"),
    [
        pytest.param(
            {"status": "True", "lastTransitionTime": "1970-01-01T00:01:00Z"}, 60.0, False, id="True"
        ),
        pytest.param({"status": "True", "lastTransitionTime": None}, None, False, id="no time"),
        pytest.param({"status": "True", "lastTransitionTime": "soon"}, None, False, id="bad time"),
        pytest.param({"status": "False", "reason": "Unschedulable"}, None, True, id="refused"),
        pytest.param({"status": "False", "reason": "InvalidSpec"}, None, True, id="invalid"),
        pytest.param({"status": "False", "reason": "SchedulerError"}, None, False, id="an error"),
    ],
)
def test_the_condition_podscheduled(
    condition: dict[str, Any], scheduled_at: float | None, *, unschedulable: bool
) -> None:
    conditions = [{"type": "Ready", "status": "False"}, {"type": "PodScheduled", **condition}]
    made = read_pod(status={"conditions": conditions})

    assert made.scheduled_at == scheduled_at
    assert made.unschedulable is unschedulable


RUNNING = [{"name": "main", "state": {"running": {}}}]
WAITING = [{"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}]


@pytest.mark.parametrize(
    ("status", "why"),
    [
        pytest.param({"phase": "Failed", "reason": "OutOfcpu"}, "OutOfcpu", id="no room"),
        pytest.param(
            {"phase": "Failed", "reason": "UnexpectedAdmissionError", "containerStatuses": []},
            "UnexpectedAdmissionError",
            id="no device",
        ),
        pytest.param(
            {"phase": "Failed", "reason": "Evicted"}, "Evicted", id="a node under pressure"
        ),
        pytest.param(
            {"phase": "Failed", "reason": "Evicted", "containerStatuses": RUNNING},
            "",
            id="evicted while it ran",
        ),
        pytest.param(
            {"phase": "Failed", "reason": "DeadlineExceeded", "containerStatuses": WAITING},
            "",
            id="too late, and never started",
        ),
        pytest.param(
            {"phase": "Failed", "reason": "Terminated", "initContainerStatuses": WAITING},
            "",
            id="shut down while it was prepared",
        ),
        pytest.param({"phase": "Running", "reason": "NodeLost"}, "", id="its node is lost"),
        pytest.param({"phase": "Failed"}, "", id="collected from a node that is gone"),
        pytest.param({"phase": "Failed", "containerStatuses": RUNNING}, "", id="it failed itself"),
    ],
)
def test_a_kubelet_that_refused_a_pod_is_told_from_one_that_ended_it(
    status: dict[str, Any], why: str
) -> None:
    assert read_pod(spec={"nodeName": "node-1"}, status=status).rejected == why


@pytest.mark.parametrize(
    ("node_name", "text", "rank"),
    [
        ("node-1", "0", 0),
        ("node-1", "17", 17),
        ("", "17", None),
        ("node-1", "-1", None),
        ("node-1", "1.5", None),
        ("node-1", "²", None),
        ("node-1", "", None),
        ("node-1", "9" * 5000, None),
    ],
)
def test_a_bound_member_says_its_rank(node_name: str, text: str, rank: int | None) -> None:
    made = read_pod({"annotations": {"enbloc.dev/rank": text}}, {"nodeName": node_name})

    assert made.rank == rank


def test_a_member_without_a_rank_has_none() -> None:
    assert read_pod(spec={"nodeName": "node-1"}).rank is None


@pytest.mark.parametrize(
    ("gates", "condition", "gate", "running"),
    [
        pytest.param(None, "True", False, None, id="no gate"),
        pytest.param(["other"], "True", False, None, id="a gate of others"),
        pytest.param(["other", "enbloc.dev/GangRunning"], None, True, None, id="not said yet"),
        pytest.param(["enbloc.dev/GangRunning"], "True", True, True, id="it runs"),
        pytest.param(["enbloc.dev/GangRunning"], "False", True, False, id="it does not"),
    ],
)
def test_the_gate_that_waits_for_the_whole_gang(
    gates: list[str] | None, condition: str | None, *, gate: bool, running: bool | None
) -> None:
    conditions = [{"type": "Ready", "status": "False"}]
    if condition:
        conditions.append({"type": "enbloc.dev/GangRunning", "status": condition})
    made = read_pod(
        spec={"readinessGates": gates and [{"conditionType": each} for each in gates]},
        status={"conditions": conditions},
    )

    assert (made.gang_gate, made.gang_running) == (gate, running)


@pytest.mark.parametrize(
    ("finalizer", "phase", "counts"),
    [
        pytest.param("batch.kubernetes.io/job-tracking", "Succeeded", Phase.SUCCEEDED, id="a Job"),
        pytest.param("foregroundDeletion", "Succeeded", Phase.FAILED, id="another"),
        pytest.param("batch.kubernetes.io/job-tracking", "Failed", Phase.FAILED, id="failure"),
    ],
)
def test_a_deleted_pod_succeeds_if_its_job_has_yet_to_count_that(
    finalizer: str, phase: str, counts: Phase
) -> None:
    metadata = {"deletionTimestamp": "2026-01-01T00:00:10Z", "finalizers": [finalizer]}
    assert read_pod(metadata, status={"phase": "Running"}).deleting
    ended = read_pod(metadata, status={"phase": phase})
    assert ended.phase_after(Phase.RUNNING) is counts
    assert not ended.live


def test_a_pod_that_another_scheduler_nominated() -> None:
    assert read_pod(status={"nominatedNodeName": "node-1"}).nominated == "node-1"
    assert read_pod(status={"nominatedNodeName": None}).nominated == ""


@pytest.mark.parametrize(
    ("status", "reason", "deleting", "preempted"),
    [
        pytest.param("True", "PreemptionByScheduler", False, True, id="chosen"),
        pytest.param("True", "PreemptionByScheduler", True, True, id="deleted"),
        pytest.param("True", "EvictionByEvictionAPI", True, True, id="evicted"),
        pytest.param("True", "EvictionByEvictionAPI", False, False, id="whose eviction failed"),
        pytest.param("True", "DeletionByTaintManager", True, False, id="of a lost node"),
        pytest.param("False", "PreemptionByScheduler", False, False, id="chosen once"),
    ],
)
def test_a_pod_that_gives_way(status: str, reason: str, deleting: bool, preempted: bool) -> None:
    """The API server replaces the reason that we gave when it evicts."""
    told = {"type": "DisruptionTarget", "status": status, "reason": reason}
    metadata = {"deletionTimestamp": "2026-01-01T00:00:10Z"} if deleting else {}
    assert read_pod(metadata, status={"conditions": [told]}).preempted is preempted


@pytest.mark.parametrize(
    ("labels", "owner"),
    [
        pytest.param({}, "", id="no JobSet"),
        pytest.param({"jobset.sigs.k8s.io/restart-attempt": "3"}, "", id="attempt alone"),
        pytest.param({"jobset.sigs.k8s.io/jobset-uid": "js"}, "js/0", id="first attempt"),
        pytest.param(
            {"jobset.sigs.k8s.io/jobset-uid": "js", "jobset.sigs.k8s.io/restart-attempt": "3"},
            "js/3",
            id="fourth attempt",
        ),
    ],
)
def test_jobset_s_labels_are_the_owner(labels: dict[str, str], owner: str) -> None:
    made = read_pod({"labels": labels})

    assert made.restart == owner
    assert made.owner_key == owner


@pytest.mark.parametrize(
    ("labels", "annotations", "name", "conflict"),
    [
        pytest.param({KEY: "a"}, {}, "a", "", id="by label"),
        pytest.param({}, {KEY: "a"}, "a", "", id="by annotation"),
        pytest.param({KEY: "a"}, {KEY: "a"}, "a", "", id="by both, alike"),
        pytest.param({KEY: "b"}, {KEY: "a"}, "a", "b", id="the annotation wins, and it is told"),
        pytest.param({KEY: ""}, {KEY: ""}, None, "", id="an empty name is none"),
        pytest.param({"other": "a"}, {}, None, "", id="no key of ours"),
    ],
)
def test_a_pod_joins_a_group_of_its_namespace(
    labels: dict[str, str], annotations: dict[str, str], name: str | None, conflict: str
) -> None:
    made = read_pod({"labels": labels, "annotations": annotations})

    assert made.group == (GroupKey("n", name) if name else None)
    assert made.group_conflict == conflict


@pytest.mark.parametrize(
    ("labels", "annotations", "role"),
    [
        ({"enbloc.dev/role": "worker"}, {}, "worker"),
        ({"enbloc.dev/role": "worker"}, {"enbloc.dev/role": "driver"}, "driver"),
        ({}, {}, ""),
    ],
)
def test_a_member_says_its_role(
    labels: dict[str, str], annotations: dict[str, str], role: str
) -> None:
    made = read_pod({"labels": {KEY: "g", **labels}, "annotations": annotations})

    assert made.role == role


def test_members_share_what_they_have_in_common() -> None:
    owner = [{"kind": "Job", "name": "j", "uid": "j1", "controller": True}]
    labels = {KEY: "g", "jobset.sigs.k8s.io/jobset-uid": "js"}
    first, second = (
        read_pod({"name": name, "labels": labels, "ownerReferences": owner}) for name in ("a", "b")
    )

    assert first.group is second.group
    assert first.owner is second.owner
    assert first.restart is second.restart


def test_labels_are_in_key_order_and_pods_share_them() -> None:
    first, second = (
        read_pod({"name": name, "labels": {"z": "1", "app": "web", "name": name}})
        for name in ("a", "b")
    )

    assert first.labels == (("app", "web"), ("name", "a"), ("z", "1"))
    assert first.labels[0] is second.labels[0]
    assert first.labels[1] != second.labels[1]
    assert first.spec is second.spec


def test_only_annotations_that_somebody_asked_for_are_kept() -> None:
    metadata = {"annotations": {"b.io/x": "1", "a.io/y": "2", "a.io": "3", "c.io/z": "4"}}
    keep = ("a.io/", "b.io/")
    document = {"metadata": metadata, "spec": {}}
    a_pod = msgspec.convert(document, PodObject)
    a_node = msgspec.convert(document, NodeObject)
    a_group = msgspec.convert(document, PodGroupObject)

    for made in (pod(a_pod, keep), node(a_node, keep), group(a_group, keep)):
        assert made.annotations == (("a.io/y", "2"), ("b.io/x", "1"))
    for made in (pod(a_pod), node(a_node), group(a_group)):
        assert made.annotations == ()


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({"resourceVersion": "0x7"}, 'metadata.resourceVersion: "0x7" is not a 64-bit integer'),
        (
            {"creationTimestamp": "yesterday"},
            'metadata.creationTimestamp: "yesterday" is not an RFC',
        ),
        ({"creationTimestamp": "2026-01-01T00:00:00"}, "metadata.creationTimestamp:"),
    ],
)
def test_a_pod_with_odd_metadata_is_read_and_told(metadata: dict[str, str], problem: str) -> None:
    made = read_pod(metadata)

    assert made.problem.startswith(problem)
    assert (made.created, made.resource_version) == (0.0, 0)


texts = st.text(max_size=6)
int64s = st.integers(-(2**63), 2**63 - 1)
maybe_texts = st.none() | st.dictionaries(texts, texts, max_size=2)
quantities = st.none() | st.dictionaries(texts, texts | int64s | st.floats(), max_size=2)


@given(texts, maybe_texts, maybe_texts, quantities, texts, st.none() | st.integers(-3, 3), texts)
def test_reading_is_total(
    text: str,
    labels: dict[str, str] | None,
    annotations: dict[str, str] | None,
    amounts: dict[str, Any] | None,
    word: str,
    number: int | None,
    other: str,
) -> None:
    metadata = {"name": text, "namespace": other, "resourceVersion": text, "labels": labels,
                "annotations": annotations, "creationTimestamp": other}  # fmt: skip
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": word}]
    documents: list[tuple[Any, Any, dict[str, Any]]] = [
        (pod, PodObject, {
            "spec": {"containers": [{"resources": {"requests": amounts}}], "overhead": amounts,
                     "tolerations": [{"operator": word, "effect": other}], "priority": number},
            "status": {"phase": word, "reason": other, "conditions": conditions},
        }),
        (node, NodeObject, {
            "spec": {"taints": [{"key": word, "effect": other}]},
            "status": {"allocatable": amounts, "conditions": conditions},
        }),
        (group, PodGroupObject, {
            "spec": {"minMember": number, "minResources": amounts, "scheduleTimeoutSeconds": number,
                     "roles": [{"name": word, "minMember": number}, {"name": other}],
                     "onIncomplete": word},
            "status": {"startedTime": word, "succeeded": number},
        }),
    ]  # fmt: skip
    for read, kind, document in documents:
        made = read(msgspec.convert({"metadata": metadata, **document}, kind))
        assert isinstance(made.problem, str)


@pytest.mark.parametrize(
    "spec", [{"priority": 2**31}, {"overhead": {"cpu": 2**63}}, {"priority": "high"}]
)
def test_numbers_that_the_api_does_not_allow_are_refused_when_decoding(
    spec: dict[str, Any],
) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.spec\.(priority|overhead)"):
        read_pod(spec=spec)


# ── what preemption reads ────────────────────────────────────────────────────────────────────


def test_a_pod_says_its_class_and_whether_it_is_static() -> None:
    made = read_pod(
        {"annotations": {"kubernetes.io/config.mirror": "1"}},
        {"priorityClassName": "system-node-critical"},
    )
    assert (made.priority_class, made.mirror) == ("system-node-critical", True)
    other = read_pod()
    assert (other.priority_class, other.mirror) == ("", False)


@pytest.mark.parametrize(
    ("annotations", "at"),
    [
        pytest.param({}, None, id="never"),
        pytest.param({"enbloc.dev/checkpointed-at": "1970-01-01T00:01:00Z"}, 60.0, id="ours"),
        pytest.param(
            {"volcano.sh/last-checkpoint-time": "1970-01-01T00:01:00Z"}, 60.0, id="theirs"
        ),
        pytest.param(
            {
                "enbloc.dev/checkpointed-at": "1970-01-01T00:01:00+00:00",
                "volcano.sh/last-checkpoint-time": "now",
            },
            60.0,
            id="both",
        ),
        pytest.param({"enbloc.dev/checkpointed-at": "now"}, math.inf, id="no time"),
        pytest.param({"enbloc.dev/checkpointed-at": ""}, math.inf, id="nothing"),
        pytest.param({"enbloc.dev/checkpointed-at": "9" * 100_000}, math.inf, id="very long"),
        pytest.param({"enbloc.dev/checkpointed-at": "1e400"}, math.inf, id="beyond all numbers"),
        pytest.param({"enbloc.dev/checkpointed-at": "1969-12-31T00:00:00Z"}, math.inf, id="early"),
    ],
)
def test_a_pod_and_a_podgroup_say_when_their_work_was_saved_last(
    annotations: dict[str, str], at: float | None
) -> None:
    made = read_pod({"annotations": annotations})
    assert made.checkpointed == at
    assert made.problem == ""
    document = {"metadata": {**BOUND, "annotations": annotations}}
    read = msgspec.json.decode(msgspec.json.encode(document), type=PodGroupObject)
    assert group(read).checkpointed == at


@pytest.mark.parametrize(
    ("annotations", "count"),
    [
        ({}, 0),
        ({"kueue.x-k8s.io/pod-group-total-count": "3"}, 3),
        ({"kueue.x-k8s.io/pod-group-total-count": "-3"}, 0),
        ({"kueue.x-k8s.io/pod-group-total-count": "9" * 100_000}, 0),
        (
            {
                "kueue.x-k8s.io/pod-group-total-count": "3",
                "kueue.x-k8s.io/pod-group-fast-admission": "true",
            },
            0,
        ),
    ],
)
def test_a_pod_says_how_many_kueue_admits_with_it(annotations: dict[str, str], count: int) -> None:
    made = read_pod({"annotations": annotations})
    assert (made.admitted_with, made.problem) == (count, "")
