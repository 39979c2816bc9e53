# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A kubelet's view of its pods' claims: no pod starts before it has what it names."""

import asyncio
from typing import Final

from enbloc.client.client import Client
from enbloc.client.paths import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    RESOURCE_CLAIMS,
)
from enbloc_sandbox.nodes.claims.following import Following
from enbloc_sandbox.nodes.claims.of_pods import has_claims, unmet
from enbloc_sandbox.nodes.objects import Object

_CLAIMS: Final = (PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, RESOURCE_CLAIMS)


class Mounts:
    """Waits with pods for their claims.

    Args:
        client: the API.
    """

    def __init__(self, client: Client) -> None:
        self._following = Following(client, NODES, *_CLAIMS)
        self._waiting: dict[str, asyncio.Event] = {}

    async def run(self) -> None:
        """Watch until cancelled."""
        await self._following.run(self._wake)

    async def _wake(self) -> None:
        for waiting in self._waiting.values():
            waiting.set()

    async def ready(self, pod: Object) -> None:
        """Return once a bound pod has all that it names."""
        if not has_claims(pod):
            return
        uid = pod.metadata.uid
        changed = self._waiting[uid] = asyncio.Event()
        try:
            while not self._following.complete or self._unmet(pod):
                await changed.wait()
                changed.clear()
        finally:
            del self._waiting[uid]

    def _unmet(self, pod: Object) -> str:
        node = self._following.of(NODES).get(pod.spec["nodeName"], Object())
        claims, volumes, resource_claims = (self._following.of(kind) for kind in _CLAIMS)
        return unmet(pod, node, claims, volumes, resource_claims)
