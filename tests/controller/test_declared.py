# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The PodGroups that metadata of pods declares, as their users write it."""

import json
from typing import Any

import msgspec
import pytest

from enbloc.controller.sources.declared import LONGEST, declaration
from enbloc.controller.sources.declaring_pods import DeclaringPods
from enbloc.controller.sources.source import Derived, RefusedGroup
from enbloc.model.groups import GroupKey
from enbloc.model.names import EventReason
from enbloc.model.text import MESSAGE_LIMIT
from enbloc.wire.objects import PodObject

OURS = "enbloc.dev/min-member"
TOPOLOGY = "enbloc.dev/topology"
KOORDINATOR = "gang.scheduling.koordinator.sh/"
YUNIKORN = "yunikorn.apache.org/"
KUEUE = "kueue.x-k8s.io/"
#: Whichever Topology of Kueue's has the levels.
ANY = {"name": f"{KUEUE}*"}
G = GroupKey("n", "g")


def task_group(name: str, minimum: int, **resources: Any) -> dict[str, Any]:
    return {"name": name, "minMember": minimum, "minResource": resources}


def yunikorn(*groups: Any, mine: str = "worker", policy: str = "") -> dict[str, str]:
    said = {f"{YUNIKORN}task-group-name": mine, f"{YUNIKORN}task-groups": json.dumps(groups)}
    return said | ({f"{YUNIKORN}schedulingPolicyParameters": policy} if policy else {})


@pytest.mark.parametrize(
    ("said", "spec"),
    [
        ({OURS: "8"}, {"minMember": 8}),
        ({"pod-group.scheduling.sigs.k8s.io/min-available": "3"}, {"minMember": 3}),
        ({"scheduling.volcano.sh/group-min-member": "4"}, {"minMember": 4}),
        (
            {OURS: "2", f"{TOPOLOGY}-required": "rack"},
            {"minMember": 2, "topology": {"required": "rack"}},
        ),
        (
            {
                OURS: "2",
                TOPOLOGY: "default",
                f"{TOPOLOGY}-required": "block",
                f"{TOPOLOGY}-preferred": "rack",
            },
            {
                "minMember": 2,
                "topology": {"name": "default", "required": "block", "preferred": "rack"},
            },
        ),
        (
            {
                f"{KOORDINATOR}min-available": "2",
                f"{KOORDINATOR}total-number": "2",
                f"{KOORDINATOR}mode": "Strict",
                f"{KOORDINATOR}waiting-time": "1m30.5s",
                f"{KOORDINATOR}match-policy": "once-satisfied",
            },
            {"minMember": 2, "scheduleTimeoutSeconds": 91},
        ),
        (
            yunikorn(
                task_group("head", 1, cpu="500m", memory="1Gi"),
                task_group("worker", 3, cpu=1, memory="1Gi"),
                policy="placeholderTimeoutInSeconds=30",
            ),
            {
                "minMember": 4,
                "roles": [{"name": "head", "minMember": 1}, {"name": "worker", "minMember": 3}],
                "minResources": {"cpu": "3500m", "memory": "4Gi"},
                "scheduleTimeoutSeconds": 30,
            },
        ),
    ],
)
@pytest.mark.parametrize("kind", ["annotation", "label"])
def test_a_group_is_declared_in_the_words_of_each_project(
    kind: str, said: dict[str, str], spec: dict[str, Any]
) -> None:
    found = declaration({}, said) if kind == "annotation" else declaration(said, {})
    assert found == Derived(spec)


def test_sparks_driver_starts_alone_and_room_is_kept_for_its_executors() -> None:
    said = yunikorn(
        task_group("spark-driver", 1, cpu="1"),
        task_group("spark-executor", 10, cpu="2"),
        mine="spark-driver",
    )
    found = declaration({"spark-role": "driver"}, said)
    assert found == Derived(
        {
            "minMember": 1,
            "roles": [
                {"name": "spark-driver", "minMember": 1},
                {"name": "spark-executor", "minMember": 0},
            ],
            "minResources": {"cpu": "21"},
        }
    )


@pytest.mark.parametrize("mine", ["headgroup", "workers", "submitter"])
def test_a_rayjobs_cluster_starts_without_its_submitter_and_room_is_kept_for_it(mine: str) -> None:
    """KubeRay writes the same list into every pod, and makes the submitter for a ready cluster."""
    cluster = task_group("headgroup", 1, cpu="1"), task_group("workers", 2, cpu="2")
    found = declaration({}, yunikorn(*cluster, task_group("submitter", 1, cpu="500m"), mine=mine))
    assert found == Derived(
        {
            "minMember": 3,
            "roles": [
                {"name": "headgroup", "minMember": 1},
                {"name": "workers", "minMember": 2},
                {"name": "submitter", "minMember": 0},
            ],
            "minResources": {"cpu": "5500m"},
        }
    )


def test_a_submitter_without_a_ray_cluster_is_a_task_group_like_any_other() -> None:
    said = yunikorn(task_group("worker", 2), task_group("submitter", 1))
    found = declaration({}, said)
    assert isinstance(found, Derived)
    assert found.spec["minMember"] == 3


@pytest.mark.parametrize(
    "said",
    [
        {},
        {f"{KOORDINATOR}name": "g"},
        {f"{YUNIKORN}task-group-name": "worker"},
        {f"{YUNIKORN}task-groups": "[]"},
        {f"{TOPOLOGY}-required": "rack"},
    ],
)
def test_what_has_no_minimum_or_no_task_group_declares_nothing(said: dict[str, str]) -> None:
    assert declaration({}, said) is None


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({OURS: "0"}, f'annotation {OURS}: "0" is not a whole number between 1 and 100000'),
        ({OURS: "-1"}, '"-1" is not a whole number'),
        ({OURS: "eight"}, '"eight" is not a whole number'),
        ({OURS: "9" * 400}, "is not a whole number"),
        (
            {OURS: "2", f"{TOPOLOGY}-required": "a rack"},
            f'annotation {TOPOLOGY}-required: must be a name such as "example.com/name"',
        ),
        ({OURS: "2", f"{TOPOLOGY}-preferred": ""}, f"annotation {TOPOLOGY}-preferred: must be"),
        (
            {OURS: "2", TOPOLOGY: "My Topology", f"{TOPOLOGY}-required": "rack"},
            f'annotation {TOPOLOGY}: "My Topology" is not the name of an object',
        ),
        (
            {OURS: "2", TOPOLOGY: "default"},
            f"{TOPOLOGY} names a Topology, and no level of it: add {TOPOLOGY}-required or",
        ),
        (
            {f"{KOORDINATOR}min-available": "2", f"{KOORDINATOR}waiting-time": "soon"},
            'waiting-time: "soon" is not a duration; write one such as "60s"',
        ),
        (
            {f"{YUNIKORN}task-group-name": "worker", f"{YUNIKORN}task-groups": '[{"name": '},
            f"annotation {YUNIKORN}task-groups: ",
        ),
        (
            {f"{YUNIKORN}task-group-name": "worker", f"{YUNIKORN}task-groups": "[" * 20_000},
            "write a JSON list",
        ),
        (yunikorn(task_group("worker", 1, cpu="1x")), '[0].minResource[cpu]: "1x" is not a quant'),
        (yunikorn(task_group("worker", -1)), "[0].minMember: -1 is not between"),
        (yunikorn(task_group("Worker_1", 1)), '[0].name: "Worker_1" is not a name'),
        (yunikorn(task_group("w", 1), task_group("w", 2)), '"w" is listed 2 times'),
        (yunikorn(), "the list is empty"),
        (yunikorn(*[task_group(f"w{i}", 1) for i in range(17)]), "17 task groups; 16 are"),
        (
            {f"{YUNIKORN}task-group-name": "w", f"{YUNIKORN}task-groups": " " * (LONGEST + 1)},
            f"task-groups: it has {LONGEST + 1} characters",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_key_and_the_fix(
    said: dict[str, str], problem: str
) -> None:
    found = declaration({}, said)
    assert isinstance(found, RefusedGroup)
    assert problem in found.problem


@pytest.mark.parametrize(
    ("labels", "annotations", "note"),
    [
        ({OURS: "3"}, {OURS: "2"}, f'label {OURS} is "3" and annotation {OURS} is "2", which'),
        ({}, {OURS: "2", f"{KOORDINATOR}min-available": "4"}, "make them the same, or remove one"),
        (
            {},
            {f"{KOORDINATOR}min-available": "2", f"{KOORDINATOR}total-number": "4"},
            "total-number is ignored",
        ),
        (
            {},
            {f"{KOORDINATOR}min-available": "2", f"{KOORDINATOR}mode": "NonStrict"},
            "mode: NonStrict is ignored",
        ),
        (
            {},
            {f"{KOORDINATOR}min-available": "2", f"{KOORDINATOR}groups": '["n/a","n/b"]'},
            "groups is ignored: each gang starts by itself",
        ),
        (
            {},
            {f"{KOORDINATOR}min-available": "2", f"{KOORDINATOR}match-policy": "only-waiting"},
            'match-policy: "only-waiting" is ignored',
        ),
        (
            {},
            {OURS: "2", f"{KUEUE}podset-slice-required-topology": "x/rack"},
            "podset-slice-required-topology is ignored: ",
        ),
        (
            {},
            yunikorn(task_group("worker", 2), policy="gangSchedulingStyle=Soft"),
            "gangSchedulingStyle=Soft is ignored",
        ),
        (
            {},
            yunikorn(task_group("worker", 2), policy="placeholderTimeoutInSeconds=soon"),
            'placeholderTimeoutInSeconds="soon" is ignored; write whole seconds',
        ),
    ],
)
def test_what_is_not_followed_is_noted(
    labels: dict[str, str], annotations: dict[str, str], note: str
) -> None:
    found = declaration(labels, annotations)
    assert isinstance(found, Derived)
    assert found.spec["minMember"] == 2
    assert note in found.ignored


@pytest.mark.parametrize(
    ("said", "topology"),
    [
        ({f"{KUEUE}podset-required-topology": "x/rack"}, ANY | {"required": "x/rack"}),
        ({f"{KUEUE}podset-preferred-topology": "x/rack"}, ANY | {"preferred": "x/rack"}),
        (
            {f"{KUEUE}podset-slice-required-topology": "x/rack", f"{KUEUE}podset-slice-size": "2"},
            ANY | {"slices": [{"size": 2, "required": "x/rack"}]},
        ),
        ({"enbloc.dev/topology-slices": "2@rack"}, {"slices": [{"size": 2, "required": "rack"}]}),
        ({f"{KUEUE}podset-unconstrained-topology": "true"}, None),
        ({f"{KUEUE}podset-required-topology": "x/rack", f"{KUEUE}workload": "w"}, None),
        (
            {
                f"{KUEUE}podset-required-topology": "x/rack",
                "enbloc.dev/topology-preferred": "x/block",
            },
            {"preferred": "x/block"},
        ),
    ],
    ids=[
        "required",
        "preferred",
        "slices",
        "our slices",
        "unconstrained",
        "placed by Kueue",
        "ours wins",
    ],
)
def test_a_pod_of_kueues_declares_its_topology_unless_kueue_places_it(
    said: dict[str, str], topology: dict[str, Any] | None
) -> None:
    found = declaration({}, {OURS: "2", **said})
    expected = {"minMember": 2} | ({"topology": topology} if topology else {})
    assert found == Derived(expected)


def test_a_pod_with_the_label_of_a_group_that_kueue_manages_declares_no_topology() -> None:
    labels = {f"{KUEUE}managed": "true"}
    said = {OURS: "2", f"{KUEUE}podset-required-topology": "x/rack"}
    assert declaration(labels, said) == Derived({"minMember": 2})


# ── the pods of a group together ─────────────────────────────────────────────────────────────


def pod(
    uid: str,
    minimum: str = "2",
    *,
    near: str = "",
    owner: str = "",
    kind: str = "Job",
    phase: str = "Pending",
    group: str = "g",
) -> PodObject:
    controller = {"kind": kind, "apiVersion": "x/v1", "name": owner, "uid": owner}
    body = {
        "metadata": {
            "name": uid,
            "namespace": "n",
            "uid": uid,
            "annotations": {"enbloc.dev/pod-group": group}
            | ({OURS: minimum} if minimum else {})
            | ({f"{TOPOLOGY}-required": near} if near else {}),
            "ownerReferences": [{**controller, "controller": True}] if owner else [],
        },
        "spec": {"schedulerName": "ours"},
        "status": {"phase": phase},
    }
    return msgspec.convert(body, PodObject)


@pytest.fixture
def pods() -> DeclaringPods:
    return DeclaringPods(["ours"], lambda _: None)


def test_the_controller_that_all_pods_have_owns_the_podgroup(pods: DeclaringPods) -> None:
    pods.put(pod("a", owner="job"))
    pods.put(pod("b", owner="job"))
    wanted = pods.outcome(G).wanted
    assert wanted is not None
    assert [owner["uid"] for owner in wanted.owners] == ["job"]
    pods.put(pod("c", owner="another"))
    wanted = pods.outcome(G).wanted
    assert wanted is not None
    assert wanted.owners == ()


def test_a_job_of_the_controller_that_all_others_have_takes_nothing_from_it(
    pods: DeclaringPods,
) -> None:
    """RayJob's submitter comes once the cluster runs, and MPI's launcher after the workers."""
    pods.put(pod("a", owner="cluster", kind="RayCluster"))
    pods.put(pod("b", owner="submitter"))
    wanted = pods.outcome(G).wanted
    assert wanted is not None
    assert [owner["uid"] for owner in wanted.owners] == ["cluster"]


def test_of_different_minimums_the_largest_counts_and_the_others_are_told(
    pods: DeclaringPods,
) -> None:
    for uid, minimum in (("a", "2"), ("b", "2"), ("c", "3")):
        pods.put(pod(uid, minimum))
    found = pods.outcome(G)
    assert found.wanted is not None
    assert found.wanted.spec == {"minMember": 3}
    [(about, reason, note)] = found.words
    assert (about.name, reason) == ("a", EventReason.UNSUPPORTED_FIELD)
    assert "declares a minimum of 2, another member of its group one of 3" in note


def test_the_topology_of_one_member_is_that_of_its_group(pods: DeclaringPods) -> None:
    pods.put(pod("a", "3"))
    pods.put(pod("b", "2", near="rack"))
    found = pods.outcome(G)
    assert found.wanted is not None
    assert found.wanted.spec == {"minMember": 3, "topology": {"required": "rack"}}
    assert not [note for _, _, note in found.words if "topology" in note]


def test_of_different_topologies_that_beside_the_largest_minimum_counts_and_others_are_told(
    pods: DeclaringPods,
) -> None:
    pods.put(pod("a", "2", near="zone"))
    pods.put(pod("b", "3", near="rack"))
    found = pods.outcome(G)
    assert found.wanted is not None
    assert found.wanted.spec == {"minMember": 3, "topology": {"required": "rack"}}
    [(about, reason, note)] = found.words
    assert (about.name, reason) == ("a", EventReason.UNSUPPORTED_FIELD)
    assert "declares another topology than a member of its group" in note


def test_a_pod_that_has_ended_says_nothing_while_another_is_live(pods: DeclaringPods) -> None:
    pods.put(pod("a", "5", owner="old", phase="Failed"))
    wanted = pods.outcome(G).wanted
    assert wanted is not None
    assert wanted.spec == {"minMember": 5}
    pods.put(pod("b", "2", owner="new"))
    wanted = pods.outcome(G).wanted
    assert wanted is not None
    assert (wanted.spec, wanted.owners[0]["uid"]) == ({"minMember": 2}, "new")


def test_a_pod_that_is_deleted_or_says_nothing_more_counts_no_longer() -> None:
    touched = list[GroupKey]()
    pods = DeclaringPods(["ours"], touched.append)
    pods.put(pod("a"))
    pods.put(pod("b"))
    pods.put(pod("b"))
    pods.put(pod("b", minimum=""))
    pods.remove("a")
    pods.remove("a")
    assert touched == [G, G, G, G]
    assert pods.outcome(G).wanted is None
    assert not pods.groups


def test_a_pod_that_names_another_group_leaves_the_first(pods: DeclaringPods) -> None:
    pods.put(pod("a"))
    pods.put(pod("a", group="h"))
    assert pods.groups == (GroupKey("n", "h"),)


def test_pods_of_other_schedulers_declare_nothing() -> None:
    pods = DeclaringPods(["theirs"], lambda _: None)
    pods.put(pod("a"))
    assert not pods.groups


def test_a_group_that_nobody_declares_in_words_that_can_be_read_is_not_made(
    pods: DeclaringPods,
) -> None:
    pods.put(pod("a", "none"))
    found = pods.outcome(G)
    assert found.wanted is None
    assert [reason for _, reason, _ in found.words] == [EventReason.INVALID_SPEC]


def test_what_is_ignored_of_an_annotation_takes_less_than_the_annotation() -> None:
    """Or the pods of one tenant fill the memory of the controller."""
    found = declaration({}, yunikorn(task_group("worker", 1), policy="a " * (LONGEST // 2)))
    assert isinstance(found, Derived)
    assert 0 < len(found.ignored) <= MESSAGE_LIMIT
