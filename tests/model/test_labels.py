# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Requirements, tolerations, and the interned columns that answer them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.labels import Interned, allowed
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

    mask = allowed(column, requirement)[column.cells]

    assert mask.tolist() == [requirement.matches(value) for value in values]


@pytest.mark.parametrize("missing_in_use", [True, False])
def test_copying_a_column_leaves_out_values_that_no_row_has(*, missing_in_use: bool) -> None:
    column: Interned[str | None] = Interned(None, 3)
    for number in range(500):
        column.set(0, f"gone-{number}")
    column.set(0, "kept")
    column.set(1, None if missing_in_use else "other")

    twin = column.copy(2, 8)

    assert [twin.value(0), twin.value(1)] == ["kept", None if missing_in_use else "other"]
    assert twin.code("gone-7") == -1
    assert twin.code("kept") == twin.cells[0] != 0
    assert len(twin.where(lambda value: value is None)) == (2 if missing_in_use else 3)
    assert column.code("gone-7") > 0
    assert not twin.cells[2:].any()


def test_a_copy_lives_its_own_life() -> None:
    column: Interned[str | None] = Interned(None, 2)
    column.set(0, "a")
    twin = column.copy(2, 2)
    twin.set(0, "b")
    column.set(1, "c")

    assert (column.value(0), column.value(1)) == ("a", "c")
    assert (twin.value(0), twin.value(1)) == ("b", None)
    assert np.array_equal(twin.count(lambda value: len(value or "")), [0, 1, 1])


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
