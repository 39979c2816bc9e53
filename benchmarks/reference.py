# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A fixed piece of work, to tell a slow machine from slow code.

It does what the engine does: small objects, dictionaries, sorting, arrays as long as a cluster has
nodes, in more memory than fits a core's cache. CPU times are divided by how much longer it takes
here and now than on the machine on which budgets were set. Neighbours that take cache and clock
from this process slow both down alike. Python's collector is off meanwhile: it would walk whatever
a benchmark has left.

    python -m benchmarks.reference

says what it takes: on a quiet machine, that is what USUAL has to be when budgets are set anew.
"""

import gc
import statistics
import time
from dataclasses import dataclass
from typing import Final

import numpy as np

#: What one round takes on the machine on which the budgets were set (CPU seconds).
USUAL: Final = 0.036
ROUNDS: Final = 7
_COUNT: Final = 20_000


@dataclass(frozen=True, slots=True)
class _Thing:
    key: tuple[str, str]
    labels: tuple[tuple[str, str], ...]
    number: int


def work() -> int:
    """One round of the work; the result is always the same."""
    things = {
        (thing := _Thing(("b", f"pod-{n}"), (("app", f"a{n % 50}"),), n * 7919 % 1009)).key: thing
        for n in range(_COUNT)
    }
    by_label: dict[tuple[str, str], list[_Thing]] = {}
    for index in range(_COUNT):
        thing = things["b", f"pod-{index * 7919 % _COUNT}"]
        by_label.setdefault(thing.labels[0], []).append(thing)
    total = 0
    for group in by_label.values():
        group.sort(key=lambda thing: (thing.number, thing.key))
        total += group[0].number
    free = np.arange(15_000, dtype=np.int64)
    for step in range(100):
        fits = free >= step
        total += int(np.where(fits, free % 97, -1).argmax())
        free[step] -= step
    return total


def seconds() -> float:
    """CPU seconds that a round takes now, the median of some."""
    times: list[float] = []
    gc.disable()
    try:
        for _ in range(ROUNDS):
            began = time.process_time()
            work()
            times.append(time.process_time() - began)
    finally:
        gc.enable()
    return statistics.median(times)


def slowness() -> float:
    """How many times as long as usual the work takes now: 1 where budgets were set."""
    return seconds() / USUAL


if __name__ == "__main__":
    print(f"{seconds():.4f} s, usually {USUAL:.4f} s")
