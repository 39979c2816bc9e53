# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Gangs that pods declare by metadata alone, written as each project's users write it."""

import json

import pytest

from enbloc.client.errors import NotFound
from enbloc.client.paths import POD_GROUPS
from tests.e2e.world import World

TASK_GROUPS = json.dumps(
    [{"name": "worker", "minMember": 3, "minResource": {"cpu": "1", "memory": "50M"}}]
)
#: By project: labels and annotations of each pod of a gang of three named "train".
DECLARED: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "enbloc": ({}, {"enbloc.dev/pod-group": "train", "enbloc.dev/min-member": "3"}),
    "coscheduling": (
        {
            "pod-group.scheduling.sigs.k8s.io/name": "train",
            "pod-group.scheduling.sigs.k8s.io/min-available": "3",
        },
        {},
    ),
    "Koordinator": (
        {},
        {
            "gang.scheduling.koordinator.sh/name": "train",
            "gang.scheduling.koordinator.sh/min-available": "3",
            "gang.scheduling.koordinator.sh/waiting-time": "30s",
        },
    ),
    "Volcano": (
        {},
        {"scheduling.k8s.io/group-name": "train", "scheduling.volcano.sh/group-min-member": "3"},
    ),
    "YuniKorn": (
        {"app": "sleep", "applicationId": "train", "queue": "root.sandbox"},
        {
            "yunikorn.apache.org/task-group-name": "worker",
            "yunikorn.apache.org/task-groups": TASK_GROUPS,
            "yunikorn.apache.org/schedulingPolicyParameters": "placeholderTimeoutInSeconds=30",
        },
    ),
}


async def exists(world: World) -> bool:
    try:
        await world.client.get(POD_GROUPS, "train", world.namespace)
    except NotFound:
        return False
    return True


@pytest.mark.parametrize("project", DECLARED)
async def test_pods_that_declare_a_gang_start_together_without_a_podgroup(
    world: World, project: str
) -> None:
    labels, annotations = DECLARED[project]
    await world.nodes(2, cpu=4)
    for index in range(2):
        await world.pod(f"train-{index}", labels=labels, annotations=annotations)
    await world.eventually(lambda: exists(world), lambda: "its PodGroup is made")
    world.watch_over("train", 3)
    await world.condition("train", "Ready", "False", reason="WaitingForMembers")
    assert world.observer.bound(world.namespace) == {}
    await world.pod("train-2", labels=labels, annotations=annotations)
    await world.bound("train", 3)
    await world.condition("train", "Scheduled", "True")
