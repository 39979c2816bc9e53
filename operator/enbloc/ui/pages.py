# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pages: what all of them have in common, and tables, links and lists of pages.

A page works without its script. What the script replaces when there is a new state has the
attribute `data-live` and an id.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from enbloc.model.text import clipped
from enbloc.model.times import span_text, time_text
from enbloc.ui.markup import Attribute, Child, Markup, element

#: The views, in order: what each is called, and where it is.
VIEWS: Final = (("Queue", "/"), ("Nodes", "/nodes"), ("Time", "/time"))
STYLE: Final = "/static/enbloc.css"
SCRIPT: Final = "/static/enbloc.js"
ICON: Final = "/static/enbloc.svg"
#: So much is shown of what made a pod, whose name may be of any length; of a message; of a problem.
OWNER: Final = 100
MESSAGE: Final = 4000
_PROBLEM: Final = 500
#: Where the script hears of a new state.
EVENTS: Final = "/events"


@dataclass(frozen=True, slots=True)
class Status:
    """How old is what a page shows.

    Attributes:
        number: of the view.
        time: at which the cluster was so, server seconds.
        now: the same when the page is made.
        problem: what keeps the cluster from being read, or the state from being made; "" =
            nothing.
    """

    number: int
    time: float
    now: float
    problem: str = ""


def path(*segments: str) -> str:
    """An address of ours."""
    return "/" + "/".join(quote(each, safe="") for each in segments)


def with_query(address: str, **of: str | int) -> str:
    """An address with these values, but empty ones."""
    given = {name: value for name, value in of.items() if value not in ("", 0)}
    return f"{address}?{urlencode(given)}" if given else address


def document(title: str, view: str, content: Child, status: Status | None = None) -> str:
    """A whole page.

    Args:
        title: of the page; its heading says the same.
        view: the address of the view that it is of; "" = of none.
        content: after the heading.
        status: how old it is; None = it does not depend on the cluster.
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
    return element("p", told, wrong, id="state", class_="state", data_live=True)


def message(title: str, *paragraphs: Child) -> str:
    """A page that says why there is nothing else to show."""
    return document(title, "", [element("p", each) for each in paragraphs])


def live(name: str, *children: Child) -> Markup:
    """A part of a page that the script replaces when there is a new state."""
    return element("div", children, id=name, data_live=True)


def search(address: str, *fields: tuple[str, str, str]) -> Markup:
    """A form that asks for a part of what there is.

    Args:
        address: that answers.
        fields: of each its name, its label and what is in it.
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
    """What to do where it is not known of every namespace whether somebody may see it."""
    if complete:
        return None
    return element("p", "There are too many namespaces to look up all: name one.", class_="note")


# ── tables ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        title: its header.
        number: it holds numbers, and is aligned so.
        heads: its cell says what its row is about.
    """

    title: str
    number: bool = False
    heads: bool = False


def table(
    caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Child]], empty: str
) -> Markup:
    """A table that scrolls by itself where the window is narrow.

    Args:
        caption: what it is.
        columns: what is in each.
        rows: a cell for each column.
        empty: what is said instead if there are no rows.
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
class Part:
    """One page of a list.

    Attributes:
        total: how many items there are.
        size: how many a page has.
        asked: the page that is asked for; the nearest that exists is shown.
    """

    total: int
    size: int
    asked: int = 1

    @property
    def last(self) -> int:
        """The last page."""
        return max(1, -(-self.total // self.size))

    @property
    def number(self) -> int:
        """The page that is shown, from 1 on."""
        return min(max(1, self.asked), self.last)

    @property
    def items(self) -> slice:
        """Its items, within the list."""
        return slice((self.number - 1) * self.size, self.number * self.size)


def pager(part: Part, what: str, address: Callable[[int], str]) -> Markup | None:
    """Links to the other pages of a list; None = there is but one.

    Args:
        part: the page that is shown.
        what: the items are, in the plural.
        address: of the page of a number.
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
