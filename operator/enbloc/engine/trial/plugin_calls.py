# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Plugin calls: exceptions and breaches of contract of a plugin become one PluginError."""

import math
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from enbloc.errors import PluginError
from enbloc.framework import decide
from enbloc.framework.status import Code, Status
from enbloc.model.nodes import Mask, Nodes
from enbloc.model.pods import Pod

T = TypeVar("T")

_BOOL: Final = np.dtype(np.bool_)
#: What a plugin may answer at a point beside SUCCESS and a refusal.
_FURTHER: Final = {"PreFilter": Code.SKIP, "PostFilter": Code.ERROR, "Permit": Code.WAIT}
_NUMBERS: Final = (np.dtype(np.int64), np.dtype(np.float64))


class Stopwatch(Protocol):
    """Times the plugin calls of some decisions; nothing may depend on it."""

    def begin(self, profile: str) -> bool:
        """Begin a decision; return whether its calls are to be timed."""
        ...

    def call(self, plugin: str, point: str, question: Callable[..., T], *arguments: Any) -> T:
        """Call a plugin, return its answer, and raise what it raises."""
        ...

    def end(self) -> None:
        """End the decision that was timed."""
        ...


#: Times the calls of the current decision.
_STOPWATCH: Final[ContextVar[Stopwatch | None]] = ContextVar("stopwatch", default=None)


def timed(stopwatch: Stopwatch, decide: Callable[..., T], *arguments: Any) -> T:
    """Decide, with every plugin call timed."""
    before = _STOPWATCH.set(stopwatch)
    try:
        return decide(*arguments)
    finally:
        _STOPWATCH.reset(before)
        stopwatch.end()


def asked(plugin: str, point: str, question: Callable[..., T], *arguments: Any) -> T:
    """Call a plugin; whatever it raises becomes one PluginError."""
    stopwatch = _STOPWATCH.get()
    try:
        if stopwatch is not None:
            return stopwatch.call(plugin, point, question, *arguments)
        return question(*arguments)
    except PluginError:
        raise
    except Exception as error:
        raise _fault(plugin, point, error) from error


def checked(plugin: str, point: str, check: Callable[..., T], *arguments: Any) -> T:
    """Read a plugin's answer: whatever that raises is the plugin's error, but no call of it."""
    try:
        return check(*arguments)
    except PluginError:
        raise
    except Exception as error:
        raise _fault(plugin, point, error) from error


def _fault(plugin: str, point: str, error: Exception) -> PluginError:
    return PluginError(plugin, point, f"{type(error).__name__}: {error}")


def asked_each(plugin: str, question: Callable[..., Iterable[T]], *arguments: Any) -> tuple[T, ...]:
    """Call a plugin at Filter as `asked` does; return all that its answer holds or yields."""
    return asked(plugin, "Filter", _each, question, *arguments)


def _each(question: Callable[..., Iterable[T]], *arguments: Any) -> tuple[T, ...]:
    return tuple(question(*arguments))


def asked_unchecked(
    plugin: str, point: str, question: Callable[..., object], *arguments: Any
) -> object:
    """Call a plugin as `asked` does; the caller checks the answer."""
    return asked(plugin, point, question, *arguments)


def asked_status(
    plugin: str, point: str, question: Callable[..., object], *arguments: Any
) -> Status:
    """Call a plugin as `asked` does; the answer must be a Status with a code of that point."""
    status = asked(plugin, point, question, *arguments)
    if not isinstance(status, Status):
        raise PluginError(plugin, point, f"expected a Status, got {shape_of(status)}")
    if not _is_number(status.timeout):
        raise PluginError(plugin, point, f"expected a timeout in seconds, got {status.timeout!r}")
    if not (status.ok or status.rejected or status.code is _FURTHER.get(point)):
        raise PluginError(plugin, point, status.message or f"answered {status.code.name}")
    return status


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not math.isnan(value)


def asked_mask(plugin: str, evaluator: decide.Filter, pod: Pod, nodes: Nodes) -> Mask:
    """Return a Filter's answer about some nodes, which must be one bool for each of them."""
    return checked_mask(plugin, asked(plugin, "Filter", evaluator.filter, pod, nodes), len(nodes))


def checked_mask(plugin: str, mask: object, count: int) -> Mask:
    """Return a plugin's answer, which must be one bool for each node."""
    if not isinstance(mask, np.ndarray) or mask.dtype != _BOOL or mask.shape != (count,):
        raise PluginError(plugin, "Filter", f"expected bool[{count}], got {shape_of(mask)}")
    return mask


def checked_scores(plugin: str, scores: object, count: int, point: str = "Score") -> decide.Scores:
    """Return a Score's or NormalizeScore's answer, which must be one finite number per node."""
    if (
        not isinstance(scores, np.ndarray)
        or scores.dtype not in _NUMBERS
        or scores.shape != (count,)
    ):
        raise PluginError(
            plugin, point, f"expected int64[{count}] or float64[{count}], got {shape_of(scores)}"
        )
    if scores.dtype == _NUMBERS[1] and not np.isfinite(scores).all():
        raise PluginError(plugin, point, "the scores contain NaN or infinity")
    return scores


def shape_of(value: object) -> str:
    """Return what something is, in the words of the contract: "bool[3]", "NoneType"."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return type(value).__name__
