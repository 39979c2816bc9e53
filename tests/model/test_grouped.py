# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
from enbloc.model.grouped import Grouped, Index


def test_a_group_is_there_as_long_as_it_has_a_value() -> None:
    table: Grouped[str, int, str] = Grouped()
    table.put("g", 1, "a")
    table.put("g", 2, "b")
    table.put("g", 1, "c")
    assert table == {"g": {1: "c", 2: "b"}}
    assert table.drop("g", 1) == "c"
    assert table.drop("g", 1) is None
    assert table.drop("g", 2) == "b"
    assert table.drop("g", 2) is None
    assert table == {}


def test_members_stay_in_the_order_in_which_they_came() -> None:
    index: Index[str, int] = Index()
    for member in (3, 1, 2, 3):
        index.add("g", member)
    assert [*index["g"]] == [3, 1, 2]
    index.drop("g", 3)
    index.drop("h", 3)
    assert [*index["g"]] == [1, 2]
