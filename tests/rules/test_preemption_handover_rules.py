# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Preemptions that a new leader finds half done, or that are not needed any more."""

from collections.abc import Callable
from typing import Any

import pytest

from enbloc.engine.events import EvictRefused, SlotsFree
from enbloc.engine.eviction.victims import MOST_AWAITED
from enbloc.model.pods import Phase
from tests.rules.preempting import evicted, full
from tests.rules.test_preemption_life_rules import accept
from tests.rules.world import JOB, NEXT_JOB
from tests.world.builders import amounts, spec
from tests.world.cluster import Cluster


@pytest.mark.parametrize("nominated", ["", "n1", "n2"])
def test_a_new_leader_has_the_rest_of_a_gang_leave(nominated: str) -> None:
    """Semantics §10.3: though what is free by now is all that the preemptor needs."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2)
    cluster.settle()
    cluster.nodes("n3", cpu=1)
    cluster.pod("mid", node="n3", priority=5)
    cluster.evict_answer = lambda _: "hold"
    cluster.pod("high", priority=10)
    cluster.settle()
    for name in ("low-0", "low-1"):
        cluster.change(name, preempted=True)
    cluster.change("high", nominated=nominated)
    cluster.delete("low-0")
    other = cluster.restarted()
    other.settle(seconds=5)

    assert [each.pod.name for each in other.evicted] == ["low-1"]
    assert set(other.where()) == {"mid", "high"}


@pytest.mark.parametrize("nominated", ["", "n1", "n2"])
def test_a_new_leader_has_the_rest_of_a_group_of_another_scheduler_leave(nominated: str) -> None:
    """Semantics §10.1 and §10.3: its minimum is not known, so all of it is one unit."""
    cluster = Cluster()
    cluster.nodes("n1 n2 n3", cpu=1)
    for number in (1, 2, 3):
        name, node = f"theirs-{number}", f"n{number}"
        cluster.pod(name, "theirs", scheduler="volcano", node=node, preempted=True)
    cluster.change("theirs-1", deleting=True)
    cluster.pod("high", priority=10, nominated=nominated)
    cluster.step()
    cluster.delete("theirs-1")
    cluster.settle(seconds=5)

    assert sorted(each.pod.name for each in cluster.evicted) == ["theirs-2", "theirs-3"]
    assert set(cluster.where()) == {"high"}


@pytest.mark.parametrize("process", [Cluster.restarted, Cluster.taken_over])
def test_a_new_leader_keeps_what_becomes_free_for_what_a_gang_reserves(
    process: Callable[[Cluster], Cluster],
) -> None:
    """Semantics §10.3."""
    cluster = full("n1 n2 n3")
    cluster.evict_answer = lambda _: "slow"
    cluster.group("g", 1, min_resources=amounts(cpu=3))
    cluster.pod("g-0", "g", priority=10)
    cluster.settle()
    cluster.change("g-0", nominated="n1")
    for name in ("n1", "n2", "n3"):
        cluster.change(f"low-{name}", preempted=True, deleting=True)
    cluster.settle()
    cluster = process(cluster)
    for name in ("n3", "n2", "n1"):
        cluster.delete(f"low-{name}")
        cluster.pod(f"again-{name}")
        cluster.settle(seconds=1)
    cluster.settle(seconds=20)

    assert set(cluster.where()) == {"g-0"}
    assert not cluster.evicted


def preempted_in_part(kind: str, nominated: int, marked: int) -> Cluster:
    """A preemption of three pods that leave together, of which so many have the condition.

    Args:
        kind: a gang of ours, a group of another scheduler, or pods that Kueue admits together.
        nominated: the preemptor waits for the node of this one.
        marked: the first of them.
    """
    cluster = Cluster()
    cluster.nodes("n0 n1 n2", cpu=1)
    if kind == "ours":
        cluster.group("low", 3)
    for number in range(3):
        of: dict[str, Any] = {"group": "low", "scheduler": "enbloc"}
        if kind != "ours":
            of["scheduler"] = "volcano"
        if kind == "Kueue":
            of |= {"group": None, "labels": (("kueue.x-k8s.io/pod-group-name", "low"),)}
        name, node = f"low-{number}", f"n{number}"
        cluster.pod(name, node=node, preempted=number < marked, **of)
    cluster.pod("high", priority=10, nominated=f"n{nominated}")
    return cluster


@pytest.mark.parametrize("kind", ["ours", "another scheduler", "Kueue"])
@pytest.mark.parametrize("nominated", range(3))
@pytest.mark.parametrize("marked", [1, 2, 3])
def test_a_new_leader_has_all_leave_of_whom_one_was_chosen_or_none(
    kind: str, nominated: int, marked: int
) -> None:
    """Semantics §10.1: the leader was killed before or while it wrote their conditions."""
    cluster = preempted_in_part(kind, nominated, marked)
    cluster.settle(seconds=60)

    assert sorted(each.pod.name for each in cluster.evicted) == ["low-0", "low-1", "low-2"]
    assert set(cluster.where()) == {"high"}


@pytest.mark.parametrize("nominated", range(3))
@pytest.mark.parametrize("finished", [False, True])
def test_a_new_leader_has_the_rest_leave_that_kueue_admitted_with_one_who_left(
    nominated: int, finished: bool
) -> None:
    """Semantics §10.3: Kueue's finalizer keeps a pod that has ended until it is replaced."""
    cluster = preempted_in_part("Kueue", nominated, 3)
    cluster.change("low-0", deleting=True, phase=Phase.FAILED if finished else Phase.RUNNING)
    cluster.settle(seconds=60)

    assert sorted(each.pod.name for each in cluster.evicted) == ["low-1", "low-2"]


@pytest.mark.parametrize("nominated", range(3))
def test_a_new_leader_has_the_rest_leave_that_kueue_admitted_with_one_who_is_gone(
    nominated: int,
) -> None:
    """Semantics §10.3: each says how many they are, so the new leader knows that one is missing."""
    cluster = preempted_in_part("Kueue", nominated, 3)
    for name in ("low-0", "low-1", "low-2"):
        cluster.change(name, admitted_with=3)
    cluster.delete("low-0")
    other = cluster.restarted()
    other.settle(seconds=60)

    assert sorted(each.pod.name for each in other.evicted) == ["low-1", "low-2"]


@pytest.mark.parametrize(
    ("of_them", "marked", "ended"),
    [
        pytest.param(0, 3, False, id="nobody says how many they are"),
        pytest.param(2, 3, False, id="all are there"),
        pytest.param(3, 2, False, id="not all were told"),
        pytest.param(3, 3, True, id="the one that does not run has finished"),
    ],
)
def test_a_new_leader_has_nobody_leave_that_kueue_admitted_with_others_unless_one_left(
    of_them: int, marked: int, *, ended: bool
) -> None:
    """Semantics §10.3: room has appeared elsewhere, so who was told has stayed."""
    cluster = preempted_in_part("Kueue", 0, marked)
    for name in ("low-0", "low-1", "low-2"):
        cluster.change(name, admitted_with=of_them)
    if ended:
        cluster.finish("low-0")
    else:
        cluster.delete("low-0")
    cluster.change("high", nominated="")
    other = cluster.restarted()
    other.settle(seconds=60)

    assert not other.evicted


@pytest.mark.parametrize("kind", ["ours", "another scheduler", "Kueue"])
def test_who_has_the_condition_stays_when_another_leaves_by_itself(kind: str) -> None:
    """Semantics §10.3: all get it before the first leaves, so nobody has left for a preemptor."""
    cluster = preempted_in_part(kind, 0, 1)
    cluster.delete("high")
    cluster.change("low-1", deleting=True, preempted=True)
    cluster.settle(seconds=60)

    assert not cluster.evicted


@pytest.mark.parametrize(
    ("kind", "marked"),
    [
        ("ours", 2),
        ("another scheduler", 2),
        ("Kueue", 2),
        pytest.param("Kueue", 1, id="Kueue, and only he has it"),
    ],
)
def test_nobody_follows_who_leaves_a_nominated_node_unless_all_have_the_condition(
    kind: str, marked: int
) -> None:
    """Semantics §10.3: he has left by himself, or was evicted for somebody else."""
    cluster = preempted_in_part(kind, 0, marked)
    cluster.change("low-0", deleting=True)
    cluster.settle(seconds=10)
    cluster.delete("low-0")
    cluster.settle(seconds=60)

    assert not cluster.evicted
    assert set(cluster.where()) == {"high", "low-1", "low-2"}


def test_a_new_leader_has_only_those_leave_beyond_a_minimum_that_were_chosen() -> None:
    """Semantics §10.1: pods beyond the minimum go one by one."""
    cluster = preempted_in_part("ours", 2, 0)
    cluster.alter("low", minimum=2)
    cluster.change("low-2", preempted=True, created=cluster.now + 1)
    cluster.settle(seconds=60)

    assert [each.pod.name for each in cluster.evicted] == ["low-2"]


@pytest.mark.parametrize("kind", ["ours", "another scheduler", "Kueue"])
@pytest.mark.parametrize("refusals", [1, 3])
@pytest.mark.parametrize("terminates", [False, True])
def test_the_rest_of_a_group_is_told_again_though_its_preemptor_went_elsewhere(
    kind: str, refusals: int, *, terminates: bool
) -> None:
    """Semantics §10.3: a part of what leaves together is worth nothing."""
    cluster = preempted_in_part(kind, 0, 0)
    cluster.evict_answer = lambda _: "hold"
    cluster.change("high", nominated="")
    cluster.settle()
    first, *others = cluster.evicted
    accept(cluster, first)
    cluster.node("n3", cpu=1)
    cluster.settle()
    answers = iter(["webhook is down"] * refusals)
    cluster.evict_answer = lambda _: next(answers, "ok")
    for each in others:
        cluster.tell(EvictRefused(each.uid, "a budget", cluster.now + 10))
    if terminates:
        cluster.change(first.pod.name, grace=600.0, deleting=True)
    else:
        cluster.delete(first.pod.name)
    cluster.settle(seconds=200)

    assert set(cluster.where()) - {first.pod.name} == {"high"}


def test_a_gang_that_was_chosen_and_not_told_stays_under_a_new_leader() -> None:
    """Semantics §10.3: capacity has appeared elsewhere meanwhile."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2)
    cluster.settle()
    for name in ("low-0", "low-1"):
        cluster.change(name, preempted=True)
    cluster.node("n3", cpu=1)
    cluster.pod("high", priority=10)
    other = cluster.restarted()
    other.settle(seconds=5)

    assert not other.evicted
    assert len(other.where()) == 3


def test_a_new_leader_has_nobody_leave_for_members_beyond_a_minimum() -> None:
    """Semantics §10.1: the minimum was bound meanwhile, and who was marked for it stays."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.group("high", 1)
    cluster.pod("high-0", "high", node="n1", priority=10)
    cluster.pod("high-1", "high", nominated="n2", priority=10)
    cluster.pod("low", node="n2", preempted=True)
    cluster.settle(seconds=5)

    assert not cluster.evicted


def test_no_more_are_told_while_answers_are_awaited() -> None:
    """Semantics §10.3: who was not told stays when capacity appears elsewhere."""
    cluster = Cluster()
    cluster.node("n1", cpu=40)
    for number in range(40):
        cluster.pod(f"low-{number:02}", node="n1")
    cluster.evict_answer = lambda _: "hold"
    cluster.pod("high", priority=10, spec=spec(cpu=40))
    cluster.settle()
    told = len(cluster.evicted)
    cluster.node("n2", cpu=40)
    cluster.settle(seconds=20)

    assert told == MOST_AWAITED
    assert cluster.where("high") == {"high": "n2"}
    assert len(cluster.evicted) == told


@pytest.mark.parametrize("ends", ["room elsewhere", "deleted"])
def test_a_gang_that_was_not_told_goes_on_at_once(ends: str) -> None:
    """Semantics §10.3: a member that came meanwhile is bound."""
    cluster = Cluster()
    cluster.nodes(" ".join(f"n{number:02}" for number in range(18)), cpu=1)
    for number in range(MOST_AWAITED):
        cluster.pod(f"lone-{number:02}", node=f"n{number:02}")
    cluster.group("low", 2)
    for number in range(2):
        cluster.pod(f"low-{number}", "low", node=f"n{16 + number}", owner=JOB)
    cluster.evict_answer = lambda _: "hold"
    cluster.group("high", 18)
    for number in range(18):
        cluster.pod(f"high-{number:02}", "high", priority=10)
    cluster.settle()
    assert len(cluster.evicted) == MOST_AWAITED
    cluster.pod("low-2", "low", owner=JOB)
    cluster.settle()
    assert "low-2" not in cluster.where("low")
    if ends == "deleted":
        cluster.node("n18", cpu=1)
        for number in range(18):
            cluster.delete(f"high-{number:02}")
    else:
        cluster.node("n18", cpu=19)
    cluster.settle(seconds=20)

    assert cluster.where("low").get("low-2") == "n18"


def test_a_gang_that_lost_a_member_while_victims_left_does_not_pause_for_that() -> None:
    """Semantics §10.4: its preemptions were not in vain; it could not use them."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=4)
    cluster.group("high", 2)
    cluster.pod("high-0", "high", owner=JOB, spec=spec(cpu=4), priority=10)
    for attempt in range(4):
        for node in ("n1", "n2"):
            cluster.pod(f"low-{attempt}-{node}", node=node, spec=spec(cpu=4))
        cluster.pod(f"high-1-{attempt}", "high", owner=JOB, spec=spec(cpu=4), priority=10)
        cluster.evict_answer = lambda _: "slow"
        cluster.settle(seconds=20)
        assert len(cluster.evicted) == 2 * (attempt + 1)
        cluster.delete(f"high-1-{attempt}")
        cluster.settle(seconds=1)
        for node in ("n1", "n2"):
            cluster.delete(f"low-{attempt}-{node}")
        cluster.settle(seconds=40)
    assert cluster.condition("high")[1] == "WaitingForMembers"


def test_who_did_not_leave_is_named_while_others_are_waited_for() -> None:
    """Semantics §10.4."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.pod("low-n1", node="n1")
    cluster.pod("low-n2", node="n2", priority=5)
    cluster.evict_answer = lambda _: "slow"
    cluster.pod("high", priority=10)
    cluster.settle(seconds=70)

    assert {each.pod.name for each in cluster.evicted} == {"low-n1", "low-n2"}
    waits, _, why = cluster.pod_conditions("high")[-1][1].partition("; ")
    assert "preemption: waiting for pod ns/low-n2 to leave, until " in waits
    assert why == "pod ns/low-n1 on node n1 did not leave"


def test_what_keeps_one_victim_on_its_node_may_keep_all_who_are_to_leave_it() -> None:
    """Semantics §10.4: those who hang a moment later are not counted on again."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=3)
    for name, grace in (("a", 5.0), ("b", 6.0), ("c", 7.0)):
        cluster.pod(f"low-{name}", node="n1", grace=grace)
    cluster.pod("mid", node="n2", spec=spec(cpu=3), priority=5)
    cluster.evict_answer = lambda each: "ok" if each.pod.name == "mid" else "slow"
    cluster.pod("high", priority=10, spec=spec(cpu=2))
    cluster.settle(seconds=60)

    assert cluster.where("high") == {"high": "n2"}
    assert len(cluster.evicted) == 3


def pausing() -> Cluster:
    """A gang for which two victims hung until their nodes were lost, and one that would leave."""
    cluster = full("n1 n2")
    cluster.evict_answer = lambda _: "slow"
    cluster.gang("high", 1, priority=10)
    cluster.settle(seconds=125)
    for name in ("n1", "n2"):
        cluster.drop_node(name)
        cluster.delete(f"low-{name}")
    cluster.node("n3", cpu=1)
    cluster.pod("low-n3", node="n3")
    cluster.settle(seconds=1)
    assert "preemption: paused until " in cluster.condition("high")[2]
    assert evicted(cluster) == {"low-n1", "low-n2"}
    return cluster


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("replaced", [True, False])
def test_a_podgroup_that_is_made_again_while_its_pods_are_there_does_not_pause(
    *, seen: bool, replaced: bool
) -> None:
    """Semantics §10.4: whether or not anything was decided in between, and whatever its pods."""
    cluster = pausing()
    cluster.drop_group("high")
    if seen:
        cluster.settle()
    cluster.group("high", 1, uid="pg-high-again")
    if replaced:
        cluster.settle()
        cluster.delete("high-0")
        cluster.settle()
        cluster.pod("high-0", "high", owner=NEXT_JOB, priority=10)
    cluster.settle(seconds=5)
    assert "low-n3" in evicted(cluster)


def test_a_preemptor_whose_pods_are_made_again_pauses_as_before() -> None:
    """Semantics §10.4: what did not let it be placed is not its pods."""
    cluster = pausing()
    cluster.delete("high-0")
    cluster.settle()
    cluster.pod("high-0", "high", owner=NEXT_JOB, priority=10)
    cluster.settle(seconds=5)
    assert "preemption: paused until " in cluster.condition("high")[2]
    assert "low-n3" not in evicted(cluster)
    cluster.settle(seconds=60)
    assert "low-n3" in evicted(cluster)


# ── preemptors that lack members ─────────────────────────────────────────────────────────────


def preempting_gang(*, slots: int = 32, **of: Any) -> Cluster:
    """A gang of three for which three pods leave, slowly, and a pod of lower priority that waits.

    Args:
        slots: how many Binds are sent at once.
        of: the members, as Cluster.gang has it.
    """
    cluster = Cluster(slots=slots)
    cluster.nodes("n1 n2 n3", cpu=1)
    for name in ("n1", "n2", "n3"):
        cluster.pod(f"low-{name}", node=name, grace=600.0)
    cluster.evict_answer = lambda _: "slow"
    cluster.gang("high", 3, priority=10, **of)
    cluster.settle()
    cluster.pod("mid", priority=5)
    cluster.delete("low-n1")
    cluster.settle(seconds=5)
    assert not cluster.where("mid")
    return cluster


def no_member(cluster: Cluster) -> None:
    cluster.delete("high-2")


def no_group(cluster: Cluster) -> None:
    cluster.drop_group("high")


def higher_minimum(cluster: Cluster) -> None:
    cluster.alter("high", minimum=4)


def gated_member(cluster: Cluster) -> None:
    cluster.change("high-2", gates=("quota",))


@pytest.mark.parametrize("loses", [no_member, no_group, higher_minimum, gated_member])
@pytest.mark.parametrize("leave", [False, True])
def test_capacity_is_not_reserved_for_long_for_a_preemptor_that_lacks_members(
    loses: Callable[[Cluster], None], *, leave: bool
) -> None:
    """Semantics §10.3: it may not be tried, so who comes after it takes what is free."""
    cluster = preempting_gang()
    loses(cluster)
    if leave:
        cluster.delete("low-n2")
        cluster.delete("low-n3")
    cluster.settle(seconds=25)
    assert not cluster.where("mid")
    cluster.settle(seconds=10)

    assert cluster.where("mid")


def test_capacity_is_not_reserved_for_long_for_a_plan_that_lost_a_member() -> None:
    """Semantics §10.3: the nodes are reserved once more, but not for a gang without a quorum."""
    cluster = preempting_gang(slots=0)
    cluster.delete("low-n2")
    cluster.delete("low-n3")
    cluster.settle(seconds=5)
    cluster.delete("high-2")
    cluster.tell(SlotsFree(8))
    cluster.pod("mid-2", priority=5)
    cluster.settle(seconds=25)
    assert set(cluster.where()) == {"mid"}  # where no pending member was to go
    cluster.settle(seconds=10)

    assert set(cluster.where()) == {"mid", "mid-2"}


@pytest.mark.parametrize("seconds", [5, 25])
def test_a_member_that_is_created_again_finds_what_was_reserved_for_its_gang(seconds: int) -> None:
    """Semantics §10.3: nothing that is free by then went to somebody else."""
    cluster = preempting_gang()
    cluster.delete("high-2")
    cluster.settle(seconds=seconds)
    cluster.pod("high-3", "high", priority=10)
    cluster.settle(seconds=100)
    cluster.delete("low-n2")
    cluster.delete("low-n3")
    cluster.settle(seconds=5)

    assert set(cluster.where("high").values()) == {"n1", "n2", "n3"}


def test_nothing_is_reserved_for_an_attempt_that_a_newer_one_follows() -> None:
    """Semantics §2.4: from then on it goes before no other group."""
    cluster = preempting_gang(restart="jobset/0")
    cluster.pod("high-next", "high", priority=10, restart="jobset/1")
    cluster.settle(seconds=5)

    assert cluster.where("mid")


def test_who_is_being_bound_elsewhere_has_nobody_told_who_stays() -> None:
    """Semantics §10.3: a victim stays when nobody waits for it any more."""
    a, b = (("pool", "a"),), (("pool", "b"),)
    cluster = Cluster()
    cluster.node("n1", cpu=1, labels=a)
    cluster.node("n2", cpu=1, labels=b)
    cluster.gang("low", 2)
    cluster.settle()
    cluster.evict_answer = lambda _: "hold"
    cluster.pod("first", priority=10, spec=spec(cpu=1, node_selector=a))
    cluster.settle()
    cluster.pod("second", priority=10, spec=spec(cpu=1, node_selector=b))
    cluster.settle()
    cluster.answer = lambda _: "hold"
    cluster.node("n3", cpu=1, labels=b)
    cluster.settle()
    assert [bind.target.node for bind in cluster.sent if bind.target.pod.name == "second"] == ["n3"]
    cluster.delete("first")
    cluster.settle(seconds=1)
    assert len(cluster.evicted) == 2
