# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Forks of layered dictionaries are as copies are, whatever is set in which of them."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.layered import Layered, LayeredGroups
from tests.effort import examples

keys = st.sampled_from("abc")
values = st.none() | st.integers(0, 3)
changes = st.lists(st.tuples(keys, keys, values), max_size=8)


@pytest.mark.hypothesis
@examples(100)
@given(before=changes, forks=st.lists(changes, min_size=1, max_size=3))
def test_a_fork_of_a_fork_sees_what_was_set_before_and_in_it(
    before: list[tuple[str, str, int | None]], forks: list[list[tuple[str, str, int | None]]]
) -> None:
    origin: Layered[str, int] = Layered()
    groups: LayeredGroups[str, str, int] = LayeredGroups()
    plain: dict[str, int | None] = {}
    plain_groups: dict[tuple[str, str], int | None] = {}
    seen = []
    for index, changed in enumerate((before, *forks)):
        if index:
            seen.append((origin, groups, plain, plain_groups))
            origin, groups = origin.fork(), groups.fork()
            plain, plain_groups = plain.copy(), plain_groups.copy()
        for group, key, value in changed:
            assert origin.set(key, value) == plain.get(key)
            groups.set(group, key, value)
            plain[key] = value
            plain_groups[(group, key)] = value
    seen.append((origin, groups, plain, plain_groups))
    for each, grouped, expected, expected_groups in seen:
        assert {key: each.get(key) for key in "abc"} == {key: expected.get(key) for key in "abc"}
        assert dict(each.items()) == {k: v for k, v in expected.items() if v is not None}
        found = {(group, key): v for group in "abc" for key, v in grouped.items(group)}
        assert found == {pair: v for pair, v in expected_groups.items() if v is not None}
        for group, key in product("abc", "abc"):
            assert grouped.get(group, key) == expected_groups.get((group, key))


def test_what_an_origin_remembers_its_forks_know_unless_they_set_another() -> None:
    origin: Layered[str, int] = Layered()
    first, second = origin.fork(), origin.fork()
    second.set("a", 2)

    first.remember("a", 1)

    assert [each.get("a") for each in (origin, first, second)] == [1, 1, 2]
    assert [each.differs("a") for each in (origin, first, second)] == [False, False, True]
