# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What was decided of a pod's volume claims, and is to be written before it is bound."""

from typing import NamedTuple


class VolumeRef(NamedTuple):
    """A PersistentVolume that was chosen; its uid tells it from a later one of that name."""

    name: str
    uid: str


class VolumeClaimDecision(NamedTuple):
    """What was decided for one claim that is not bound yet.

    Attributes:
        claim: `namespace/name`.
        uid: of the claim.
        volume: that it gets; None = one is to be made near the pod's node.
        segment: the CSIStorageCapacity that a new volume takes from, `namespace/name`; "" = of
            none that is counted.
    """

    claim: str
    uid: str
    volume: VolumeRef | None = None
    segment: str = ""


class VolumeDecision(NamedTuple):
    """What is to be done before a pod is bound.

    Attributes:
        claims: in the order of the pod's volumes.
    """

    claims: tuple[VolumeClaimDecision, ...] = ()
