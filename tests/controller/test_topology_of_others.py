# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The topology that other projects' objects and annotations call for, and what of it is noted."""

import json
from typing import Any

import msgspec
import pytest

from enbloc.controller.sources import SOURCES, coscheduling, kai, native
from enbloc.controller.sources.declared import declaration
from enbloc.controller.sources.reading import called_for
from enbloc.controller.sources.source import Derived, RefusedGroup, Source, TreeNode

OURS = "enbloc.dev/topology-required"
KAIS = "kai.scheduler/topology-required-placement"
RACK = {"required": "example.com/rack"}
GANG = {"schedulingPolicy": {"gang": {"minCount": 2}}}
TREE = {"schedulingPolicy": {"gang": {"minGroupCount": 1}}}


def told(source: Source[Any], spec: dict[str, Any], **annotations: str) -> Any:
    """What an object with these annotations calls for."""
    metadata = {"name": "w", "namespace": "n", "uid": "u", "annotations": annotations}
    return called_for(source, msgspec.convert({"metadata": metadata, "spec": spec}, source.shape))


def workload(kind: str, spec: dict[str, Any], **annotations: str) -> list[Derived]:
    [source] = [each for each in SOURCES if each.resources[0].kind == kind]
    found = told(source, spec, **annotations)
    return [found] if isinstance(found, Derived) else list(found)


def template(**annotations: str) -> dict[str, Any]:
    return {"metadata": {"annotations": annotations}, "spec": {"containers": [{"name": "c"}]}}


def constrained(*keys: str) -> dict[str, Any]:
    return {"schedulingConstraints": {"topology": [{"key": key} for key in keys]}}


# ── Kubernetes' own ──────────────────────────────────────────────────────────────────────────


def test_one_key_of_a_podgroup_of_kubernetes_is_followed_and_others_are_noted() -> None:
    found = told(native.NATIVE, GANG | constrained("example.com/rack"))
    assert found == Derived({"minMember": 2, "topology": RACK})
    found = told(native.NATIVE, GANG | constrained("example.com/rack", "example.com/zone"))
    assert found.spec["topology"] == RACK
    assert "spec.schedulingConstraints.topology[1] is ignored: one key" in found.ignored


def test_of_a_tree_the_constraint_of_the_root_is_followed() -> None:
    root = told(native.COMPOSITE, TREE | constrained("example.com/rack"))
    assert isinstance(root, TreeNode)
    assert root.spec["topology"] == RACK
    assert not root.ignored


@pytest.mark.parametrize(
    ("source", "spec"), [(native.NATIVE, GANG), (native.COMPOSITE, TREE)], ids=["leaf", "inner"]
)
def test_another_node_of_a_tree_constrains_its_own_members(
    source: Source[Any], spec: dict[str, Any]
) -> None:
    below = {"parentCompositePodGroupName": "root"}
    found = told(source, spec | below | constrained("example.com/rack"))
    assert isinstance(found, TreeNode)
    assert found.near == RACK
    assert not found.ignored
    found = told(source, spec | below, **{OURS: "example.com/rack", "enbloc.dev/topology": "t"})
    assert found.near == RACK
    assert found.ignored == (
        "annotation enbloc.dev/topology is ignored: that of the root of its tree counts"
    )


# ── annotations of the object ────────────────────────────────────────────────────────────────


def test_the_annotation_of_a_workload_counts_before_those_of_its_template() -> None:
    spec = {"parallelism": 2, "template": template(**{OURS: "example.com/zone"})}
    [found] = workload("Job", spec, **{OURS: "example.com/rack"})
    assert found.spec["topology"] == RACK


def test_a_topology_alone_is_that_of_the_levels_that_are_said() -> None:
    """Of a Job that exists, the pod template cannot be changed."""
    named = {"enbloc.dev/topology": "racks"}
    spec = {"parallelism": 2, "template": template(**{OURS: "rack"})}
    [found] = workload("Job", spec, **named)
    assert found.spec["topology"] == {"name": "racks", "required": "rack"}
    [found] = workload("Job", {"parallelism": 2}, **named, **{KAIS: "example.com/rack"})
    assert found.spec["topology"] == {"name": "racks", **RACK}
    groups = {"minMember": 2, "topologyConstraint": {"requiredTopologyLevel": "rack"}}
    found = told(kai.KAI, groups, **named)
    assert found.spec["topology"] == {"name": "racks", "required": "rack"}
    root = told(native.COMPOSITE, TREE | constrained("example.com/rack"), **named)
    assert root.spec["topology"] == {"name": "racks", **RACK}


@pytest.mark.parametrize("spec", [{"parallelism": 2}, {"minMember": 2}], ids=["Job", "KAI"])
def test_a_topology_of_no_level_is_refused(spec: dict[str, Any]) -> None:
    [job] = [each for each in SOURCES if each.resources[0].kind == "Job"]
    found = told(job if "parallelism" in spec else kai.KAI, spec, **{"enbloc.dev/topology": "t"})
    assert isinstance(found, RefusedGroup)
    assert "names a Topology, and no level of it" in found.problem


@pytest.mark.parametrize("kind", ["Job", "LeaderWorkerSet"])
def test_a_key_on_a_workload_that_is_misspelt_is_noted(kind: str) -> None:
    """It would be placed anywhere, and nobody would know why."""
    [first, *_] = workload(kind, {}, **{"enbloc.dev/topology-requierd": "rack"})
    assert "topology" not in first.spec
    assert first.ignored == (
        "annotation enbloc.dev/topology-requierd is not a key of enbloc; use "
        "enbloc.dev/topology-required"
    )


def test_a_label_on_a_workload_that_counts_as_an_annotation_alone_is_noted() -> None:
    [job] = [each for each in SOURCES if each.resources[0].kind == "Job"]
    metadata = {"name": "w", "namespace": "n", "uid": "u", "labels": {OURS: "rack"}}
    found = called_for(job, msgspec.convert({"metadata": metadata, "spec": {}}, job.shape))
    assert isinstance(found, Derived)
    assert found.ignored == f"label {OURS} is ignored: write it as an annotation"


def test_kais_annotation_of_a_workload_counts_where_nothing_else_is_said() -> None:
    theirs = {KAIS: "example.com/rack", "kai.scheduler/topology": "theirs"}
    [found] = workload("Job", {"parallelism": 2}, **theirs)
    assert found.spec["topology"] == {"name": "kai.scheduler/theirs", **RACK}
    [found] = workload("Job", {"parallelism": 2}, **{KAIS: "example.com/rack"})
    assert found.spec["topology"] == {"name": "kai.scheduler/*", **RACK}
    spec = {"parallelism": 2, "template": template(**{OURS: "example.com/zone"})}
    [found] = workload("Job", spec, **theirs)
    assert found.spec["topology"] == {"required": "example.com/zone"}


def test_the_annotation_of_another_projects_podgroup_counts_before_its_field() -> None:
    spec = {"minMember": 2, "topologyConstraint": {"requiredTopologyLevel": "example.com/zone"}}
    found = told(kai.KAI, spec, **{OURS: "rack", "enbloc.dev/topology": "racks"})
    assert found.spec["topology"] == {"name": "racks", "required": "rack"}


@pytest.mark.parametrize("kind", ["Job", "LeaderWorkerSet"])
def test_an_annotation_that_no_podgroup_can_have_refuses_it_and_keeps_what_was_made(
    kind: str,
) -> None:
    [source] = [each for each in SOURCES if each.resources[0].kind == kind]
    found = told(source, {}, **{OURS: "no label"})
    assert isinstance(found, RefusedGroup)
    assert found.problem.startswith(f"annotation {OURS}: ")
    assert found.keeps
    assert found.name


def gathering(*rules: tuple[str, str]) -> dict[str, str]:
    """Koordinator's annotation."""
    listed = [{"layer": layer, "strategy": strategy} for layer, strategy in rules]
    return {
        "gang.scheduling.koordinator.sh/network-topology-spec": json.dumps(
            {"gatherStrategy": listed}
        )
    }


@pytest.mark.parametrize(
    ("rules", "topology"),
    [
        ([("rack", "MustGather")], {"required": "rack"}),
        ([("rack", "PreferGather")], {"preferred": "rack"}),
        (
            [("block", "MustGather"), ("spine", "PreferGather"), ("rack", "PreferGather")],
            {"required": "block", "preferred": "rack"},
        ),
    ],
)
def test_koordinators_strategies_are_followed(
    rules: list[tuple[str, str]], topology: dict[str, str]
) -> None:
    found = told(coscheduling.COSCHEDULING, {"minMember": 2}, **gathering(*rules))
    named = {"name": "scheduling.koordinator.sh/*"}
    assert found == Derived({"minMember": 2, "topology": named | topology})
    declaring = {"gang.scheduling.koordinator.sh/min-available": "2", **gathering(*rules)}
    assert declaration({}, declaring) == found


def test_koordinators_annotation_does_not_count_beside_ours() -> None:
    theirs = gathering(("rack", "Perhaps"))
    found = told(coscheduling.COSCHEDULING, {"minMember": 2}, **theirs, **{OURS: "rack"})
    assert found == Derived({"minMember": 2, "topology": {"required": "rack"}})


@pytest.mark.parametrize(
    ("annotations", "problem"),
    [
        (gathering(("rack", "Perhaps")), 'strategy "Perhaps" is unknown; use MustGather or'),
        (gathering(("no layer", "MustGather")), "a layer must be a name"),
        (
            gathering(("block", "MustGather"), ("rack", "MustGather")),
            "block and rack are both MustGather; keep the inner one",
        ),
        ({"gang.scheduling.koordinator.sh/network-topology-spec": "rack"}, "JSON is malformed"),
    ],
)
def test_what_cannot_be_followed_of_koordinators_annotation_is_named(
    annotations: dict[str, str], problem: str
) -> None:
    found = told(coscheduling.COSCHEDULING, {"minMember": 2}, **annotations)
    assert isinstance(found, RefusedGroup)
    assert found.problem.startswith("annotation gang.scheduling.koordinator.sh/network-topology-")
    assert problem in found.problem
    declaring = {"gang.scheduling.koordinator.sh/min-available": "2", **annotations}
    assert declaration({}, declaring) == RefusedGroup(found.problem)


def test_the_annotation_of_an_object_counts_instead_of_what_its_parts_say() -> None:
    near = {"requiredTopologyLevel": "example.com/block"}
    spec = {"subGroups": [{"name": "a", "minMember": 2, "topologyConstraint": near}]}
    found = told(kai.KAI, spec, **{OURS: "rack", "enbloc.dev/topology": "racks"})
    assert found.spec["topology"] == {"name": "racks", "required": "rack"}
    assert found.spec["roles"] == [{"name": "a", "minMember": 2}]


def test_kais_annotation_does_not_count_beside_what_parts_say() -> None:
    said = template(**{"kueue.x-k8s.io/podset-required-topology": "example.com/block"})
    replicas = {"Master": {"template": template()}, "Worker": {"template": said}}
    [found] = workload(
        "PyTorchJob", {"pytorchReplicaSpecs": replicas}, **{KAIS: "example.com/rack"}
    )
    assert found.spec["topology"] == {"name": "kueue.x-k8s.io/*"}
    assert found.spec["roles"][1]["topology"] == {"required": "example.com/block"}


def test_a_tree_is_not_cut_into_slices() -> None:
    slices = {"enbloc.dev/topology-slices": "2@rack"}
    found = told(native.COMPOSITE, TREE | constrained("example.com/rack"), **slices)
    assert isinstance(found, TreeNode)
    assert found.spec["topology"] == RACK, "its own constraint stays"
    assert "annotation enbloc.dev/topology-slices is ignored" in found.ignored


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("4", '"4" is no slice; write its size and a level'),
        ("0@rack", '"0@rack" is no slice'),
        ("4@no label", "a level must be a name"),
        ("1@a,2@b,3@c,4@d,5@e", "lists 5 slices; list at most 4"),
    ],
)
def test_slices_that_no_podgroup_can_have_refuse_it(text: str, problem: str) -> None:
    [source] = [each for each in SOURCES if each.resources[0].kind == "Job"]
    found = told(source, {}, **{"enbloc.dev/topology-slices": text})
    assert isinstance(found, RefusedGroup)
    assert f"annotation enbloc.dev/topology-slices: {problem}" in found.problem
