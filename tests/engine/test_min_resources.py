# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""minResources is held, not just checked (semantics §5)."""

import math
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine.plan import Assignment
from enbloc.engine.state.capacity import free_capacity, reserved_amounts
from enbloc.engine.state.reservations import MIN_RESOURCES, PREEMPTION, Against
from enbloc.engine.state.reservations import Reservation as Reserved
from enbloc.model.groups import GroupKey
from enbloc.model.nodes import Nodes
from tests.config.files import configured, v1
from tests.engine.reserving import MinResourcesLedger, Reservation
from tests.world.builders import amounts, node, pod, spec
from tests.world.cluster import Cluster
from tests.world.tables import nodes


def key(name: str) -> GroupKey:
    return GroupKey("ns", name)


def claim(name: str, place: float, owner: str = "", held: int = 0, **facts: Any) -> Reservation:
    """Of a group that wants `wanted` CPUs of which it has `held`; place 1 goes first."""
    wanted = facts.pop("wanted", 0)
    return Reservation(
        key(name),
        owner,
        (place,),
        wanted=amounts(cpu=wanted),
        held={"cpu": held * 1000},
        progress_at=facts.pop("progress_at", 0.0),
        timeout=facts.pop("timeout", 600.0),
        **facts,
    )


def members(*cpus: int, needed: int = 0) -> list[Assignment]:
    """Members that ask for so many CPUs each, of which the first `needed` are needed."""
    return [
        Assignment(pod(spec(cpu=cpu), f"m{index}"), "n0", needed=index < needed)
        for index, cpu in enumerate(cpus)
    ]


def take(table: Nodes, cpu: int, row: int = 0) -> None:
    table.place(row, spec(cpu=cpu))


def cpus(ledger: MinResourcesLedger, table: Nodes) -> dict[str, float]:
    """What stands of each reservation, in CPUs."""
    return {key.name: due["cpu"] / 1000 for key, due in ledger.standing(table).items()}


def names(kept: tuple[Sequence[Assignment], str]) -> list[str]:
    return [assignment.pod.key.name for assignment in kept[0]]


class Spark:
    """Applications of one driver (minMember 1) and executors, that want `wanted` CPUs in all."""

    def __init__(self, *nodes_cpu: int) -> None:
        self.table = nodes(*(node(f"n{i}", cpu=cpu) for i, cpu in enumerate(nodes_cpu)))
        self.ledger = MinResourcesLedger()
        self.held: Counter[str] = Counter()
        self.now = 0.0

    def claim(self, name: str, wanted: int = 40) -> Reservation:
        return claim(
            name, int(name), held=self.held[name], wanted=wanted, progress_at=self.now, timeout=60
        )

    def start(self, name: str) -> str:
        """Try the driver; "" when it runs, else why not."""
        driver = members(1, needed=1)
        refusal = self.ledger.admits(self.claim(name), self.table)
        refusal = refusal or self.ledger.kept(self.claim(name), driver, self.table)[1]
        return refusal or self.place(name, 1)

    def executor(self, name: str, cpu: int = 3) -> str:
        """Try one executor of a running application."""
        refusal = self.ledger.kept(self.claim(name), members(cpu), self.table)[1]
        return refusal or self.place(name, cpu)

    def place(self, name: str, cpu: int) -> str:
        take(self.table, cpu)
        self.held[name] += cpu
        self.ledger.review(self.claim(name), self.now)
        self.ledger.check(self.table)
        return ""


def test_of_five_spark_drivers_only_as_many_start_as_can_get_their_executors() -> None:
    # volcano#2037: five drivers started, and no application got an executor.
    spark = Spark(100)
    started = [name for name in "12345" if not spark.start(name)]
    assert started == ["1", "2"]
    assert spark.start("3") == (
        "minResources needs 40 cpu free in the cluster; 98 is free, 78 reserved for ns/1, ns/2"
    )
    for _ in range(13):
        assert [spark.executor(name) for name in started] == ["", ""]
    assert spark.held == {"1": 40, "2": 40}
    assert not spark.ledger
    assert spark.start("3") == "minResources needs 40 cpu free in the cluster; 20 is free"


def test_executors_beyond_what_was_reserved_wait_for_what_is_reserved_for_others() -> None:
    spark = Spark(81)
    assert [spark.start(name) for name in "12"] == ["", ""]
    for _ in range(13):
        assert spark.executor("2") == ""
    assert spark.executor("2", cpu=1) == ""  # the one CPU that is reserved for nobody
    assert (
        spark.executor("2", cpu=1)
        == "1 cpu requested, 39 free in the cluster, 39 reserved for ns/1"
    )
    assert spark.executor("1") == ""


def test_an_application_that_ends_lets_the_next_one_start() -> None:
    # volcano#2633: what had ended went on holding its minResources.
    spark = Spark(50)
    assert spark.start("1") == ""
    assert spark.start("2") != ""
    spark.table.place(0, spec(cpu=1), -1)
    spark.ledger.drop(key("1"))
    assert [happening.group for happening in spark.ledger.happenings] == [key("1")]
    assert spark.start("2") == ""


def test_a_later_wave_of_the_same_owner_uses_the_reservation_of_the_first() -> None:
    # semantics §5.2: the first wave's group carries the minResources of all waves.
    table, ledger = nodes(node("n0", cpu=20)), MinResourcesLedger()
    first = claim("launcher", 1, owner="mpi", wanted=17)
    assert ledger.admits(first, table) == ""
    take(table, 1)
    ledger.review(replace(first, held={"cpu": 1000}), 0)
    stranger, second = claim("x", 2), claim("workers", 3, owner="mpi")
    assert names(ledger.kept(stranger, members(4, 4, needed=2), table)) == []
    assert ledger.admits(second, table) == ""
    workers = members(*[4] * 4, needed=4)
    assert names(ledger.kept(second, workers, table)) == ["m0", "m1", "m2", "m3"]
    for _ in workers:
        take(table, 4)
    assert ledger.holders("mpi") == [key("launcher")]
    ledger.review(replace(first, held={"cpu": 17_000}), 5)
    assert not ledger


def test_a_wave_that_comes_after_strangers_takes_the_place_of_its_owners_reservation() -> None:
    table, ledger = nodes(node("n0", cpu=30)), MinResourcesLedger()
    ledger.review(claim("launcher", 1, owner="mpi", wanted=20), 0)
    ledger.review(claim("x", 2, wanted=20), 0)
    workers = claim("workers", 3, owner="mpi")
    assert names(ledger.kept(workers, members(20, needed=1), table)) == ["m0"]
    refused = ledger.kept(workers, members(21, needed=1), table)
    assert refused == ((), "21 cpu requested, 30 free in the cluster, 20 reserved for ns/x")


def test_each_min_resources_of_one_owner_is_reserved_beside_the_others() -> None:
    table, ledger = nodes(node("n0", cpu=60)), MinResourcesLedger()
    ledger.review(claim("a1", 1, owner="a", wanted=20), 0)
    ledger.review(claim("a2", 2, owner="a", wanted=30), 0)
    assert cpus(ledger, table) == {"a1": 20, "a2": 30}
    assert ledger.admits(claim("a3", 3, owner="a", wanted=10), table) == ""
    assert ledger.admits(claim("a3", 3, owner="a", wanted=11), table) != ""
    assert names(ledger.kept(claim("x", 3), members(11, needed=1), table)) == []
    ledger.check(table)


def test_a_group_ordered_earlier_ignores_a_reservation_and_the_last_ones_are_revoked() -> None:
    table, ledger = nodes(node("n0", cpu=60)), MinResourcesLedger()
    for place in (2, 3, 4):
        ledger.review(claim(f"g{place}", place, wanted=20), 0)
    assert ledger.revoked(table) == []
    earlier = claim("first", 1)
    assert ledger.admits(replace(earlier, wanted=amounts(cpu=60)), table) == ""
    assert names(ledger.kept(earlier, members(25, needed=1), table)) == ["m0"]
    take(table, 25)
    assert cpus(ledger, table) == {"g2": 20, "g3": 15, "g4": 0}
    assert ledger.revoked(table) == [key("g4"), key("g3")]
    assert ledger.revoked(table) == []
    ledger.check(table)


def test_room_that_returns_goes_to_those_who_lost_it_before_anyone_ordered_later() -> None:
    table, ledger = nodes(node("n0", cpu=40)), MinResourcesLedger()
    ledger.review(claim("a", 2, wanted=40), 0)
    take(table, 30)
    note = (
        "10 of 40 cpu can be kept for minResources: a group ordered earlier has taken the rest, or "
        "no node has it"
    )
    assert ledger.revocations(table) == [(key("a"), note)]
    later = claim("b", 3, wanted=10)
    assert ledger.admits(later, table) == (
        "minResources needs 10 cpu free in the cluster; 10 is free, 40 reserved for ns/a"
    )
    table.place(0, spec(cpu=30), -1)
    assert ledger.admits(later, table) != ""
    assert cpus(ledger, table) == {"a": 40}
    assert ledger.revoked(table) == []
    take(table, 30)
    assert ledger.revoked(table) == [key("a")]


def test_after_a_node_is_lost_nobody_ordered_later_who_asks_for_its_resource_is_admitted() -> None:
    table = nodes(*(node(name, cpu=20) for name in ("n0", "n1")))
    ledger = MinResourcesLedger()
    ledger.review(claim("a", 1, wanted=30), 0)
    later = claim("b", 2)
    assert names(ledger.kept(later, members(10, needed=1), table)) == ["m0"]
    table.drop("n1")
    assert ledger.kept(later, members(1, needed=1), table) == (
        (),
        "1 cpu requested, 20 free in the cluster, 30 reserved for ns/a",
    )
    assert names(ledger.kept(later, members(0, needed=1), table)) == ["m0"]
    ledger.check(table)
    table.put(node("n2", cpu=20))
    assert names(ledger.kept(later, members(10, needed=1), table)) == ["m0"]


def test_surplus_is_trimmed_to_what_is_reserved_for_nobody_and_the_needed_are_all_or_none() -> None:
    table, ledger = nodes(node("n0", cpu=30)), MinResourcesLedger()
    ledger.review(claim("a", 1, wanted=20), 0)
    later = claim("b", 2)
    plan = members(4, 4, 3, 2, 1, needed=2)
    assert ledger.kept(later, plan, table) == (
        [plan[0], plan[1], plan[3]],
        "3 cpu requested, 30 free in the cluster, 20 reserved for ns/a",
    )
    assert ledger.kept(later, members(4, 4, 4, needed=3), table) == (
        (),
        "12 cpu requested, 30 free in the cluster, 20 reserved for ns/a",
    )
    assert ledger.kept(claim("c", 0), plan, table) == (plan, "")


def test_a_reservation_expires_without_progress_and_its_capacity_is_released() -> None:
    table, ledger = nodes(node("n0", cpu=40)), MinResourcesLedger()
    ledger.review(claim("a", 1, wanted=40, held=1, progress_at=100), 100)
    assert ledger.deadline() == 700
    assert ledger.expire(699) == []
    ledger.review(claim("a", 1, wanted=40, held=4), 650)
    assert ledger.deadline() == 1250
    assert ledger.expire(1250) == [key("a")]
    assert [happening.group for happening in ledger.happenings] == [key("a")]
    assert ledger.deadline() == math.inf
    assert ledger.expire(9999) == []
    assert ledger.admits(claim("b", 2, wanted=36), table) == ""
    assert cpus(ledger, table) == {}


def test_an_expired_reservation_comes_back_with_progress_and_with_nothing_else() -> None:
    ledger = MinResourcesLedger()
    ledger.review(claim("a", 1, wanted=40, held=10), 0)
    assert ledger.expire(600) == [key("a")]
    # A member that is replaced brings the group no further than it was.
    ledger.review(claim("a", 1, wanted=40, held=7), 700)
    ledger.review(claim("a", 1, wanted=40, held=10), 710)
    assert ledger.deadline() == math.inf
    # Nor does it to want less.
    ledger.review(claim("a", 1, wanted=30, held=10), 720)
    assert ledger.deadline() == math.inf
    ledger.review(claim("a", 1, wanted=30, held=13), 730)
    assert ledger.deadline() == 1330


def test_a_restart_finds_the_same_reservations_with_the_same_clocks() -> None:
    table = nodes(node("n0", cpu=50))
    claims = [
        claim("old", 1, wanted=40, held=1, progress_at=100),
        claim("a", 2, wanted=31, held=1, progress_at=500),
        claim("b", 3, wanted=31, held=1, progress_at=600),
        claim("filled", 4, wanted=5, held=5, progress_at=600),
    ]
    for order in (claims, claims[::-1]):
        ledger = MinResourcesLedger()
        for each in order:
            ledger.review(each, 700)
        assert cpus(ledger, table) == {"a": 30, "b": 20}
        assert ledger.deadline() == 1100
        assert ledger.expire(700) == []  # what was over before is not told again
        assert ledger.expire(1200) == [key("a"), key("b")]


def test_a_lost_member_is_part_of_the_reservation_again_for_its_replacement() -> None:
    table, ledger = nodes(node("n0", cpu=40)), MinResourcesLedger()
    ledger.review(claim("a", 1, wanted=40, held=30), 0)
    ledger.review(claim("a", 1, wanted=40, held=25), 10)
    assert cpus(ledger, table) == {"a": 15}
    assert ledger.deadline() == 600


def test_whoever_waits_hears_of_a_reservation_that_shrank_but_not_of_one_that_is_used_up() -> None:
    ledger = MinResourcesLedger()
    ledger.review(claim("a", 1, wanted=40), 0)
    ledger.review(claim("a", 1, wanted=40, held=20), 0)
    assert ledger.happenings == []
    ledger.review(claim("a", 1, wanted=30, held=20), 0)
    assert len(ledger.happenings) == 1
    ledger.review(claim("a", 9, wanted=30, held=20), 0)
    assert len(ledger.happenings) == 2
    ledger.review(claim("a", 9, wanted=30, held=30), 0)
    assert len(ledger.happenings) == 2
    assert not ledger
    ledger.drop(key("a"))
    assert len(ledger.happenings) == 2


@pytest.mark.parametrize(
    ("table", "free"),
    [
        pytest.param(nodes(node("a", cpu=4), node("b", cpu=2)), 6, id="all of it"),
        pytest.param(
            nodes(node("a", cpu=4), replace(node("b", cpu=2), unschedulable=True)),
            4,
            id="not a cordoned node",
        ),
        pytest.param(
            nodes(replace(node("a", cpu=4), ready=False), node("b", cpu=2)),
            2,
            id="not a node that is not ready",
        ),
        pytest.param(nodes(), 0, id="no nodes"),
    ],
)
def test_only_capacity_that_somebody_can_use_is_reserved(table: Nodes, free: int) -> None:
    assert free_capacity(table, ("cpu", "example.com/unknown")) == {
        "cpu": free * 1000,
        "example.com/unknown": 0,
    }


def test_what_is_requested_beyond_a_nodes_room_is_taken_off_no_other() -> None:
    table = nodes(node("a", cpu=4), node("b", cpu=4))
    take(table, 2**20)
    assert free_capacity(table, ("cpu",)) == {"cpu": 4000}
    assert MinResourcesLedger().admits(claim("g", 1, wanted=5), table) == (
        "minResources needs 5 cpu free in the cluster; 4 is free"
    )


def test_a_refusal_names_a_few_of_many_holders() -> None:
    table, ledger = nodes(node("n0", cpu=10)), MinResourcesLedger()
    for place in range(5):
        ledger.review(claim(f"g{place}", place, wanted=2), 0)
    assert ledger.admits(claim("z", 9, wanted=2), table) == (
        "minResources needs 2 cpu free in the cluster; 10 is free, 10 reserved for ns/g0, "
        "ns/g1, ns/g2 and 2 more"
    )


def test_without_reservations_there_is_nothing_to_ask() -> None:
    table, ledger = nodes(node("n0", cpu=1)), MinResourcesLedger()
    plan = members(1, needed=1)
    assert not ledger
    assert ledger.admits(claim("g", 1), table) == ""
    assert ledger.kept(claim("g", 1), plan, table) == (plan, "")
    assert ledger.standing(table) == {}
    assert ledger.deadline() == math.inf
    ledger.review(claim("g", 1), 0)
    ledger.drop(key("g"))
    assert (bool(ledger), ledger.happenings) == (False, [])


def test_resources_are_kept_apart() -> None:
    table, ledger = nodes(node("n0", cpu=8, nvidia_com__gpu=8)), MinResourcesLedger()
    gpu = replace(claim("a", 1), wanted=(("nvidia.com/gpu", 8),))
    ledger.review(gpu, 0)
    assert names(ledger.kept(claim("b", 2), members(8, needed=1), table)) == ["m0"]
    wants = replace(claim("b", 2), wanted=(("cpu", 8000), ("nvidia.com/gpu", 1)))
    assert ledger.admits(wants, table) == (
        "minResources needs 1 nvidia.com/gpu free in the cluster; 8 is free, 8 reserved for ns/a"
    )


def test_nobody_is_woken_for_a_reservation_that_had_expired_before() -> None:
    ledger = MinResourcesLedger()
    ledger.review(claim("a", 1, wanted=40), 600)
    ledger.review(claim("a", 2, wanted=30), 601)
    ledger.drop(key("a"))
    assert ledger.happenings == []


def test_what_is_reserved_is_added_up_again_only_when_it_or_the_order_changed() -> None:
    ledger = MinResourcesLedger()
    ledger.review(claim("a", 1, wanted=4), 0.0)
    ledger.review(claim("b", 2, wanted=2), 0.0)
    known = ledger.capacity
    assert ledger.capacity is known
    assert [each.group.name for each in known.amounts] == ["a", "b"]
    ledger.review(claim("a", 1, wanted=4, held=1), 0.0)
    assert [each.due["cpu"] for each in ledger.capacity.amounts] == [3000, 2000]
    ledger.order._keys[key("a")] = (3,)
    assert [each.group.name for each in ledger.capacity.amounts] == ["b", "a"]
    ledger.drop(key("b"))
    assert [each.group.name for each in ledger.capacity.amounts] == ["a"]


@pytest.mark.parametrize("first", [PREEMPTION, MIN_RESOURCES])
def test_what_is_kept_free_for_a_preemptor_is_part_of_its_min_resources(first: str) -> None:
    ledger = MinResourcesLedger()
    ledger.order._keys[key("a")] = (1,)
    due = {PREEMPTION: amounts(cpu=2), MIN_RESOURCES: amounts(cpu=3)}
    kept = [
        Reserved(purpose, purpose, Against.LATER, key("a"), amount=due[purpose])
        for purpose in sorted(due, key=lambda purpose: purpose != first)
    ]
    [only] = reserved_amounts(kept, ledger.order, {}).amounts
    assert only.due == Counter(cpu=3000)


@pytest.mark.parametrize(
    "field",
    [
        pytest.param(
            """
            extenders:
            - urlPrefix: http://a
              bindVerb: bind
              managedResources: [{name: example.com/memory, ignoredByScheduler: true}]
            """,
            id="for an extender",
        ),
        pytest.param(
            """
            profiles:
            - schedulerName: enbloc
              pluginConfig:
              - {name: NodeResourcesFit, args: {ignoredResources: [example.com/memory]}}
            """,
            id="by the plugin's arguments",
        ),
    ],
)
def test_what_the_profile_ignores_is_no_part_of_min_resources(field: str) -> None:
    """Semantics §5.1."""
    profile = "profiles: [{schedulerName: enbloc}]\n" if "extenders" in field else ""
    cluster = Cluster(profiles=configured(v1(profile + textwrap.dedent(field))).profiles)
    cluster.nodes("n1 n2", cpu=4)
    cluster.group("g", 1, min_resources=(("cpu", 4_000), ("example.com/memory", 9)))
    asking = replace(spec(cpu=2), requests=(*spec(cpu=2).requests, ("example.com/memory", 3)))
    cluster.pod("g-0", "g", spec=asking)
    cluster.settle()
    cluster.now += 1
    cluster.gang("h", 2, spec=asking)
    cluster.settle()
    assert cluster.where().keys() == {"g-0", "h-0", "h-1"}
    cluster.gang("i", 1, spec=asking)
    cluster.settle()
    assert "2 free in the cluster, 2 reserved for ns/g" in cluster.condition("i")[2]
