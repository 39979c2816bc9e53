# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reference pages that are made from code leave nothing out."""

from pathlib import Path
from typing import Any, Final

import yaml

from enbloc.cli.entry import COMMANDS
from enbloc.cli.other_packages import SANDBOX
from enbloc.model.names import EventReason, Reason
from hack.reference import comment_above, pages

ROOT: Final = Path(__file__).parent.parent.parent
PAGES: Final = {path.stem: text for path, text in pages(ROOT).items()}


def test_every_command_and_its_flags_are_on_the_page() -> None:
    text = PAGES["cli"]
    assert [name for name in (*COMMANDS, *SANDBOX) if f"## enbloc {name}\n" not in text] == []
    assert "| `--nodes` | `4` |" in text
    assert "### enbloc config check\n" in text


def test_every_value_of_the_chart_is_on_the_page_with_its_default() -> None:
    values: dict[str, Any] = yaml.safe_load((ROOT / "helm/enbloc/values.yaml").read_text("utf-8"))
    text = PAGES["helm-values"]
    assert [name for name in values if f"| `{name}" not in text] == []
    assert "| `scheduler.replicas` | `2` |" in text


def test_every_reason_and_every_event_is_on_its_page() -> None:
    assert [each for each in Reason if f"| `{each}` |" not in PAGES["conditions-and-reasons"]] == []
    assert [each for each in EventReason if f"| `{each}` |" not in PAGES["events"]] == []


def test_a_comment_belongs_to_the_value_right_below_it() -> None:
    lines = ["# ── a heading ──", "# one", "# <two>", "key: 1", "other: 2"]
    assert comment_above(lines, 3) == "one &lt;two>"
    assert comment_above(lines, 4) == ""
