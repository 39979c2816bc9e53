# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Wanted: the claims of one pod, and the state of each."""

import enum
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from enbloc.model.pods import Pod, PodVolume
from enbloc.storage.facts import PersistentVolumeClaim
from enbloc.storage.known import KnownObjects


class ClaimStanding(enum.Enum):
    """The state of a claim, as it matters to its pod.

    MISSING, LOST, DELETING: it cannot be used. FOREIGN: it has the name of an ephemeral volume's
    claim, but was made for another pod. UNREADABLE: part of it cannot be read. BOUND: it is bound
    to a volume, for good. IMMEDIATE: it will be bound regardless of pods, but is not yet. DELAYED:
    binding waits for its pod's node.
    """

    MISSING = "missing"
    LOST = "lost"
    DELETING = "deleting"
    FOREIGN = "foreign"
    UNREADABLE = "unreadable"
    BOUND = "bound"
    IMMEDIATE = "immediate"
    DELAYED = "delayed"


class WantedVolume(NamedTuple):
    """One claim of a pod.

    Attributes:
        name: the claim's name.
        key: `namespace/name`.
        ephemeral: the claim is made for the pod.
        standing: its state.
        claim: the object; None = it is missing.
    """

    name: str
    key: str
    ephemeral: bool
    standing: ClaimStanding
    claim: PersistentVolumeClaim | None

    def is_made_for(self, pod: Pod) -> bool:
        """Whether the claim was made for the pod's ephemeral volume."""
        return self.claim is not None and self.claim.owner != "" and self.claim.owner == pod.uid


_CLAIMS: Final = frozenset(("claim", "ephemeral"))


def inline_volumes(pod: Pod) -> list[PodVolume]:
    """The volumes of a pod that need no claim, in its order."""
    return [each for each in pod.spec.volumes if each.kind not in _CLAIMS]


def names_of(pod: Pod) -> Iterator[tuple[str, bool]]:
    """The claims that a pod names, in its order, and whether each is made for it."""
    kinds = [each.kind for each in pod.spec.volumes if each.kind in _CLAIMS]
    for place, name in enumerate(pod.claims):
        yield name, place < len(kinds) and kinds[place] == "ephemeral"


def wanted_by(pod: Pod, known: KnownObjects) -> Sequence[WantedVolume]:
    """The claims of a pod, in its order, with repetitions.

    Source: kube-scheduler v1.36 pkg/scheduler/framework/plugins/volumebinding/volume_binding.go
    podHasPVCs; pkg/scheduler/framework/plugins/volumebinding/binder.go GetPodVolumeClaims.
    """
    found: list[WantedVolume] = []
    for name, ephemeral in names_of(pod):
        key = f"{pod.key.namespace}/{name}"
        claim = known.claims.get(key)
        standing = _standing(pod, claim, known, ephemeral=ephemeral)
        found.append(WantedVolume(name, key, ephemeral, standing, claim))
    return found


def to_be_made(pod: Pod, known: KnownObjects) -> bool:
    """Whether a claim of one of the pod's ephemeral volumes has not been created yet."""
    namespace = pod.key.namespace
    return any(
        ephemeral and f"{namespace}/{name}" not in known.claims for name, ephemeral in names_of(pod)
    )


def _standing(
    pod: Pod, claim: PersistentVolumeClaim | None, known: KnownObjects, *, ephemeral: bool
) -> ClaimStanding:
    if claim is None:
        return ClaimStanding.MISSING
    if claim.lost:
        return ClaimStanding.LOST
    if claim.deleting:
        return ClaimStanding.DELETING
    if ephemeral and (claim.owner == "" or claim.owner != pod.uid):
        return ClaimStanding.FOREIGN
    if claim.bound:
        return ClaimStanding.BOUND
    if claim.problem:
        return ClaimStanding.UNREADABLE
    return ClaimStanding.DELAYED if known.delayed(claim) else ClaimStanding.IMMEDIATE


def delayed_of(wanted: Sequence[WantedVolume]) -> list[PersistentVolumeClaim]:
    """The claims whose binding waits for the pod, each once, the smallest first."""
    once = {
        each.key: each.claim
        for each in wanted
        if each.standing is ClaimStanding.DELAYED and each.claim is not None
    }
    return sorted(once.values(), key=lambda claim: claim.size)
