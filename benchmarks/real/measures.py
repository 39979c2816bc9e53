# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What is made of times and of what the kernel says of a process."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.real.watcher import Times


class Memory(NamedTuple):
    """Resident memory of a process, MiB: the most that it has had, and what it has now."""

    peak: float
    now: float


def memory(pid: int) -> Memory:
    """What the kernel says of a process that runs."""
    text = Path(f"/proc/{pid}/status").read_text()
    peak, now = (
        int(found[1]) if (found := re.search(rf"^{key}:\s+(\d+) kB", text, re.MULTILINE)) else 0
        for key in ("VmHWM", "VmRSS")
    )
    return Memory(peak / 1024, now / 1024)


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that so much of them does not exceed; NaN of none."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def rate(times: Times) -> float:
    """Pods bound per second, from the first to the last; NaN of fewer than two."""
    bound = sorted(times.bound.values())
    if len(bound) < 2 or bound[-1] == bound[0]:
        return math.nan
    return (len(bound) - 1) / (bound[-1] - bound[0])


def delays(times: Times, groups: Mapping[str, str]) -> list[float]:
    """Seconds from creation to Binding of each pod; its gang is complete by then, not before.

    Args:
        times: of all pods.
        groups: the gang of each pod that has one.
    """
    complete: defaultdict[str, float] = defaultdict(float)
    for name, at in times.created.items():
        gang = groups.get(name, name)
        complete[gang] = max(complete[gang], at)
    return [at - complete[groups.get(name, name)] for name, at in times.bound.items()]


def counter(text: str, name: str) -> float:
    """The sum of a counter over its labels, of what /metrics says."""
    found = re.findall(rf"^{re.escape(name)}(?:\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE)
    return sum(map(float, found))
