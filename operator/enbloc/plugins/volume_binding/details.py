# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Details: which claim of a refused pod is at fault, and what it lacks."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from enbloc.model.quantity import render
from enbloc.model.resources import MEMORY
from enbloc.plugins.volume_binding.filter import BindingFilter
from enbloc.plugins.volume_claims import volumes_of
from enbloc.storage.facts import PersistentVolumeClaim
from enbloc.storage.known import KnownObjects
from enbloc.storage.table import Volumes
from enbloc.storage.wanted import ClaimStanding, WantedVolume, wanted_by

#: How many claims of one pod are examined, and how many are reported.
_MOST_CLAIMS: Final = 16
_MOST_TOLD: Final = 3


def binding_detail(pod: Pod, nodes: Nodes) -> str:
    """Why claims of a pod can be bound on no node, one sentence for each."""
    volumes = volumes_of(nodes)
    said: list[str] = []
    for each in islice(_once(wanted_by(pod, volumes.known)), _MOST_CLAIMS):
        if each.claim is None:
            continue
        if each.standing is ClaimStanding.IMMEDIATE:
            said.append(f"{_named(each.claim)} {_unbound(each.claim, volumes.known)}.")
        elif each.standing in (ClaimStanding.BOUND, ClaimStanding.DELAYED):
            said += _refused(pod, each, each.claim, nodes)
    return " ".join(said[:_MOST_TOLD])


def _once(wanted: Iterable[WantedVolume]) -> Iterable[WantedVolume]:
    return {each.key: each for each in wanted}.values()


def _named(claim: PersistentVolumeClaim) -> str:
    return f"PersistentVolumeClaim {claim.name}"


def _unbound(claim: PersistentVolumeClaim, known: KnownObjects) -> str:
    """What an unbound claim waits for that should be bound regardless of pods."""
    if claim.volume:
        if claim.volume not in known.volumes:
            return f"names PersistentVolume {claim.volume}, which does not exist"
        return f"is not bound to PersistentVolume {claim.volume} yet; look at its events"
    if not claim.storage_class:
        return "has no StorageClass: set storageClassName, or bind a PersistentVolume to it"
    found = known.classes.get(claim.storage_class)
    if found is None:
        return f"names StorageClass {claim.storage_class}, which does not exist"
    return (
        f"is not bound yet: StorageClass {claim.storage_class} binds without waiting for a pod; "
        "look at its events"
    )


def _refused(
    pod: Pod, wanted: WantedVolume, claim: PersistentVolumeClaim, nodes: Nodes
) -> Iterator[str]:
    """What a claim that keeps its pod off nodes lacks, by the first reason that applies."""
    volumes = volumes_of(nodes)
    found = BindingFilter(pod, volumes, [wanted]).refusals(nodes)
    held = volumes.held(claim.key)
    if found.elsewhere.any():
        node = next(
            (user.node for _, user in volumes.users(claim.key) if user.group == pod.group), ""
        )
        yield (
            f"{_named(claim)} (ReadWriteOnce) is shared by members, which have to fit on one node; "
            f"those before this one are on node {node}."
        )
    elif found.no_space.any():
        yield f"{_named(claim)} needs {_size(claim)}; {_largest(claim, volumes, nodes)}."
    elif found.not_reached.any():
        yield f"{_named(claim)} is bound to PersistentVolume {claim.volume}, which is elsewhere."
    elif found.no_volume.any():
        yield f"{_named(claim)} is bound to PersistentVolume {claim.volume}, which does not exist."
    elif not found.nothing_to_bind.any():
        return
    elif held is not None and not held.volume:
        text = "is shared by members, and is to be provisioned for node"
        yield f"{_named(claim)} {text} {held.node}."
    elif claim.selected_node is not None:
        yield f"{_named(claim)} is to be provisioned for node {claim.selected_node}."
    elif _makes(claim, volumes.known):
        yield f"{_named(claim)} needs {_size(claim)}, whose allowedTopologies exclude nodes."
    else:
        yield f"{_named(claim)} needs an available PersistentVolume: {_size(claim)}."


def _makes(claim: PersistentVolumeClaim, known: KnownObjects) -> bool:
    found = known.classes.get(claim.storage_class)
    return found is not None and found.provisions


def _size(claim: PersistentVolumeClaim) -> str:
    size = "a volume" if claim.request is None else render(MEMORY, claim.request)
    return f"{size} of StorageClass {claim.storage_class}"


def _largest(claim: PersistentVolumeClaim, volumes: Volumes, nodes: Nodes) -> str:
    """The largest volume of the claim's class that any node could have."""
    segments = volumes.known.segments(claim.storage_class)
    if segments is None:
        return "no node has any"
    charged = volumes.holdings.charged(claim.storage_class, segments)
    reached = segments.reach(nodes).any(axis=1)
    most = int(segments.largest(charged)[reached].max(initial=0))
    if not most:
        return "no node has any left"
    return f"at most {render(MEMORY, most)} can be provisioned on one node"
