# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Methods of plugins that are never asked, because an attribute beside them is missing."""

from typing import Any, ClassVar, Self

import numpy as np
import pytest

from enbloc.framework import Reads, Status
from enbloc.framework.decide import Scores
from enbloc.framework.facts import GroupFacts
from enbloc.framework.points import Point, points_of
from enbloc.model.groups import Group
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from enbloc.testing import check_plugin


class NoReason:
    """A filter that would never be asked."""

    name: ClassVar[str] = "NoReason"
    reads: ClassVar[Reads] = Reads.SPEC

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        return np.ones(len(nodes), bool)


class GivesItself(NoReason):
    """The same, by way of PreFilter."""

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Self:
        del pod, snapshot
        return self


class GivesAnother:
    """Gives what cannot filter."""

    name: ClassVar[str] = "GivesAnother"

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> NoReason:
        del pod, snapshot
        return NoReason()


class NoReads:
    """A scorer that would never be asked."""

    name: ClassVar[str] = "NoReads"

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        del pod
        return np.zeros(len(nodes), np.int64)


class Nameless:
    """Has no name, and so is no plugin."""

    def pre_enqueue(self, group: Group | None, facts: GroupFacts) -> Status:
        del group, facts
        return Status()


class Endless:
    """Its memory keeps gangs off nodes, and does not know until when."""

    name: ClassVar[str] = "Endless"

    def new_memory(self) -> Any:
        return type("Memory", (), {"observe": lambda *_: (), "refused": lambda *_: {}})()


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        (NoReason(), "`filter` needs `reason` beside it"),
        (GivesItself(), "`filter` needs `reason` beside it"),
        (GivesAnother(), "NoReason.*`filter` needs `reason` beside it"),
        (NoReads(), "`score` needs `reads` beside it"),
        (Nameless(), "`pre_enqueue` needs `name` beside it"),
        (Endless(), "`refused` needs `deadline` and `expire` beside it"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_check_plugin_names_a_method_that_is_never_asked_and_what_it_lacks(
    plugin: Any, said: str
) -> None:
    with pytest.raises(AssertionError, match=said):
        check_plugin(plugin, examples=3)


def test_a_plugin_that_scores_among_the_feasible_needs_no_pre_score() -> None:
    class Among:
        name: ClassVar[str] = "Among"
        reads: ClassVar[Reads] = Reads.CLUSTER

        def score_among(self, pod: Pod, nodes: Nodes, feasible: Mask) -> Scores:
            del pod, nodes
            return feasible.astype(np.int64)

    assert points_of(Among()) == {Point.SCORE}
