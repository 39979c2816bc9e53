# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Run benchmarks and print what they come to.

python -m benchmarks                        all: results, and the table of what is aimed at
python -m benchmarks lone-500 gangs-of-8 --peer kube-scheduler --peer coscheduling
python -m benchmarks gangs-of-8 --subject run --scale 0.2     to try something out
python -m benchmarks --check --cheap        held to budgets.yaml; exit 1 where one is missed

Figures are kept in benchmarks/results/, and added to those of the same day and machine.
"""

import argparse
import datetime as dt
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks import (
    answers,
    budgets,
    cel,
    claims,
    completeness,
    deadlock,
    engine,
    flood,
    flood_served,
    gang_cost,
    preemption,
    results,
    scale,
    start,
    status_cost,
    topology,
    transport,
)
from benchmarks.budgets import Limit
from benchmarks.engine import Figure
from benchmarks.real import cases, subjects
from benchmarks.real.cases import Case
from benchmarks.real.measured import measured
from benchmarks.real.subjects import Subject
from benchmarks.reference import slowness
from hack.build_controlplane import BuildError, ensure

Benchmark = Callable[[], Iterable[Figure]]

#: Of the engine alone, in CPU time, and within three minutes: what every change is held to.
CHEAP: Final[Mapping[str, Benchmark]] = {
    "plan_gang": engine.plan_gang,
    "ranked_gang": engine.ranked_gang,
    "waiting": engine.waiting,
    "open_plans": engine.open_plans,
    "finished_members": engine.finished_members,
    "event_costs": scale.event_costs,
    "memory": scale.memory,
    "growth": scale.growth,
    "gang_with_volumes": claims.gang_with_volumes,
    "gang_with_devices": claims.gang_with_devices,
    "gang_in_a_fabric": claims.gang_in_a_fabric,
    "lone_with_claims": claims.lone_with_claims,
    "preemption": preemption.preemption,
    "topology": topology.topology,
    "cel_functions": cel.cel_functions,
}
#: These need Python alone, too.
ALONE: Final[Mapping[str, Benchmark]] = {
    "streams": engine.streams,
    "crowds": engine.crowds,
    "decisions": scale.decisions,
    "largest": scale.largest,
    "topology_large": topology.topology_large,
    "topology_stream": topology.topology_stream,
    "completeness": completeness.completeness,
    "flood": flood.flood,
    "flood_served": flood_served.flood_served,
    "transport": transport.transport,
    "start": start.start,
}
#: These need a real API server.
ON_A_SERVER: Final[Mapping[str, Benchmark]] = {
    "deadlock": deadlock.deadlock,
    "gang_cost": gang_cost.gang_cost,
    "status_cost": status_cost.status_cost,
    "answers": answers.answers,
}
#: These too, and compare with a bare client and with peers.
REAL: Final[Mapping[str, Case | None]] = {
    **{case.name: case for case in (*cases.LONE, *cases.GANGS, *cases.RACKS, cases.CHURN)},
    "openb": cases.openb(),
}
ENBLOC: Final = {subject.name: subject for subject in subjects.ENBLOC}
#: Which schedulers there are to compare with, and on which cases.
PEERS: Final[Mapping[str, tuple[Subject, Sequence[Case]]]] = {
    "kube-scheduler": (subjects.KUBE_SCHEDULER, cases.LONE),
    "coscheduling": (subjects.COSCHEDULING, cases.GANGS),
}
#: How often a benchmark is run, at most, before a budget counts as missed.
TRIES: Final = 3


def real(own: Sequence[str], peers: Sequence[str], scale: float) -> dict[str, Benchmark]:
    """The benchmarks that compare schedulers, with so much of their pods."""

    def run(name: str) -> Iterator[Figure]:
        case = REAL[name]
        if case is None:
            print(f"{name} is left out: {cases.OPENB} is not there", flush=True)
            return
        known = [subject for subject, served in map(PEERS.__getitem__, peers) if case in served]
        for subject in (*map(ENBLOC.__getitem__, own), *known):
            yield from measured(subject, case.scaled(scale))

    return {name: partial(run, name) for name in REAL}


def taken(name: str, benchmark: Benchmark, path: Path) -> bool:
    """Print the figures of a benchmark as they come, and keep them; whether it came to its end.

    CPU times are kept as if the machine were as fast as the one on which budgets were set.
    """
    figures: dict[str, float] = {}
    before = slowness()
    try:
        for figure, value in benchmark():
            print(f"{figure:75} {budgets.shown(value):>10}", flush=True)
            figures[figure] = value
    except Exception:  # noqa: BLE001  # the others are run all the same
        traceback.print_exc()
        print(f"{name} failed", flush=True)
        return False
    finally:
        pace = (before + slowness()) / 2
        print(f"{name}: the machine is {pace:.2f} times as slow as usual", flush=True)
        kept = budgets.comparable(figures, pace)
        results.add(path, {**kept, f"{results.SLOWNESS}{name}": pace})
    return True


def held(name: str, benchmark: Benchmark, limits: Mapping[str, Limit]) -> bool:
    """Whether a benchmark keeps within its budgets; it is run again where it does not.

    What a machine does besides only ever makes a figure worse: the best of the runs says most of
    the code. CPU times are as if the machine were as fast as the one on which budgets were set.
    """
    best: dict[str, float] = {}
    missed: list[str] = []
    for _ in range(TRIES):
        before = slowness()
        figures = dict(benchmark())
        pace = (before + slowness()) / 2
        for figure, value in figures.items():
            limit = limits.get(figure, Limit())
            fair = limit.comparable(value, pace)
            best[figure] = limit.better(best[figure], fair) if figure in best else fair
        missed = [one for one, value in best.items() if not limits.get(one, Limit()).holds(value)]
        print(f"{name}: the machine is {pace:.2f} times as slow as usual", flush=True)
        if not missed:
            break
    for figure, value in best.items():
        limit = limits.get(figure, Limit())
        verdict = ("MISSED" if figure in missed else "ok") if limit.bounded else ""
        print(f"{figure:65} {budgets.shown(value):>10}   {limit.text():20} {verdict}", flush=True)
    return not missed


def available(names: Sequence[str], peers: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those of the benchmarks and peers whose programs can be built here; of others it says why."""
    servers = [name for name in names if name in ON_A_SERVER or name in REAL]
    try:
        if servers:
            ensure(["etcd", "kube-apiserver", "kubectl"])
    except BuildError as missing:
        print(f"left out: {', '.join(servers)}: {missing}", flush=True)
        names = [name for name in names if name not in servers]
    built: list[str] = []
    for peer in peers:
        try:
            print(f"{peer} is of Kubernetes {subjects.version(peer)}", flush=True)
            built.append(peer)
        except BuildError as missing:
            print(f"left out: {peer}: {missing}", flush=True)
    return list(names), built


def arguments(every: Sequence[str]) -> argparse.Namespace:
    """What is asked for; it ends with a message where that makes no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="*", help=f"of {', '.join(every)}; all if none is given")
    parser.add_argument("--check", action="store_true", help="hold them to budgets.yaml")
    parser.add_argument("--cheap", action="store_true", help=f"only {', '.join(CHEAP)}")
    real = parser.add_argument_group("of cases on a real API server")
    real.add_argument(
        "--subject", action="append", choices=list(ENBLOC), help="the way to run enbloc (both)"
    )
    real.add_argument(
        "--peer", action="append", default=[], choices=list(PEERS), help="to compare with (none)"
    )
    real.add_argument("--scale", type=float, default=1.0, help="so much of their pods (1)")
    parser.add_argument("--results", type=Path, help="where figures are kept (default: by date)")
    options = parser.parse_args()
    if unknown := set(options.name) - set(every):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if not 0 < options.scale <= 1:
        parser.error(f"--scale={options.scale:g}: must be above 0 and at most 1")
    return options


def main() -> int:
    """Print figures; the exit code."""
    every: Sequence[str] = [*CHEAP, *ALONE, *ON_A_SERVER, *REAL]
    options = arguments(every)
    asked = options.name or list(CHEAP if options.cheap else every)
    names, peers = available([name for name in every if name in asked], options.peer)
    chosen = {
        **CHEAP,
        **ALONE,
        **ON_A_SERVER,
        **real(options.subject or list(ENBLOC), peers, options.scale),
    }
    if options.check:
        limits = budgets.budgets()
        return 0 if all([held(name, chosen[name], limits) for name in names]) else 1  # noqa: C419
    path = options.results or results.path_of(dt.datetime.now(dt.UTC).date())
    ended = [taken(name, chosen[name], path) for name in names]
    kept = results.read(path)
    print(f"\n{path}: {kept.machine.text()}\n")
    print(budgets.table(budgets.rows(budgets.targets(), kept.figures)))
    return 0 if all(ended) else 1


if __name__ == "__main__":
    sys.exit(main())
