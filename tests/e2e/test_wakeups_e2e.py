# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""For every filter plugin: a pod is refused, and placed once something happens that helps it.

That it is the event that wakes it, and no timer, shows in the number of attempts. The pause after
the first refusal passes, a change that cannot help comes and goes, and still there was one
attempt; then the event comes, and the second attempt places the pod. The next timer would be the
one that looks after every waiting group, minutes later.
"""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e import wakeups
from tests.e2e.targets import ControlPlaneTarget
from tests.e2e.wakeups import Wakeups, cpu, node, pod, pod_terms

pytestmark = pytest.mark.controlplane

RESTART_ALL: Final = "RestartAllContainersOnContainerExits"
ZONE: Final = "topology.kubernetes.io/zone"


@pytest.fixture
async def cluster(bare_target: ControlPlaneTarget, tmp_path: Path) -> AsyncGenerator[Wakeups]:
    async with wakeups.opened(bare_target, tmp_path) as opened:
        yield opened


# ── nodes ────────────────────────────────────────────────────────────────────────────────────


async def test_node_unschedulable_and_then_the_node_is_uncordoned(cluster: Wakeups) -> None:
    await cluster.node(node("n", unschedulable=True))
    await cluster.refused(pod("waiter"), "0/1 nodes are available: 1 node(s) were unschedulable.")
    await cluster.change_node("n", {"spec": {"unschedulable": None}})
    await cluster.placed("n")


async def test_a_pod_names_its_node_and_then_that_node_is_added(cluster: Wakeups) -> None:
    # Not by spec.nodeName: for the API server such a pod is placed, and no scheduler's business.
    await cluster.node(node("other"))
    field = {"key": "metadata.name", "operator": "In", "values": ["wanted"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    await cluster.refused(
        pod("waiter", affinity={"nodeAffinity": required}),
        "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity].",
    )
    await cluster.node(node("wanted"))
    await cluster.placed("wanted")


async def test_taint_toleration_and_then_the_taint_is_removed(cluster: Wakeups) -> None:
    await cluster.node(node("n", taints=[{"key": "dedicated", "effect": "NoSchedule"}]))
    await cluster.refused(
        pod("waiter"), "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    )
    await cluster.change_node("n", {"spec": {"taints": None}})
    await cluster.placed("n")


async def test_taint_toleration_and_then_the_pod_tolerates_it(cluster: Wakeups) -> None:
    await cluster.node(node("n", taints=[{"key": "dedicated", "effect": "NoSchedule"}]))
    await cluster.refused(
        pod("waiter"), "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    )
    await cluster.tolerate("dedicated")
    await cluster.placed("n")


async def test_node_affinity_and_then_the_label_is_added(cluster: Wakeups) -> None:
    await cluster.node(node("n"))
    await cluster.refused(
        pod("waiter", nodeSelector={"disk": "ssd"}),
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    )
    await cluster.change_node("n", {"metadata": {"labels": {"disk": "ssd"}}})
    await cluster.placed("n")


async def test_node_declared_features_and_then_the_node_declares_it(cluster: Wakeups) -> None:
    await cluster.node(node("n"))
    exits = {"operator": "In", "values": [42]}
    rules = {"restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": exits}]}
    await cluster.refused(
        pod("waiter", restartPolicy="Never", container={"restartPolicy": "Never", **rules}),
        "0/1 nodes are available: 1 node(s) didn't match Pod's required features.",
    )
    await cluster.change_node("n", {"status": {"declaredFeatures": [RESTART_ALL]}}, "status")
    await cluster.placed("n")


# ── room ─────────────────────────────────────────────────────────────────────────────────────


async def test_node_ports_and_then_the_holder_of_the_port_is_deleted(cluster: Wakeups) -> None:
    ports = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    await cluster.node(node("n"))
    await cluster.pod(pod("holder", nodeName="n", container=ports))
    await cluster.refused(
        pod("waiter", container=ports),
        "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    )
    await cluster.delete("holder")
    await cluster.placed("n")


async def test_node_resources_fit_and_then_a_pod_is_deleted(cluster: Wakeups) -> None:
    await cluster.node(node("n"))
    await cluster.pod(pod("holder", nodeName="n", container=cpu("3")))
    await cluster.refused(
        pod("waiter", container=cpu("2")), "0/1 nodes are available: 1 Insufficient cpu."
    )
    await cluster.delete("holder")
    await cluster.placed("n")


async def test_node_resources_fit_and_then_a_pod_is_scaled_down(cluster: Wakeups) -> None:
    await cluster.node(node("n"))
    await cluster.pod(pod("holder", nodeName="n", container=cpu("3")))
    await cluster.refused(
        pod("waiter", container=cpu("2")), "0/1 nodes are available: 1 Insufficient cpu."
    )
    smaller = {"spec": {"containers": [{"name": "main", **cpu("1")}]}}
    await cluster.change_pod("holder", smaller, "resize")
    await cluster.placed("n")


async def test_node_resources_fit_and_then_the_node_has_more(cluster: Wakeups) -> None:
    await cluster.node(node("n", cpu="1"))
    await cluster.refused(
        pod("waiter", container=cpu("2")), "0/1 nodes are available: 1 Insufficient cpu."
    )
    await cluster.change_node("n", {"status": {"allocatable": {"cpu": "2"}}}, "status")
    await cluster.placed("n")


# ── other pods ───────────────────────────────────────────────────────────────────────────────


def spread() -> dict[str, Any]:
    """At most one more pod with app=web in a zone than in any other."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    return {"topologySpreadConstraints": [constraint]}


async def crowded(cluster: Wakeups) -> None:
    """Two zones with a node each, of which the empty one takes no more pods."""
    await cluster.node(node("full", labels={ZONE: "a"}))
    await cluster.node(node("empty", labels={ZONE: "b"}, unschedulable=True))
    await cluster.pod(pod("there", labels={"app": "web"}, nodeName="full"))
    await cluster.refused(
        pod("waiter", labels={"app": "web"}, **spread()),
        "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, "
        "1 node(s) were unschedulable.",
    )


async def test_pod_topology_spread_and_then_a_pod_is_deleted(cluster: Wakeups) -> None:
    await crowded(cluster)
    await cluster.delete("there")
    await cluster.placed("full")


async def test_pod_topology_spread_and_then_a_node_is_added(cluster: Wakeups) -> None:
    await crowded(cluster)
    await cluster.node(node("new", labels={ZONE: "b"}))
    await cluster.placed("new")


async def test_inter_pod_affinity_and_then_a_matching_pod_comes(cluster: Wakeups) -> None:
    await cluster.node(node("n"))
    await cluster.refused(
        pod("waiter", **pod_terms("podAffinity")),
        "0/1 nodes are available: 1 node(s) didn't match pod affinity rules.",
    )
    await cluster.pod(pod("friend", labels={"app": "web"}, nodeName="n"))
    await cluster.placed("n")


async def test_inter_pod_anti_affinity_and_then_the_other_pod_goes(cluster: Wakeups) -> None:
    await cluster.node(node("n"))
    await cluster.pod(pod("enemy", labels={"app": "web"}, nodeName="n"))
    await cluster.refused(
        pod("waiter", **pod_terms("podAntiAffinity")),
        "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.",
    )
    await cluster.delete("enemy")
    await cluster.placed("n")


async def test_anti_affinity_of_a_pod_that_is_there_and_then_it_goes(cluster: Wakeups) -> None:
    await cluster.node(node("n"))
    await cluster.pod(pod("enemy", nodeName="n", **pod_terms("podAntiAffinity")))
    await cluster.refused(
        pod("waiter", labels={"app": "web"}),
        "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules.",
    )
    await cluster.delete("enemy")
    await cluster.placed("n")


# ── the pod itself ───────────────────────────────────────────────────────────────────────────


async def test_scheduling_gates_and_then_the_last_one_is_removed(cluster: Wakeups) -> None:
    await cluster.node(node("n"))
    await cluster.refused(
        pod("waiter", schedulingGates=[{"name": "example.com/quota"}]),
        "Scheduling is blocked due to non-empty scheduling gates",  # says the API server
        attempts=0,
    )
    await cluster.change_pod("waiter", {"spec": {"schedulingGates": None}})
    await cluster.placed("n", attempts=1)
