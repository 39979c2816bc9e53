# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Figures beside their budgets and targets."""

import math
import re
from collections.abc import Mapping

import pytest

from benchmarks import budgets
from benchmarks.__main__ import ALONE, CHEAP, ON_A_SERVER, REAL
from benchmarks.budgets import Limit, Target

AT_LEAST_75 = Limit("%", at_least=75)


@pytest.mark.parametrize(
    ("limit", "value", "holds"),
    [
        (Limit("ms", at_most=20), 20.0, True),
        (Limit("ms", at_most=20), 20.1, False),
        (AT_LEAST_75, 75.0, True),
        (AT_LEAST_75, 74.9, False),
        (AT_LEAST_75, math.nan, False),
        (Limit("ms", at_most=20), math.nan, False),
        (Limit("ms"), math.nan, True),
    ],
)
def test_a_value_holds_within_its_bounds_only(limit: Limit, value: float, holds: bool) -> None:
    assert limit.holds(value) is holds


def test_cpu_time_counts_as_on_the_usual_machine_and_nothing_else_does() -> None:
    assert Limit("ms CPU", at_most=20).comparable(30.0, slowness=2.0) == 15.0
    assert Limit("ms", at_most=20).comparable(30.0, slowness=2.0) == 30.0
    assert Limit("ms CPU", at_most=20).comparable(10.0, slowness=0.5) == 10.0
    assert AT_LEAST_75.comparable(30.0, slowness=2.0) == 30.0


def test_of_a_benchmark_only_cpu_times_are_put_right_for_a_slow_machine() -> None:
    case = "real/gangs-of-8/scheduler/"
    taken = {
        "engine/gang-512-on-5000-nodes": 30.0,
        f"{case}cpu-without-start": 1.0,
        f"{case}kube-apiserver-beyond-bare-without-start": 0.5,
        f"{case}of-ceiling": 80.0,
        f"{case}wait-p99": 90.0,
    }
    assert budgets.comparable(taken, slowness=2.0) == {
        "engine/gang-512-on-5000-nodes": 15.0,
        f"{case}cpu-without-start": 0.5,
        f"{case}kube-apiserver-beyond-bare-without-start": 0.25,
        f"{case}of-ceiling": 80.0,
        f"{case}wait-p99": 90.0,
    }


def test_the_best_of_two_measurements_is_the_one_nearer_to_what_is_wanted() -> None:
    assert Limit("ms CPU", at_most=20).better(19.0, 25.0) == 19.0
    assert AT_LEAST_75.better(70.0, 80.0) == 80.0


def targets(**figures: str) -> list[Target]:
    return [Target("gangs", "≥ 75 %", AT_LEAST_75, figures)]


@pytest.mark.parametrize(
    ("figures", "told"),
    [
        ({"a": 80.0, "b": 76.0}, "80 % (one), 76 % (two) | met |"),
        ({"a": 80.0, "b": 70.0}, "80 % (one), 70 % (two) | not met |"),
        ({"a": 80.0}, "80 % (one) | met in part |"),
        ({"b": 70.0}, "70 % (two) | not met |"),
        ({}, " | not measured |"),
    ],
)
def test_a_target_is_met_when_all_its_figures_are_there_and_hold(
    figures: Mapping[str, float], told: str
) -> None:
    text = budgets.table(budgets.rows(targets(one="a", two="b"), figures))
    assert text.splitlines()[-1] == f"| gangs | ≥ 75 % | {told}"


def test_peers_are_compared_by_what_each_reaches_of_its_own_ceiling() -> None:
    figures = {
        "real/lone-500/scheduler/of-ceiling": 80.0,
        "real/lone-500/kube-scheduler/of-ceiling": 40.0,
        "real/gangs-of-8/scheduler/of-ceiling": 60.0,
        "real/lone-500/scheduler/rate": 500.0,
        "engine/further-pod-on-5000-nodes": 82.0,
    }
    assert dict(budgets.derived(figures)) == {"real/lone-500/scheduler/times-kube-scheduler": 2.0}


@pytest.mark.parametrize(
    ("value", "text"), [(1234.5, "1 234"), (0.2549, "0.255"), (3.0, "3"), (99.96, "100")]
)
def test_three_digits_of_a_number_are_shown(value: float, text: str) -> None:
    assert budgets.shown(value) == text


def test_each_figure_is_held_to_one_bound_at_most() -> None:
    for name, limit in budgets.budgets().items():
        assert limit.at_most is None or limit.at_least is None, name


def test_all_targets_are_about_figures_of_known_cases() -> None:
    real = re.compile(r"real/([\w-]+)/(scheduler|run)/[\w-]+")
    for target in budgets.targets():
        assert target.limit.bounded, target.case
        for figure in target.figures.values():
            found = real.fullmatch(figure)
            assert found is None or found[1] in REAL, figure
            alone = {"engine", "scale", "start", "deadlock", "flood", "flood-served", "preemption"}
            alone |= {"topology", "answers"}
            assert found or figure.split("/")[0] in alone


def test_no_two_benchmarks_have_the_same_name() -> None:
    names = [*CHEAP, *ALONE, *ON_A_SERVER, *REAL]
    assert len(names) == len(set(names))
