# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""In which of several versions the API server has a resource."""

from collections.abc import Sequence
from dataclasses import replace

from enbloc.client.client import Client
from enbloc.client.errors import Forbidden
from enbloc.client.paths import Resource


async def served(client: Client, resource: Resource, versions: Sequence[str]) -> Resource | None:
    """The resource in the first version that the server has; None = it has none of them.

    Args:
        client: the API.
        resource: in any version.
        versions: the best one first, which is taken where discovery is forbidden.

    Raises:
        APIError: the server does not say.
    """
    for version in versions:
        candidate = replace(resource, version=version)
        try:
            if await client.serves(candidate):
                return candidate
        except Forbidden:  # its list tells whether it is there
            return replace(resource, version=versions[0])
    return None
