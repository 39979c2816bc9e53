# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""When something is due for whom."""

import math

from hypothesis import given
from hypothesis import strategies as st

from enbloc.engine.deadlines import Deadlines
from enbloc.model.groups import GroupKey
from tests.effort import examples

TIMES = st.sampled_from([0.0, 1.0, 2.0, 3.0, math.inf])
DOES = st.tuples(st.sampled_from(["put", "drop", "due"]), st.integers(0, 3), TIMES)


@examples(100)
@given(st.lists(DOES, max_size=30))
def test_what_is_due_is_what_a_list_says(done: list[tuple[str, int, float]]) -> None:
    deadlines: Deadlines[GroupKey] = Deadlines()
    known = dict[GroupKey, float]()
    for what, number, time in done:
        group = GroupKey("ns", f"g{number}")
        known.pop(group, None) if what != "due" else None
        if what == "put":
            deadlines.put(group, time)
            known |= {group: time} if time < math.inf else {}
        elif what == "drop":
            deadlines.drop(group)
        else:
            now = min(time, 3.0)
            due = sorted((g for g in known if known[g] <= now), key=known.__getitem__)
            due = due[: number + 1]
            assert deadlines.due(now, number + 1) == due
            for each in due:
                del known[each]
        assert len(deadlines) == len(known)
        assert deadlines.first() == min(known.values(), default=math.inf)
        assert all((each in deadlines) is (each in known) for each in (group, *known))


def test_times_that_were_replaced_take_no_memory() -> None:
    deadlines: Deadlines[GroupKey] = Deadlines()
    for time in range(10_000):
        deadlines.put(GroupKey("ns", "g"), time)
    assert len(deadlines._heap) < 200
    assert deadlines.due(1e9) == [GroupKey("ns", "g")]
