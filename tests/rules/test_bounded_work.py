# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantics §9: what a turn costs, however much waits, is open or happens at once."""

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from enbloc.config import default_profiles
from enbloc.engine.batch import HintOf
from enbloc.engine.decide.attempts import HURRIED_STEPS
from enbloc.engine.events import WorkloadSeen
from enbloc.engine.queue import Backoff, Item, SchedulingQueue, Subqueue
from enbloc.engine.queue.scheduling_queue import MOST_CALLED, STEPS_OF_ONE
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.groups import Group, GroupKey
from enbloc.model.pods import Owner, Phase, PodKey
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.selectors import PodAffinity, PodAffinityTerm, Selector
from enbloc.model.workloads import WorkloadKey
from tests.calls import calls_of
from tests.world.builders import node, pod, spec
from tests.world.cluster import Cluster


def crowd(waiting: int) -> Cluster:
    """So many pods wait, each of a size of its own, on a full node."""
    cluster = Cluster(log=1, validate=False)
    cluster.nodes("n1", cpu=100)
    for number in range(100):
        cluster.pod(f"load-{number}", scheduler="other", node="n1", spec=spec(cpu=1), priority=9)
    for number in range(waiting):
        cluster.pod(f"p{number}", spec=spec(cpu=101, memory=number + 1))
    while cluster.engine.wakeup() == 0.0:
        cluster.step()
    return cluster


def longest(cluster: Cluster) -> int:
    """The calls of the longest step until nothing is left to be done now."""
    most = 0
    while (at := cluster.engine.wakeup()) is not None and at <= cluster.now:
        most = max(most, calls_of(cluster.step))
    return most


def test_a_turn_costs_the_same_however_many_groups_wait() -> None:
    """Semantics §9.1."""
    costs: list[int] = []
    for waiting in (600, 1200):
        cluster = crowd(waiting)
        for number in range(50):
            cluster.delete(f"load-{number}")
        costs.append(longest(cluster))
    assert costs[1] <= 1.05 * costs[0]


def test_a_turn_costs_the_same_however_many_groups_change() -> None:
    """Semantics §9.1."""
    costs: list[int] = []
    for changed in (600, 1200):
        cluster = crowd(0)
        for number in range(changed):
            cluster.gang(f"g{number}", 1, minimum=2)
        costs.append(longest(cluster))
    assert costs[1] <= 1.05 * costs[0]


def test_nobody_is_decided_before_all_were_looked_at() -> None:
    """Semantics §9.1: the last of many that wait has the highest priority, and is not overtaken."""
    cluster = crowd(600)
    cluster.pod("urgent", spec=spec(cpu=50), priority=9)
    while cluster.engine.wakeup() == 0.0:
        cluster.step()
    for number in range(50):
        cluster.delete(f"load-{number}")
    cluster.pod("late", spec=spec(cpu=50))
    cluster.settle()
    assert cluster.bound_order == ["urgent"]


def test_a_service_for_one_rank_does_not_make_a_gang_cost_more() -> None:
    """Semantics §9.3."""
    costs: list[int] = []
    for selected in ((), (("job-completion-index", "0"),)):
        cluster = Cluster(log=1, validate=False, slots=512)
        cluster.nodes("n1 n2", cpu=300, pods=300)
        named = tuple(Requirement(key, Operator.IN, (value,)) for key, value in selected)
        service = Selector(named) if named else None
        cluster.tell(WorkloadSeen(WorkloadKey("Service", "ns", "rank-0"), service))
        cluster.group("g", 512)
        for rank in range(512):
            cluster.pod(f"g-{rank}", "g", labels=(("job-completion-index", str(rank)),))
        costs.append(longest(cluster))
        assert len(cluster.where("g-")) == 512
    assert costs[1] <= 1.1 * costs[0]


@pytest.mark.parametrize("ended", [10, 60])
def test_what_happens_at_once_costs_a_group_one_attempt(ended: int) -> None:
    """Semantics §9.2: so many pods end in one batch, and each could help."""
    cluster = crowd(0)
    cluster.gang("g", 61, spec=spec(cpu=1))
    cluster.settle()
    attempts = cluster.status["g"].attempts
    for number in range(ended):
        cluster.delete(f"load-{number}")
    cluster.settle()
    assert cluster.status["g"].attempts - attempts <= 1
    cluster.delete("load-99")
    cluster.settle()
    assert bool(cluster.where("g-")) is (ended == 60)


# ── one PodGroup whose members are hostile ───────────────────────────────────────────────────────


def member_of(cluster: Cluster, name: str, owner: str, **of: Any) -> None:
    """A member of group "g" whose controller is a Job of this name."""
    cluster.pod(name, "g", owner=Owner("Job", owner, owner), **of)


def test_a_plan_costs_no_more_for_each_owner_that_has_no_part_in_it() -> None:
    """Semantics §9.1: owners can be forged, so that each member has one of its own."""
    costs: list[int] = []
    for owners in (200, 400):
        cluster = Cluster(log=1, validate=False)
        cluster.nodes("n1", cpu=2)
        cluster.group("g", 2)
        for number in range(owners):
            member_of(cluster, f"p{number}", f"job-{number}")
        costs.append(longest(cluster))
        assert len(cluster.where()) == 2
    assert costs[1] <= 2.2 * costs[0]


def test_members_that_failed_before_the_floor_was_held_cost_nothing() -> None:
    """Semantics §9.1."""
    costs: list[int] = []
    for failed in (50, 500):
        cluster = Cluster(log=1, validate=False)
        cluster.group("g", 4)
        member_of(cluster, "a", "job-0")
        member_of(cluster, "b", "job-1")
        for number in range(failed):
            member_of(cluster, f"f{number}", f"job-{number % 2}")
            cluster.finish(f"f{number}", Phase.FAILED)
        cluster.settle()
        cluster.change("a")
        costs.append(longest(cluster))
    assert costs[1] <= 1.05 * costs[0]


def test_members_that_ended_cost_nothing_where_another_scheduler_writes_as_well() -> None:
    """Semantics §6.4, §9.1: who writes of a group is asked of its live members first."""
    costs: list[int] = []
    for ended in (50, 500):
        cluster = Cluster(log=1, validate=False)
        group = cluster.group("g", 1)
        cluster.put_group(replace(group, writers=("enbloc-scheduler:batch",)))
        for number in range(ended):
            member_of(cluster, f"f{number}", "job", phase=Phase.SUCCEEDED)
        member_of(cluster, "a", "job")
        cluster.settle()
        cluster.change("a")
        costs.append(longest(cluster))
    assert costs[1] <= 1.05 * costs[0]


# ── rotation (semantics §9.7) ────────────────────────────────────────────────────────────────────


def gang_in(
    cluster: Cluster,
    namespace: str,
    name: str,
    cpu: int,
    near: PodAffinity | None = None,
    **of: Any,
) -> None:
    """A gang of two, no two of which are alike unless they want to be near something."""
    key = GroupKey(namespace, name)
    cluster.group(name, 2, key=key)
    for index in range(2):
        of = {"scheduler": "enbloc", "created": cluster.now, **of}
        wanted = spec(cpu=cpu, memory=len(cluster.pods) + 1)
        if near is not None:
            wanted = spec(cpu=cpu, pod_affinity=near)
        member = pod(wanted, f"{name}-{index}", **of)
        cluster.put_pod(replace(member, key=PodKey(namespace, f"{name}-{index}"), group=key))


def many_and_one(
    many: int, cpu: int, profiles: dict[str, Profile] | None = None, **of: Any
) -> Cluster:
    """Gangs of one namespace that do not fit, older than one of another namespace."""
    cluster = Cluster(log=1, validate=False, sync=False, profiles=profiles)
    cluster.nodes("n1 n2", cpu=8)
    for number in range(many):
        gang_in(cluster, "many", f"m{number:03}", 9, **of)
    cluster.now += 1
    gang_in(cluster, "one", "one", cpu)
    cluster.sync()
    return cluster


def tried(cluster: Cluster) -> list[str]:
    """The groups of all attempts, in order."""
    cluster.settle()
    return [each.group.name for each in cluster.decisions()]


def test_attempts_that_fail_rotate_over_namespaces() -> None:
    """Semantics §9.7: hundreds of gangs that wait do not delay the first attempt at another."""
    cluster = many_and_one(200, cpu=9)
    assert tried(cluster)[:4] == ["m000", "one", "m001", "m002"]


def test_before_a_group_takes_capacity_those_ordered_earlier_are_tried() -> None:
    """Semantics §9.7: the order decides who takes it."""
    cluster = many_and_one(60, cpu=8)
    gang_in(cluster, "many", "old", 8, created=1.0)
    cluster.settle()
    assert sorted(cluster.where()) == ["old-0", "old-1"]
    cluster = many_and_one(60, cpu=8)
    cluster.now -= 0.5
    gang_in(cluster, "many", "older", 8)
    cluster.settle()
    assert sorted(cluster.where()) == ["older-0", "older-1"]


def test_sixty_four_that_do_not_fit_are_tried_before_one_that_fits_and_no_more() -> None:
    """Semantics §9.7."""
    attempts = tried(many_and_one(200, cpu=8))
    assert attempts[:66] == [*(f"m{number:03}" for number in range(65)), "one"]


def test_with_each_placement_the_count_of_those_who_are_tried_first_begins_anew() -> None:
    """Semantics §9.7."""
    cluster = Cluster(log=1, validate=False, sync=False)
    cluster.nodes("n1 n2", cpu=8)
    for number in range(100):
        gang_in(cluster, "many", f"m{number:03}", 9, created=float(number))
    gang_in(cluster, "many", "small", 1, created=40.5)
    gang_in(cluster, "many", "rival", 7, created=100.0)
    gang_in(cluster, "one", "one", 7)
    cluster.sync()
    cluster.settle()
    assert sorted(cluster.where()) == ["rival-0", "rival-1", "small-0", "small-1"]


def test_a_namespace_whose_groups_are_placed_goes_on_in_the_order() -> None:
    """Semantics §9.7: nobody is tried out of turn while nothing fails."""
    cluster = Cluster(sync=False)
    cluster.nodes("n1 n2", cpu=100)
    for number in range(20):
        gang_in(cluster, "many", f"m{number:03}", 1)
    cluster.now += 1
    gang_in(cluster, "one", "one", 1)
    cluster.sync()
    assert tried(cluster) == [*(f"m{number:03}" for number in range(20)), "one"]


def test_groups_of_a_higher_priority_are_tried_before_any_other() -> None:
    """Semantics §9.7: only those of equal priority rotate."""
    assert tried(many_and_one(20, cpu=8, priority=5))[:21] == [
        *(f"m{number:03}" for number in range(20)),
        "one",
    ]


def test_each_namespace_has_one_attempt_in_a_round() -> None:
    """Semantics §9.7."""
    cluster = Cluster(log=1, validate=False, sync=False)
    cluster.nodes("n1", cpu=8)
    for namespace in "abc":
        for number in range(3):
            gang_in(cluster, namespace, f"{namespace}{number}", 9)
        cluster.now += 1
    cluster.sync()
    assert tried(cluster) == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]


# ── a tenant that does its worst (semantics §9.7) ────────────────────────────────────────────────


def flooded(gangs: int, spread: int = 1, namespace: str = "many", **of: Any) -> Cluster:
    """Gangs that have failed, and are as good as new again after each change of a label."""
    cluster = Cluster(log=1, validate=False)
    cluster.nodes("n1 n2", cpu=8)
    for number in range(gangs):
        where = namespace if spread == 1 else f"{namespace}-{number % spread}"
        gang_in(cluster, where, f"m{number:03}", 9, **of)
    cluster.settle()
    cluster.now += 1
    return cluster


def until_bound(cluster: Cluster, size: int, *, most: int, between: Any = None) -> int:
    """How many attempts a gang in namespace "one" needs, while labels of all others flip."""
    gang_in(cluster, "one", "one", size)
    before = len(cluster.decisions())
    for number in range(most):
        for each in list(cluster.pods.values()):
            if each.key.name.startswith("m") and each.key.name.endswith("-0") and not number % 10:
                cluster.put_pod(replace(each, labels=(("round", str(number)),)))
        if between is not None:
            between(number)
        cluster.step()
        if len(cluster.where("one-")) == 2:
            return len(cluster.decisions()) - before
    raise AssertionError(f"it is not bound after {most} steps")


@pytest.mark.parametrize(
    ("gangs", "spread", "namespace", "priority"),
    [(200, 1, "many", 0), (200, 1, "one", 0), (200, 100, "many", 0), (200, 1, "many", 5)],
    ids=["of one namespace", "of its own namespace", "of 100 namespaces", "of a higher priority"],
)
def test_a_gang_with_room_is_bound_while_others_fail_without_end(
    gangs: int, spread: int, namespace: str, priority: int
) -> None:
    """Semantics §9.7: those ordered before it are tried 64 at a time, and no more often."""
    cluster = flooded(gangs, spread, namespace, priority=priority)
    assert until_bound(cluster, 1, most=400) <= 64 + 64 + 8


def test_placements_of_others_do_not_let_the_same_failures_go_first_again() -> None:
    """Semantics §9.7: pods that fit come and go, beside gangs of a hundred namespaces that fail."""
    cluster = flooded(100, 100)

    def small(number: int) -> None:
        if number % 20 == 0:
            cluster.pod(f"small-{number}", spec=spec(cpu=1))
        if number % 20 == 10:
            cluster.delete(f"small-{number - 10}")

    assert until_bound(cluster, 1, most=600, between=small) <= 256 + 20


def test_a_search_counts_for_many_attempts() -> None:
    """Semantics §9.7: those who are tried first may not take longer by what each of them costs."""
    queue = SchedulingQueue(Backoff(), 300.0)
    for number in range(20):
        key = GroupKey("many", f"m{number}")
        item = queue.item(key, solo=False)
        item.sort_key, item.subqueue = (0, number), Subqueue((0,), "many", key.name)
        queue.activate(item)
    late = queue.item(GroupKey("one", "one"), solo=False)
    late.sort_key, late.subqueue = (0, 99), Subqueue((0,), "one", "one")
    queue.activate(late)
    tried: list[str] = []
    while (popped := queue.pop()) is not None:
        tried.append(popped.key.name)
        if popped is not late:
            queue.failed(popped, 0.0, {"Fit"}, (), _no_hints, steps=20_000)
        elif not queue.call_up(popped, lambda _: True, lambda _: None):
            break
    assert tried == ["m0", "one", "m1", "m2", "one"]


def test_pods_without_a_controller_share_their_turn() -> None:
    """Semantics §9.7: a gang of the same namespace comes after one of them that are older."""
    cluster = Cluster(log=1, validate=False, sync=False)
    cluster.nodes("n1", cpu=8)
    for number in range(50):
        new = pod(spec(cpu=9, memory=number + 1), f"p{number}", scheduler="enbloc")
        cluster.put_pod(replace(new, key=PodKey("one", new.key.name), created=cluster.now))
    cluster.now += 1
    gang_in(cluster, "one", "one", 9)
    cluster.sync()
    cluster.settle()
    assert [each.group.name for each in cluster.decisions()].index("one") == 1


def test_gangs_that_must_be_searched_for_do_not_keep_others_from_a_first_attempt() -> None:
    """Semantics §9.7: they are of as many namespaces, all older, and none was tried before."""
    term = PodAffinityTerm("host", Selector((Requirement("app", Operator.IN, ("none",)),)))
    near = PodAffinity(required=(term,))
    cluster = Cluster(log=1, validate=False, sync=False)
    for number in range(100):
        cluster.put_node(node(f"n{number}", cpu=8, labels=(("host", f"n{number}"),)))
    for number in range(60):
        gang_in(cluster, f"many-{number}", f"m{number:02}", 1, near)
    cluster.now += 1
    gang_in(cluster, "one", "one", 1)
    cluster.sync()
    cluster.settle()
    made = [(each.group.name, each.steps) for each in cluster.decisions()]
    steps = [steps for name, steps in made if name != "one"]
    before = steps[: [name for name, _ in made].index("one")]
    assert len(steps) == 60
    assert min(steps) > HURRIED_STEPS
    assert sum(before[:-1]) < MOST_CALLED * STEPS_OF_ONE


def _no_hints(_: Item) -> HintOf:
    return lambda *_: False


class ByAge:
    """An order of somebody's own, which says nothing of who is equal."""

    name: ClassVar[str] = "ByAge"

    def sort_key(self, group: Group, facts: GroupFacts) -> tuple[Any, ...]:
        return (facts.queue_time, group.key)


def test_an_order_of_somebody_s_own_is_followed_to_the_letter() -> None:
    """Semantics §9.7: of a QueueSort plugin that does not say who is equal nobody rotates."""
    [(name, profile)] = default_profiles().items()
    others = tuple(plugin for plugin in profile.plugins if plugin.name != "PrioritySort")
    own = Profile(name, (ByAge(), *others), profile.weights)
    attempts = tried(many_and_one(100, cpu=8, profiles={name: own}))
    assert attempts == [*(f"m{number:03}" for number in range(100)), "one"]


def test_pods_that_wait_out_a_pause_rotate_too() -> None:
    """Semantics §9.7: where nothing else is to be done, a pause is cut short."""
    cluster = Cluster(log=1, validate=False)
    cluster.nodes("n1", cpu=8)
    cluster.pod("load", node="n1", scheduler="other")
    for namespace, count in (("many", 50), ("one", 1)):
        for number in range(count):
            new = pod(spec(cpu=9, memory=number + 1), f"{namespace}-{number}", scheduler="enbloc")
            key = PodKey(namespace, new.key.name)
            cluster.put_pod(replace(new, key=key, created=cluster.now))
        cluster.now += 0.1
    cluster.settle()
    before = len(cluster.decisions())
    cluster.change("load", labels=(("a", "b"),))
    cluster.delete("load")
    cluster.settle()
    names = [each.group.name for each in cluster.decisions()[before:]]
    assert set(names[:2]) == {"/many-0", "/one-0"}
