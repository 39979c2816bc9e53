# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a user reads on pods and PodGroups (the controller's part: tests/controller)."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine.effects import Emit
from enbloc.engine.events import PriorityClassSeen
from enbloc.engine.report.reporter import MOST_TOLD
from enbloc.model.pods import PodSpec
from enbloc.model.topology import TopologyRequest
from tests.rules.world import JOB, NEXT_JOB, ONE_A_NODE, World
from tests.world.builders import spec

HUGE = spec(cpu=200)
ELSEWHERE = replace(ONE_A_NODE, node_selector=(("zone", "mars"),))
NO_CPU = "0/2 nodes are available: 2 Insufficient cpu."
NO_ZONE = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."


def two_nodes() -> World:
    world = World()
    world.nodes("n1 n2", cpu=4)
    return world


def told(world: World, pod: str) -> list[Emit]:
    """The events on a pod, in order."""
    return [e for e in world.effects if isinstance(e, Emit) and e.pod and e.pod.name == pod]


def notes(world: World, pod: str) -> list[tuple[str, str]]:
    return [(str(event.reason), event.note) for event in told(world, pod)]


# ── which member does not fit (semantics §7.4) ───────────────────────────────────────────────────


def gang(world: World, *specs: PodSpec, minimum: int | None = None) -> None:
    world.group("g", len(specs) if minimum is None else minimum)
    for index, each in enumerate(specs):
        world.pod(f"g-{index}", "g", owner=JOB, spec=each)
    world.settle()


def test_every_member_that_fits_no_node_is_named_with_what_it_lacks() -> None:
    """Semantics §7.4."""
    world = two_nodes()
    gang(world, ONE_A_NODE, HUGE, ELSEWHERE)
    message = world.condition("g")[2]
    assert message.endswith(f"2 of 3 members fit no node: g-1: {NO_CPU} g-2: {NO_ZONE}")
    own = {name: world.pod_conditions(name)[-1][1] for name in world.pods}
    assert own["g-0"] == message
    assert own["g-1"].startswith(f"This member does not fit: {NO_CPU} PodGroup ns/g: ")
    assert own["g-2"].startswith(f"This member does not fit: {NO_ZONE} PodGroup ns/g: ")


def test_of_many_misfits_a_few_are_named() -> None:
    """Semantics §7.4."""
    world = two_nodes()
    kinds = [replace(ELSEWHERE, node_selector=(("zone", f"z{i}"),)) for i in range(6)]
    gang(world, *[HUGE] * 9, *kinds)
    message = world.condition("g")[2]
    assert "15 members fit no node: g-0, g-1, g-2 and 6 more: " in message
    assert message.endswith("And 4 more.")


def test_beyond_sixteen_kinds_the_number_is_a_lower_bound() -> None:
    """Semantics §7.4."""
    world = two_nodes()
    gang(world, *(spec(cpu=200 + i) for i in range(20)))
    assert "at least 16 of 20 members fit no node: g-0: " in world.condition("g")[2]


def test_who_does_not_fit_beside_the_others_is_named_where_they_differ() -> None:
    """Semantics §7.4."""
    world = two_nodes()
    gang(world, ONE_A_NODE, ONE_A_NODE, spec(cpu=3))
    assert "2 of the 3 required members fit; g-2 does not: " in world.condition("g")[2]


def test_a_kind_of_which_some_members_fit_is_no_misfit() -> None:
    """Semantics §7.4."""
    world = World()
    world.nodes("n1", cpu=3)
    gang(world, spec(cpu=1), spec(cpu=2), spec(cpu=2))
    assert "fit no node" not in world.condition("g")[2]


def test_alike_members_are_not_told_apart() -> None:
    """Semantics §7.4."""
    world = two_nodes()
    world.job("g", 3)
    world.settle()
    assert "2 of the 3 required members fit; the next one does not: " in world.condition("g")[2]


# ── what a member's own events say (semantics §7.4) ──────────────────────────────────────────────


def test_a_pending_member_says_what_its_gang_waits_for() -> None:
    """Semantics §7.4."""
    world = two_nodes()
    gang(world, ONE_A_NODE, HUGE)
    message = world.condition("g")[2]
    assert notes(world, "g-0") == [("FailedScheduling", f"PodGroup ns/g: {message}")]
    [(_, own)] = notes(world, "g-1")
    assert own == f"This member does not fit: {NO_CPU} PodGroup ns/g: {message}"


def test_a_member_is_told_again_only_when_the_reason_is_another() -> None:
    """Semantics §7.4."""
    world = two_nodes()
    world.job("g", 3)
    world.settle()
    for index in range(5):  # it is tried again, and another number is in the message
        world.node(f"m{index}", cpu=1)
        world.settle()
    assert [reason for reason, _ in notes(world, "g-0")] == ["FailedScheduling"]
    world.delete("g-2")
    world.settle(seconds=60)
    assert notes(world, "g-0")[1:] == [("WaitingForGang", "PodGroup ns/g: 2 of 3 members exist")]


def test_members_that_come_one_by_one_are_told_of_the_others_only_after_a_while() -> None:
    """Semantics §7.4."""
    world = two_nodes()
    world.group("g", 2)
    world.member("g-0", "g")
    world.settle(seconds=29)
    assert told(world, "g-0") == []
    world.settle(seconds=2)
    assert notes(world, "g-0") == [("WaitingForGang", "PodGroup ns/g: 1 of 2 members exist")]
    assert world.pod_conditions("g-0") == [], "semantics §6.2"
    world.member("g-1", "g")
    world.settle()
    assert len(world.where()) == 2


def test_a_large_gang_writes_a_bounded_number_of_events() -> None:
    """Semantics §7.4."""
    world = two_nodes()
    gang(world, *[ONE_A_NODE] * 200, HUGE)
    said = [e for e in world.effects if isinstance(e, Emit) and e.pod is not None]
    assert len(said) == MOST_TOLD
    assert [reason for reason, _ in notes(world, "g-200")] == ["FailedScheduling"], "the misfit"
    assert len(world.pod_conditions("g-199")) == 1, "all have the condition"


def test_a_member_whose_spec_is_invalid_is_named_on_its_siblings_too() -> None:
    """Semantics §7.4."""
    world = two_nodes()
    world.job("g", 1)
    world.member("g-1", "g", problem="spec.x: wrong")
    world.settle()
    note = "PodGroup ns/g: pod ns/g-1: spec.x: wrong"
    assert notes(world, "g-0") == notes(world, "g-1") == [("InvalidSpec", note)]


def test_pending_members_of_a_group_that_is_invalid_have_a_condition_that_names_the_field() -> None:
    """Semantics §6.2."""
    world = two_nodes()
    world.group("g", 2, problem="spec.minResources.cpu: no quantity")
    world.member("g-0", "g")
    world.settle()
    [said] = world.pod_conditions("g-0")
    assert said == ("InvalidSpec", "spec.minResources.cpu: no quantity")
    assert said == world.condition("g")[1:]

    world.alter("g", problem="")
    world.settle(seconds=100)
    assert [reason for reason, _ in world.pod_conditions("g-0")][1:] == ["WaitingForMembers"]
    world.member("g-1", "g")
    world.settle()
    assert len(world.where("g")) == 2


# ── PodGroups that do not exist (semantics §6.2, §6.5) ───────────────────────────────────────────


def test_a_podgroup_of_another_namespace_cannot_be_named() -> None:
    """Semantics §6.5."""
    world = two_nodes()
    world.member("p", "other/train")
    world.settle(seconds=10)
    [(reason, message)] = world.pod_conditions("p")
    assert reason == "PodGroupNotFound"
    assert message == (
        "PodGroup other/train is not in namespace ns: a pod joins a PodGroup of its own namespace; "
        "write the name alone, train"
    )


def test_a_podgroup_that_does_not_exist_stays_visible_on_the_pod() -> None:
    """Semantics §6.5."""
    world = two_nodes()
    world.member("p", "trian")
    world.settle(seconds=10)
    [(reason, message)] = world.pod_conditions("p")
    assert reason == "PodGroupNotFound"
    assert message.startswith("PodGroup ns/trian not found; create it in namespace ns, where its ")
    world.member("q", "trian")
    world.settle()
    assert [reason for reason, _ in world.pod_conditions("q")] == ["PodGroupNotFound"]
    assert [reason for reason, _ in notes(world, "q")] == ["PodGroupNotFound"]


@pytest.mark.parametrize("restarted", [False, True])
def test_once_it_exists_the_pod_no_longer_says_that_it_does_not(*, restarted: bool) -> None:
    """Semantics §6.2."""
    world = two_nodes()
    world.member("p", "g")
    world.settle(seconds=10)
    if restarted:
        world.change("p", unschedulable=True)
        world = world.restarted()
    world.group("g", 2)
    world.settle()
    assert world.pod_conditions("p")[-1] == ("WaitingForMembers", "1 of 2 members exist")


def test_a_podgroup_that_is_deleted_while_members_run_is_told_of() -> None:
    """Semantics §3.5."""
    world = two_nodes()
    world.running_job("g", 2)
    world.drop_group("g")
    world.settle()
    [event] = world.events("PodGroupDeleted")
    assert event.note == (
        "PodGroup deleted while 2 of its members are bound: bound members keep running, pending "
        "ones wait until it is recreated"
    )


@pytest.mark.parametrize(
    ("minimum", "note"),
    [(1, "The 1 required member is scheduled"), (2, "All 2 required members are scheduled")],
)
def test_a_gang_that_is_scheduled_says_of_how_many(minimum: int, note: str) -> None:
    """Semantics §7.4."""
    world = two_nodes()
    world.running_job("g", minimum)
    assert [each.note for each in world.events("GangScheduled")] == [note]


def test_a_podgroup_without_members_is_deleted_in_silence() -> None:
    """Semantics §3.5."""
    world = two_nodes()
    world.running_job("g", 2)
    for name in list(world.pods):
        world.finish(name)
    world.drop_group("g")
    world.settle()
    assert world.events("PodGroupDeleted") == []


# ── what does not count, or not yet (semantics §2.5, §2.6) ───────────────────────────────────────


def test_a_raised_minimum_says_from_when_on_it_applies() -> None:
    """Semantics §2.5."""
    world = two_nodes()
    world.running_job("g", 2)
    world.alter("g", minimum=10)
    world.settle()
    note = "; minMember 10 applies from the next run of the gang on"
    assert world.condition("g")[2] == f"2 of 2 required members are scheduled{note}"
    assert world.condition("g", "Satisfied")[2] == f"2 of 2 members run{note}"
    world.alter("g", minimum=2)
    world.settle()
    assert world.condition("g", "Satisfied")[2] == "2 of 2 members run"


def test_a_raised_minimum_of_a_role_says_so_as_well() -> None:
    """Semantics §2.5."""
    world = two_nodes()
    world.group("g", 2, roles=[("w", 1)])
    for name in "ab":
        world.member(name, "g", role="w")
    world.settle()
    world.run_pods("ab")
    world.settle()
    world.alter("g", minimum=4, roles=[("w", 3)])
    world.settle()
    said = "minMember 4 and minMember 3 of role w apply from the next run of the gang on"
    assert said in world.condition("g")[2]


def test_before_the_start_a_raised_minimum_applies_and_nothing_is_said() -> None:
    """Semantics §2.5."""
    world = two_nodes()
    world.job("g", 2)
    world.settle()
    world.alter("g", minimum=3)
    world.settle()
    assert "applies from" not in world.condition("g")[2]


def test_the_priority_of_a_group_is_in_its_status() -> None:
    """Semantics §2.6."""
    world = two_nodes()
    world.group("g", 2)
    shown: list[int | None] = []
    for name, priority in (("", 0), ("a", 7), ("b", -3)):
        if name:
            world.member(name, "g", priority=priority)
        world.settle()
        shown.append(world.status["g"].priority)
    assert shown == [None, 7, -3]


@pytest.mark.parametrize(
    ("value", "raises", "priority"),
    [
        pytest.param(1000, False, 5, id="it would raise"),
        pytest.param(1000, True, 1000, id="it may raise"),
        pytest.param(1, False, 1, id="it lowers"),
    ],
)
def test_a_class_that_is_ignored_is_said_to_be(value: int, priority: int, *, raises: bool) -> None:
    """Semantics §2.6."""
    world = World(priority_class_raises=raises)
    world.nodes("n1 n2", cpu=4)
    world.tell(PriorityClassSeen("vip", value))
    world.job("g", 3, priority=5, priority_class="vip")
    world.settle()
    said = "priorityClassName vip (1000) is ignored: the members' own priority is 5"
    assert (said in world.condition("g")[2]) is (priority == 5)
    assert world.status["g"].priority == priority


# ── keys that are almost right (semantics §6.5) ──────────────────────────────────────────────────


def test_a_role_that_the_podgroup_does_not_list_is_told_once() -> None:
    """Semantics §6.5."""
    world = two_nodes()
    world.group("g", 2, roles=[("worker", 2)])
    world.member("a", "g", role="worker")
    world.member("b", "g", role="workers")
    for _ in range(2):
        world.settle()
        world.change("b", priority=1)
    assert world.condition("g")[2] == (
        "1 of 2 members of role worker exist (roles that the PodGroup does not list: workers)"
    )
    [event] = told(world, "b")
    assert (str(event.reason), event.note) == (
        "UnknownRole",
        "enbloc.dev/role is workers, which PodGroup ns/g does not list; it lists worker",
    )


def test_a_role_says_nothing_where_the_podgroup_lists_none() -> None:
    """Semantics §6.5."""
    world = two_nodes()
    world.job("g", 1)
    world.member("b", "g", role="any")
    world.settle()
    assert world.events("UnknownRole") == []


def test_a_hint_is_told_once_and_holds_nothing_back() -> None:
    """Semantics §6.5."""
    world = two_nodes()
    world.pod("p", hint="label pod-group is not read")
    world.settle()
    assert "p" in world.where()
    assert [event.note for event in world.events("UnknownKey")] == ["label pod-group is not read"]


@pytest.mark.parametrize(
    ("group", "notes"),
    [
        (
            {},
            ["enbloc.dev/topology-required has no effect: PodGroup ns/g was not made for the pod"],
        ),
        ({"topology": TopologyRequest(preferred="kubernetes.io/hostname")}, []),
        ({"derived": "jobs.batch"}, []),
    ],
    ids=["the PodGroup says nothing of it", "the PodGroup does", "it was made for the pod"],
)
def test_a_topology_that_only_the_pod_of_a_written_podgroup_asks_for_is_told_once(
    group: dict[str, Any], notes: list[str]
) -> None:
    """Semantics §6.5."""
    world = two_nodes()
    world.group("g", 1, **group)
    world.member("a", "g", topology_key="enbloc.dev/topology-required")
    for _ in range(2):
        world.settle()
    said = [event.note.partition(";")[0] for event in world.events("UnsupportedField")]
    assert said == notes
    assert "a" in world.where()


def test_a_pod_that_misspells_its_group_waits_and_says_why() -> None:
    """Semantics §6.5."""
    world = two_nodes()
    problem = "label enbloc.dev/podgroup is unknown; use enbloc.dev/pod-group"
    world.pod("p", problem=problem)
    world.settle()
    assert world.where() == {}
    assert world.pod_conditions("p") == [("InvalidSpec", problem)]
    assert notes(world, "p") == [("FailedScheduling", problem)]


def test_a_new_run_of_a_gang_is_told_anew() -> None:
    """Semantics §7.4."""
    world = two_nodes()
    world.job("g", 3)
    world.settle()
    for index in range(3):
        world.delete(f"g-{index}")
    for index in range(3):
        world.member(f"h-{index}", "g", owner=NEXT_JOB)
    world.settle()
    assert [reason for reason, _ in notes(world, "h-0")] == ["FailedScheduling"]


def test_members_that_wait_for_an_eviction_and_their_podgroup_say_one_thing() -> None:
    """Semantics §6.2."""
    world = two_nodes()
    world.evict_answer = lambda _: "hold"
    world.job_in_part("g", "n1", of=3)
    world.settle(seconds=70)
    assert len(world.evicted) == 1, "the deadline is over"
    before = len(world.pod_conditions("g-2"))
    world.drop_group("g")
    world.settle()
    for _ in range(3):  # the watch shows what was written
        world.change("g-2", unschedulable=True)
        world.settle()
    assert {reason for reason, _ in world.pod_conditions("g-2")[before:]} <= {"TimedOut"}


# ── which group is meant (semantics §6.5) ────────────────────────────────────────────────────────


def test_a_label_that_names_another_group_is_told_also_of_pods_seen_before_the_first_step() -> None:
    world = two_nodes()
    world.group("g", 2)
    world.member("g-0", "g", group_conflict="other")
    world.engine.stand_by()
    world.member("g-1", "g", group_conflict="other")
    world.settle()
    note = (
        "the annotation names group g, the label of the same key other; the annotation counts, so "
        "make them the same"
    )
    assert notes(world, "g-0")[0] == ("PodGroupAmbiguous", note)
    assert notes(world, "g-1")[0] == ("PodGroupAmbiguous", note)
