# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The page of the queue: what waits for nodes, in the scheduler's order, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.model.names import Reason
from enbloc.model.pending import why
from enbloc.model.text import clipped
from enbloc.model.times import span_text
from enbloc.simulation import Waiting
from enbloc.ui.charts import Piece, bar
from enbloc.ui.links import explanation_address, group_address
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
from enbloc.ui.view import Row, View, Viewer, start_text
from enbloc.ui.what_if_page import what_if_box

#: The most rows on a page.
ROWS: Final = 50
#: The longest part of a message in a row (characters); the group's page shows all of it.
_MESSAGE: Final = 160
_COLUMNS: Final = (
    Column("Place", number=True),
    Column("Namespace"),
    Column("Name", heads=True),
    Column("Owner"),
    Column("Pending", number=True),
    Column("Needs", number=True),
    Column("Priority", number=True),
    Column("Waiting", number=True),
    Column("Start"),
    Column("Why"),
)
_STARTS: Final = (
    "Start, if nobody new comes: ≤ at the latest, by the limits of those that run; ~ as users "
    "expect."
)
#: Reasons of groups that would start if there were more capacity.
_CAPACITY: Final = (
    Reason.UNSCHEDULABLE,
    Reason.INFEASIBLE,
    Reason.BELOW_MINIMUM,
    Reason.TOPOLOGY_DOMAIN_FULL,
)


@dataclass(frozen=True, slots=True)
class QueueQuery:
    """The part of the queue to show.

    Attributes:
        namespace: only this one; "" = all that the viewer may see.
        name: only names that contain this.
        page: from 1.
    """

    namespace: str = ""
    name: str = ""
    page: int = 1


def queue_page(view: View, viewer: Viewer, query: QueueQuery, status: Status) -> str:
    """The page of the queue.

    Args:
        view: the cluster.
        viewer: what the viewer may see.
        query: the part to show.
        status: the age of the view.
    """
    rows = [row for row in view.rows if _meant(row, viewer, query)]
    part = ListPage(len(rows), ROWS, query.page)
    lines = [_cells(row, view, status.now) for row in rows[part.items]]

    def address(number: int) -> str:
        return with_query("/", namespace=query.namespace, name=query.name, page=number)

    return document(
        "Queue",
        "/",
        [
            search(
                "/",
                ("namespace", "Namespace", query.namespace),
                ("name", "Name contains", query.name),
            ),
            name_one(complete=viewer.complete),
            live(
                "queue",
                bar("Who waits", _pieces([row.waiting for row in rows])),
                table(_caption(part), _COLUMNS, lines, _nobody(query)),
                element("p", _STARTS) if view.starts else None,
                pager(part, "Rows", address),
            ),
            what_if_box(query.namespace, nodes=viewer.nodes),
        ],
        status,
    )


def _meant(row: Row, viewer: Viewer, query: QueueQuery) -> bool:
    key = row.waiting.key
    return (
        query.namespace in ("", key.namespace)
        and viewer.sees(key.namespace)
        and query.name in row.waiting.short_name
    )


def _caption(part: ListPage) -> str:
    if part.total == 1:
        return "1 group or pod waits, in the order in which the scheduler decides"
    return f"{part.total} groups and pods wait, in the order in which the scheduler decides"


def _nobody(query: QueueQuery) -> str:
    where = f"namespace {query.namespace}" if query.namespace else "any namespace that you may see"
    of = f' of a name with "{query.name}" in it' if query.name else ""
    return f"Nobody{of} waits for nodes in {where}."


def _pieces(rows: Sequence[Waiting]) -> Sequence[Piece]:
    """The numbers of waiting groups and pods, by what they wait for."""
    starting = sum(row.starts for row in rows)
    members = sum(row.reason is Reason.WAITING_FOR_MEMBERS for row in rows if not row.starts)
    capacity = sum(row.reason in _CAPACITY for row in rows if not row.starts)
    return (
        Piece("start now", starting, "starts"),
        Piece("do not fit", capacity, "capacity"),
        Piece("lack members", members, "members"),
        Piece("wait for something else", len(rows) - starting - members - capacity, "other"),
    )


def _cells(row: Row, view: View, now: float) -> Sequence[Child]:
    waiting = row.waiting
    return (
        "–" if row.place is None else row.place,
        waiting.key.namespace,
        element("a", waiting.short_name, href=group_address(waiting.key)),
        clipped(waiting.owner, OWNER) or "–",
        len(waiting.pending),
        waiting.minimum,
        waiting.priority,
        span_text(now - waiting.since),
        "now" if waiting.starts else start_text(view, waiting.key, now) or "–",
        [element("p", clipped(why(waiting), _MESSAGE)) if why(waiting) else None, _more(row)],
    )


def _more(row: Row) -> Markup | None:
    """A link to the explanation, which is computed on demand."""
    if row.waiting.starts:
        return None
    address = explanation_address(row.waiting.key)
    return element(
        "details",
        element("summary", "What would make it run"),
        element("p", element("a", "Work it out", href=address)),
        data_load=address,
    )
