# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Log lines: JSON for collectors, readable text on a terminal.

Their content may come from objects, servers and plugins. So text is escaped, as JSON is by itself:
nobody else can add a line to the log. No line shows the credentials of a URL or of an HTTP header,
whichever logger it comes from.
"""

import json
import logging
import sys
from typing import Any, Final, Literal, TextIO

from pythonjsonlogger.json import JsonFormatter

from enbloc.model.credentials import without_credentials
from enbloc.model.text import clipped, printable
from enbloc.model.times import micro_time_text

#: The attributes of every record; all others come from ``extra=``.
_STANDARD: Final = frozenset(
    {*vars(logging.LogRecord("", 0, "", 0, "", (), None)), "message", "asctime", "taskName"}
)

#: The longest message of a line, and its longest value (characters).
MOST_SAID: Final = 8192

#: Between INFO and DEBUG: lines about every pod.
DETAIL: Final = 15
#: Below DEBUG: lines about every request.
TRACE: Final = 5

#: What `--v` shows: the lowest number for each level, and what that level adds.
LEVELS: Final = (
    (
        0,
        logging.INFO,
        (
            "starts and stops, leader changes, problems; one line for each decision about a group, "
            "and for each decision that does not place a pod without a group"
        ),
    ),
    (2, DETAIL, "each pod without a group that is placed; every Binding with its outcome"),
    (4, logging.DEBUG, "retries with their reasons; log lines of kopf"),
    (6, TRACE, "every request to the API server: method, path, code and time"),
)

#: The keys of a line besides its message: what `extra=` may give.
KEYS: Final = {
    "pod": "the pod, as `namespace/name`",
    "node": "the node",
    "podGroup": "the PodGroup, as `namespace/name`; for a pod without one, `pod` instead",
    "object": "kind and name of an object of any other kind",
    "profile": "the profile, by its schedulerName",
    "cycle": "number of decisions that this process has made, including this one",
    "attempts": "number of attempts for the group or pod, including this one",
    "result": "result of a decision: scheduled, unschedulable, infeasible, waiting, error",
    "reason": "why the group or pod is not scheduled, or why a pod is evicted",
    "duration": "duration of the decision, Binding or request, in seconds",
    "placed": "number of members that got a node",
    "plan": "id of the plan, as in the annotation of the pods that it binds",
    "search": "what found a placement after the ordered pass, or why none was found",
    "steps": "number of steps of that search",
    "err": "the error; in JSON with the traceback of an exception",
    "extender": "the URL of an extender, without credentials",
    "server": "the URL of the API server, without credentials",
    "by": "source of that URL: a kubeconfig, the pod's service account or --master",
    "lease": "the Lease that the process waits for, as `namespace/name`",
    "holder": "holder of that Lease: name of its pod or machine, and a suffix",
    "leaderEpoch": "number of times that the Lease has changed holders",
    "method": "HTTP method of a request",
    "path": "path and query of a request",
    "plugin": "the plugin that was called",
    "priorityClass": "a PriorityClass that the configuration names",
    "code": "status code of the response; `<error>`: there was none",
}


class _Json(JsonFormatter):
    """One JSON object per line: timestamp, severity, message, logger, then the keys of extra=."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line."""
        return without_credentials(super().format(record))

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        """Fill the object."""
        log_data["timestamp"] = micro_time_text(record.created)
        log_data["severity"] = _severity(record).lower()
        log_data["message"] = clipped(record.getMessage(), MOST_SAID)
        log_data["logger"] = record.name
        log_data.update(_extra(record))
        error = message_dict.get("exc_info")
        if error:
            log_data["err"] = error


class _Text(logging.Formatter):
    """For people: time, severity, message, then key=value."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line, followed by its traceback, indented, if it has one."""
        pairs = "".join(f"  {key}={_value(value)}" for key, value in _extra(record).items())
        clock = micro_time_text(record.created)[11:23]
        lines = [f"{clock} {_severity(record):<7} {clipped(record.getMessage(), MOST_SAID)}{pairs}"]
        if record.exc_info:
            lines += self.formatException(record.exc_info).splitlines()
        return without_credentials("\n    ".join(map(printable, lines)))


def _value(value: object) -> str:
    """A value as in kube-scheduler's text format: numbers are bare, all else is quoted."""
    if isinstance(value, int | float):
        return str(value)
    return json.dumps(str(value), ensure_ascii=False)


def _severity(record: logging.LogRecord) -> str:
    """The severity, under a name that collectors know; also for enbloc's levels in between."""
    if record.levelno == DETAIL:
        return "INFO"
    return "DEBUG" if record.levelno < logging.DEBUG else record.levelname


def level_of(verbosity: int) -> int:
    """The lowest severity that `--v=verbosity` shows."""
    return next(level for least, level, _ in reversed(LEVELS) if max(0, verbosity) >= least)


def configure_logging(
    form: Literal["auto", "json", "text"] = "auto",
    level: str | int = "INFO",
    stream: TextIO | None = None,
) -> None:
    """Send all log records to a stream.

    Args:
        form: "auto" is text on a terminal, else JSON.
        level: the lowest severity that is shown.
        stream: standard error by default.
    """
    target = stream or sys.stderr
    if form == "auto":
        form = "text" if target.isatty() else "json"
    handler = logging.StreamHandler(target)
    handler.setFormatter(_Json() if form == "json" else _Text())
    logging.basicConfig(
        level=level if isinstance(level, int) else level.upper(), handlers=[handler], force=True
    )


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    """The values of ``extra=``, without empty ones."""
    return {
        key: clipped(value, MOST_SAID) if isinstance(value, str) else value
        for key, value in vars(record).items()
        if key not in _STANDARD and value not in (None, "")
    }
