# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What was measured of one scheduler on one case, and the figures that follow from it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.engine import Figure
from benchmarks.real import measures
from benchmarks.real.cases import Case
from benchmarks.real.measures import Memory
from benchmarks.real.watcher import Times
from tests.controlplane import API_SERVER

Used = dict[str, float]


@dataclass(frozen=True)
class Raw:
    """What the bare client reached.

    Attributes:
        count: pods.
        rate: Bindings per second.
        client: its CPU, ms per Binding.
        used: seconds of CPU of both servers.
    """

    count: int
    rate: float
    client: float
    used: Used


@dataclass(frozen=True)
class Start:
    """From the start of the process to its first Binding, of one pod.

    Attributes:
        seconds: that it took.
        cpu: seconds of CPU of the process.
        used: seconds of CPU of the servers.
    """

    seconds: float
    cpu: float
    used: Used


@dataclass(frozen=True)
class Load:
    """All pods at once.

    Attributes:
        times: of the pods.
        cpu: seconds of CPU of the process, from its start.
        used: seconds of CPU of the servers in the same time.
        memory: of the process at the end.
        writes: what was asked of the API server, Bindings included.
        dropped: events that the scheduler did not write.
    """

    times: Times
    cpu: float
    used: Used
    memory: Memory
    writes: Counter[str]
    dropped: float


@dataclass(frozen=True)
class Findings:
    """All of one run.

    Attributes:
        case: what the scheduler was given.
        before: the bare client, before the scheduler.
        after: and after it.
        start: of the scheduler.
        load: all pods at once.
        pace: how many pods came per second after that.
        steady: seconds from creation to Binding of each of them.
        bare: the same when the bare client binds them.
    """

    case: Case
    before: Raw
    after: Raw
    start: Start
    load: Load
    pace: float
    steady: list[float]
    bare: list[float]


def figures(found: Findings) -> Iterator[Figure]:
    """Figures by their last names; CPU is in ms per pod, times are in ms, memory is in MiB."""
    load, start, bound = found.load, found.start, len(found.load.times.bound)
    ceiling = (found.before.rate + found.after.rate) / 2
    reached = measures.rate(load.times)
    yield "ceiling", ceiling
    yield "ceiling-after-of-before", 100 * found.after.rate / found.before.rate
    yield "ceiling-client-cpu", (found.before.client + found.after.client) / 2
    yield "bound", bound
    yield "left-unbound", len(found.case.pods) - bound
    yield "watch-reopened", load.times.reopened
    yield "rate", reached
    yield "of-ceiling", 100 * reached / ceiling
    yield "cpu", 1000 * load.cpu / bound
    yield "cpu-without-start", 1000 * (load.cpu - start.cpu) / bound
    for server in ("etcd", API_SERVER):
        raw = (found.before.used[server] + found.after.used[server]) / (
            found.before.count + found.after.count
        )
        yield f"{server}-bare", 1000 * raw
        yield f"{server}-beyond-bare", 1000 * (load.used[server] / bound - raw)
        without = (load.used[server] - start.used[server]) / bound
        yield f"{server}-beyond-bare-without-start", 1000 * (without - raw)
    yield "memory-peak", load.memory.peak
    yield "memory-retained", load.memory.now
    yield "start-seconds", start.seconds
    yield "start-cpu", start.cpu
    yield "wait-at", found.pace
    for share in (50, 99):
        mine, bare = (measures.percentile(one, share / 100) for one in (found.steady, found.bare))
        yield f"wait-p{share}", 1000 * mine
        yield f"wait-p{share}-bare", 1000 * bare
        yield f"wait-p{share}-of-bare", mine / bare
    for kind, count in sorted(load.writes.items()):
        yield f"writes-{kind.lower().replace(' ', '-')}", count / bound
    yield "dropped-events", load.dropped / bound
