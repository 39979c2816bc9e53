# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""To which group pods belong that name none: by workload, namespace and what they say."""

import re
from typing import Any

import msgspec
import pytest

from enbloc.model.adoptions import adopted
from enbloc.model.groups import GroupKey, Role
from enbloc.model.names import AUTO_GROUP_KEY, MIRROR_POD_KEY, POD_GROUP_KEY
from enbloc.model.pods import Pod, PodUID
from enbloc.wire import codec
from enbloc.wire.auto_groups import (
    GANGS,
    OTHERS,
    AutoGroup,
    AutoGroups,
    auto_group,
    group_name,
    kinds_of,
)
from enbloc.wire.objects import OwnerReference, PodObject

JOB = OwnerReference("batch/v1", "Job", "train", "u1", True)
JOBSET = {
    "jobset.sigs.k8s.io/jobset-name": "train",
    "jobset.sigs.k8s.io/replicatedjob-name": "workers",
}


def owner(kind: str, api: str, name: str = "train") -> OwnerReference:
    return OwnerReference(api, kind, name, "u1", True)


def training(operator: str, role: str) -> dict[str, str]:
    return {
        "training.kubeflow.org/job-name": "train",
        "training.kubeflow.org/operator-name": operator,
        "training.kubeflow.org/replica-type": role,
    }


@pytest.mark.parametrize(
    ("labels", "by", "expected"),
    [
        ({}, JOB, AutoGroup("Job", group_name("Job", "train", "u1"))),
        (
            {"statefulset.kubernetes.io/pod-name": "train-0"},
            owner("StatefulSet", "apps/v1"),
            AutoGroup("StatefulSet", group_name("StatefulSet", "train", "u1")),
        ),
        (
            JOBSET,
            JOB,
            AutoGroup(
                "JobSet",
                group_name("JobSet", "train"),
                group_name("JobSet", "train", part="workers"),
                "workers",
            ),
        ),
        (
            {
                "leaderworkerset.sigs.k8s.io/name": "train",
                "leaderworkerset.sigs.k8s.io/group-index": "3",
                "leaderworkerset.sigs.k8s.io/worker-index": "0",
            },
            owner("StatefulSet", "apps/v1"),
            AutoGroup(
                "LeaderWorkerSet", group_name("LeaderWorkerSet", "train", part="3"), "", "leader"
            ),
        ),
        (
            {"ray.io/cluster": "train", "ray.io/node-type": "worker", "ray.io/group": "gpu"},
            owner("RayCluster", "ray.io/v1"),
            AutoGroup("RayCluster", group_name("RayCluster", "train", "u1"), "", "gpu"),
        ),
        (
            {"sparkoperator.k8s.io/app-name": "pi", "spark-role": "executor"},
            owner("Pod", "v1", "pi-driver"),
            AutoGroup("SparkApplication", group_name("SparkApplication", "pi"), "", "executor"),
        ),
        (
            training("mpi-operator", "Launcher"),
            JOB,
            AutoGroup("MPIJob", group_name("MPIJob", "train"), "", "launcher"),
        ),
        (
            training("pytorchjob-controller", "Worker"),
            owner("PyTorchJob", "kubeflow.org/v1"),
            AutoGroup("PyTorchJob", group_name("PyTorchJob", "train", "u1"), "", "worker"),
        ),
        ({}, owner("ReplicaSet", "apps/v1"), None),
        ({}, owner("Job", "batch.example.com/v1"), None),
        (JOBSET, None, None),
        ({}, owner("Job", "batch/v1", "Not_A_Name"), None),
    ],
    ids=str,
)
def test_the_workload_of_a_pod_tells_its_group_and_role(
    labels: dict[str, str], by: OwnerReference | None, expected: AutoGroup | None
) -> None:
    assert auto_group(labels, by) == expected


def test_each_workload_and_each_run_of_a_job_has_a_podgroup_of_its_own() -> None:
    names = [
        group_name("Job", "a", "u1"),
        group_name("Job", "a", "u2"),
        group_name("JobSet", "a-b"),
        group_name("JobSet", "a", part="b"),
        group_name("JobSet", "a"),
        group_name("Job", "x" * 300, "u1"),
        group_name("Job", f"{'x' * 240}.-y", "u1"),
    ]
    assert len(set(names)) == len(names)
    for name in names:
        assert len(name) <= 253
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name), name


@pytest.mark.parametrize(
    ("switch", "kinds", "unknown"),
    [
        ("", frozenset(), ()),
        ("false", frozenset(), ()),
        ("true", GANGS, ()),
        ("all", GANGS | OTHERS, ()),
        ("Job.raycluster", {"Job", "RayCluster"}, ()),
        ("Job.Deployment", {"Job"}, ("Deployment",)),
        ("yes", frozenset(), ("yes",)),
    ],
)
def test_the_label_of_a_namespace_switches_kinds_on(
    switch: str, kinds: frozenset[str], unknown: tuple[str, ...]
) -> None:
    assert kinds_of(switch) == (kinds, unknown)


class Desk:
    """Pods and namespaces as a process sees them."""

    def __init__(self, *, unknown: bool = True, switch: str | None = "true") -> None:
        self.auto = AutoGroups(unknown=unknown)
        if switch is not None:
            self.namespace(switch)

    def namespace(self, switch: str) -> list[Pod]:
        return self.auto.namespace("ml", {AUTO_GROUP_KEY: switch} if switch else {})

    def see(
        self,
        labels: dict[str, str],
        name: str = "p",
        *,
        ready: bool = False,
        annotations: dict[str, str] | None = None,
        field: str = "",
    ) -> Pod:
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "t", "uid": "u1"}
        body: Any = {
            "metadata": {
                "name": name,
                "namespace": "ml",
                "uid": name,
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [{**reference, "controller": True}],
            },
            "spec": {
                "containers": [],
                **({"schedulingGroup": {"podGroupName": field}} if field else {}),
            },
        }
        found = msgspec.convert(body, PodObject)
        return self.auto.pod(found, codec.pod(found), ready=ready)


WHOLE = GroupKey("ml", group_name("JobSet", "train"))
WAVE = GroupKey("ml", group_name("JobSet", "train", part="workers"))
JOB_GROUP = GroupKey("ml", group_name("Job", "t", "u1"))


def test_a_pod_of_a_gang_by_nature_is_a_member_where_its_namespace_says_so() -> None:
    """semantics §6.6"""
    desk = Desk()
    assert (desk.see(JOBSET).group, desk.see(JOBSET).role) == (WHOLE, "workers")
    assert desk.see({}, "plain").group is None
    assert Desk(switch="").see(JOBSET).group is None


def test_a_pod_says_otherwise_than_its_namespace() -> None:
    assert Desk(switch="").see({AUTO_GROUP_KEY: "true"}).group == JOB_GROUP
    assert Desk().see({**JOBSET, AUTO_GROUP_KEY: "false"}).group is None
    annotated = Desk(switch="").see({}, annotations={AUTO_GROUP_KEY: "true"})
    assert annotated.group == JOB_GROUP


def test_a_pod_whose_word_cannot_be_read_is_not_placed_alone() -> None:
    pod = Desk(switch="").see({AUTO_GROUP_KEY: "yes"})
    assert pod.group == JOB_GROUP
    assert pod.problem == 'enbloc.dev/auto-group is "yes"; use "true" or "false"'


def test_the_group_that_a_pod_names_is_its_group() -> None:
    pod = Desk().see({**JOBSET, POD_GROUP_KEY: "mine"})
    assert pod.group == GroupKey("ml", "mine")


def test_a_mirror_pod_is_nobodys_member() -> None:
    desk = Desk()
    assert desk.see(JOBSET, annotations={MIRROR_POD_KEY: "x"}).group is None


def test_a_pod_of_a_namespace_that_was_not_seen_is_held_back_and_makes_no_podgroup() -> None:
    scheduler, controller = Desk(switch=None), Desk(unknown=False, switch=None)
    assert scheduler.see({}).group == JOB_GROUP
    assert controller.see({}).group is None
    assert [pod.group for pod in scheduler.namespace("")] == [None]
    assert [pod.group for pod in controller.namespace("all")] == [JOB_GROUP]


def test_a_namespace_that_changes_its_label_moves_its_pods_and_no_others() -> None:
    desk = Desk(switch="")
    desk.see(JOBSET, "a", ready=True)
    desk.see({}, "b")
    assert [(pod.uid, pod.group) for pod in desk.namespace("true")] == [("a", WHOLE)]
    assert desk.auto.was_ready(PodUID("a"))
    assert desk.namespace("true") == []
    assert [(pod.uid, pod.group) for pod in desk.namespace("all")] == [("b", JOB_GROUP)]
    assert {pod.group for pod in desk.namespace("")} == {None}


def test_a_part_that_has_a_podgroup_of_its_own_belongs_to_that_one_from_then_on() -> None:
    """Whoever deletes it in a loop moves nobody, and no pod counts for the whole meanwhile."""
    desk = Desk()
    assert desk.see(JOBSET).group == WHOLE
    assert [pod.group for pod in desk.auto.group(WAVE)] == [WAVE]
    assert desk.auto.group(WAVE) == []
    assert desk.see(JOBSET, "q").group == WAVE
    assert desk.auto.group_gone(WAVE) == []
    assert desk.see(JOBSET).group == WAVE
    assert desk.see(JOBSET, "new").group == WHOLE
    assert [pod.uid for pod in desk.auto.group(WAVE)] == ["new"]


def test_a_deleted_pod_is_told_of_no_more() -> None:
    desk = Desk()
    desk.see(JOBSET)
    desk.auto.gone(PodUID("p"))
    assert desk.namespace("") == []
    assert desk.auto.group(WAVE) == []


def test_a_pod_whose_labels_change_is_of_another_part() -> None:
    desk = Desk()
    desk.see(JOBSET)
    other = {**JOBSET, "jobset.sigs.k8s.io/replicatedjob-name": "driver"}
    assert desk.see(other).role == "driver"
    assert desk.auto.group(WAVE) == []


ROOT, CHILD = GroupKey("ml", "root"), GroupKey("ml", "left")


def test_a_pod_of_a_podgroup_that_another_group_has_is_a_member_of_that_in_its_role() -> None:
    desk = Desk()
    assert (desk.see({}, field="left").group, desk.see({}, field="left").role) == (CHILD, "")
    [moved] = desk.auto.group(ROOT, {"left": "l", "right": "r"})
    assert (moved.group, moved.role) == (ROOT, "l")
    assert desk.auto.group(ROOT, {"left": "l", "right": "r"}) == []
    assert desk.see({}, "q", field="left").role == "l"
    assert [pod.role for pod in desk.auto.group(ROOT, {"left": "other"})] == ["other", "other"]
    assert desk.auto.group_gone(ROOT) == []
    assert (desk.see({}, field="left").group, desk.see({}, field="left").role) == (ROOT, "other")
    assert desk.see({}, "new", field="left").group == CHILD


def test_a_pod_that_names_the_same_group_by_metadata_stays_in_it() -> None:
    desk = Desk()
    desk.auto.group(ROOT, {"left": "l"})
    assert desk.see({POD_GROUP_KEY: "left"}).group == CHILD


def test_of_several_groups_that_name_one_podgroup_the_first_by_name_has_its_pods() -> None:
    """Whichever was seen first, so that every process says the same."""
    desk, late = Desk(), GroupKey("ml", "z")
    desk.see({}, field="left")
    assert [pod.group for pod in desk.auto.group(late, {"left": "z"})] == [late]
    assert [pod.group for pod in desk.auto.group(ROOT, {"left": "l"})] == [ROOT]
    assert desk.auto.adoptions.under(late) == []
    assert desk.auto.adoptions.under(ROOT) == [CHILD]
    assert [pod.group for pod in desk.auto.group_gone(ROOT)] == [late]
    assert desk.auto.group_gone(late) == []


def test_a_group_may_have_the_pods_of_a_podgroup_of_its_own_name() -> None:
    desk = Desk()
    desk.see({}, field="root")
    [moved] = desk.auto.group(ROOT, {"root": "workers"})
    assert (moved.group, moved.role) == (ROOT, "workers")


def test_of_two_roles_that_name_one_podgroup_the_first_has_its_pods() -> None:
    roles = [Role("a", 1, pod_group="left"), Role("b", 1, pod_group="left"), Role("c", 1)]
    assert adopted(roles) == {"left": "a"}
