# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The page of the nodes: a heat map by rack and shape, and which gangs each node could hold."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from enbloc.model.pending import name_of
from enbloc.model.text import clipped, several
from enbloc.simulation import Waiting, amounts
from enbloc.ui.charts import Piece, Square, bar, key, squares
from enbloc.ui.links import group_address
from enbloc.ui.markup import Child, Markup, element
from enbloc.ui.node_map import (
    Block,
    Condition,
    NodeMap,
    NodeUse,
    amount_text,
    marked,
    marked_block,
)
from enbloc.ui.pages import Column, ListPage, Status, document, live, pager, table, with_query
from enbloc.ui.places import Lack, MemberNodes
from enbloc.ui.view import Row, View, Viewer

#: The most blocks on a page, and the most squares; a block with more nodes is drawn as a bar.
BLOCKS: Final = 40
SQUARES: Final = 300
#: The most nodes on the page of one block.
NODES: Final = 150
#: The most gangs that are listed beside the map; the stylesheet has classes for as many.
GANGS: Final = 10
_MOST_NAMED: Final = 5
#: The most different lacks and refusals per gang, and the longest part of one (characters).
_MOST_LACKS: Final = 3
_TEXT: Final = 160
#: The longest part of a group's name in a table (characters).
_NAME: Final = 80
_LEVELS: Final = (
    "less than 25 % used",
    "25 to 49 % used",
    "50 to 74 % used",
    "75 to 94 % used",
    "95 % used or more",
)
_MARKS: Final = {
    Condition.READY: "",
    Condition.QUARANTINED: "-",
    Condition.CORDONED: "/",
    Condition.NOT_READY: "x",
}
_MEANINGS: Final = {Condition.QUARANTINED: "in quarantine: it gets no members of gangs for a while"}
_KINDS: Final = {
    Condition.QUARANTINED: "barred",
    Condition.CORDONED: "cordoned",
    Condition.NOT_READY: "away",
}


@dataclass(frozen=True, slots=True)
class NodesQuery:
    """The part of the nodes to show.

    Attributes:
        rack, shape: of the block whose single nodes are shown; "" = show all blocks.
        page: from 1.
    """

    rack: str = ""
    shape: str = ""
    page: int = 1


_ROOM: Final = Column("Room for who waits")
_RESERVED_MARK: Final = "#"
_RESERVED: Final = "reserved: pods of lower priority are evicted there for a waiting group"


#: A gang, and the nodes that could hold its members.
Gang = tuple[Row, MemberNodes]


def listed(view: View, viewer: Viewer) -> Sequence[Row]:
    """The gangs beside the map: the first ones in queue order that the viewer may see."""
    seen = (row for row in view.rows if row.place and viewer.sees(row.waiting.key.namespace))
    return [row for row, _ in zip(seen, range(GANGS), strict=False)]


def block_of(nodes: NodeMap, query: NodesQuery) -> Block | None:
    """The block that a query names; None = there is none."""
    return next((b for b in nodes.blocks if (b.rack, b.shape) == (query.rack, query.shape)), None)


def nodes_page(
    view: View,
    gangs: Sequence[Gang],
    query: NodesQuery,
    status: Status,
    quarantined: Collection[str] | None = frozenset(),
) -> str:
    """The page of all blocks.

    Args:
        view: the cluster.
        gangs: the gangs beside the map.
        query: the part to show.
        status: the age of the view.
        quarantined: the nodes that are in quarantine; None = unknown.
    """
    nodes = marked(view.nodes, quarantined or ())
    part = ListPage(len(nodes.blocks), BLOCKS, query.page)
    blocks = nodes.blocks[part.items]
    holding = _Holding(gangs)
    return document(
        "Nodes",
        "/nodes",
        [
            live(
                "nodes",
                bar("Nodes", _pieces(nodes.blocks)),
                _gangs(gangs),
                _legend(blocks, quarantined),
                element("ul", list(_drawn(blocks, holding)), class_="blocks"),
                _block_table(nodes, part, blocks, gangs),
                pager(part, "Rows", lambda n: with_query("/nodes", page=n)),
            )
        ],
        status,
    )


def block_page(
    block: Block,
    viewer: Viewer,
    gangs: Sequence[Gang],
    query: NodesQuery,
    status: Status,
    quarantined: Collection[str] | None = frozenset(),
) -> str:
    """The page of the nodes of one block; for most arguments see `nodes_page`.

    It names the groups that nodes are reserved for if the viewer may see them, else their number.
    """
    block = marked_block(block, quarantined or ())
    part = ListPage(len(block.nodes), NODES, query.page)
    nodes = block.nodes[part.items]
    holding = _Holding(gangs)
    resources = block.resources()
    columns = (
        Column("Node", heads=True),
        Column("State"),
        *(Column(f"Used {name}", number=True) for name in resources),
        Column("Pods", number=True),
        *([Column("Reserved for")] if block.reserved else []),
        *([_ROOM] if gangs else []),
    )
    rows = [
        (
            *_node_cells(node, resources),
            *([_for_whom(node, viewer)] if block.reserved else []),
            *([_room(gangs, [node])] if gangs else []),
        )
        for node in nodes
    ]
    caption = f"{len(block.nodes)} nodes: what their pods request, of what they offer"

    def address(number: int) -> str:
        return with_query("/nodes", rack=query.rack, shape=query.shape, page=number)

    return document(
        f"Nodes: {_name(block)}",
        "/nodes",
        [
            element("p", element("a", "All nodes", href="/nodes")),
            live(
                "nodes",
                bar("Nodes", _pieces([block])),
                _gangs(gangs),
                _legend([block], quarantined),
                _squares(block, nodes, holding),
                table(caption, columns, rows, "There are no nodes."),
                pager(part, "Nodes", address),
            ),
        ],
        status,
    )


def _name(block: Block) -> str:
    return f"{block.rack}, {block.shape}" if block.rack else block.shape


# ── the map ──────────────────────────────────────────────────────────────────────────────────


class _Holding:
    """The CSS classes of nodes, with which the stylesheet shows the nodes that can hold a gang."""

    def __init__(self, gangs: Sequence[Gang]) -> None:
        self._classes: dict[str, list[str]] = {}
        for number, (_, places) in enumerate(gangs, start=1):
            for node in places.now:
                self._classes.setdefault(node, []).append(f"now{number}")
            for node in places.empty - places.now:
                self._classes.setdefault(node, []).append(f"if{number}")

    def of(self, node: NodeUse) -> str:
        """The classes of one node, with that of its level of use."""
        return " ".join((f"u{node.level}", *self._classes.get(node.name, ())))


def _drawn(blocks: Sequence[Block], holding: _Holding) -> Iterator[Markup]:
    left = SQUARES
    for block in blocks:
        address = with_query("/nodes", rack=block.rack, shape=block.shape)
        if len(block.nodes) <= left:
            left -= len(block.nodes)
            drawn = _squares(block, block.nodes, holding)
        else:
            drawn = bar(_name(block), _pieces([block]))
        yield element("li", element("h2", element("a", _name(block), href=address)), drawn)


def _squares(block: Block, nodes: Sequence[NodeUse], holding: _Holding) -> Markup:
    return squares(
        f"{len(nodes)} nodes of {_name(block)}; the table below says the same of them",
        [Square(_told(node), holding.of(node), _mark(node)) for node in nodes],
    )


def _mark(node: NodeUse) -> str:
    reserved = node.reserved and node.condition is Condition.READY
    return _RESERVED_MARK if reserved else _MARKS[node.condition]


def _told(node: NodeUse) -> str:
    state = "" if node.condition is Condition.READY else f", {node.condition}"
    pods = sum(node.reserved.values())
    reserved = f", reserved for {'a pod' if pods == 1 else f'{pods} pods'}" if pods else ""
    return f"{node.name}: {node.share:.0%} used{state}{reserved}"


def _for_whom(node: NodeUse, viewer: Viewer) -> str:
    """The groups that a node is reserved for; those that the viewer may not see are counted."""
    keys = [key for key in sorted(node.reserved) if viewer.sees(key.namespace)]
    others = len(node.reserved) - len(keys)
    named = [f"{others} in other namespaces"] if others else []
    named += [clipped(name_of(key), _NAME) for key in keys]
    return several(named, _MOST_NAMED)


def _legend(blocks: Sequence[Block], quarantined: Collection[str] | None) -> Markup:
    used = [element("li", key(f"u{n}"), text) for n, text in enumerate(_LEVELS)]
    marks = (
        element("li", key("u0", mark), _MEANINGS.get(condition, str(condition)))
        for condition, mark in _MARKS.items()
        if mark
    )
    reserved = any(block.reserved for block in blocks)
    text = (
        "One square is one node. Its colour is how much is requested of what it has least left of."
    )
    unknown = "Which nodes are in quarantine is not known: events cannot be read."
    return element(
        "div",
        element("p", text),
        element(
            "ul",
            used,
            marks,
            element("li", key("u0", _RESERVED_MARK), _RESERVED) if reserved else None,
            class_="keys",
        ),
        element("p", unknown) if quarantined is None else None,
    )


def _pieces(blocks: Sequence[Block]) -> Sequence[Piece]:
    levels = [sum(counts) for counts in zip(*(b.levels() for b in blocks), strict=True)]
    parts = [
        Piece(name, count, f"u{level}")
        for level, (name, count) in enumerate(zip(_LEVELS, levels or [0] * 5, strict=True))
    ]
    for condition, kind in _KINDS.items():
        parts.append(Piece(str(condition), sum(b.count(condition) for b in blocks), kind))
    return parts


# ── waiting gangs ────────────────────────────────────────────────────────────────────────────


def _gangs(gangs: Sequence[Gang]) -> Markup | None:
    """The waiting gangs; the stylesheet shows the nodes of the one that is hovered or focused."""
    if not gangs:
        return None
    text = (
        "Point at one of these, or mark it on the map: nodes with room for one of its members get "
        "a frame, and a broken one those that had room if they were empty. The table below says "
        "the same by their numbers."
    )
    items = [_gang(number, *each) for number, each in enumerate(gangs, start=1)]
    return element(
        "section",
        element("h2", "The first who wait"),
        element("p", text),
        element("ol", items, class_="gangs"),
    )


def _gang(number: int, row: Row, places: MemberNodes) -> Markup:
    waiting = row.waiting
    return element(
        "li",
        element("a", waiting.name, href=group_address(waiting.key)),
        f": {'. '.join(filter(None, (_where(waiting, places), _misses(places))))}. ",
        element("a", f"Mark {row.place} on the map", href=f"#gang{number}"),
        id=f"gang{number}",
        value=row.place,
    )


def _where(waiting: Waiting, places: MemberNodes) -> str:
    if waiting.starts:
        return f"starts now on {several(sorted(set(waiting.placed.values())), _MOST_NAMED)}"
    if not places.empty:
        return "no node could hold one of its members, even if empty"
    now = f"room for one of its members on {several(sorted(places.now), _MOST_NAMED)}"
    if not places.now:
        now = "room for one of its members on no node"
    return f"{now}; if empty, on {_count(len(places.empty))}"


def _misses(places: MemberNodes) -> str:
    """What the other nodes lack, the smallest lack first; and why the rest refuse the member."""
    counted = Counter(places.lacks.values())
    lacks = [
        f"{_count(counted[lack])} {_verb('lack', counted[lack])} {_lack(lack)}"
        for lack in sorted(counted, key=_size)
    ]
    refused = [f"{_count(nodes)}: {clipped(reason, _TEXT)}" for reason, nodes in places.refused]
    told = [several(each, _MOST_LACKS) for each in (lacks, refused) if each]
    return "; ".join(told)


def _size(lack: Lack) -> tuple[int, Sequence[int]]:
    return len(lack), [amount for _, amount in lack]


def _lack(lack: Lack) -> str:
    amount = amounts(dict(lack))
    return clipped(amount, _TEXT) if amount else "a place for a pod"


def _count(nodes: int) -> str:
    return "1 node" if nodes == 1 else f"{nodes} nodes"


def _verb(verb: str, nodes: int) -> str:
    return f"{verb}s" if nodes == 1 else verb


def _room(gangs: Sequence[Gang], nodes: Sequence[NodeUse]) -> str:
    """Per gang, by its place in the queue, whether these nodes have room for a member."""
    return "; ".join(f"{row.place}: {_room_for(places, nodes)}" for row, places in gangs) or "–"


def _room_for(places: MemberNodes, nodes: Sequence[NodeUse]) -> str:
    room = sum(node.name in places.now for node in nodes)
    if room:
        return "room" if len(nodes) == 1 else f"room on {room}"
    lacks = [places.lacks[node.name] for node in nodes if node.name in places.lacks]
    return f"lacks {_lack(min(lacks, key=_size))}" if lacks else "refused"


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def _block_table(
    nodes: NodeMap, part: ListPage, blocks: Sequence[Block], gangs: Sequence[Gang]
) -> Markup:
    rack = [Column(" / ".join(nodes.levels), heads=True)] if nodes.topology else []
    reserved = any(block.reserved for block in nodes.blocks)
    columns = (
        *rack,
        Column("Shape", heads=not rack),
        Column("Nodes", number=True),
        *(Column(str(condition).capitalize(), number=True) for condition in Condition),
        *([Column("Reserved", number=True)] if reserved else []),
        Column("Full", number=True),
        Column("Used, of what they offer"),
        *([_ROOM] if gangs else []),
    )
    rows = [
        (
            *_block_cells(block, racks=bool(rack), reserved=reserved),
            *([_room(gangs, block.nodes)] if gangs else []),
        )
        for block in blocks
    ]
    by = f"topology {nodes.topology} and shape" if nodes.topology else "shape"
    caption = f"{nodes.nodes} nodes by {by}: {part.total} {'row' if part.total == 1 else 'rows'}"
    return table(caption, columns, rows, "There are no nodes.")


def _block_cells(block: Block, *, racks: bool, reserved: bool) -> Sequence[Child]:
    used = [f"{_amounts(block.total(name), name)} {name}" for name in block.resources()]
    return (
        *((block.rack,) if racks else ()),
        block.shape,
        len(block.nodes),
        *(block.count(condition) for condition in Condition),
        *((block.reserved,) if reserved else ()),
        block.levels()[-1],
        ", ".join(used),
    )


def _node_cells(node: NodeUse, resources: Sequence[str]) -> Sequence[Child]:
    def amounts(of: Mapping[str, int], name: str) -> int:
        return of.get(name, 0)

    return (
        node.name,
        str(node.condition),
        *(
            _amounts((amounts(node.used, name), amounts(node.allocatable, name)), name)
            for name in resources
        ),
        node.pods,
    )


def _amounts(amounts: tuple[int, int], resource: str) -> str:
    used, offered = (amount_text(resource, amount) for amount in amounts)
    return f"{used} of {offered}"
