# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A preemption from the choice of its victims until the preemptor runs, whatever fails."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from enbloc.engine.effects import Bind, Effect, Evict, SetGroupStatus, SetPodCondition
from enbloc.engine.events import (
    BudgetSeen,
    Evicted,
    EvictRefused,
    PriorityClassGone,
    PriorityClassSeen,
)
from enbloc.engine.preemption import PreemptionLimits
from enbloc.engine.preemption.effort import MOST_STEPS, STEPS_PER_SECOND
from enbloc.model.budgets import Budget
from enbloc.model.names import EventReason
from enbloc.model.pods import Owner, Phase, PodKey
from tests.rules.preempting import evicted, full
from tests.rules.test_pauses import lacking
from tests.rules.world import ONE_A_NODE
from tests.world.builders import budget, spec
from tests.world.cluster import Cluster

JOB = Owner("Job", "job", "job-1")


def accept(cluster: Cluster, effect: Evict) -> None:
    """The API server accepts an eviction, and the watch shows it."""
    cluster.tell(Evicted(effect.uid))
    cluster.change(effect.pod.name, deleting=True)


# ── how long victims are waited for ──────────────────────────────────────────────────────────


def test_victims_that_are_told_one_by_one_are_waited_for_from_when_each_is_told() -> None:
    """Semantics §10.4: of thousands of victims the last is told long after the choice."""
    nodes = "n1 n2 n3 n4 n5 n6"
    cluster = full(nodes + " spare", spare=5)
    cluster.evict_answer = lambda _: "hold"
    cluster.gang("high", 6, priority=10)
    cluster.settle()
    for effect in tuple(cluster.evicted):
        cluster.settle(seconds=20)
        accept(cluster, effect)
        cluster.settle(seconds=20)
        cluster.delete(effect.pod.name)
    cluster.settle(seconds=20)

    assert evicted(cluster) == {f"low-{name}" for name in nodes.split()}
    assert set(cluster.where("high").values()) == set(nodes.split())


def test_a_victim_that_hangs_is_given_up_though_others_still_leave() -> None:
    """Semantics §10.4."""
    cluster = full("n1 n2 n3", n3=5)
    cluster.evict_answer = lambda _: "hold"
    cluster.gang("high", 2, priority=10)
    cluster.settle()
    first, second = cluster.evicted
    accept(cluster, first)
    cluster.settle(seconds=40)
    accept(cluster, second)
    cluster.settle(seconds=25)

    assert evicted(cluster) == {"low-n1", "low-n2", "low-n3"}


def test_of_victims_that_hang_the_first_ends_the_wait_for_all() -> None:
    """Semantics §10.4: the watch still shows the nomination that went with the reservations."""
    cluster = full("n1 n2 n3 n4", n3=5, n4=5)
    cluster.evict_answer = lambda _: "hold"
    cluster.gang("high", 2, priority=10)
    cluster.settle()
    for each in [each for each in cluster.effects if isinstance(each, SetPodCondition)]:
        cluster.change(each.pod.name, nominated=each.nominated or "")
    for effect in tuple(cluster.evicted):
        cluster.change(effect.pod.name, preempted=True)
        accept(cluster, effect)
        cluster.settle(seconds=2)
    cluster.settle(seconds=60)

    assert evicted(cluster) > {"low-n1", "low-n2"}


def test_a_victim_of_which_nothing_is_heard_is_not_waited_for_for_ever() -> None:
    """Semantics §10.4."""
    cluster = full("n1 n2", n2=5)
    cluster.evict_answer = lambda each: "hold" if each.pod.name == "low-n1" else "ok"
    cluster.pod("high", priority=10)
    cluster.settle(seconds=320)

    assert cluster.where("high") == {"high": "n2"}


def test_a_victim_that_terminates_as_it_is_refused_for_ever_is_late_once() -> None:
    """Semantics §10.4: its namespace is deleted, and its kubelet is gone."""
    cluster = full("n1 n2", n2=5)
    cluster.evict_answer = lambda each: "hold" if each.pod.name == "low-n1" else "ok"
    cluster.pod("high", priority=10)
    cluster.settle()
    [effect] = cluster.evicted
    cluster.change("low-n1", deleting=True)
    cluster.tell(EvictRefused(effect.uid, "namespace is being terminated", math.inf))
    cluster.settle(seconds=50)
    cluster.tell(EvictRefused(effect.uid, "namespace is being terminated", math.inf))
    cluster.settle(seconds=15)

    assert cluster.where("high") == {"high": "n2"}


def test_a_victim_that_a_repair_waits_for_no_more_is_not_waited_for_for_ever() -> None:
    """Semantics §10.4: it was told at the deadline of its gang, and its kubelet is gone."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.group("low", 2, timeout=60)
    cluster.pod("low-0", "low", node="n1", scheduled_at=cluster.now, owner=JOB)
    cluster.pod("low-1", "low", owner=JOB)
    cluster.pod("mid", node="n2", priority=5)
    cluster.evict_answer = lambda each: "slow" if each.pod.name == "low-0" else "ok"
    cluster.settle(seconds=70)
    assert evicted(cluster) == {"low-0"}
    cluster.pod("high", priority=10)
    cluster.settle(seconds=130)

    assert cluster.where("high") == {"high": "n2"}


def test_a_victim_that_a_repair_could_not_evict_goes_though_a_budget_keeps_it() -> None:
    """Semantics §10.2: nobody else could go, and it was put off while the repair asked for it."""
    cluster = Cluster()
    cluster.nodes("n1", cpu=1)
    cluster.group("low", 2, timeout=60)
    kept = (("app", "kept"),)
    cluster.pod("low-0", "low", node="n1", scheduled_at=cluster.now, owner=JOB, labels=kept)
    cluster.pod("low-1", "low", owner=JOB)
    cluster.evict_answer = lambda _: "hold"
    cluster.settle(seconds=70)
    asked = cluster.evicted[-1]
    cluster.tell(BudgetSeen(budget("kept", 0)))
    cluster.pod("high", priority=10)
    cluster.settle()
    assert cluster.evicted == [asked]
    cluster.tell(EvictRefused(asked.uid, "budget kept", cluster.now + 10))
    cluster.settle()

    assert [(effect.pod, effect.regardless) for effect in cluster.evicted] == [
        (asked.pod, False),
        (asked.pod, True),
    ]


def test_a_victim_of_which_nothing_is_heard_is_given_up_though_others_are_answered() -> None:
    """Semantics §10.4."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1, labels=(("pool", "a"),))
    cluster.pod("low-n1", node="n1", started=10.0)
    cluster.pod("low-n2", node="n2", started=10.0, priority=5)
    cluster.node("b", cpu=2, labels=(("pool", "b"),))
    there = spec(cpu=2, node_selector=(("pool", "b"),))
    cluster.pod("first", node="b", spec=there)
    cluster.evict_answer = lambda each: "hold" if each.pod.name == "low-n1" else "ok"
    cluster.pod("high", priority=100, spec=spec(cpu=1, node_selector=(("pool", "a"),)))
    for priority in (1, 2, 3):
        cluster.pod(f"next-{priority}", priority=priority, spec=there)
        cluster.settle(seconds=200)

    assert cluster.where("high") == {"high": "n2"}


@pytest.mark.parametrize("refusals", range(1, 5))
def test_the_rest_of_a_gang_is_told_again_however_often_that_is_refused(refusals: int) -> None:
    """Semantics §10.3: a part of a minimum is worth nothing."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2, owner=JOB)
    cluster.settle()
    cluster.run_pods(["low-0", "low-1"])
    cluster.settle()
    answers = iter(["ok", *["webhook is down"] * refusals])
    cluster.evict_answer = lambda _: next(answers, "ok")
    cluster.pod("high", priority=10)
    cluster.settle(seconds=200)

    assert set(cluster.where()) == {"high"}
    assert len(cluster.evicted) == refusals + 2


def test_a_gang_that_goes_in_two_parts_gives_way_once() -> None:
    """Semantics §10.3, §10.6."""
    cluster = Cluster(preemption=PreemptionLimits(most_evictions=2))
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2, owner=JOB)
    cluster.settle()
    answers = iter(["ok", "a budget"])
    cluster.evict_answer = lambda _: next(answers, "ok")
    cluster.pod("high", priority=10)
    cluster.settle(seconds=60)
    first = cluster.condition("low")[2]
    cluster.delete("high")
    for name in ("low-0", "low-1"):
        cluster.pod(name, "low", owner=JOB)
    cluster.settle(seconds=60)
    cluster.pod("high", priority=10)
    cluster.settle(seconds=60)

    assert first.startswith("preempted by pod ns/high: 2 of its members are evicted")
    assert set(cluster.where()) == {"high"}


def test_the_rest_of_a_gang_is_told_again_though_its_preemptor_went_elsewhere() -> None:
    """Semantics §10.3."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2, owner=JOB)
    cluster.settle()
    cluster.evict_answer = lambda _: "hold"
    cluster.pod("high", priority=10)
    cluster.settle()
    first, second = cluster.evicted
    accept(cluster, first)
    cluster.node("n3", cpu=1)
    cluster.settle()
    cluster.tell(EvictRefused(second.uid, "a budget", cluster.now + 10))
    cluster.evict_answer = lambda _: "ok"
    cluster.delete(first.pod.name)
    cluster.settle(seconds=30)

    assert set(cluster.where()) == {"high"}


def test_a_victim_whose_node_is_lost_is_not_waited_for() -> None:
    """Semantics §10.4."""
    cluster = full("n1 n2", n2=5)
    cluster.evict_answer = lambda each: "slow" if each.pod.name == "low-n1" else "ok"
    cluster.pod("high", priority=10)
    cluster.settle()
    cluster.put_node(replace(cluster.hosts["n1"], ready=False))
    cluster.settle()

    assert cluster.where("high") == {"high": "n2"}


def test_a_lost_node_that_the_preemptor_does_not_need_changes_nothing() -> None:
    """Semantics §10.4: of a gang that gives way whole, a member may be anywhere."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2)
    cluster.settle()
    cluster.node("n3", cpu=1)
    cluster.pod("other", node="n3", priority=5)
    cluster.evict_answer = lambda _: "slow"
    cluster.pod("high", priority=10)
    cluster.settle()
    told = [each for each in cluster.effects if isinstance(each, SetPodCondition)][-1]
    [elsewhere] = {"n1", "n2"} - {told.nominated}
    cluster.put_node(replace(cluster.hosts[elsewhere], ready=False))
    cluster.settle()

    assert evicted(cluster) == {"low-0", "low-1"}


def test_a_pause_says_which_pod_hangs_on_which_node() -> None:
    """Semantics §10.4."""
    cluster = full("n1 n2")
    cluster.evict_answer = lambda _: "slow"
    cluster.pod("high", priority=10)
    cluster.settle(seconds=125)

    assert cluster.pod_conditions("high")[-1][1].endswith(
        "preemption: paused until 1970-01-01T00:19:40Z: pod ns/low-n2 on node n2 did not leave"
    )


def test_who_waited_for_victims_in_vain_passes_nobody_who_waits_for_a_search() -> None:
    """Semantics §10.5: namespaces take turns."""
    cluster = full("n1 n2", n2=5)
    cluster.evict_answer = lambda _: "slow"
    cluster.pod("high", priority=10)
    cluster.settle(seconds=20)
    cluster.engine._preemptions._effort.take(60 * STEPS_PER_SECOND + MOST_STEPS)
    other = PodKey("other", "waits")
    cluster.pod("waits", priority=10, key=other)
    cluster.settle()
    cluster.drop_node("n1")
    cluster.settle(seconds=60)

    told = cluster.events(EventReason.PREEMPTED)
    assert [(each.pod.name, each.related.pod) for each in told if each.pod and each.related] == [
        ("low-n1", PodKey("ns", "high")),
        ("low-n2", other),
    ]


# ── who is told what, when ───────────────────────────────────────────────────────────────────


def test_a_victim_is_told_by_whom_once_its_eviction_is_accepted() -> None:
    """Semantics §10.3."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2)
    cluster.settle()
    cluster.evict_answer = lambda _: "hold"
    cluster.pod("high", priority=10)
    cluster.settle()

    assert not cluster.events(EventReason.PREEMPTED)

    for effect in tuple(cluster.evicted):
        accept(cluster, effect)
        cluster.settle()

    of_pods = [each for each in cluster.events(EventReason.PREEMPTED) if each.pod is not None]
    of_groups = [each for each in cluster.events(EventReason.PREEMPTED) if each.group is not None]
    assert len(of_pods) == 2
    assert [each.note for each in of_groups] == [
        "preempted by pod ns/high: 2 of its members are evicted"
    ]


def test_nobody_is_told_of_an_eviction_that_was_refused() -> None:
    """Semantics §10.3."""
    cluster = full("n1")
    cluster.evict_answer = lambda _: "a webhook"
    cluster.pod("high", priority=10)
    cluster.settle()

    assert cluster.evicted
    assert not cluster.events(EventReason.PREEMPTED)


def test_nobody_is_told_who_was_leaving_before_it_was_his_turn() -> None:
    """Semantics §10.3: somebody else has deleted him."""
    cluster = full("n1 n2")
    cluster.evict_answer = lambda _: "slow"
    cluster.gang("high", 2, priority=10)
    cluster.step()
    [first] = evicted(cluster)
    [other] = {"low-n1", "low-n2"} - {first}
    cluster.change(other, deleting=True)
    cluster.settle()

    told = {each.pod.name for each in cluster.events(EventReason.PREEMPTED) if each.pod}
    assert told == {first}


# ── what becomes of preemptor and victims ────────────────────────────────────────────────────


def test_a_preemptor_whose_bindings_are_refused_evicts_less_and_less() -> None:
    """Semantics §10.4: its victims come back each time."""
    cluster = full("n1")
    cluster.answer = lambda bind: "SCHEDULER_ERROR" if bind.target.pod.name == "high" else "ok"
    cluster.pod("high", priority=10)
    told = 0
    for number in range(200):
        cluster.settle(seconds=5)
        for _ in cluster.evicted[told:]:
            cluster.pod(f"low-{number}")
        told = len(cluster.evicted)

    assert 1 < told <= 8


def test_who_pauses_after_repairs_in_vain_has_nobody_evicted_before_it_may_be_bound() -> None:
    """Semantics §10.3, §4.6."""
    world = lacking()
    told = list(world.evictions)
    for name in ("g-0", "g-1"):
        world.change(name, priority=10)
    world.node("n2", cpu=4)
    world.pod("low", node="n2", spec=ONE_A_NODE)
    world.settle(seconds=20)
    assert world.evictions == told

    world.settle(seconds=200)
    assert world.evictions == [*told, "low"]
    assert len(world.where("g")) == 2


def test_what_was_freed_stays_the_preemptors_when_a_binding_is_refused() -> None:
    """Semantics §10.3."""
    cluster = full("n1")
    answers = iter(("SCHEDULER_ERROR",))
    cluster.answer = lambda _: next(answers, "ok")
    cluster.pod("high", priority=10)
    cluster.step()
    cluster.pod("low-again")
    cluster.settle(seconds=60)

    assert cluster.where("high") == {"high": "n1"}
    assert evicted(cluster) == {"low-n1"}


def test_a_gang_that_was_preempted_keeps_its_place_in_the_queue() -> None:
    """Semantics §10.3: its controller makes its pods again, and it is older than who came since."""
    cluster = Cluster()
    cluster.nodes("n1 n2", cpu=1)
    cluster.gang("low", 2, owner=JOB)
    cluster.settle()
    cluster.now += 100
    cluster.run_pods(["low-0", "low-1"])
    cluster.settle()
    cluster.gang("high", 2, priority=10)
    cluster.settle()
    assert evicted(cluster) == {"low-0", "low-1"}
    cluster.now += 100
    cluster.gang("younger", 2)
    cluster.settle()
    cluster.now += 100
    for name in ("low-2", "low-3"):
        cluster.pod(name, "low", owner=JOB)
    cluster.settle()
    for name in ("high-0", "high-1"):
        cluster.finish(name)
    cluster.settle(seconds=30)

    assert set(cluster.where("low")) == {"low-2", "low-3"}
    assert not cluster.where("younger")


def test_a_preemptor_whose_priority_class_is_deleted_claims_nothing_and_tells_nobody() -> None:
    """Semantics §10.3."""
    cluster = full("n1 n2")
    cluster.evict_answer = lambda _: "slow"
    cluster.tell(PriorityClassSeen("urgent", 10))
    cluster.group("high", 2, priority_class="urgent")
    for number in range(2):
        cluster.pod(f"high-{number}", "high", priority=10)
    cluster.step()
    assert len(cluster.evicted) == 1
    cluster.tell(PriorityClassGone("urgent"))
    cluster.settle()
    cluster.delete(cluster.evicted[0].pod.name)
    cluster.pod("next")
    cluster.settle(seconds=20)

    assert len(cluster.evicted) == 1
    assert cluster.where("next")
    assert "urgent" in cluster.condition("high")[2]


def test_victims_keep_the_priority_of_their_pods_when_a_class_that_lowered_it_is_deleted() -> None:
    """Semantics §10.1."""
    cluster = Cluster()
    cluster.nodes("n1", cpu=1)
    cluster.tell(PriorityClassSeen("lower", -5))
    cluster.group("low", 1, priority_class="lower")
    cluster.pod("low-0", "low", priority=10)
    cluster.settle()
    cluster.tell(PriorityClassGone("lower"))
    cluster.pod("high", priority=10)
    cluster.settle()

    assert not cluster.evicted


def test_a_budget_that_cannot_be_read_is_kept_where_another_victim_does() -> None:
    """Semantics §10.2."""
    cluster = full("n1 n2", n2=5)
    cluster.tell(BudgetSeen(Budget("ns/odd", "ns", None, problem="spec.selector: …")))
    theirs = cluster.pods["low-n2"]
    cluster.put_pod(replace(theirs, key=theirs.key._replace(namespace="theirs")))
    cluster.pod("high", priority=10)
    cluster.settle()

    assert evicted(cluster) == {"low-n2"}


# ── another leader ───────────────────────────────────────────────────────────────────────────


class Mortal(Cluster):
    """Writes what it says to the server, and dies after so many writes; victims terminate."""

    left = 10**9

    def step(self) -> list[Effect]:
        effects = list(self.engine.step(self.now))
        for effect in effects:
            if self.left <= 0:
                break
            self.effects.append(effect)
            self._write(effect)
        self._kill([effect for effect in effects if isinstance(effect, Evict)])
        return effects

    def _write(self, effect: Effect) -> None:
        if isinstance(effect, SetPodCondition) and effect.nominated is not None:
            self.left -= 1
            self.change(effect.pod.name, nominated=effect.nominated)
        elif isinstance(effect, SetGroupStatus):
            self.left -= 1
            self.status[effect.group.name] = effect
        elif isinstance(effect, Bind):
            self.left -= 1
            self.sent.append(effect)
            self._carry_out(effect)

    def _kill(self, together: Sequence[Evict]) -> None:
        """First all have the condition, then they are evicted."""
        for now in (False, True):
            for effect in together:
                if self.left > 0:
                    self._tell(effect, evicted=now)

    def _tell(self, effect: Evict, *, evicted: bool) -> None:
        if self.pods[effect.pod.name].deleting:
            if evicted:
                self.tell(EvictRefused(effect.uid, "it terminates", float("inf")))
            return
        self.left -= 1
        if evicted:
            self.evicted.append(effect)
            accept(self, effect)
        else:
            self.change(effect.pod.name, preempted=True)

    def runs(self, writes: int) -> None:
        """Until it has written so much, or has no more to do."""
        self.left = writes
        for _ in range(1000):
            self.step()
            wakeup = self.engine.wakeup()
            if self.left <= 0 or wakeup is None or wakeup > self.now:
                return


def preempting(low: str) -> Mortal:
    """A gang of two preempts on two of four nodes, which a gang or lone pods fill."""
    cluster = Mortal()
    cluster.nodes("n1 n2 n3 n4", cpu=1)
    if low == "gangs":
        cluster.gang("a", 2, owner=JOB)
        cluster.settle()
        cluster.now += 100
        cluster.gang("b", 2, owner=replace(JOB, uid="job-2"))
        cluster.settle()
    else:
        for name in ("n1", "n2", "n3", "n4"):
            cluster.pod(f"low-{name}", node=name, started=10.0)
    for pod in list(cluster.pods.values()):
        cluster.change(pod.key.name, phase=Phase.RUNNING)
    cluster.settle()
    cluster.now += 100
    cluster.gang("high", 2, priority=10)
    return cluster


def test_the_rest_of_a_gang_goes_though_a_new_leader_would_choose_others() -> None:
    """Semantics §10.3: a part of a minimum is worth nothing."""
    first = preempting("gangs")
    first.runs(7)
    assert [effect.pod.name for effect in first.evicted] == ["a-0"]
    second = first.restarted()
    second.left = 10**9
    second.node("n5", cpu=1)
    second.pod("cheap", node="n5", priority=-5, started=second.now)
    second.settle(seconds=5)

    assert [effect.pod.name for effect in second.evicted] == ["a-1"]


def victims_of(clusters: Sequence[Cluster]) -> list[str]:
    return [effect.pod.name for cluster in clusters for effect in cluster.evicted]


@pytest.mark.parametrize("low", ["gangs", "lone pods"])
@pytest.mark.parametrize("writes", range(12))
def test_a_new_leader_ends_what_was_begun_and_nobody_is_told_twice(low: str, writes: int) -> None:
    """Semantics §10.3: the leader is killed between any two of its writes."""
    first = preempting(low)
    first.runs(writes)
    second = first.restarted()
    second.left = 10**9
    for _ in range(5):
        second.settle(seconds=5)
        for name in [name for name, pod in second.pods.items() if pod.deleting]:
            second.delete(name)
    second.settle(seconds=30)

    told = victims_of((first, second))
    assert len(told) == len(set(told)) == 2
    assert len(second.where("high")) == 2
    for gang in ("a", "b"):
        assert len(second.where(gang)) in (0, 2)
