# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Volume objects as the API server sends them, and what becomes of what cannot be read."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.pods import NodeSelectorTerm
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.storage.facts import (
    Attachable,
    ClaimRef,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
    VolumeFact,
)
from enbloc.wire.storage_codec import READERS, Problem, read
from tests.effort import examples

GIB = 2**30
ZONE = "topology.kubernetes.io/zone"
META = {"name": "x", "uid": "u", "resourceVersion": "7"}


def affinity(key: str, *values: str) -> dict[str, Any]:
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def in_zone(key: str, *values: str) -> tuple[NodeSelectorTerm, ...]:
    return (NodeSelectorTerm((Requirement(key, Operator.IN, values),)),)


@pytest.mark.parametrize(
    ("kind", "obj", "expected"),
    [
        pytest.param(
            "PersistentVolume",
            {
                "metadata": {**META, "creationTimestamp": "1970-01-01T00:01:00Z",
                             "labels": {"tier": "x"}},
                "spec": {
                    "capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "local", "volumeMode": "Block",
                    "volumeAttributesClassName": "gold", "nodeAffinity": affinity(ZONE, "a"),
                    "claimRef": {"namespace": "ns", "name": "data", "uid": "c"},
                    "csi": {"driver": "csi.example.com", "volumeHandle": "h"},
                },
                "status": {"phase": "Available"},
            },
            PersistentVolume(
                "x", "u", "7", "local", 5 * GIB, frozenset(("ReadWriteOnce",)), "Block", "gold",
                claim=ClaimRef("ns/data", "c"), created=60.0, labels=(("tier", "x"),),
                affinity=in_zone(ZONE, "a"), csi=Attachable("csi.example.com", "h"),
            ),
            id="a volume of a CSI driver",
        ),
        pytest.param(
            "PersistentVolume",
            {
                "metadata": {**META, "annotations":
                             {"volume.beta.kubernetes.io/storage-class": "older"}},
                "spec": {"storageClassName": "local"},
                "status": {"phase": "Released"},
            },
            PersistentVolume("x", "u", "7", "older", available=False),
            id="a class in an annotation wins",
        ),
        pytest.param(
            "PersistentVolume",
            {
                "metadata": {**META, "labels": {ZONE: "a"}},
                "spec": {"awsElasticBlockStore": {"volumeID": "aws://us-1/vol-1", "partition": 1}},
                "status": {"phase": "Available"},
            },
            PersistentVolume(
                "x", "u", "7", labels=((ZONE, "a"),), plugin="kubernetes.io/aws-ebs",
                migrated=Attachable("ebs.csi.aws.com", "vol-1"),
                migrated_affinity=in_zone("topology.ebs.csi.aws.com/zone", "a"),
            ),
            id="an old kind of disk",
        ),
        pytest.param(
            "PersistentVolumeClaim",
            {
                "metadata": {
                    **META, "namespace": "ns",
                    "annotations": {
                        "pv.kubernetes.io/bind-completed": "yes",
                        "volume.kubernetes.io/selected-node": "n1",
                    },
                    "ownerReferences": [{"uid": "other"}, {"uid": "pod", "controller": True}],
                    "deletionTimestamp": "2026-01-01T00:00:00Z",
                },
                "spec": {
                    "accessModes": ["ReadWriteOncePod"], "storageClassName": "fast",
                    "resources": {"requests": {"storage": "1500Mi"}}, "volumeName": "v",
                    "selector": {"matchLabels": {"tier": "x"}},
                },
                "status": {"phase": "Lost"},
            },
            PersistentVolumeClaim(
                "ns", "x", "u", "7", "fast", 1500 * 2**20, ("ReadWriteOncePod",),
                selector=Selector((Requirement("tier", Operator.IN, ("x",)),)), volume="v",
                bind_completed=True, selected_node="n1", lost=True, deleting=True, owner="pod",
            ),
            id="a claim",
        ),
        pytest.param(
            "StorageClass",
            {
                "metadata": META, "provisioner": "p",
                "volumeBindingMode": "WaitForFirstConsumer",
                "allowedTopologies": [
                    {"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}]}, {},
                ],
            },
            StorageClass("x", "p", True, (((ZONE, ("a", "b")),), ()), "7"),
            id="a class",
        ),
        pytest.param(
            "CSINode",
            {
                "metadata": {**META, "annotations":
                             {"storage.alpha.kubernetes.io/migrated-plugins": "a,b"}},
                "spec": {"drivers": [
                    {"name": "d2", "allocatable": {"count": 3}}, {"name": "d1", "allocatable": {}},
                ]},
            },
            CSINode("x", (("d2", 3),), ("d1", "d2"), frozenset(("a", "b")), "7"),
            id="a node's drivers",
        ),
        pytest.param(
            "CSIDriver", {"metadata": META, "spec": {"storageCapacity": True}},
            CSIDriver("x", True, "7"), id="a driver",
        ),
        pytest.param(
            "CSIStorageCapacity",
            {
                "metadata": {**META, "namespace": "ns"}, "storageClassName": "fast",
                "capacity": "9Gi", "maximumVolumeSize": "4Gi", "nodeTopology": {},
            },
            CSIStorageCapacity("ns", "x", "u", "7", "fast", 9 * GIB, 4 * GIB, Selector()),
            id="a segment",
        ),
        pytest.param(
            "VolumeAttachment",
            {"metadata": META, "spec": {
                "attacher": "d", "nodeName": "n", "source": {"persistentVolumeName": "v"}}},
            VolumeAttachment("x", "d", "n", "v", "7"), id="an attachment",
        ),
    ],
)  # fmt: skip
def test_an_object_becomes_a_fact(kind: str, obj: dict[str, Any], expected: VolumeFact) -> None:
    assert read(kind, obj) == expected


@pytest.mark.parametrize("kind", READERS)
def test_of_an_empty_object_a_fact_is_made(kind: str) -> None:
    assert not isinstance(read(kind, {}), Problem)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param(
            {"resources": {"requests": {"storage": "many"}}},
            'spec.resources.requests: "many" is not a quantity', id="a size that is none",
        ),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": f"k{i}", "operator": "Exists"}
                                               for i in range(1000)]}},
            "spec.selector: 1000 requirements with 0 values; use at most 256 with 4096",
            id="a selector of a thousand requirements",
        ),
        pytest.param(
            {"selector": {"matchExpressions": [{"key": "k", "operator": "Near"}]}},
            'spec.selector.matchExpressions[0].operator: unknown "Near"', id="an unknown operator",
        ),
    ],
)  # fmt: skip
def test_what_a_claim_says_that_cannot_be_read_is_told(spec: dict[str, Any], said: str) -> None:
    fact = read("PersistentVolumeClaim", {"metadata": META, "spec": spec})

    assert isinstance(fact, PersistentVolumeClaim)
    assert said in fact.problem


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"capacity": {"storage": "much"}}, id="its size"),
        pytest.param({"nodeAffinity": affinity(ZONE)}, id="its node affinity"),
        pytest.param(
            {"nodeAffinity": affinity(ZONE, *(f"z{i}" for i in range(70_000)))},
            id="too many values",
        ),
    ],
)
def test_nobody_gets_a_volume_that_cannot_be_read(spec: dict[str, Any]) -> None:
    fact = read("PersistentVolume", {"spec": spec, "status": {"phase": "Available"}})

    assert isinstance(fact, PersistentVolume)
    assert not fact.available


def test_a_volume_with_too_much_affinity_is_reached_from_nowhere() -> None:
    values = [f"z{i}" for i in range(70_000)]

    fact = read("PersistentVolume", {"spec": {"nodeAffinity": affinity(ZONE, *values)}})

    assert isinstance(fact, PersistentVolume)
    assert fact.affinity == ()


def test_an_object_of_another_type_is_a_problem() -> None:
    assert read("PersistentVolume", {"spec": 3}) == Problem(
        "Expected `object | null`, got `int` - at `$.spec`"
    )
    assert read("Secret", {}) == Problem("Secret is no kind of volume object")


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@pytest.mark.hypothesis
@examples(100)
@given(kind=st.sampled_from(sorted(READERS)), spec=json, metadata=json, status=json)
def test_whatever_is_sent_is_a_fact_or_a_problem(
    kind: str, spec: object, metadata: object, status: object
) -> None:
    fact = read(kind, {"metadata": metadata, "spec": spec, "status": status})

    assert isinstance(fact, Problem) or hash(fact) is not None


HOSTILE: list[Callable[[], dict[str, Any]]] = [
    lambda: {
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "k", "values": ["v"] * 9000}]}]
    },
    lambda: {"spec": {"drivers": [{"name": f"d{i}"} for i in range(9000)]}},
    lambda: {"nodeTopology": {"matchLabels": {f"k{i}": "v" for i in range(9000)}}},
]


@pytest.mark.parametrize(
    ("kind", "obj"),
    list(zip(("StorageClass", "CSINode", "CSIStorageCapacity"), HOSTILE, strict=True)),
    ids=["topologies", "drivers", "node labels"],
)
def test_what_is_too_much_to_read_counts_as_absent(
    kind: str, obj: Callable[[], dict[str, Any]]
) -> None:
    fact = read(kind, obj())

    assert not isinstance(fact, Problem)
    assert len(repr(fact)) < 10_000
