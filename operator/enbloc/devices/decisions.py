# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Decisions about a pod's resource claims, to be written before the pod is bound."""

from typing import NamedTuple

from enbloc.devices.facts import Allocation, Request
from enbloc.model.pods import PodResourceClaim


class Listing(NamedTuple):
    """How a Kubernetes PodGroup would list a claim that all of its pods share.

    Attributes:
        pod_group: the PodGroup that the pod names.
        claims: the pod's entries for the claim; an entry of the PodGroup must equal one.
    """

    pod_group: str
    claims: tuple[PodResourceClaim, ...]


class DeviceClaimDecision(NamedTuple):
    """The decision for one claim.

    Attributes:
        claim: `namespace/name`.
        uid: the claim's uid.
        allocation: the devices that it gets, or already has.
        listing: how its PodGroup may list it, to reserve it for the PodGroup; None = reserve it for
            the pod.
        problem: why nothing can be written; "" = it can.
        found: the claim may have other users and was already allocated: never allocate it again.
    """

    claim: str
    uid: str
    allocation: Allocation | None = None
    listing: Listing | None = None
    problem: str = ""
    found: bool = False


class ExtendedDecision(NamedTuple):
    """The claim that stands for a pod's extended resources.

    Attributes:
        requests: the requests of its spec.
        mappings: which container uses which request, each `(container, resource, request)`.
        claim: its key, if it exists already; "" = its name follows from the pod.
    """

    requests: tuple[Request, ...]
    mappings: tuple[tuple[str, str, str], ...]
    allocation: Allocation
    claim: str = ""


class DeviceDecision(NamedTuple):
    """What must be written before a pod is bound.

    Attributes:
        claims: a decision for each claim, in the order of the pod's spec.
        extended: the claim for extended resources; None = devices serve none of the pod's.
    """

    claims: tuple[DeviceClaimDecision, ...] = ()
    extended: ExtendedDecision | None = None
