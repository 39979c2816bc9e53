# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import logging

import pytest

from enbloc.telemetry import ActiveProblems
from enbloc.telemetry.problems import LOGGED_SECONDS, MOST_LOGGED


def test_a_problem_is_said_once_and_shown_until_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    problems = ActiveProblems()
    problems.report("pods", "server away")
    problems.report("pods", "server away")
    assert list(problems.active) == ["server away"]
    problems.report("pods", None)
    problems.report("pods", None)
    assert not problems.active
    assert caplog.messages == ["Server away", "Recovered from: server away"]
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]


def test_one_problem_with_many_things_is_said_once_and_over_with_the_last(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    problems = ActiveProblems()
    problems.report("pods", "Server away")
    problems.report("nodes", "Server away")
    problems.report("pods", None)
    assert list(problems.active) == ["Server away"]
    problems.report("nodes", None)
    assert not problems.active
    assert caplog.messages == ["Server away", "Recovered from: Server away"]


def test_another_problem_with_the_same_thing_takes_the_place_of_the_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    problems = ActiveProblems()
    problems.report("pods", "Server away")
    problems.report("pods", "Not allowed")
    assert list(problems.active) == ["Not allowed"]
    assert caplog.messages == ["Server away", "Not allowed"]


def test_a_problem_that_keeps_changing_is_logged_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    now = 0.0
    problems = ActiveProblems(lambda: now)
    for number in range(100):
        problems.report("pods", f"Not allowed {number}")
    assert caplog.messages == [f"Not allowed {number}" for number in range(MOST_LOGGED)]
    assert list(problems.active) == ["Not allowed 99"]
    problems.report("nodes", "Server away")
    assert caplog.messages[MOST_LOGGED:] == ["Server away"]
    problems.report("pods", None)  # what was never logged is not logged to be over
    assert caplog.messages[MOST_LOGGED:] == ["Server away"]
    now = LOGGED_SECONDS
    problems.report("pods", "Not allowed")
    problems.report("pods", None)
    assert caplog.messages[MOST_LOGGED + 1 :] == ["Not allowed", "Recovered from: Not allowed"]
