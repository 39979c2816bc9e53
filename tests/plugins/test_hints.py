# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which events wake a group that a plugin refused."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.framework.decide import Plugin
from enbloc.framework.hints import Action, Happening, Hint, Resource
from enbloc.framework.profile import Profile
from enbloc.model.node import Node
from enbloc.model.pods import ContainerResource, HostPort, NodeSelectorTerm, Pod, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator
from enbloc.plugins.default_binder import DefaultBinder
from enbloc.plugins.node_affinity import NodeAffinity
from enbloc.plugins.node_declared_features import NodeDeclaredFeatures
from enbloc.plugins.node_name import NodeName
from enbloc.plugins.node_ports import NodePorts
from enbloc.plugins.node_resources_fit.plugin import NodeResourcesFit
from enbloc.plugins.node_unschedulable import NodeUnschedulable
from enbloc.plugins.priority_sort import PrioritySort
from enbloc.plugins.scheduling_gates import SchedulingGates
from enbloc.plugins.taint_toleration import TaintToleration
from tests.world.builders import node, pod, spec, waiting

A = node("a", cpu=4)
OTHER = pod(spec(cpu=1), name="other")
PLACED = replace(OTHER, node="a")


DEVICES = frozenset({"x.y/z"})


def of_node(action: Action, new: Node, old: Node | None = None) -> Happening:
    return Happening(Resource.NODE, action, node=new, old_node=old, served=DEVICES)


def of_pod(action: Action, new: Pod, old: Pod | None = None) -> Happening:
    return Happening(Resource.POD, action, pod=new, old_pod=old)


def wakes(plugin: Plugin, event: Happening, *members: Pod) -> bool:
    """Whether the profile would try a group again that this plugin refused."""
    profile = Profile("enbloc", (plugin, PrioritySort(), DefaultBinder()))
    return profile.wants(plugin.name, event) and profile.hints(
        plugin.name, event, lambda: waiting(*(members or (pod(),)))
    )


# ── nodes ────────────────────────────────────────────────────────────────────────────────────

HARD = replace(A, taints=(Taint("gpu", "", Effect.NO_SCHEDULE),))
SOFT = replace(A, taints=(Taint("gpu", "", Effect.PREFER_NO_SCHEDULE),))
CORDONED = replace(A, unschedulable=True)
SSD = replace(A, labels=(("disk", "ssd"),))
WANTS_SSD = pod(PodSpec(node_selector=(("disk", "ssd"),)))
FEATURED = pod(PodSpec(features=("X",)))
FOR_SSD = NodeSelectorTerm((Requirement("disk", Operator.IN, ("ssd",)),))
ADD, TAINT, LABEL = Action.ADD, Action.UPDATE_TAINT, Action.UPDATE_LABEL
ROOM, FEATURE = Action.UPDATE_ALLOCATABLE, Action.UPDATE_DECLARED_FEATURE
BIG = replace(A, allocatable=(("cpu", 8000), ("memory", 1), ("pods", 110)))
MORE_MEMORY = replace(A, allocatable=(("cpu", 4000), ("memory", 9), ("pods", 110)))
MORE_PODS = replace(A, allocatable=(("cpu", 4000), ("pods", 111)))
SMALL = replace(A, allocatable=(("cpu", 1000), ("memory", 1), ("pods", 110)))
OFFERS_ONE = replace(A, allocatable=(*A.allocatable, ("x.y/z", 1)))


def served(cpu: int) -> Pod:
    """It wants two of a resource that devices may serve, too."""
    asks = spec(cpu=cpu)
    return pod(
        replace(
            asks,
            requests=(*asks.requests, ("x.y/z", 2)),
            extended=(ContainerResource(0, "main", "x.y/z", 0, 2),),
        )
    )


SERVED, TOO_LARGE = served(cpu=2), served(cpu=5)


@pytest.mark.parametrize(
    ("plugin", "event", "member", "woken"),
    [
        pytest.param(TaintToleration(), of_node(ADD, A), pod(), True, id="a node without taints"),
        pytest.param(TaintToleration(), of_node(ADD, HARD), pod(), False, id="a tainted node"),
        pytest.param(TaintToleration(), of_node(TAINT, SOFT, HARD), pod(), True, id="untainted"),
        pytest.param(TaintToleration(), of_node(TAINT, A, SOFT), pod(), False, id="was soft"),
        pytest.param(TaintToleration(), of_node(TAINT, HARD, A), pod(), False, id="tainted"),
        pytest.param(TaintToleration(), of_node(LABEL, SSD, A), pod(), False, id="taints: labels"),
        pytest.param(NodeUnschedulable(), of_node(ADD, A), pod(), True, id="an open node"),
        pytest.param(NodeUnschedulable(), of_node(ADD, CORDONED), pod(), False, id="a cordoned"),
        pytest.param(NodeUnschedulable(), of_node(TAINT, A, CORDONED), pod(), True, id="opened"),
        pytest.param(NodeUnschedulable(), of_node(TAINT, CORDONED, A), pod(), False, id="cordoned"),
        pytest.param(NodeUnschedulable(), of_node(TAINT, A, HARD), pod(), False, id="was open"),
        pytest.param(NodeAffinity(), of_node(ADD, SSD), WANTS_SSD, True, id="the label is there"),
        pytest.param(NodeAffinity(), of_node(ADD, A), WANTS_SSD, False, id="it is not"),
        pytest.param(NodeAffinity(), of_node(LABEL, SSD, A), WANTS_SSD, True, id="it came"),
        pytest.param(NodeAffinity(), of_node(LABEL, SSD, SSD), WANTS_SSD, False, id="it was there"),
        pytest.param(NodeAffinity(), of_node(LABEL, A, SSD), WANTS_SSD, False, id="it went"),
        pytest.param(NodeAffinity(), of_node(TAINT, A, HARD), WANTS_SSD, True, id="taint"),
        pytest.param(
            NodeAffinity((FOR_SSD,)), of_node(LABEL, SSD, A), pod(), True, id="the profile's term"
        ),
        pytest.param(
            NodeAffinity((FOR_SSD,)), of_node(LABEL, A, SSD), pod(), False, id="no longer"
        ),
        pytest.param(NodeName(), of_node(ADD, A), pod(), True, id="any node"),
        pytest.param(NodeName(), of_node(TAINT, A, HARD), pod(), True, id="name: taints"),
        pytest.param(NodeName(), of_node(LABEL, SSD, A), pod(), False, id="name: labels"),
        pytest.param(NodePorts(), of_node(ADD, A), pod(), True, id="ports: any node"),
        pytest.param(NodePorts(), of_node(TAINT, A, HARD), pod(), True, id="ports: taint"),
        pytest.param(NodePorts(), of_node(LABEL, SSD, A), pod(), False, id="ports: labels"),
        pytest.param(NodeResourcesFit(), of_node(ADD, A), pod(spec(cpu=4)), True, id="it fits"),
        pytest.param(NodeResourcesFit(), of_node(ADD, A), pod(spec(cpu=5)), False, id="too small"),
        pytest.param(NodeResourcesFit(), of_node(ROOM, BIG, A), pod(spec(cpu=5)), True, id="grown"),
        pytest.param(
            NodeResourcesFit(), of_node(ROOM, A, BIG), pod(spec(cpu=4)), False, id="shrunk"
        ),
        pytest.param(
            NodeResourcesFit(), of_node(ROOM, MORE_MEMORY, A), pod(spec(cpu=4)), False,
            id="grown in what it does not ask for",
        ),
        pytest.param(
            NodeResourcesFit(), of_node(ROOM, MORE_PODS, A), pod(spec(cpu=4)), True,
            id="grown in the number of pods",
        ),
        pytest.param(
            NodeResourcesFit(), of_node(ROOM, MORE_PODS, A), pod(spec(cpu=5)), False,
            id="grown, and too small all the same",
        ),
        pytest.param(
            NodeResourcesFit(ignored_resources=frozenset({"x.y/z"})), of_node(ADD, A),
            pod(PodSpec((("pods", 1), ("x.y/z", 9)))), True, id="it fits but for what is ignored",
        ),
        pytest.param(
            NodeResourcesFit(), of_node(ADD, A), SERVED, True,
            id="a resource that devices may serve, which the node does not offer",
        ),
        pytest.param(
            NodeResourcesFit(), of_node(ROOM, A, SMALL), SERVED, True,
            id="grown, without a resource that devices may serve",
        ),
        pytest.param(
            NodeResourcesFit(), of_node(ADD, A), TOO_LARGE, False,
            id="too small, without a resource that devices may serve",
        ),
        pytest.param(
            NodeResourcesFit(), of_node(ADD, OFFERS_ONE), SERVED, False,
            id="it offers too little of a resource that devices serve elsewhere",
        ),
        pytest.param(NodeResourcesFit(), of_node(TAINT, A, HARD), pod(), True, id="fit: taint"),
        pytest.param(NodeResourcesFit(), of_node(LABEL, SSD, A), pod(), False, id="fit: labels"),
        pytest.param(NodeDeclaredFeatures(), of_node(ADD, A), FEATURED, True, id="feature: add"),
        pytest.param(NodeDeclaredFeatures(), of_node(FEATURE, A, A), FEATURED, True, id="declared"),
        pytest.param(NodeDeclaredFeatures(), of_node(LABEL, A), FEATURED, False, id="labels"),
    ],
)  # fmt: skip
def test_a_node_wakes_whom_it_could_help(
    plugin: Plugin, event: Happening, member: Pod, *, woken: bool
) -> None:
    assert wakes(plugin, event, member) is woken


def test_a_node_wakes_a_gang_if_it_helps_any_member() -> None:
    event = of_node(Action.ADD, HARD)
    tolerant = PodSpec(tolerations=(Toleration("gpu", TolerationOperator.EXISTS),))

    assert not wakes(TaintToleration(), event, pod(name="a"), pod(name="b"))
    assert wakes(TaintToleration(), event, pod(name="a"), pod(tolerant, name="b"))


# ── pods ─────────────────────────────────────────────────────────────────────────────────────


def on_port(number: int, ip: str = "0.0.0.0", **facts: Any) -> Pod:
    return pod(PodSpec(host_ports=(HostPort(ip, "TCP", number),)), **facts)


GONE = Action.DELETE
SMALLER = replace(PLACED, spec=spec(cpu="500m"))


@pytest.mark.parametrize(
    ("plugin", "event", "member", "woken"),
    [
        pytest.param(NodeResourcesFit(), of_pod(GONE, PLACED), pod(), True, id="room is free"),
        pytest.param(NodeResourcesFit(), of_pod(GONE, OTHER), pod(), True, id="room was planned"),
        pytest.param(
            NodeResourcesFit(), Happening(Resource.POD, GONE), pod(), True, id="nobody knows which"
        ),
        pytest.param(
            NodeResourcesFit(), of_pod(Action.UPDATE_SCALE_DOWN, SMALLER, PLACED),
            pod(spec(cpu=1)), True, id="it asks for less of what is wanted",
        ),
        pytest.param(
            NodeResourcesFit(), of_pod(Action.UPDATE_SCALE_DOWN, SMALLER, PLACED),
            pod(spec(memory=1)), False, id="it asks for less of something else",
        ),
        pytest.param(
            NodeResourcesFit(),
            of_pod(Action.UPDATE_SCALE_DOWN, replace(SMALLER, node=""), OTHER),
            pod(spec(cpu=1)), False, id="it has no node",
        ),
        pytest.param(
            NodeResourcesFit(), of_pod(Action.UPDATE_SCALE_DOWN, pod(spec(cpu=1)), pod()),
            pod(), True, id="the pod itself asks for less",
        ),
        pytest.param(NodeResourcesFit(), of_pod(LABEL, PLACED, PLACED), pod(), False, id="labels"),
        pytest.param(
            NodePorts(), of_pod(GONE, on_port(80, name="x", node="a")), on_port(80), True,
            id="the port is free",
        ),
        pytest.param(
            NodePorts(), of_pod(GONE, on_port(80, ip="10.0.0.1", name="x", node="a")), on_port(80),
            True, id="the port of one address is free",
        ),
        pytest.param(
            NodePorts(), of_pod(GONE, on_port(81, name="x", node="a")), on_port(80), False,
            id="another port is free",
        ),
        pytest.param(NodePorts(), of_pod(GONE, PLACED), on_port(80), False, id="it held none"),
        pytest.param(
            NodePorts(), Happening(Resource.POD, GONE), on_port(80), True, id="which is unknown"
        ),
        pytest.param(
            SchedulingGates(), of_pod(Action.UPDATE_GATES, pod()), pod(), True, id="own gates"
        ),
        pytest.param(
            SchedulingGates(), of_pod(Action.UPDATE_GATES, OTHER), pod(), False, id="other gates"
        ),
        pytest.param(
            TaintToleration(), of_pod(Action.UPDATE_TOLERATION, pod()), pod(), True,
            id="own toleration",
        ),
        pytest.param(
            TaintToleration(), of_pod(Action.UPDATE_TOLERATION, OTHER), pod(), False,
            id="the toleration of another",
        ),
        pytest.param(
            NodeUnschedulable(),
            of_pod(
                Action.UPDATE_TOLERATION,
                pod(PodSpec(tolerations=(Toleration("", TolerationOperator.EXISTS),))),
            ),
            pod(), True, id="it tolerates cordons now",
        ),
        pytest.param(
            NodeUnschedulable(), of_pod(Action.UPDATE_TOLERATION, pod()), pod(), False,
            id="it tolerates something else",
        ),
        pytest.param(
            NodeDeclaredFeatures(), of_pod(LABEL, pod(), FEATURED), pod(), True,
            id="it needs other features",
        ),
        pytest.param(
            NodeDeclaredFeatures(), of_pod(LABEL, FEATURED, FEATURED), FEATURED, False,
            id="it needs the same features",
        ),
        pytest.param(
            NodeDeclaredFeatures(), of_pod(LABEL, OTHER, FEATURED), FEATURED, False,
            id="another needs other features",
        ),
    ],
)  # fmt: skip
def test_a_pod_wakes_whom_it_could_help(
    plugin: Plugin, event: Happening, member: Pod, *, woken: bool
) -> None:
    assert wakes(plugin, event, member) is woken


@pytest.mark.parametrize(
    "plugin",
    [NodeAffinity(), NodeDeclaredFeatures(), NodeName(), NodePorts(), NodeResourcesFit()],
    ids=lambda plugin: plugin.name,
)
def test_whoever_waits_for_new_nodes_is_woken_by_any_change_of_taints(plugin: Plugin) -> None:
    """Upstream's workaround for nodes that could not be seen when they were added."""
    assert wakes(plugin, of_node(Action.UPDATE_TAINT | Action.UPDATE_LABEL, HARD, A), WANTS_SSD)


def test_hints_answer_queue_or_skip() -> None:
    event = of_pod(Action.UPDATE_GATES, pod())

    assert SchedulingGates().hint(event, waiting(pod())) is Hint.QUEUE
    assert SchedulingGates().hint(event, waiting(OTHER)) is Hint.SKIP
