# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Run every benchmark, print each figure beside its budget; exit 1 where one is missed."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from benchmarks import bind_rate, engine
from benchmarks.engine import Figure
from hack.build_controlplane import BuildError, ensure


def figures() -> Iterator[Figure]:
    """Every figure, the cheap ones first."""
    yield from engine.plan_gang()
    yield from engine.streams()
    try:
        ensure(["etcd", "kube-apiserver"])
    except BuildError as missing:
        print(f"no figures of a real API server: {missing}")
        return
    yield from bind_rate.bind_rate()


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
    """Print all figures; the exit code."""
    budgets = yaml.safe_load((Path(__file__).parent / "budgets.yaml").read_text("utf-8"))
    missed = False
    for name, value in figures():
        text = verdict(value, budgets.get(name, {}))
        missed = missed or text.endswith("MISSED")
        print(f"{name:40} {value:10.1f} {text}", flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
