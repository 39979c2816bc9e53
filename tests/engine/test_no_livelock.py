# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Groups that cannot be placed come to rest: none wakes itself, no two wake each other."""

from typing import Any, ClassVar

import pytest

from enbloc.engine.effects import PreBind
from enbloc.engine.events import PreBound
from enbloc.framework.act import Api, Target
from enbloc.framework.decide import Proposal
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import Action, ClusterEvent, Resource
from enbloc.framework.status import SUCCESS, Status, refuse, wait
from enbloc.model.pods import Pod
from enbloc.model.snapshot import Snapshot
from tests.world.builders import spec
from tests.world.cluster import Cluster, cluster_with


class Never:
    """Refuses every plan, and wants to hear of everything."""

    name: ClassVar[str] = "Never"

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        del plan, facts
        return refuse("never")


class NeverUnlessRoom(Never):
    """Refuses every plan, and waits for pods to go."""

    events: ClassVar[tuple[ClusterEvent, ...]] = (ClusterEvent(Resource.POD, Action.DELETE),)


@pytest.mark.parametrize("plugin", [Never(), NeverUnlessRoom()], ids=["any event", "deletions"])
@pytest.mark.parametrize("size", [1, 2])
def test_groups_that_permit_refuses_do_not_wake_each_other(plugin: object, size: int) -> None:
    cluster = cluster_with(plugin)
    for name in ("a", "b", "c"):
        if size > 1:
            cluster.gang(name, size)
        else:
            cluster.pod(name)
    for _ in range(20):
        cluster.step()
    wakeup = cluster.engine.wakeup()
    assert wakeup is not None
    assert wakeup > cluster.now
    assert len(cluster.decisions()) == 3


class Sometime:
    """Holds gang "holder" until its time is over; lets all others pass."""

    name: ClassVar[str] = "Sometime"
    events: ClassVar[tuple[ClusterEvent, ...]] = ()

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        del plan
        return wait(30) if facts.key.name == "holder" else SUCCESS


def test_room_that_was_taken_when_a_group_was_refused_wakes_it_when_it_is_given_back() -> None:
    cluster = cluster_with(Sometime())
    cluster.gang("holder", 12)
    cluster.settle()
    cluster.gang("waiter", 12)
    cluster.settle(seconds=20)
    assert cluster.where() == {}
    cluster.settle(seconds=11)
    assert len(cluster.where("waiter")) == 12


class Licence:
    """Two licences; each takes a while to be prepared."""

    name: ClassVar[str] = "Licence"

    def reserve(self, plan: Proposal, ledger: object) -> object:
        assert isinstance(ledger, int | None)
        return (ledger or 0) + len(plan.nodes)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Any:
        del pod
        used = snapshot.ledgers["Licence"]
        assert isinstance(used, int | None)
        return refuse("no licence is free") if (used or 0) >= 2 else None

    async def pre_bind(self, target: Target, api: Api) -> Status:
        del target, api
        return SUCCESS


def _prepared(cluster: Cluster) -> None:
    for effect in cluster.effects:
        if isinstance(effect, PreBind):
            cluster.tell(PreBound(effect.target.plan, effect.target.uid))


def test_the_last_look_does_not_count_a_plan_s_own_entry_in_a_ledger_against_it() -> None:
    cluster = cluster_with(Licence())
    cluster.gang("g", 2)
    cluster.settle()
    cluster.pod("foreign", node="n1", scheduler="other")
    _prepared(cluster)
    cluster.settle()
    assert len(cluster.where("g")) == 2
    assert len(cluster.decisions()) == 1


def test_the_last_look_in_mid_burst_counts_what_was_sent_in_the_ledger() -> None:
    cluster = cluster_with(Licence())
    cluster.engine._plans.slots = 1
    cluster.answer = lambda _: "hold"
    cluster.gang("g", 2)
    cluster.settle()
    _prepared(cluster)
    cluster.settle()
    assert len(cluster.sent) == 1
    cluster.pod("foreign", node="n1", scheduler="other")
    cluster.confirm(cluster.sent[0])
    cluster.settle()
    assert len(cluster.sent) == 2


def test_a_full_cluster_with_waiting_groups_of_every_kind_comes_to_rest() -> None:
    cluster = cluster_with()
    cluster.gang("full", 16)
    cluster.settle()
    for index in range(5):
        cluster.gang(f"g{index}", 4)
        cluster.pod(f"p{index}", spec=spec(cpu=2))
    cluster.settle()
    decided = len(cluster.decisions())
    cluster.settle(seconds=250)
    assert len(cluster.decisions()) == decided
