# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Timeline: what runs until when, and when those start that wait, as far as that can be told."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.model.groups import GroupKey
from enbloc.model.pods import Pod
from enbloc.simulation import Start, Waiting, ends_of, lasts

#: Steps between the marks of an axis (seconds): what people count time in.
_STEPS: Final = (
    *(60.0 * n for n in (1, 2, 5, 10, 15, 30)),
    *(3600.0 * n for n in (1, 2, 3, 6, 12)),
    *(86_400.0 * n for n in (1, 2, 3, 7, 14, 28, 91)),
)
_MOST_MARKS: Final = 8
#: An axis goes on for so long after now at least, and at most (seconds).
_LEAST: Final = 360.0
_MOST: Final = 90 * 86_400.0
#: Before now it shows so much of what it shows after now: at least, and at most.
_PAST: Final = (0.1, 0.6)
#: Where no end and no start can be told, it shows an hour.
_UNKNOWN: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Span:
    """The time of one group, or of a pod without one: while it runs, or after it starts.

    Attributes:
        key: of the group; that of the implied group for a pod without one.
        name: for people, within its namespace.
        owner: what made its pods, as "Job/train"; "" = nothing did.
        members: how many run, or start.
        since: when the first of them was started, or got its node, server seconds; None = none has
            a node.
        started: a kubelet has started one of them.
        starts: when those start that have no node; None = now.
        limit: when the last of them is made to end; None = of one nobody knows.
        expected: when the last of them ends, where somebody says that one of them ends before its
            limit; it may be in the past.
        end: the end that is known; None = none is.
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
        """Its members have nodes."""
        return self.since is not None


@dataclass(frozen=True, slots=True)
class Timeline:
    """All of them.

    Attributes:
        spans: in the order in which they end, or start; those at the end of which nobody knows.
        namespaces: where they are, in the order of the first of each.
    """

    spans: Sequence[Span]
    namespaces: Sequence[str]


def timeline(
    members: Mapping[GroupKey, Iterable[Pod]],
    waiting: Iterable[Waiting],
    starts: Mapping[GroupKey, Start],
    now: float,
) -> Timeline:
    """What runs and what starts.

    Args:
        members: by group all its pods as they are.
        waiting: who waits; those count that start now, or at a time that is known.
        starts: when those start that do not now.
        now: server seconds, at which the cluster was so.
    """
    found = [_running(key, pods, now) for key, each in members.items() if (pods := _placed(each))]
    for row in waiting:
        if row.starts or row.key in starts:
            found.append(_starting(row, None if row.starts else starts[row.key], now))
    found.sort(key=lambda span: (_turn(span, now), not span.runs, span.key))
    return Timeline(found, tuple(dict.fromkeys(span.key.namespace for span in found)))


def _turn(span: Span, now: float) -> float:
    """When something becomes of it."""
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
        # A pod that its limit ends sooner is expected to end then.
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
    """The last of several times; None if one of them is not known."""
    latest = 0.0
    for each in of:
        if each is None:
            return None
        latest = max(latest, each)
    return latest


# ── the axis ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Axis:
    """A part of time that is drawn.

    Attributes:
        begin, end: server seconds.
        marks: times within it.
        step: seconds from one mark to the next.
    """

    begin: float
    end: float
    marks: Sequence[float]
    step: float

    def share(self, at: float) -> float:
        """Where a time is drawn: 0 = at its begin, 1 = at its end; what is outside, there."""
        return min(1.0, max(0.0, (at - self.begin) / (self.end - self.begin)))


def axis(spans: Iterable[Span], now: float, most: float = 0.0) -> Axis:
    """One on which what becomes of these can be seen; of the past no more than has room there.

    Args:
        spans: what is drawn.
        now: server seconds.
        most: seconds after now that are drawn; 0 = as many as it takes.
    """
    spans = list(spans)
    known = [at for span in spans for at in _later(span) if at > now]
    after = most or (min(_MOST, max(_LEAST, max(known) - now)) if known else _UNKNOWN)
    since = [span.since for span in spans if span.since is not None]
    short, long = (share * after for share in _PAST)
    begin = now - min(long, max(short, now - min(since, default=now)))
    # What ends last is followed by some room, and who has no known end goes on there.
    end = now + after * 1.1
    step = next((s for s in _STEPS if (end - begin) / s <= _MOST_MARKS), _STEPS[-1])
    first = math.ceil(begin / step)
    return Axis(begin, end, [n * step for n in range(first, math.floor(end / step) + 1)], step)


def _later(span: Span) -> Iterable[float]:
    """What becomes of one: its ends, and its start."""
    start = None if span.starts is None else span.starts.at
    return (at for at in (span.limit, span.expected, span.end, start) if at is not None)
