# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Old kinds of disks, as the CSI drivers see them.

Cases from kubernetes v1.36 staging/src/k8s.io/csi-translation-lib/plugins.
"""

import pytest

from enbloc.model.pods import NodeSelectorTerm, PodVolume
from enbloc.model.requirements import Operator, Requirement
from enbloc.storage.facts import Affinity, Attachable
from enbloc.storage.in_tree import (
    OLD_REGION,
    OLD_ZONE,
    REGION,
    ZONE,
    driver_of,
    inline,
    is_old_provisioner,
    migratable,
    translated,
    translated_affinity,
)
from tests.world.storage import inline as disk

GKE = "topology.gke.io/zone"
UNSPECIFIED = "projects/UNSPECIFIED/zones/UNSPECIFIED/disks"


def in_all(**wanted: tuple[str, ...]) -> Affinity:
    names = {"zone": ZONE, "old_zone": OLD_ZONE, "old_region": OLD_REGION, "region": REGION,
             "gke": GKE, "host": "host"}  # fmt: skip
    expressions = (Requirement(names[key], Operator.IN, vals) for key, vals in wanted.items())
    return (NodeSelectorTerm(tuple(expressions)),)


@pytest.mark.parametrize(
    ("kind", "fields", "labels", "expected"),
    [
        pytest.param("awsElasticBlockStore", {"volumeID": "vol-1"}, {}, "vol-1", id="EBS"),
        pytest.param(
            "awsElasticBlockStore", {"volumeID": "aws:///vol-1"}, {}, "vol-1", id="EBS, as a URL"
        ),
        pytest.param(
            "awsElasticBlockStore", {"volumeID": "aws://us-east-1/vol-1"}, {}, "vol-1",
            id="EBS, with its zone",
        ),
        pytest.param("gcePersistentDisk", {"pdName": "d"}, {}, f"{UNSPECIFIED}/d", id="GCE"),
        pytest.param(
            "gcePersistentDisk", {"pdName": "d"}, {ZONE: "us-west1-a"},
            "projects/UNSPECIFIED/zones/us-west1-a/disks/d", id="GCE, of a zone",
        ),
        pytest.param(
            "gcePersistentDisk", {"pdName": "d"}, {OLD_ZONE: "us-west1-a__us-west1-b"},
            "projects/UNSPECIFIED/regions/us-west1/disks/d", id="GCE, of a region",
        ),
        pytest.param("azureDisk", {"diskURI": "/a/b", "kind": "Managed"}, {}, "/a/b", id="Azure"),
        pytest.param("cinder", {"volumeID": "c"}, {}, "c", id="Cinder"),
        pytest.param("portworxVolume", {"volumeID": "p"}, {}, "p", id="Portworx"),
    ],
)  # fmt: skip
def test_a_disk_has_the_handle_that_its_driver_gives_it(
    kind: str, fields: dict[str, str], labels: dict[str, str], expected: str
) -> None:
    assert translated(kind, fields, labels).handle == expected
    if not labels:
        volume = PodVolume("disk", kind, disk=tuple(sorted(fields.items())))
        assert inline(volume) == translated(kind, fields, {})


@pytest.mark.parametrize(
    ("kind", "fields", "labels", "message"),
    [
        pytest.param(
            "awsElasticBlockStore", {"volumeID": "aws://us/disk"}, {},
            r"Invalid format for AWS volume \(aws://us/disk\)", id="no EBS volume",
        ),
        pytest.param(
            "azureDisk", {"diskURI": "x", "kind": "Shared"}, {},
            r"kind\(Shared\) is not supported in csi migration", id="an unmanaged disk",
        ),
        pytest.param(
            "gcePersistentDisk", {"pdName": "d"}, {ZONE: "us-west1-a__us-east1-b"},
            "failed to get region from zones", id="two regions",
        ),
        pytest.param(
            "gcePersistentDisk", {"pdName": "d"}, {ZONE: "a__b"}, "failed to get region",
            id="odd zones",
        ),
    ],
)  # fmt: skip
def test_a_disk_that_makes_no_sense_says_why(
    kind: str, fields: dict[str, str], labels: dict[str, str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        translated(kind, fields, labels)


@pytest.mark.parametrize(
    ("affinity", "labels", "expected"),
    [
        pytest.param(None, {}, None, id="nothing is said"),
        pytest.param(in_all(zone=("a",)), {}, in_all(gke=("a",)), id="its zone"),
        pytest.param(
            in_all(old_zone=("a",), old_region=("r",)), {}, in_all(gke=("a",), region=("r",)),
            id="its zone and region by the old labels",
        ),
        pytest.param(None, {ZONE: "b__a"}, in_all(gke=("a", "b")), id="its label"),
        pytest.param(
            in_all(host=("h",)), {OLD_ZONE: "a"}, in_all(host=("h",), gke=("a",)),
            id="its label beside other terms",
        ),
        pytest.param(
            in_all(zone=("a",)), {ZONE: "b"}, in_all(gke=("a",)), id="its zone before its label"
        ),
        pytest.param(None, {ZONE: " "}, None, id="a label without zones"),
    ],
)  # fmt: skip
def test_a_disk_is_reached_by_the_labels_of_its_driver(
    affinity: Affinity, labels: dict[str, str], expected: Affinity
) -> None:
    assert translated_affinity("gcePersistentDisk", affinity, labels) == expected


def test_a_disk_without_zones_of_its_own_is_reached_as_before() -> None:
    assert translated_affinity("azureDisk", in_all(zone=("a",)), {}) == in_all(zone=("a",))


def test_some_kinds_are_known_and_never_served() -> None:
    assert inline(disk("iscsi", iqn="x")) is None
    assert inline(disk("azureFile", shareName="x")) is None
    assert migratable(disk("azureFile", shareName="x"))
    assert not migratable(disk("rbd"))
    assert is_old_provisioner("kubernetes.io/azure-file")
    assert driver_of("kubernetes.io/azure-file") is None
    assert driver_of("kubernetes.io/cinder") == "cinder.csi.openstack.org"
    assert inline(disk("cinder", volumeID="x")) == Attachable("cinder.csi.openstack.org", "x")
