# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Requirements, tolerations, and the interned columns that answer them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.labels import Interned, LabelColumns
from enbloc.model.requirements import Operator, Requirement
from enbloc.model.taints import Effect, Taint, Toleration, TolerationOperator
from tests.strategies import VALUES, requirements


@pytest.mark.parametrize(
    ("operator", "values", "label", "matches"),
    [
        (Operator.IN, ("a", "b"), "b", True),
        (Operator.IN, ("a",), None, False),
        (Operator.NOT_IN, ("a",), "a", False),
        (Operator.NOT_IN, ("a",), None, True),
        (Operator.EXISTS, (), "", True),
        (Operator.EXISTS, (), None, False),
        (Operator.DOES_NOT_EXIST, (), None, True),
        (Operator.DOES_NOT_EXIST, (), "", False),
        (Operator.GT, ("6",), "7", True),
        (Operator.GT, ("7",), "7", False),
        (Operator.GT, ("-7",), "+1", True),
        (Operator.LT, ("8",), "007", True),
        (Operator.LT, ("8",), None, False),
        (Operator.GT, ("6",), "7x", False),
        (Operator.GT, ("x",), "7", False),
        (Operator.GT, ("1", "2"), "7", False),
        (Operator.GT, (), "7", False),
        (Operator.GT, ("1_0",), "70", False),
        (Operator.GT, ("1",), "9223372036854775808", False),
        (Operator.LT, ("1",), "-9223372036854775808", True),
    ],
)
def test_a_requirement_judges_a_label(
    operator: Operator, values: tuple[str, ...], label: str | None, *, matches: bool
) -> None:
    assert Requirement("key", operator, values).matches(label) is matches


@given(requirements, st.lists(st.none() | st.sampled_from(VALUES), max_size=9))
def test_a_column_answers_for_all_rows_at_once(
    requirement: Requirement, values: list[str | None]
) -> None:
    column: Interned[str | None] = Interned(None, len(values))
    for row, value in enumerate(values):
        column.set(row, value)

    mask = column.satisfies(requirement, slice(None))

    assert mask.tolist() == [requirement.matches(value) for value in values]


def test_values_that_no_row_has_any_more_are_let_go() -> None:
    column: Interned[str | None] = Interned(None, 4)
    column.set(0, "kept")
    twin = column.copy(4)
    for number in range(10_000):
        column.set(1, f"gone-{number}")

    assert column.values(slice(None)) == ["kept", "gone-9999", None, None]
    assert len(column) < 1000
    assert column.code("gone-7") == -1
    assert twin.values(slice(None)) == ["kept", None, None, None]


def test_a_copy_does_not_change_with_its_origin() -> None:
    column: Interned[str | None] = Interned(None, 2)
    column.set(0, "a")
    twin = column.copy(3)
    twin.set(0, "b")
    column.set(1, "c")

    assert (column.value(0), column.value(1)) == ("a", "c")
    assert twin.values(slice(None)) == ["b", None, None]
    lengths = twin.count(lambda value: len(value or ""))
    assert lengths[twin.cells].tolist() == [1, 0, 0]


def test_only_so_many_keys_have_a_column_at_a_time() -> None:
    columns = LabelColumns()
    columns.write(0, (("often", "a"), ("seldom", "b"), *((f"key-{n}", "c") for n in range(500))))
    seldom = columns.column("seldom")
    often = columns.column("often")
    for number in range(500):
        columns.column(f"key-{number}")
        assert columns.column("often") is often
    again = columns.column("seldom")

    assert again is not seldom
    assert again.value(0) == "b"


def test_a_key_that_no_row_carries_has_no_column() -> None:
    """Semantics §9.8: whoever writes selectors names as many keys as they like."""
    columns = LabelColumns()
    columns.write(0, (("a", "1"),))
    columns.write(1, (("a", "2"), ("b", "1")))
    kept = columns.column("a")
    for number in range(1000):
        assert columns.column(f"key-{number}").values(slice(0, 2)) == [None, None]
    assert columns.column("a") is kept
    assert columns.column("b").values(slice(0, 2)) == [None, "1"]
    columns.remove(1)
    assert columns.column("b").values(slice(0, 1)) == [None]
    columns.write(0, (("b", "3"),))
    assert columns.column("b").values(slice(0, 1)) == ["3"]
    assert columns.column("a").values(slice(0, 1)) == [None]


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        pytest.param(Toleration("gpu", value="a100"), True, id="equal key and value, any effect"),
        pytest.param(Toleration("gpu", value="h100"), False, id="another value"),
        pytest.param(Toleration("disk", value="a100"), False, id="another key"),
        pytest.param(Toleration("gpu", TolerationOperator.EXISTS), True, id="exists"),
        pytest.param(Toleration("", TolerationOperator.EXISTS), True, id="exists without a key"),
        pytest.param(
            Toleration("", TolerationOperator.EXISTS, effect=Effect.NO_EXECUTE), False,
            id="another effect",
        ),
        pytest.param(
            Toleration("gpu", TolerationOperator.EXISTS, effect=Effect.NO_SCHEDULE), True,
            id="the same effect",
        ),
        pytest.param(Toleration("gpu", TolerationOperator.GREATER_THAN, "1"), False, id="Gt off"),
        pytest.param(Toleration("gpu", TolerationOperator.LESS_THAN, "1"), False, id="Lt off"),
    ],
)  # fmt: skip
def test_a_toleration_covers_a_taint(toleration: Toleration, *, tolerates: bool) -> None:
    assert toleration.tolerates(Taint("gpu", "a100", Effect.NO_SCHEDULE)) is tolerates
