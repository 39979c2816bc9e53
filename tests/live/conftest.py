# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""An embedded API server for each test, and what a test does to it."""

from collections.abc import AsyncIterator

import pytest

from enbloc.client.config import Cluster
from enbloc_sandbox import Sandbox
from tests.live.world import World
from tests.world.virtual_time import time_source


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with Sandbox(clock=time_source().wall) as server:
        yield server


@pytest.fixture
async def world(sandbox: Sandbox) -> AsyncIterator[World]:
    async with World(Cluster(sandbox.url)) as opened:
        yield opened
