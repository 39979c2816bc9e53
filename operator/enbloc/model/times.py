# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Times as the API writes them: RFC 3339 in UTC, to and from seconds since the epoch."""

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


def span_text(seconds: float) -> str:
    """A time span as kubectl shows ages: 45s, 12m, 3h, 2d; below zero it is 0s."""
    whole = max(0, int(seconds))
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 2 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    return f"{whole // _DAY}d"
