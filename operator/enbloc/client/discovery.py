# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which of several resources, or versions of one, the API server has: kinds come and go."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from enbloc.client.client import Client
from enbloc.client.errors import APIError, Forbidden
from enbloc.client.paths import Resource

#: How often is looked whether the server has another one by now, about (seconds).
LOOK_SECONDS: Final = 30.0


async def first_served(client: Client, resources: Sequence[Resource]) -> Resource | None:
    """The first of these that the server has; None = it has none.

    Raises:
        APIError: the server does not say.
    """
    for resource in resources:
        if await client.serves(resource):
            return resource
    return None


async def until_changed(
    client: Client, resources: Sequence[Resource], before: Resource | None
) -> None:
    """Return once another one than before is the first of these that the server has.

    Where the server cannot tell, nothing has changed.
    """
    while True:
        await asyncio.sleep(LOOK_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311
        try:
            if await first_served(client, resources) != before:
                return
        except APIError:
            continue


async def served(client: Client, resource: Resource, versions: Sequence[str]) -> Resource | None:
    """The resource in the first version that the server has; None = it has none of them.

    Args:
        client: the API.
        resource: in any version.
        versions: the best one first, which is taken where discovery is forbidden.

    Raises:
        APIError: the server does not say.
    """
    candidates = [replace(resource, version=version) for version in versions]
    try:
        return await first_served(client, candidates)
    except Forbidden:  # its list tells whether it is there
        return candidates[0]
