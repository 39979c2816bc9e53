# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Run benchmarks, print each figure beside its budget; exit 1 where one is missed.

python -m benchmarks              all of them
python -m benchmarks plan_gang    these
"""

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from benchmarks import (
    bind_rate,
    claims,
    completeness,
    deadlock,
    engine,
    flood,
    flood_served,
    gang_cost,
    status_cost,
    transport,
)
from benchmarks.engine import Figure
from hack.build_controlplane import BuildError, ensure

Benchmark = Callable[[], Iterable[Figure]]

#: What each benchmark is called, the cheap ones first.
BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "plan_gang": engine.plan_gang,
    "ranked_gang": engine.ranked_gang,
    "waiting": engine.waiting,
    "open_plans": engine.open_plans,
    "finished_members": engine.finished_members,
    "crowds": engine.crowds,
    "streams": engine.streams,
    "gang_with_volumes": claims.gang_with_volumes,
    "gang_with_devices": claims.gang_with_devices,
    "completeness": completeness.completeness,
    "flood": flood.flood,
    "flood_served": flood_served.flood_served,
    "transport": transport.transport,
}
#: These need a real API server.
ON_A_SERVER: Final[Mapping[str, Benchmark]] = {
    "bind_rate": bind_rate.bind_rate,
    "deadlock": deadlock.deadlock,
    "gang_cost": gang_cost.gang_cost,
    "status_cost": status_cost.status_cost,
}


def figures(wanted: Collection[str]) -> Iterator[Figure]:
    """The figures of these benchmarks."""
    for name, benchmark in BENCHMARKS.items():
        if name in wanted:
            yield from benchmark()
    chosen = [name for name in ON_A_SERVER if name in wanted]
    if not chosen:
        return
    try:
        ensure(["etcd", "kube-apiserver"])
    except BuildError as missing:
        print(f"no figures of a real API server: {missing}")
        return
    for name in chosen:
        yield from ON_A_SERVER[name]()


def verdict(value: float, entry: Mapping[str, Any]) -> str:
    """Beside its budget: "ok", "MISSED", or nothing to be held to."""
    unit = entry.get("unit", "")
    if "at_most" in entry:
        ok = value <= entry["at_most"]
        return f"{unit:6} at most {entry['at_most']:>6}   {'ok' if ok else 'MISSED'}"
    if "at_least" in entry:
        ok = value >= entry["at_least"]
        return f"{unit:6} at least {entry['at_least']:>5}   {'ok' if ok else 'MISSED'}"
    return str(unit)


def main() -> int:
    """Print the figures; the exit code."""
    every = [*BENCHMARKS, *ON_A_SERVER]
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("name", nargs="*", help=f"of {', '.join(every)}; all if none is given")
    wanted = parser.parse_args().name or every
    if unknown := set(wanted) - set(every):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    budgets = yaml.safe_load((Path(__file__).parent / "budgets.yaml").read_text("utf-8"))
    missed = False
    for name, value in figures(wanted):
        text = verdict(value, budgets.get(name, {}))
        missed = missed or text.endswith("MISSED")
        print(f"{name:40} {value:10.1f} {text}", flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
