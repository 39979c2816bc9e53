# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The slips that tests must notice can be planted in the engine as it is."""

import json
from collections import Counter

from hack.planted_faults import ENGINE, FAULTS, HANGS, NOTICED_BY, Tried, kept
from hack.sync import ROOT


def test_the_line_of_each_fault_stands_once_in_the_engine() -> None:
    engine = [path.read_text("utf-8") for path in (ROOT / ENGINE).rglob("*.py")]

    found = {fault.name: sum(text.count(fault.line) for text in engine) for fault in FAULTS}

    assert {name: count for name, count in found.items() if count != 1} == {}


def test_no_two_faults_have_one_name_and_each_is_one() -> None:
    assert [
        name for name, count in Counter(each.name for each in FAULTS).items() if count > 1
    ] == []
    assert [fault.name for fault in FAULTS if fault.line == fault.slip] == []


def test_what_noticed_a_fault_is_a_test_that_exists() -> None:
    known: dict[str, str] = json.loads(NOTICED_BY.read_text("utf-8"))

    assert set(known) <= {fault.name for fault in FAULTS}
    for test in set(known.values()):
        path, _, name = test.partition("::")
        function = name.partition("[")[0].rpartition("::")[2]
        assert f"def {function}(" in (ROOT / path).read_text("utf-8") or not name, test


def test_what_noticed_a_fault_is_kept_until_another_test_does() -> None:
    first, second, third, fourth = (fault.name for fault in FAULTS[:4])
    known = {first: "a", second: "b", third: "c", "no fault any more": "d"}
    outcomes = [
        Tried(first, "x.py", "e"),
        Tried(second, "x.py"),
        Tried(third, "x.py", HANGS),
        Tried(fourth, "x.py", "f"),
    ]
    assert kept(outcomes, known) == {first: "e", second: "b", third: "c", fourth: "f"}
