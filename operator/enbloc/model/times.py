# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Times as the API writes them: RFC 3339 in UTC, to and from seconds since the epoch."""

import math
from datetime import UTC, datetime
from typing import Final

#: The error of a clock that follows the server's Date headers (seconds): these are cut to the
#: second, and arrive with a delay.
CLOCK_ERROR: Final = 2.0
#: 9999-12-31T23:59:59Z.
LAST_SECOND: Final = 253_402_300_799
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def time_text(seconds: float) -> str:
    """A metav1.Time: whole seconds, the rest cut off."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time_text(seconds: float) -> str:
    """A metav1.MicroTime: six decimals."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_of(text: str) -> float | None:
    """Seconds since the epoch of an RFC 3339 time from 1970 to 9999, in UTC; None if it is none.

    Within these limits, every time that is read can be written again, whatever its offset.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    seconds = moment.timestamp() if moment.tzinfo else -1.0
    return seconds if 0 <= seconds <= LAST_SECOND else None


def span_text(seconds: float, *, up: bool = False) -> str:
    """A time span as kubectl shows ages: 45s, 12m, 3h, 2d; below zero it is 0s.

    Args:
        seconds: the span.
        up: round up, as for the time after which something has happened for certain.
    """
    whole = max(0, math.ceil(seconds) if up else int(seconds))
    unit, letter = 1, "s"
    for length, name in ((_MINUTE, "m"), (_HOUR, "h"), (_DAY, "d")):
        if whole >= 2 * length:
            unit, letter = length, name
    return f"{-(-whole // unit) if up else whole // unit}{letter}"
