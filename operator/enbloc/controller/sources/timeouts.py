# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The schedule timeout that an object's annotation sets for its PodGroups."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from enbloc.controller.sources.source import LONGEST_TIMEOUT, Called, Derived, TreeNode
from enbloc.model.names import SCHEDULE_TIMEOUT_KEY
from enbloc.model.text import quoted, whole_number
from enbloc.wire.objects import Metadata

_FIELD: Final = "scheduleTimeoutSeconds"
_MOST_DIGITS: Final = 8


def with_timeout(found: Called, metadata: Metadata) -> Called:
    """What an object calls for, with the `scheduleTimeoutSeconds` of its annotation.

    An invalid annotation is ignored, with a note.
    """
    text = (metadata.annotations or {}).get(SCHEDULE_TIMEOUT_KEY)
    if text is None:
        return found
    if isinstance(found, Derived):
        return _timed(found, text, {})
    if isinstance(found, TreeNode):
        return _of_node(found, text)
    if isinstance(found, tuple):
        specs: dict[int, Mapping[str, Any]] = {}
        return tuple(_timed(each, text, specs) for each in found)
    return found


def _timed(found: Derived, text: str, specs: dict[int, Mapping[str, Any]]) -> Derived:
    seconds = _seconds(text)
    if seconds is None:
        return replace(found, ignored=_also(found.ignored, _no_number(text)))
    # PodGroups that share a spec continue to share one.
    spec = specs.setdefault(id(found.spec), {**found.spec, _FIELD: seconds})
    return replace(found, spec=spec)


def _of_node(found: TreeNode, text: str) -> TreeNode:
    """The PodGroup of a tree has the timeout of its root."""
    seconds = _seconds(text)
    if seconds is None:
        return replace(found, ignored=_also(found.ignored, _no_number(text)))
    if found.root:
        return replace(found, spec={**found.spec, _FIELD: seconds})
    note = f"annotation {SCHEDULE_TIMEOUT_KEY} is ignored: that of the root of its tree counts"
    return replace(found, ignored=_also(found.ignored, note))


def _seconds(text: str) -> int | None:
    seconds = whole_number(text, _MOST_DIGITS)
    return seconds if seconds is not None and seconds <= LONGEST_TIMEOUT else None


def _no_number(text: str) -> str:
    return (
        f"annotation {SCHEDULE_TIMEOUT_KEY} is ignored: {quoted(text)} is no number of seconds "
        f"from 0 to {LONGEST_TIMEOUT}"
    )


def _also(ignored: str, note: str) -> str:
    return "; ".join(filter(None, (ignored, note)))
