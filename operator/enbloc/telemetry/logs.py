# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Log lines: JSON for collectors, readable text on a terminal.

What they tell comes from objects, servers and plugins too. So text is escaped (JSON is by itself):
a line of the log is one of ours. And whoever logged it, no line shows the credentials of a URL or
of an HTTP header.
"""

import json
import logging
import sys
from typing import Any, Final, Literal, TextIO

from pythonjsonlogger.json import JsonFormatter

from enbloc.model.credentials import without_credentials
from enbloc.model.text import clipped, printable
from enbloc.model.times import micro_time_text

#: What every record has; the rest came by ``extra=``.
_STANDARD: Final = frozenset(
    {*vars(logging.LogRecord("", 0, "", 0, "", (), None)), "message", "asctime", "taskName"}
)

#: The longest message, and the longest value, of a line (characters).
MOST_SAID: Final = 8192
#: What ends a value, or begins a quoted one.
_ENDS: Final = ' ="\\'


class _Json(JsonFormatter):
    """One JSON object a line: timestamp, severity, message, logger, then what extra= gave."""

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        return without_credentials(super().format(record))

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        """Fill the object."""
        log_data["timestamp"] = micro_time_text(record.created)
        log_data["severity"] = record.levelname.lower()
        log_data["message"] = clipped(record.getMessage(), MOST_SAID)
        log_data["logger"] = record.name
        log_data.update(_extra(record))
        error = message_dict.get("exc_info")
        if error:
            log_data["err"] = error


class _Text(logging.Formatter):
    """For people: time, severity, message, then key=value."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback, indented, if there is one."""
        pairs = "".join(f"  {key}={_value(value)}" for key, value in _extra(record).items())
        clock = micro_time_text(record.created)[11:23]
        lines = [f"{clock} {record.levelname:<7} {clipped(record.getMessage(), MOST_SAID)}{pairs}"]
        if record.exc_info:
            lines += self.formatException(record.exc_info).splitlines()
        return without_credentials("\n    ".join(map(printable, lines)))


def _value(value: object) -> str:
    """A value, quoted where it could be taken for more than one."""
    text = str(value)
    return text if not any(char in text for char in _ENDS) else json.dumps(text, ensure_ascii=False)


def configure_logging(
    form: Literal["auto", "json", "text"] = "auto",
    level: str = "INFO",
    stream: TextIO | None = None,
) -> None:
    """Send all log records to a stream.

    Args:
        form: "auto" is text on a terminal, else JSON.
        level: the least severity that is shown.
        stream: standard error by default.
    """
    target = stream or sys.stderr
    if form == "auto":
        form = "text" if target.isatty() else "json"
    handler = logging.StreamHandler(target)
    handler.setFormatter(_Json() if form == "json" else _Text())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    """What ``extra=`` gave, without what is empty."""
    return {
        key: clipped(value, MOST_SAID) if isinstance(value, str) else value
        for key, value in vars(record).items()
        if key not in _STANDARD and value not in (None, "")
    }
