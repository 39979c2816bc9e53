# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Why a group waits, and the least with which it would start."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine.events import PriorityClassSeen, TopologySeen
from enbloc.model.names import Reason
from enbloc.model.pods import Owner
from enbloc.model.reasons import WaitCause
from enbloc.model.selectors import Labels
from enbloc.model.taints import Taint
from enbloc.model.topology import Level, Topology, TopologyRequest
from enbloc.simulation import Explanation, Outlook, Remedy, Whose
from tests.simulation.present import outlook, present, run
from tests.world.builders import spec
from tests.world.cluster import Cluster

GPU = "nvidia.com/gpu"
TRAIN = Owner("Job", "train", "train-uid", "batch/v1")


def explained(found: Outlook, name: str) -> Explanation:
    """The explanation of the group of this name."""
    [row] = [row for row in found.rows if row.short_name == name]
    return found.explain(row)


def texts(found: Explanation, whose: Whose | None = None) -> list[str]:
    """What would do, of those in this hand."""
    return [each.text for each in found.remedies if whose in (None, each.whose)]


def cluster(names: str = "n1 n2", **of: Any) -> Cluster:
    """A cluster of such nodes, of eight CPUs unless they say otherwise."""
    made = Cluster()
    made.nodes(names, **{"cpu": 8, **of})
    return made


def test_a_gang_that_fits_waits_for_its_turn_alone() -> None:
    here = cluster()
    here.gang("train", 2)
    found = explained(outlook(here), "train")
    assert found.cause is WaitCause.NOTHING
    assert found.sentence == "ns/train starts as soon as the scheduler takes it."


def test_members_beyond_the_minimum_that_do_not_fit_are_told_of() -> None:
    here = cluster("n1", cpu=2)
    here.gang("train", 3, 2)
    found = explained(outlook(here), "train")
    assert found.sentence == (
        "ns/train starts as soon as the scheduler takes it. 1 of its members does not fit yet: "
        "0/1 nodes are available: 1 Insufficient cpu."
    )


def test_a_gang_behind_another_names_the_one_whose_end_lets_it_start() -> None:
    here = cluster()
    here.gang("early", 2, spec=spec(cpu=6))
    run(here, "early")
    here.gang("late", 2, spec=spec(cpu=6))
    found = explained(outlook(here), "late")
    assert found.cause is WaitCause.CAPACITY
    assert found.sentence == (
        "ns/late waits for capacity that others hold: None of the 2 required members fits: 0/2 "
        "nodes are available: 2 Insufficient cpu. It would start with the end of ns/early."
    )
    assert texts(found, Whose.YOURS) == ["2 CPUs instead of 6 for each member"]
    assert texts(found, Whose.ADMINISTRATOR) == ["2 more nodes like n1"]


def test_more_nodes_are_enough_for_those_who_get_them_first() -> None:
    here = cluster()
    for name in ("early", "late", "next"):
        here.gang(name, 2, spec=spec(cpu=6))
        if name == "early":
            run(here, name)
    found = explained(outlook(here), "next")
    assert texts(found, Whose.ADMINISTRATOR) == ["4 more nodes like n1"]


def test_fewer_nodes_are_enough_than_those_who_come_before_could_take() -> None:
    here = cluster()
    here.gang("early", 2, spec=spec(cpu=6))
    run(here, "early")
    here.gang("late", 3, 2, spec=spec(cpu=6))
    here.gang("next", 1, spec=spec(cpu=6))
    found = explained(outlook(here), "next")
    assert texts(found, Whose.ADMINISTRATOR) == ["1 more node like n1"]


def test_more_nodes_are_enough_for_members_of_others_beyond_their_minimum() -> None:
    here = cluster("n1")
    here.gang("wide", 3, 1, spec=spec(cpu=6), priority=10)
    here.gang("next", 1, spec=spec(cpu=6))
    found = explained(outlook(here), "next")
    assert texts(found, Whose.ADMINISTRATOR) == ["3 more nodes like n1"]


def test_of_several_that_run_the_smallest_that_is_enough_is_named() -> None:
    here = cluster("n1 n2 n3")
    for name, cpu in (("large", 8), ("middle", 5), ("small", 2)):
        here.pod(name, spec=spec(cpu=cpu))
    here.settle()
    here.gang("late", 1, spec=spec(cpu=8))
    found = explained(outlook(here), "late")
    assert texts(found, Whose.OTHERS) == ["the end of pod ns/small"]


def test_what_no_node_has_is_not_blamed_on_those_that_run() -> None:
    here = cluster(gpu=4)
    here.pod("busy", spec=spec(gpu=2))
    here.settle()
    here.gang("train", 2, spec=spec(gpu=8))
    found = explained(outlook(here), "train")
    assert found.cause is WaitCause.CLUSTER
    assert found.sentence.startswith("ns/train would not fit if the cluster were empty: ")
    assert found.sentence.endswith(
        f"It would fit, once others have ended, with 4 {GPU} instead of 8 for each member."
    )
    assert texts(found, Whose.YOURS) == [f"2 {GPU} instead of 8 for each member"]


def test_a_label_that_no_node_has_comes_with_one_that_would_do() -> None:
    here = cluster(labels=(("gpu", "a10"),))
    here.gang("train", 2, spec=spec(cpu=1, node_selector=(("gpu", "a100"),)))
    found = explained(outlook(here), "train")
    assert texts(found) == ["nodeSelector gpu=a10 instead of gpu=a100"]


def test_a_label_that_nodes_do_not_have_at_all_is_to_be_left_out() -> None:
    here = cluster()
    here.gang("train", 2, spec=spec(cpu=1, node_selector=(("gpu", "a100"),)))
    assert texts(explained(outlook(here), "train")) == ["no nodeSelector gpu=a100"]


def test_a_taint_comes_with_the_toleration() -> None:
    here = cluster(taints=(Taint("dedicated", "ml"),))
    here.gang("train", 2)
    found = explained(outlook(here), "train")
    assert texts(found, Whose.YOURS) == ["a toleration of dedicated=ml:NoSchedule"]


def test_nobody_is_told_to_tolerate_what_kubernetes_says_of_a_node() -> None:
    here = cluster(taints=(Taint("node.kubernetes.io/disk-pressure"),))
    here.gang("train", 2)
    assert not texts(explained(outlook(here), "train"), Whose.YOURS)


def test_a_cordoned_node_is_named() -> None:
    here = cluster("n1")
    here.node("n2", cpu=8, unschedulable=True)
    here.gang("train", 2, spec=spec(cpu=5))
    found = explained(outlook(here), "train")
    assert "n2 uncordoned" in texts(found, Whose.ADMINISTRATOR)


def test_a_lower_minimum_is_the_largest_that_starts() -> None:
    here = cluster("n1 n2 n3", cpu=2)
    here.gang("train", 5, spec=spec(cpu=2))
    found = explained(outlook(here), "train")
    assert "minMember 3 instead of 5" in texts(found, Whose.YOURS)


def test_a_required_rack_is_named_where_the_cluster_has_the_room() -> None:
    here = Cluster()
    for at in range(4):
        here.node(f"n{at}", cpu=4, labels=(("rack", f"r{at // 2}"),))
    here.group("train", 3, topology=TopologyRequest("dc", required="rack"))
    for at in range(3):
        here.pod(f"train-{at}", "train", spec=spec(cpu=4))
    racks = TopologySeen(Topology("dc", (Level("rack", "rack"),)))
    found = explained(Outlook(present(here, None, racks)), "train")
    assert "no required topology (rack)" in texts(found, Whose.YOURS)


def test_a_priority_class_says_who_would_give_way() -> None:
    here = cluster("n1")
    here.gang("low", 2, spec=spec(cpu=4))
    run(here, "low")
    here.gang("late", 2, spec=spec(cpu=4))
    found = explained(outlook(here, {"normal": 10, "urgent": 100, "system-node-critical": 2000}),
                      "late")  # fmt: skip
    [remedy] = [each for each in found.remedies if "priorityClassName" in each.text]
    assert remedy.text == "priorityClassName normal"
    assert sorted(pod.name for pod in remedy.victims) == ["low-0", "low-1"]


def test_a_class_that_preempts_is_found_below_one_that_does_not() -> None:
    here = cluster("n1")
    here.gang("low", 2, spec=spec(cpu=4))
    run(here, "low")
    here.gang("late", 2, spec=spec(cpu=4))
    classes = (
        PriorityClassSeen("calm", 5, preempts=False),
        PriorityClassSeen("normal", 10),
        PriorityClassSeen("urgent", 100),
        PriorityClassSeen("gentle", 1000, preempts=False),
    )
    found = explained(Outlook(present(here, None, *classes)), "late")
    assert "priorityClassName normal" in texts(found, Whose.YOURS)


def test_missing_members_are_counted() -> None:
    here = cluster()
    here.group("few", 4)
    here.pod("few-0", "few")
    found = explained(outlook(here), "few")
    assert found.cause is WaitCause.MEMBERS
    assert found.sentence == "ns/few waits for its members: 1 of 4 members exist."
    assert texts(found) == ["3 more members (1 of 4 exist)"]


@pytest.mark.parametrize("reason", [Reason.BELOW_MINIMUM, Reason.PREEMPTED])
def test_a_gang_that_lost_members_waits_for_those_that_do_not_exist(reason: Reason) -> None:
    here = cluster()
    here.group("few", 4)
    here.pod("few-0", "few")
    found = outlook(here)
    [row] = found.rows
    assert found.explain(replace(row, reason=reason)).cause is WaitCause.MEMBERS


def test_nothing_is_said_to_help_only_where_a_change_could() -> None:
    waits = explained(outlook(_gated()), "held")
    assert (waits.cause, waits.remedies, waits.nothing_helps) == (WaitCause.MEMBERS, [], False)
    assert not Explanation(waits.waiting, WaitCause.OTHER).nothing_helps
    assert Explanation(waits.waiting, WaitCause.CLUSTER).nothing_helps


def _gated() -> Cluster:
    here = cluster()
    here.gang("held", 2, gates=("example.com/wait",))
    return here


def test_members_of_several_sizes_share_one_limit() -> None:
    here = cluster("n1 n2", cpu=4)
    here.group("mixed", 2)
    here.pod("mixed-0", "mixed", spec=spec(cpu=2))
    here.pod("mixed-1", "mixed", spec=spec(cpu=6))
    assert texts(explained(outlook(here), "mixed"), Whose.YOURS)[0] == (
        "at most 4 CPUs for each member"
    )


def test_who_comes_before_it_and_takes_the_room_is_listed() -> None:
    here = cluster("n1", cpu=4)
    here.gang("first", 1, spec=spec(cpu=3))
    here.gang("second", 1, spec=spec(cpu=3))
    found = explained(outlook(here), "second")
    assert [row.short_name for row in found.ahead] == ["first"]


@pytest.mark.parametrize(
    ("amount", "left"),
    [(3000, "2600m CPUs"), (700, "250m CPUs")],
    ids=["by tenths of a CPU", "by hundredths where it is small"],
)
def test_requests_are_lowered_in_steps_that_people_write(amount: int, left: str) -> None:
    here = cluster("n1", cpu="2600m" if amount == 3000 else "250m")
    asked = replace(spec(), requests=(("cpu", amount), ("pods", 1)), nonzero_cpu=amount)
    here.gang("train", 1, spec=asked)
    [first, *_] = texts(explained(outlook(here), "train"), Whose.YOURS)
    assert first.startswith(left)


def test_a_remedy_of_one_degree_less_is_too_little() -> None:
    here = cluster("n1 n2 n3", cpu=8)
    here.gang("train", 5, spec=spec(cpu=7))
    found = outlook(here)
    [row] = found.rows
    for remedy in explained(found, "train").remedies:
        assert _starts(here, remedy, remedy.degree)
        assert not (remedy.degree > 1 and _starts(here, remedy, remedy.degree - 1))
    assert row.short_name == "train"


def _starts(here: Cluster, remedy: Remedy, degree: int) -> bool:
    assert remedy.change is not None
    events = remedy.change.events(degree)
    seen = present(here)
    return Outlook(replace(seen, events=(*seen.events, *events))).rows[0].starts


def test_pods_that_terminate_already_are_what_a_gang_waits_for() -> None:
    here = cluster("n1")
    here.gang("early", 2, spec=spec(cpu=4))
    run(here, "early")
    for name in list(here.where("early-")):
        here.change(name, deleting=True)
    here.gang("late", 2, spec=spec(cpu=4))
    found = explained(outlook(here), "late")
    assert texts(found, Whose.OTHERS) == ["the end of 2 pods that are terminating already"]


def test_a_gang_that_is_made_again_waits_for_its_earlier_run() -> None:
    here = cluster("n1", cpu=4)
    here.gang("g", 2, spec=spec(cpu=2), owner=Owner("Job", "g", "first"))
    run(here, "g")
    for name in list(here.where("g-")):
        here.change(name, deleting=True)
    for at in range(2):
        here.pod(f"g-again-{at}", "g", spec=spec(cpu=2), owner=Owner("Job", "g", "second"))
    found = explained(outlook(here), "g")
    assert found.cause is WaitCause.CAPACITY
    assert found.waiting.members == 2
    assert texts(found, Whose.OTHERS) == ["the end of 2 pods that are terminating already"]


def test_one_that_is_enough_is_found_where_a_larger_one_is_not() -> None:
    here = cluster("n1 n2 n3 n4", cpu=4)
    here.node("big", cpu=8)
    here.pod("holder", spec=spec(cpu=8))
    here.gang("wide", 4, spec=spec(cpu=4))
    here.settle()
    here.pod("late", spec=spec(cpu=8))
    assert texts(explained(outlook(here), "pod/late"), Whose.OTHERS) == ["the end of pod ns/holder"]


@pytest.mark.parametrize("kind", ["DaemonSet", "ReplicaSet", "StatefulSet"])
def test_nobody_is_told_of_the_end_of_pods_that_are_made_again(kind: str) -> None:
    here = cluster("n1")
    here.pod("kept", spec=spec(cpu=4), owner=Owner(kind, "kept", "k"))
    here.settle()
    here.gang("late", 1, spec=spec(cpu=8))
    assert not texts(explained(outlook(here), "late"), Whose.OTHERS)


def test_members_beyond_the_minimum_of_a_gang_that_runs_are_told_apart() -> None:
    here = cluster("n1", cpu=4)
    here.gang("train", 2, spec=spec(cpu=2))
    run(here, "train")
    here.pod("train-2", "train", spec=spec(cpu=2))
    found = explained(outlook(here), "train")
    assert found.cause is WaitCause.SURPLUS
    assert found.sentence.startswith("ns/train has its minimum; 1 member beyond it does not fit: ")


def test_a_gang_of_which_a_role_does_not_exist_waits_for_its_members() -> None:
    here = with_roles()
    here.pod("train-more", "train", role="worker", spec=spec(cpu=2), owner=TRAIN)
    found = explained(outlook(here.restarted()), "train")
    assert found.cause is WaitCause.MEMBERS
    assert found.sentence.startswith("ns/train waits for its members: ")


def test_a_role_that_finds_no_place_is_not_beyond_the_minimum() -> None:
    here = with_roles()
    here.pod("other", node="n1", spec=spec(cpu=2))
    here.pod("train-again", "train", role="server", spec=spec(cpu=2), owner=TRAIN)
    found = explained(outlook(here.restarted()), "train")
    assert (found.cause, found.waiting.surplus) == (WaitCause.CAPACITY, False)
    assert found.sentence.startswith("ns/train waits for capacity that others hold: ")


def with_roles() -> Cluster:
    """A gang on a node of eight CPUs that has lost its server; its three workers run."""
    here = cluster("n1")
    here.group("train", 3, roles=(("worker", 2), ("server", 1)))
    for at in range(3):
        here.pod(f"train-{at}", "train", role="worker", spec=spec(cpu=2), owner=TRAIN)
    here.pod("train-server", "train", role="server", spec=spec(cpu=2), owner=TRAIN)
    run(here, "train")
    here.delete("train-server")
    return here


def test_a_priority_class_that_preempts_nobody_is_not_told_to() -> None:
    here = cluster("n1")
    here.gang("low", 2, spec=spec(cpu=4))
    run(here, "low")
    here.gang("late", 2, spec=spec(cpu=4))
    gentle = PriorityClassSeen("gentle", 100, preempts=False)
    found = explained(Outlook(present(here, None, gentle)), "late")
    assert not [text for text in texts(found) if "priorityClassName" in text]


@pytest.mark.parametrize(
    "key",
    [
        "node-role.kubernetes.io/control-plane",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "ToBeDeletedByClusterAutoscaler",
    ],
)
def test_nobody_is_told_to_tolerate_what_a_node_is_for(key: str) -> None:
    here = cluster(taints=(Taint(key),))
    here.gang("train", 2)
    assert not texts(explained(outlook(here), "train"), Whose.YOURS)


def test_of_many_taints_the_one_of_nodes_with_room_is_tried_first() -> None:
    here = Cluster()
    for at in range(20):
        here.node(f"n{at:02}", cpu=4, taints=(Taint("team", f"t{at:02}"),))
        if at < 19:
            here.pod(f"full-{at}", node=f"n{at:02}", spec=spec(cpu=4))
    here.gang("train", 1, spec=spec(cpu=4))
    found = explained(outlook(here), "train")
    assert "a toleration of team=t19:NoSchedule" in texts(found, Whose.YOURS)


def test_several_cordoned_nodes_are_opened_together() -> None:
    here = cluster(" ".join(f"n{at}" for at in range(12)), cpu=4, unschedulable=True)
    here.gang("train", 3, spec=spec(cpu=4))
    found = explained(outlook(here), "train")
    assert "n0, n1, n10 uncordoned" in texts(found, Whose.ADMINISTRATOR)


def test_of_thousands_of_labels_the_rarest_are_tried() -> None:
    here = cluster(labels=tuple(sorted((f"k{at}", "v") for at in range(500))))
    wanted = tuple(sorted((*((f"k{at}", "v") for at in range(500)), ("wrong", "v"))))
    here.gang("train", 1, spec=spec(cpu=1, node_selector=wanted))
    assert texts(explained(outlook(here), "train")) == ["no nodeSelector wrong=v"]


def test_what_is_reserved_beyond_the_members_is_told_of() -> None:
    here = cluster("n1 n2", cpu=4)
    here.group("train", 2, min_resources=(("cpu", 20_000),))
    for at in range(2):
        here.pod(f"train-{at}", "train", spec=spec(cpu=1))
    found = explained(outlook(here), "train")
    assert "no minResources" in texts(found, Whose.YOURS)
    assert texts(found, Whose.ADMINISTRATOR) == ["3 more nodes like n1"]


def test_where_there_is_no_time_left_the_answer_says_so() -> None:
    here = cluster("n1", cpu=1)
    here.gang("train", 2)
    found = Outlook(present(here)).within(lambda: False)
    assert not found.explain(found.rows[0]).complete


def test_labels_of_a_node_s_own_do_not_make_it_a_shape_of_its_own() -> None:
    def labels(name: str) -> Labels:
        return (("kubernetes.io/hostname", name), ("zone", "a"))

    here = Cluster()
    for name in ("n1", "n2"):
        here.node(name, cpu=4, labels=labels(name))
    here.gang("train", 3, spec=spec(cpu=4))
    assert texts(explained(outlook(here), "train"), Whose.ADMINISTRATOR) == ["1 more node like n1"]
