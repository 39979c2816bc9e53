# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Attempts: the history of a group, from its conditions, its events and its members' events."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.model.text import clipped
from enbloc.model.times import span_text, time_text
from enbloc.ui.markup import Child, Markup, element
from enbloc.ui.pages import MESSAGE, Column, live, table

#: The most entries that are shown.
MOST: Final = 50
_COLUMNS: Final = (
    Column("Time", heads=True),
    Column("Ago", number=True),
    Column("About"),
    Column("Reason"),
    Column("What"),
)


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One condition or event.

    Attributes:
        at: its latest time, server seconds; None = unreadable.
        about: the condition with its status, or the object of the event.
        reason: of the condition or the event.
        text: the same in a sentence.
        count: how often it occurred.
    """

    at: float | None
    about: str
    reason: str
    text: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class GroupHistory:
    """The history of a group.

    Attributes:
        entries: in any order.
        problem: why some of it is unknown; "" = it is complete.
    """

    entries: Sequence[HistoryEntry] = ()
    problem: str = ""


def history_section(history: GroupHistory, now: float) -> Markup:
    """The history as a table, the latest entry first."""
    latest = sorted(history.entries, key=lambda each: each.at or 0.0, reverse=True)
    shown = latest[:MOST]
    left = len(latest) - len(shown)
    return live(
        "history",
        element("h2", "History"),
        element("p", clipped(history.problem, MESSAGE // 8), class_="note")
        if history.problem
        else None,
        table(
            "What was said of it and of its members, the latest first",
            _COLUMNS,
            [_cells(each, now) for each in shown],
            "Nothing was said of it yet.",
        ),
        element("p", f"And {left} more.") if left else None,
    )


def _cells(each: HistoryEntry, now: float) -> Sequence[Child]:
    often = f" ({each.count} times)" if each.count > 1 else ""
    return (
        "–" if each.at is None else time_text(each.at),
        "–" if each.at is None else span_text(now - each.at),
        clipped(each.about, MESSAGE // 16),
        clipped(each.reason, MESSAGE // 32),
        f"{clipped(each.text, MESSAGE // 8)}{often}",
    )
