# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Decisions: what is to be written for a pod's volumes and devices before it is bound."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StaticBinding:
    """A claim gets a PersistentVolume that exists.

    Attributes:
        claim: the name of the PersistentVolumeClaim, in the pod's namespace.
        uid: of the claim.
        volume: the name of the PersistentVolume.
    """

    claim: str
    uid: str
    volume: str


@dataclass(frozen=True, slots=True)
class Provision:
    """A volume is to be provisioned for a claim.

    Attributes:
        claim: the name of the PersistentVolumeClaim, in the pod's namespace.
        uid: of the claim.
        segment: the CSIStorageCapacity that it takes from, `namespace/name`; "" = of none.
    """

    claim: str
    uid: str
    segment: str = ""


@dataclass(frozen=True, slots=True)
class VolumeDecision:
    """What a pod's claims get, in the order in which they are written."""

    bindings: tuple[StaticBinding, ...] = ()
    provisions: tuple[Provision, ...] = ()


@dataclass(frozen=True, slots=True)
class Consumer:
    """For whom a ResourceClaim is reserved: a pod, or a PodGroup for all of its pods.

    Attributes:
        group: the API group; "" for pods.
        resource: "pods" or "podgroups".
    """

    name: str
    uid: str
    group: str = ""
    resource: str = "pods"


@dataclass(frozen=True, slots=True)
class ClaimDecision:
    """What is written to one ResourceClaim.

    Attributes:
        claim: its name, in the pod's namespace.
        uid: of the claim.
        allocation: status.allocation as JSON; "" = it is allocated already.
        consumer: for whom it is reserved; None = for the pod.
    """

    claim: str
    uid: str
    allocation: str = ""
    consumer: Consumer | None = None


@dataclass(frozen=True, slots=True)
class ExtendedDecision:
    """The ResourceClaim that stands for a pod's extended resources.

    Attributes:
        requests: spec.devices.requests as JSON.
        mappings: `(container, resource, request)` each: which container uses which request.
        allocation: status.allocation as JSON.
    """

    requests: str
    mappings: tuple[tuple[str, str, str], ...]
    allocation: str


@dataclass(frozen=True, slots=True)
class DeviceDecision:
    """What a pod's resource claims get, in the order of its spec."""

    claims: tuple[ClaimDecision, ...] = ()
    extended: ExtendedDecision | None = None
