# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which service accounts can be a scheduler's: those that may bind pods of all namespaces.

Anyone who may edit a namespace may write Leases and Deployments there that look like a scheduler's.
"""

from typing import Final

from enbloc.client.client import Client
from enbloc.client.errors import Forbidden
from enbloc.client.lease_objects import RoleBindingObject
from enbloc.client.paths import CLUSTER_ROLE_BINDINGS
from enbloc.doctor.permissions import reviewed

_BIND: Final = {"resource": "pods", "subresource": "binding", "verb": "create"}
#: The most accounts that are reviewed; further ones count as a scheduler's.
_MOST: Final = 512


class Accounts:
    """The reviewed service accounts; one that cannot be reviewed counts as a scheduler's."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._binds: dict[str, bool] = {}
        self._bound: dict[str, set[str]] | None = None

    async def binds(self, namespace: str, account: str) -> bool:
        """Whether a service account may bind pods of all namespaces."""
        user = f"system:serviceaccount:{namespace}:{account}"
        if user not in self._binds:
            if len(self._binds) >= _MOST:
                return True
            try:
                self._binds[user] = await reviewed(self._client, _BIND, user)
            except Forbidden:
                return True
        return self._binds[user]

    async def any_binds(self, namespace: str) -> bool:
        """Whether any account of a namespace may: "default", or one in a ClusterRoleBinding."""
        if self._bound is None:
            try:
                self._bound = await self._by_namespace()
            except Forbidden:
                return True
        for account in sorted(self._bound.get(namespace, ())):
            if await self.binds(namespace, account):
                return True
        return await self.binds(namespace, "default")  # stands for the group of all its accounts

    async def _by_namespace(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        listed = self._client.list(CLUSTER_ROLE_BINDINGS, shape=RoleBindingObject)
        async for binding in listed:
            for each in binding.subjects or ():
                if each.namespace:
                    found.setdefault(each.namespace, set()).add(each.name)
        return found
