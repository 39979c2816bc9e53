# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Times as the API writes them: RFC 3339 in UTC, to and from seconds since the epoch."""

from datetime import UTC, datetime


def time_text(seconds: float) -> str:
    """A metav1.Time: whole seconds, the rest cut off."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time_text(seconds: float) -> str:
    """A metav1.MicroTime: six decimals."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_of(text: str) -> float | None:
    """Seconds since the epoch of an RFC 3339 time; None if it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo else None
