# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pages: their common frame, and tables, links and pagers.

A page works without its script. Parts that the script replaces when there is a new state have the
attribute `data-live` and an id.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from enbloc.model.text import clipped
from enbloc.model.times import span_text, time_text
from enbloc.ui.markup import Attribute, Child, Markup, element

#: The views, in order: name and address.
VIEWS: Final = (("Queue", "/"), ("Nodes", "/nodes"), ("Time", "/time"))
STYLE: Final = "/static/enbloc.css"
SCRIPT: Final = "/static/enbloc.js"
ICON: Final = "/static/enbloc.svg"
#: The longest part that is shown of an owner's name, of a message and of a problem (characters).
OWNER: Final = 100
MESSAGE: Final = 4000
_PROBLEM: Final = 500
_PARTIAL: Final = (
    " It is not complete: the simulation reached its time limit, and more may start than is shown."
)
#: The address from which the script learns of a new state.
EVENTS: Final = "/events"


@dataclass(frozen=True, slots=True)
class Status:
    """The age of what a page shows.

    Attributes:
        number: of the view.
        time: of the cluster's state in the view, server seconds.
        now: when the page is made, server seconds.
        problem: why the cluster cannot be read or the view not be updated; "" = no problem.
        complete: whether the simulation ended before its time limit.
    """

    number: int
    time: float
    now: float
    problem: str = ""
    complete: bool = True


def path(*segments: str) -> str:
    """An address on this server, from its path segments."""
    return "/" + "/".join(quote(each, safe="") for each in segments)


def with_query(address: str, **of: str | int) -> str:
    """The address with these query values, without empty ones."""
    given = {name: value for name, value in of.items() if value not in ("", 0)}
    return f"{address}?{urlencode(given)}" if given else address


def document(title: str, view: str, content: Child, status: Status | None = None) -> str:
    """A whole page.

    Args:
        title: of the page, and its heading.
        view: the address of its view; "" = it belongs to none.
        content: after the heading.
        status: the age of the content; None = it does not depend on the cluster.
    """
    news: dict[str, Attribute] = {}
    if status is not None:
        news = {"data_events": EVENTS, "data_number": status.number}
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} – enbloc"),
        element("link", rel="icon", href=ICON),
        element("link", rel="stylesheet", href=STYLE),
        element("script", src=SCRIPT, defer=True),
    )
    body = element(
        "body",
        element("a", "Skip to the content", class_="skip", href="#main"),
        element("header", element("span", "enbloc", class_="brand"), _views(view), _state(status)),
        element("main", element("h1", title), content, id="main", tabindex=-1),
        **news,
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _views(current: str) -> Markup:
    links = (
        element("li", element("a", name, href=at, aria_current="page" if at == current else None))
        for name, at in VIEWS
    )
    return element("nav", element("ul", links), aria_label="Views")


def _state(status: Status | None) -> Markup | None:
    if status is None:
        return None
    age = span_text(status.now - status.time)
    told = element("span", f"State of {time_text(status.time)}, {age} ago.")
    problem = clipped(status.problem, _PROBLEM)
    wrong = element("strong", f" It may be outdated: {problem}") if problem else None
    partial = None if status.complete else element("strong", _PARTIAL)
    return element("p", told, partial, wrong, id="state", class_="state", data_live=True)


def message(title: str, *paragraphs: Child) -> str:
    """A page with only a message."""
    return document(title, "", [element("p", each) for each in paragraphs])


def live(name: str, *children: Child) -> Markup:
    """A part of a page that the script replaces when there is a new state."""
    return element("div", children, id=name, data_live=True)


def search(address: str, *fields: tuple[str, str, str]) -> Markup:
    """A search form.

    Args:
        address: of the answer.
        fields: (name, label, value) of each field.
    """
    entries = [
        element(
            "p",
            element("label", label, for_=name),
            element("input", id=name, name=name, value=value, maxlength=253, autocomplete="off"),
        )
        for name, label, value in fields
    ]
    button = element("p", element("button", "Show", type="submit"))
    return element("form", entries, button, action=address, method="get", role="search")


def name_one(*, complete: bool) -> Markup | None:
    """The hint to name a namespace, if not every namespace was reviewed for the viewer."""
    if complete:
        return None
    return element("p", "There are too many namespaces to look up all: name one.", class_="note")


# ── tables ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        title: its header.
        number: whether it holds numbers, and is aligned as such.
        heads: whether its cell is the header of the row.
    """

    title: str
    number: bool = False
    heads: bool = False


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Child]], empty: str
) -> Markup:
    """A table that scrolls by itself in a narrow window.

    Args:
        caption: of the table.
        columns: its columns.
        rows: a cell for each column.
        empty: the text instead of the table if there are no rows.
    """
    lines = [
        element("tr", [_cell(*each) for each in zip(columns, row, strict=True)]) for row in rows
    ]
    if not lines:
        return element("p", empty)
    titles = [
        element("th", each.title, scope="col", class_="n" if each.number else None)
        for each in columns
    ]
    whole = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", titles)),
        element("tbody", lines),
    )
    return element("div", whole, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _cell(column: Column, child: Child) -> Markup:
    if column.heads:
        return element("th", child, scope="row")
    return element("td", child, class_="n" if column.number else None)


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """A list of names with their values."""
    return element("dl", ((element("dt", name), element("dd", value)) for name, value in pairs))


# ── pages of a list ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list.

    Attributes:
        total: the number of items.
        size: the number of items on a page.
        asked: the requested page; the nearest existing one is shown.
    """

    total: int
    size: int
    asked: int = 1

    @property
    def last(self) -> int:
        """The number of the last page."""
        return max(1, -(-self.total // self.size))

    @property
    def number(self) -> int:
        """The number of the shown page, from 1."""
        return min(max(1, self.asked), self.last)

    @property
    def items(self) -> slice:
        """The slice of the list on this page."""
        return slice((self.number - 1) * self.size, self.number * self.size)


def pager(part: ListPage, what: str, address: Callable[[int], str]) -> Markup | None:
    """Links to the other pages of a list; None = there is only one.

    Args:
        part: the shown page.
        what: the name of the items, in the plural.
        address: page number → address.
    """
    if part.last == 1:
        return None
    shown = part.items
    here = f"{what} {shown.start + 1} to {min(shown.stop, part.total)} of {part.total}"
    links = (
        ("First", 1, part.number > 1),
        ("Previous", part.number - 1, part.number > 1),
        ("Next", part.number + 1, part.number < part.last),
        ("Last", part.last, part.number < part.last),
    )
    listed = [
        element("li", element("a", name, href=address(number)) if there else name)
        for name, number, there in links
    ]
    return element(
        "nav", element("p", here), element("ul", listed), class_="pager", aria_label="Pages"
    )
