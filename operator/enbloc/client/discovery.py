# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which of several resources, or versions of one, the API server serves: kinds come and go."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from enbloc.client.client import Client
from enbloc.client.errors import APIError, Forbidden
from enbloc.client.paths import Resource

#: The mean interval between two checks whether the server serves another one (seconds).
LOOK_SECONDS: Final = 30.0


async def first_served(client: Client, resources: Sequence[Resource]) -> Resource | None:
    """The first of these resources that the server serves; None = it serves none.

    Raises:
        APIError: the server's discovery cannot be read.
    """
    for resource in resources:
        if await client.serves(resource):
            return resource
    return None


async def until_changed(
    client: Client, resources: Sequence[Resource], before: Resource | None
) -> None:
    """Return once the first resource that the server serves is not `before` any more.

    While discovery fails, nothing counts as changed.
    """
    while True:
        await asyncio.sleep(LOOK_SECONDS * random.uniform(0.8, 1.2))  # noqa: S311
        try:
            if await first_served(client, resources) != before:
                return
        except APIError:
            continue


async def served(client: Client, resource: Resource, versions: Sequence[str]) -> Resource | None:
    """The resource in the first of these versions that the server serves; None = in none.

    Args:
        client: the API.
        resource: in any version.
        versions: the best one first; that one is taken if discovery is forbidden.

    Raises:
        APIError: the server's discovery cannot be read.
    """
    candidates = [replace(resource, version=version) for version in versions]
    try:
        return await first_served(client, candidates)
    except Forbidden:  # a list of it tells whether the server serves it
        return candidates[0]
