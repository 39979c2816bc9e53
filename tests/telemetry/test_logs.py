# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Log lines are JSON with fixed keys, or text for people."""

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from enbloc.telemetry import configure_logging

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
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} DEBUG   Placed pod group  podGroup=a/b\n", text)


def test_text_shows_tracebacks() -> None:
    stream = io.StringIO()
    configure_logging("text", stream=stream)
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        log.exception("Broke")
    assert "Broke\nTraceback" in stream.getvalue()
