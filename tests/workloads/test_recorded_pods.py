# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The pods that are made here are those that other projects' controllers make of an object."""

from typing import Any

import msgspec
import pytest

from enbloc.model.dialects import membership
from enbloc.wire import codec
from enbloc.wire.auto_groups import auto_group
from enbloc.wire.objects import PodObject, controller_of
from enbloc.workloads import Admission, Manifest, expand
from tests import recorded
from tests.workloads.given import GROUPS

#: Whose pods are made without a hand of the user, or of a scheduler's plugin in the controller.
NAMES = (
    "jobset",
    "jobset-in-order",
    "kuberay",
    "lws",
    "mpi-operator",
    "spark-operator",
    "trainer-scheduler-plugins",
    "trainer-volcano",
    "training-operator",
    "volcano-job",
)
#: Its memory is written as one amount there, and is made of heap and overhead here.
SPARK = "spark-operator"


def given(name: str) -> list[Manifest]:
    """What a user has written: what nothing owns."""
    return [
        Manifest(name, each)
        for each in recorded.objects(name)
        if not each["metadata"].get("ownerReferences")
    ]


def seen(pod: dict[str, Any], name: str) -> dict[str, Any]:
    """What of a pod enbloc reads, but UIDs."""
    found = msgspec.convert(pod, PodObject)
    read, metadata = codec.pod(found), found.metadata
    owner, labels = controller_of(metadata.owner_references), metadata.labels or {}
    auto = auto_group(labels, owner)
    said = membership(labels, metadata.annotations or {})
    assert owner is not None
    return {
        "spec": None if name == SPARK else read.spec,
        "scheduler": read.scheduler,
        "priority": read.priority,
        "owner": (owner.api_version, owner.kind, owner.name),
        "auto": auto and (auto.kind, auto.role, bool(auto.wave)),
        "named": (bool(said.group), said.role, said.problem),
        "attempt": read.restart.partition("/")[2],
    }


def made(name: str) -> list[dict[str, Any]]:
    expansion = expand(given(name), GROUPS, "default")
    return [Admission().pod(each.pod, each.of) for each in expansion.pods]


@pytest.mark.parametrize("name", NAMES)
def test_pods_are_read_as_those_that_the_controller_made(name: str) -> None:
    ours = [seen(pod, name) for pod in made(name)]
    theirs = [seen(pod, name) for pod in recorded.of_kind(name, "Pod")]
    assert sorted(ours, key=repr) == sorted(theirs, key=repr)


@pytest.mark.parametrize("name", NAMES)
def test_labels_that_are_set_are_those_that_the_controller_sets(name: str) -> None:
    theirs = recorded.of_kind(name, "Pod")
    for pod in made(name):
        for kind in ("labels", "annotations"):
            for key, value in pod["metadata"][kind].items():
                values = [each["metadata"].get(kind, {}).get(key, "") for each in theirs]
                unlike = "uid" in key or "what-if" in value
                assert any(values) if unlike else value in values, (kind, key, value)
