# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What was decided of a pod's resource claims, and is to be written before it is bound."""

from typing import NamedTuple

from enbloc.devices.facts import Allocation, Request
from enbloc.model.pods import PodResourceClaim


class Listing(NamedTuple):
    """How a PodGroup of Kubernetes lists a claim, if it has it for all of its pods.

    Attributes:
        pod_group: the PodGroup that the pod names.
        claims: what the pod calls the claim; an entry of the PodGroup has to be the same.
    """

    pod_group: str
    claims: tuple[PodResourceClaim, ...]


class DeviceClaimDecision(NamedTuple):
    """What was decided for one claim.

    Attributes:
        claim: `namespace/name`.
        uid: of the claim.
        allocation: what it gets, or has already.
        listing: where it may be listed, to be reserved for a PodGroup; None = it is for the pod.
        problem: why there is nothing that could be written; "" = there is.
        found: others may use it as well, and it had the allocation: it is not given it again.
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
        requests: of its spec.
        mappings: `(container, resource, request)` each: which container uses which request.
        claim: its key, where it was made before; "" = its name follows from the pod.
    """

    requests: tuple[Request, ...]
    mappings: tuple[tuple[str, str, str], ...]
    allocation: Allocation
    claim: str = ""


class DeviceDecision(NamedTuple):
    """What is to be done before a pod is bound.

    Attributes:
        claims: in the order of the pod's spec.
        extended: None = it has no extended resources that devices serve.
    """

    claims: tuple[DeviceClaimDecision, ...] = ()
    extended: ExtendedDecision | None = None
