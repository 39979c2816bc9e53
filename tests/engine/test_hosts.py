# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Members that name their hosts, as topology-aware admission writes it (semantics §9.8)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.engine.decide.cycle import MOST_HOSTS_ALONE
from enbloc.framework import Reads
from enbloc.model.limits import beyond_effort
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pins import HOSTNAME, host_of, without_host
from enbloc.model.pods import Pod, PodSpec
from enbloc.model.selectors import SpreadConstraint
from tests.effort import examples
from tests.world.builders import spec
from tests.world.cluster import Cluster, cluster_with


def on(host: str, **of: object) -> PodSpec:
    """A class that names its host, an object of its own each time."""
    return spec(cpu=1, **of, node_selector=((HOSTNAME, host),))


def add_nodes(cluster: Cluster, count: int, cpu: int) -> list[str]:
    names = [f"h{index}" for index in range(count)]
    for name in names:
        cluster.node(name, cpu=cpu, labels=((HOSTNAME, name),))
    return names


def add_pinned(cluster: Cluster, hosts: list[str], minimum: int | None = None) -> None:
    """A gang with one member for each of these hosts, in this order."""
    cluster.group("g", len(hosts) if minimum is None else minimum)
    for index, host in enumerate(hosts):
        cluster.pod(f"g-{index}", "g", spec=on(host))


@dataclass(frozen=True)
class Nosy:
    """A filter of a user's that looks at where a pod wants to be."""

    name: ClassVar[str] = "Nosy"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "it does not like that host"

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        """Nobody may name h1."""
        return np.full(len(nodes), dict(pod.spec.node_selector).get(HOSTNAME) != "h1")


def test_two_thousand_members_are_placed_on_the_hosts_that_they_name() -> None:
    cluster = Cluster(slots=4000)
    names = add_nodes(cluster, 250, cpu=8)
    hosts = [names[index % 250] for index in range(2000)]
    add_pinned(cluster, hosts)
    cluster.settle()
    assert cluster.where() == {f"g-{index}": host for index, host in enumerate(hosts)}


def test_of_many_that_do_not_all_fit_none_is_placed_and_the_message_says_why() -> None:
    cluster = Cluster(slots=1000)
    names = add_nodes(cluster, 100, cpu=4)
    add_pinned(cluster, [*names * 4, "h7"])
    cluster.settle()
    assert cluster.where() == {}
    why = cluster.condition("g")
    assert why[1] == "Unschedulable"
    assert "1 Insufficient cpu" in why[2]
    assert "99 node(s) didn't match Pod's node affinity/selector" in why[2]


def test_a_host_that_does_not_exist_is_told_as_one_that_no_node_has() -> None:
    cluster = Cluster()
    names = add_nodes(cluster, 3, cpu=4)
    add_pinned(cluster, [*names, "elsewhere"])
    cluster.settle()
    assert cluster.where() == {}
    assert "3 node(s) didn't match Pod's node affinity/selector" in cluster.condition("g")[2]


def test_a_plugin_that_reads_the_selector_is_asked_about_each_host() -> None:
    cluster = cluster_with(Nosy())
    names = add_nodes(cluster, 3, cpu=4)
    add_pinned(cluster, names, minimum=1)
    cluster.settle()
    assert set(cluster.where()) == {"g-0", "g-2"}


def test_and_a_gang_that_names_too_many_for_that_is_told_so() -> None:
    cluster = cluster_with(Nosy())
    names = add_nodes(cluster, MOST_HOSTS_ALONE + 1, cpu=4)
    add_pinned(cluster, names)
    cluster.settle()
    assert cluster.where() == {}
    assert cluster.condition("g")[1] == "Infeasible"
    assert cluster.condition("g")[2].startswith("members name more than 341 hosts in nodeSelector")


def test_classes_that_differ_in_more_than_the_host_count_as_before() -> None:
    pods = [
        Cluster().pod(f"p{index}", spec=spec(cpu=index + 1, node_selector=((HOSTNAME, "a"),)))
        for index in range(400)
    ]
    assert beyond_effort(pods)


def test_a_class_with_a_spread_constraint_is_told_apart_by_its_host() -> None:
    constraint = SpreadConstraint("zone", max_skew=1, hard=True)
    assert host_of(on("a", spread=(constraint,))) == ""
    assert host_of(on("a")) == "a"
    assert without_host(on("a")) is without_host(on("b"))


@examples(60)
@given(
    free=st.lists(st.integers(0, 3), min_size=2, max_size=6),
    wanted=st.lists(st.integers(0, 6), min_size=1, max_size=10),
    cordoned=st.sets(st.integers(0, 5), max_size=2),
    minimum=st.integers(1, 10),
)
def test_members_go_where_they_would_if_each_host_were_a_class(
    free: list[int], wanted: list[int], cordoned: set[int], minimum: int
) -> None:
    """With a plugin that allows everything, but has to be asked about each."""

    @dataclass(frozen=True)
    class Asked(Nosy):
        def filter(self, pod: Pod, nodes: Nodes) -> Mask:
            del pod
            return np.ones(len(nodes), np.bool_)

    found = []
    for cluster in (cluster_with(), cluster_with(Asked())):
        for index, cpu in enumerate(free):
            labels = ((HOSTNAME, f"h{index}"),)
            cluster.node(f"h{index}", cpu=cpu, labels=labels, unschedulable=index in cordoned)
        add_pinned(cluster, [f"h{index}" for index in wanted], min(minimum, len(wanted)))
        cluster.settle()
        found.append((cluster.where(), cluster.condition("g")))
    assert found[0] == found[1]


@pytest.mark.parametrize("count", [400, 2000])
def test_hosts_cost_little_of_what_a_group_may_state(count: int) -> None:
    cluster = Cluster()
    pods = [cluster.pod(f"p{index}", spec=on(f"h{index}")) for index in range(count)]
    assert beyond_effort(pods) == ""


def test_that_many_do_not_fit_is_looked_into_for_one_of_them() -> None:
    """Each host is a class of its own, and why it is full is told of a few."""
    cluster = Cluster(slots=4000)
    names = add_nodes(cluster, 200, cpu=1)
    add_pinned(cluster, [*names, *names], minimum=1)
    cluster.settle()
    assert len(cluster.where()) == 200
    made = cluster.engine._state.rankings.made
    cluster.delete("g-0")
    cluster.settle()
    assert len(cluster.where()) == 200, "another one takes the place"
    assert cluster.engine._state.rankings.made - made < 20
