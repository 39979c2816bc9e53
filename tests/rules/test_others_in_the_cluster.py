# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §6: other schedulers, autoscalers, and what a start begins with."""

from typing import Any, ClassVar, Final

import msgspec
import pytest

from enbloc.engine.effects import SetPodCondition
from enbloc.engine.events import PodSeen, Stream, Synced
from enbloc.framework.decide import Proposal
from enbloc.framework.facts import GroupFacts
from enbloc.framework.hints import ClusterEvent
from enbloc.framework.status import Status, refuse, wait
from enbloc.model.pods import NodeSelectorTerm, Owner, Phase, PodSpec
from enbloc.model.requirements import Operator, Requirement
from enbloc.wire import codec
from enbloc.wire.objects import PodObject
from tests.rules.world import ONE_A_NODE, World
from tests.world.builders import spec
from tests.world.cluster import Cluster, cluster_with

#: What a DaemonSet's pod is of.
DAEMON: Final[dict[str, Any]] = {
    "scheduler": "default-scheduler",
    "owner": Owner("DaemonSet", "agent", "ds-1", "apps/v1"),
}


def _pinned(node: str, cpu: int = 4) -> PodSpec:
    """What the DaemonSet controller writes for its pod on one node."""
    field = Requirement("metadata.name", Operator.IN, (node,))
    return spec(cpu=cpu, node_affinity=(NodeSelectorTerm(fields=(field,)),))


# ── pending pods of other schedulers (semantics §6.1) ────────────────────────────────────────────


@pytest.mark.parametrize(
    ("priority", "respected"),
    [
        pytest.param(1, True, id="of higher priority"),
        pytest.param(0, True, id="of the same"),
        pytest.param(-1, False, id="of lower"),
    ],
)
def test_a_nominated_pod_counts_as_placed_unless_its_priority_is_below(
    priority: int, respected: bool
) -> None:
    """Semantics §6.1."""
    world = World()
    world.nodes("n1", cpu=4)
    world.pod("other", scheduler="x", nominated="n1", priority=priority, spec=ONE_A_NODE)
    world.job("g", 1)
    world.settle()
    assert (world.where("g") == {}) is respected


def test_a_pod_that_its_daemonset_pinned_to_a_node_counts_as_placed() -> None:
    """Semantics §6.1."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.pod("agent", **DAEMON, spec=_pinned("n1", cpu=1))
    world.job("g", 2)
    world.settle(seconds=290)
    assert world.where("g") == {}
    world.delete("agent")
    world.settle()
    assert len(world.where("g")) == 2


def test_a_pinned_pod_counts_for_five_minutes_over_restarts_too() -> None:
    """Semantics §6.1."""
    world = World()
    world.nodes("n1", cpu=4)
    world.pod("agent", **DAEMON, spec=_pinned("n1", cpu=1))
    world.job("g", 1)
    world.settle(seconds=200)
    again = world.restarted()
    again.settle(seconds=99)
    assert again.where("g") == {}
    again.settle(seconds=2)
    assert len(again.where("g")) == 1


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"scheduler": "nobody-s"}, id="nobody schedules it"),
        pytest.param({"owner": None}, id="bare"),
        pytest.param({"owner": Owner("ReplicaSet", "r", "r", "apps/v1")}, id="not a daemon"),
        pytest.param({"owner": Owner("DaemonSet", "d", "d", "mine/v1")}, id="another's daemon"),
        pytest.param({"priority": -1}, id="of lower priority"),
        pytest.param({"spec": _pinned("n1", cpu=5)}, id="too large"),
    ],
)
def test_a_pinned_pod_that_nobody_will_bind_does_not_count(other: dict[str, Any]) -> None:
    """Semantics §6.1."""
    world = World()
    facts: dict[str, Any] = {**DAEMON, "spec": _pinned("n1", cpu=1), **other}
    world.pod("agent", **facts)
    world.nodes("n1", cpu=4)
    world.job("g", 1)
    world.settle()
    assert len(world.where("g")) == 1


def test_a_pending_pod_that_nobody_expects_anywhere_does_not_count_as_placed() -> None:
    """Semantics §6.1."""
    world = World()
    world.nodes("n1", cpu=4)
    world.pod("other", scheduler="x", priority=9, spec=ONE_A_NODE)
    world.job("g", 1)
    world.settle()
    assert len(world.where("g")) == 1


def test_a_nomination_for_a_node_that_does_not_exist_costs_nothing_until_it_does() -> None:
    """Semantics §6.1."""
    world = World()
    world.nodes("n1", cpu=4)
    world.pod("other", scheduler="x", nominated="n2", spec=ONE_A_NODE)
    world.job("g", 2)
    world.settle()
    world.node("n2", cpu=4)
    world.settle()
    assert world.where("g") == {}
    world.node("n3", cpu=4)
    world.settle()
    assert len(world.where("g")) == 2


def _bound_elsewhere(world: World) -> None:
    world.change("other", node="n2", nominated="")


def _finished(world: World) -> None:
    world.change("other", phase=Phase.FAILED)


def _deleted(world: World) -> None:
    world.delete("other")


def _nominated_elsewhere(world: World) -> None:
    world.change("other", nominated="n2")


def _not_nominated(world: World) -> None:
    world.change("other", nominated="")


def _nominated_for_over_five_minutes(world: World) -> None:
    world.settle(seconds=299)
    assert world.where("g") == {}
    world.settle(seconds=2)


@pytest.mark.parametrize(
    "ends",
    [
        _bound_elsewhere,
        _finished,
        _deleted,
        _nominated_elsewhere,
        _not_nominated,
        _nominated_for_over_five_minutes,
    ],
)
def test_a_nomination_that_ends_wakes_whoever_waited_for_its_room(ends: object) -> None:
    """Semantics §6.1."""
    world = World()
    world.node("n1", cpu=4)
    world.node("n2", cpu=4, unschedulable=True)
    world.pod("other", scheduler="x", nominated="n1", spec=ONE_A_NODE)
    world.job("g", 1)
    world.settle()
    assert world.where("g") == {}
    ends(world)  # type: ignore[operator]
    world.settle()
    assert world.where("g") == {"g-0": "n1"}


def test_a_pod_that_is_bound_where_it_was_nominated_counts_once() -> None:
    """Semantics §6.1."""
    world = World()
    world.node("n1", cpu=8)
    world.pod("other", scheduler="x", nominated="n1", spec=ONE_A_NODE)
    world.change("other", node="n1")
    world.job("g", 1)
    world.settle()
    assert len(world.where("g")) == 1


def test_a_pinned_pod_that_is_also_nominated_stays_expected() -> None:
    """Semantics §6.1."""
    world = World()
    world.nodes("n1", cpu=4)
    world.pod("agent", **DAEMON, nominated="n1", spec=_pinned("n1", cpu=1))
    world.job("g", 1)
    world.settle(seconds=290)
    assert world.where("g") == {}


def test_pods_of_other_schedulers_never_become_queue_entries() -> None:
    """Semantics §6.1."""
    world = World()
    world.nodes("n1", cpu=4)
    world.pod("other", scheduler="x", nominated="n1", spec=ONE_A_NODE)
    world.pod("agent", **DAEMON, spec=_pinned("n1"))
    world.settle(seconds=1000)
    assert world.decisions() == []
    assert sum(world.engine.census().pods.values()) == 0


def test_the_last_look_respects_a_nomination_that_came_meanwhile() -> None:
    """Semantics §6.1."""
    world = World(slots=0)
    world.nodes("n1", cpu=4)
    world.job("g", 1)
    world.settle()
    world.pod("other", scheduler="x", nominated="n1", spec=ONE_A_NODE)
    world.sync(32)
    world.settle()
    assert world.where("g") == {}


# ── autoscalers (semantics §6.2) ─────────────────────────────────────────────────────────────────


def _reasons(cluster: Cluster, name: str) -> list[str]:
    return [reason for reason, _ in cluster.pod_conditions(name)]


def test_unschedulable_is_written_on_all_pending_members_when_room_is_lacking() -> None:
    """Semantics §6.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.pod("x", node="n2", spec=ONE_A_NODE)
    world.job("g", 2)
    world.settle()
    for index in range(2):
        assert _reasons(world, f"g-{index}") == ["Unschedulable"]
    assert world.condition("g")[1] == "Unschedulable"


def test_unschedulable_is_not_written_before_the_quorum_is_there() -> None:
    """Semantics §6.2."""
    world = World()
    world.group("g", 2)
    world.member("g-0", "g")
    world.settle(seconds=1000)
    assert _reasons(world, "g-0") == []
    assert world.condition("g")[1] == "WaitingForMembers"


def test_a_member_that_joins_while_room_is_lacking_is_unschedulable_too() -> None:
    """Semantics §6.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.pod("x", node="n2", spec=ONE_A_NODE)
    world.job("g", 2)
    world.settle()
    world.member("g-2", "g")
    world.settle()
    assert _reasons(world, "g-2") == ["Unschedulable"]


def test_an_infeasible_group_s_pods_are_unschedulable_and_the_group_says_infeasible() -> None:
    """Semantics §6.2."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job("g", 3)
    world.settle()
    assert world.condition("g")[1] == "Infeasible"
    assert "3" in world.condition("g")[2]
    for index in range(3):
        assert _reasons(world, f"g-{index}") == ["Unschedulable"]


def test_a_group_whose_min_resources_exceed_all_nodes_is_infeasible() -> None:
    """Semantics §6.2."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job("g", 1, min_resources=(("cpu", 8000),))
    world.settle()
    assert world.condition("g")[1] == "Infeasible"
    assert _reasons(world, "g-0") == ["Unschedulable"]


def test_only_nodes_and_a_change_of_its_own_wake_an_infeasible_group() -> None:
    """Semantics §6.2."""
    world = World()
    world.nodes("n1", cpu=4)
    world.pod("x", node="n1", spec=ONE_A_NODE)
    world.job("g", 2)
    world.settle()
    attempts = world.attempts("g")
    world.delete("x")
    world.job("other", 9)
    world.drop_group("other")
    world.settle(seconds=86400)
    assert world.attempts("g") == attempts
    world.node("n2", cpu=4)
    world.settle()
    assert len(world.where("g")) == 2


@pytest.mark.parametrize("leaves", ["succeeds", "is deleted"])
def test_a_surplus_member_that_was_in_the_way_wakes_an_infeasible_group(leaves: str) -> None:
    """Semantics §6.2."""
    world = World()
    world.node("n1", cpu=8)
    world.group("g", 1, roles=[("launcher", 1)])
    world.member("w-0", "g", node="n1")
    world.member("w-1", "g", node="n1")
    world.member("l", "g", role="launcher")
    world.settle()
    assert world.condition("g")[1] == "Infeasible"
    if leaves == "succeeds":
        world.finish("w-1")
    else:
        world.delete("w-1")
    world.settle()
    assert world.where("l") == {"l": "n1"}


def test_a_change_of_its_own_wakes_an_infeasible_group() -> None:
    """Semantics §6.2."""
    world = World()
    world.nodes("n1", cpu=4)
    world.job("g", 2)
    world.settle()
    assert world.condition("g")[1] == "Infeasible"
    world.alter("g", minimum=1)
    world.settle()
    assert len(world.where("g")) == 1


@pytest.mark.parametrize(
    "stale",
    [
        pytest.param({}, id="written by this process"),
        pytest.param({"unschedulable": True}, id="found on the pod"),
    ],
)
def test_waiting_for_members_overwrites_a_stale_unschedulable(
    stale: dict[str, object],
) -> None:
    """Semantics §6.2."""
    world = World()
    world.nodes("n1 n2", cpu=4)
    world.pod("x", node="n2", spec=ONE_A_NODE)
    world.job("g", 2)
    if stale:
        world.change("g-0", **stale)
        world.delete("g-1")
    else:
        world.settle()
        world.delete("g-1")
    world.settle()
    assert _reasons(world, "g-0")[-1] == "WaitingForMembers"
    world.settle(seconds=1000)
    assert _reasons(world, "g-0").count("WaitingForMembers") == 1


class Waits:
    """Waits at Permit, or refuses there."""

    name: ClassVar[str] = "Waits"
    events: ClassVar[tuple[ClusterEvent, ...]] = ()

    def __init__(self, answer: Status) -> None:
        self.answer = answer

    def permit(self, plan: Proposal, facts: GroupFacts) -> Status:
        del plan, facts
        return self.answer


@pytest.mark.parametrize("answer", [wait(30), refuse("not now")])
def test_a_gang_that_permit_holds_up_is_not_unschedulable(answer: Status) -> None:
    """Semantics §6.2."""
    cluster = cluster_with(Waits(answer))
    cluster.gang("g", 2)
    cluster.settle(seconds=40)
    assert cluster.condition("g")[1] == "WaitingOnPermit"
    for effect in cluster.effects:
        if isinstance(effect, SetPodCondition):
            assert effect.reason != "Unschedulable"


def test_waiting_on_permit_overwrites_a_stale_unschedulable() -> None:
    """Semantics §6.2."""
    cluster = cluster_with(Waits(refuse("not now")))
    cluster.gang("g", 2)
    cluster.change("g-0", unschedulable=True)
    cluster.settle(seconds=40)
    assert _reasons(cluster, "g-0") == ["WaitingOnPermit"]
    assert _reasons(cluster, "g-1") == []


# ── consistent start (the rest: tests/client, tests/live) (semantics §6.3) ───────────────────────


@pytest.mark.parametrize("missing", list(Stream))
def test_nothing_is_decided_until_every_stream_has_synced(missing: Stream) -> None:
    """Semantics §6.3."""
    world = World(sync=False)
    world.nodes("n1 n2", cpu=4)
    world.job("g", 2)
    world.sync(but=missing)
    world.settle(seconds=1000)
    assert world.effects == []
    world.tell(Synced(missing))
    world.settle()
    assert len(world.where("g")) == 2


# ── groups of other projects (semantics §6.5) ────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "named",
    [
        pytest.param({"annotations": {"scheduling.k8s.io/group-name": "g"}}, id="Volcano"),
        pytest.param({"labels": {"scheduling.x-k8s.io/pod-group": "g"}}, id="coscheduling"),
        pytest.param(
            {"annotations": {"gang.scheduling.koordinator.sh/name": "g"}}, id="Koordinator"
        ),
        pytest.param({"field": {"schedulingGroup": {"podGroupName": "g"}}}, id="Kubernetes"),
    ],
)
def test_a_pod_of_a_gang_that_waits_for_its_podgroup_and_says_what_for(
    named: dict[str, dict[str, str]],
) -> None:
    """Semantics §6.5."""
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    field = named.get("field", {})
    metadata = {"name": "p", "namespace": "ns", "uid": "p", **named}
    metadata.pop("field", None)
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    body = {
        "metadata": metadata,
        "spec": {"schedulerName": "enbloc", "containers": [container], **field},
    }
    cluster.tell(PodSeen(codec.pod(msgspec.convert(body, PodObject))))
    cluster.settle(seconds=10)
    (condition,) = (e for e in cluster.effects if isinstance(e, SetPodCondition))
    assert condition.reason == "PodGroupNotFound"
    assert "PodGroup ns/g not found" in condition.message
    assert [event.uid for event in cluster.events("PodGroupNotFound")] == ["p"]
    assert cluster.sent == []


def test_a_pod_of_a_gang_of_kubernetes_1_35_waits_and_says_what_to_name() -> None:
    """Semantics §6.5."""
    cluster = Cluster()
    cluster.nodes("n1", cpu=4)
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    body = {
        "metadata": {"name": "p", "namespace": "ns", "uid": "p"},
        "spec": {
            "schedulerName": "enbloc",
            "containers": [container],
            "workloadRef": {"name": "train", "podGroup": "workers", "podGroupReplicaKey": "0"},
        },
    }
    cluster.tell(PodSeen(codec.pod(msgspec.convert(body, PodObject))))
    cluster.settle(seconds=10)
    (condition,) = (e for e in cluster.effects if isinstance(e, SetPodCondition))
    assert condition.reason == "InvalidSpec"
    assert (
        "spec.workloadRef is not read: name a PodGroup with annotation enbloc.dev/pod-group"
    ) in condition.message
    assert cluster.sent == []
