# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What goes to a terminal is escaped: names and messages come from objects and files too."""

import pytest

from enbloc.cli.tables import print_table, say


def test_cells_and_lines_are_escaped_and_columns_stay_aligned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(("NAME", "WHY"), [("a\x1b[2J", "x\ny"), ("b", "\u202ez")])
    say("warning: a\r\x07", err=True)
    captured = capsys.readouterr()
    assert captured.out.splitlines() == [
        "NAME       WHY",
        r"a\x1b[2J   x\ny",
        r"b          \u202ez",
    ]
    assert captured.err == "warning: a\\r\\x07\n"
