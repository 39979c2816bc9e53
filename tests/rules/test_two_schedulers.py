# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Two of our schedulers, with different profiles, on one API server."""

from dataclasses import replace
from typing import Any, ClassVar

import pytest

from enbloc.config import default_profiles
from enbloc.engine.effects import Emit, SetGroupStatus
from enbloc.engine.events import Bound, Event, SlotsFree
from enbloc.framework.profile import Profile
from enbloc.model.field_managers import field_manager
from tests.world.builders import remembered
from tests.world.cluster import Cluster
from tests.world.server import SHOWN, Server


def profile(name: str) -> dict[str, Profile]:
    [given] = default_profiles().values()
    return {name: replace(given, name=name)}


class Scheduler(Cluster):
    """One of the two: what it decides is told to the server of both."""

    def __init__(self, served: "Both", name: str, *, sync: bool = True) -> None:
        super().__init__(profiles=profile(name), identity=name, sync=sync)
        self.served = served
        self.manager = field_manager(self.profiles)

    def step(self) -> list[Any]:
        effects = super().step()
        for effect in effects:
            if isinstance(effect, SetGroupStatus):
                self.served.write(effect, self.manager)
        return effects

    def confirm(self, effect: Any) -> None:
        self.tell(Bound(effect.target.plan, effect.target.uid))
        self.tell(SlotsFree(1))
        self.served.bind(effect.target)


class Both(Server):
    """An API server and two schedulers, "enbloc" and "batch".

    Attributes:
        shown: the status as it stands: what was applied last.
        written: every write: who, and which group.
    """

    NAMES: ClassVar = ("enbloc", "batch")

    def __init__(self) -> None:
        super().__init__()
        self.schedulers = {name: Scheduler(self, name) for name in self.NAMES}
        self.shown: dict[str, SetGroupStatus] = {}
        self.written: list[tuple[str, str]] = []
        self.nodes("n1 n2", cpu=8)

    def changed(self, event: Event) -> None:
        for scheduler in self.schedulers.values():
            scheduler.tell(event)

    def write(self, effect: SetGroupStatus, manager: str) -> None:
        """As server-side apply does, by force, for this manager and empty for those replaced."""
        name = effect.group.name
        self.written.append((manager.partition(":")[2], name))
        self.shown[name] = effect
        group = self.groups[name]
        writers = {manager, *group.writers} - set(effect.replaced)
        self.put_group(replace(group, memory=remembered(effect), writers=tuple(sorted(writers))))

    def settle(self) -> None:
        for _ in range(100):
            before = self._version
            for scheduler in self.schedulers.values():
                scheduler.settle()
            if self._version == before:
                return
        raise AssertionError("the two never come to rest")

    def restart(self, name: str) -> None:
        """This scheduler ends, and another process of it starts."""
        again = Scheduler(self, name, sync=False)
        for stream in SHOWN:
            for event in self.listed(stream):
                again.tell(event)
        again.sync()
        self.schedulers[name] = again

    def condition(self, group: str) -> tuple[bool | None, str, str]:
        [found] = [c for c in self.shown[group].conditions if c.type == "Scheduled"]
        return found.status, str(found.reason), found.message

    def authors(self, group: str) -> tuple[str, ...]:
        """The schedulers that own a part of its status."""
        return tuple(writer.partition(":")[2] for writer in self.groups[group].writers)

    def events(self) -> list[str]:
        """Reasons of the events on PodGroups, with who wrote them."""
        return [
            f"{name} {effect.reason}"
            for name, scheduler in self.schedulers.items()
            for effect in scheduler.effects
            if isinstance(effect, Emit) and effect.group is not None
        ]


@pytest.fixture
def both() -> Both:
    return Both()


def test_each_writes_of_the_gangs_with_its_own_members(both: Both) -> None:
    """semantics §6.4"""
    for name in Both.NAMES:
        both.gang(f"{name}-gang", 2, scheduler=name)
    both.settle()
    for name in Both.NAMES:
        assert both.condition(f"{name}-gang")[:2] == (True, "Scheduled")
        assert both.authors(f"{name}-gang") == (name,)
    assert sorted(both.events()) == ["batch GangScheduled", "enbloc GangScheduled"]


@pytest.mark.parametrize("first", Both.NAMES)
def test_a_group_without_members_has_one_author_and_then_that_of_its_members(
    both: Both, first: str
) -> None:
    """semantics §6.4"""
    both.schedulers = {name: both.schedulers[name] for name in (first, *Both.NAMES)}
    both.group("g", 2)
    both.settle()
    assert both.condition("g") == (False, "WaitingForMembers", "0 of 2 members exist")
    assert both.authors("g") == (first,)
    both.pod("g-0", "g", scheduler="enbloc")
    both.settle()
    assert both.condition("g") == (False, "WaitingForMembers", "1 of 2 members exist")
    assert both.authors("g") == ("enbloc",)


def test_of_two_that_wrote_at_the_same_time_one_goes_on(both: Both) -> None:
    """semantics §6.4"""
    group = both.group("g", 2)
    both.put_group(replace(group, writers=tuple(map(field_manager, (["batch"], ["enbloc"])))))
    both.settle()
    assert both.authors("g") == ("batch",)


def test_the_only_scheduler_writes_of_a_gang_for_nobody_known(both: Both) -> None:
    """semantics §6.4: a forgotten schedulerName is told, whoever is to tell it."""
    both.gang("g", 2, scheduler="default-scheduler")
    both.settle()
    [_] = both.authors("g")
    message = "0 of 2 members exist (2 more named another schedulerName: default-scheduler)"
    assert both.condition("g")[2] == message


def test_once_the_other_is_known_nothing_is_said_of_its_gangs(both: Both) -> None:
    """semantics §6.4"""
    both.gang("first", 2, scheduler="batch")
    both.settle()
    both.written.clear()
    both.gang("second", 3, 4, scheduler="batch")
    both.settle()
    assert {who for who, _ in both.written} == {"batch"}
    assert both.condition("second")[1] == "WaitingForMembers"


def test_a_gang_whose_members_are_gone_keeps_its_author(both: Both) -> None:
    """semantics §6.4: a suspended Job has no pods now."""
    both.gang("g", 2, scheduler="enbloc")
    both.settle()
    both.delete("g-0")
    both.delete("g-1")
    both.settle()
    assert both.condition("g")[1] == "WaitingForMembers"
    assert both.authors("g") == ("enbloc",)
    both.written.clear()
    both.restart("batch")
    both.restart("enbloc")
    both.alter("g", minimum=3)
    both.settle()
    assert both.condition("g")[2] == "0 of 3 members exist"
    assert {who for who, _ in both.written} == {"enbloc"}


def test_members_of_both_have_the_author_that_the_oldest_names(both: Both) -> None:
    """semantics §6.4"""
    both.group("g", 2)
    both.pod("g-0", "g", scheduler="enbloc")
    both.settle()
    both.now += 1
    both.pod("g-1", "g", scheduler="batch")
    both.settle()
    assert both.authors("g") == ("enbloc",)
    assert (
        both.condition("g")[2] == "1 of 2 members exist (1 more named another schedulerName: batch)"
    )
    assert len(both.written) <= 6


@pytest.mark.parametrize(
    "manager",
    ["enbloc-scheduler", "enbloc-scheduler:batch,nightly"],
    ids=["an older release", "this one with other profiles"],
)
def test_what_it_wrote_under_another_name_is_taken_over(both: Both, manager: str) -> None:
    """semantics §6.4"""
    group = both.group("g", 2)
    del both.schedulers["enbloc"]
    both.put_group(replace(group, writers=(manager,)))
    both.settle()
    assert both.authors("g") == ("batch",)


def test_a_late_write_of_the_other_is_written_over(both: Both) -> None:
    """semantics §6.4"""
    both.gang("g", 2, scheduler="enbloc")
    both.settle()
    late = replace(both.shown["g"], conditions=(), replaced=())
    both.write(late, field_manager(["batch"]))
    both.settle()
    assert both.condition("g")[:2] == (True, "Scheduled")
    assert both.authors("g") == ("enbloc",)
