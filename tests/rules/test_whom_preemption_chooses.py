# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whom a preemptor's need of whole nodes costs what they have (semantics §10.1 and §10.2).

Each node has room for one pod, but where a test says otherwise.
"""

from collections.abc import Sequence
from typing import Any

import pytest

from enbloc.engine.events import BudgetSeen, PriorityClassSeen
from enbloc.model.groups import Role, SubGroup
from tests.world.builders import budget, spec
from tests.world.cluster import Cluster

LOW, MID, HIGH = 0, 50, 100
KEPT = (("app", "kept"),)


class Victims(Cluster):
    """Full nodes, and who is evicted from them."""

    def lone(self, name: str, node: str, priority: int = LOW, **of: Any) -> None:
        self.pod(name, node=node, priority=priority, started=10.0, **of)

    def running(self, name: str, nodes: str, priority: int = LOW, **of: Any) -> None:
        """A whole gang with a member on each of these nodes."""
        self.group(name, len(nodes.split()))
        for number, node in enumerate(nodes.split()):
            given = {"priority": priority, "started": 10.0, **of}
            self.pod(f"{name}-{number}", name, node=node, **given)

    def budget(self) -> None:
        """No pod that is kept may be evicted."""
        self.tell(BudgetSeen(budget("kept")))

    def high(self, pods: int = 1, minimum: int | None = None, **of: Any) -> None:
        self.gang("high", pods, minimum, **{"priority": HIGH, **of})
        self.settle(seconds=20)

    @property
    def gone(self) -> set[str]:
        return {effect.pod.name for effect in self.evicted}


def nodes(names: str, cpu: int = 1) -> Victims:
    cluster = Victims()
    cluster.nodes(names, cpu=cpu)
    return cluster


def test_a_lone_pod_goes_rather_than_one_of_a_gang() -> None:
    cluster = nodes("n1 n2 n3")
    cluster.lone("lone", "n1")
    cluster.running("g", "n2 n3")
    cluster.high()
    assert cluster.gone == {"lone"}


def test_who_is_under_no_budget_goes() -> None:
    cluster = nodes("n1 n2")
    cluster.lone("kept", "n1", labels=KEPT)
    cluster.lone("other", "n2")
    cluster.budget()
    cluster.high()
    assert cluster.gone == {"other"}


def test_of_two_under_a_budget_the_lower_goes() -> None:
    cluster = nodes("n1 n2")
    cluster.lone("mid", "n1", MID, labels=KEPT)
    cluster.lone("low", "n2", LOW, labels=KEPT)
    cluster.budget()
    cluster.high()
    assert cluster.gone == {"low"}


def test_a_gang_on_two_nodes_goes_for_one_of_them() -> None:
    cluster = nodes("n1 n2")
    cluster.running("g", "n1 n2")
    cluster.high(spec=spec(cpu=1, node_selector=()))
    assert cluster.gone == {"g-0", "g-1"}


def test_a_lone_pod_goes_rather_than_a_gang_on_one_node() -> None:
    cluster = nodes("n1 n2", cpu=2)
    cluster.running("g", "n1 n1")
    cluster.lone("lone", "n2", spec=spec(cpu=2))
    cluster.high(spec=spec(cpu=2))
    assert cluster.gone == {"lone"}


def test_a_gang_of_two_goes_rather_than_a_pod_of_higher_priority() -> None:
    cluster = nodes("n1 n2", cpu=2)
    cluster.running("g", "n1 n1")
    cluster.lone("mid", "n2", MID, spec=spec(cpu=2))
    cluster.high(spec=spec(cpu=2))
    assert cluster.gone == {"g-0", "g-1"}


def test_a_lone_pod_goes_rather_than_a_gang_with_one_member_under_a_budget() -> None:
    cluster = nodes("n1 n2 n3")
    cluster.running("g", "n1 n2")
    cluster.change("g-0", labels=KEPT)
    cluster.lone("lone", "n3")
    cluster.budget()
    cluster.high()
    assert cluster.gone == {"lone"}


def test_nobody_goes_of_a_group_of_equal_priority_whose_class_is_lower_than_its_pods() -> None:
    """The class of a PodGroup lowers its priority, and never raises it by default."""
    cluster = nodes("n1 n2")
    cluster.running("g", "n1 n2", MID)
    cluster.high(priority=MID)
    assert not cluster.gone


def test_pods_of_high_priority_in_a_group_of_a_low_class_go() -> None:
    cluster = nodes("n1")
    cluster.tell(PriorityClassSeen("low", LOW))
    cluster.group("g", 1, priority_class="low")
    cluster.pod("g-0", "g", node="n1", priority=HIGH, started=10.0)
    cluster.high(priority=MID)
    assert cluster.gone == {"g-0"}


def test_nobody_goes_for_a_preemptor_of_a_low_class_whatever_its_pods_say() -> None:
    cluster = nodes("n1")
    cluster.tell(PriorityClassSeen("low", LOW))
    cluster.lone("mid", "n1", MID)
    cluster.group("high", 1, priority_class="low")
    cluster.pod("high-0", "high", priority=HIGH)
    cluster.settle(seconds=20)
    assert not cluster.gone


def test_nobody_goes_for_surplus() -> None:
    cluster = nodes("n1 n2 n3")
    for name, node, priority in (("low", "n1", LOW), ("mid-1", "n2", MID), ("mid-2", "n3", MID)):
        cluster.lone(name, node, priority)
    cluster.high(3, minimum=2)
    assert len(cluster.gone) == 2
    assert "low" in cluster.gone


def test_nobody_goes_for_a_gang_of_which_one_member_may_not_preempt() -> None:
    cluster = nodes("n1 n2")
    cluster.lone("low-1", "n1")
    cluster.lone("low-2", "n2")
    cluster.gang("high", 2, priority=HIGH)
    cluster.change("high-1", preempts=False)
    cluster.settle(seconds=20)
    assert not cluster.gone


def test_a_higher_priority_goes_rather_than_that_a_budget_is_broken() -> None:
    cluster = nodes("n1 n2", cpu=2)
    cluster.lone("higher", "n1", MID)
    cluster.lone("low", "n1", LOW)
    cluster.lone("kept", "n2", LOW, spec=spec(cpu=2), labels=KEPT)
    cluster.budget()
    cluster.high(spec=spec(cpu=2))
    assert cluster.gone == {"higher", "low"}


def test_ten_small_pods_go_for_two_members_that_need_almost_all_of_a_node() -> None:
    cluster = nodes("n1 n2", cpu=4)
    for number in range(10):
        cluster.lone(f"low-{number}", f"n{number % 2 + 1}", spec=spec(cpu="40m"))
    cluster.high(2, spec=spec(cpu="3970m"))
    assert len(cluster.gone) == 10


def test_a_thousand_pods_go_for_a_gang_of_a_hundred_whole_nodes() -> None:
    cluster = Victims(validate=False)
    cluster.nodes(" ".join(f"n{number}" for number in range(100)), cpu=10)
    for number in range(1000):
        cluster.lone(f"low-{number}", f"n{number % 100}")
    cluster.gang("high", 100, priority=HIGH, spec=spec(cpu=10))
    for _ in range(3):
        cluster.step()
    under_way = cluster.engine._preemptions._open.of(cluster.groups["high"].key)
    assert under_way is not None
    assert len(under_way.pods) == 1000


# ── groups of groups ─────────────────────────────────────────────────────────────────────────────


def tree(cluster: Victims, name: str, minimum: int, where: Sequence[str], **of: Any) -> None:
    """A group of three roles of two, of which so many roles are enough."""
    roles = tuple(Role(role, 2, parent=f"of-{role}") for role in "abc")
    groups = tuple(SubGroup(f"of-{role}") for role in "abc")
    cluster.group(name, 1, roles=(), sub_groups=groups, min_group_count=minimum)
    cluster.put_group(cluster.groups[name].__class__(
        key=cluster.groups[name].key, uid=f"pg-{name}", min_member=1, roles=roles,
        sub_groups=groups, min_group_count=minimum, generation=2,
    ))  # fmt: skip
    for number, node in enumerate(where):
        role = "abc"[number // 2]
        cluster.pod(f"{name}-{number}", name, node=node, role=role, started=10.0, **of)


def test_a_tree_goes_whole_with_sub_groups_that_need_not_be_there() -> None:
    """Half of a sub-group is worth nothing, whether it is needed or not."""
    cluster = nodes("n1 n2 n3 n4")
    tree(cluster, "low", 1, ["n1", "n2", "n3", "n4"])
    cluster.settle()
    cluster.high()
    assert cluster.gone == {"low-0", "low-1", "low-2", "low-3"}


def test_a_tree_gets_room_for_as_many_sub_groups_as_it_needs() -> None:
    cluster = nodes("n1 n2 n3 n4 n5")
    for number in range(1, 6):
        cluster.lone(f"low-{number}", f"n{number}")
    tree(cluster, "high", 2, [""] * 6, priority=HIGH)
    cluster.settle(seconds=20)
    assert len(cluster.gone) == 4
    assert len(cluster.where("high")) == 4


@pytest.mark.parametrize("minimum", [3])
def test_nobody_goes_for_a_tree_that_would_not_fit_anyway(minimum: int) -> None:
    cluster = nodes("n1 n2 n3 n4 n5")
    for number in range(1, 6):
        cluster.lone(f"low-{number}", f"n{number}")
    tree(cluster, "high", minimum, [""] * 6, priority=HIGH)
    cluster.settle(seconds=20)
    assert not cluster.gone
