# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Quarantine: nodes that get no gang members for a while, by the scheduler's events on them.

It exists only in the memory of a running scheduler and in these events, not in any other object.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from enbloc.model.names import SCHEDULER_REPORTER, EventReason
from enbloc.model.times import seconds_of

#: The longest quarantine that counts (seconds): an event lives for an hour.
_LONGEST: Final = 3600
#: How far in the future an event may be, because clocks differ (seconds).
_AHEAD: Final = 300
_NOTE: Final = re.compile(r"Quarantined for gangs for ([0-9]{1,8})s: ")


class _About(msgspec.Struct):
    kind: str = ""
    name: str = ""


class NodeEvent(msgspec.Struct, rename="camel"):
    """The fields of an event that matter here."""

    reason: str = ""
    message: str | None = None
    event_time: str | None = None
    reporting_component: str | None = None
    involved_object: _About | None = None


def quarantined(events: Iterable[NodeEvent], now: float) -> Mapping[str, float]:
    """Node → the end of its quarantine, in server seconds; it may be in the past.

    Args:
        events: of the reason NodeQuarantined, in any order; others are ignored.
        now: server time, in seconds; events more than _AHEAD later are ignored.
    """
    found: dict[str, float] = {}
    for event in events:
        told = _NOTE.match(event.message or "")
        began = seconds_of(event.event_time or "")
        about = event.involved_object
        if (
            told is not None
            and began is not None
            and began <= now + _AHEAD
            and about is not None
            and about.kind == "Node"
            and event.reason == EventReason.NODE_QUARANTINED
            and event.reporting_component == SCHEDULER_REPORTER
        ):
            until = began + min(_LONGEST, int(told[1]))
            found[about.name] = max(until, found.get(about.name, until))
    return found
