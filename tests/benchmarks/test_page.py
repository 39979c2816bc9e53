# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The page about performance says what was measured."""

import re
import xml.etree.ElementTree as ET

from benchmarks import page, results
from benchmarks.__main__ import REAL

FIGURES = {
    "real/gangs-of-8/run/of-ceiling": 80.5,
    "real/gangs-of-8/run/rate": 805.0,
    "real/gangs-of-8/run/writes-post-pods/binding": 1.0,
    "real/gangs-of-8/run/writes-apply-podgroups/status": 0.25,
    "real/gangs-of-8/run/writes-put-leases": 0.001,
    "real/gangs-of-8/coscheduling/of-ceiling": 7.0,
}


def test_the_page_holds_what_its_results_say() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    for name in re.findall(r"\(\.\./\.\./benchmarks/results/([\w.-]+\.json)\)", text):
        found = results.read(results.FOLDER / name)
        assert text == page.page(found, name)
        assert page.PICTURE.read_text(encoding="utf-8") == page.picture(found.figures)


def test_a_row_has_each_case_and_scheduler_that_were_measured() -> None:
    rows = page.details(FIGURES).splitlines()[2:]
    assert [row.split(" | ")[1] for row in rows] == ["`enbloc run`", "with coscheduling"]
    assert "| 805 | 80.5 |" in rows[0]


def test_writes_are_named_by_kind_and_rare_ones_left_out() -> None:
    row = page.writes(FIGURES).splitlines()[2]
    assert "1 post pods/binding, 0.25 apply podgroups/status |" in row


def test_the_picture_is_one_bar_for_each_scheduler() -> None:
    drawn = ET.fromstring(page.picture(FIGURES))
    bars = drawn.findall("{http://www.w3.org/2000/svg}rect")[1:]
    assert len(bars) == 2
    assert int(bars[0].get("width", "0")) > int(bars[1].get("width", "0"))


def test_every_case_has_words_on_the_page() -> None:
    assert set(page.CASES) == set(REAL)
