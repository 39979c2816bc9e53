# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.text import clipped
from enbloc.model.times import micro_time_text, seconds_of, time_text

#: From 1970 to 9999.
SECONDS = st.integers(0, 253_402_300_799)


@given(st.text(min_size=0, max_size=3000))
def test_a_message_fits_and_keeps_its_beginning(message: str) -> None:
    short = clipped(message)
    assert len(short) <= 1024
    assert message.startswith(short.removesuffix("…"))
    assert len(message) > 1024 or short == message


@pytest.mark.parametrize(
    ("message", "limit", "short"),
    [
        pytest.param("short", 5, "short", id="what fits stays"),
        pytest.param("three little words", 14, "three little…", id="cut between words"),
        pytest.param("three little words", 13, "three little…", id="at the end of a word"),
        pytest.param("x" * 20, 9, "x" * 8 + "…", id="cut in a word that is too long"),
    ],
)
def test_a_long_message_is_cut_between_words(message: str, limit: int, short: str) -> None:
    assert clipped(message, limit) == short


def test_times_are_whole_seconds_in_utc() -> None:
    assert time_text(0.9) == "1970-01-01T00:00:00Z"
    assert micro_time_text(0.25) == "1970-01-01T00:00:00.250000Z"


@given(SECONDS)
def test_what_was_written_can_be_read(seconds: int) -> None:
    assert seconds_of(time_text(seconds)) == seconds
    assert seconds_of(micro_time_text(seconds)) == seconds


@pytest.mark.parametrize(
    "text",
    ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "9999-12-31T23:59:59.9999999Z"],
)
def test_what_cannot_be_written_in_utc_is_not_read_either(text: str) -> None:
    assert seconds_of(text) is None


@pytest.mark.parametrize("text", ["", "soon", "2026-01-01T00:00:00"])
def test_what_is_no_rfc_3339_time_is_none(text: str) -> None:
    assert seconds_of(text) is None
