# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Helpers of the volume plugins: the table of volumes, and the claims that pods name."""

from collections.abc import Sequence
from typing import Final

from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Happening
from enbloc.ledgers import ledgers_of
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from enbloc.storage.facts import PersistentVolumeClaim
from enbloc.storage.table import Volumes
from enbloc.storage.wanted import names_of

#: More alike pods than any node takes.
UNLIMITED: Final = 2**31 - 1


class FollowsVolumes:
    """Base class of evaluators that read the table of volumes; it ignores other pods."""

    def placed(self, pod: Pod, row: int) -> bool:
        """Whether the pod has volumes, and so may have taken some; the table knows which."""
        del row
        return bool(pod.spec.volumes)

    def removed(self, pod: Pod, row: int) -> bool:
        """Whether the pod has volumes, so that it may have freed storage."""
        return self.placed(pod, row)

    def ignores(self, pod: Pod) -> bool:
        """Whether it has no volumes."""
        return not pod.spec.volumes


def volumes_of(nodes: Nodes) -> Volumes:
    """The table of volumes of a node table."""
    return ledgers_of(nodes).volumes


def claim_not_found(name: str) -> str:
    """The message for a claim that does not exist, as upstream's lister words it."""
    return f'persistentvolumeclaim "{name}" not found'


def not_made_for(pod: Pod, claim: str) -> str:
    """The message that a claim with an ephemeral volume's name was not made for it.

    Source: kubernetes v1.36 staging/src/k8s.io/component-helpers/storage/ephemeral/ephemeral.go
    VolumeIsForPod.
    """
    key = f"{pod.key.namespace}/{claim}"
    return f"PVC {key} was not created for pod {pod.key} (pod is not owner)"


def named_claims(pod: Pod) -> Sequence[str]:
    """The claims that the pod itself names, without those that are made for it."""
    return [name for name, ephemeral in names_of(pod) if not ephemeral]


def names_claim(event: Happening, facts: GroupFacts, *, ephemeral: bool = True) -> bool:
    """Whether a pending pod names the claim of an event.

    Args:
        event: an event of a claim.
        facts: the group.
        ephemeral: claims that are made for pods count, too.
    """
    claim = event.fact
    if not isinstance(claim, PersistentVolumeClaim):
        return True
    return any(
        pod.key.namespace == claim.namespace
        and claim.name in (pod.claims if ephemeral else named_claims(pod))
        for pod in facts.pending
    )
