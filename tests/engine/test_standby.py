# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A standby knows the cluster and decides nothing: what it keeps, and what it does at takeover."""

import gc
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from enbloc.config import default_profiles
from enbloc.engine import Engine, Settings
from enbloc.engine.effects import Bind, Emit
from enbloc.engine.events import (
    Event,
    GroupSeen,
    NodeSeen,
    PodGone,
    PodSeen,
    SlotsFree,
    Stream,
    Synced,
)
from enbloc.engine.trial.ranking_cache import LONGEST_JOURNAL
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Owner, Phase, Pod, PodKey
from tests.effort import slow
from tests.world.builders import group, node, pod, spec

#: Whose first lists a standby has got.
OBJECTS = [stream for stream in Stream if stream is not Stream.LEASE]


class Standby:
    """An engine that is told what happens, and whose turn does not come."""

    def __init__(self, synced: Iterable[Stream] = OBJECTS) -> None:
        self.engine = Engine(default_profiles(), Settings(log=10))
        for stream in synced:
            self.engine.apply(Synced(stream))

    def tell(self, *events: Event) -> None:
        for event in events:
            self.engine.apply(event)
        self.engine.stand_by()

    def takes_over(self) -> list[object]:
        self.engine.apply(Synced(Stream.LEASE))
        self.engine.apply(SlotsFree(100))
        effects: list[object] = []
        while (at := self.engine.wakeup()) is not None and at <= 1000.0:
            effects += self.engine.step(1000.0)
        return effects


def lifetime(number: int) -> list[Event]:
    """A pod comes, runs and is gone; every other one is of a gang."""
    gang = GroupKey("default", f"g{number // 8}") if number % 2 else None
    new = pod(spec(cpu=1), f"p{number}", scheduler="enbloc", group=gang)
    return [PodSeen(new), PodSeen(replace(new, node="n1")), PodGone(new.key, new.uid)]


@slow("100 000 pods come and go")
def test_a_standby_keeps_nothing_of_pods_that_came_and_went() -> None:
    standby = Standby()
    standby.tell(NodeSeen(node("n1", cpu=4)))
    lifetimes = 2 * LONGEST_JOURNAL  # each is two changes of the table

    def objects(first: int) -> int:
        for number in range(first, first + lifetimes):
            standby.tell(*lifetime(number))
        gc.collect()
        return len(gc.get_objects())

    objects(0)  # what is bounded is full
    before = objects(lifetimes)
    assert objects(2 * lifetimes) - before < 0.01 * lifetimes


def test_what_a_standby_saw_waits_for_its_first_step() -> None:
    standby = Standby()
    gang = group("g", 2)
    standby.tell(NodeSeen(node("n1", cpu=4)), GroupSeen(gang))
    for name in ("g-0", "g-1"):
        new = pod(spec(cpu=1), name, scheduler="enbloc", group=gang.key)
        standby.tell(PodSeen(replace(new, key=PodKey("ns", name))))
    binds = [effect for effect in standby.takes_over() if isinstance(effect, Bind)]
    assert [bind.target.pod.name for bind in binds] == ["g-0", "g-1"]


def test_a_node_that_was_not_ready_for_a_while_is_not_held_against_it_at_takeover() -> None:
    standby = Standby()
    here = node("n1", cpu=4)
    standby.tell(NodeSeen(here))
    for number in range(2):
        gang = GroupKey("default", f"g{number}")
        member = pod(spec(cpu=1), f"p{number}", scheduler="enbloc", group=gang, node="n1")
        standby.tell(PodSeen(member))
    standby.tell(NodeSeen(replace(here, ready=False, resource_version=2)))
    standby.tell(NodeSeen(replace(here, resource_version=3)))
    events = [effect for effect in standby.takes_over() if isinstance(effect, Emit)]
    assert not [event for event in events if event.node == "n1"]


def kept(root: object) -> int:
    """How many entries the containers of an engine hold, those of its parts included."""
    entries, seen, left = 0, set[int](), [root]
    while left:
        found = left.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, dict):
            entries += len(found)
            left += [*found.keys(), *found.values()]
        elif isinstance(found, list | tuple | set | frozenset | deque):
            entries += len(found)
            left += found
        elif type(found).__module__.startswith("enbloc.engine"):
            names = (name for of in type(found).__mro__ for name in getattr(of, "__slots__", ()))
            left += [getattr(found, name) for name in names if hasattr(found, name)]
            left += vars(found).values() if hasattr(found, "__dict__") else ()
    return entries


#: What of an engine knows groups; the journal of the nodes is full much later.
PARTS = ("_groups", "_queue", "_victims", "_reporter", "_next", "_deferred")

#: Who makes the pods that come and go, by number.
MAKERS: dict[str, Callable[[int], dict[str, Any]]] = {
    "one Job": lambda _: {"owner": Owner("Job", "job", "job")},
    "a Job each": lambda number: {"owner": Owner("Job", "job", f"job-{number}")},
    "attempts of a JobSet": lambda number: {"restart": f"set/{number}"},
    "nobody": lambda _: {},
    "a driver that is never seen": lambda number: {"owner": Owner("Pod", "d", f"d-{number // 4}")},
}


def _come_and_go(standby: Standby, made: list[Pod], first: int, many: int, maker: str) -> None:
    """Pods of one PodGroup come, are bound and go; some are always there."""
    for number in range(first, first + many):
        new = pod(spec(cpu=1), f"p{number}", scheduler="enbloc", group=GroupKey("ns", "g"))
        new = replace(new, created=float(number), **MAKERS[maker](number))
        made.append(new)
        standby.tell(PodSeen(new))
        standby.tell(PodSeen(replace(new, node="n1")))
        if number % 3 == 0:
            standby.tell(PodSeen(replace(new, node="n1", phase=Phase.SUCCEEDED)))
        if len(made) > 2:
            old = made.pop(0)
            standby.tell(PodGone(old.key, old.uid))


def _flat(many: int, maker: str, owner: str) -> None:
    standby = Standby()
    standby.tell(NodeSeen(node("n1", cpu=4)), GroupSeen(group("g", 2, owner=owner)))
    made: list[Pod] = []
    _come_and_go(standby, made, 0, many, maker)  # what is bounded is full
    before = {part: kept(getattr(standby.engine, part)) for part in PARTS}
    _come_and_go(standby, made, many, many, maker)
    after = {part: kept(getattr(standby.engine, part)) for part in PARTS}
    assert all(after[part] <= before[part] + many // 4 for part in PARTS), (before, after)


@pytest.mark.parametrize("owner", ["", "MPIJob/mpi", "CronJob/cron"])
@pytest.mark.parametrize("maker", MAKERS)
def test_a_standby_keeps_nothing_of_the_members_of_a_group_that_came_and_went(
    maker: str, owner: str
) -> None:
    """Semantics §9.1: whoever makes them, and whatever run they are of."""
    _flat(1000, maker, owner)


@slow("100 000 pods come and go")
@pytest.mark.parametrize("maker", MAKERS)
def test_a_standby_keeps_nothing_of_100_000_members_that_came_and_went(maker: str) -> None:
    _flat(50_000, maker, "MPIJob/mpi")


def test_a_member_may_go_again_before_the_first_lists_are_complete() -> None:
    """The watch of pods goes on while another stream still waits for its first list."""
    standby = Standby(synced=[Stream.PODS])
    gang = group("g", 1, key=GroupKey("default", "g"))
    gone, stays = (pod(spec(cpu=1), name, scheduler="enbloc", group=gang.key) for name in "ab")
    standby.tell(PodSeen(gone), PodSeen(stays), PodGone(gone.key, gone.uid))
    standby.tell(*map(Synced, OBJECTS), NodeSeen(node("n1", cpu=4)), GroupSeen(gang))
    bound = [effect for effect in standby.takes_over() if isinstance(effect, Bind)]
    assert [bind.target.uid for bind in bound] == [stays.uid]
