# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The stages of the gate and of the nightly run: which are run, and what each may take."""

from pathlib import Path

import pytest

from hack import ci

ROOT = Path(__file__).parent.parent.parent


def names(run: str, *asked: str) -> list[str]:
    return [stage.name for stage in ci.chosen(ci.RUNS[run], asked)]


def test_the_gate_runs_every_stage() -> None:
    assert names("gate") == ["setup", "check", "test", "laws", "build", "bench", "smoke"]


def test_a_nightly_run_leaves_out_what_has_to_be_asked_for() -> None:
    assert {"older", "soak", "image", "krew"}.isdisjoint(names("nightly"))


@pytest.mark.parametrize(
    ("run", "asked", "run_too"),
    [
        ("gate", "laws", ["setup"]),
        ("gate", "smoke", ["setup", "build"]),
        ("nightly", "soak", ["setup", "build-all"]),
        ("nightly", "permissions", ["setup", "build-all", "e2e"]),
    ],
)
def test_a_stage_brings_what_it_needs(run: str, asked: str, run_too: list[str]) -> None:
    assert names(run, asked) == [*run_too, asked]


def test_an_unknown_stage_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"^unknown: laaws; known: setup, check, test, laws"):
        ci.chosen(ci.GATE, ["laaws"])


@pytest.mark.parametrize("run", ci.RUNS)
def test_each_stage_is_a_target_with_a_budget(run: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    budget = ci.budget().stages
    stages = ci.RUNS[run]

    assert [stage.name for stage in stages if f"\n{stage.make[0]}:" not in makefile] == []
    assert [one for one in (*names(run), run) if one not in budget] == []


@pytest.mark.parametrize("name", ["check", "test", "laws", "bench", "test-all"])
def test_what_is_deterministic_is_never_run_again(name: str) -> None:
    [stage] = [stage for stage in (*ci.GATE, *ci.NIGHTLY) if stage.name == name]

    assert not stage.again


def test_a_stage_gets_nothing_of_an_outer_make() -> None:
    outer = {"PATH": "/bin", "MAKEFLAGS": "-- ARGS=soak", "ARGS": "soak", "WORKERS": "2"}

    assert ci.environment(outer) == {"PATH": "/bin", "WORKERS": "2"}
