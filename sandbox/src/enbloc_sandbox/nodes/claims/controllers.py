# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The controllers of volumes and of resource claims, as clients of the API.

On a real cluster kube-controller-manager does their work: its controllers of volume binding,
ephemeral volumes, protection of volumes and claims, and resource claims.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from enbloc.client.client import Client
from enbloc.client.discovery import served
from enbloc.client.errors import APIError
from enbloc.client.paths import (
    NATIVE_POD_GROUPS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    RESOURCE_CLAIMS,
    STORAGE_CLASSES,
    Resource,
)
from enbloc_sandbox.nodes.claims import devices, volumes
from enbloc_sandbox.nodes.claims.events import Told
from enbloc_sandbox.nodes.claims.following import Following
from enbloc_sandbox.nodes.objects import Object

#: How often is looked whether PodGroups are served by now.
LOOK_SECONDS: Final = 2.0


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
        self._told: Told = set()

    async def run(self) -> None:
        """Work until cancelled."""
        await self._following.run(self._step)

    async def _step(self) -> None:
        of = self._following.of
        claims = of(PERSISTENT_VOLUME_CLAIMS)
        _keep(self._told, {each.metadata.uid for each in claims.values()})
        storage = volumes.Storage(
            claims=claims,
            volumes=of(PERSISTENT_VOLUMES),
            classes=of(STORAGE_CLASSES),
            pods=of(PODS),
            told=self._told,
        )
        await self._following.carry_out(list(volumes.changes(storage)))


class ResourceClaimController:
    """Makes claims from templates, and takes them back from pods and PodGroups that ended.

    Args:
        client: the API.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._following = Following(client, RESOURCE_CLAIMS, devices.RESOURCE_CLAIM_TEMPLATES, PODS)
        self._groups: Following | None = None
        self._grouping: Resource | None = None
        self._looked = False
        self._made: dict[tuple[str, str], str] = {}
        self._told: Told = set()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_groups())
            tasks.create_task(self._following.run(self._step))

    async def _follow_groups(self) -> None:
        """Follow Kubernetes' own PodGroups, from when they are served."""
        versions = [each.version for each in NATIVE_POD_GROUPS]
        while self._grouping is None:
            with suppress(APIError):
                self._grouping = await served(self._client, NATIVE_POD_GROUPS[0], versions)
                if not self._looked:
                    self._looked = True
                    self._following.changed.set()
            if self._grouping is None:
                await asyncio.sleep(LOOK_SECONDS)
        self._groups = Following(self._client, self._grouping)
        await self._groups.run(self._look_again)

    @property
    def _pod_groups(self) -> Mapping[str, Object]:
        groups, grouping = self._groups, self._grouping
        return groups.of(grouping) if groups is not None and grouping is not None else {}

    async def _look_again(self) -> None:
        self._following.changed.set()

    async def _step(self) -> None:
        of = self._following.of
        if not self._looked or (self._groups is not None and not self._groups.complete):
            return
        self._forget()
        known = devices.Devices(
            claims=of(RESOURCE_CLAIMS),
            templates=of(devices.RESOURCE_CLAIM_TEMPLATES),
            pods=of(PODS),
            made=self._made,
            pod_groups=self._pod_groups,
            grouping=self._grouping,
            told=self._told,
        )
        found = list(devices.changes(known))
        answers = await self._following.carry_out(found)
        for change, answer in zip(found, answers, strict=True):
            if change.create and change.resource == RESOURCE_CLAIMS and answer is not None:
                metadata = answer["metadata"]
                alias = metadata["annotations"][devices.FOR_POD_CLAIM]
                self._made[change.of.metadata.uid, alias] = metadata["name"]
                self._following.changed.set()  # the pod's status is to name it

    def _forget(self) -> None:
        """What the watch shows by now, and what was made for, or said of, pods that are gone."""
        shown = {claim.metadata.name for claim in self._following.of(RESOURCE_CLAIMS).values()}
        known = (*self._following.of(PODS).values(), *self._pod_groups.values())
        owners = {each.metadata.uid for each in known}
        _keep(self._told, owners)
        for key, name in list(self._made.items()):
            if name in shown or key[0] not in owners:
                del self._made[key]


def _keep(told: Told, uids: set[str]) -> None:
    """Forget what was said of objects that are gone."""
    told -= {said for said in told if said[0] not in uids}
