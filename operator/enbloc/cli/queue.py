# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`enbloc queue`: who waits for nodes, in the order in which the scheduler decides, and why."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from enbloc.cli.entry import OK
from enbloc.cli.flags import cluster_flags, config_flag, document_flag, namespace_flags
from enbloc.cli.present import simulated
from enbloc.cli.tables import print_document, print_table, say
from enbloc.model import names
from enbloc.model.times import time_text

if TYPE_CHECKING:
    from enbloc.simulation import Waiting

#: A table shows so much of a message.
_WIDTH: Final = 100
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@click.command(short_help="List who waits for nodes, in order, and why.")
@namespace_flags
@document_flag
@config_flag
@cluster_flags
def queue(
    *,
    namespace: str | None,
    all_namespaces: bool,
    output: str,
    configs: tuple[Path, ...],
    kubeconfig: Path | None,
    context: str | None,
) -> int:
    """List the groups and pods that wait for nodes, in the order in which they are decided.

    It lists what the scheduler lists, and lets the engine decide on that as if everything that it
    asks for succeeded at once: so START "now" is who gets nodes when the scheduler takes it next.
    It writes nothing, and no scheduler needs to run. Those that were not tried, as they lack
    members or a PodGroup, come last and have no PLACE.

    Exit code: 0 listed, 1 the cluster cannot be read.
    """
    found = simulated("queue", configs, kubeconfig, context)
    chosen = None if all_namespaces else namespace or found.namespace
    numbered = _numbered(found.rows)
    rows = [(n, row) for n, row in numbered if chosen is None or row.key.namespace == chosen]
    if output != "table" and output != "wide":
        print_document(_document(rows, found.now), output)
    elif not rows:
        where = f"namespace {chosen}" if chosen is not None else "any namespace"
        say(f"Nobody waits for nodes in {where}.", err=True)
    else:
        _print(rows, found.now, namespaces=chosen is None, wide=output == "wide")
    return OK


Numbered = Sequence[tuple[int | None, "Waiting"]]


def _numbered(rows: Sequence["Waiting"]) -> Numbered:
    """Each with its place, counted from 1; None = it was not tried."""
    return [(n if row.decided else None, row) for n, row in enumerate(rows, start=1)]


def _print(rows: Numbered, now: float, *, namespaces: bool, wide: bool) -> None:
    headers = ["PLACE", "NAME", "OWNER", "PENDING", "NEEDS", "PRIORITY", "WAITING", "START", "WHY"]
    if namespaces:
        headers.insert(1, "NAMESPACE")
    lines: list[list[str]] = []
    for place, row in rows:
        why = row.message
        line = [
            "-" if place is None else str(place),
            row.short_name,
            row.owner or "-",
            str(len(row.pending)),
            str(row.minimum),
            str(row.priority),
            duration(now - row.since),
            "now" if row.starts else "-",
            why if wide or len(why) <= _WIDTH else f"{why[: _WIDTH - 1]}…",
        ]
        if namespaces:
            line.insert(1, row.key.namespace)
        lines.append(line)
    print_table(headers, lines)


def duration(seconds: float) -> str:
    """A time span as kubectl shows ages: 45s, 12m, 3h, 2d."""
    whole = max(0, int(seconds))
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 2 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    return f"{whole // _DAY}d"


def _document(rows: Numbered, now: float) -> Any:
    """The answer, for programs."""
    return {
        "apiVersion": names.CLI_API_VERSION,
        "kind": "Queue",
        "time": time_text(now),
        "items": [{"place": place, **row_document(row)} for place, row in rows],
    }


def row_document(row: "Waiting") -> dict[str, Any]:
    """One of those who wait, for programs."""
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
