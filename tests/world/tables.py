# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Node tables and snapshots as a plugin sees them, without any engine."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from enbloc.ledgers import Ledgers
from enbloc.model.node import Node
from enbloc.model.nodes import Nodes
from enbloc.model.placed import PlacedPods
from enbloc.model.pods import Pod, PodUID
from enbloc.model.resources import ResourceSpace
from enbloc.model.snapshot import Snapshot


def nodes(*facts: Node) -> Nodes:
    """A live table of these nodes."""
    table = Nodes(ResourceSpace(), Ledgers())
    for fact in facts:
        table.put(fact)
    return table


def snapshot(table: Nodes) -> Snapshot:
    """Frozen facts with this node table."""
    return Snapshot(table.snapshot(), PlacedPods().snapshot())


def occupied(
    *facts: Node, seats: Iterable[tuple[Pod, str]] = (), namespaces: Sequence[str] = ("default",)
) -> Snapshot:
    """Frozen facts with these nodes, and with these pods on them, whose requests count."""
    table, placed = nodes(*facts), PlacedPods()
    for member, name in seats:
        row = table.row(name)
        assert row is not None, f"there is no node {name}"
        table.place(row, member.spec)
        placed.put(replace(member, node=name), row)
    return Snapshot(table.snapshot(), placed.snapshot(), dict.fromkeys(namespaces, ()))


def seated(table: Nodes, *seats: tuple[Pod, str], **facts: Any) -> Snapshot:
    """Frozen facts with these pods on the nodes of these names; their requests do not count.

    Further facts are Snapshot's.
    """
    placed = PlacedPods()
    for index, (member, name) in enumerate(seats):
        row = table.row(name)
        assert row is not None, f"there is no node {name}"
        placed.put(replace(member, uid=PodUID(f"{index}"), node=name), row)
    return Snapshot(table.snapshot(), placed.snapshot(), **facts)
