# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import asyncio
import time
import urllib.error
import urllib.request
from collections.abc import Sequence

from enbloc.client.client import Client
from enbloc.client.config import Cluster
from enbloc.engine.effects import Effect
from enbloc.engine.events import Event, Stream
from enbloc.live.event_queue import EventQueue
from enbloc.live.loop import LONGEST_STEP, Loop
from enbloc.live.scheduler import Scheduler
from enbloc.process.options import Options
from enbloc.process.serving import Serving
from tests.hack.processes import free_port


class Idle:
    def apply(self, event: Event) -> None:
        del event

    def step(self, now: float) -> Sequence[Effect]:
        del now
        return []

    def stand_by(self) -> None:
        pass

    def wakeup(self) -> float | None:
        return None


def test_a_step_that_never_ends_is_noticed() -> None:
    loop = Loop(Idle(), EventQueue(), lambda *_: None, lambda: 0.0, lambda: True)
    assert loop.step_ends()
    loop._busy_since = time.monotonic() - LONGEST_STEP
    assert not loop.step_ends()


async def test_a_scheduler_without_a_server_runs_but_is_not_ready() -> None:
    stop = asyncio.Event()
    port = free_port()
    options = Options(serving=Serving(health_port=port), stop=stop, lease_namespace="ns")

    def ask(path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    async with Client(Cluster("http://127.0.0.1:9"), component="scheduler") as client:
        running = asyncio.create_task(Scheduler(client, options).run())
        await asyncio.sleep(0.1)
        assert await asyncio.to_thread(ask, "livez") == (200, "ok")
        assert await asyncio.to_thread(ask, "healthz") == (200, "ok")
        code, text = await asyncio.to_thread(ask, "readyz")
        assert code == 500
        for name in set(Stream) - {Stream.LEASE}:
            assert f"[-]{name}-synced failed" in text
        assert "[-]scheduler-api failed" in text
        assert "[+]scheduler-lease ok" in text
        stop.set()
        async with asyncio.timeout(10):
            assert await running == 0
