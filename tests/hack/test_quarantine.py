# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Quarantine holds few tests, for a short time, and none that is deterministic."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.quarantine import Entry, problems, read, skip

TODAY = dt.date(2026, 8, 15)
FILE = "tests/quarantine.toml"


def toml(*tests: str, since: str = "2026-08-01") -> str:
    return "".join(f'[[test]]\nid = "{one}"\nsince = {since}\nreason = "slow"\n' for one in tests)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "test_a.py").write_text(
        "def test_a(): ...\nasync def test_b(): ...\nclass TestC:\n    def test_d(self): ...\n",
        encoding="utf-8",
    )
    return tmp_path


def test_an_empty_quarantine_is_right() -> None:
    assert problems("# nothing\n", TODAY) == []


def test_five_tests_for_fourteen_days_are_allowed(tree: Path) -> None:
    tests = ["test_a.py::test_a", "test_a.py::test_b[1]", "test_a.py::test_b[2]"]
    text = toml(*tests, "test_a.py::test_b", "test_a.py::TestC::test_d")

    assert problems(text, TODAY, tree) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            toml(*["test_a.py::test_a"] * 6),
            "6 tests; 5 is the most, fix or delete the others",
            id="too many",
        ),
        pytest.param(
            toml("test_a.py::test_a", since="2026-07-31"),
            "test_a.py::test_a: since 15 days; 14 is the most",
            id="too old",
        ),
        pytest.param(
            toml("test_a.py::test_a", since="2026-08-16"),
            "test_a.py::test_a: 2026-08-16 is in the future",
            id="not yet",
        ),
        pytest.param(
            toml("test_a.py::test_z"), "test_a.py::test_z: there is no such test", id="no function"
        ),
        pytest.param(
            toml("test_a.py::TestC::test_a"),
            "test_a.py::TestC::test_a: there is no such test",
            id="no method",
        ),
        pytest.param(
            toml("test_z.py::test_a"), "test_z.py::test_a: there is no such test", id="no file"
        ),
        pytest.param(toml("test_a.py"), "test_a.py: there is no such test", id="a whole file"),
        pytest.param(
            '[[test]]\nid = "test_a.py::test_a"\nsince = 2026-08-01\n',
            "test 1: must have an id, a day `since` and a reason",
            id="no reason",
        ),
    ],
)
def test_what_is_wrong_is_named(text: str, problem: str, tree: Path) -> None:
    assert problems(text, TODAY, tree) == [f"{FILE}: {problem}"]


def test_what_is_no_toml_is_named() -> None:
    [problem] = problems("[[test", TODAY)

    assert problem.startswith(f"{FILE}: ")


class Item:
    """As much of a collected test as is looked at."""

    def __init__(self, nodeid: str, *markers: str) -> None:
        self.nodeid = nodeid
        self.markers = set(markers)
        self.skipped: list[str] = []

    def get_closest_marker(self, name: str) -> bool:
        return name in self.markers

    def add_marker(self, marker: pytest.MarkDecorator) -> None:
        self.skipped.append(marker.kwargs["reason"])


def skipped(*items: Item) -> Iterator[str]:
    collected: list[Any] = list(items)
    skip(collected, read(toml("t.py::test_a", "t.py::test_b[1]")))
    return (item.nodeid for item in items if item.skipped)


def test_a_test_in_quarantine_is_skipped_with_the_reason() -> None:
    item = Item("t.py::test_a[x]", "smoke")

    assert list(skipped(item)) == ["t.py::test_a[x]"]
    assert item.skipped == ["in quarantine since 2026-08-01: slow"]


def test_one_case_of_a_test_can_be_in_quarantine() -> None:
    items = [Item(f"t.py::test_b[{case}]", "processes") for case in (1, 2)]

    assert list(skipped(*items)) == ["t.py::test_b[1]"]


def test_what_is_deterministic_is_never_skipped() -> None:
    assert list(skipped(Item("t.py::test_a", "hypothesis", "slow"))) == []


def test_an_entry_is_read() -> None:
    [entry] = read(toml("t.py::test_a"))

    assert entry == Entry("t.py::test_a", dt.date(2026, 8, 1), "slow")
