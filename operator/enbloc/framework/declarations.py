# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Declarations: which attributes of a plugin, or of what it returns, have a wrong type.

The engine reads them outside of any call that could fail for one group alone, so they are checked
when the plugin is made.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from enbloc.framework.hints import Action, ClusterEvent, Resource
from enbloc.framework.reads import Reads

_MISSING: Final = object()


def _is_pattern(value: object) -> bool:
    given: Any = value  # its fields may have any type
    return (
        isinstance(value, ClusterEvent)
        and isinstance(given.resource, Resource)
        and isinstance(given.action, Action)
    )


def _is_events(value: object) -> bool:
    return isinstance(value, tuple | list | frozenset | set) and all(map(_is_pattern, value))


def _is_annotations(value: object) -> bool:
    return isinstance(value, tuple | list | frozenset | set) and all(
        isinstance(each, str) and each for each in value
    )


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value >= 0


#: Attribute → whether a value is right, and what it must be.
_DECLARED: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "reads": (lambda value: isinstance(value, Reads), "a Reads"),
    "reason": (lambda value: isinstance(value, str), "a str"),
    "narrows": (lambda value: isinstance(value, bool), "a bool"),
    "events": (_is_events, "a tuple of ClusterEvent, as in (ClusterEvent(resource, action),)"),
    "annotations": (_is_annotations, 'a tuple of texts, as in ("example.com/",)'),
    "level_places": (lambda value: isinstance(value, int), "an int"),
    "pre_bind_seconds": (_is_seconds, "a number of seconds"),
}
#: Those of an object that filters or scores.
EVALUATOR: Final = ("reads", "reason", "narrows")


def misdeclared(value: object, names: Iterable[str] = tuple(_DECLARED)) -> str:
    """Return which attribute has a wrong type, and which type is right; "" = none has.

    Args:
        value: a plugin, or an object that filters or scores; attributes that it lacks are right.
        names: the attributes to look at.
    """
    for name in names:
        found = getattr(value, name, _MISSING)
        is_right, right = _DECLARED[name]
        if found is not _MISSING and not is_right(found):
            return f"`{name}` must be {right}, not {found!r}"
    return ""
