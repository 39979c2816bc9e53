# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the commands that simulate print when the simulation reaches its time limit."""

import json
from collections.abc import Callable

import pytest

from tests.cli.desk import rows
from tests.cli.test_explain import Desk, desk

__all__ = ["desk"]

#: A time limit that is over after the first step.
OVER = -1.0


async def crowd(desk: Desk) -> None:
    """A full node, and more waiting gangs than one step decides."""
    await desk.nodes("n1", cpu=2)
    await desk.waiting("early", 2, nodeName="n1", activeDeadlineSeconds=7200)
    for at in range(5):
        await desk.waiting(f"wait-{at}", 1, tolerations=[{"key": f"k{at}", "operator": "Exists"}])


async def test_a_queue_that_was_not_simulated_in_time_says_how_much_is_missing(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await crowd(desk)
    assert await desk.type("queue", "-o", "json") == 0
    assert json.loads(capsys.readouterr().out)["complete"] is True
    monkeypatch.setattr("enbloc.cli.present.BASE_SECONDS", OVER)
    assert await desk.type("queue") == 0
    printed = capsys.readouterr()
    *_, last = rows(printed.out)
    assert last.startswith("- wait-4 Job/wait-4 1 1 0 ")
    assert last.endswith("- Pending: the simulation reached its time limit before its turn")
    [note] = printed.err.splitlines()
    assert note.startswith("note: the simulation reached its time limit; ")
    assert note.endswith(
        " of 5 waiting groups and pods were not tried, and more may start than are shown"
    )
    assert await desk.type("queue", "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["complete"] is False
    assert {item["start"] for item in found["items"]} == {None}


class Simulating:
    """A clock that a simulation moves by half a minute."""

    def __init__(self) -> None:
        self.now = 0.0

    def until(self, seconds: float) -> Callable[[], bool]:
        end = self.now + seconds

        def timely() -> bool:
            self.now = max(self.now, 30.0)
            return self.now <= end

        return timely


async def test_a_long_simulation_leaves_the_time_for_starts_and_changes(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await crowd(desk)
    monkeypatch.setattr("enbloc.process.workers.until", Simulating().until)
    assert await desk.type("queue") == 0
    _, first, *_ = rows(capsys.readouterr().out)
    assert first.startswith("1 wait-0 ")
    assert " <=" in first
    monkeypatch.setattr("enbloc.process.workers.until", Simulating().until)
    assert await desk.type("explain", "wait-0") == 0
    printed = capsys.readouterr().out
    assert "the end of default/early" in printed
    assert "Not every change was tried" not in printed


async def test_an_explanation_without_the_time_for_it_concludes_nothing(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await crowd(desk)
    monkeypatch.setattr("enbloc.cli.present.BASE_SECONDS", OVER)
    assert await desk.type("explain", "wait-4") == 0
    printed = capsys.readouterr()
    first, *others = printed.out.splitlines()
    assert first == ("default/wait-4 waits: the simulation reached its time limit before its turn.")
    assert others[-1] == "Not every change was tried, so one that is not listed may help."
    assert printed.err.startswith("note: the simulation reached its time limit; ")


async def test_a_what_if_question_that_takes_too_long_has_no_answer(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await crowd(desk)
    assert await desk.type("what-if", "--without", "n1") == 1
    capsys.readouterr()
    monkeypatch.setattr("enbloc.cli.what_if.SECONDS", OVER)
    assert await desk.type("what-if", "--without", "n1") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "error: there is no answer: the simulation reached its time limit of -1 s\n"
    )


async def test_a_drain_that_takes_too_long_to_plan_has_no_answer(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await crowd(desk)
    assert await desk.type("drain-check", "n1") == 1
    capsys.readouterr()
    monkeypatch.setattr("enbloc.cli.drain_check.SECONDS", OVER)
    assert await desk.type("drain-check", "n1") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "error: there is no answer: within the time limit, 0 of at least 1 groups and pods were "
        "planned\n"
    )
