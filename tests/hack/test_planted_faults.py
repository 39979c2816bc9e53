# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The slips that tests must notice can be planted in the engine as it is."""

from collections import Counter

from hack.planted_faults import ENGINE, FAULTS
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
