# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A standby knows the cluster and decides nothing: what it keeps, and what it does at takeover."""

import gc
from dataclasses import replace

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
from enbloc.model.pods import PodKey
from tests.effort import slow
from tests.world.builders import group, node, pod, spec


class Standby:
    """An engine that is told what happens, and whose turn does not come."""

    def __init__(self) -> None:
        self.engine = Engine(default_profiles(), Settings(log=10))
        for stream in Stream:
            self.engine.apply(Synced(stream))

    def tell(self, *events: Event) -> None:
        for event in events:
            self.engine.apply(event)
        self.engine.stand_by()

    def takes_over(self) -> list[object]:
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
