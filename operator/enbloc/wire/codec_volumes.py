# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A pod's volumes and resource claims: the parts that make its class, and the claims' names.

In a StatefulSet, claims have different names in each pod, but are otherwise alike. So names stay
with the pod, and everything else is part of its class.
"""

from collections.abc import Sequence
from typing import Any, Final

from enbloc.model.pods import PodResourceClaim, PodVolume
from enbloc.model.text import clipped
from enbloc.wire.objects import PodResourceClaimObject, PodSpecObject, PodStatusObject, Volume

CLAIM: Final = "claim"
EPHEMERAL: Final = "ephemeral"

#: Fields of Volume that hold an inline disk, by what the API calls them.
_DISKS: Final = {
    "gce_persistent_disk": "gcePersistentDisk",
    "aws_elastic_block_store": "awsElasticBlockStore",
    "azure_disk": "azureDisk",
    "azure_file": "azureFile",
    "cinder": "cinder",
    "vsphere_volume": "vsphereVolume",
    "portworx_volume": "portworxVolume",
    "iscsi": "iscsi",
    "rbd": "rbd",
}
#: How many characters of a disk's field (an identifier, or a list of hosts) are kept.
_LONGEST_FIELD: Final = 4096


def pod_volumes(volumes: Sequence[Volume]) -> tuple[PodVolume, ...]:
    """Those of `spec.volumes` that scheduling reads, in order."""
    found: list[PodVolume] = []
    for volume in volumes:
        if volume.persistent_volume_claim is not None:
            read_only = bool(volume.persistent_volume_claim.read_only)
            found.append(PodVolume(volume.name, CLAIM, read_only))
        elif volume.ephemeral is not None:
            found.append(PodVolume(volume.name, EPHEMERAL))
        else:
            found += _inline(volume)
    return tuple(found)


def _inline(volume: Volume) -> list[PodVolume]:
    for field, kind in _DISKS.items():
        disk: dict[str, Any] | None = getattr(volume, field)
        if disk is not None:
            fields = ((key, _text(value)) for key, value in sorted(disk.items()))
            kept = tuple((key, text) for key, text in fields if text is not None)
            return [PodVolume(volume.name, kind, disk.get("readOnly") is True, kept)]
    return []


def _text(value: object) -> str | None:
    """A field of a disk as text; None = it is an object, which scheduling never reads."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int):
        return clipped(str(value), _LONGEST_FIELD)
    if isinstance(value, list):
        return clipped(",".join(each for each in value if isinstance(each, str)), _LONGEST_FIELD)
    return None


def image_volumes(volumes: Sequence[Volume]) -> tuple[str, ...]:
    """The images that are mounted as volumes, as the pod spells them."""
    return tuple([each.image.reference for each in volumes if each.image and each.image.reference])


def claim_names(volumes: Sequence[Volume] | None, pod: str) -> tuple[str, ...]:
    """The claims of the volumes that have one, in order.

    Source of the name of an ephemeral volume's claim: kube-scheduler v1.36
    component-helpers/storage/ephemeral/ephemeral.go VolumeClaimName.
    """
    return tuple(
        [
            volume.persistent_volume_claim.claim_name
            if volume.persistent_volume_claim is not None
            else f"{pod}-{volume.name}"
            for volume in volumes or ()
            if volume.persistent_volume_claim is not None or volume.ephemeral is not None
        ]
    )


def pod_resource_claims(
    claims: Sequence[PodResourceClaimObject],
) -> tuple[PodResourceClaim, ...]:
    """`spec.resourceClaims`, without the names of the claims."""
    return tuple([PodResourceClaim(c.name, c.resource_claim_template_name or "") for c in claims])


def resource_claim_names(spec: PodSpecObject, status: PodStatusObject) -> tuple[str | None, ...]:
    """The ResourceClaim of each of `spec.resourceClaims`: its own, or the one made from a template.

    Source: kube-scheduler v1.36 dynamic-resource-allocation/resourceclaim/claim.go Name.
    """
    made = {each.name: each.resource_claim_name for each in status.resource_claim_statuses or ()}
    return tuple(
        [
            claim.resource_claim_name
            if claim.resource_claim_name is not None
            else made.get(claim.name, "")
            for claim in spec.resource_claims or ()
        ]
    )
