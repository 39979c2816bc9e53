# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every numbered rule on gangs, and every failure of others, has a test that says so."""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

HERE: Final = Path(__file__).resolve()
ROOT: Final = next(folder for folder in HERE.parents if (folder / "docs").is_dir())
PAGE: Final = (ROOT / "docs/reference/semantics.md").read_text(encoding="utf-8")
RULES: Final = dict(re.findall(r"^### (\d+\.\d+) (.+)$", PAGE, re.MULTILINE))

#: What other gang schedulers got wrong: how the names of its tests begin, after "test_".
FAILURES: Final = (
    "scheduler_plugins_930_",
    "scheduler_plugins_397_",
    "scheduler_plugins_713_and_114_",
    "volcano_5022_",
    "volcano_5131_",
    "volcano_5805_",
    "koordinator_872_",
    "kai_2075_",
    "same_named_groups_in_two_namespaces_",
    "failed_or_terminating_pods_do_not_count_for_quorum",
    "a_late_podgroup_",
    "the_minimum_lowered_in_mid_cycle_",
    "a_restart_while_a_group_is_being_bound_",
)

Test = ast.FunctionDef | ast.AsyncFunctionDef


def _tests(files: list[Path]) -> dict[str, Test]:
    """Every test of these modules, by module and name."""
    return {
        f"{path.stem}::{node.name}": node
        for path in files
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, Test) and node.name.startswith("test_")
    }


@cache
def _beside() -> dict[str, Test]:
    """Those beside this one, which are about the rules and nothing else."""
    return _tests([path for path in sorted(HERE.parent.glob("test_*.py")) if path != HERE])


@cache
def _all() -> dict[str, Test]:
    """Those that every run of the tests runs: the end-to-end tests need programs of others."""
    return _tests(
        [
            path
            for path in sorted((ROOT / "tests").rglob("test_*.py"))
            if path != HERE and "e2e" not in path.relative_to(ROOT).as_posix()
        ]
    )


@cache
def _cited(test: Test) -> set[str]:
    """The rules that a test's docstring names."""
    runs = re.findall(
        r"[Ss]emantics\s+(§[\d.§,\s]*(?:and §[\d.]+)?)", ast.get_docstring(test) or ""
    )
    return {number for run in runs for number in re.findall(r"§(\d+\.\d+)", run)}


def _attributes(test: Test) -> set[str]:
    return {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}


def _asserts(test: Test) -> bool:
    """Whether it asserts something, whatever there is to loop over."""
    certain = [node for node in test.body if not isinstance(node, ast.For | ast.While | ast.If)]
    return any(isinstance(each, ast.Assert) for node in certain for each in ast.walk(node))


def _skips(test: Test) -> bool:
    return bool({"skip", "skipif", "importorskip", "xfail"} & _attributes(test))


def test_the_rules_are_read_from_the_page() -> None:
    assert {"2.1", "3.4", "4.5", "8.7"} <= set(RULES)


@pytest.mark.parametrize("rule", [pytest.param(n, id=f"{n} {text}") for n, text in RULES.items()])
def test_each_rule_has_a_test_that_names_it_and_can_fail(rule: str) -> None:
    about = [test for test in _all().values() if rule in _cited(test)]
    assert [test.name for test in about if _asserts(test) and not _skips(test)]


def test_no_test_names_a_rule_that_does_not_exist() -> None:
    assert {
        name: unknown for name, t in _all().items() if (unknown := _cited(t) - set(RULES))
    } == {}


@pytest.mark.parametrize("failure", FAILURES)
def test_each_failure_of_others_has_a_test_of_its_name(failure: str) -> None:
    assert [test.name for test in _all().values() if test.name.startswith(f"test_{failure}")]


def test_the_name_of_a_test_is_a_sentence_without_the_number_of_a_rule() -> None:
    assert [name for name, t in _all().items() if re.match(r"test_\d_\d+_", t.name)] == []


def test_none_of_those_beside_is_ever_skipped() -> None:
    assert [name for name, test in _beside().items() if _skips(test)] == []


def test_each_of_those_beside_asserts_something_whatever_there_is_to_loop_over() -> None:
    assert [name for name, test in _beside().items() if not _asserts(test)] == []
