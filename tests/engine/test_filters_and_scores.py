# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Filters and scores of plugins: what they read, how they break, who is told."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from enbloc.framework import (
    Reads,
)
from enbloc.framework.decide import Scores
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from tests.world.cluster import cluster_with

SPEC: Any = Reads.SPEC


@dataclass(frozen=True)
class Broken:
    """A filter that answers whatever it is made with."""

    answer: Callable[[Nodes], Any]
    name: ClassVar[str] = "Broken"
    reads: ClassVar[Reads] = Reads.NODE
    reason: ClassVar[str] = "broken"

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        mask: Mask = self.answer(nodes)
        return mask


def _raise(nodes: Nodes) -> Any:
    raise ValueError(f"cannot look at {len(nodes)} nodes")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(_raise, "ValueError: cannot look at 2 nodes", id="it raises"),
        pytest.param(lambda _: np.ones(5, bool), "expected bool[2], got bool[5]", id="wrong shape"),
        pytest.param(lambda n: np.ones(len(n)), "expected bool[2], got float64[2]", id="dtype"),
        pytest.param(lambda n: [True] * len(n), "expected bool[2], got list", id="no array"),
    ],
)
def test_a_broken_filter_costs_its_group_a_pause_and_nobody_else_anything(
    answer: Callable[[Nodes], Any], said: str
) -> None:
    cluster = cluster_with(Broken(answer))
    cluster.gang("g", 2)
    cluster.settle()
    message = f'plugin "Broken" failed at Filter: {said}'
    assert cluster.condition("g")[1:] == ("SchedulerError", message)
    attempts = cluster.status["g"].attempts
    cluster.settle(seconds=2)
    assert cluster.status["g"].attempts == attempts + 1


@dataclass(frozen=True)
class Scorer:
    """A score that answers whatever it is made with."""

    answer: Callable[[Nodes], Any]
    reads: Any = SPEC
    name: ClassVar[str] = "Scorer"

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        del pod
        scores: Scores = self.answer(nodes)
        return scores


def _only_n2(nodes: Nodes) -> Any:
    return nodes.named(("n2",)).astype(np.int64) * 100


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        pytest.param(lambda n: np.full(len(n), np.nan), "contain NaN", id="NaN"),
        pytest.param(lambda n: np.full(len(n), 101), "returns an invalid score 101", id="above"),
        pytest.param(lambda n: np.full(len(n), -1), "returns an invalid score -1", id="below"),
        pytest.param(lambda _: None, "got NoneType", id="nothing"),
    ],
)
def test_a_broken_score_is_named_with_what_was_wrong(
    answer: Callable[[Nodes], Any], said: str
) -> None:
    cluster = cluster_with(Scorer(answer))
    cluster.pod("p")
    cluster.settle()
    [event] = cluster.events("FailedScheduling")
    assert 'plugin "Scorer" failed at Score' in event.note
    assert said in event.note


@pytest.mark.parametrize("reads", list(Reads))
def test_a_score_decides_among_feasible_nodes_whatever_it_reads(reads: Reads) -> None:
    cluster = cluster_with(Scorer(_only_n2, reads), weights={"Scorer": 5})
    cluster.gang("g", 6)
    cluster.settle()
    assert set(cluster.where().values()) == {"n2"}


@dataclass
class _Spread:
    """At most `skew` more members on one node than on another."""

    counts: list[int]
    reads: ClassVar[Reads] = Reads.CLUSTER
    reason: ClassVar[str] = "node(s) had too many"

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod, nodes
        counts = np.array(self.counts)
        allowed: Mask = counts == counts.min()
        return allowed

    def placed(self, pod: Pod, row: int) -> None:
        del pod
        self.counts[row] += 1

    def removed(self, pod: Pod, row: int) -> None:
        del pod
        self.counts[row] -= 1


@dataclass(frozen=True)
class Spread:
    """A plugin that reads the whole cluster."""

    name: ClassVar[str] = "Spread"

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Any:
        del pod
        counts = np.bincount(snapshot.placed.row, minlength=len(snapshot.nodes))
        return _Spread(counts.tolist())


def test_a_plugin_that_reads_the_cluster_hears_of_every_placement() -> None:
    cluster = cluster_with(Spread(), Scorer(_only_n2), weights={"Scorer": 50})
    cluster.gang("g", 6)
    cluster.settle()
    assert sorted(cluster.where().values()) == ["n1"] * 3 + ["n2"] * 3


@dataclass(frozen=True)
class Odd:
    """Gives what cannot filter."""

    name: ClassVar[str] = "Odd"

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Any:
        del pod, snapshot
        return object()


@dataclass(frozen=True)
class OddScore:
    """Gives what cannot score."""

    name: ClassVar[str] = "OddScore"

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> Any:
        del pod, snapshot
        return object()


@dataclass(frozen=True)
class SkipScore:
    """Has nothing to say."""

    name: ClassVar[str] = "SkipScore"

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> Any:
        del pod, snapshot


def test_what_cannot_filter_or_score_is_named() -> None:
    for plugin, said in ((Odd(), "at PreFilter"), (OddScore(), "at PreScore")):
        cluster = cluster_with(plugin)
        cluster.pod("p")
        cluster.settle()
        assert said in cluster.events("FailedScheduling")[0].note


def test_a_skipped_score_changes_nothing() -> None:
    cluster = cluster_with(SkipScore())
    cluster.pod("p")
    cluster.settle()
    assert len(cluster.where()) == 1


@dataclass(frozen=True)
class Signing:
    """Tells pods apart by name."""

    name: ClassVar[str] = "Signing"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "node(s) had another number"

    def signature(self, pod: Pod) -> object:
        return pod.key.name[-1]

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        return np.array([name[-1] == pod.key.name[-1] for name in nodes.names], bool)


def test_pods_with_different_signatures_do_not_share_their_masks() -> None:
    cluster = cluster_with(Signing())
    cluster.group("g", 2)
    cluster.pod("g-1", "g")
    cluster.pod("g-2", "g")
    cluster.settle()
    assert cluster.where() == {"g-1": "n1", "g-2": "n2"}
