# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A later reservation, an order that changes and an evictor, added from outside the engine."""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from enbloc.engine import Settings
from enbloc.engine.core import Core
from enbloc.engine.effects import Evict
from enbloc.engine.eviction import Eviction, Victims
from enbloc.engine.policies import Policy
from enbloc.engine.state.reservations import Against, Reservation, stand_in
from enbloc.engine.turn import Turn
from enbloc.framework.facts import GroupFacts
from enbloc.framework.profile import Profile
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import Reason
from enbloc.plugins import IN_TREE
from tests.world.builders import spec
from tests.world.cluster import Cluster, Recorded


class Later(Policy):
    """Reserves node "n1" for group "big", from a time on."""

    def __init__(self, core: Core) -> None:
        self.core, self.start = core, 2000.0

    def expire(self, turn: Turn) -> None:
        if self.start and self.core.groups.get(GroupKey("ns", "big")):
            pod = stand_in("later", next(iter(self.core.state.pods.values())), "n1")
            reservation = Reservation(
                "later", "later", Against.LATER, GroupKey("ns", "big"), pod=pod
            )
            self.core.state.reserve(reservation._replace(node="n1", start=self.start), turn.now)
            self.start = 0.0


class Shares:
    """QueueSort by what each name has used so far, which somebody else counts."""

    name: ClassVar[str] = "Shares"
    used: ClassVar[dict[str, int]] = {}

    def sort_key(self, group: Group, facts: GroupFacts) -> tuple[Any, ...]:
        del facts
        return (self.used.get(group.key.name, 0), group.key)

    def order_version(self) -> object:
        return tuple(self.used.items())


class Annotated:
    """QueueSort by an annotation of the PodGroup, which users change."""

    name: ClassVar[str] = "Annotated"
    annotations: ClassVar[tuple[str, ...]] = ("example.com/place",)

    def sort_key(self, group: Group, facts: GroupFacts) -> tuple[Any, ...]:
        del facts
        return (dict(group.annotations).get("example.com/place", "5"), group.key)


class Evictor(Policy):
    """Evicts the group that it is told to, whole."""

    wanted = ""

    def __init__(self, core: Core) -> None:
        self.core = core

    def choose(self, turn: Turn) -> None:
        members = self.core.groups.get(GroupKey("ns", self.wanted))
        if members is not None and not self.core.victims.of(members.key):
            unit = Eviction(
                members.key, members.bound, Reason.BELOW_MINIMUM, "toy", None, turn.now + 60
            )
            self.core.victims.choose(unit)


def cluster(*policies: type[Any], sort: Sequence[Any] = ()) -> tuple[Cluster, list[Any]]:
    made: list[Any] = []

    def further(core: Core) -> Sequence[Policy]:
        made.extend(policy(core) for policy in policies)
        return made

    in_tree = [factory() for name, factory in IN_TREE.items() if not sort or name != "PrioritySort"]
    profile = Profile("enbloc", (*in_tree, *sort))
    cluster = Cluster(profiles={"enbloc": profile}, sync=False)
    cluster.engine = Recorded({"enbloc": profile}, Settings(validate=True), further)
    cluster.sync()
    cluster.nodes("n1", cpu=8)
    return cluster, made


def test_a_claim_that_starts_later_keeps_off_who_may_still_run_then_and_counts_from_then_on() -> (
    None
):
    world, _ = cluster(Later)
    world.gang("big", 3, spec=spec(cpu=8))
    world.pod("small", spec=spec(cpu=1), priority=-1)
    world.settle()
    assert world.where() == {}
    assert (world.engine._state.nodes.free("cpu") == 8000).all()
    world.settle(seconds=1000)
    assert (world.engine._state.nodes.free("cpu") == 0).all()


def test_an_order_that_changes_between_turns_is_everybodys_order_from_then_on() -> None:
    world, _ = cluster(sort=[Shares()])
    Shares.used.clear()
    world.pod("holder", node="n1", spec=spec(cpu=8))
    world.gang("a", 2, spec=spec(cpu=4))
    world.gang("b", 2, spec=spec(cpu=4))
    world.settle()
    Shares.used["a"] = 7
    world.settle()
    world.delete("holder")
    world.settle()
    assert sorted(world.where()) == ["b-0", "b-1"]


def test_a_group_whose_place_in_the_order_changes_has_its_turn_there() -> None:
    world, _ = cluster(sort=[Annotated()])
    for name in "abc":
        world.gang(name, 2, spec=spec(cpu=8))
    world.step()
    world.alter("c", annotations=(("example.com/place", "1"),))
    world.settle()
    assert [decided.group.name for decided in world.decisions()] == ["a", "c", "b"]


def test_an_evictor_needs_no_more_than_a_unit() -> None:
    world, [evictor] = cluster(Evictor)
    world.gang("a", 2, spec=spec(cpu=4))
    world.settle()
    evictor.wanted = "a"
    world.pod("wakes", spec=spec(cpu=9))
    world.step()
    assert [(e.pod.name, e.reason) for e in world.evicted] == [
        ("a-0", Reason.BELOW_MINIMUM),
        ("a-1", Reason.BELOW_MINIMUM),
    ]
    evictor.wanted = ""
    world.settle()
    assert world.where("a") == {}
    assert not world.engine._victims
    assert not world.engine._victims._ends  # nothing is kept of an eviction that is over


class Loan(Policy):
    """Reserves an amount of the cluster for group "first", for a time."""

    start, end = -math.inf, math.inf

    def __init__(self, core: Core) -> None:
        amount, holder = (("cpu", 8000),), GroupKey("ns", "first")
        reservation = Reservation("loan", "loan", Against.LATER, holder, "lender", amount=amount)
        core.state.reserve(reservation._replace(start=self.start, end=self.end), -math.inf)


def lent(*, start: float = -math.inf, end: float = math.inf) -> Cluster:
    """A cluster of 8 CPUs, all of which are reserved for a while for a group that is first."""
    world, _ = cluster(type("Lent", (Loan,), {"start": start, "end": end}))
    world.gang("first", 1, spec=spec(cpu=9), priority=1)
    world.gang("later", 1, spec=spec(cpu=1))
    world.settle()
    return world


def test_an_amount_that_is_claimed_for_a_time_is_free_when_that_is_over() -> None:
    world = lent(end=1500.0)
    assert world.where() == {}
    world.settle(seconds=1000)
    assert world.where() == {"later-0": "n1"}
    assert (world.engine.wakeup() or math.inf) > world.now


def test_an_amount_that_is_claimed_from_a_time_on_is_free_before() -> None:
    world = lent(start=1500.0)
    assert world.where() == {"later-0": "n1"}
    world.settle(seconds=1000)
    assert (world.engine.wakeup() or math.inf) > world.now


def test_a_unit_that_was_chosen_may_stay_until_its_evictions_are_sent() -> None:
    world, _ = cluster()
    world.gang("a", 1)
    world.settle()
    key, victims, turn = GroupKey("ns", "a"), Victims(), Turn()
    unit = Eviction(key, [world.pods["a-0"]], Reason.BELOW_MINIMUM, "toy", None, math.inf)
    victims.choose(unit)
    assert victims.cancel(key)
    assert victims.evict(turn) is None
    assert not victims
    unit = Eviction(key, [world.pods["a-0"]], Reason.BELOW_MINIMUM, "toy", None, math.inf)
    victims.choose(unit)
    victims.evict(turn)
    assert not victims.cancel(key)
    assert [type(effect) for effect in turn.effects] == [Evict]


def test_a_fork_of_the_claims_is_ones_own_and_knows_which_begin_while_a_group_runs() -> None:
    world, _ = cluster()
    world.gang("a", 1, spec=spec(cpu=9))
    world.settle()
    state, order = world.engine._state, world.engine._core.order
    facts = world.engine._groups.facts(world.engine._groups[GroupKey("ns", "a")])
    fork = state.reservations.fork()
    pod = stand_in("later", world.pods["a-0"], "n1")
    fork.put(Reservation("later", "later", Against.EVERYONE, pod=pod, node="n1", start=2000.0))
    assert [reservation.id for reservation in fork.to_come(facts, order)] == ["later"]
    assert fork.to_come(facts, order, until=1900.0) == []
    assert list(state.reservations) == []


def test_a_chosen_member_that_terminates_by_itself_is_not_evicted() -> None:
    world, _ = cluster()
    world.gang("a", 2)
    world.settle()
    pods, victims, turn = [world.pods["a-0"], world.pods["a-1"]], Victims(), Turn()
    victims.choose(Eviction(GroupKey("ns", "a"), pods, Reason.BELOW_MINIMUM, "toy", None, math.inf))
    victims.terminating(pods[0].uid)
    victims.evict(turn)
    assert [e.uid for e in turn.effects if isinstance(e, Evict)] == [pods[1].uid]
    assert victims.staying(GroupKey("ns", "a")) == 1
