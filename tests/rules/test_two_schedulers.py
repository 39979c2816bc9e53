# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Two of our schedulers, with different profiles, on one API server."""

from dataclasses import replace

import pytest
from msgspec import structs

from enbloc.model.field_managers import field_manager
from tests.world.two import Both


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
    message = "0 of 2 members exist (2 more with another schedulerName: default-scheduler)"
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
        both.condition("g")[2] == "1 of 2 members exist (1 more with another schedulerName: batch)"
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
    late = structs.replace(both.shown["g"], conditions=(), replaced=())
    both.write(late, field_manager(["batch"]))
    both.settle()
    assert both.condition("g")[:2] == (True, "Scheduled")
    assert both.authors("g") == ("enbloc",)


def test_a_second_late_write_of_the_other_is_written_over_too() -> None:
    """semantics §6.4: both of its writes are seen at once."""
    both = Both(lagging=True)
    enbloc, batch = both.schedulers["enbloc"], both.schedulers["batch"]
    both.group("g", 2)
    enbloc.hear()
    enbloc.settle()
    both.pod("g-0", "g", scheduler="batch")
    batch.hear()
    batch.settle()
    enbloc.hear(2)  # its own write and the pod, but not what the other has written
    enbloc.settle()
    assert both.authors("g") == ("batch", "enbloc")
    both.settle()
    assert both.authors("g") == ("batch",)
    assert both.condition("g")[2] == "1 of 2 members exist"
