# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""With each least change that is told a group starts, and with one step less it does not."""

from collections import Counter
from collections.abc import Iterable

import pytest

from enbloc.engine.events import Event, GroupSeen, NodeSeen, PodGone, PodSeen
from enbloc.model.reasons import WaitCause
from enbloc.simulation import Remedy, Waiting
from tests.effort import slow, times
from tests.simulation.present import outlook
from tests.simulation.random_clusters import CLASSES, drawn
from tests.world.cluster import Cluster


@pytest.mark.parametrize(
    "seeds",
    [range(times(40)), pytest.param(range(1000, 1000 + times(125)), marks=slow("500 clusters"))],
    ids=["a few", "many"],
)
def test_a_group_starts_with_each_least_change_and_with_no_step_less(seeds: range) -> None:
    """The change comes to a scheduler at work, as somebody's write to the API server would."""
    reached = Counter[str]()
    for seed in seeds:
        found = outlook(drawn(seed), CLASSES)
        for row in found.rows:
            explanation = found.explain(row)
            reached[explanation.cause] += 1
            for remedy in explanation.remedies:
                told = f"seed {seed}: {row.name} with {remedy.text}"
                assert _starts(seed, row, remedy, remedy.degree), told
                if remedy.degree > 1:
                    assert not _starts(seed, row, remedy, remedy.degree - 1), told
                reached[remedy.text.split()[0] if remedy.degree else ""] += 1
    assert {WaitCause.CAPACITY, WaitCause.CLUSTER} <= reached.keys(), reached


def _starts(seed: int, row: Waiting, remedy: Remedy, degree: int) -> bool:
    """Whether members of a group get nodes in a cluster like that one, once it has changed so."""
    cluster = drawn(seed)
    assert remedy.change is not None
    _apply(cluster, remedy.change.events(degree))
    before = set(cluster.where())
    cluster.settle(seconds=60)
    names = {pod.key.name for pod in row.pending}
    return bool((set(cluster.where()) - before) & names)


def _apply(cluster: Cluster, events: Iterable[Event]) -> None:
    for event in events:
        match event:
            case PodSeen(pod):
                cluster.put_pod(pod)
            case PodGone(key):
                cluster.delete(key.name)
            case NodeSeen(node):
                cluster.put_node(node)
            case GroupSeen(group):
                cluster.put_group(group)
            case _:
                raise AssertionError(event)
