# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What each change of a pod, a node, a namespace or a PodGroup is to those who wait."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine.admission.gate import group_action
from enbloc.engine.events import (
    NamespaceGone,
    NamespaceSeen,
    NodeGone,
    NodeSeen,
    WorkloadGone,
    WorkloadSeen,
)
from enbloc.engine.state.cluster import ClusterState
from enbloc.engine.state.reservations import Against, Reservation
from enbloc.framework.hints import Action, Happening, Resource
from enbloc.model.groups import Group, GroupKey, Role
from enbloc.model.node import Node
from enbloc.model.pods import Phase, Pod, PodKey, PodUID
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import Selector
from enbloc.model.taints import Taint, Toleration
from enbloc.model.workloads import WorkloadKey
from tests.world.builders import spec
from tests.world.cluster import cluster_with

NODE = Node("n1", uid="1", allocatable=(("cpu", 4000), ("pods", 10)))
POD = Pod(PodKey("ns", "p"), PodUID("p"), spec(cpu=2), labels=(("app", "a"),), gates=("g",))


@pytest.mark.parametrize(
    ("change", "action"),
    [
        pytest.param({"labels": (("a", "b"),)}, Action.UPDATE_LABEL, id="labels"),
        pytest.param({"taints": (Taint("a"),)}, Action.UPDATE_TAINT, id="taints"),
        pytest.param({"allocatable": (("cpu", 1),)}, Action.UPDATE_ALLOCATABLE, id="allocatable"),
        pytest.param({"features": ("A",)}, Action.UPDATE_DECLARED_FEATURE, id="features"),
        pytest.param({"annotations": (("a", "b"),)}, Action.UPDATE_ANNOTATION, id="annotations"),
        pytest.param({"ready": False}, Action.UPDATE_CONDITION, id="condition"),
        pytest.param(
            {"labels": (("a", "b"),), "features": ("A",)},
            Action.UPDATE_LABEL | Action.UPDATE_DECLARED_FEATURE,
            id="two at once",
        ),
        pytest.param({"unschedulable": True}, None, id="cordoned"),
        pytest.param(
            {"unschedulable": True, "taints": (Taint("a"),)}, Action.UPDATE_TAINT, id="both"
        ),
        pytest.param({"images": (("app", 1),)}, None, id="images"),
        pytest.param({"resource_version": 9}, None, id="nothing"),
    ],
)
def test_a_change_of_a_node_is_told_with_the_node_as_it_was(
    change: dict[str, Any], action: Action | None
) -> None:
    state = ClusterState()
    assert state.apply(NodeSeen(NODE)) == [Happening(Resource.NODE, Action.ADD, node=NODE)]
    new = replace(NODE, **change)
    expected = [] if action is None else [Happening(Resource.NODE, action, node=new, old_node=NODE)]
    assert state.apply(NodeSeen(new)) == expected


def test_a_node_that_is_uncordoned_counts_as_one_whose_taints_changed() -> None:
    state = ClusterState()
    cordoned = replace(NODE, unschedulable=True)
    state.apply(NodeSeen(cordoned))
    assert state.apply(NodeSeen(NODE)) == [
        Happening(Resource.NODE, Action.UPDATE_TAINT, node=NODE, old_node=cordoned)
    ]


def test_a_node_that_goes_is_told_of_as_it_was_and_one_that_is_unknown_is_not() -> None:
    state = ClusterState()
    state.apply(NodeSeen(NODE))
    assert state.apply(NodeGone("n1")) == [Happening(Resource.NODE, Action.DELETE, node=NODE)]
    assert state.apply(NodeGone("n1")) == []


@pytest.mark.parametrize(
    ("change", "action"),
    [
        pytest.param({"labels": ()}, Action.UPDATE_LABEL, id="labels"),
        pytest.param({"gates": ()}, Action.UPDATE_GATES, id="gates gone"),
        pytest.param({"gates": ("other",)}, None, id="another gate"),
        pytest.param({"annotations": (("a", "b"),)}, Action.UPDATE_ANNOTATION, id="annotations"),
        pytest.param({"spec": spec(cpu=1)}, Action.UPDATE_SCALE_DOWN, id="asks for less"),
        pytest.param({"spec": spec(cpu=3)}, Action.UPDATE_OTHER, id="asks for more"),
        pytest.param(
            {"spec": spec(cpu=2, tolerations=(Toleration("a"),))},
            Action.UPDATE_TOLERATION,
            id="tolerations",
        ),
        pytest.param(
            {"spec": spec(cpu=1), "labels": ()},
            Action.UPDATE_SCALE_DOWN | Action.UPDATE_LABEL,
            id="two at once",
        ),
        pytest.param({"spec": spec(cpu=2)}, None, id="an equal spec"),
        pytest.param({"phase": Phase.FAILED}, None, id="finished without room"),
        pytest.param({"node": "n1"}, Action.ADD, id="bound"),
    ],
)
def test_a_change_of_a_pod_is_told_with_the_pod_as_it_was(
    change: dict[str, Any], action: Action | None
) -> None:
    state = ClusterState()
    state.apply(NodeSeen(NODE))
    assert state.pod_seen(POD) == [Happening(Resource.POD, Action.ADD, pod=POD)]
    new = replace(POD, **change)
    expected = [] if action is None else [Happening(Resource.POD, action, pod=new, old_pod=POD)]
    assert state.pod_seen(new) == expected


def test_a_pod_frees_its_room_once() -> None:
    state = ClusterState()
    state.apply(NodeSeen(NODE))
    bound = replace(POD, node="n1")
    done = replace(bound, phase=Phase.SUCCEEDED)
    state.pod_seen(bound)
    assert state.pod_seen(done) == [Happening(Resource.POD, Action.DELETE, pod=done, old_pod=bound)]
    assert state.pod_gone(POD.uid) == []
    assert state.pod_gone(POD.uid) == []


def test_the_room_of_a_bound_pod_is_free_when_it_is_deleted() -> None:
    state = ClusterState()
    state.apply(NodeSeen(NODE))
    bound = replace(POD, node="n1", group=GroupKey("ns", "g"))
    state.pod_seen(bound)
    assert state.pod_gone(POD.uid) == [
        Happening(Resource.POD, Action.DELETE, pod=bound, group=GroupKey("ns", "g"))
    ]


def test_a_namespace_is_told_of_when_it_comes_changes_and_goes() -> None:
    state = ClusterState()
    said = [
        state.apply(event)
        for event in (
            NamespaceSeen("ns", ()),
            NamespaceSeen("ns", ()),
            NamespaceSeen("ns", (("env", "prod"),)),
            NamespaceGone("ns"),
            NamespaceGone("ns"),
        )
    ]
    assert [[each.action for each in happenings] for happenings in said] == [
        [Action.ADD],
        [],
        [Action.UPDATE_LABEL],
        [Action.DELETE],
        [],
    ]


def test_nobody_waits_for_a_workload_but_what_was_decided_before_it_is_looked_at_again() -> None:
    state = ClusterState()
    key = WorkloadKey("Service", "ns", "web")
    for event, changes in (
        (WorkloadSeen(key, Selector()), 1),
        (WorkloadSeen(key, Selector()), 0),
        (WorkloadSeen(key, None), 1),
        (WorkloadGone(key), 0),
    ):
        before = state.foreign_version
        assert state.apply(event) == []
        assert state.foreign_version - before == changes


ZONE = ("topology.kubernetes.io/zone", "a")


@pytest.mark.parametrize(
    ("change", "changes"),
    [
        pytest.param({"labels": (("app", "a"), ZONE)}, 0, id="the zone of its node"),
        pytest.param({"labels": (("app", "a"), (ZONE[0], "b"))}, 1, id="another zone"),
        pytest.param({"labels": (("app", "a"), ("rack", "7"))}, 1, id="another label of its node"),
        pytest.param({"labels": (ZONE,)}, 1, id="its zone in place of a label"),
        pytest.param({"labels": (("app", "a"), ZONE), "priority": 1}, 1, id="more than its zone"),
        pytest.param({"labels": (("app", "a"), ZONE), "node": "n2"}, 1, id="on another node"),
    ],
)
def test_what_a_binding_copies_from_a_node_is_no_change_for_other_plans(
    change: dict[str, Any], changes: int
) -> None:
    state = ClusterState()
    for name in ("n1", "n2"):
        state.apply(NodeSeen(replace(NODE, name=name, uid=name, labels=(("rack", "7"), ZONE))))
    bound = replace(POD, node="n1", gates=())
    state.pod_seen(bound)
    before = state.foreign_version
    state.pod_seen(replace(bound, **change))
    assert state.foreign_version - before == changes


@pytest.mark.parametrize("selected", [False, True])
def test_what_a_binding_copies_from_a_node_changes_a_ranking_only_where_it_is_selected(
    selected: bool,
) -> None:
    in_zone = Selector((Requirement(ZONE[0], Operator.IN, (ZONE[1],)),))
    state = ClusterState()
    state.apply(NodeSeen(replace(NODE, labels=(ZONE,))))
    bound = replace(POD, node=NODE.name, gates=())
    state.pod_seen(bound)
    if selected:
        state.apply(WorkloadSeen(WorkloadKey("Service", "ns", "s"), in_zone))
    before = state.rankings.journal.end
    state.pod_seen(replace(bound, labels=(*bound.labels, ZONE)))
    assert state.rankings.journal.end - before == (2 if selected else 0)
    assert state.placed.matches(in_zone).tolist() == [True]
    state.check()


GROUP = Group(GroupKey("ns", "g"), uid="g", min_member=2)


@pytest.mark.parametrize(
    ("old", "new", "action"),
    [
        pytest.param(None, GROUP, Action.ADD, id="new"),
        pytest.param(GROUP, replace(GROUP, min_member=3), Action.UPDATE_MINIMUM, id="minimum"),
        pytest.param(
            GROUP, replace(GROUP, roles=(Role("a", 1),)), Action.UPDATE_MINIMUM, id="role"
        ),
        pytest.param(
            GROUP, replace(GROUP, annotations=(("a", "b"),)), Action.UPDATE_ANNOTATION, id="notes"
        ),
        pytest.param(GROUP, replace(GROUP, generation=9), Action(0), id="nothing"),
    ],
)
def test_a_change_of_a_podgroup_is_what_it_changes(
    old: Group | None, new: Group, action: Action
) -> None:
    assert group_action(old, new) == action


def test_the_release_of_a_reserved_amount_names_its_group_without_the_run() -> None:
    released = Reservation("a", "b", Against.LATER, GroupKey("ns", "g", 2)).released
    assert released == Happening(
        Resource.POD_GROUP, Action.UPDATE_MINIMUM, group=GroupKey("ns", "g")
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: c.change("g-0", labels=(("app", "x"),)), id="label"),
        pytest.param(lambda c: c.change("g-0", annotations=(("a", "b"),)), id="annotation"),
        pytest.param(lambda c: c.change("g-0", spec=spec(cpu=7)), id="requests"),
        pytest.param(lambda c: c.change("g-0", priority=-5), id="priority"),
    ],
)
def test_a_change_of_a_waiting_groups_own_pod_makes_it_try_again(
    change: Callable[[Any], object],
) -> None:
    cluster = cluster_with()
    cluster.gang("g", 2, spec=spec(cpu=9))
    cluster.settle()
    assert cluster.status["g"].attempts == 1
    change(cluster)
    cluster.settle()
    assert cluster.status["g"].attempts == 2
