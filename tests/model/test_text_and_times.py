# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.text import clipped, printable, quoted, sentences, whole_number
from enbloc.model.times import micro_time_text, seconds_of, span_text, time_text

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
        pytest.param("why: " + "x" * 20, 15, "why: xxxxxxxxx…", id="and keep what fits of it"),
    ],
)
def test_a_long_message_is_cut_between_words(message: str, limit: int, short: str) -> None:
    assert clipped(message, limit) == short


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        pytest.param((), "", id="nothing"),
        pytest.param(("", "one"), "one", id="one"),
        pytest.param(("one", "", "two", "three."), "one. two. three.", id="several"),
        pytest.param(("one.", "two…", "three"), "one. two… three", id="that have an end"),
    ],
)
def test_sentences_are_kept_apart(texts: tuple[str, ...], line: str) -> None:
    assert sentences(*texts) == line


@given(st.text())
def test_a_text_of_anybody_becomes_one_line_of_visible_characters(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GPU → 3 of 8 … ≥ é 日本", "GPU → 3 of 8 … ≥ é 日本"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31mred\x9b0m", r"\x1b[31mred\x9b0m"),
        ("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066"),
        ("a\u200bb\ufeffc\u2060\u00ad", r"a\u200bb\ufeffc\u2060\xad"),
        ("e\u0301\u0336", r"e\u0301\u0336"),
        ("\u3164\u2800", r"\u3164\u2800"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_a_terminal_obeys_or_nobody_sees_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_line_breaks_that_are_wanted_stay() -> None:
    assert printable("a\nb\x1b", keep="\n") == "a\nb\\x1b"


@given(st.text())
def test_what_is_quoted_cannot_end_the_quotes(text: str) -> None:
    shown = quoted(text)
    inner = shown[1:].removesuffix("…").removesuffix('"')
    assert '"' not in inner.replace("\\\\", "").replace('\\"', "")
    assert len(shown) <= 10 * 80 + 3


def test_a_long_quotation_is_cut() -> None:
    assert quoted('say "hi"\n') == r'"say \"hi\"\n"'
    assert quoted("x" * 300) == f'"{"x" * 80}"…'


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


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0s"), (119.9, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h"), (172_800, "2d")],
)
def test_a_span_has_the_unit_of_which_there_are_two(seconds: float, text: str) -> None:
    assert span_text(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"),
        (0.1, "1s"),
        (118.5, "119s"),
        (120, "2m"),
        (121, "3m"),
        (7201, "3h"),
        (9e4, "25h"),
    ],
)
def test_what_is_the_latest_time_is_rounded_up(seconds: float, text: str) -> None:
    assert span_text(seconds, up=True) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("007", 7),
        ("1234", None),
        ("", None),
        ("-1", None),
        ("1.0", None),
        ("\u0663", None),
    ],
)
def test_a_whole_number_is_written_with_a_few_ascii_digits(text: str, number: int | None) -> None:
    assert whole_number(text, 3) == number
