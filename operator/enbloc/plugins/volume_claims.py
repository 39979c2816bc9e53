# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the plugins of volumes have in common: the table, and the claims that pods name."""

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

#: As many alike pods as no node has room for.
UNLIMITED: Final = 2**31 - 1


class FollowsVolumes:
    """A base of what answers by the table of volumes: pods without volumes make no difference."""

    def placed(self, pod: Pod, row: int) -> bool:
        """A pod with volumes may take some; what it took, the table says."""
        del row
        return bool(pod.spec.volumes)

    def removed(self, pod: Pod, row: int) -> bool:
        """Likewise when one leaves."""
        return self.placed(pod, row)

    def ignores(self, pod: Pod) -> bool:
        """Whether it has no volumes."""
        return not pod.spec.volumes


def volumes_of(nodes: Nodes) -> Volumes:
    """The table of volumes that a node table carries."""
    return ledgers_of(nodes).volumes


def claim_not_found(name: str) -> str:
    """What a lister says of a claim that does not exist."""
    return f'persistentvolumeclaim "{name}" not found'


def not_made_for(pod: Pod, claim: str) -> str:
    """That a claim of an ephemeral volume's name is not that volume's.

    Source: kubernetes v1.36 staging/src/k8s.io/component-helpers/storage/ephemeral/ephemeral.go
    VolumeIsForPod.
    """
    key = f"{pod.key.namespace}/{claim}"
    return f"PVC {key} was not created for pod {pod.key} (pod is not owner)"


def named_claims(pod: Pod) -> Sequence[str]:
    """The claims that the pod names itself, without those that are made for it."""
    return [name for name, ephemeral in names_of(pod) if not ephemeral]


def names_claim(event: Happening, facts: GroupFacts, *, ephemeral: bool = True) -> bool:
    """Whether the claim of an event is one that a pending pod names.

    Args:
        event: of a claim.
        facts: of the group.
        ephemeral: those that are made for pods count as well.
    """
    claim = event.fact
    if not isinstance(claim, PersistentVolumeClaim):
        return True
    return any(
        pod.key.namespace == claim.namespace
        and claim.name in (pod.claims if ephemeral else named_claims(pod))
        for pod in facts.pending
    )
