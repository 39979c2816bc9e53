# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the threat model says is shown by tests that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/explanation/security.md").read_text(encoding="utf-8")
SHOWN = sorted(set(re.findall(r"`(tests/[\w/.]+)::(\w+)`", PAGE)))
ROWS = [line for line in PAGE.splitlines() if re.match(r"\| (?!-)", line)]


@cache
def defined_in(path: str) -> frozenset[str]:
    """The tests that a file defines."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    functions = (
        node
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return frozenset(each.name for each in functions if each.name.startswith("test_"))


@pytest.mark.parametrize(("path", "name"), SHOWN)
def test_a_test_that_the_threat_model_names_exists(path: str, name: str) -> None:
    assert name in defined_in(path)


def test_every_line_of_its_tables_names_one() -> None:
    heads = ("| Cannot", "| Can |", "| Are never |")
    silent = [row for row in ROWS if "::" not in row and not row.startswith(heads)]
    assert silent == []
    assert len(ROWS) > 40
    assert len(re.findall(r"tests/[\w/.]+::", PAGE)) >= len(SHOWN)
