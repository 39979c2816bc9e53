# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The schedule timeout that an annotation gives the PodGroups of an object."""

from dataclasses import replace
from typing import TypeVar

from enbloc.controller.sources.source import LONGEST_TIMEOUT, Derived, Node, Refused
from enbloc.model.names import SCHEDULE_TIMEOUT_KEY
from enbloc.model.objects import Metadata
from enbloc.model.text import quoted

_Found = TypeVar("_Found", bound="Derived | tuple[Derived, ...] | Refused | Node | None")


def with_timeout(found: _Found, metadata: Metadata) -> _Found:
    """What an object calls for, with the `scheduleTimeoutSeconds` of its annotation.

    An annotation that is no such number is ignored, and said to be.
    """
    text = (metadata.annotations or {}).get(SCHEDULE_TIMEOUT_KEY)
    if text is None:
        return found
    if isinstance(found, Derived):
        return _timed(found, text)  # type: ignore[return-value]  # of the same type
    if isinstance(found, tuple):
        return tuple(_timed(each, text) for each in found)  # type: ignore[return-value]
    return found


def _timed(found: Derived, text: str) -> Derived:
    if text.isascii() and text.isdigit() and len(text) < 9 and int(text) <= LONGEST_TIMEOUT:
        return replace(found, spec={**found.spec, "scheduleTimeoutSeconds": int(text)})
    note = (
        f"annotation {SCHEDULE_TIMEOUT_KEY} is ignored: {quoted(text)} is no number of seconds "
        f"from 0 to {LONGEST_TIMEOUT}"
    )
    return replace(found, ignored="; ".join(filter(None, (found.ignored, note))))
