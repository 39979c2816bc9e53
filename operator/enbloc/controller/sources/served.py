# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which version of a kind the API server serves: kinds of other projects come and go."""

import asyncio
import random
from collections.abc import Sequence

from enbloc.client.client import Client
from enbloc.client.errors import APIError
from enbloc.client.paths import Resource


class Discovery:
    """Asks the API server what it serves, again and again.

    Args:
        client: the API.
        seconds: between two looks.
    """

    def __init__(self, client: Client, seconds: float = 30.0) -> None:
        self._client = client
        self._seconds = seconds

    async def first(self, resources: Sequence[Resource]) -> Resource | None:
        """The first of these that is served; None = none is.

        Raises:
            APIError: the server does not say.
        """
        for resource in resources:
            if await self._client.serves(resource):
                return resource
        return None

    async def until_changed(self, resources: Sequence[Resource], before: Resource | None) -> None:
        """Return once another one than before is the first that is served.

        Where the server cannot tell, nothing has changed.
        """
        while True:
            await asyncio.sleep(self._seconds * random.uniform(0.8, 1.2))  # noqa: S311
            try:
                if await self.first(resources) != before:
                    return
            except APIError:
                continue
