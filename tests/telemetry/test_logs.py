# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Log lines are JSON with fixed keys, or text for people."""

import ast
import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

import enbloc
from enbloc.telemetry import configure_logging
from enbloc.telemetry.logs import DETAIL, KEYS, TRACE, level_of

log = logging.getLogger("enbloc.test")


@pytest.fixture(autouse=True)
def root() -> Iterator[None]:
    """Leaves the root logger as it was."""
    before = logging.root.handlers[:], logging.root.level
    logging.root.handlers = []
    yield
    logging.root.handlers, level = before
    logging.root.setLevel(level)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_json_line_has_the_fixed_keys_first() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    log.info("Placed pod group %s", "a/b", extra={"podGroup": "a/b", "duration": 0.5, "node": ""})
    log.debug("hidden")
    line = json.loads(stream.getvalue())
    assert list(line) == ["timestamp", "severity", "message", "logger", "podGroup", "duration"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", line["timestamp"])
    assert line["severity"] == "info"
    assert line["message"] == "Placed pod group a/b"
    assert line["logger"] == "enbloc.test"


def test_an_exception_is_in_the_same_json_line() -> None:
    stream = io.StringIO()
    configure_logging("json", stream=stream)
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        log.exception("Broke")
    (line,) = stream.getvalue().splitlines()
    assert "ZeroDivisionError" in json.loads(line)["err"]


def test_a_terminal_gets_text() -> None:
    stream = Terminal()
    configure_logging(level="debug", stream=stream)
    log.debug("Placed pod group", extra={"podGroup": "a/b"})
    text = stream.getvalue()
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} DEBUG   Placed pod group  podGroup=\"a/b\"\n", text)


def test_text_shows_tracebacks() -> None:
    stream = io.StringIO()
    configure_logging("text", stream=stream)
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        log.exception("Broke")
    assert "Broke\n    Traceback" in stream.getvalue()


# ── what others wrote ────────────────────────────────────────────────────────────────────────

#: A line that looks like one of ours, colours, a title, a reversed and an invisible text.
HOSTILE = (
    "x\n12:00:00.000 INFO    Evicted a pod\r\x1b[31m\x1b]0;title\x07\x9b2J"
    "\u202egnp.exe\u200b\u2028\0"
)


def raised(text: str) -> ValueError:
    """An exception with a traceback."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # any text
        raise ValueError(text)
    return caught.value


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_text_of_somebody_else_is_one_line_of_visible_characters(form: Any) -> None:
    stream = io.StringIO()
    configure_logging(form, stream=stream)
    log.warning("Ignored %s", HOSTILE, extra={"podGroup": HOSTILE, "err": ValueError(HOSTILE)})
    written = stream.getvalue()
    assert written.count("\n") == 1
    assert written.endswith("\n")
    assert written[:-1].isprintable()


def test_a_value_cannot_pass_for_another_one() -> None:
    stream = io.StringIO()
    configure_logging("text", stream=stream)
    log.info("Placed", extra={"reason": 'x  podGroup=a/b  y="', "podGroup": "c/d"})
    assert stream.getvalue().endswith('Placed  reason="x  podGroup=a/b  y=\\""  podGroup="c/d"\n')


def test_an_exception_of_somebody_else_cannot_look_like_a_line_of_ours() -> None:
    stream = io.StringIO()
    configure_logging("text", stream=stream)
    log.error("Broke", exc_info=raised(HOSTILE))
    _, *traceback = stream.getvalue()[:-1].split("\n")
    assert traceback
    assert all(line.startswith("    ") and line.isprintable() for line in traceback)


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_line_has_a_bounded_length(form: Any) -> None:
    stream = io.StringIO()
    configure_logging(form, stream=stream)
    log.warning("Ignored %s", "x" * 10**6, extra={"podGroup": "y" * 10**6})
    assert len(stream.getvalue()) < 20_000


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_line_shows_the_credentials_of_a_url_or_of_a_header(form: Any) -> None:
    stream = io.StringIO()
    configure_logging(form, "DEBUG", stream=stream)
    url = "http://user:pass-word@127.0.0.1:8888/x"
    log.debug("GET %s", url, extra={"url": url}, exc_info=raised(url))
    headers = {"Authorization": "Bearer eyJhbGciOi.abc-def_1", "other": "Basic dXNlcjpzZWNyZXQ="}
    log.debug("%s", headers)
    written = stream.getvalue()
    for secret in ("pass-word", "user", "eyJhbGciOi", "dXNlcjpz"):
        assert secret not in written
    assert "http://***@127.0.0.1:8888/x" in written


def test_each_level_adds_to_the_one_before() -> None:
    levels = [level_of(verbosity) for verbosity in range(-1, 12)]
    assert levels == sorted(levels, reverse=True)
    assert (level_of(0), level_of(2), level_of(4), level_of(10)) == (20, DETAIL, 10, TRACE)


@pytest.mark.parametrize(("level", "severity"), [(DETAIL, "INFO"), (TRACE, "DEBUG")])
def test_levels_of_ours_have_a_severity_that_collectors_know(level: int, severity: str) -> None:
    forms: tuple[Literal["json", "text"], ...] = ("json", "text")
    for form in forms:
        stream = io.StringIO()
        configure_logging(form, level, stream)
        log.log(level, "Bound pod to node")
        assert severity in stream.getvalue().upper()
        assert "LEVEL" not in stream.getvalue().upper()


def test_text_quotes_strings_and_no_numbers_as_kube_scheduler_does() -> None:
    stream = io.StringIO()
    configure_logging("text", stream=stream)
    log.info("Bound pod to node", extra={"pod": "ns/a", "node": "n1", "duration": 0.5})
    assert stream.getvalue().endswith('  pod="ns/a"  node="n1"  duration=0.5\n')


def test_every_key_of_a_line_is_in_the_reference() -> None:
    """KEYS has those that the code gives by a literal, and no others."""
    given: set[str] = set()
    for path in Path(enbloc.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.keyword) or node.arg != "extra":
                continue
            keys = node.value.keys if isinstance(node.value, ast.Dict) else ()
            given |= {str(key.value) for key in keys if isinstance(key, ast.Constant)}
    assert {"pod", "node", "podGroup", "err"} <= given
    assert given <= KEYS.keys()
