# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Where two things happen at once: strangers, errors in mid-burst, objects that come twice."""

from typing import Any, ClassVar

import numpy as np
import pytest

from enbloc.engine.effects import Bind, PreBind
from enbloc.engine.events import (
    BindUnknown,
    Bound,
    GroupGone,
    PreBindFailed,
    PriorityClassGone,
    PriorityClassSeen,
)
from enbloc.errors import PluginError
from enbloc.framework import Reads
from enbloc.framework.act import Api, Target
from enbloc.framework.decide import Proposal
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import ClusterEvent
from enbloc.framework.status import SUCCESS, Status, wait
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod
from tests.world.builders import spec
from tests.world.cluster import Cluster, cluster_with


class Moody:
    """A filter that fails when it is told to."""

    name: ClassVar[str] = "Moody"
    reads: ClassVar[Reads] = Reads.NODE
    reason: ClassVar[str] = "never"

    def __init__(self) -> None:
        self.fails = False

    def filter(self, pod: Pod, nodes: Nodes) -> Mask:
        del pod
        if self.fails:
            raise ValueError("it broke")
        return np.ones(len(nodes), bool)


@pytest.mark.parametrize("sent", [0, 1])
def test_a_plugin_that_fails_at_the_last_look_costs_what_was_not_sent_a_pause(sent: int) -> None:
    cluster = cluster_with(moody := Moody())
    cluster.engine._plans.slots = sent
    cluster.answer = lambda _: "hold"
    cluster.gang("g", 3)
    cluster.settle()
    moody.fails = True
    cluster.pod("foreign", node="n1", scheduler="other")
    cluster.engine._plans.slots = 32
    cluster.settle()
    for bind in list(cluster.sent):
        cluster.confirm(bind)
    cluster.settle()
    assert len(cluster.where("g")) == sent
    assert "ValueError: it broke" in cluster.condition("g")[2]
    moody.fails = False
    cluster.answer = lambda _: "ok"
    cluster.settle(seconds=2)
    assert len(cluster.where("g")) == 3


class Holds:
    """Holds every group for half a minute."""

    name: ClassVar[str] = "Holds"
    events: ClassVar[tuple[ClusterEvent, ...]] = ()

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        del plan, facts
        return wait(30)


def _planned(cluster: Cluster) -> dict[str, str]:
    [plan] = cluster.engine._plans._open.values()
    return {pod.key.name: node for pod, node in plan.plan.nodes}


def test_a_member_that_a_stranger_binds_where_it_was_planned_does_not_start_the_plan() -> None:
    cluster = cluster_with(Holds())
    cluster.gang("g", 3)
    cluster.settle()
    cluster.change("g-0", node=_planned(cluster)["g-0"])
    cluster.settle(seconds=31)
    assert [event.note for event in cluster.events("GangUnschedulable")][:1] == [
        "rejected due to timeout after waiting 30s at plugin Holds"
    ]
    assert set(cluster.where()) == {"g-0"}


class Prepares:
    """Prepares nodes."""

    name: ClassVar[str] = "Prepares"

    async def pre_bind(self, target: Target, api: Api) -> Status:
        del target, api
        return SUCCESS


def test_a_prebind_may_fail_after_a_stranger_bound_another_member() -> None:
    cluster = cluster_with(Prepares())
    cluster.gang("g", 2)
    cluster.settle()
    cluster.change("g-0", node=_planned(cluster)["g-0"])
    [target] = [
        effect.target
        for effect in cluster.effects
        if isinstance(effect, PreBind) and effect.target.pod.name == "g-1"
    ]
    cluster.tell(PreBindFailed(target.plan, target.uid, "no volume"))
    cluster.settle()
    assert cluster.condition("g")[2].startswith("no volume (its members are not evicted")


def test_a_member_that_a_stranger_binds_elsewhere_is_lost_to_the_plan() -> None:
    cluster = cluster_with(Holds())
    cluster.gang("g", 1)
    cluster.settle()
    elsewhere = {"n1": "n2", "n2": "n1"}[_planned(cluster)["g-0"]]
    cluster.change("g-0", node=elsewhere)
    cluster.settle(seconds=60)
    assert cluster.where() == {"g-0": elsewhere}
    assert cluster.condition("g")[1] == "Scheduled"
    assert cluster.engine.wakeup() is None


def test_an_answer_that_comes_twice_or_too_late_changes_nothing() -> None:
    cluster = cluster_with()
    cluster.answer = lambda _: "hold"
    cluster.pod("p")
    cluster.settle()
    [bind] = cluster.sent
    cluster.tell(BindUnknown(bind.target.plan, bind.target.uid))
    cluster.tell(Bound("another-plan", bind.target.uid))
    cluster.settle()
    assert len([e for e in cluster.effects if isinstance(e, Bind)]) == 1
    cluster.confirm(bind)
    cluster.tell(Bound(bind.target.plan, bind.target.uid))
    cluster.settle()
    assert len(cluster.events("Scheduled")) == 1


def test_a_deletion_of_an_older_podgroup_of_that_name_is_an_old_story() -> None:
    cluster = cluster_with()
    cluster.gang("g", 99)
    cluster.settle()
    cluster.tell(GroupGone(GroupKey("ns", "g"), "an-older-uid"))
    cluster.tell(GroupGone(GroupKey("ns", "unknown"), "x"))
    cluster.settle()
    assert cluster.condition("g")[1] == "Infeasible"


def test_a_priority_class_that_is_deleted_makes_its_groups_invalid() -> None:
    cluster = cluster_with()
    cluster.tell(PriorityClassSeen("low", 1))
    cluster.group("g", 99, priority_class="low")
    cluster.pod("g-0", "g")
    cluster.settle()
    assert cluster.condition("g")[1] == "WaitingForMembers"
    cluster.tell(PriorityClassGone("low"))
    cluster.settle()
    assert cluster.condition("g")[1] == "InvalidSpec"


@pytest.mark.parametrize("solo", [True, False])
def test_a_pod_that_cannot_be_scheduled_as_written_says_so(solo: bool) -> None:
    cluster = cluster_with()
    if not solo:
        cluster.group("g", 1)
    cluster.pod("p", None if solo else "g", problem="spec.x: cannot be read")
    cluster.settle()
    message = "spec.x: cannot be read"
    if solo:
        assert cluster.pod_conditions("p") == [("InvalidSpec", message)]
    else:
        assert cluster.condition("g")[1:] == ("InvalidSpec", f"pod ns/p: {message}")


def test_a_podgroup_that_cannot_be_read_says_so() -> None:
    cluster = cluster_with()
    cluster.group("g", 1, problem="spec.minMember: must be a number")
    cluster.pod("p", "g")
    cluster.settle()
    assert cluster.condition("g")[1:] == ("InvalidSpec", "spec.minMember: must be a number")


def test_each_place_of_the_queue_is_counted() -> None:
    cluster = Cluster(sync=False)
    assert cluster.engine.wakeup() is None
    assert cluster.step() == []
    cluster.sync()
    assert cluster.engine.synced
    cluster.nodes("n1", cpu=8)
    cluster.gang("waits", 99, minimum=99, spec=spec(cpu=4))
    cluster.gang("parked", 1, minimum=2)
    cluster.settle()
    census = cluster.engine.census()
    assert census.podgroups == {"waiting": 1, "parked": 1}
    assert census.pods == {"active": 0, "backoff": 0, "unschedulable": 99, "gated": 1}
    assert census.reasons == {"Infeasible": 1, "WaitingForMembers": 1}
    assert census.refused == {("NodeResourcesFit", "enbloc"): 99}
    assert census.oldest == cluster.now
    assert census.cached == {"nodes": 1, "pods": 100, "assumed_pods": 0}


def test_what_a_group_holds_counts_towards_its_min_resources() -> None:
    cluster = cluster_with()
    cluster.group("g", 2, min_resources=(("cpu", 16_000),))
    cluster.pod("g-0", "g", node="n1", spec=spec(cpu=4))
    cluster.pod("g-1", "g", spec=spec(cpu=4))
    cluster.settle()
    assert set(cluster.where()) == {"g-0", "g-1"}


def test_a_role_that_cannot_be_filled_stops_the_gang() -> None:
    cluster = cluster_with()
    cluster.group("g", 2, roles=(("leader", 1), ("worker", 1)))
    cluster.pod("l", "g", role="leader", spec=spec(cpu=99))
    cluster.pod("w", "g", role="worker")
    cluster.settle()
    assert cluster.where() == {}
    assert cluster.condition("g")[1] == "Infeasible"


class Refined:
    """Says itself that it failed, and where."""

    name: ClassVar[str] = "Refined"
    reads: ClassVar[Reads] = Reads.SPEC
    reason: ClassVar[str] = "never"

    def filter(self, pod: Pod, nodes: Nodes) -> Any:
        raise PluginError("Refined", "Filter", f"{pod.key.name} {len(nodes)}")


def test_a_plugin_s_own_words_for_its_failure_are_kept() -> None:
    cluster = cluster_with(Refined())
    cluster.pod("p")
    cluster.settle()
    assert cluster.pod_conditions("p")[0][1] == 'plugin "Refined" failed at Filter: p 2'


def test_what_a_node_offers_for_the_first_time_is_taken_by_who_requests_it_there_already() -> None:
    cluster = Cluster(validate=True)
    cluster.node("n1", cpu=4)
    cluster.pod("p", node="n1", spec=spec(cpu=1, gpu=2))
    cluster.settle()
    cluster.node("n1", cpu=4, gpu=3)
    cluster.pod("q", spec=spec(cpu=1, gpu=2))
    cluster.settle()
    assert cluster.where("q") == {}
    cluster.delete("p")
    cluster.settle()
    assert cluster.where("q") == {"q": "n1"}
