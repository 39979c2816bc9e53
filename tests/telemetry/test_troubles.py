# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import logging

import pytest

from enbloc.telemetry import Troubles


def test_a_problem_is_said_once_and_shown_until_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    troubles = Troubles()
    troubles.say("pods", "server away")
    troubles.say("pods", "server away")
    assert list(troubles.standing) == ["server away"]
    troubles.say("pods", None)
    troubles.say("pods", None)
    assert not troubles.standing
    assert caplog.messages == ["Server away", "Recovered from: server away"]
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]


def test_one_problem_with_many_things_is_said_once_and_over_with_the_last(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    troubles = Troubles()
    troubles.say("pods", "Server away")
    troubles.say("nodes", "Server away")
    troubles.say("pods", None)
    assert list(troubles.standing) == ["Server away"]
    troubles.say("nodes", None)
    assert not troubles.standing
    assert caplog.messages == ["Server away", "Recovered from: Server away"]


def test_another_problem_with_the_same_thing_takes_the_place_of_the_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    troubles = Troubles()
    troubles.say("pods", "Server away")
    troubles.say("pods", "Not allowed")
    assert list(troubles.standing) == ["Not allowed"]
    assert caplog.messages == ["Server away", "Not allowed"]
