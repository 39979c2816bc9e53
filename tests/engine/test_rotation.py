# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Equals take turns, against a naive model of it (semantics §9.7)."""

from hypothesis import given
from hypothesis import strategies as st

from enbloc.engine.queue.rotation import (
    MOST_IN_VAIN,
    STRICT,
    FailureHistory,
    QueueEntry,
    Rotation,
    Subqueue,
)
from enbloc.model.groups import GroupKey
from tests.effort import examples

Action = tuple[str, int, str, str, int]


class Naive:
    """All entries in a list, and every failure."""

    def __init__(self) -> None:
        self.entries: list[QueueEntry] = []
        self.failures: list[Subqueue] = []
        self.in_vain = 0
        self.lower: tuple[int, ...] = ()

    def _last(self, *who: object) -> int:
        """When a namespace or an owner failed last, from 1; 0 = it never did."""
        numbered = enumerate(self.failures, 1)
        return max((at for at, each in numbered if each[: len(who)] == who), default=0)

    def _next(self, entries: list[QueueEntry], places: int) -> list[QueueEntry]:
        """Those of the one whose turn it is, by the first so many places of the subqueue."""
        stamps = {each.subqueue[:places]: self._last(*each.subqueue[:places]) for each in entries}
        failed = {who: at for who, at in stamps.items() if at}
        if len(self.failures) % 64 == 63 and failed:
            stamps = failed
        first = min(stamps.values())
        mine = [each for each in entries if stamps.get(each.subqueue[:places]) == first]
        if places == 2 and not first:  # of namespaces that never failed, who goes first decides
            heads: dict[tuple[object, ...], list[QueueEntry]] = {}
            for each in mine:
                heads.setdefault(each.subqueue[:2], []).append(each)
            who = min(heads, key=lambda each: self._head(heads[each]))
        else:
            who = min(mine).subqueue[:places]
        return [each for each in mine if each.subqueue[:places] == who]

    def _head(self, entries: list[QueueEntry]) -> QueueEntry:
        """What stands for a namespace: the first of the owner that failed longest ago."""
        return min((self._last(*each.subqueue), each) for each in entries)[1]

    def first(self) -> QueueEntry | None:
        if not self.entries:
            return None
        levels = sorted({each.subqueue.level or () for each in self.entries})
        level = levels[0]
        if self.in_vain >= MOST_IN_VAIN and len(levels) > 1:
            level = min((each for each in levels[1:] if each > self.lower), default=levels[1])
        mine = [each for each in self.entries if (each.subqueue.level or ()) == level]
        return min(self._next(self._next(mine, 2), 3))

    def pop(self) -> QueueEntry | None:
        entry = self.first()
        if entry is not None:
            if (entry.subqueue.level or ()) != min(e.subqueue.level or () for e in self.entries):
                self.lower, self.in_vain = entry.subqueue.level or (), 0
            self.entries.remove(entry)
        return entry


@given(
    actions=st.lists(
        st.tuples(
            st.sampled_from(["push", "push", "pop", "fail", "many fail", "remove", "look"]),
            st.integers(0, 2),
            st.sampled_from("abc"),
            st.sampled_from("xy"),
            st.integers(0, 5),
        ),
        max_size=60,
    ),
    levels=st.booleans(),
)
@examples(400)
def test_the_first_is_the_one_that_a_naive_model_finds(actions: list[Action], levels: bool) -> None:
    naive, history = Naive(), FailureHistory()
    rotation = Rotation(history)
    tickets = 0
    for what, level, namespace, owner, place in actions:
        subqueue = Subqueue((level,), namespace, owner) if levels else STRICT
        if what == "push":
            tickets += 1
            key = (level, place) if levels else (place,)
            entry = QueueEntry(key, tickets, GroupKey(namespace, str(tickets)), subqueue)
            naive.entries.append(entry)
            rotation.push(entry)
        elif what == "pop":
            assert rotation.pop() == naive.pop()
        elif what in ("fail", "many fail"):
            for _ in range(1 if what == "fail" else MOST_IN_VAIN - 1):
                naive.failures.append(subqueue)
                naive.in_vain += 1
                history.failed(subqueue)
                rotation.failed(subqueue)
        elif what == "remove" and naive.entries:
            rotation.remove(naive.entries.pop(place % len(naive.entries)))
        elif what == "look":
            assert rotation.first() == naive.first()
        assert list(rotation) == sorted(naive.entries)
    while naive.entries:
        assert rotation.pop() == naive.pop()
    assert rotation.pop() is None
    assert not rotation._levels
    assert not rotation._sorted


def test_a_namespace_that_comes_anew_goes_before_two_hundred_that_have_failed() -> None:
    history = FailureHistory()
    rotation = Rotation(history)
    for number in range(200):
        subqueue = Subqueue((0,), f"n{number}")
        history.failed(subqueue)
        rotation.push(QueueEntry((0, number), number, GroupKey(f"n{number}", "g"), subqueue))
    history.failed(Subqueue((0,), "n0"))  # the next turn is not the one of those that failed
    rotation.push(QueueEntry((0, 999), 999, GroupKey("late", "g"), Subqueue((0,), "late")))
    entry = rotation.pop()
    assert entry is not None
    assert entry.group.namespace == "late"


def test_those_that_failed_have_a_turn_however_many_come_anew() -> None:
    history = FailureHistory()
    rotation = Rotation(history)
    waits = Subqueue((0,), "waits")
    history.failed(waits)
    rotation.push(QueueEntry((0, 0), 0, GroupKey("waits", "g"), waits))
    for number in range(1, 100):
        new = Subqueue((0,), f"n{number}")
        rotation.push(QueueEntry((0, number), number, GroupKey(new.namespace, "g"), new))
        entry = rotation.pop()
        assert entry is not None
        if entry.subqueue == waits:
            break
        history.failed(entry.subqueue)
        rotation.failed(entry.subqueue)
    else:
        raise AssertionError("it never had a turn")
    assert number <= 64


def test_the_history_is_bounded() -> None:
    history = FailureHistory()
    for number in range(20_000):
        history.failed(Subqueue((0,), "n", str(number)))
    assert len(history._last) <= 8192
    assert history.last(Subqueue((0,), "n", "19999")) == 20_000
    assert history.last(Subqueue((0,), "n", "0")) == 0
