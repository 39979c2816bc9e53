# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who is protected from preemption, for how long, and what his eviction costs."""

import math
from typing import Any

import pytest
from msgspec import structs

from enbloc.engine import Settings
from enbloc.engine.events import PriorityClassSeen
from enbloc.engine.preemption import MinRuntime, PreemptionLimits
from enbloc.model.names import EventReason
from enbloc.model.pods import Owner, Pod
from enbloc.model.times import LAST_SECOND
from tests.world.builders import spec
from tests.world.cluster import Cluster

JOB = Owner("Job", "job", "job-1")
NEVER = 1e9


class World(Cluster):
    """Nobody is tried for the sake of time alone, so that a missed wake-up shows."""

    SETTINGS = Settings(validate=True, longest_wait=NEVER)

    def low(self, name: str, node: str, **of: Any) -> Pod:
        """A bound pod that started now, unless it says otherwise."""
        given: dict[str, Any] = {"started": self.now, **of}
        return self.pod(name, node=node, **given)

    @property
    def evictions(self) -> list[str]:
        return [effect.pod.name for effect in self.evicted]


def limited(nodes: str = "n1", **limits: Any) -> World:
    """Nodes of one CPU each, and limits of preemption."""
    world = World(preemption=PreemptionLimits(**limits))
    world.nodes(nodes, cpu=1)
    return world


def said(world: World, name: str = "high") -> str:
    return world.pod_conditions(name)[-1][1].partition(" preemption: ")[2]


# ── young ones ───────────────────────────────────────────────────────────────────────────────


def test_a_pod_is_not_evicted_before_it_has_run_for_so_long_and_then_it_is() -> None:
    """Semantics §10.6: and the preemptor says who is protected, and until when."""
    world = limited(min_runtime=600)
    world.low("low", "n1", created=1.0, started=900.0)
    world.pod("high", priority=10)
    world.settle(seconds=499)

    assert not world.evictions
    assert said(world) == (
        "0/1 nodes are available: 1 No preemption victims found for incoming pod. "
        "pod ns/low is protected from preemption until 1970-01-01T00:25:00Z."
    )

    world.settle(seconds=2)

    assert world.evictions == ["low"]


def test_of_several_who_are_protected_the_one_is_named_that_is_for_longest() -> None:
    """Semantics §10.6."""
    world = limited("n1 n2", min_runtime=600)
    world.low("low-1", "n1")
    world.low("low-2", "n2", started=world.now - 100)
    world.gang("high", 2, priority=10)
    world.settle()

    assert said(world, "high-0") == (
        "pod ns/low-1 and 1 more are protected from preemption until 1970-01-01T00:26:40Z."
    )


def test_who_is_not_protected_is_evicted_instead_even_if_he_costs_more() -> None:
    """Semantics §10.6."""
    world = limited("n1 n2", min_runtime=600)
    world.low("young", "n1")
    world.low("old", "n2", started=1.0, priority=5)
    world.pod("high", priority=10)
    world.settle()

    assert world.evictions == ["old"]


def test_where_protection_is_not_what_is_in_the_way_nothing_is_said_of_it() -> None:
    """Semantics §10.6."""
    world = limited(min_runtime=600)
    world.low("young", "n1")
    world.pod("high", priority=10, spec=spec(cpu=2))
    world.settle()

    assert "protected" not in said(world)


def test_a_gang_is_protected_from_when_it_began_to_run_together() -> None:
    """Semantics §10.6: its surplus as well."""
    world = limited("n1 n2 n3", min_runtime=600)
    world.gang("low", 3, minimum=2, created=1.0)
    world.settle()
    world.now += 500
    world.run_pods(["low-0", "low-1", "low-2"])
    world.settle()
    world.pod("high", priority=10)
    world.settle(seconds=590)
    assert not world.evictions

    world.settle(seconds=20)
    assert len(world.evictions) == 1


def test_a_gang_that_never_starts_is_protected_from_its_first_binding() -> None:
    """Semantics §10.6: whatever members come later."""
    world = limited("n1 n2", min_runtime=600)
    world.group("low", 1)
    world.pod("low-0", "low")
    world.settle(seconds=500)
    world.pod("low-1", "low")
    world.settle()
    world.gang("high", 2, priority=10)
    world.settle(seconds=101)

    assert sorted(world.evictions) == ["low-0", "low-1"]


def test_the_first_rule_that_is_of_a_pod_counts() -> None:
    """Semantics §10.6."""
    rules = (
        MinRuntime(0, "scavenger", "ns"),
        MinRuntime(NEVER, "", "ns"),
        MinRuntime(NEVER, "scavenger"),
    )
    world = limited("n1 n2", min_runtimes=rules)
    world.low("low", "n1")
    world.low("scavenger", "n2", priority=5, priority_class="scavenger")
    world.pod("high", priority=10)
    world.settle()

    assert world.evictions == ["scavenger"]


def test_of_a_gang_the_pod_with_the_least_time_counts() -> None:
    """Semantics §10.6: one member of a protected class does not protect the others."""
    world = limited("n1 n2", min_runtimes=(MinRuntime(NEVER, "long"),))
    world.group("low", 2)
    world.pod("low-0", "low", priority_class="long")
    world.pod("low-1", "low")
    world.settle()
    world.gang("high", 2, priority=10)
    world.settle()

    assert len(world.evictions) == 2


@pytest.mark.parametrize("seconds", [0, 600])
@pytest.mark.parametrize("ahead", [3600.0, LAST_SECOND - 1000.0], ids=["an hour", "ages"])
def test_a_clock_that_is_ahead_protects_no_pod(seconds: int, ahead: float) -> None:
    """Semantics §10.6: its kubelet says that it starts in an hour, or in the year 9999."""
    world = limited(min_runtime=seconds)
    world.low("low", "n1", created=1.0, started=1000.0 + ahead)
    world.pod("high", priority=10)
    world.settle(seconds=seconds)

    assert world.evictions == ["low"]


def test_a_clock_that_is_ahead_protects_no_gang() -> None:
    """Semantics §10.6: whatever its PodGroup says of when it began to run together."""
    world = limited("n1 n2", min_runtime=600)
    world.gang("low", 2)
    world.settle()
    run = structs.replace(world.status["low"].runs[-1], started=LAST_SECOND)
    world.status["low"] = structs.replace(world.status["low"], started=LAST_SECOND, runs=(run,))
    world = world.restarted()
    world.gang("high", 2, priority=10)
    world.settle(seconds=601)

    assert len(world.evictions) == 2


def test_who_terminates_already_is_not_protected() -> None:
    """Semantics §10.6: he goes by himself, and is waited for."""
    world = limited(min_runtime=NEVER)
    world.low("low", "n1", deleting=True)
    world.pod("high", priority=10)
    world.settle()

    assert not world.evictions
    assert said(world).startswith("waiting for pod ns/low to leave")


# ── who never gives way ──────────────────────────────────────────────────────────────────────


def test_a_static_pod_never_gives_way_and_who_only_names_a_node_as_its_controller_does() -> None:
    """Semantics §10.1: anybody can name one; a kubelet deletes what is no pod of its own."""
    node = Owner("Node", "n1", "uid", "v1")
    world = limited("n1 n2")
    world.low("static", "n1", owner=node, mirror=True)
    world.low("other", "n2", owner=node, priority=5)
    world.pod("high", priority=10)
    world.settle()

    assert world.evictions == ["other"]


def test_pods_of_kubernetes_own_classes_give_way_to_none_that_is_not_above_them() -> None:
    """Semantics §10.1: whatever class their PodGroup names."""
    world = limited("n1")
    world.tell(PriorityClassSeen("lower", -5))
    world.group("dns", 1, priority_class="lower")
    world.pod("dns-0", "dns", priority=2000, priority_class="system-cluster-critical")
    world.settle()
    world.pod("high", priority=10)
    world.settle()
    assert not world.evictions

    world.pod("higher", priority=2001)
    world.settle()
    assert world.evictions == ["dns-0"]


# ── how often ────────────────────────────────────────────────────────────────────────────────


def runs_again(world: World, number: int) -> None:
    """The gang that was evicted is made again and runs, then an important pod comes and goes."""
    for index in range(2):
        world.pod(f"low-{number}-{index}", "low", owner=JOB)
    world.settle()
    world.run_pods([f"low-{number}-{index}" for index in range(2)])
    world.settle()
    world.pod(f"high-{number}", priority=10)
    world.settle()


def test_a_gang_gives_way_so_often_in_an_hour_and_no_more() -> None:
    """Semantics §10.6: it is known by its PodGroup whenever it runs."""
    world = limited("n1 n2")
    world.group("low", 2)
    for number in range(2):
        runs_again(world, number)
        assert len(world.evictions) == 2 * number + 2
        world.delete(f"high-{number}")
        world.now += 60
    runs_again(world, 2)

    assert len(world.evictions) == 4
    assert "PodGroup ns/low is protected from preemption until" in said(world, "high-2")

    world.settle(seconds=3600)

    assert len(world.evictions) == 6


def test_a_group_of_one_gives_way_so_often_in_an_hour() -> None:
    """Semantics §10.6."""
    world = limited()
    world.group("low", 1)
    for number in range(4):
        world.pod(f"low-{number}", "low", owner=JOB)
        world.settle()
        world.pod(f"high-{number}", priority=10)
        world.settle()
        world.delete(f"high-{number}")
        if f"low-{number}" in world.pods:
            world.delete(f"low-{number}")
        world.now += 60

    assert world.evictions == ["low-0", "low-1"]


def test_each_pod_of_a_controller_gives_way_so_often_in_an_hour() -> None:
    """Semantics §10.6: of three alike, six times in all."""
    world = limited("n1 n2 n3")
    owner = Owner("ReplicaSet", "web", "web-1")
    for number in range(10):
        for index in range(3):
            if all(pod.node != f"n{index + 1}" for pod in world.pods.values()):
                world.low(f"low-{number}-{index}", f"n{index + 1}", owner=owner)
        world.pod(f"high-{number}", priority=10)
        world.settle()
        world.delete(f"high-{number}")

    assert len(world.evictions) == 6


# ── nodes may be added first ─────────────────────────────────────────────────────────────────


def test_nobody_is_evicted_before_a_group_has_waited_for_so_long() -> None:
    """Semantics §10.6."""
    world = limited(delay=300)
    world.low("low", "n1")
    world.pod("high", priority=10)
    world.settle(seconds=299)

    assert not world.evictions
    assert said(world) == "delayed until 1970-01-01T00:21:40Z, as nodes may be added."

    world.settle(seconds=2)

    assert world.evictions == ["low"]


def test_a_node_that_is_added_meanwhile_is_taken() -> None:
    """Semantics §10.6."""
    world = limited(delay=300)
    world.low("low", "n1")
    world.gang("high", 1, priority=10)
    world.settle(seconds=200)
    world.node("n2", cpu=1)
    world.settle(seconds=600)

    assert not world.evictions
    assert world.where("high") == {"high-0": "n2"}


# ── what is lost ─────────────────────────────────────────────────────────────────────────────


def two_gangs(world: World, **second: Any) -> None:
    """Two gangs of one that have run since 100 and 200; and one that preempts."""
    for name, node, started in (("a", "n1", 100.0), ("b", "n2", 200.0)):
        world.group(name, 1)
        of = second if name == "a" else {}
        world.pod(f"{name}-0", name, node=node, started=started, **of)
    world.gang("high", 1, priority=10)
    world.settle()


@pytest.mark.parametrize(
    ("saved", "victim"),
    [
        pytest.param(None, "b-0", id="never"),
        pytest.param(50.0, "b-0", id="before it started"),
        pytest.param(150.0, "b-0", id="soon after it started"),
        pytest.param(900.0, "a-0", id="lately"),
        pytest.param(1001.0, "a-0", id="now, by a clock that is a second ahead"),
        pytest.param(5000.0, "b-0", id="in the future"),
        pytest.param(math.inf, "b-0", id="at no time"),
    ],
)
def test_work_since_the_last_checkpoint_is_what_an_eviction_loses(
    saved: float | None, victim: str
) -> None:
    """Semantics §10.2."""
    world = limited("n1 n2")
    two_gangs(world, checkpointed=saved)

    assert world.evictions == [victim]


def test_a_checkpoint_of_the_podgroup_counts_for_all_of_its_members() -> None:
    """Semantics §10.2."""
    world = limited("n1 n2")
    world.group("a", 1)
    world.alter("a", checkpointed=900.0)
    world.pod("a-0", "a", node="n1", started=100.0)
    world.group("b", 1)
    world.pod("b-0", "b", node="n2", started=200.0)
    world.gang("high", 1, priority=10)
    world.settle()

    assert world.evictions == ["a-0"]


@pytest.mark.parametrize("saved", [5000.0, math.inf])
def test_a_checkpoint_that_is_no_time_that_has_passed_is_named_once(saved: float) -> None:
    """Semantics §10.2: on the pod and on its PodGroup."""
    world = limited("n1 n2")
    world.group("a", 1)
    world.alter("a", checkpointed=saved)
    world.pod("a-0", "a", node="n1", started=100.0, checkpointed=saved)
    world.low("important", "n2", priority=20)
    for number in range(3):
        world.gang(f"large-{number}", 2, priority=10)
        world.settle()

    told = world.events(EventReason.MALFORMED_OBJECT)
    assert sorted(str(each.pod or each.group) for each in told) == ["ns/a", "ns/a-0"]
    assert all("enbloc.dev/checkpointed-at" in each.note for each in told)


def test_so_much_work_counts_and_no_more() -> None:
    """Semantics §10.2: else who never saves any would never be evicted."""
    world = limited("n1 n2", most_work=60)
    world.now = 100_000.0
    for name, node, started in (("a", "n1", 10.0), ("b", "n2", 90_000.0)):
        world.group(name, 1)
        world.pod(f"{name}-0", name, node=node, started=started)
    world.change("b-0", spec=spec(cpu="999m"))
    world.gang("high", 1, priority=10)
    world.settle()

    assert world.evictions == ["b-0"]


# ── groups of other schedulers ───────────────────────────────────────────────────────────────


def test_a_group_of_another_scheduler_gives_way_whole() -> None:
    """Semantics §10.1: its minimum is not known, so all of it is one unit."""
    world = limited("n1 n2 n3")
    for number in (1, 2, 3):
        world.low(f"theirs-{number}", f"n{number}", group="theirs", scheduler="volcano")
    world.pod("high", priority=10)
    world.settle()

    assert sorted(world.evictions) == ["theirs-1", "theirs-2", "theirs-3"]


def test_a_group_of_another_scheduler_is_as_important_as_its_pods() -> None:
    """Semantics §10.1."""
    world = limited("n1 n2")
    world.low("theirs-1", "n1", group="theirs", scheduler="volcano", priority=10)
    world.low("theirs-2", "n2", group="theirs", scheduler="volcano", priority=10)
    world.pod("high", priority=10)
    world.settle()

    assert not world.evictions


def test_pods_that_kueue_admits_together_give_way_together() -> None:
    """Semantics §10.1."""
    world = limited("n1 n2 n3")
    for name, group in (("a-1", "a"), ("a-2", "a"), ("b-1", "b")):
        labels = (("kueue.x-k8s.io/pod-group-name", group),)
        node = {"a-1": "n1", "a-2": "n2", "b-1": "n3"}[name]
        world.low(name, node, labels=labels, priority=0 if group == "a" else 5)
    world.pod("high", priority=10)
    world.settle()

    assert sorted(world.evictions) == ["a-1", "a-2"]


def test_new_pods_do_not_protect_what_kueue_admits_together_for_ever() -> None:
    """Semantics §10.6: for as long as the one with the least; anybody may write the label."""
    world = limited("n1 n2", min_runtime=600)
    labels = (("kueue.x-k8s.io/pod-group-name", "a"),)
    world.low("a-1", "n1", labels=labels)
    world.low("a-2", "n2", labels=labels, spec=spec(cpu="1m"))
    world.low("other", "n2", priority=10, spec=spec(cpu="900m"))
    world.pod("high", priority=10)
    world.settle(seconds=590)
    world.low("a-3", "n2", labels=labels, spec=spec(cpu="1m"))
    world.low("a-4", "n2", labels=labels, spec=spec(cpu="1m"), started=1.0, deleting=True)
    world.settle()
    assert not world.evictions
    assert "pod ns/a-1 is protected from preemption until" in said(world)

    world.settle(seconds=20)
    assert sorted(world.evictions) == ["a-1", "a-2", "a-3"]


def test_a_static_pod_with_the_label_of_kueue_keeps_nobody_else() -> None:
    """Semantics §10.1: anybody can make one that looks like it."""
    world = limited("n1 n2")
    labels = (("kueue.x-k8s.io/pod-group-name", "a"),)
    world.low("a-1", "n1", labels=labels)
    world.low("static", "n2", labels=labels, mirror=True)
    world.pod("high", priority=10)
    world.settle()

    assert world.evictions == ["a-1"]


def test_members_of_a_gang_with_the_label_of_kueue_go_with_their_gang_alone() -> None:
    """Semantics §10.1: a gang whole or not at all."""
    world = limited("n1 n2")
    labels, half = (("kueue.x-k8s.io/pod-group-name", "a"),), spec(cpu="500m")
    world.group("gang", 2)
    for name in ("gang-0", "gang-1"):
        world.low(name, "n1", group="gang", labels=labels, spec=half)
    world.low("alone", "n2", labels=labels, spec=half)
    world.low("other", "n2", priority=10, spec=half)
    world.gang("high", 1, priority=10, spec=half)
    world.settle()

    assert world.evictions == ["alone"]


def test_the_label_of_kueue_does_not_have_the_capacity_of_a_gang_counted_twice() -> None:
    """Semantics §10.2: nobody is touched for what no node has."""
    world = limited("n1")
    labels = (("kueue.x-k8s.io/pod-group-name", "a"),)
    world.group("gang", 1)
    world.low("gang-0", "n1", group="gang", labels=labels, spec=spec(cpu="800m"))
    world.low("alone", "n1", labels=labels, spec=spec(cpu="200m"))
    world.node("n2", cpu=2)
    world.low("other", "n2", priority=10, spec=spec(cpu=2))
    world.gang("high", 1, priority=10, spec=spec(cpu="1500m"))
    world.settle(seconds=5)

    assert not world.evictions
