# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The topology that Kueue's annotations of pod templates call for, and what of it is noted."""

from typing import Any

import msgspec
import pytest

from enbloc.controller.sources import WORKLOADS, kueue
from enbloc.controller.sources.reading import called_for
from enbloc.controller.sources.source import Derived

KUEUE = "kueue.x-k8s.io/"
REQUIRED, PREFERRED = f"{KUEUE}podset-required-topology", f"{KUEUE}podset-preferred-topology"
RACK = {"required": "example.com/rack"}
#: Whichever Topology of Kueue's has the levels.
ANY = {"name": f"{KUEUE}*"}


def workload(kind: str, spec: dict[str, Any]) -> list[Derived]:
    """The PodGroups of a workload."""
    [source] = [each for each in WORKLOADS if each.resources[0].kind == kind]
    metadata = {"name": "w", "namespace": "n", "uid": "u"}
    found = called_for(source, msgspec.convert({"metadata": metadata, "spec": spec}, source.shape))
    made = found if isinstance(found, tuple) else (found,)
    return [each for each in made if isinstance(each, Derived)]


def template(**annotations: str) -> dict[str, Any]:
    return {"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": "c"}]}}


@pytest.mark.parametrize(
    ("annotations", "topology"),
    [
        ({REQUIRED: "example.com/rack"}, ANY | RACK),
        ({PREFERRED: "example.com/rack"}, ANY | {"preferred": "example.com/rack"}),
        ({f"{KUEUE}podset-unconstrained-topology": "true"}, None),
        ({REQUIRED: "example.com/rack", f"{KUEUE}workload": "job-w"}, None),
    ],
    ids=["required", "preferred", "unconstrained", "admitted by Kueue"],
)
def test_the_template_of_a_job_says_its_topology_in_words_of_kueue(
    annotations: dict[str, str], topology: dict[str, str] | None
) -> None:
    """Where Kueue has admitted the Job it chooses the nodes, and nothing is added to that."""
    [found] = workload("Job", {"parallelism": 2, "template": template(**annotations)})
    assert found.spec.get("topology") == topology
    assert not found.ignored


def test_the_pods_of_each_template_lie_in_a_domain_of_their_own() -> None:
    one = template(**{REQUIRED: "example.com/rack"})
    jobs = [
        {"name": name, "replicas": 1, "template": {"spec": {"parallelism": 2, "template": one}}}
        for name in ("driver", "workers")
    ]
    [found] = workload("JobSet", {"replicatedJobs": jobs})
    assert found.spec["roles"] == [
        {"name": "driver", "minMember": 2, "topology": RACK},
        {"name": "workers", "minMember": 2, "topology": RACK},
    ]
    assert found.spec["topology"] == ANY
    assert not found.ignored


def test_a_template_that_says_nothing_lets_its_pods_lie_anywhere() -> None:
    replicas = {
        "Master": {"replicas": 1, "template": template()},
        "Worker": {"replicas": 2, "template": template(**{REQUIRED: "example.com/rack"})},
    }
    [found] = workload("PyTorchJob", {"pytorchReplicaSpecs": replicas})
    assert found.spec["roles"] == [
        {"name": "master", "minMember": 1},
        {"name": "worker", "minMember": 2, "topology": RACK},
    ]
    assert not found.ignored


def test_templates_that_are_too_many_to_be_roles_lie_together_if_all_say_the_same() -> None:
    said = template(**{REQUIRED: "x/r"})
    jobs = [{"name": f"j{n}", "template": {"spec": {"template": said}}} for n in range(17)]
    [found] = workload("JobSet", {"replicatedJobs": jobs})
    assert "roles" not in found.spec
    assert found.spec["topology"] == ANY | {"required": "x/r"}
    jobs[3] = {"name": "j3", "template": {"spec": {"template": template()}}}
    [found] = workload("JobSet", {"replicatedJobs": jobs})
    assert "topology" not in found.spec
    assert "on some pod templates are ignored: the PodGroup has no role for each" in found.ignored


def test_templates_of_one_group_name_lie_in_one_domain_together() -> None:
    together = {f"{KUEUE}podset-group-name": "Near.1", REQUIRED: "example.com/rack"}
    group = {
        "size": 3,
        "leaderTemplate": template(**together),
        "workerTemplate": template(**together),
    }
    [found] = workload("LeaderWorkerSet", {"replicas": 1, "leaderWorkerTemplate": group})
    assert found.spec["topology"] == ANY | RACK, "these are all members"
    jobs = [
        {"name": name, "template": {"spec": {"template": template(**said)}}}
        for name, said in (("a", together), ("b", {}), ("c", together))
    ]
    [found] = workload("JobSet", {"replicatedJobs": jobs})
    [sub_group] = found.spec["subGroups"]
    assert sub_group["topology"] == RACK
    parents = {role["name"]: role.get("parent") for role in found.spec["roles"]}
    assert parents == {"a": sub_group["name"], "b": None, "c": sub_group["name"]}


def test_templates_of_one_group_name_that_disagree_are_noted_and_lie_apart() -> None:
    one, other = (
        {f"{KUEUE}podset-group-name": "g", REQUIRED: f"example.com/{level}"}
        for level in ("rack", "block")
    )
    found = kueue.asked({"a": one, "b": other})
    assert [(each.name, each.templates) for each in found.parts] == [("", ("a",)), ("", ("b",))]
    [note] = found.ignored
    assert 'pod templates of "g" ask for different topologies' in note


SLICE = f"{KUEUE}podset-slice-required-topology"
SLICES = f"{SLICE}-constraints"
SIZE = f"{KUEUE}podset-slice-size"


@pytest.mark.parametrize(
    ("annotations", "slices"),
    [
        ({SLICE: "x/rack", SIZE: "4"}, [{"size": 4, "required": "x/rack"}]),
        (
            {SLICES: '[{"topology": "x/b", "size": "8"}, {"topology": "x/r", "size": 4}]'},
            [{"size": 8, "required": "x/b"}, {"size": 4, "required": "x/r"}],
        ),
        (
            {SLICES: '[{"topology": "x/b", "size": 4}, {"topology": "x/r", "size": 4}]'},
            [{"size": 4, "required": "x/r"}],
        ),
    ],
    ids=["of one level", "of several", "of one size"],
)
def test_slices_of_the_only_template_are_those_of_its_group(
    annotations: dict[str, str], slices: list[dict[str, Any]]
) -> None:
    spec = {"parallelism": 8, "template": template(**annotations, **{REQUIRED: "x/zone"})}
    [found] = workload("Job", spec)
    assert found.spec["topology"] == ANY | {"required": "x/zone", "slices": slices}
    assert not found.ignored


@pytest.mark.parametrize(
    ("annotations", "note"),
    [
        ({SLICE: "x/rack"}, f"annotation {SLICE} is ignored: "),
        ({SLICE: "x/rack", SIZE: "0"}, "a size between 1 and 100000"),
        ({SLICE: "no label", SIZE: "2"}, "each with a node label"),
        ({SLICES: "[]"}, "list 1 to 4 slices"),
        (
            {SLICES: '[{"topology": "x/b", "size": 8}, {"topology": "x/r", "size": 3}]'},
            "must divide that of the slices around it",
        ),
        ({SLICES: '[{"topology": "x/r", "sizes": [1, 3]}]'}, "a size between 1 and"),
        ({SLICES: "[" * 9000}, f"annotation {SLICES} is ignored: "),
        (
            {f"{KUEUE}podset-topology-spreading": '{"rules": []}'},
            "use spec.topology.apart of a PodGroup",
        ),
    ],
)
def test_slices_that_cannot_be_followed_are_noted(annotations: dict[str, str], note: str) -> None:
    [found] = workload("Job", {"parallelism": 2, "template": template(**annotations)})
    assert "topology" not in found.spec
    assert note in found.ignored


@pytest.mark.parametrize("value", ["*/rack", "a" * 300, "no label"])
def test_what_is_no_node_label_is_noted_and_in_no_group(value: str) -> None:
    """The API server would take no group with it, and nobody would hear why."""
    spec = {"parallelism": 2, "template": template(**{REQUIRED: value, SLICE: "x/r", SIZE: "2"})}
    [found] = workload("Job", spec)
    assert found.spec["topology"] == ANY | {"slices": [{"size": 2, "required": "x/r"}]}
    assert "required" not in found.spec["topology"]
    assert f"annotation {REQUIRED} is ignored: a node label must be a name" in found.ignored


def test_slices_of_one_template_among_several_are_noted() -> None:
    said = {SLICE: "example.com/rack", SIZE: "2", REQUIRED: "example.com/block"}
    group = {"size": 5, "leaderTemplate": template(), "workerTemplate": template(**said)}
    found = workload("LeaderWorkerSet", {"replicas": 2, "leaderWorkerTemplate": group})
    for each in found:
        worker = next(role for role in each.spec["roles"] if role["name"] == "worker")
        assert worker["topology"] == {"required": "example.com/block"}
        assert "slices are followed where all pods are of one template" in each.ignored
    assert found[0].spec is found[1].spec
