# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a stage came to is read from its log, and failures stand last."""

from pathlib import Path

import pytest

from hack.outcomes import (
    Budget,
    Outcome,
    broke_off,
    closings,
    failed_tests,
    failures,
    passed,
    report,
    slow_tests,
    table,
)

PYTEST = """\
============================= test session starts ==============================
.F.E                                                                     [100%]
=================================== FAILURES ===================================
ERROR    enbloc.live:loop.py:7 what a program logged
============================= slowest 25 durations =============================
7.25s call     tests/a/test_a.py::test_slow[2 - 1]
5.50s setup    tests/a/test_a.py::test_b
0.10s call     tests/a/test_a.py::test_quick
=========================== short test summary info ============================
SKIPPED [1] tests/a/test_a.py:9: not here
FAILED tests/a/test_a.py::test_b[x - y] - assert 1 == 2
  +  where 1 = one()
ERROR tests/a/test_a.py::test_c - OSError
============= 1 failed, 2 passed, 1 error in 245.32s (0:04:05) =============
make: *** [Makefile:50: test] Error 1
"""
CHECK = """\
ok      ruff            1.6 s
FAILED  mypy           60.2 s
        error: FAILED is the word
1 of 2 checks failed: mypy
"""
BENCH = """\
engine/gang                  31 ms CPU   at most 32      ok
engine/pods                 900 us CPU   at most 370     MISSED
"""
BUDGET = Budget({"check": 65, "test": 240, "gate": 900}, longest_test=5)


@pytest.mark.parametrize(
    ("log", "named"),
    [
        pytest.param(
            PYTEST,
            [
                "FAILED tests/a/test_a.py::test_b[x - y] - assert 1 == 2",
                "ERROR tests/a/test_a.py::test_c - OSError",
            ],
            id="pytest",
        ),
        pytest.param(CHECK, ["FAILED  mypy           60.2 s"], id="checks"),
        pytest.param(BENCH, [BENCH.splitlines()[1]], id="benchmarks"),
        pytest.param("make: *** Error 1\n", [], id="nothing"),
    ],
)
def test_what_failed_is_named(log: str, named: list[str]) -> None:
    assert failures(log) == named


def test_each_run_of_pytest_has_a_last_line() -> None:
    assert closings(PYTEST + PYTEST) == [PYTEST.splitlines()[-2]] * 2


def test_slow_tests_come_slowest_first() -> None:
    assert slow_tests(PYTEST, 5) == [
        "7.2 s  tests/a/test_a.py::test_slow[2 - 1]",
        "5.5 s  tests/a/test_a.py::test_b",
    ]


def test_pytest_remembers_what_failed(tmp_path: Path) -> None:
    assert failed_tests(tmp_path) == []

    kept = tmp_path / "v" / "cache"
    kept.mkdir(parents=True)
    (kept / "lastfailed").write_text('{"t.py::b[x y]": true, "t.py::a": true}', encoding="utf-8")

    assert failed_tests(tmp_path) == ["t.py::a", "t.py::b[x y]"]


def test_the_table_shows_what_is_over_budget() -> None:
    outcomes = [Outcome("check", "ok", 61.2), Outcome("test", "FAILED", 250.6)]

    assert table(outcomes, "gate", 311.8, BUDGET) == [
        "stage        state    seconds  budget",
        "check        ok            61      65",
        "test         FAILED       251     240  over budget",
        "gate                      312     900",
    ]


def test_what_failed_is_printed_last() -> None:
    outcomes = [
        Outcome("check", "FAILED", 60, CHECK),
        Outcome("test", "FAILED", 200, PYTEST),
        Outcome("build", "FAILED", 3, "go: no space left\n"),
        Outcome("smoke", "not run"),
    ]

    lines = report(outcomes, ["tests/e2e/test_d.py::test_d (logs: build/x)"], "gate", 300, BUDGET)

    assert lines[-9:] == [
        "test: over 5 s: 5.5 s  tests/a/test_a.py::test_b",
        PYTEST.splitlines()[-2],
        "FLAKY tests/e2e/test_d.py::test_d (logs: build/x)",
        "check: FAILED  mypy           60.2 s",
        "test: FAILED tests/a/test_a.py::test_b[x - y] - assert 1 == 2",
        "test: ERROR tests/a/test_a.py::test_c - OSError",
        "build: FAILED; the end of its log:",
        "build: go: no space left",
        "smoke: not run, for a stage that it needs failed",
    ]


def test_a_run_that_passes_ends_with_the_last_line_of_pytest() -> None:
    passed = "============= 3 passed in 1.20s ============="

    lines = report([Outcome("test", "ok", 2, f"{passed}\n")], [], "gate", 2, BUDGET)

    assert lines[-1] == passed


@pytest.mark.parametrize(
    "log",
    [
        "",
        "INTERNALERROR> Traceback (most recent call last):\n" + PYTEST,
        "!!!!!!!!!!! Interrupted: 2 errors during collection !!!!!!!!!!!\n" + PYTEST,
        "!!!!!!!!!!! xdist.dsession.Interrupted: maximum crashed workers reached: 8 !!!\n" + PYTEST,
    ],
)
def test_a_run_that_broke_off_tells_not_all_that_failed(log: str) -> None:
    assert broke_off(log)


def test_a_run_that_came_to_its_end_tells_how_many_passed() -> None:
    assert not broke_off(PYTEST)
    assert passed(PYTEST) == 2
    assert passed("") == 0
