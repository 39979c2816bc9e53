# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One decision after the other on a cluster that changes in between, held against the reference.

Rankings are kept across decisions, caught up, thrown away or made anew; none of it may show.
"""

from collections import Counter
from dataclasses import replace
from functools import partial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enbloc.engine.events import NamespaceSeen, NodeSeen, WorkloadSeen
from enbloc.engine.state.cluster import ClusterState
from enbloc.engine.trial import Trial
from enbloc.framework.profile import Profile
from enbloc.model.node import Node
from enbloc.model.pods import Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector
from tests.effort import times
from tests.parity import asking, reference
from tests.parity.cases import Case, cases
from tests.parity.chance_nodes import random_node
from tests.parity.hosts import Host, Hosts
from tests.parity.settings import Settings

#: Hypothesis runs inside of these tests, which it does not know.
pytestmark = pytest.mark.hypothesis
WORLDS = times(250)
STEPS = 12
checked = settings(max_examples=WORLDS, derandomize=True, database=None)


def test_decisions_on_a_changing_cluster_are_those_of_the_reference() -> None:
    seen = Counter[str]()
    standard = asking.profile_of(Settings())

    @checked
    @given(cases(), st.tuples(*[st.integers(0, 127)] * 3).map(str))
    def holds(case: Case, seed: str) -> None:
        if not case.world.hosts:
            return
        usual = case.settings == Settings()
        run = _Run(case, standard if usual else asking.profile_of(case.settings), seed)
        for number in range(STEPS):
            seen[run.step(number)] += 1

    holds()
    for kind, share in (("placed", 0.25), ("refused", 0.1), ("left", 0.08), ("node", 0.01)):
        assert seen[kind] > share * seen.total(), (kind, seen)


class _Run:
    """A cluster as the engine keeps it, and the same as a world."""

    def __init__(self, case: Case, profile: Profile, seed: str) -> None:
        self.world: Hosts = case.world
        self.settings, self.profile = case.settings, profile
        self.dice = Random(seed)
        first, second, third, *_ = case.incoming
        self.classes: tuple[Pod, ...] = (
            first,
            second,
            replace(second, spec=first.spec),
            replace(third, spec=first.spec),
        )
        # Ours, whatever they are called: a pending pod of others that is pinned counts as placed.
        self.state = ClusterState({pod.scheduler for pod in case.incoming})
        for name, labels in case.world.namespaces.items():
            self.state.apply(NamespaceSeen(name, labels))
        for key, selector in case.world.workloads:
            self.state.apply(WorkloadSeen(key, selector))
        for host in case.world.hosts:
            self.state.apply(NodeSeen(host.node))
        for host in case.world.hosts:
            for pod in host.pods:
                self.state.pod_seen(pod)

    def step(self, number: int) -> str:
        """Something happens; what it was."""
        row = self.dice.randrange(len(self.world.hosts))
        what = self.dice.random()
        if what < 0.05:
            return self._change_node(row, number)
        if what < 0.3:
            return self._change_pod(row)
        return self._decide(number)

    def _decide(self, number: int) -> str:
        like = self.dice.choice(self.classes)
        name = f"new-{number}"
        pod = replace(like, key=PodKey(like.key.namespace, name), uid=PodUID(name))
        self.state.pod_seen(pod)
        totals = reference.totals(pod, self.world, self.settings)
        tell = partial(self.world.about, pod, self.settings)
        trial = Trial(self.profile, self.state.snapshot(), self.state.rankings, self.state.epoch)
        row = trial.place(pod)
        if row is None:
            assert not totals, tell()
            sentence = reference.fit_error(pod, self.world, self.settings)
            assert trial.diagnosis(pod).text() == sentence, tell()
        else:
            assert totals.get(row, -1) == max(totals.values(), default=0), tell()
        trial.keep()
        if row is None:
            return "refused"
        if self.dice.random() < 0.25:
            return "forgotten"
        host = self.world.hosts[row]
        self.state.pod_seen(replace(pod, node=host.node.name))
        self.world = self.world.placed(pod, row)
        return "placed"

    def _change_pod(self, row: int) -> str:
        """A pod leaves, or begins to terminate."""
        sitting = self.world.hosts[row].pods
        if not sitting:
            return "nothing"
        pod = self.dice.choice(sitting)
        self.world = self.world.removed(pod, row)
        if self.dice.random() < 0.7:
            self.state.pod_gone(pod.uid)
            return "left"
        self.state.pod_seen(replace(pod, deleting=True))
        self.world = self.world.placed(replace(pod, deleting=True), row)
        return "terminating"

    def _change_node(self, row: int, number: int) -> str:
        """A node gets other labels."""
        host = self.world.hosts[row]
        other = random_node(Random(f"{number} of {host.node.name}"), host.node.name, frozenset())
        node = replace(host.node, labels=other.labels)
        self.state.apply(NodeSeen(node))
        hosts = list(self.world.hosts)
        hosts[row] = Host(node, host.pods)
        self.world = replace(self.world, hosts=tuple(hosts))
        return "node"


def _keeps_off(app: str) -> PodSpec:
    """Pods with this label may not be on the same node."""
    selector = Selector((Requirement("app", Operator.IN, (app,)),))
    return PodSpec(pod_anti_affinity=PodAffinity((PodAffinityTerm("host", selector),)))


def _place(state: ClusterState, pod: Pod) -> int | None:
    state.pod_seen(pod)
    profile = asking.profile_of(Settings())
    trial = Trial(profile, state.snapshot(), state.rankings, state.epoch)
    row = trial.place(pod)
    trial.keep()
    return row


def _pod(name: str, spec: PodSpec, app: str = "", node: str = "") -> Pod:
    labels = (("app", app),) if app else ()
    return Pod(PodKey("default", name), PodUID(name), spec, labels=labels, node=node)


def test_pods_that_were_alike_are_told_apart_once_a_selector_names_a_label_of_theirs() -> None:
    state = ClusterState()
    state.apply(NamespaceSeen("default", ()))
    state.apply(NodeSeen(Node("n", labels=(("host", "n"),), allocatable=(("pods", 9),))))
    spec = PodSpec()
    assert _place(state, _pod("first", spec, "web")) == 0
    state.pod_seen(_pod("guard", _keeps_off("web"), node="n"))
    assert _place(state, _pod("second", spec)) == 0
    assert _place(state, _pod("third", spec, "web")) is None


def test_pods_that_differ_in_labels_alone_are_told_apart_where_no_ranking_is_kept() -> None:
    guard = _pod("guard", _keeps_off("web"), node="n")
    node = Node("n", labels=(("host", "n"),), allocatable=(("pods", 9),))
    world = Hosts((Host(node, (guard,)),), {"default": ()})
    trial = Trial(asking.profile_of(Settings()), world.snapshot())
    spec = PodSpec()
    assert trial.place(_pod("first", spec, "web")) is None
    assert trial.place(_pod("second", spec)) == 0
