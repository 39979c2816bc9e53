# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Wanted: the claims of one pod, and how each of them stands."""

import enum
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from enbloc.model.pods import Pod, PodVolume
from enbloc.storage.facts import PersistentVolumeClaim
from enbloc.storage.known import Known


class ClaimStanding(enum.Enum):
    """How a claim stands, and so what it means for its pod.

    MISSING, LOST, DELETING: it cannot be used.
    FOREIGN: of an ephemeral volume, and made for another pod.
    UNREADABLE: it says something that cannot be read.
    BOUND: to a volume, for good.
    IMMEDIATE: it is to be bound without any pod, and is not yet.
    DELAYED: it is bound where its pod goes.
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
        name: of the claim.
        key: `namespace/name`.
        ephemeral: it is made for the pod.
        standing: how it stands.
        claim: the object; None = it is missing.
    """

    name: str
    key: str
    ephemeral: bool
    standing: ClaimStanding
    claim: PersistentVolumeClaim | None

    def is_made_for(self, pod: Pod) -> bool:
        """Whether the claim is the one that was made for the pod's ephemeral volume."""
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


def wanted_by(pod: Pod, known: Known) -> Sequence[WantedVolume]:
    """The claims of a pod, in its order; the same one more than once if it names it so.

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


def to_be_made(pod: Pod, known: Known) -> bool:
    """Whether a claim of one of the pod's ephemeral volumes has not been created yet."""
    namespace = pod.key.namespace
    return any(
        ephemeral and f"{namespace}/{name}" not in known.claims for name, ephemeral in names_of(pod)
    )


def _standing(
    pod: Pod, claim: PersistentVolumeClaim | None, known: Known, *, ephemeral: bool
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
    """The claims that are bound where the pod goes, each once, the smallest first."""
    once = {
        each.key: each.claim
        for each in wanted
        if each.standing is ClaimStanding.DELAYED and each.claim is not None
    }
    return sorted(once.values(), key=lambda claim: claim.size)
