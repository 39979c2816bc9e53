# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""kopf's log lines as lines of ours: one formatter, no tracebacks of what is handled elsewhere."""

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

log = logging.getLogger(__name__)

#: What kopf says on every try although it goes on trying, or about what is meant to be so.
_HARMLESS: Final = ("Request attempt #", "OS signals are ignored")
_UNSERVED: Final = "Unresolved resources cannot be served"


class KopfLogHandler(logging.Handler):
    """Takes over kopf's loggers while it is entered.

    Warnings and errors come through as one line each. What kopf logs with a traceback it raises
    as well, so that we say it ourselves; that, its retries and its chatter become debug lines.

    Args:
        unserved: called, in kopf's thread, when kopf found that no PodGroups are served: it
            would then wait for ever, because it does not watch for new kinds.
    """

    def __init__(self, unserved: Callable[[], None]) -> None:
        super().__init__()
        self._unserved = unserved
        self._kopf = logging.getLogger("kopf")
        self._before = (self._kopf.handlers, self._kopf.propagate)

    def __enter__(self) -> Self:
        self._before = (self._kopf.handlers, self._kopf.propagate)
        self._kopf.handlers, self._kopf.propagate = [self], False
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._kopf.handlers, self._kopf.propagate = self._before

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one record on."""
        message = record.getMessage()
        if message.startswith(_UNSERVED):
            self._unserved()
        handled = record.exc_info or message.startswith((*_HARMLESS, _UNSERVED))
        level = logging.DEBUG if handled or record.levelno <= logging.INFO else record.levelno
        log.log(level, "kopf: %s", message, exc_info=record.exc_info)
