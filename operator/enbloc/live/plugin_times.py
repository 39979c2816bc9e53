# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How long plugins take: in sampled decisions, and for every member that is bound."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Self, TypeVar

from enbloc.client.errors import Fenced
from enbloc.errors import PluginError
from enbloc.framework.status import Code, Status
from enbloc.live.traces import Traces
from enbloc.telemetry import metrics

T = TypeVar("T")

#: One decision in this many is timed, as in kube-scheduler. Source: kube-scheduler v1.36
#: pkg/scheduler/schedule_one.go pluginMetricsSamplePercent.
SAMPLED: Final = 10

#: The points at which kube-scheduler counts how often a plugin is asked.
_COUNTED: Final = frozenset({"PreFilter", "Filter", "PreScore", "Score"})
#: kube-scheduler's names of points, where they differ.
_SPELLED: Final = {"NormalizeScore": "ScoreExtensionNormalize"}
_CODES: Final = {code: "".join(map(str.title, code.name.split("_"))) for code in Code}
_ERROR: Final = _CODES[Code.ERROR]
_SUCCESS: Final = _CODES[Code.SUCCESS]
#: The status while the plugin was not asked; compared by identity.
_UNASKED: Final = Status(Code.SKIP)

logger = logging.getLogger(__name__)


class PluginTimes:
    """Times the plugin calls of one decision in SAMPLED; the engine's stopwatch.

    Args:
        traces: get every call of every decision; None = no traces.
    """

    def __init__(self, traces: Traces | None = None) -> None:
        self._traces = traces
        #: How many decisions have begun; whether the latest one is timed, and its profile.
        self._decisions = 0
        self._sampled = False
        self._profile = ""
        #: For the timed decision: seconds and status by point; and how often each plugin was asked.
        self._points: dict[str, list[Any]] = {}
        self._asked: Counter[tuple[str, str]] = Counter()

    def begin(self, profile: str) -> bool:
        """Begin a decision; whether its calls are to be passed to `call`."""
        self._decisions += 1
        self._profile = profile
        self._sampled = self._decisions % SAMPLED == 0
        return self._sampled or self._traces is not None

    def call(self, plugin: str, point: str, question: Callable[..., T], *arguments: Any) -> T:
        """Call a plugin, and time the call."""
        status = _ERROR
        began = time.perf_counter()
        try:
            answer = question(*arguments)
            status = _CODES[answer.code] if isinstance(answer, Status) else _SUCCESS
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
        if status != _SUCCESS:  # as upstream, a point has the status of a plugin that refused
            total[1] = status

    def end(self) -> None:
        """End the decision: record how long each point took."""
        for point, (seconds, status) in self._points.items():
            labels = point, status, self._profile
            metrics.series(metrics.EXTENSION_POINT_DURATION, *labels).observe(seconds)
        self._points.clear()
        for (plugin, point), calls in self._asked.items():
            metrics.series(metrics.PLUGIN_EVALUATIONS, plugin, point, self._profile).inc(calls)
        self._asked.clear()


class MemberCall:
    """Times one call of a plugin for one member, and turns what the plugin raises into a status.

    A cancellation that nobody asked this task for is the plugin's own failure, as when it awaits a
    task that was cancelled elsewhere. Fenced is not caught: a request was not sent, as this process
    may no longer be the leader.

    Attributes:
        status: the answer; SKIP while the plugin was not asked.
        failed: the plugin raised; the status then names it and the extension point.

    Args:
        profile: the profile that has the plugin.
        plugin: the plugin's name.
        point: the extension point, as kube-scheduler spells it.
    """

    __slots__ = ("_began", "_plugin", "_point", "_profile", "failed", "status")

    def __init__(self, profile: str, plugin: str, point: str) -> None:
        self._profile, self._plugin, self._point = profile, plugin, point
        self.status = _UNASKED
        self.failed = False

    @property
    def message(self) -> str:
        """Why the plugin did not answer SUCCESS; it names the plugin."""
        return self.status.message if self.failed else f"{self._plugin}: {self.status.message}"

    def answered(self, answer: object) -> None:
        """Record the plugin's answer, which is a Status if the plugin keeps its contract."""
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
        self.failed = _is_own(error)
        if self.failed:
            logger.error("Plugin %s failed at %s", self._plugin, self._point, exc_info=error)
            detail = f"{type(error).__name__}: {error}"
            self.status = Status(Code.ERROR, str(PluginError(self._plugin, self._point, detail)))
        status = _ERROR if error is not None else _CODES[self.status.code]
        metrics.series(metrics.PLUGIN_DURATION, self._plugin, self._point, status).observe(seconds)
        labels = self._point, status, self._profile
        metrics.series(metrics.EXTENSION_POINT_DURATION, *labels).observe(seconds)
        return self.failed


def _is_own(error: BaseException | None) -> bool:
    """Whether an exception is the plugin's own failure."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and not task.cancelling()
    return isinstance(error, Exception) and not isinstance(error, Fenced)
