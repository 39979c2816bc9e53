# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods of KAI: their group is named after they were created, and they may ask for parts of GPUs."""

from typing import Any

import msgspec
import pytest

from enbloc.model.groups import GroupKey
from enbloc.model.kai import UNNAMED
from enbloc.model.names import AUTO_GROUP_KEY, DEFAULT_SCHEDULER, MIRROR_POD_KEY, SCHEDULER_NAME
from enbloc.model.pods import Pod
from enbloc.wire import codec
from enbloc.wire.auto_groups import AutoGroups, group_name
from enbloc.wire.objects import PodObject

KAI = "kai-scheduler"


def shown(scheduler: str, **metadata: Any) -> PodObject:
    document = {
        "metadata": {"name": "p", "namespace": "n", "uid": "u", **metadata},
        "spec": {"schedulerName": scheduler},
    }
    return msgspec.convert(document, PodObject)


def read(scheduler: str, **metadata: Any) -> Pod:
    return codec.pod(shown(scheduler, **metadata))


def test_a_pod_whose_group_kais_pod_grouper_has_not_named_yet_is_no_lone_pod() -> None:
    assert read(KAI).group == GroupKey("n", UNNAMED)
    assert read(KAI, annotations={"pod-group-name": "pg-train"}).group == GroupKey("n", "pg-train")


def test_a_pod_of_kai_that_names_a_group_by_any_key_is_a_member_of_that() -> None:
    assert read(KAI, labels={"enbloc.dev/pod-group": "train"}).group == GroupKey("n", "train")


def test_a_pod_of_kai_that_grove_made_waits_for_the_name_of_kais_group() -> None:
    """Semantics §6.5: it would be bound as a member of one group, and belong to another later."""
    labels = {"grove.io/podgang": "app-0", "grove.io/podclique": "app-0-worker"}
    assert read(KAI, labels=labels).group == GroupKey("n", UNNAMED)
    named = read(KAI, labels=labels, annotations={"pod-group-name": "pg-app-0-4f5c"})
    assert (named.group, named.problem) == (GroupKey("n", "pg-app-0-4f5c"), "")
    assert read(SCHEDULER_NAME, labels=labels).group == GroupKey("n", "app-0")


@pytest.mark.parametrize("scheduler", [SCHEDULER_NAME, DEFAULT_SCHEDULER, "volcano"])
def test_pods_of_other_schedulers_are_lone_pods(scheduler: str) -> None:
    assert read(scheduler).group is None


def test_a_mirror_pod_waits_for_no_group() -> None:
    assert read(KAI, annotations={MIRROR_POD_KEY: "x"}).group is None


def test_where_groups_are_made_for_workloads_a_pod_of_kai_is_a_member_of_its_workload() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": "j", "controller": True}
    found = shown(KAI, ownerReferences=[job], labels={AUTO_GROUP_KEY: "true"})
    pod = AutoGroups(unknown=False).pod(found, codec.pod(found))
    assert pod.group == GroupKey("n", group_name("Job", "a", "j"))
    plain = shown(KAI, ownerReferences=[job])
    pod = AutoGroups(unknown=False).pod(plain, codec.pod(plain))
    assert pod.group == GroupKey("n", UNNAMED)


@pytest.mark.parametrize("key", ["gpu-fraction", "gpu-memory"])
@pytest.mark.parametrize("scheduler", [KAI, SCHEDULER_NAME])
def test_a_pod_that_asks_for_a_part_of_a_gpu_is_refused_with_the_fix(
    scheduler: str, key: str
) -> None:
    problem = read(scheduler, annotations={key: "0.5", "pod-group-name": "train"}).problem
    assert problem.startswith(f"annotation {key}: parts of a GPU are not supported; remove it and ")


def test_to_pods_of_the_default_scheduler_kais_words_mean_nothing() -> None:
    assert read(DEFAULT_SCHEDULER, annotations={"gpu-memory": "2000"}).problem == ""
