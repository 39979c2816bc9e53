# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The page of time: what ends when, by limits or as expected, and what starts when."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.model.groups import GroupKey
from enbloc.model.text import clipped
from enbloc.model.times import LAST_SECOND, span_text, time_text
from enbloc.simulation import Start
from enbloc.ui.charts import key
from enbloc.ui.links import group_address
from enbloc.ui.markup import Child, Markup, element
from enbloc.ui.pages import (
    OWNER,
    Column,
    ListPage,
    Status,
    document,
    live,
    name_one,
    pager,
    search,
    table,
    with_query,
)
from enbloc.ui.time_chart import Bar, ChartLine, minute_text, moment_text, time_chart
from enbloc.ui.timeline import Span, Timeline, axis
from enbloc.ui.view import View, Viewer

#: The most lines on a page.
LINES: Final = 40
#: Hours of the future that a chart shows → the name of the choice; 0 = as much as needed.
WINDOWS: Final[Mapping[int, str]] = {
    0: "All",
    1: "1 hour",
    6: "6 hours",
    24: "1 day",
    168: "1 week",
}
#: The longest part of a name in the chart (characters); the table has all of it.
_NAME: Final = 22
_COLUMNS: Final = (
    Column("Namespace"),
    Column("Name", heads=True),
    Column("Owner"),
    Column("Members", number=True),
    Column("Starts"),
    Column("Runs since"),
    Column("Ends by limit"),
    Column("Ends as expected"),
)
_KEYS: Final = (
    ("by-limit", "≤ runs until its limit ends it"),
    ("as-expected", "~ runs until then, as its users expect"),
    ("until-limit", "may run until its limit"),
    ("by-limit fade2", "no end known"),
    ("starts", "≤ starts then or before, by the limits of those that run"),
    ("starts-expected", "~ starts then, as users expect"),
)


@dataclass(frozen=True, slots=True)
class TimeQuery:
    """The part of the timeline to show.

    Attributes:
        namespace: only this one; "" = all that the viewer may see.
        hours: how much of the future the chart shows; one of WINDOWS.
        page: from 1.
    """

    namespace: str = ""
    hours: int = 0
    page: int = 1


def time_page(view: View, times: Timeline, viewer: Viewer, query: TimeQuery, status: Status) -> str:
    """The page of time.

    Args:
        view: the cluster.
        times: its timeline.
        viewer: what the viewer may see.
        query: the part to show.
        status: the age of the view.
    """

    def meant(namespace: str) -> bool:
        return query.namespace in ("", namespace) and viewer.sees(namespace)

    spans = [span for span in times.spans if meant(span.key.namespace)]
    part = ListPage(len(spans), LINES, query.page)
    shown = spans[part.items]
    rows = [_cells(span, status.now) for span in shown]

    def address(number: int) -> str:
        return with_query("/time", namespace=query.namespace, hours=query.hours, page=number)

    return document(
        "Time",
        "/time",
        [
            search("/time", ("namespace", "Namespace", query.namespace)),
            name_one(complete=viewer.complete),
            live(
                "time",
                _windows(query) if shown else None,
                _chart(shown, query, status.now) if shown else None,
                table(_caption(part), _COLUMNS, rows, _nobody(query)),
                _untold([key for key in _waits_on(view) if meant(key.namespace)], query),
                pager(part, "Rows", address),
            ),
        ],
        status,
    )


def _waits_on(view: View) -> Iterator[GroupKey]:
    """The groups that wait for an unknown time."""
    waiting = (row.waiting for row in view.rows)
    return (each.key for each in waiting if not each.starts and each.key not in view.starts)


def _untold(keys: Sequence[GroupKey], query: TimeQuery) -> Markup | None:
    if not keys:
        return None
    told = (
        "1 more waits, and when it starts"
        if len(keys) == 1
        else f"{len(keys)} more wait, and when they start"
    )
    queue = element("a", "the queue", href=with_query("/", namespace=query.namespace))
    return element("p", f"{told} cannot be told: see ", queue, ".")


def _caption(part: ListPage) -> str:
    one = "1 group or pod that runs or starts"
    of = one if part.total == 1 else f"{part.total} groups and pods that run or start"
    return f"{of}, in the order in which they end or start; times are UTC"


def _nobody(query: TimeQuery) -> str:
    where = f"namespace {query.namespace}" if query.namespace else "any namespace that you may see"
    return f"Nobody runs in {where}, and nobody is known to start."


def _windows(query: TimeQuery) -> Markup:
    """Links to charts with more or less of the future."""
    links = (
        element(
            "a",
            name,
            href=with_query("/time", namespace=query.namespace, hours=hours, page=query.page),
            aria_current="true" if hours == query.hours else None,
        )
        for hours, name in WINDOWS.items()
    )
    listed = element("ul", [element("li", link) for link in links])
    return element(
        "nav", element("p", "Shown of what comes:"), listed, class_="pager", aria_label="Time shown"
    )


# ── the chart ────────────────────────────────────────────────────────────────────────────────


def _chart(spans: Sequence[Span], query: TimeQuery, now: float) -> Markup:
    drawn = axis(spans, now, query.hours * 3600.0)
    running = sum(span.runs for span in spans)
    told = (
        f"From {time_text(drawn.begin)} to {time_text(drawn.end)}; now is {time_text(now)}. "
        f"{running} that run, {len(spans) - running} that start. The table below says the same."
    )
    lines = [_line(span, query, now) for span in spans]
    keys = [element("li", key(kind), text) for kind, text in _KEYS]
    return element(
        "figure",
        time_chart("What runs until when, and what starts when", told, drawn, now, lines),
        element("ul", keys, class_="keys"),
    )


def _line(span: Span, query: TimeQuery, now: float) -> ChartLine:
    whole = f"{span.key.namespace}/{span.name}"
    name = span.name if query.namespace or len(whole) > _NAME else whole
    members = "1 member" if span.members == 1 else f"{span.members} members"
    ends = _ends(span, now)
    told = f"ends {ends}" if ends else "no end known"
    short = ends or told
    if not span.runs:
        short = "starts now" if span.starts is None else f"starts {_about(span.starts, now)}"
        told = f"{short}, {told}"
    return ChartLine(
        clipped(name, _NAME), short, f"{whole}, {members}: {told}", list(_bars(span, now))
    )


def _ends(span: Span, now: float) -> str:
    """When it ends, as text; "" = unknown."""
    return ", ".join(
        f"{sign} {moment_text(min(at, LAST_SECOND), now)}{'' if at >= now else ' (passed)'}"
        for sign, at in (("~", span.expected), ("≤", span.limit))
        if at is not None
    )


def _about(start: Start, now: float) -> str:
    return f"{'≤' if start.latest else '~'} {moment_text(start.at, now)}"


def _bars(span: Span, now: float) -> Iterator[Bar]:
    if span.since is None:
        begin = now if span.starts is None else span.starts.at
        latest = span.starts is None or span.starts.latest
        yield Bar(begin, span.end, "starts" if latest else "starts-expected")
        return
    limit = span.limit if span.limit is not None and span.limit >= now else None
    if span.expected is not None and span.expected >= now:
        yield Bar(span.since, now, "by-limit")
        yield Bar(now, span.expected, "as-expected")
        if limit is not None and limit > span.expected:
            yield Bar(span.expected, limit, "until-limit", edge=True)
    elif limit is not None:
        yield Bar(span.since, limit, "by-limit", edge=True)
    else:
        yield Bar(span.since, now, "by-limit")
        yield Bar(now, None, "by-limit")


# ── the table ────────────────────────────────────────────────────────────────────────────────


def _cells(span: Span, now: float) -> Sequence[Child]:
    return (
        span.key.namespace,
        element("a", span.name, href=group_address(span.key)),
        clipped(span.owner, OWNER) or "–",
        span.members,
        _starts(span, now),
        _since(span, now),
        _at("≤", span.limit, now) or ("no end known" if span.expected is None else "–"),
        _at("~", span.expected, now) or "–",
    )


def _starts(span: Span, now: float) -> Child:
    if span.runs:
        return "–"
    if span.starts is None:
        return "now"
    return _at("≤" if span.starts.latest else "~", span.starts.at, now)


def _since(span: Span, now: float) -> Child:
    if span.since is None:
        return "–"
    begun = "" if span.started else ", not started yet"
    return [_moment(span.since), f", for {span_text(now - span.since)}{begun}"]


def _at(sign: str, at: float | None, now: float) -> Child:
    """A time, and how far away it is; None without a time."""
    if at is None:
        return None
    away = f"in {span_text(at - now)}" if at >= now else f"passed {span_text(now - at)} ago"
    return [_moment(at, f"{sign} "), f", {away}"]


def _moment(at: float, before: str = "") -> Markup:
    return element("span", f"{before}{minute_text(min(at, LAST_SECOND))}", class_="moment")
