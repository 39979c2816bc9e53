# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Timeline: when running groups end, and when waiting ones start, as far as that is known."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod
from enbloc.simulation import Start, Waiting, ends_of, lasts

#: The possible steps between marks of an axis (seconds), in units that people use.
_STEPS: Final = (
    *(60.0 * n for n in (1, 2, 5, 10, 15, 30)),
    *(3600.0 * n for n in (1, 2, 3, 6, 12)),
    *(86_400.0 * n for n in (1, 2, 3, 7, 14, 28, 91)),
)
_MOST_MARKS: Final = 8
#: The shortest and the longest future on an axis (seconds).
_LEAST: Final = 360.0
_MOST: Final = 90 * 86_400.0
#: The shortest and the longest past on an axis, as a share of its future.
_PAST: Final = (0.1, 0.6)
#: The future on an axis if no end and no start is known (seconds).
_UNKNOWN: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Span:
    """The time of one group, or of a pod without one: while it runs, or after it starts.

    Attributes:
        key: of the group; for a pod without one, of its implied group.
        name: for people, within its namespace.
        owner: the object that made its pods, as "Job/train"; "" = none.
        members: how many run, or start.
        since: when the first of them started or got its node, server seconds; None = none has a
            node.
        started: whether a kubelet has started one of them.
        starts: when the members without a node start; None = now.
        limit: when limits have ended all of them; None = one has no known limit.
        expected: when the last of them is expected to end, if users say so for any of them; it may
            be in the past.
        end: when the last of them ends, by limits or as expected; None = unknown.
    """

    key: GroupKey
    name: str
    owner: str
    members: int
    since: float | None = None
    started: bool = False
    starts: Start | None = None
    limit: float | None = None
    expected: float | None = None
    end: float | None = None

    @property
    def runs(self) -> bool:
        """Whether its members have nodes."""
        return self.since is not None


@dataclass(frozen=True, slots=True)
class Timeline:
    """All spans.

    Attributes:
        spans: in the order in which they end or start; those with an unknown time come last.
        namespaces: their namespaces, in the order of the first span of each.
    """

    spans: Sequence[Span]
    namespaces: Sequence[str]


def timeline(
    members: Mapping[GroupKey, Iterable[Pod]],
    waiting: Iterable[Waiting],
    starts: Mapping[GroupKey, Start],
    now: float,
) -> Timeline:
    """The timeline of running and starting groups.

    Args:
        members: group → all its pods.
        waiting: the waiting groups; those count that start now or at a known time.
        starts: group → its start, for groups that do not start now.
        now: server seconds of the cluster's state.
    """
    found = [_running(key, pods, now) for key, each in members.items() if (pods := _placed(each))]
    for row in waiting:
        if row.starts or row.key in starts:
            found.append(_starting(row, None if row.starts else starts[row.key], now))
    found.sort(key=lambda span: (_turn(span, now), not span.runs, span.key))
    return Timeline(found, tuple(dict.fromkeys(span.key.namespace for span in found)))


def _turn(span: Span, now: float) -> float:
    """When it ends, or starts; its place in the order of spans."""
    if span.runs:
        return math.inf if span.end is None else span.end
    return now if span.starts is None else span.starts.at


def _placed(pods: Iterable[Pod]) -> Sequence[Pod]:
    return [pod for pod in pods if pod.node and not pod.finished]


def _running(key: GroupKey, pods: Sequence[Pod], now: float) -> Span:
    first, ends = pods[0], [ends_of(pod, now) for pod in pods]
    firsts = [each.first(now) for each in ends]
    expected: float | None = None
    if any(each.expected is not None for each in ends):
        # If a pod's limit ends it sooner, it is expected to end at its limit.
        expected = _last(
            each.expected
            if each.expected is not None and (at is None or not at[1])
            else (None if at is None else at[0])
            for each, at in zip(ends, firsts, strict=True)
        )
    return Span(
        key,
        f"pod/{first.key.name}" if key.name.startswith("/") else key.name,
        f"{first.owner.kind}/{first.owner.name}" if first.owner is not None else "",
        len(pods),
        min(pod.bound_at if pod.started is None else pod.started for pod in pods),
        any(pod.started is not None for pod in pods),
        None,
        _last(each.limit for each in ends),
        expected,
        _last(None if at is None else at[0] for at in firsts),
    )


def _starting(row: Waiting, start: Start | None, now: float) -> Span:
    at = now if start is None else start.at
    pods = [pod for pod in row.pending if pod.key in row.placed] if start is None else row.pending
    seconds = _last(lasts(pod) for pod in pods)
    end = None if seconds is None else at + seconds
    return Span(row.key, row.short_name, row.owner, len(pods), starts=start, expected=end, end=end)


def _last(of: Iterable[float | None]) -> float | None:
    """The last of several times; None if one of them is unknown."""
    latest = 0.0
    for each in of:
        if each is None:
            return None
        latest = max(latest, each)
    return latest


# ── the axis ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Axis:
    """The time range of a chart.

    Attributes:
        begin, end: server seconds.
        marks: times within it, server seconds.
        step: seconds from one mark to the next.
    """

    begin: float
    end: float
    marks: Sequence[float]
    step: float

    def share(self, at: float) -> float:
        """The position of a time: 0 = its begin, 1 = its end; times outside are clamped."""
        return min(1.0, max(0.0, (at - self.begin) / (self.end - self.begin)))


def axis(spans: Iterable[Span], now: float, most: float = 0.0) -> Axis:
    """An axis that shows the ends and starts of these spans, with a bounded part of the past.

    Args:
        spans: the spans to draw.
        now: server seconds.
        most: seconds of the future to show; 0 = as many as needed.
    """
    spans = list(spans)
    known = [at for span in spans for at in _later(span) if at > now]
    after = most or (min(_MOST, max(_LEAST, max(known) - now)) if known else _UNKNOWN)
    since = [span.since for span in spans if span.since is not None]
    short, long = (share * after for share in _PAST)
    begin = now - min(long, max(short, now - min(since, default=now)))
    # Room after the last end, where spans without a known end continue.
    end = now + after * 1.1
    step = next((s for s in _STEPS if (end - begin) / s <= _MOST_MARKS), _STEPS[-1])
    first = math.ceil(begin / step)
    return Axis(begin, end, [n * step for n in range(first, math.floor(end / step) + 1)], step)


def _later(span: Span) -> Iterable[float]:
    """The known ends and start of a span."""
    start = None if span.starts is None else span.starts.at
    return (at for at in (span.limit, span.expected, span.end, start) if at is not None)
