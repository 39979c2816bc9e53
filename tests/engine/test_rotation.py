# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Namespaces of equals take turns, against a naive model of it (semantics §9.7)."""

from hypothesis import given
from hypothesis import strategies as st

from enbloc.engine.queue.rotation import STRICT, Entry, Rotation, Subqueue
from enbloc.model.groups import GroupKey
from tests.effort import examples

Action = tuple[str, int, str, int]


class Naive:
    """All entries in a list, and who was set back."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.back: set[Subqueue] = set()

    def first(self) -> Entry | None:
        """The smallest of the first level that is not set back; all are restored when all are."""
        level = min((entry.subqueue.level or () for entry in self.entries), default=None)
        done = {each for each in self.back if level is None or (each.level or ()) < level}
        mine = [entry for entry in self.entries if (entry.subqueue.level or ()) == level]
        if all(entry.subqueue in self.back for entry in mine):
            done |= {each for each in self.back if each.level == level}
        self.back -= done
        return min((entry for entry in mine if entry.subqueue not in self.back), default=None)


@given(
    actions=st.lists(
        st.tuples(
            st.sampled_from(["push", "push", "pop", "fail", "stale", "restore", "look"]),
            st.integers(0, 2),
            st.sampled_from("abc"),
            st.integers(0, 5),
        ),
        max_size=60,
    ),
    levels=st.booleans(),
)
@examples(400)
def test_the_first_is_the_one_that_a_naive_model_finds(actions: list[Action], levels: bool) -> None:
    naive = Naive()
    rotation = Rotation(lambda entry: entry in naive.entries)
    tickets = 0
    for what, level, namespace, place in actions:
        subqueue = Subqueue((level,), namespace) if levels else STRICT
        if what == "push":
            tickets += 1
            key = (level, place) if levels else (place,)
            entry = Entry(key, tickets, GroupKey(namespace, str(tickets)), subqueue)
            naive.entries.append(entry)
            rotation.push(entry)
        elif what == "pop":
            expected = naive.first()
            assert rotation.pop() == expected
            if expected is not None:
                naive.entries.remove(expected)
        elif what == "fail" and levels:
            naive.back.add(subqueue)
            rotation.set_back(subqueue)
        elif what == "stale" and naive.entries:
            del naive.entries[place % len(naive.entries)]
        elif what == "restore":
            naive.back.clear()
            rotation.restore()
        elif what == "look":
            assert rotation.first() == naive.first()
    while naive.entries:
        expected = naive.first()
        assert rotation.pop() == expected
        assert expected is not None
        naive.entries.remove(expected)
    assert rotation.pop() is None
    assert not list(rotation)


def test_nothing_is_left_behind_by_those_who_come_and_go_before_others() -> None:
    rotation = Rotation(lambda _: True)
    late = Entry((0, 9), 0, GroupKey("a", "late"), Subqueue((0,), "a"))
    rotation.push(late)
    for ticket in range(1, 1000):
        rotation.push(Entry((0, 1), ticket, GroupKey("a", "early"), Subqueue((0,), "a")))
        entry = rotation.pop()
        assert entry is not None
        assert entry.ticket == ticket
    assert len(rotation._heads) == 1
    assert rotation.pop() is late
