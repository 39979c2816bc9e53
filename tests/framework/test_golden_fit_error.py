# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""FitError's sentences, letter for letter as kube-scheduler writes them.

Written out by hand, so that a slip that code and reference share shows here.

Source: kube-scheduler v1.36 pkg/scheduler/framework/types.go FitError.Error.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from enbloc.config import default_profiles
from enbloc.engine.trial import Trial
from enbloc.framework.decide import NodeSet, Plugin
from enbloc.framework.profile import Profile
from enbloc.framework.status import Diagnosis, Status, refuse, refuse_for_good
from enbloc.model.names import SCHEDULER_NAME
from enbloc.model.node import Node
from enbloc.model.pods import HostPort, NodeSelectorTerm, Pod, PodKey, PodSpec, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector, SpreadConstraint
from enbloc.model.snapshot import Snapshot
from enbloc.model.taints import Effect, Taint
from enbloc.plugins import IN_TREE
from tests.world.tables import occupied

ROOM = (("cpu", 1000), ("memory", 2**30), ("nvidia.com/gpu", 4), ("pods", 10))
WEB = Selector((Requirement("app", Operator.IN, ("web",)),))
PORT = HostPort("0.0.0.0", "TCP", 80)
NEAR = PodAffinity((PodAffinityTerm("zone", WEB),))


def node(name: str, **facts: Any) -> Node:
    return replace(Node(name, labels=(("zone", "a"),), allocatable=ROOM), **facts)


def pod(name: str = "pod", app: str = "web", **spec: Any) -> Pod:
    made = replace(PodSpec(requests=(("cpu", 100), ("pods", 1))), **spec)
    return Pod(PodKey("default", name), PodUID(name), made, labels=(("app", app),))


def world(*nodes: Node, seated: tuple[tuple[int, Pod], ...] = ()) -> Snapshot:
    return occupied(*nodes, seats=[(who, nodes[row].name) for row, who in seated])


def sentence(who: Pod, snapshot: Snapshot, profile: Profile | None = None) -> str:
    profile = profile or default_profiles()[SCHEDULER_NAME]
    trial = Trial(profile, snapshot)
    assert trial.place(who) is None
    return trial.diagnosis(who).text()


ONE_NODE: dict[str, tuple[Pod, Node, Pod | None]] = {
    "node(s) were unschedulable": (pod(), node("n", unschedulable=True), None),
    "node(s) didn't match the requested node name": (pod(node_name="m"), node("n"), None),
    "node(s) had untolerated taint(s)": (
        pod(),
        node("n", taints=(Taint("gpu", "", Effect.NO_EXECUTE),)),
        None,
    ),
    "node(s) didn't match Pod's node affinity/selector": (
        pod(node_selector=(("zone", "b"),)),
        node("n"),
        None,
    ),
    "node(s) didn't have free ports for the requested pod ports": (
        pod(host_ports=(PORT,)),
        node("n"),
        pod("sits", host_ports=(PORT,)),
    ),
    "Too many pods": (pod(), node("n", allocatable=(("cpu", 1000), ("pods", 1))), pod("sits")),
    "Insufficient cpu": (pod(requests=(("cpu", 1001), ("pods", 1))), node("n"), None),
    "Insufficient memory": (pod(requests=(("memory", 2**31), ("pods", 1))), node("n"), None),
    "Insufficient ephemeral-storage": (
        pod(requests=(("ephemeral-storage", 1), ("pods", 1))),
        node("n"),
        None,
    ),
    "Insufficient nvidia.com/gpu": (
        pod(requests=(("nvidia.com/gpu", 8), ("pods", 1))),
        node("n"),
        None,
    ),
    "node(s) didn't match pod topology spread constraints": (
        pod(spread=(SpreadConstraint("zone", selector=WEB, min_domains=2),)),
        node("n"),
        pod("sits"),
    ),
    "node(s) didn't match pod topology spread constraints (missing required label)": (
        pod(spread=(SpreadConstraint("rack", selector=WEB),)),
        node("n"),
        None,
    ),
    "node(s) didn't match pod affinity rules": (pod(app="db", pod_affinity=NEAR), node("n"), None),
    "node(s) didn't match pod anti-affinity rules": (
        pod(pod_anti_affinity=NEAR),
        node("n"),
        pod("sits"),
    ),
    "node(s) didn't satisfy existing pods anti-affinity rules": (
        pod(),
        node("n"),
        pod("sits", pod_anti_affinity=NEAR),
    ),
    "node(s) didn't match Pod's required features": (pod(features=("A",)), node("n"), None),
}


@pytest.mark.parametrize("reason", ONE_NODE)
def test_each_reason_is_kube_scheduler_s_to_the_letter(reason: str) -> None:
    who, where, sits = ONE_NODE[reason]
    snapshot = world(where, seated=((0, sits),) if sits else ())
    assert sentence(who, snapshot) == f"0/1 nodes are available: 1 {reason}."


def test_a_cluster_without_nodes_is_said_to_have_none() -> None:
    assert sentence(pod(), world()) == "no nodes available to schedule pods"


def test_added_affinity_has_a_reason_of_its_own() -> None:
    term = NodeSelectorTerm((Requirement("zone", Operator.IN, ("b",)),))
    default = default_profiles()[SCHEDULER_NAME]
    added = IN_TREE["NodeAffinity"](added_required=(term,))
    plugins = tuple(added if each.name == added.name else each for each in default.plugins)
    assert sentence(pod(), world(node("n")), replace(default, plugins=plugins)) == (
        "0/1 nodes are available: 1 node(s) didn't match scheduler-enforced node affinity."
    )


def test_counts_sort_as_text_and_a_node_counts_under_its_first_refusal_only() -> None:
    tainted = Taint("gpu", "", Effect.NO_SCHEDULE)
    nodes = [node(f"full-{number}", allocatable=(("pods", 0),)) for number in range(10)]
    nodes += [node("a", taints=(tainted,), unschedulable=True), node("b", taints=(tainted,))]
    nodes += [node("c", taints=(tainted,))]
    assert sentence(pod(), world(*nodes)) == (
        "0/13 nodes are available: 1 node(s) were unschedulable, 10 Insufficient cpu, "
        "10 Too many pods, 2 node(s) had untolerated taint(s)."
    )


def test_a_pod_whose_affinity_names_no_node_is_refused_as_a_whole() -> None:
    fields = tuple(Requirement("metadata.name", Operator.IN, (name,)) for name in ("a", "b"))
    who = pod(node_affinity=(NodeSelectorTerm(fields=fields),))
    assert sentence(who, world(node("a"), node("b"))) == (
        "0/2 nodes are available: pod affinity terms conflict."
    )


def test_nodes_that_the_affinity_does_not_name_did_not_satisfy_the_plugin() -> None:
    who = pod(
        requests=(("cpu", 5000), ("pods", 1)),
        node_affinity=(
            NodeSelectorTerm(fields=(Requirement("metadata.name", Operator.IN, ("a",)),)),
        ),
    )
    assert sentence(who, world(node("a"), node("b"), node("c"))) == (
        "0/3 nodes are available: 1 Insufficient cpu, "
        "2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


# ── PreFilter of several plugins ─────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Answers:
    """A PreFilter plugin that always says the same."""

    answer: NodeSet | Status | None

    def pre_filter(self, _pod: Pod, _snapshot: Snapshot) -> NodeSet | Status | None:
        return self.answer


class Alpha(_Answers):
    name: ClassVar[str] = "Alpha"


class Beta(_Answers):
    name: ClassVar[str] = "Beta"


def named(*names: str) -> NodeSet:
    return NodeSet(frozenset(names))


def told(*plugins: Plugin) -> str:
    """What is said of a pod where Beta is asked before Alpha, on three nodes too small for it."""
    default = default_profiles()[SCHEDULER_NAME]
    profile = Profile("test", (*plugins, *default.plugins), default.weights)
    who = pod(requests=(("cpu", 5000), ("pods", 1)))
    return sentence(who, world(node("a"), node("b"), node("c")), profile)


@pytest.mark.parametrize(
    ("beta", "alpha", "said"),
    [
        (named("a", "b"), named("b"),
         "1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [Alpha Beta]."),
        (named("a"), named("b"), "node(s) didn't satisfy plugin(s) [Alpha Beta] simultaneously."),
        (named(), None, "node(s) didn't satisfy plugin Beta."),
        (named("gone"), None, "3 node(s) didn't satisfy plugin(s) [Beta]."),
        (refuse("beta says no"), refuse("alpha says no"), "alpha says no."),
        (refuse("beta says no"), None, "beta says no."),
        (refuse_for_good("beta says never"), refuse("alpha says no"), "beta says never."),
        (refuse("beta says no"), refuse_for_good("alpha says never"), "alpha says never."),
        (None, None, "3 Insufficient cpu."),
    ],
)  # fmt: skip
def test_pre_filters_are_joined_as_kube_scheduler_joins_them(
    beta: NodeSet | Status | None, alpha: NodeSet | Status | None, said: str
) -> None:
    assert told(Beta(beta), Alpha(alpha)) == f"0/3 nodes are available: {said}"


def test_a_histogram_s_lines_sort_as_strings() -> None:
    diagnosis = Diagnosis(nodes=12, reasons=(("y", 2), ("x", 10)))
    assert diagnosis.text() == "0/12 nodes are available: 10 x, 2 y."
