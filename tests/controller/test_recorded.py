# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is made of the objects that other projects' controllers create."""

from collections import Counter
from typing import Any

import msgspec
import pytest

from enbloc.controller.sources import SOURCES, WORKLOADS
from enbloc.controller.sources.declared import declaration
from enbloc.controller.sources.source import Derived, Source
from enbloc.model.pods import Pod
from enbloc.wire import codec
from enbloc.wire.auto_groups import auto_group
from enbloc.wire.objects import PodObject, controller_of
from tests import recorded

POD_GROUP = "PodGroup"
#: Jobs for which their project creates PodGroups.
WITH_GROUPS = [name for name in recorded.FILES if recorded.of_kind(name, POD_GROUP)]
#: Jobs whose pods declare their group.
DECLARED = ["koordinator", "kuberay-yunikorn"]
#: Jobs whose pods name no group, and the members of each group that is made for them, by role; of
#: each wave where some are created later.
WORKLOAD_GROUPS: dict[str, list[dict[str, int]]] = {
    "jobset": [{"driver": 2, "workers": 2}],
    "jobset-in-order": [{"driver": 2}, {"workers": 2}],
    "kuberay": [{"headgroup": 1, "workers": 2}],
    "lws": [{"leader": 1, "worker": 2}] * 2,
    "mpi-operator": [{"launcher": 1, "worker": 2}],
    "spark-operator": [{"driver": 1, "executor": 2}],
    "training-operator": [{"master": 1, "worker": 2}],
}


def source_of(body: dict[str, Any], among: tuple[Source[Any], ...] = SOURCES) -> Source[Any] | None:
    """That which reads an object."""
    for source in among:
        for each in source.resources:
            if (each.api_version, each.kind) == (body["apiVersion"], body["kind"]):
                return source
    return None


def derived(body: dict[str, Any], source: Source[Any]) -> list[Derived]:
    made = source.derive(msgspec.convert(body, source.shape))
    assert isinstance(made, Derived | tuple), made
    return [made] if isinstance(made, Derived) else list(made)


def pods_of(name: str) -> list[tuple[PodObject, Pod]]:
    found = [msgspec.convert(each, PodObject) for each in recorded.of_kind(name, "Pod")]
    return [(each, codec.pod(each)) for each in found]


def test_every_file_is_of_one_of_these() -> None:
    assert sorted([*WITH_GROUPS, *DECLARED, *WORKLOAD_GROUPS]) == sorted(recorded.FILES)


@pytest.mark.parametrize("name", WITH_GROUPS)
def test_the_pods_of_a_job_are_members_of_the_podgroup_that_is_created_for_it(name: str) -> None:
    members = Counter(pod.group.name if pod.group else "" for _, pod in pods_of(name))
    for body in recorded.of_kind(name, POD_GROUP):
        source = source_of(body)
        assert source is not None
        [made] = derived(body, source)
        named = body["metadata"]["name"]
        least = 1 if name.startswith("spark") else members[named]
        assert made.spec["minMember"] == least
        assert members.pop(named) == 3
        present = Counter(pod.role for _, pod in pods_of(name))
        for role in made.spec.get("roles", ()):
            assert present[role["name"]] >= role["minMember"]
    assert not members, "no pod is left out"


@pytest.mark.parametrize("name", WITH_GROUPS)
def test_a_profile_of_the_name_that_pods_carry_answers_the_podgroup(name: str) -> None:
    [scheduler] = {pod.scheduler for _, pod in pods_of(name)}
    sources = [source_of(body) for body in recorded.of_kind(name, POD_GROUP)]
    served = {name for each in sources if each is not None for name in each.scheduler_names}
    assert scheduler in {*served, "enbloc"}


@pytest.mark.parametrize("name", DECLARED)
def test_the_pods_of_a_job_declare_their_group(name: str) -> None:
    found = pods_of(name)
    assert {pod.group.name if pod.group else "" for _, pod in found} == {"train"}
    for body, pod in found:
        assert not pod.problem
        made = declaration(body.metadata.labels or {}, body.metadata.annotations or {})
        assert isinstance(made, Derived)
        assert made.spec["minMember"] <= len(found)
        assert not made.ignored


@pytest.mark.parametrize("name", WORKLOAD_GROUPS)
def test_the_pods_of_a_workload_are_those_that_its_podgroups_count(name: str) -> None:
    [body, *_] = recorded.objects(name)
    source = source_of(body, WORKLOADS)
    assert source is not None
    made = derived(body, source)
    names = {each.name for each in made}
    members: dict[str, Counter[str]] = {}
    for found, pod in pods_of(name):
        assert pod.group is None
        auto = auto_group(
            found.metadata.labels or {}, controller_of(found.metadata.owner_references)
        )
        assert auto is not None
        key = auto.wave if auto.wave in names else auto.name
        members.setdefault(key, Counter())[auto.role] += 1
    present = [dict(members[each.name]) for each in made if each.name in members]
    assert present == WORKLOAD_GROUPS[name]
    for each, counted in zip(made, present, strict=False):
        roles = {role["name"]: role["minMember"] for role in each.spec.get("roles", ())}
        assert all(counted.get(role, 0) >= least for role, least in roles.items())
        if "minResources" in each.spec:  # of later waves, too
            assert each.spec["minResources"]["cpu"] == str(len(pods_of(name)))


def test_every_workload_is_recorded() -> None:
    """Of the training operator's kinds one is, for they differ in the names of roles alone."""
    recorded_kinds = {recorded.objects(name)[0]["kind"] for name in WORKLOAD_GROUPS}
    kinds = {each.resources[0].kind for each in WORKLOADS}
    builtin = {"Job", "StatefulSet"}
    training = {"TFJob", "XGBoostJob", "PaddleJob", "JAXJob"}
    assert kinds - builtin - training == recorded_kinds
