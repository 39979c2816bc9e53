# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio

from enbloc.telemetry import Heartbeat
from enbloc.telemetry.heartbeat import OLDEST_HEARTBEAT


async def test_the_heartbeat_is_recent_while_the_loop_runs_its_tasks() -> None:
    heartbeat = Heartbeat()
    heartbeat._last -= OLDEST_HEARTBEAT
    assert not heartbeat.recent()
    running = asyncio.create_task(heartbeat.run())
    await asyncio.sleep(0)
    assert heartbeat.recent()
    running.cancel()
