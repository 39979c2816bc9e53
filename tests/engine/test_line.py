# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who is called up next of those that wait for a search."""

from enbloc.engine.policies.preemptions.preemptor_queue import PreemptorQueue
from enbloc.model.groups import GroupKey


def line(*waiting: str) -> PreemptorQueue:
    made = PreemptorQueue()
    for name in waiting:
        made.add(key(name))
    return made


def key(name: str) -> GroupKey:
    namespace, _, own = name.partition("/")
    return GroupKey(namespace, own)


def called(some: PreemptorQueue, count: int) -> list[str]:
    """Who is called up, one after the other, and tried."""
    found = list[str]()
    for _ in range(count):
        group = some.call()
        some.tried(group)
        found.append(str(group))
    return found


def test_of_one_namespace_the_first_come_are_the_first() -> None:
    some = line("a/1", "a/2", "a/1", "a/3")
    assert called(some, 3) == ["a/1", "a/2", "a/3"]
    assert not some


def test_namespaces_take_turns() -> None:
    some = line("a/1", "a/2", "a/3", "b/1", "b/2")
    assert called(some, 5) == ["a/1", "b/1", "a/2", "b/2", "a/3"]


def test_a_namespace_whose_groups_come_again_at_once_does_not_pass_others() -> None:
    some = line("a/1", "a/2", "b/1", "b/2", "b/3")
    found = list[str]()
    for _ in range(6):
        (again,) = called(some, 1)
        if again.startswith("a"):
            some.add(key(again))
        found.append(again)
    assert found == ["a/1", "b/1", "a/2", "b/2", "a/1", "b/3"]


def test_who_was_called_up_and_not_tried_keeps_its_place() -> None:
    some = line("a/1", "a/2", "b/1", "c/1")
    assert some.call() == key("a/1")
    some.add(key("b/2"))
    some.add(key("a/1"))
    assert called(some, 3) == ["a/1", "b/1", "c/1"]


def test_who_was_tried_and_comes_again_is_the_last() -> None:
    some = line("a/1", "a/2")
    called(some, 1)
    some.add(key("a/1"))
    assert called(some, 2) == ["a/2", "a/1"]


def test_who_waits_from_a_time_on_is_called_up_then() -> None:
    some = line("b/1")
    some.later(key("a/1"), 10.0)
    some.later(key("a/1"), 20.0)
    some.expire(19.0, is_bound_now=bool)
    assert some.deadline() == 20.0
    assert called(some, 1) == ["b/1"]
    assert not some

    some.expire(20.0, is_bound_now=bool)
    assert called(some, 1) == ["a/1"]


def test_who_waits_for_others_is_called_up_once_one_of_them_is_bound() -> None:
    some, bound = line(), {key("low/1"), key("low/2")}
    some.after(key("a/1"), {key("low/1"), key("low/2")})
    some.expire(1.0, is_bound_now=bound.__contains__)
    assert not some

    bound.remove(key("low/2"))
    some.expire(1.0, is_bound_now=bound.__contains__)
    assert called(some, 1) == ["a/1"]


def test_who_waits_for_nobody_any_more_is_not_called_up_for_that() -> None:
    some = line()
    some.after(key("a/1"), {key("low/1")})
    some.after(key("a/1"), ())
    some.after(key("a/2"), {key("low/1")})
    some.later(key("a/2"), 1.0)
    some.discard(key("a/2"))
    some.expire(1.0, is_bound_now=lambda _: False)
    assert not some


def test_who_waits_no_more_is_called_up_no_more() -> None:
    some = line("a/1", "b/1")
    some.discard(key("a/1"))
    some.discard(key("c/1"))
    assert called(some, 1) == ["b/1"]
    assert not some
