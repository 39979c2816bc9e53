# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A time chart as SVG: a line with bars per running or starting group, and the current time.

Positions along the axis are in percent of the width, so the chart fits any window while its texts
keep their size.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Final

from enbloc.ui.markup import Markup, element
from enbloc.ui.timeline import Axis

#: Heights (pixels): above the lines, of a line, of its text within it, of its bar.
_HEAD: Final = 52
_LINE: Final = 42
_TEXT: Final = 14
_BAR: Final = 14
#: The number of steps in which a bar without an end fades.
_STEPS: Final = 4
#: The share of the axis from which on the text of a mark does not fit.
_LAST_TEXT: Final = 0.9
#: The least width of a bar (share of the axis), so that it is visible.
_THIN: Final = 0.004
_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a line.

    Attributes:
        begin: server seconds.
        end: server seconds; None = unknown, so the bar fades.
        kind: its class in the stylesheet.
        edge: whether its end is a limit.
    """

    begin: float
    end: float | None
    kind: str
    edge: bool = False


@dataclass(frozen=True, slots=True)
class ChartLine:
    """One line of a chart.

    Attributes:
        name: its short name.
        text: what its bars say, in short.
        told: the same in full.
        bars: in order.
    """

    name: str
    text: str
    told: str
    bars: Sequence[Bar]


def time_chart(title: str, told: str, axis: Axis, now: float, lines: Sequence[ChartLine]) -> Markup:
    """A chart of lines along a time axis.

    Args:
        title: of the chart.
        told: a description of what it shows.
        axis: the time range.
        now: server seconds; within the axis.
        lines: from top to bottom.
    """
    height = _HEAD + _LINE * len(lines)
    return element(
        "svg",
        element("title", title),
        element("desc", told),
        list(_marks(axis, height)),
        [_line(line, axis, _HEAD + _LINE * n) for n, line in enumerate(lines)],
        _now(axis, now, height),
        role="img",
        width="100%",
        height=height,
        class_="times",
    )


def moment_text(at: float, now: float) -> str:
    """A short time in UTC: 14:05; on another day 15 Nov 14:05; in another year with the year."""
    then, today = datetime.fromtimestamp(at, UTC), datetime.fromtimestamp(now, UTC)
    hour = f"{then:%H:%M}"
    if then.date() == today.date():
        return hour
    return f"{_day(then)} {hour}" if then.year == today.year else f"{_day(then)} {then.year}"


def minute_text(at: float) -> str:
    """A time to the minute, in UTC: 2026-11-15 14:05."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"


def _day(of: datetime) -> str:
    return f"{of.day} {of:%b}"


def _percent(share: float) -> str:
    return f"{share:.2%}"


def _marks(axis: Axis, height: int) -> Iterator[Markup]:
    """Lines at round times; the first one, and the first one of each day, name the day."""
    before = ""
    for at in axis.marks:
        share, then = axis.share(at), datetime.fromtimestamp(at, UTC)
        x = _percent(share)
        yield element("rect", class_="grid", x=x, y=_HEAD - 34, width=1, height=height - 18)
        if share > _LAST_TEXT:
            continue
        day = _day(then)
        if axis.step < _DAY:
            yield element("text", f"{then:%H:%M}", class_="mark-text", x=x, y=_HEAD - 24)
        if day != before:
            yield element("text", day, class_="mark-text", x=x, y=_HEAD - 10)
        before = day


def _now(axis: Axis, now: float, height: int) -> Markup:
    x = _percent(axis.share(now))
    then = datetime.fromtimestamp(now, UTC)
    return element(
        "g",
        element("rect", class_="now", x=x, y=0, width=2, height=height),
        element("text", f"now, {then:%H:%M} UTC", class_="now-text", x=x, y=12),
    )


def _line(line: ChartLine, axis: Axis, y: int) -> Markup:
    bars = [drawn for bar in line.bars for drawn in _bar(bar, axis, y + _TEXT + 6)]
    return element(
        "g",
        element("title", line.told),
        element("text", line.name, class_="name", x=0, y=y + _TEXT),
        element("text", line.text, class_="ends", x="100%", y=y + _TEXT),
        bars,
    )


def _bar(bar: Bar, axis: Axis, y: int) -> Iterator[Markup]:
    begin = axis.share(bar.begin)
    end = 1.0 if bar.end is None else axis.share(bar.end)
    end = min(1.0, max(end, begin + _THIN))
    begin = min(begin, end - _THIN)
    if bar.end is not None:
        yield _piece(bar.kind, begin, end, y)
    else:
        at = [begin + (end - begin) * step / _STEPS for step in range(_STEPS + 1)]
        for step, (one, next_one) in enumerate(pairwise(at)):
            yield _piece(f"{bar.kind} fade{step}", one, next_one, y)
    if bar.edge:
        x = _percent(end)
        yield element("rect", class_="edge", x=x, y=y - 2, width=3, height=_BAR + 4)


def _piece(kind: str, begin: float, end: float, y: int) -> Markup:
    width = _percent(end - begin)
    return element("rect", class_=kind, x=_percent(begin), y=y, width=width, height=_BAR)
