# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Point: the extension points by kube-scheduler's names, and which of them an object has."""

import enum
import inspect
from collections.abc import Mapping
from types import FunctionType
from typing import Final, Generic, Protocol

from enbloc.framework import act, decide


class Point(enum.StrEnum):
    """An extension point, spelled as in KubeSchedulerConfiguration, in the order of a cycle."""

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"


#: The protocols that an object must have to be asked at a point. One that returns an evaluator at
#: PreFilter (PreScore) is asked at Filter (Score) through it.
_PROTOCOLS: Final[Mapping[Point, tuple[type, ...]]] = {
    Point.PRE_ENQUEUE: (decide.PreEnqueue,),
    Point.QUEUE_SORT: (decide.QueueSort,),
    Point.PRE_FILTER: (decide.PreFilter,),
    Point.FILTER: (decide.Filter, decide.PreFilter),
    Point.POST_FILTER: (decide.PostFilter, decide.Preempts),
    Point.PRE_SCORE: (decide.PreScore,),
    Point.SCORE: (decide.Score, decide.ScoreAmong, decide.PreScore),
    Point.RESERVE: (decide.Reserve,),
    Point.PERMIT: (decide.Permit,),
    Point.PRE_BIND: (act.PreBind,),
    Point.BIND: (act.Bind,),
    Point.POST_BIND: (act.PostBind,),
}

_MEMORY_PROTOCOLS: Final[Mapping[Point, type[object]]] = {
    Point.FILTER: decide.MemoryFilter,
    Point.SCORE: decide.MemoryScore,
}


def points_of(plugin: object) -> frozenset[Point]:
    """The extension points at which a plugin can be asked."""
    found = frozenset(
        point
        for point, protocols in _PROTOCOLS.items()
        if any(decide.implements(plugin, protocol) for protocol in protocols)
    )
    return found | memory_points(plugin)


def memory_points(plugin: object) -> frozenset[Point]:
    """The extension points at which the memory of a plugin can be asked."""
    if not decide.implements(plugin, decide.Observes):
        return frozenset()
    memory = plugin.new_memory()
    return frozenset(
        point
        for point, protocol in _MEMORY_PROTOCOLS.items()
        if decide.implements(memory, protocol)
    )


def unmet(plugin: object) -> Mapping[Point, str]:
    """Why a method of a plugin is never called, by point: what else the plugin lacks for it."""
    found: dict[Point, str] = {}
    for point, protocols in _PROTOCOLS.items():
        for protocol in protocols:
            if text := lacks(plugin, protocol):
                found[point] = f"its method {text}"
    if decide.implements(plugin, decide.Observes):
        memory = plugin.new_memory()
        for point, protocol in _MEMORY_PROTOCOLS.items():
            if text := lacks(memory, protocol):
                found[point] = f"its memory's method {text}"
    return found


def lacks(value: object, protocol: type[object]) -> str:
    """What an object lacks for a protocol whose method it has; "" = nothing, or no such method."""
    # The first method that the protocol has itself is the one that is asked.
    method = next(name for name, each in vars(protocol).items() if _is_method(name, each))
    absent = [name for name in _members(protocol) if not hasattr(value, name)]
    if not absent or not hasattr(value, method):
        return ""
    return f"`{method}` needs {' and '.join(f'`{name}`' for name in absent)} beside it"


def _members(protocol: type[object]) -> list[str]:
    """The names of the attributes and methods that a protocol requires."""
    found: list[str] = []
    for base in protocol.__mro__:
        if base not in (object, Generic, Protocol):
            found += inspect.get_annotations(base)
            found += [name for name, each in vars(base).items() if _is_method(name, each)]
    return found


def _is_method(name: str, value: object) -> bool:
    return isinstance(value, FunctionType) and not name.startswith("_")
