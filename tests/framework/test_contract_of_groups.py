# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What check_plugin finds in plugins that read annotations, and in those asked about groups."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np
import pytest

from enbloc import (
    SUCCESS,
    Group,
    GroupFacts,
    Node,
    Nodes,
    Pod,
    Proposal,
    Reads,
    Scores,
    Status,
    refuse,
    wait,
)
from enbloc.testing import check_plugin, table

NUMBERS = count()


@dataclass(frozen=True)
class Trusting:
    """Takes every annotation for a number."""

    name: ClassVar[str] = "Trusting"
    reads: ClassVar[Reads] = Reads.SPEC
    annotations: ClassVar[tuple[str, ...]] = ("example.com/",)

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        del pod
        return np.array([int(v or 0) for v in nodes.annotation_values("example.com/x")], np.int64)


def test_a_plugin_that_trusts_annotations_is_found_out() -> None:
    with pytest.raises((ValueError, OverflowError)):
        check_plugin(Trusting(), examples=100)


@dataclass(frozen=True)
class Answers:
    """Says at PreEnqueue and Permit what the test wants."""

    answer: Callable[[], Any]
    name: ClassVar[str] = "Answers"

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        assert plan.id
        assert [pod for pod, _ in plan.nodes] == list(facts.pending)
        status: Status = self.answer()
        return status


class Gates(Answers):
    """Says so at PreEnqueue as well."""

    def pre_enqueue(self, group: Group | None, facts: GroupFacts) -> Status:
        del group, facts
        status: Status = self.answer()
        return status


@pytest.mark.parametrize("answer", [SUCCESS, refuse("no"), wait(3)])
def test_a_permit_plugin_may_let_a_group_pass_refuse_it_or_have_it_wait(answer: Status) -> None:
    check_plugin(Answers(lambda: answer), examples=3)


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        (Answers(lambda: True), "permit must give a Status, gave True"),
        (Answers(lambda: refuse(str(next(NUMBERS)))), "permit answers differently"),
        (Gates(wait), "pre_enqueue cannot wait"),
    ],
)
def test_another_answer_about_a_group_is_found(plugin: Answers, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_plugin(plugin, examples=3)


class Newest:
    """Sorts by what is no tuple, or by one that is never the same."""

    name: ClassVar[str] = "Newest"

    def __init__(self, key: Callable[[], Any]) -> None:
        self._key = key

    def sort_key(self, group: Group, facts: GroupFacts) -> tuple[Any, ...]:
        del group, facts
        key: tuple[Any, ...] = self._key()
        return key


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (lambda: 3, "sort_key must give a tuple, gave 3"),
        (lambda: (next(NUMBERS),), "sort_key answers differently"),
    ],
)
def test_a_sort_key_is_a_tuple_and_stays_the_same(key: Callable[[], Any], said: str) -> None:
    check_plugin(Newest(lambda: (1, "a")), examples=3)
    with pytest.raises(AssertionError, match=said):
        check_plugin(Newest(key), examples=3)


def test_a_table_of_nodes_for_a_test_of_ones_own_keeps_their_order() -> None:
    nodes = table(Node("b", labels=(("zone", "1"),)), Node("a"))
    assert list(nodes.names) == ["b", "a"]
    assert nodes.label_values("zone") == ["1", None]
