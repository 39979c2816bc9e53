# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which rankings are kept, how far they are brought up to date, and which pods share one."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest

from enbloc.config import default_profiles
from enbloc.engine.events import WorkloadSeen
from enbloc.engine.state import ClusterState
from enbloc.engine.trial import NodeView, Opinion, Trial
from enbloc.engine.trial.parts import PlacedChange
from enbloc.engine.trial.ranking import Ranking
from enbloc.engine.trial.ranking_cache import Journal, Rankings
from enbloc.framework.profile import Profile
from enbloc.framework.reads import Reads
from enbloc.ledgers import Ledgers
from enbloc.model.node import Node
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.placed import PlacedPods
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.resources import ResourceSpace
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector, SpreadConstraint
from enbloc.model.snapshot import Snapshot
from enbloc.model.workloads import WorkloadKey
from tests.world.builders import spec

PROFILE = default_profiles()["enbloc"]
POD = Pod(PodKey("ns", "p"), PodUID("p"), spec(cpu=1), scheduler="enbloc", labels=(("app", "a"),))


class Tables:
    """Two nodes, and pods that come and go; what happens is noted in a journal."""

    def __init__(self) -> None:
        self.nodes, self.placed = Nodes(ResourceSpace(), Ledgers()), PlacedPods()
        for name in ("n1", "n2"):
            self.nodes.put(Node(name, uid=name, allocatable=(("cpu", 8000), ("pods", 99))))
        self.rankings = Rankings()

    def snapshot(self) -> Snapshot:
        return Snapshot(self.nodes.snapshot(), self.placed.snapshot())

    def come(self, name: str, row: int = 0) -> PlacedChange:
        pod = replace(POD, uid=PodUID(name))
        self.nodes.place(row, pod.spec)
        self.placed.put(pod, row)
        change = PlacedChange(pod, row)
        self.rankings.journal.note(change)
        return change

    def keep(
        self, epoch: object = 1, pod: Pod = POD, beyond: tuple[PlacedChange, ...] = ()
    ) -> Ranking:
        key = self.rankings.key(pod, PROFILE)
        self.rankings.take(key, pod, PROFILE, self.snapshot(), epoch)
        ranking = Ranking(pod, PROFILE, self.snapshot())
        self.rankings.give(key, ranking, beyond, epoch)
        return ranking

    def take(self, epoch: object = 1, pod: Pod = POD) -> Ranking | None:
        key = self.rankings.key(pod, PROFILE)
        return self.rankings.take(key, pod, PROFILE, self.snapshot(), epoch)


def test_a_kept_ranking_is_given_once_and_knows_what_came_since() -> None:
    tables = Tables()
    ranking = tables.keep()
    tables.come("x")
    assert tables.take() is ranking
    assert (ranking.totals == Ranking(POD, PROFILE, tables.snapshot()).totals).all()
    assert tables.take() is None


def test_another_epoch_forgets_everything_and_takes_nothing_back() -> None:
    tables = Tables()
    ranking = tables.keep(epoch=1)
    assert tables.take(epoch=2) is None
    tables.rankings.give(tables.rankings.key(POD, PROFILE), ranking, (), epoch=1)
    assert tables.take(epoch=2) is None


@pytest.mark.parametrize("kept", [True, False])
def test_a_ranking_that_saw_a_plan_is_taken_again_only_if_the_plan_came_true(kept: bool) -> None:
    tables = Tables()
    planned = PlacedChange(replace(POD, uid=PodUID("x" if kept else "other")), 0)
    ranking = tables.keep()
    ranking.catch_up(tables.snapshot().nodes, [planned])
    tables.take()
    tables.rankings.give(tables.rankings.key(POD, PROFILE), ranking, [planned], 1)
    tables.come("x")
    assert (tables.take() is ranking) == kept


@dataclass(frozen=True)
class Asked:
    """Counts how often it looks at a whole snapshot."""

    name: ClassVar[str] = "Asked"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "never"
    times: list[None] = field(default_factory=list[None])

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> "Asked":
        del pod, snapshot
        self.times.append(None)
        return self

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        return np.ones(len(nodes), np.bool_)


def test_opinions_are_added_to_what_is_kept_and_are_not_kept_themselves() -> None:
    tables, asked = Tables(), Asked()
    profile = Profile("p", (*PROFILE.plugins, asked))
    plain = Ranking(POD, profile, tables.snapshot()).totals
    for refused in (0, 1, 0):
        view = NodeView(np.arange(2) != refused, np.zeros(2, np.int64), {refused: "it is ill"})
        opinion = Opinion("memory", view, 1)
        trial = Trial(profile, tables.snapshot(), tables.rankings, 1, [opinion])
        assert trial.place(POD) == 1 - refused
        trial.keep()
    assert (
        Trial(profile, tables.snapshot(), tables.rankings, 1).ranking(POD).totals == plain
    ).all()
    assert len(asked.times) == 2


def test_a_ranking_that_is_far_behind_is_made_anew() -> None:
    tables = Tables()
    tables.keep()
    for index in range(3):  # more than there are nodes
        tables.come(f"x{index}")
    assert tables.take() is None


def test_the_ranking_that_was_not_used_for_longest_goes_first() -> None:
    tables = Tables()
    pods = [replace(POD, spec=spec(cpu=1 + index)) for index in range(65)]
    for pod in pods[:64]:
        tables.keep(pod=pod)
    again = tables.take(pod=pods[0])
    assert again is not None
    tables.rankings.give(tables.rankings.key(pods[0], PROFILE), again, (), 1)
    tables.keep(pod=pods[64])
    assert tables.take(pod=pods[1]) is None
    assert tables.take(pod=pods[0]) is again
    assert tables.take(pod=pods[2]) is not None


def test_a_journal_forgets_what_is_long_ago_and_says_so() -> None:
    journal = Journal()
    changes = [PlacedChange(POD, row) for row in range(40_000)]
    for change in changes:
        journal.note(change)
    assert journal.end == 40_000
    assert journal.since(0) is None
    assert journal.since(39_990) == changes[39_990:]
    assert journal.since(40_000) == []


def test_no_two_classes_ever_have_one_number_however_many_come() -> None:
    rankings = Rankings()
    pods = [replace(POD, spec=spec(cpu=1 + index)) for index in range(17_000)]
    keys = {rankings.key(pod, PROFILE) for pod in pods}
    assert len(keys) == len(pods)
    assert rankings.key(pods[-1], PROFILE) in keys


def test_equal_specs_are_one_class_though_they_are_two_objects() -> None:
    rankings = Rankings()
    other = replace(POD, spec=replace(POD.spec), key=PodKey("ns", "q"), uid=PodUID("q"))
    assert rankings.key(POD, PROFILE) == rankings.key(other, PROFILE)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"key": PodKey("other", "p")}, id="namespace"),
        pytest.param({"annotations": (("a", "b"),)}, id="annotations"),
        pytest.param({"spec": spec(cpu=2)}, id="spec"),
    ],
)
def test_what_plugins_may_look_at_tells_pods_apart(change: dict[str, object]) -> None:
    rankings = Rankings()
    other = replace(POD, **change)  # type: ignore[arg-type]
    assert rankings.key(POD, PROFILE) != rankings.key(other, PROFILE)


def test_profiles_do_not_share_rankings() -> None:
    second = Profile("second", PROFILE.plugins)
    rankings = Rankings()
    assert rankings.key(POD, PROFILE) != rankings.key(POD, second)


SELECTOR = Selector((Requirement("app", Operator.IN, ("a",)),))
NAMES_A_KEY = [
    pytest.param(spec(spread=(SpreadConstraint("zone", selector=SELECTOR),)), id="spread"),
    pytest.param(spec(spread=(SpreadConstraint("zone", match_label_keys=("app",)),)), id="keys"),
    pytest.param(
        spec(pod_affinity=PodAffinity((PodAffinityTerm("zone", SELECTOR),))), id="affinity"
    ),
    pytest.param(
        spec(pod_anti_affinity=PodAffinity((), ((1, PodAffinityTerm("zone", SELECTOR)),))),
        id="anti-affinity",
    ),
]


@pytest.mark.parametrize("naming", NAMES_A_KEY)
def test_labels_tell_pods_apart_once_some_selector_names_them(naming: PodSpec) -> None:
    tables = Tables()
    rankings = tables.rankings
    other = replace(POD, labels=(("app", "b"), ("unseen", "x")))
    assert rankings.key(POD, PROFILE) == rankings.key(other, PROFILE)
    tables.keep()
    rankings.selected.notice(naming, "ns")
    assert rankings.key(POD, PROFILE) != rankings.key(other, PROFILE)
    assert tables.take() is None, "it stood for pods that now differ"


def test_a_term_without_a_selector_names_no_label() -> None:
    rankings = Rankings()
    rankings.selected.notice(spec(pod_affinity=PodAffinity((PodAffinityTerm("zone"),))), "ns")
    rankings.selected.notice(spec(spread=(SpreadConstraint("zone"),)), "ns")
    assert not rankings.selected.in_namespace("ns")


def named(operator: Operator, *values: str) -> Selector:
    return Selector((Requirement("rank", operator, values),))


@pytest.mark.parametrize(
    ("selector", "classes"),
    [
        pytest.param(named(Operator.IN, "0"), 2, id="one value"),
        pytest.param(named(Operator.NOT_IN, "0", "1"), 3, id="all but two"),
        pytest.param(named(Operator.EXISTS), 1, id="any value"),
        pytest.param(named(Operator.GT, "4"), 8, id="by size"),
    ],
)
def test_values_that_no_selector_names_tell_nobody_apart(selector: Selector, classes: int) -> None:
    rankings = Rankings()
    pods = [replace(POD, labels=(("rank", str(rank)),)) for rank in range(8)]
    rankings.selected.select(selector, "other")
    assert len({rankings.key(pod, PROFILE) for pod in pods}) == 1, "it is of another namespace"
    rankings.selected.select(selector, "ns")
    assert len({rankings.key(pod, PROFILE) for pod in pods}) == classes
    assert rankings.key(POD, PROFILE) != rankings.key(pods[7], PROFILE), "it has no such label"


@pytest.mark.parametrize(
    ("term", "told"),
    [
        pytest.param(PodAffinityTerm("zone", SELECTOR), {"own"}, id="of its namespace"),
        pytest.param(PodAffinityTerm("zone", SELECTOR, ("a", "b")), {"a", "b"}, id="of some"),
        pytest.param(
            PodAffinityTerm("zone", SELECTOR, ("a",), Selector()), {"a", "b", "own"}, id="of all"
        ),
    ],
)
def test_a_term_tells_pods_apart_where_it_may_select_them(
    term: PodAffinityTerm, told: set[str]
) -> None:
    rankings = Rankings()
    rankings.selected.notice(spec(pod_affinity=PodAffinity((term,))), "own")
    assert {name for name in ("own", "a", "b") if rankings.selected.in_namespace(name)} == told


def test_an_answer_that_went_astray_is_found_by_validation() -> None:
    tables = Tables()
    tables.keep()
    tables.nodes.place(0, spec(cpu=8))  # behind the journal's back
    with pytest.raises(AssertionError, match="the mask went stale"):
        tables.rankings.check({"enbloc": PROFILE}, tables.snapshot(), 1)


def test_labels_that_selectors_of_gone_pods_named_are_forgotten() -> None:
    state = ClusterState()
    state.apply(WorkloadSeen(WorkloadKey("Service", "ns", "s"), SELECTOR))
    for number in range(20_000):
        selector = Selector((Requirement("run", Operator.IN, (str(number),)),))
        own = spec(pod_affinity=PodAffinity((PodAffinityTerm("zone", selector),)))
        pod = replace(POD, key=PodKey("ns", str(number)), uid=PodUID(str(number)), spec=own)
        state.pod_seen(pod)
        state.pod_gone(pod.uid)
    assert state.rankings.selected.size < 10_000
    assert state.rankings.selected.in_namespace("ns")["app"] == frozenset({"a"})
