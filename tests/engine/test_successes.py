# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Members that succeeded count for their run, and cost nothing more, however many they are."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.config import default_profiles
from enbloc.engine import Engine, Settings
from enbloc.engine.events import GroupSeen, NodeSeen, PodGone, PodSeen, Stream, Synced
from enbloc.engine.state.successes import Successes
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Owner, Phase, Pod
from tests.effort import examples
from tests.engine.test_standby import kept
from tests.world.builders import group, node, pod, spec

GANG = GroupKey("ns", "g")


def member(name: str, rank: int) -> Pod:
    running = pod(spec(cpu=1), name, scheduler="enbloc", group=GANG, node="n1")
    return replace(running, phase=Phase.RUNNING, rank=rank, owner=Owner("Job", "job", "job"))


class Working:
    """The engine that leads, with a gang whose first member goes on while others succeed."""

    def __init__(self) -> None:
        self.engine = Engine(default_profiles(), Settings(log=10))
        self._tell(NodeSeen(node("n1", cpu=4)), GroupSeen(group("g", 2, key=GANG)))
        self._tell(PodSeen(member("leader", 0)), *map(Synced, Stream))
        self._done = 0

    def _tell(self, *events: NodeSeen | GroupSeen | PodSeen | PodGone | Synced) -> None:
        for event in events:
            self.engine.apply(event)
        while self.engine.wakeup() == 0.0:
            self.engine.step(1000.0)

    def work(self, many: int) -> int:
        """As many more succeed and are deleted; return how much is kept of the group then."""
        for number in range(self._done, self._done + many):
            running = member(f"p{number}", number + 1)
            self._tell(PodSeen(running))
            self._tell(PodSeen(replace(running, phase=Phase.SUCCEEDED)))
            self._tell(PodGone(running.key, running.uid))
        self._done += many
        [run] = self.engine._groups.runs(GANG)
        assert run.all_succeeded == self._done
        assert run.started is not None
        return kept(self.engine._groups)


def test_what_is_kept_of_members_that_succeeded_does_not_grow_with_them() -> None:
    """Semantics §2.2, §9.1: all of it would be looked at in each turn."""
    working = Working()
    before = working.work(50)
    assert working.work(200) <= before + 20


@examples(200)
@given(st.lists(st.integers(0, 20)))
def test_their_ranks_are_kept_as_few_ranges(ranks: Sequence[int]) -> None:
    done = Successes()
    for number, rank in enumerate(ranks):
        done.add(member(f"p{number}", rank))
    assert [rank for each in done.ranks for rank in range(*each)] == sorted(set(ranks))
    assert all(
        before[1] < after[0] for before, after in zip(done.ranks, done.ranks[1:], strict=False)
    )


@pytest.mark.parametrize("gone", [False, True])
def test_a_member_that_succeeded_counts_once_if_its_pod_comes_back(gone: bool) -> None:
    """As when a pod is moved to another group and back."""
    working = Working()
    working.work(1)
    done = replace(member("x", 5), phase=Phase.SUCCEEDED)
    elsewhere = replace(done, group=GroupKey("ns", "other"))
    working._tell(PodSeen(done))
    working._tell(*([PodSeen(elsewhere)] if gone else []), PodSeen(done))
    [run] = working.engine._groups.runs(GANG)
    assert run.all_succeeded == 2
