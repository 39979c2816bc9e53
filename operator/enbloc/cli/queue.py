# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc queue`: list what waits for nodes, in the scheduler's order, and why."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from enbloc.cli.entry import ERROR, OK
from enbloc.cli.failures import lines, say_each, transient
from enbloc.cli.flags import DOCUMENTS, document_flag, namespace_flags
from enbloc.cli.present import Access, access_flags
from enbloc.cli.reported import NamespaceView, Reported, seen
from enbloc.cli.tables import print_document, print_table, say
from enbloc.errors import UsageError
from enbloc.model import names
from enbloc.model.pending import why
from enbloc.model.text import clipped
from enbloc.model.times import span_text, time_text

if TYPE_CHECKING:
    from enbloc.simulation import Outlook, Waiting

#: The longest part of a message that a table shows (characters).
_WIDTH: Final = 100


#: The interval at which --watch reads the cluster again (seconds).
PERIOD: Final = 10.0


@click.command(short_help="List the groups and pods that wait for nodes, in scheduling order.")
@namespace_flags
@click.option(
    "--start", is_flag=True, help="Show START as a time instead of a duration, and sort by it."
)
@click.option("-w", "--watch", is_flag=True, help="Print the list again whenever it changes.")
@document_flag
@access_flags
def queue(
    *,
    namespace: str | None,
    all_namespaces: bool,
    start: bool,
    watch: bool,
    output: str,
    access: Access,
) -> int:
    """List the groups and pods that wait for nodes, in scheduling order.

    It lists the objects that the scheduler lists, and runs the scheduler's engine on them as if
    every Binding and eviction succeeded at once. It writes nothing, and no scheduler needs to run.

    START is "now" for those that get nodes at their next turn. For others it is the time until
    enough pods have ended: "<=20m" if limits (activeDeadlineSeconds) end them, "~20m" if they are
    expected to end (annotation enbloc.dev/expected-seconds), provided that no new pods arrive. "-"
    means unknown. Those that were not tried, because members or a PodGroup are missing, come last
    and have no PLACE.

    The simulation ends after 60 seconds. If it was not done by then, a note on stderr says how many
    were not tried: they come last as well, and START is "-" for all that do not start now.

    Exit code: 0 listed, 1 the cluster cannot be read, 2 the command line, a --config file, the
    dump or the kubeconfig is invalid.
    """
    asked = _Flags(namespace, all_namespaces, start, output)
    if watch and output in DOCUMENTS:
        raise UsageError(f"--watch prints tables; leave out --output={output}")
    if watch and access.dump is not None:
        raise UsageError("--watch: a dump does not change; leave out --watch")
    shown: object = None
    failed: list[str] = []
    while True:
        try:
            found, default = seen(access, namespace, everywhere=all_namespaces)
        except ExceptionGroup as group:
            if not (watch and transient(group)):
                say_each(group)
                return ERROR
            failed += (f"{line}; looking again every {PERIOD:g} s" for line in lines(group))
            access.warn(failed)
        else:
            access.said.difference_update(failed)  # report the failure if it comes back
            failed.clear()
            shown = _show(asked, found, default, shown)
        if not watch:
            return OK
        _pause()


def _pause() -> None:
    """Wait until the cluster is read again."""
    asyncio.run(asyncio.sleep(PERIOD))


def _show(asked: "_Flags", found: "Outlook | NamespaceView", default: str, shown: object) -> object:
    """Print the queue unless it is already shown; returns what is shown then."""
    rows = _reported(found) if isinstance(found, NamespaceView) else _rows(asked, found, default)
    if asked.output in DOCUMENTS:
        complete = not isinstance(found, NamespaceView) and found.complete
        print_document(_document(rows, found.now, complete=complete), asked.output)
        return None
    table = _table(asked, rows, found.now)
    now = [{**line, "WAITING": ""} for line in table]  # WAITING grows with every reading
    if table and now != shown:
        print_table(list(table[0]), [list(line.values()) for line in table])
    elif now != shown:
        everywhere = asked.everywhere and not isinstance(found, NamespaceView)
        where = "any namespace" if everywhere else f"namespace {default}"
        say(f"Nobody waits for nodes in {where}.", err=True)
    return now


class _Flags(NamedTuple):
    """The flags of the command line."""

    namespace: str | None
    everywhere: bool
    by_start: bool
    output: str


class _Row(NamedTuple):
    """One line of the queue.

    Attributes:
        place: counted from 1; None = it was not tried.
        start: when it starts, server seconds; None = unknown.
        latest: it starts then or earlier, if nothing new arrives; None = it starts now, or the
            time is unknown.
    """

    place: int | None
    waiting: "Waiting | Reported"
    start: float | None
    latest: bool | None


def _rows(asked: _Flags, found: "Outlook", default: str) -> Sequence[_Row]:
    chosen = None if asked.everywhere else asked.namespace or default
    starts = found.starts()
    rows: list[_Row] = []
    for place, each in enumerate(found.rows, start=1):
        if chosen in (None, each.key.namespace):
            later = starts.get(each.key)
            at = found.now if each.starts else later.at if later is not None else None
            latest = None if each.starts or later is None else later.latest
            rows.append(_Row(place if each.decided else None, each, at, latest))
    if asked.by_start:
        rows.sort(key=lambda row: math.inf if row.start is None else row.start)
    return rows


def _reported(found: NamespaceView) -> Sequence[_Row]:
    """The lines by what the scheduler reported, if the cluster cannot be listed."""
    return [_Row(None, each, None, None) for each in found.rows]


def _table(asked: _Flags, rows: Sequence[_Row], now: float) -> Sequence[Mapping[str, str]]:
    """The lines of the table, each as column header → text."""
    found: list[Mapping[str, str]] = []
    for row in rows:
        each = row.waiting
        found.append(
            {
                "PLACE": "-" if row.place is None else str(row.place),
                **({"NAMESPACE": each.key.namespace} if asked.everywhere else {}),
                "NAME": each.short_name,
                "OWNER": each.owner or "-",
                "PENDING": str(len(each.pending)),
                "NEEDS": "-" if each.minimum is None else str(each.minimum),
                "PRIORITY": str(each.priority),
                "WAITING": span_text(now - each.since),
                "START": _start(asked, row, now),
                "WHY": _cut(asked, why(each)),
            }
        )
    return found


def _start(asked: _Flags, row: _Row, now: float) -> str:
    """When it starts: a time with --start, else the time until then."""
    if row.start is None:
        return "-"
    if row.waiting.starts:
        return "now"
    sign = "<=" if row.latest else "~"
    at = time_text(row.start) if asked.by_start else span_text(row.start - now, up=True)
    return f"{sign}{at}"


def _cut(asked: _Flags, text: str) -> str:
    """The message, cut unless the output is wide."""
    return text if asked.output == "wide" else clipped(text, _WIDTH)


def _document(rows: Sequence[_Row], now: float, *, complete: bool) -> Any:
    """The answer, for programs."""
    return {
        "apiVersion": names.CLI_API_VERSION,
        "kind": "Queue",
        "time": time_text(now),
        "complete": complete,
        "items": [
            {
                "place": row.place,
                "start": None if row.start is None else time_text(row.start),
                "startIsLatest": row.latest,
                **row_document(row.waiting),
            }
            for row in rows
        ],
    }


def row_document(row: "Waiting | Reported") -> dict[str, Any]:
    """One waiting group or pod, for programs."""
    return {
        "kind": "Pod" if row.solo else "PodGroup",
        "namespace": row.key.namespace,
        "name": row.short_name.removeprefix("pod/"),
        "owner": row.owner,
        "pending": [pod.key.name for pod in row.pending],
        "members": row.members,
        "minimum": row.minimum,
        "priority": row.priority,
        "since": time_text(row.since),
        "starts": row.starts,
        "placements": [{"pod": pod.name, "node": node} for pod, node in row.placed.items()],
        "victims": [{"namespace": pod.namespace, "name": pod.name} for pod in row.victims],
        "reason": str(row.reason),
        "message": row.message,
    }
