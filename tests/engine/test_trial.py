# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Members are placed on a trial, and whatever may fail is tried on a fork of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.config import default_profiles
from enbloc.engine.decide.assign import place_group
from enbloc.engine.trial.ranking import Ranking
from enbloc.engine.trial.ranking_cache import Rankings
from enbloc.engine.trial.trial import Trial
from enbloc.framework.decide import Scores
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.framework.reads import Reads
from enbloc.model.node import Node
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from tests.effort import examples
from tests.engine.searching import (
    Kind,
    cluster,
    gangs,
    group,
    machine,
    machine_lists,
    member,
    members,
    trying,
)

PROFILE = default_profiles()["enbloc"]


def agrees_with_one_made_anew(trial: Trial, pods: Sequence[Pod], profile: Profile) -> None:
    for pod in pods:
        ranking = trial.ranking(pod)
        fresh = Ranking(pod, profile, trial.snapshot, trial.nodes, trial.changes)
        assert (ranking.mask == fresh.mask).all()
        assert (ranking.totals == fresh.totals).all()
        assert trial.diagnosis(pod) == fresh.diagnosis(trial.nodes)


class Numbers:
    """At most one more pod on a node than on another."""

    reads: ClassVar[Reads] = Reads.CLUSTER
    reason: ClassVar[str] = "node(s) had too many"

    def __init__(self, rows: int) -> None:
        self.counts = np.zeros(rows, np.int64)

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod, nodes
        mask: Mask = self.counts == self.counts.min(initial=99)
        return mask

    def placed(self, pod: Pod, row: int) -> None:
        del pod
        self.counts[row] += 1

    def removed(self, pod: Pod, row: int) -> None:
        del pod
        self.counts[row] -= 1


@dataclass(frozen=True)
class Even:
    """A plugin of a user's: what it gives hears of pods and knows nothing of forks."""

    name: ClassVar[str] = "Even"

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Numbers:
        del pod
        return Numbers(len(snapshot.nodes))


EVEN = Profile("even", (*PROFILE.plugins, Even()), PROFILE.weights)


# ── forks ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("profile", [PROFILE, EVEN], ids=["in-tree", "of a user's"])
@given(gang=gangs(), machines=machine_lists, data=st.data())
@examples(40)
def test_a_fork_holds_what_its_origin_and_it_itself_placed_and_nothing_else(
    profile: Profile,
    gang: tuple[list[Kind], GroupFacts],
    machines: tuple[Node, ...],
    data: st.DataObject,
) -> None:
    pods = gang[1].pending
    trials = [trying(cluster(*machines), profile)]
    for pod in pods:
        trial = data.draw(st.sampled_from(trials))
        for _ in range(2):
            fork = trial.fork()
            row = fork.place(pod)
            assert len(fork.changes) == len(trial.changes) + (row is not None)
            trials.append(fork)
    for trial in trials:
        agrees_with_one_made_anew(trial, pods, profile)


def test_what_has_forks_is_changed_no_more() -> None:
    trial = trying(cluster(machine("n0", 4)))
    trial.fork()
    with pytest.raises(AssertionError, match="its forks take it to be as it was"):
        trial.place(member(1, Kind()))
    with pytest.raises(AssertionError, match="there are forks that were not told"):
        trial.consulted(trial.key(member(1, Kind())), ())


def test_what_was_taken_off_before_a_fork_stays_off() -> None:
    there = member(9, Kind(cpu=4))
    trial = trying(cluster(machine("n0", 4), seated=[(there, "n0")]))
    trial.remove_from(there, "n0")
    pod = member(1, Kind(cpu=3))
    assert trial.fork().place(pod) == 0
    assert trial.fork().fork().place(pod) == 0
    agrees_with_one_made_anew(trial, [pod], PROFILE)


# ── what is copied ───────────────────────────────────────────────────────────────────────────


def test_a_first_member_looks_at_what_its_origin_has_and_copies_nothing() -> None:
    trial = trying(cluster(machine("n0", 4), machine("n1", 4)))
    fork, (first, second, other) = trial.fork(), members(Kind(), Kind(), Kind(cpu=2))
    assert fork.ranking(first) is trial.ranking(first)
    assert fork.nodes is trial.nodes
    fork.place(first)
    assert fork.ranking(second) is not trial.ranking(first)
    assert fork.ranking(other) is not trial.ranking(other)
    assert fork.nodes is not trial.nodes


def test_an_evaluator_that_is_shared_by_filter_and_score_is_copied_once() -> None:
    trial = trying(cluster(machine("n0", 4)), SHARED)
    fork, (first, second) = trial.fork(), members(Kind(), Kind())
    fork.place(first)
    assert [each.heard for each in listening(fork.ranking(second))] == [1]
    assert [each.heard for each in listening(trial.ranking(first))] == [0]
    agrees_with_one_made_anew(fork, [second], SHARED)


def listening(ranking: Ranking) -> list["Both"]:
    return [each for _, each in ranking._listeners.values() if isinstance(each, Both)]


class Both:
    """Filters and scores, by how many pods it heard of."""

    reads: ClassVar[Reads] = Reads.CLUSTER
    reason: ClassVar[str] = "never"

    def __init__(self, heard: int = 0) -> None:
        self.heard = heard

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        return np.full(len(nodes), self.heard < 5)

    def score(self, pod: Pod, nodes: Nodes) -> Scores:
        del pod
        return np.full(len(nodes), self.heard)

    def normalize(self, scores: Scores) -> Scores:
        return scores + self.heard

    def placed(self, pod: Pod, row: int) -> None:
        del pod, row
        self.heard += 1

    def removed(self, pod: Pod, row: int) -> None:
        del pod, row
        self.heard -= 1

    def fork(self) -> "Both":
        return Both(self.heard)


class Shares:
    """Gives one object for both points."""

    name: ClassVar[str] = "Shares"

    def __init__(self) -> None:
        self._last = Both()

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Both:
        del pod, snapshot
        self._last = Both()
        return self._last

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> Both:
        del pod, snapshot
        return self._last


SHARED = Profile("shared", (*PROFILE.plugins, Shares()), PROFILE.weights)


# ── what is kept ─────────────────────────────────────────────────────────────────────────────


def kept(rankings: Rankings, snapshot: Snapshot, pod: Pod) -> Ranking | None:
    return rankings.take(rankings.key(pod, PROFILE), pod, PROFILE, snapshot, 1)


def test_after_a_failure_the_rankings_of_the_cluster_as_it_is_are_kept() -> None:
    snapshot, rankings = cluster(machine("n0", 3)), Rankings()
    trial = Trial(PROFILE, snapshot, rankings, 1)
    facts = group(members(*[Kind(cpu=2)] * 2))
    outcome, last = place_group(facts, trial, 1000)
    assert outcome.failed
    last.keep()
    ranking = kept(rankings, snapshot, facts.pending[0])
    assert ranking is not None
    assert (ranking.totals == Ranking(facts.pending[0], PROFILE, snapshot).totals).all()


def test_after_a_success_the_rankings_are_kept_with_what_was_placed() -> None:
    snapshot, rankings = cluster(machine("n0", 9), machine("n1", 9)), Rankings()
    trial = Trial(PROFILE, snapshot, rankings, 1)
    facts = group(members(*[Kind(cpu=2)] * 2, Kind(cpu=1)))
    _, last = place_group(facts, trial, 1000)
    used = [last.ranking(pod) for pod in facts.pending[::2]]
    last.keep()
    for change in last.changes:
        rankings.journal.note(change)
    after = Snapshot(last.nodes.snapshot(), snapshot.placed, snapshot.namespaces)
    assert [kept(rankings, after, pod) for pod in facts.pending[::2]] == used


def test_a_lone_member_s_ranking_is_kept_though_no_fork_ever_copied_it() -> None:
    snapshot, rankings = cluster(machine("n0", 9)), Rankings()
    trial = Trial(PROFILE, snapshot, rankings, 1)
    facts = group(members(Kind(cpu=2)))
    ranking = trial.ranking(facts.pending[0])
    _, last = place_group(facts, trial, 1000)
    last.keep()
    assert kept(rankings, last.snapshot, facts.pending[0]) is ranking
