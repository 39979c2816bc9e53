# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Quantities become exact integers, as the API server would read and round them."""

from decimal import ROUND_CEILING, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils import parse_quantity

from enbloc.model.quantity import MAXIMUM, amount, milli, render, whole
from tests.effort import examples
from tests.strategies import quantity_texts


def ceiling(value: Decimal) -> int:
    return min(max(int(value.to_integral_value(ROUND_CEILING)), -MAXIMUM), MAXIMUM)


@examples(1000)
@given(quantity_texts)
def test_the_official_client_reads_the_same_number(text: str) -> None:
    with localcontext() as exact:
        exact.prec = 100
        official = parse_quantity(text)
        assert whole(text) == ceiling(official)
        assert milli(text) == ceiling(official * 1000)


@pytest.mark.parametrize(
    ("text", "thousandths", "units"),
    [
        pytest.param("100m", 100, 1, id="less than one unit is rounded up to one"),
        pytest.param("1.0001", 1001, 2, id="a fraction of a thousandth is rounded up"),
        pytest.param("1n", 1, 1, id="the smallest amount is still something"),
        pytest.param("0", 0, 0, id="nothing is nothing"),
        pytest.param("1.5Gi", 1_610_612_736_000, 1_610_612_736, id="binary suffix with a fraction"),
        pytest.param("1E", MAXIMUM, 10**18, id="E alone is exa, and thousandths of it are held"),
        pytest.param("1E3", 10**6, 1000, id="E with digits is an exponent"),
        pytest.param("1e-3", 1, 1, id="negative exponent"),
        pytest.param(".5", 500, 1, id="no integer part"),
        pytest.param("5.", 5000, 5, id="no fraction after the point"),
        pytest.param("-1.5", -1500, -1, id="a negative amount is rounded up too"),
        pytest.param("100Ei", MAXIMUM, MAXIMUM, id="too much is held at the largest int64"),
        pytest.param("1e999999999999999999", MAXIMUM, MAXIMUM, id="an absurd exponent is cheap"),
        pytest.param("1e-999999999999999999", 1, 1, id="as is an absurdly small one"),
        pytest.param(4, 4000, 4, id="a JSON number"),
        pytest.param(0.5, 500, 1, id="a JSON number with a fraction"),
    ],
)
def test_amounts_are_exact_and_rounded_up(text: str | float, thousandths: int, units: int) -> None:
    assert milli(text) == thousandths
    assert whole(text) == units


@pytest.mark.parametrize(
    "text",
    [
        "", "m", ".", "-", "1K", "1ki", " 1", "1 ", "1\n", "1_000", "1e", "1e3Ki", "0x1", "1.2.3",
        "٣", "nan", "inf", "1Mi5", "9" * 101,
    ],
)  # fmt: skip
def test_what_is_no_quantity_is_refused_by_its_own_text(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity; write digits") as refused:
        whole(text)
    assert f'"{text[:100]}"' in str(refused.value)


def test_cpu_is_in_thousandths_and_all_else_in_units() -> None:
    assert amount("cpu", "1500m") == 1500
    assert amount("memory", "1Ki") == 1024


def test_a_negative_amount_is_refused_with_the_resource() -> None:
    with pytest.raises(ValueError, match=r'"-1" is negative; nvidia\.com/gpu must be zero'):
        amount("nvidia.com/gpu", "-1")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 64_000, "64"),
        ("memory", 256 * 2**30, "256Gi"),
        ("memory", 1000, "1000"),
        ("memory", 0, "0"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("ephemeral-storage", 3 * 2**60, "3Ei"),
        ("nvidia.com/gpu", 1024, "1024"),
        ("pods", 110, "110"),
    ],
)
def test_amounts_are_written_canonically(name: str, value: int, text: str) -> None:
    assert render(name, value) == text


@given(st.sampled_from(("cpu", "memory", "nvidia.com/gpu")), st.integers(0, MAXIMUM))
def test_what_is_written_reads_back(name: str, value: int) -> None:
    assert amount(name, render(name, value)) == value
