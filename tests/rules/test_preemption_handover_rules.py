# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemptions that a new leader finds half done, or that are not needed any more."""

from enbloc.engine.eviction.victims import MOST_AWAITED
from tests.world.builders import spec
from tests.world.cluster import Cluster


def test_no_more_are_told_while_answers_are_awaited() -> None:
    """Semantics §10.3: who was not told stays when capacity appears elsewhere."""
    cluster = Cluster()
    cluster.node("n1", cpu=40)
    for number in range(40):
        cluster.pod(f"low-{number:02}", node="n1")
    cluster.evict_answer = lambda _: "hold"
    cluster.pod("high", priority=10, spec=spec(cpu=40))
    cluster.settle()
    told = len(cluster.evicted)
    cluster.node("n2", cpu=40)
    cluster.settle(seconds=20)

    assert told == MOST_AWAITED
    assert cluster.where("high") == {"high": "n2"}
    assert len(cluster.evicted) == told
