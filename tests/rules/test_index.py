# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every rule on gangs, and every failure of others, has a test that carries its name."""

import ast
import re
from pathlib import Path
from typing import Final

import pytest

#: The rules on gangs. Of §8, in the order of its sentences, what is built.
RULES: Final = {
    "2.1": "no stored flag: each plan places the deficit, whole",
    "2.2": "success counts",
    "2.3": "quorum",
    "2.4": "a restarted job",
    "2.5": "raising the minimum, and lowering it",
    "2.6": "priority of a group",
    "2.7": "order",
    "3.1": "last look",
    "3.2": "windows",
    "3.3": "minimum first",
    "3.4": "three outcomes",
    "3.5": "losing the minimum",
    "3.6": "blame",
    "3.7": "Scheduled only when the watch shows it",
    "4.1": "room of a lost member",
    "4.2": "deadline",
    "4.3": "onIncomplete",
    "4.4": "two repairs that need each other's room",
    "4.5": "evicting is not unbinding",
    "5.1": "promises",
    "5.2": "a minimum counts only pods that can exist together",
    "6.1": "pending pods of other schedulers",
    "6.2": "autoscalers",
    "6.3": "consistent start",
    "7.1": "a generation change is a change",
    "7.2": "Finished",
    "7.3": "times and counters",
    "8.1": "receipts, ranks and replay",
    "8.2": "what if this node goes",
    "8.3": "a column of trust per node",
    "8.4": "rows where others bound lately",
    "8.5": "GangRunning",
    "8.6": "Satisfied",
    "8.7": "needs so many more of that shape",
}

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

_NUMBERED: Final = re.compile(r"test_(\d+)_(\d+)_\w+")


def _tests() -> dict[str, ast.FunctionDef]:
    """Every test beside this one, by its name."""
    found: dict[str, ast.FunctionDef] = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if path == Path(__file__):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                assert node.name not in found, f"{path.name}: {node.name} is there twice"
                found[node.name] = node
    return found


TESTS: Final = _tests()


@pytest.mark.parametrize("rule", [pytest.param(n, id=f"{n} {text}") for n, text in RULES.items()])
def test_each_rule_has_a_test_of_its_number(rule: str) -> None:
    prefix = f"test_{rule.replace('.', '_')}_"
    assert [name for name in TESTS if name.startswith(prefix)]


@pytest.mark.parametrize("failure", FAILURES)
def test_each_failure_of_others_has_a_test_of_its_name(failure: str) -> None:
    assert [name for name in TESTS if name.startswith(f"test_{failure}")]


def test_no_test_has_the_number_of_a_rule_that_does_not_exist() -> None:
    numbered = {name: _NUMBERED.fullmatch(name) for name in TESTS if name[5].isdigit()}
    assert [name for name, match in numbered.items() if match is None] == []
    numbers = {f"{match[1]}.{match[2]}" for match in numbered.values() if match}
    assert numbers == set(RULES)


def test_none_of_them_is_ever_skipped() -> None:
    words = {"skip", "skipif", "importorskip", "xfail"}
    assert [name for name, test in TESTS.items() if words & _attributes(test)] == []


def test_each_of_them_asserts_something_whatever_there_is_to_loop_over() -> None:
    assert [name for name, test in TESTS.items() if not _asserts(test)] == []


def _attributes(test: ast.FunctionDef) -> set[str]:
    return {node.attr for node in ast.walk(test) if isinstance(node, ast.Attribute)}


def _asserts(test: ast.FunctionDef) -> bool:
    certain = [node for node in test.body if not isinstance(node, ast.For | ast.While | ast.If)]
    return any(isinstance(each, ast.Assert) for node in certain for each in ast.walk(node))
