# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Quarantine: nodes that get no gang members for a while, as the scheduler's events on them say.

It is in the memory of a running scheduler and in those events; no list that a scheduler starts with
tells of it.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from enbloc.model.names import SCHEDULER_REPORTER, EventReason
from enbloc.model.times import seconds_of

#: The longest that is believed (seconds): an event lives for an hour.
_LONGEST: Final = 3600
#: An event of a later time than now is believed for so long, as clocks differ (seconds).
_AHEAD: Final = 300
_NOTE: Final = re.compile(r"Quarantined for gangs for ([0-9]{1,8})s: ")


class _About(msgspec.Struct):
    kind: str = ""
    name: str = ""


class NodeEvent(msgspec.Struct, rename="camel"):
    """An event, as far as it matters here."""

    reason: str = ""
    message: str | None = None
    event_time: str | None = None
    reporting_component: str | None = None
    involved_object: _About | None = None


def quarantined(events: Iterable[NodeEvent], now: float) -> Mapping[str, float]:
    """By node until when it is in quarantine, in server seconds; that may be over.

    Args:
        events: of the reason NodeQuarantined, in any order; others say nothing.
        now: server time, in seconds; events of a future say nothing.
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
