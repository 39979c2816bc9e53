# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What plugins say of a whole group, of what nodes share, and of what PreBind has to do."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from enbloc.engine.effects import CancelPlan, PreBind
from enbloc.engine.events import PreBindFailed, PreBound
from enbloc.framework import SUCCESS, GroupFacts, Reads, Status, refuse, refuse_for_good
from enbloc.framework.act import Api, Target
from enbloc.framework.searching import SharedCapacity
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod, PodVolume
from enbloc.model.snapshot import Snapshot
from tests.world.builders import spec
from tests.world.cluster import Cluster, cluster_with


@dataclass(frozen=True)
class Together:
    """Says of every group the same."""

    status: Status
    name: ClassVar[str] = "Together"

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> None:
        del pod, snapshot

    def pre_filter_group(self, facts: GroupFacts, snapshot: Snapshot) -> Status:
        assert facts.pending
        del snapshot
        return self.status


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        pytest.param(refuse_for_good("two share a claim"), "Infeasible", id="for good"),
        pytest.param(refuse("not now"), "Unschedulable", id="for now"),
    ],
)
def test_a_group_is_refused_as_a_whole_in_the_words_of_the_plugin(
    status: Status, reason: str
) -> None:
    cluster = cluster_with(Together(status))
    cluster.gang("g", 2)
    cluster.settle()
    assert cluster.condition("g")[1:] == (reason, status.message)
    assert cluster.where() == {}


def test_a_group_that_no_plugin_refuses_as_a_whole_is_placed() -> None:
    cluster = cluster_with(Together(SUCCESS))
    cluster.gang("g", 2)
    cluster.settle()
    assert len(cluster.where()) == 2


@dataclass(frozen=True)
class Mounts:
    """Prepares members whose names end so, and may take long."""

    ending: str
    pre_bind_seconds: float = 300.0
    name: ClassVar[str] = "Mounts"

    def prepares(self, target: Target) -> bool:
        return target.pod.name.endswith(self.ending)

    async def pre_bind(self, target: Target, api: Api) -> Status:
        del target, api
        return SUCCESS


def _prepared(cluster: Cluster) -> list[str]:
    return [each.target.pod.name for each in cluster.effects if isinstance(each, PreBind)]


def test_only_members_with_something_to_prepare_are_prepared_and_all_wait_for_them() -> None:
    cluster = cluster_with(Mounts("-1"))
    cluster.gang("g", 3)
    cluster.settle()
    assert _prepared(cluster) == ["g-1"]
    assert cluster.sent == []
    [effect] = [each for each in cluster.effects if isinstance(each, PreBind)]
    cluster.tell(PreBound(effect.target.plan, effect.target.uid))
    cluster.settle()
    assert len(cluster.where()) == 3


def test_a_group_with_nothing_to_prepare_is_bound_at_once() -> None:
    cluster = cluster_with(Mounts("-none"))
    cluster.gang("g", 3)
    cluster.settle()
    assert _prepared(cluster) == []
    assert len(cluster.where()) == 3


@pytest.mark.parametrize(
    ("own", "given_up"),
    [
        pytest.param(None, False, id="as long as the plugin says"),
        pytest.param(70, True, id="as long as the group says, if it does"),
    ],
)
def test_preparing_may_take(own: int | None, given_up: bool) -> None:
    cluster = cluster_with(Mounts("-1"))
    cluster.gang("g", 3)
    if own is not None:
        cluster.group("g", 3, timeout=own)
    cluster.settle(seconds=100)
    cancelled = any(isinstance(each, CancelPlan) for each in cluster.effects)
    assert cancelled is given_up


def test_a_surplus_member_that_cannot_be_prepared_does_not_hold_up_the_others() -> None:
    cluster = cluster_with(Mounts("-2"))
    cluster.gang("g", 3, minimum=2)
    cluster.settle()
    assert sorted(cluster.where()) == ["g-0", "g-1"], "the minimum does not wait for it"
    [effect] = [each for each in cluster.effects if isinstance(each, PreBind)]
    target = effect.target

    cluster.tell(PreBindFailed(target.plan, target.uid, "no volume", "Mounts"))
    cluster.settle()

    assert CancelPlan(target.plan, frozenset({target.uid})) in cluster.effects
    assert _prepared(cluster) == ["g-2"], "it is tried again after a pause"
    cluster.settle(seconds=5)
    assert _prepared(cluster) == ["g-2", "g-2"]
    assert sorted(cluster.where()) == ["g-0", "g-1"]


def test_a_surplus_member_that_takes_too_long_is_given_up_alone() -> None:
    cluster = cluster_with(Mounts("-2"))
    cluster.gang("g", 3, minimum=2)
    cluster.settle()

    cluster.settle(seconds=301)

    assert [each.members for each in cluster.effects if isinstance(each, CancelPlan)] == [
        frozenset({cluster.pods["g-2"].uid})
    ]
    assert sorted(cluster.where()) == ["g-0", "g-1"]


@dataclass(frozen=True)
class Network:
    """Every pod takes a port of a network that all nodes share; a node takes two pods at most."""

    ports: int
    name: ClassVar[str] = "Network"
    reads: ClassVar[Reads] = Reads.CLUSTER
    reason: ClassVar[str] = "node(s) had no port left"

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        here = nodes.requested("pods")
        return (here < 2) & bool(here.sum() < self.ports)

    def most(self, pod: Pod, nodes: Nodes, *, ever: bool) -> npt.NDArray[np.int64]:
        del pod
        return 2 - (0 if ever else 1) * nodes.requested("pods")

    def pools(self, pods: Sequence[Pod], nodes: Nodes, *, ever: bool) -> Sequence[SharedCapacity]:
        del ever
        everywhere = np.ones(len(nodes), np.bool_)
        return [
            SharedCapacity(
                everywhere, np.ones(len(pods), np.int64), self.ports, "ports", "of the net"
            )
        ]


#: A volume of which no table knows anything: the pod holds something all the same.
SHARE = PodVolume("share", "azureFile")


@pytest.mark.parametrize(
    ("members", "message"),
    [
        pytest.param(4, "4 members need 4 ports of the net; 3 ports are left", id="of the pool"),
        pytest.param(
            5,
            "needs capacity for 5 members on eligible nodes; the empty nodes fit 4",
            id="of places on the nodes",
        ),
    ],
)
def test_a_gang_that_wants_more_than_there_is_is_infeasible_with_the_number(
    members: int, message: str
) -> None:
    cluster = cluster_with(Network(3))
    cluster.gang("g", members, spec=replace(spec(cpu=1), volumes=(SHARE,)))
    cluster.settle()
    state, reason, text = cluster.condition("g")
    assert (state, reason) == (False, "Infeasible")
    assert text.startswith(message)
    assert text.count(message) == 1


def test_a_gang_that_takes_all_that_nodes_share_is_placed() -> None:
    cluster = cluster_with(Network(4))
    cluster.gang("g", 4, spec=replace(spec(cpu=1), volumes=(SHARE,)))
    cluster.settle()
    assert len(cluster.where()) == 4
