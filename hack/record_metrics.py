# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Record what a scheduler exposes in some minutes of a small cluster, for the dashboard's picture.

    python hack/record_metrics.py --seconds=300    # writes hack/promql/recorded.json

Gangs come and go on the embedded API server, more than fit. One never fits and one lacks a member;
for a while Bindings fail and the API server throttles, and a gang loses a member.
"""

import argparse
import asyncio
import json
import random
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from prometheus_client import REGISTRY

ROOT: Final = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # `hack` is a package only when the root is on the path
    sys.path.insert(0, str(ROOT))

from enbloc.client.config import Cluster  # noqa: E402  # needs the path
from enbloc.client.errors import APIError  # noqa: E402  # as above
from enbloc.client.paths import POD_GROUPS  # noqa: E402  # as above
from enbloc_sandbox import Sandbox  # noqa: E402  # as above
from tests.live.world import NAMESPACE, World  # noqa: E402  # as above

RECORDED: Final = ROOT / "hack/promql/recorded.json"
DASHBOARD: Final = ROOT / "helm/enbloc/files/dashboard.json"
#: Between two scrapes (seconds).
EVERY: Final = 15.0


class Recording:
    """Every series that the dashboard may show, one value for each scrape."""

    def __init__(self) -> None:
        queries = DASHBOARD.read_text(encoding="utf-8")
        self._wanted = set(re.findall(r"[a-z]+_[a-z_]+", queries))
        self._series: dict[tuple[tuple[str, str], ...], dict[int, float]] = {}
        self._scrapes = 0

    async def run(self) -> None:
        """Scrape until cancelled."""
        while True:
            for family in REGISTRY.collect():
                for sample in family.samples:
                    if sample.name in self._wanted:
                        labels = {"__name__": sample.name, **sample.labels}
                        if "host" in labels:  # its port differs each time
                            labels["host"] = "10.96.0.1:443"
                        key = tuple(sorted(labels.items()))
                        self._series.setdefault(key, {})[self._scrapes] = sample.value
            self._scrapes += 1
            await asyncio.sleep(EVERY)

    def written(self) -> str:
        """As JSON, one series a line: the scrape of each change, and the value from there on."""
        lines = [
            json.dumps({"labels": dict(key), "changes": _changes(values)}, separators=(",", ":"))
            for key, values in sorted(self._series.items())
            if any(values.values()) or "le" not in dict(key)
        ]
        joined = ",\n".join(lines)
        return f'{{"scrapes":{self._scrapes},"series":[\n{joined}\n]}}\n'


def _changes(values: Mapping[int, float]) -> list[float]:
    changes: list[float] = []
    for number, value in values.items():
        shown = int(value) if value == int(value) else round(value, 4)
        if not changes or changes[-1] != shown:
            changes += (number, shown)
    return changes


async def gang(world: World, name: str, size: int, cpu: int, seconds: float) -> None:
    """A gang that ends so long after it was placed, or is given up in the end."""
    await world.gang(name, size, cpu=cpu)
    with suppress(TimeoutError):
        await world.until_bound(f"{name}-", size, 90.0)
        await asyncio.sleep(seconds)
    for index in range(size):
        with suppress(APIError):
            await world.delete(f"{name}-{index}")
    with suppress(APIError):
        await world.client.delete(POD_GROUPS, name, NAMESPACE)


async def trouble(world: World, sandbox: Sandbox, seconds: float) -> None:
    """What does not fit, does not come, and goes wrong."""
    await asyncio.sleep(seconds / 6)
    large = asyncio.create_task(world.gang("never", 4, cpu=99))
    await world.group("lacks-one", 4)
    for index in range(3):
        await world.pod(f"lacks-one-{index}", "lacks-one")
    await large
    await asyncio.sleep(seconds / 6)
    sandbox.faults.add(verb="create", resource="pods/binding", status=500, times=12)
    sandbox.faults.add(
        verb="patch", resource="podgroups/status", status=429, retry_after=1, times=30
    )
    await asyncio.sleep(seconds / 6)
    for name, pod in (await world.pods("g")).items():
        if pod["spec"].get("nodeName"):
            await world.delete(name)
            break
    await world.pod("lacks-one-3", "lacks-one")
    await asyncio.sleep(seconds / 6)
    for index in range(4):
        await world.delete(f"never-{index}")
    await world.client.delete(POD_GROUPS, "never", NAMESPACE)


async def record(seconds: float, seed: int) -> str:
    """The recording of so many seconds."""
    rng = random.Random(seed)  # noqa: S311  # which gangs come is no secret
    recording = Recording()
    async with Sandbox() as sandbox, World(Cluster(sandbox.url)) as world:
        await world.nodes(" ".join(f"n{number}" for number in range(12)), cpu=16)
        async with world.scheduler(leader_elect=True):
            tasks: list[asyncio.Task[Any]] = [
                asyncio.create_task(recording.run()),
                asyncio.create_task(trouble(world, sandbox, seconds)),
            ]
            end, number = time.monotonic() + seconds, 0
            while time.monotonic() < end:
                number += 1
                size, cpu = rng.choice((2, 4, 8)), rng.choice((2, 4))
                work = gang(world, f"g{number}", size, cpu, rng.uniform(20.0, 40.0))
                tasks.append(asyncio.create_task(work))
                if rng.random() < 0.5:
                    await world.pod(f"alone-{number}")
                # In the middle more comes than fits.
                busy = 0.3 < 1 - (end - time.monotonic()) / seconds < 0.7
                await asyncio.sleep(rng.uniform(1.0, 3.0) if busy else rng.uniform(4.0, 8.0))
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return recording.written()


def main() -> None:
    """Record, and write the file."""
    parser = argparse.ArgumentParser(description="Record the metrics of a small cluster.")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    RECORDED.write_text(asyncio.run(record(arguments.seconds, arguments.seed)), encoding="utf-8")


if __name__ == "__main__":
    main()
