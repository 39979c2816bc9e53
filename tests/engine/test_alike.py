# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Alike pods that are placed together go where they go one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from enbloc.config import default_profiles
from enbloc.engine.trial import Trial
from enbloc.engine.trial.ranking import Ranking
from enbloc.framework.decide import Scores
from enbloc.framework.normalizing import default_normalize
from enbloc.framework.profile import Profile
from enbloc.framework.reads import Reads
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from enbloc.model.taints import Effect, Taint
from enbloc.plugins.node_resources_fit.plugin import NodeResourcesFit
from tests.effort import examples
from tests.engine.searching import Kind, cluster, machine, members, trying

PROFILE = default_profiles()["enbloc"]
SOFT = Taint("soft", "", Effect.PREFER_NO_SCHEDULE)


@dataclass(frozen=True)
class Size:
    """What a user wrote: only the smallest of the nodes that still take the pod will do."""

    name: ClassVar[str] = "Size"
    reads: ClassVar[Reads] = Reads.SPEC

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        del pod
        return nodes.allocatable("cpu")

    def normalize(self, scores: Scores) -> Scores:
        best: Scores = (scores == scores.min()) * 100
        return best


@dataclass(frozen=True)
class SizeByExtremes(Size):
    """The same, which says so."""

    by_extremes: ClassVar[bool] = True


@dataclass(frozen=True)
class Crowd:
    """Prefers nodes with an odd number of pods."""

    name: ClassVar[str] = "Crowd"
    reads: ClassVar[Reads] = Reads.NODE

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        del pod
        scores: Scores = nodes.requested("pods") % 2 * 50
        return scores


@dataclass(frozen=True)
class Share(Crowd):
    """Prefers full nodes, compared with the others."""

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        del pod
        return nodes.requested("pods")

    def normalize(self, scores: Scores) -> Scores:
        return default_normalize(scores)


@dataclass(frozen=True)
class Parity:
    """Prefers even rows the more pods are on odd ones."""

    name: ClassVar[str] = "Parity"
    by_extremes: ClassVar[bool] = True

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> "Parities":
        del pod
        return Parities(len(snapshot.nodes))

    def normalize(self, scores: Scores) -> Scores:
        return default_normalize(scores)


class Parities:
    """What it heard of."""

    reads: ClassVar[Reads] = Reads.CLUSTER

    def __init__(self, size: int, odd: int = 0) -> None:
        self.size, self.odd = size, odd

    def placed(self, pod: Pod, row: int) -> bool:
        del pod
        self.odd += row % 2
        return bool(row % 2)

    def removed(self, pod: Pod, row: int) -> bool:
        del pod
        self.odd -= row % 2
        return bool(row % 2)

    def fork(self) -> "Parities":
        return Parities(self.size, self.odd)

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        del pod, nodes
        return np.where(np.arange(self.size) % 2, 1, 1 + self.odd)


class Counted(Crowd):
    """Counts of how many rows it was asked."""

    rows = 0

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        Counted.rows += len(nodes)
        return super().score(pod, nodes)


def having(*plugins: object, fit: NodeResourcesFit | None = None) -> Profile:
    theirs = tuple(
        fit if fit is not None and plugin.name == fit.name else plugin for plugin in PROFILE.plugins
    )
    weights = {**PROFILE.weights, Size.name: 9}
    return Profile("p", (*theirs, *plugins), weights)  # type: ignore[arg-type]


PROFILES = {
    "default": PROFILE,
    "most allocated": having(fit=NodeResourcesFit(strategy="MostAllocated")),
    "normalised over who is left": having(Size()),
    "normalised by extremes": having(SizeByExtremes()),
    "odd": having(Crowd()),
    "normalised after each pod": having(Share()),
    "normalised after some pods": having(SizeByExtremes(), Parity()),
}


@st.composite
def fleets(draw: st.DrawFn) -> tuple[Node, ...]:
    kinds = st.tuples(st.integers(1, 9), st.integers(0, 4), st.integers(1, 6), st.booleans())
    return tuple(
        replace(machine(f"n{index}", cpu, gpu, pods=pods), taints=(SOFT,) if soft else ())
        for index, (cpu, gpu, pods, soft) in enumerate(draw(st.lists(kinds, max_size=8)))
    )


def rows_one_by_one(pods: Sequence[Pod], fleet: Sequence[Node], profile: Profile) -> list[int]:
    trial = trying(cluster(*fleet), profile)
    rows = [trial.place(pod) for pod in pods]
    return [row for row in rows if row is not None]


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
@given(fleet=fleets(), count=st.integers(1, 24), gpu=st.integers(0, 1), beside=st.integers(0, 3))
@example(fleet=(machine("n0", 9, pods=6), machine("n1", 1)), count=9, gpu=0, beside=0)
@examples(60)
def test_alike_pods_take_the_rows_that_they_take_one_by_one(
    profile: Profile, fleet: tuple[Node, ...], count: int, gpu: int, beside: int
) -> None:
    *others, last = members(*[Kind(cpu=2)] * beside, Kind(gpu=gpu))
    pods = [replace(last, uid=type(last.uid)(f"u{index}")) for index in range(count)]
    alone = rows_one_by_one([*others, *pods], fleet, profile)
    trial = trying(cluster(*fleet), profile)
    first = [row for pod in others if (row := trial.place(pod)) is not None]
    rows = trial.place_alike(pods, trial.key(pods[0]))
    assert [*first, *rows] == alone
    one_by_one = trying(cluster(*fleet), profile)
    for pod, row in zip([*others[: len(first)], *pods], [*first, *rows], strict=False):
        one_by_one.add(pod, row)
    assert (trial.ranking(last).totals == one_by_one.ranking(last).totals).all()


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_a_gang_that_fills_a_fleet_leaves_it_as_one_placed_pod_by_pod(profile: Profile) -> None:
    fleet = [machine(f"n{index}", 2 + index % 5, 8, pods=4) for index in range(40)]
    pods = members(*[Kind()] * 120)
    trial = trying(cluster(*fleet), profile)
    rows = trial.place_alike(pods, trial.key(pods[0]))
    assert rows == rows_one_by_one(pods, fleet, profile)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
@given(fleet=fleets(), moves=st.lists(st.tuples(st.integers(0, 7), st.booleans()), max_size=30))
@examples(60)
def test_nodes_that_fill_and_empty_leave_a_ranking_as_one_made_anew(
    profile: Profile, fleet: tuple[Node, ...], moves: list[tuple[int, bool]]
) -> None:
    pod, *others = members(*[Kind(cpu=2)] * 31)
    trial = trying(cluster(*fleet), profile)
    there: list[tuple[Pod, int]] = []
    for other, (row, leaves) in zip(others, moves, strict=False):
        if leaves and there:
            trial.remove(*there.pop(row % len(there)))
        elif row < len(fleet):
            trial.add(other, row)
            there.append((other, row))
        fresh = trying(cluster(*fleet), profile)
        for each in there:
            fresh.add(*each)
        assert (trial.ranking(pod).totals == _anew(fresh, pod).totals).all()


def _anew(trial: Trial, pod: Pod) -> Ranking:
    return Ranking(pod, trial.profile, trial.snapshot, trial.nodes, trial.changes)


@pytest.mark.parametrize("gang", [64, 256])
def test_what_is_asked_grows_with_the_gang_and_not_with_its_square(gang: int) -> None:
    """Each pod fills a node, and each full node has the scores of the others normalised anew."""
    trial = trying(
        cluster(*(machine(f"n{row}", 1) for row in range(gang))), having(Counted(), Size())
    )
    pods = members(*[Kind()] * gang)
    Counted.rows = 0
    assert trial.place_alike(pods, trial.key(pods[0])) == list(range(gang))
    assert Counted.rows <= 16 * gang


def test_amounts_too_large_for_sums_are_placed_one_by_one() -> None:
    room = (("cpu", 4000), ("memory", 3 * 2**41 + 1), ("pods", 9))
    pods = members(*[Kind()] * 4)
    spec = replace(pods[0].spec, requests=(("memory", 2**41), ("pods", 1)))
    pods = tuple(replace(pod, spec=spec) for pod in pods)
    trial = trying(cluster(replace(machine("n0", 4), allocatable=room)))
    assert trial.place_alike(pods, trial.key(pods[0])) == [0, 0, 0]
