# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Our keys that have no effect on a workload, or on another project's PodGroup."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeVar

from enbloc.controller.sources.source import Called, Derived, TreeNode
from enbloc.controller.sources.topology_keys import FIELDS
from enbloc.model.names import API_GROUP, SCHEDULE_TIMEOUT_KEY
from enbloc.model.near_misses import near_miss
from enbloc.wire.objects import Metadata

_PREFIX: Final = f"{API_GROUP}/"
#: Keys that these objects may have only as annotations.
_ANNOTATIONS: Final = frozenset((*FIELDS, SCHEDULE_TIMEOUT_KEY))


def with_unread(found: Called, metadata: Metadata) -> Called:
    """What an object calls for, with notes on keys that are misspelt, or labels for annotations."""
    notes = [*_notes(metadata)]
    if not notes:
        return found
    if isinstance(found, Derived):
        return _noted(found, notes)
    if isinstance(found, TreeNode):
        return _noted(found, notes)
    if isinstance(found, tuple) and found:
        first, *others = found
        return (_noted(first, notes), *others)
    return found


def _notes(metadata: Metadata) -> Iterator[str]:
    for key in metadata.annotations or ():
        if key.startswith(_PREFIX) and (miss := near_miss(key)) is not None:
            yield f"annotation {key} {miss.said}"
    for key in metadata.labels or ():
        if key in _ANNOTATIONS:
            yield f"label {key} is ignored: write it as an annotation"


_Noted = TypeVar("_Noted", Derived, TreeNode)


def _noted(found: _Noted, notes: list[str]) -> _Noted:
    return replace(found, ignored="; ".join(filter(None, (found.ignored, *notes))))
