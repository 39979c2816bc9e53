# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How long plugins take: in some decisions, and for every member that is bound."""

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Self, TypeVar

from enbloc.client.errors import Fenced
from enbloc.framework.status import Code, Status
from enbloc.live.traces import Traces
from enbloc.telemetry import metrics

T = TypeVar("T")

#: One decision in so many is timed, as kube-scheduler does. Source: kube-scheduler v1.36
#: pkg/scheduler/schedule_one.go pluginMetricsSamplePercent.
SAMPLED: Final = 10

#: At these points kube-scheduler counts how often a plugin is asked.
_COUNTED: Final = frozenset({"PreFilter", "Filter", "PreScore", "Score"})
#: As kube-scheduler spells the points that it measures.
_SPELLED: Final = {"NormalizeScore": "ScoreExtensionNormalize"}
_CODES: Final = {code: "".join(map(str.title, code.name.split("_"))) for code in Code}
_ERROR: Final = _CODES[Code.ERROR]
_SUCCESS: Final = _CODES[Code.SUCCESS]
#: Of a plugin that was not asked; no answer of a plugin is this very object.
_UNASKED: Final = Status(Code.SKIP)

logger = logging.getLogger(__name__)


def _name(code: object) -> str:
    """A status code as kube-scheduler spells it; a plugin may have put anything in its place."""
    return _CODES[code] if isinstance(code, Code) else _ERROR


class PluginTimes:
    """Times the calls of one decision in SAMPLED; the engine's stopwatch.

    Args:
        traces: are told of every call, of every decision; None = nobody is.
    """

    def __init__(self, traces: Traces | None = None) -> None:
        self._traces = traces
        #: How many have begun; and of the latest, whether it is timed, and its profile.
        self._decisions = 0
        self._sampled = False
        self._profile = ""
        #: Of the decision that is timed: per point the seconds and the status; and who was asked.
        self._points: dict[str, list[Any]] = {}
        self._asked: Counter[tuple[str, str]] = Counter()

    def begin(self, profile: str) -> bool:
        """A decision begins; whether it is one of those that are timed."""
        self._decisions += 1
        self._profile = profile
        self._sampled = self._decisions % SAMPLED == 0
        return self._sampled or self._traces is not None

    def call(self, plugin: str, point: str, question: Callable[..., T], *arguments: Any) -> T:
        """Ask a plugin, and measure that."""
        status = _ERROR
        began = time.perf_counter()
        try:
            answer = question(*arguments)
            status = _name(answer.code) if isinstance(answer, Status) else _SUCCESS
        finally:
            seconds = time.perf_counter() - began
            if self._traces is not None:
                self._traces.called(point, seconds)
            if self._sampled:
                self._took(plugin, _SPELLED.get(point, point), status, seconds)
        return answer

    def _took(self, plugin: str, point: str, status: str, seconds: float) -> None:
        metrics.series(metrics.PLUGIN_DURATION, plugin, point, status).observe(seconds)
        if point in _COUNTED:
            self._asked[plugin, point] += SAMPLED
        total = self._points.setdefault(point, [0.0, _SUCCESS])
        total[0] += seconds
        if status != _SUCCESS:  # as upstream, a point ends with who did not agree
            total[1] = status

    def end(self) -> None:
        """The decision is over: show how long each point took."""
        for point, (seconds, status) in self._points.items():
            labels = point, status, self._profile
            metrics.series(metrics.EXTENSION_POINT_DURATION, *labels).observe(seconds)
        self._points.clear()
        for (plugin, point), calls in self._asked.items():
            metrics.series(metrics.PLUGIN_EVALUATIONS, plugin, point, self._profile).inc(calls)
        self._asked.clear()


class MemberCall:
    """Measures one call of a plugin about one member, and makes an answer of what it raises.

    Fenced is raised on: something was not sent, for this process is no longer surely the leader.

    Attributes:
        status: the answer; SKIP while the plugin was not asked.

    Args:
        profile: whose plugin.
        plugin: its name.
        point: the extension point, as kube-scheduler spells it.
    """

    __slots__ = ("_began", "_plugin", "_point", "_profile", "status")

    def __init__(self, profile: str, plugin: str, point: str) -> None:
        self._profile, self._plugin, self._point = profile, plugin, point
        self.status = _UNASKED

    def answered(self, answer: object) -> None:
        """Take note of its answer, which is a Status if the plugin keeps its contract."""
        if not isinstance(answer, Status):
            raise TypeError(f"expected a Status, got {type(answer).__name__}")
        self.status = answer

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if error is None and self.status is _UNASKED:
            return False
        seconds = time.perf_counter() - self._began
        broke = isinstance(error, Exception) and not isinstance(error, Fenced)
        if broke:
            logger.error("Plugin %s failed at %s", self._plugin, self._point, exc_info=error)
            self.status = Status(Code.ERROR, str(error))
        status = _ERROR if error is not None else _name(self.status.code)
        metrics.series(metrics.PLUGIN_DURATION, self._plugin, self._point, status).observe(seconds)
        labels = self._point, status, self._profile
        metrics.series(metrics.EXTENSION_POINT_DURATION, *labels).observe(seconds)
        return broke
