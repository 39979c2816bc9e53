# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio

from enbloc.telemetry import Beat
from enbloc.telemetry.beat import OLDEST_BEAT


async def test_a_loop_that_gives_turns_beats() -> None:
    beat = Beat()
    beat._last -= OLDEST_BEAT
    assert not beat.recent()
    beating = asyncio.create_task(beat.run())
    await asyncio.sleep(0)
    assert beat.recent()
    beating.cancel()
