# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Decisions about a pod's volume claims, to be written before the pod is bound."""

from typing import NamedTuple


class VolumeRef(NamedTuple):
    """A chosen PersistentVolume; its uid distinguishes it from a later one of that name."""

    name: str
    uid: str


class VolumeClaimDecision(NamedTuple):
    """The decision for one claim that is not bound yet.

    Attributes:
        claim: `namespace/name`.
        uid: the claim's uid.
        volume: the volume that it gets; None = one must be provisioned.
        segment: the CSIStorageCapacity that a new volume uses, `namespace/name`; "" = none that is
            counted.
        node: the node for which a new volume is provisioned; "" = the pod's own.
    """

    claim: str
    uid: str
    volume: VolumeRef | None = None
    segment: str = ""
    node: str = ""


class VolumeDecision(NamedTuple):
    """What must be written before a pod is bound.

    Attributes:
        claims: a decision for each claim, in the order of the pod's volumes.
    """

    claims: tuple[VolumeClaimDecision, ...] = ()
