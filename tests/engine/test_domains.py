# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The domains of a node table, and which of their parts hold so many members."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from enbloc.engine.topology import domains_of, lies_in
from enbloc.engine.topology.room import fewest, largest_first
from tests.effort import examples
from tests.world.builders import labelled
from tests.world.tables import nodes


def test_a_domain_is_the_path_of_label_values() -> None:
    table = nodes(
        labelled("a", zone="z1", rack="r1"),
        labelled("b", zone="z1", rack="r1"),
        labelled("c", zone="z1", rack="r2"),
        labelled("d", zone="z2", rack="r1"),
        labelled("e", rack="r1"),
        labelled("f", zone="z2"),
    )
    domains = domains_of(table, ("zone", "rack"))
    zone, rack = domains.levels
    assert zone.codes.tolist() == [0, 0, 0, 1, -1, 1]
    assert rack.codes.tolist() == [0, 0, 1, 2, -1, -1]
    assert rack.parents.tolist() == [0, 0, 1]
    assert [domains.path(table, 1, number) for number in range(3)] == ["z1/r1", "z1/r2", "z2/r1"]
    assert (zone.outside(), rack.outside()) == (1, 2)


def test_domains_are_kept_until_a_node_changes() -> None:
    table = nodes(labelled("a", zone="z1"), labelled("b", zone="z2"))
    before = domains_of(table, ("zone",))
    assert domains_of(table.snapshot(), ("zone",)) is before
    assert domains_of(table.fork(), ("zone",)) is before
    table.put(labelled("b", zone="z1"))
    assert domains_of(table, ("zone",)).levels[0].codes.tolist() == [0, 0]
    table.drop("a")
    assert domains_of(table, ("zone",)).levels[0].codes.tolist() == [0]


def test_an_empty_table_has_no_domains() -> None:
    [level] = domains_of(nodes(), ("zone",)).levels
    assert level.count == 0
    assert not len(level.codes)


def test_it_is_told_in_how_many_domains_rows_lie_and_which_is_the_innermost_one() -> None:
    table = nodes(
        labelled("a", zone="z1", rack="r1"),
        labelled("b", zone="z1", rack="r2"),
        labelled("c", zone="z2", rack="r1"),
        labelled("d"),
    )
    domains = domains_of(table, ("zone", "rack"))
    assert lies_in(domains, [0, 0]) == ([1, 1], 1)
    assert lies_in(domains, [0, 1]) == ([1, 2], 0)
    assert lies_in(domains, [0, 2]) == ([2, 2], None)
    assert lies_in(domains, [0, 3]) == ([1, 1], None)


sizes = st.lists(st.integers(0, 5), min_size=1, max_size=6)


def _fewest(members: int, rooms: list[int]) -> int | None:
    for count in range(1, len(rooms) + 1):
        if any(sum(part) >= members for part in combinations(rooms, count)):
            return count
    return None


@given(rooms=sizes, members=st.integers(1, 12))
@examples(100)
def test_the_largest_parts_are_the_fewest_that_hold_a_gang(rooms: list[int], members: int) -> None:
    chosen = largest_first(members, np.array(rooms), np.zeros(len(rooms), np.int64))
    wanted = _fewest(members, rooms)
    if wanted is None:
        assert sorted(chosen) == [place for place, room in enumerate(rooms) if room]
        return
    assert len(chosen) == len(set(chosen)) == wanted
    assert sum(rooms[place] for place in chosen) >= members
    # The last one is no larger than it must be.
    *others, last = chosen
    left = members - sum(rooms[place] for place in others)
    smaller = [r for place, r in enumerate(rooms) if place not in chosen and left <= r]
    assert all(room >= rooms[last] for room in smaller)


@given(groups=st.lists(sizes, min_size=1, max_size=4), members=st.integers(1, 12))
@examples(100)
def test_of_each_group_it_is_told_how_many_parts_it_takes(
    groups: list[list[int]], members: int
) -> None:
    parts = [(number, room) for number, rooms in enumerate(groups) for room in rooms]
    parts.append((-1, 9))
    of, rooms = (np.array(column) for column in zip(*parts, strict=True))
    found = fewest(members, rooms, of, len(groups)).tolist()
    for number, rooms_ in enumerate(groups):
        wanted = _fewest(members, rooms_)
        assert found[number] == (len(parts) + 1 if wanted is None else wanted)


def test_parts_that_hold_members_go_before_larger_ones() -> None:
    rooms, near = np.array([5, 2, 1]), np.array([0, 0, 3])
    assert largest_first(1, rooms, near) == [2]
    assert largest_first(3, rooms, near) == [2, 1]
