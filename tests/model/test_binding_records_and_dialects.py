# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Binding records survive the way through an annotation; dialects agree or are told apart."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.binding_record import BindingRecord, binding_record, read_binding_record
from enbloc.model.dialects import DIALECTS, NATIVE_FIELD, Dialect, Membership, membership, readable
from enbloc.model.groups import GroupKey
from enbloc.model.names import (
    PLAN_KEY,
    RANK_KEY,
    SIZE_KEY,
    TOPOLOGY_KEY,
    TOPOLOGY_PREFERRED_KEY,
    TOPOLOGY_REQUIRED_KEY,
    TOPOLOGY_SLICES_KEY,
)
from enbloc.model.names import POD_GROUP_KEY as OURS
from enbloc.wire.codec import PodObject, pod

THEIRS = "scheduling.x-k8s.io/pod-group"


@given(st.text(max_size=40), st.text(max_size=40), st.integers(1, 10**6), st.floats(0, 2e9))
def test_a_binding_record_reads_back(
    plan: str, run_name: str, floor: int, queue_time: float
) -> None:
    text = binding_record(plan, run_name, floor, queue_time)

    assert len(text.encode()) <= 1024
    assert read_binding_record(text) == BindingRecord(plan, run_name, floor, queue_time)


def test_a_binding_record_is_compact() -> None:
    text = binding_record("p-1", "job", 8, 1.5)

    assert text == '{"plan":"p-1","run":"job","floor":8,"queueTime":1.5,"started":false}'


@pytest.mark.parametrize("text", [
    '{"plan":"p","x":' + "[" * 500 + "]" * 500 + "}", "[" * 1024, '{"a":' * 6000, "\ud800", "\0",
    '{"plan":"\ud800"}', '{"plan":"p","floor":' + "9" * 900 + "}", '{"plan":"p","queueTime":NaN}',
    '{"plan":"p","x":' + '{"a":' * 150 + "1" + "}" * 150 + "}" + " " * 100_000,
])  # fmt: skip
def test_what_no_scheduler_of_ours_would_write_is_no_record(text: str) -> None:
    def deep(levels: int) -> BindingRecord | None:
        return deep(levels - 1) if levels else read_binding_record(text)

    # As deep in calls as a step of the engine is at most: JSON may nest the less there.
    assert deep(700) is None


def test_a_binding_record_that_would_be_too_large_is_left_out() -> None:
    assert binding_record("p", "x" * 2000, 8, 0.0) == ""


LONG = "x" * 200_000


@pytest.mark.parametrize(
    "said",
    [{"plan": LONG}, {"pod-group": LONG}, {"pod-group": "g", "role": LONG}, {"pod-group": "/p"}],
)
def test_a_text_that_nothing_of_ours_can_be_is_told_of_and_not_kept(said: dict[str, str]) -> None:
    annotations = {f"enbloc.dev/{key}": text for key, text in said.items()}
    metadata = {"name": "p", "namespace": "ns", "uid": "u", "annotations": annotations}
    made = pod(msgspec.convert({"metadata": metadata, "spec": {"nodeName": "n"}}, PodObject))
    assert (made.binding_record, made.role) == ("", "")
    assert made.group == (GroupKey("ns", "g") if said.get("pod-group") == "g" else None)
    assert bool(made.problem) is ("plan" not in said)
    assert len(made.problem) < 200


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "{}", '{"plan":1}', '{"plan":"a","floor":"b"}'),
        *('{"plan":"a","floor":0}', '{"plan":"a","floor":-3}', f'{{"plan":"a","floor":{2**31}}}'),
        *('{"plan":"a","queueTime":1e300}', '{"plan":"a","queueTime":-1}'),
        f'{{"plan":"a","run":"{"x" * 254}"}}',
    ],
)
def test_what_is_no_binding_record_is_none(text: str) -> None:
    assert read_binding_record(text) is None


def test_a_newer_scheduler_may_write_more() -> None:
    assert read_binding_record('{"plan":"a","rank":3}') == BindingRecord("a")


@pytest.mark.parametrize(
    ("labels", "annotations", "expected"),
    [
        pytest.param({THEIRS: "a"}, {}, Membership("a", key=THEIRS), id="another project's key"),
        pytest.param({THEIRS: "a"}, {OURS: "a"}, Membership("a"), id="both name the same group"),
        pytest.param(
            {THEIRS: "b"},
            {OURS: "a"},
            Membership("a", problem=f'{OURS} names group "a" and {THEIRS} names "b"; '
                                    "remove one of them"),
            id="they name different groups",
        ),
    ],
)  # fmt: skip
def test_two_dialects_agree_or_are_told_apart(
    labels: dict[str, str], annotations: dict[str, str], expected: Membership
) -> None:
    assert membership(labels, annotations) == expected


@pytest.mark.parametrize(
    "named",
    [
        Membership("pg-app-0-4f5c", key="pod-group-name"),
        Membership("grove-app-0", "worker", key="pod-group-name"),
        Membership("mine", key=OURS),
        Membership("native", key=NATIVE_FIELD),
    ],
    ids=lambda each: f"{each.key}, role {each.role or 'none'}",
)
def test_groves_label_yields_to_every_other_name(named: Membership) -> None:
    """Semantics §6.5: Grove and KAI write both keys into the same pods, with different names."""
    labels = {"grove.io/podgang": "app-0", "grove.io/podclique": "app-0-worker"}
    if named.role:
        labels["kai.scheduler/subgroup-name"] = named.role
    if named.key == NATIVE_FIELD:
        assert membership(labels, {}, native=named.group) == named
    else:
        assert membership(labels, {named.key: named.group}) == named


def test_groves_label_adds_the_role_where_another_key_names_the_same_group() -> None:
    labels = {"grove.io/podgang": "app-0", "grove.io/podclique": "app-0-worker"}
    key = "scheduling.k8s.io/group-name"
    assert membership(labels, {key: "app-0"}) == Membership("app-0", "app-0-worker", key=key)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: each.project)
@pytest.mark.parametrize("kind", ["annotation", "label"])
def test_every_key_of_every_dialect_names_a_group_and_a_role(kind: str, dialect: Dialect) -> None:
    for key in dialect.groups:
        pairs = {key: "train", **dict.fromkeys(dialect.roles, "worker")}
        said = membership(*(({}, pairs) if kind == "annotation" else (pairs, {})))
        assert said == Membership("train", "worker" if dialect.roles else "", key=key)


@pytest.mark.parametrize(
    ("part", "role"),
    [("3", "worker-3"), ("07", "worker-7"), ("x", "worker"), ("", "worker"), ("1" * 9, "worker")],
)
def test_a_partition_of_a_task_of_volcano_is_a_role_of_its_own(part: str, role: str) -> None:
    labels = {"volcano.sh/task-spec": "worker", "volcano.sh/partition-id": part}
    assert membership(labels, {"scheduling.k8s.io/group-name": "g"}).role == role
    long = {**labels, "volcano.sh/task-spec": "w" * 63}
    assert membership(long, {"scheduling.k8s.io/group-name": "g"}).role == "w" * 63


def test_a_label_that_any_project_may_use_names_a_group_only_beside_another_key() -> None:
    assert membership({"applicationId": "app-1"}, {}) == Membership()
    assert membership({"spark-app-selector": "spark-4f5c"}, {}) == Membership()


@pytest.mark.parametrize("role", ["spark-driver", "spark-executor"])
def test_pods_that_the_spark_operator_makes_for_yunikorn_name_their_group_by_sparks_label(
    role: str,
) -> None:
    """Semantics §6.5: it writes the task group, and YuniKorn's webhook then adds no id."""
    labels = {"spark-app-selector": "spark-4f5c"}
    annotations = {"yunikorn.apache.org/task-group-name": role}
    named = Membership("spark-4f5c", role, key="spark-app-selector")
    assert membership(labels, annotations) == named
    labels["applicationId"] = "app-1"
    assert membership(labels, annotations) == Membership("app-1", role, key="applicationId")


@pytest.mark.parametrize("key", [OURS, "scheduling.k8s.io/group-name", "applicationId"])
def test_sparks_label_keeps_nobody_from_naming_another_group(key: str) -> None:
    """Semantics §6.5: Spark writes it into all of its pods."""
    labels = {"spark-app-selector": "spark-4f5c", "yunikorn.apache.org/task-group-name": "driver"}
    found = membership(labels | {key: "mine"}, {})
    assert (found.group, found.key, found.problem) == ("mine", key, "")


def test_kubernetes_own_field_names_a_group() -> None:
    assert membership({}, {}, native="g") == Membership("g", key=NATIVE_FIELD)


def test_the_role_of_our_own_key_counts_beside_any_dialect() -> None:
    said = membership({"enbloc.dev/role": "worker", OURS: "g"}, {}, native="g")
    assert said == Membership("g", "worker", key=NATIVE_FIELD)


@pytest.mark.parametrize("kind", ["annotation", "label"])
@pytest.mark.parametrize(
    "key",
    [
        "enbloc.dev/podgroup",
        "enbloc.dev/pod_group",
        "enbloc.dev/podGroup",
        "enbloc.dev/Pod-Group",
        "enbloc.dev/group",
        "enbloc.io/pod-group",
        "scheduling.enbloc.dev/pod-group",
        "enbloc-pod-group",
    ],
)
def test_a_near_miss_of_our_key_is_a_problem_that_names_the_right_one(key: str, kind: str) -> None:
    """Semantics §6.5."""
    said = membership(*(({}, {key: "g"}) if kind == "annotation" else ({key: "g"}, {})))
    assert said == Membership(problem=f"{kind} {key} is unknown; use {OURS}")


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("pod-gruop", "use enbloc.dev/pod-group"),
        ("topology_required", "use enbloc.dev/topology-required"),
        ("Topology-Slice", "use enbloc.dev/topology-slices"),
        ("min-members", "use enbloc.dev/min-member"),
        (
            "topology-rack",
            "a pod names its PodGroup with enbloc.dev/pod-group and its role with enbloc.dev/role",
        ),
    ],
)
def test_a_key_of_our_domain_that_means_nothing_is_a_problem(key: str, advice: str) -> None:
    """Semantics §6.5."""
    said = membership({f"enbloc.dev/{key}": "g"}, {})
    assert said.problem == f"label enbloc.dev/{key} is not a key of enbloc; {advice}"


@pytest.mark.parametrize(
    "key",
    [
        PLAN_KEY,
        RANK_KEY,
        SIZE_KEY,
        TOPOLOGY_KEY,
        TOPOLOGY_REQUIRED_KEY,
        TOPOLOGY_PREFERRED_KEY,
        TOPOLOGY_SLICES_KEY,
        "app",
        "sandbox.enbloc.dev/run-seconds",
        "a.com/enbloc-group",
    ],
)
def test_other_keys_are_nobodys_mistake(key: str) -> None:
    """Semantics §6.5."""
    assert membership({key: "1"}, {}) == Membership()


def test_beside_our_key_a_near_miss_of_another_is_a_hint() -> None:
    """Semantics §6.5."""
    said = membership({"enbloc.dev/Role": "ps"}, {OURS: "g"})
    assert said == Membership("g", hint="label enbloc.dev/Role is unknown; use enbloc.dev/role")


@pytest.mark.parametrize("said_by", ["annotation", "label"])
def test_what_says_something_of_the_topology_is_known_of_a_member_alone(said_by: str) -> None:
    key = "enbloc.dev/topology-preferred"
    pairs = {key: "rack", "enbloc.dev/topology": "t"}
    labels, annotations = (pairs, {}) if said_by == "label" else ({}, pairs)
    member = membership(labels, {**annotations, OURS: "g"})
    assert member == Membership("g", topology_key=key)
    assert membership(labels, annotations).topology_key == ""


def test_a_key_that_may_be_anybodys_is_a_hint() -> None:
    """Semantics §6.5."""
    said = membership({"pod-group": "g"}, {})
    assert (said.problem, OURS in said.hint) == ("", True)


@pytest.mark.parametrize(
    ("labels", "annotations", "problem"),
    [
        ({OURS: ""}, {}, f"label {OURS} is empty; write the name of a PodGroup, or remove it"),
        ({}, {OURS: ""}, f"annotation {OURS} is empty; write the name of a PodGroup, or remove it"),
        ({OURS: "g"}, {OURS: ""}, ""),
    ],
)
def test_an_empty_name_is_a_problem(
    labels: dict[str, str], annotations: dict[str, str], problem: str
) -> None:
    """Semantics §6.5."""
    assert membership(labels, annotations).problem == problem


def test_a_name_with_a_namespace_is_a_problem_that_names_the_right_value() -> None:
    """Semantics §6.5."""
    assert readable(Membership("ns/g")).problem == (
        f'{OURS} is "ns/g"; write "g" alone: a pod joins a PodGroup of its own namespace'
    )
    assert readable(Membership("a/b/")).problem == (
        f'{OURS} is "a/b/", which is not a valid PodGroup name; write the name of one that exists'
    )


@pytest.mark.parametrize("key", [OURS, "enbloc.dev/podgroup", "volcano.sh/queue-name"])
def test_a_mirror_pod_names_no_group_whatever_a_kubelet_writes(key: str) -> None:
    keys = {key: "somebody-s", "kubernetes.io/config.mirror": "5f1a"}
    assert membership({}, keys) == Membership()
    assert membership({OURS: "somebody-s"}, keys) == Membership()


@pytest.mark.parametrize(
    ("key", "lacking"),
    [
        ("enbloc.dev/min-member", "enbloc.dev/pod-group"),
        ("gang.scheduling.koordinator.sh/min-available", "gang.scheduling.koordinator.sh/name"),
        ("pod-group.scheduling.sigs.k8s.io/min-available", "scheduling.x-k8s.io/pod-group"),
        ("scheduling.volcano.sh/group-min-member", "scheduling.k8s.io/group-name"),
        ("yunikorn.apache.org/task-group-name", "yunikorn.apache.org/app-id"),
    ],
)
@pytest.mark.parametrize("kind", ["annotation", "label"])
def test_a_pod_that_says_something_of_a_group_and_names_none_is_held(
    kind: str, key: str, lacking: str
) -> None:
    said = membership(*(({}, {key: "2"}) if kind == "annotation" else ({key: "2"}, {})))
    expected = f"{kind} {key} is set, and the pod names no group; add {lacking}"
    assert said == Membership(problem=expected)
