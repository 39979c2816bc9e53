# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Results are kept with the machine that they were taken on."""

import math
from pathlib import Path

import msgspec

from benchmarks import results
from benchmarks.reference import work
from benchmarks.results import Results


def test_new_figures_take_the_place_of_older_ones_of_the_same_machine(tmp_path: Path) -> None:
    path = tmp_path / "results" / "today.json"
    results.add(path, {"a": 1.0, "b": 2.0})
    results.add(path, {"b": 3.0, "c": 0.123456789, "d": math.nan})
    kept = results.read(path)
    assert kept.figures == {"a": 1.0, "b": 3.0, "c": 0.12346}
    assert kept.machine == results.machine()


def test_figures_of_another_machine_are_dropped() -> None:
    here = results.machine()
    elsewhere = Results("2026-01-01", msgspec.structs.replace(here, cpu="another"), {"a": 1.0})
    made = results.merged(elsewhere, "2026-01-02", here, {"b": 2.0})
    assert made.figures == {"b": 2.0}
    assert made.date == "2026-01-02"


def test_the_machine_names_the_kubernetes_of_all_schedulers() -> None:
    here = results.machine()
    assert here.cores >= 1
    assert here.kubernetes.startswith("v1.")
    assert here.coscheduling.startswith("v1.")
    assert here.kubernetes in here.text()


def test_the_results_say_how_slow_the_machine_was() -> None:
    figures = {f"{results.SLOWNESS}a": 1.5, f"{results.SLOWNESS}b": 2.0, "c": 9.0}
    assert Results("2026-01-01", results.machine(), figures).slowness() == (1.5, 2.0)
    assert Results("2026-01-01", results.machine(), {"c": 9.0}).slowness() is None


def test_the_reference_is_the_same_work_each_time() -> None:
    assert work() == work()
