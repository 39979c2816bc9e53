# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The controllers of volumes and of resource claims, as clients of the API.

On a real cluster kube-controller-manager does their work: its controllers of volume binding,
ephemeral volumes, protection of volumes and claims, and resource claims.
"""

from enbloc.kube.client import Client
from enbloc.kube.paths import (
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    RESOURCE_CLAIMS,
    STORAGE_CLASSES,
)
from enbloc.sandbox.nodes.claims import devices, volumes
from enbloc.sandbox.nodes.claims.following import Following


class VolumeController:
    """Binds volumes and claims, makes the claims of pods' own volumes, ends protection.

    Args:
        client: the API.
    """

    def __init__(self, client: Client) -> None:
        self._following = Following(
            client,
            PERSISTENT_VOLUME_CLAIMS,
            PERSISTENT_VOLUMES,
            PODS,
            STORAGE_CLASSES,
            shapes={STORAGE_CLASSES: volumes.StorageClass},
        )

    async def run(self) -> None:
        """Work until cancelled."""
        await self._following.run(self._step)

    async def _step(self) -> None:
        of = self._following.of
        storage = volumes.Storage(
            claims=of(PERSISTENT_VOLUME_CLAIMS),
            volumes=of(PERSISTENT_VOLUMES),
            classes=of(STORAGE_CLASSES),
            pods=of(PODS),
        )
        await self._following.carry_out(list(volumes.changes(storage)))


class ResourceClaimController:
    """Makes claims from templates, and takes them back from pods that ended.

    Args:
        client: the API.
    """

    def __init__(self, client: Client) -> None:
        self._following = Following(client, RESOURCE_CLAIMS, devices.RESOURCE_CLAIM_TEMPLATES, PODS)
        self._made: dict[tuple[str, str], str] = {}

    async def run(self) -> None:
        """Work until cancelled."""
        await self._following.run(self._step)

    async def _step(self) -> None:
        of = self._following.of
        self._forget()
        known = devices.Devices(
            claims=of(RESOURCE_CLAIMS),
            templates=of(devices.RESOURCE_CLAIM_TEMPLATES),
            pods=of(PODS),
            made=self._made,
        )
        found = list(devices.changes(known))
        answers = await self._following.carry_out(found)
        for change, answer in zip(found, answers, strict=True):
            if change.create and answer is not None:
                metadata = answer["metadata"]
                alias = metadata["annotations"][devices.FOR_POD_CLAIM]
                self._made[change.of.metadata.uid, alias] = metadata["name"]
                self._following.changed.set()  # the pod's status is to name it

    def _forget(self) -> None:
        """What the watch shows by now, and what was made for pods that are gone."""
        shown = {claim.metadata.name for claim in self._following.of(RESOURCE_CLAIMS).values()}
        pods = {pod.metadata.uid for pod in self._following.of(PODS).values()}
        for key, name in list(self._made.items()):
            if name in shown or key[0] not in pods:
                del self._made[key]
