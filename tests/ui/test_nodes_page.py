# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The nodes as a page: squares, and a table that says the same; who could be where."""

import re
from collections.abc import Sequence

from enbloc.engine.events import TopologySeen
from enbloc.model.taints import Effect, Taint
from enbloc.model.topology import Level, Topology
from enbloc.ui.nodes_page import (
    GANGS,
    NODES,
    SQUARES,
    NodesQuery,
    block_of,
    block_page,
    listed,
    nodes_page,
)
from enbloc.ui.view import ANYBODY, View, Viewer
from tests.ui.dom import Element, lines, parsed
from tests.ui.world import RACKS, gang, lone, nodes, running, status, view

SHAPE = "8 CPUs, 32Gi"


def page(of: View, query: NodesQuery | None = None, viewer: Viewer = ANYBODY) -> Element:
    query = query or NodesQuery()
    gangs = [(row, of.finder.places(row.waiting)) for row in listed(of, viewer)]
    if not query.shape:
        return parsed(nodes_page(of, gangs, query, status(of)))
    block = block_of(of.nodes, query)
    assert block is not None
    return parsed(block_page(block, viewer, gangs, query, status(of)))


def mark_of(drawn: str) -> str:
    """What a path looks like."""
    numbers = re.findall(r"[0-9.]+", drawn)
    if len(numbers) == 8:
        return "x"
    if len(numbers) == 12:
        return "#"
    return "-" if numbers[1] == numbers[3] else "/"


def squares(of: Element) -> dict[str, tuple[str, str]]:
    """By what each square tells, its classes and its mark."""
    found: dict[str, tuple[str, str]] = {}
    for drawing in of.every("svg", **{"class": "map"}):
        for group in drawing.every("g"):
            drawn = [path["d"] for path in group.every("path")]
            mark = mark_of(drawn[0]) if drawn else ""
            found[group.one("title").text] = (group.one("rect")["class"], mark)
    return found


def frames(of: Element, kind: str) -> Sequence[str]:
    """The nodes that the stylesheet gives a frame of this class."""
    return [
        told.split(":")[0] for told, (classes, _) in squares(of).items() if kind in classes.split()
    ]


def test_nodes_are_drawn_by_rack_and_shape_and_the_table_says_the_same() -> None:
    world = view(
        [RACKS],
        nodes(2, "r1"),
        nodes(1, "r2", unschedulable=True),
        nodes(1, "r3", ready=False, nvidia_com__gpu=8),
        running("old", 1, "r1-0"),
        running("full", 2, "r1-1"),
    )
    shown = page(world)
    assert squares(shown) == {
        "r1-0: 50% used": ("u2", ""),
        "r1-1: 100% used": ("u4", ""),
        "r2-0: 0% used, cordoned": ("u0", "/"),
        "r3-0: 0% used, not ready": ("u0", "x"),
    }
    assert lines(shown) == [
        [
            "rack",
            "Shape",
            "Nodes",
            "Ready",
            "In quarantine",
            "Cordoned",
            "Not ready",
            "Full",
            "Used, of what they offer",
        ],
        ["r1", SHAPE, "2", "2", "0", "0", "0", "1", "12 of 16 cpu, 3Gi of 64Gi memory"],
        ["r2", SHAPE, "1", "0", "0", "1", "0", "0", "0 of 8 cpu, 0Mi of 32Gi memory"],
        [
            "r3",
            f"{SHAPE}, 8 nvidia.com/gpu",
            *("1", "0", "0", "0", "1", "0"),
            "0 of 8 cpu, 0Mi of 32Gi memory, 0 of 8 nvidia.com/gpu",
        ],
    ]
    assert shown.one("caption").text == "4 nodes by topology racks and shape: 3 rows"


def test_nodes_in_quarantine_are_marked_unless_they_take_no_pods_anyway() -> None:
    world = view(nodes(2), nodes(1, "closed", unschedulable=True))
    names = frozenset({"node-1", "closed-0", "gone"})
    shown = parsed(nodes_page(world, [], NodesQuery(), status(world), names))
    assert squares(shown) == {
        "node-0: 0% used": ("u0", ""),
        "node-1: 0% used, in quarantine": ("u0", "-"),
        "closed-0: 0% used, cordoned": ("u0", "/"),
    }
    assert lines(shown)[1][1:6] == ["3", "1", "1", "1", "0"]
    assert "in quarantine: 1" in shown.one("figure").text
    assert "is not known" not in shown.text


def test_where_events_cannot_be_read_quarantine_is_not_known() -> None:
    world = view(nodes(1))
    unknown = "Which nodes are in quarantine is not known: events cannot be read."
    assert unknown in parsed(nodes_page(world, [], NodesQuery(), status(world), None)).text
    [block] = world.nodes.blocks
    shown = parsed(block_page(block, ANYBODY, [], NodesQuery("", block.shape), status(world), None))
    assert unknown in shown.text
    barred = block_page(block, ANYBODY, [], NodesQuery("", block.shape), status(world), {"node-0"})
    assert lines(parsed(barred))[1][:2] == ["node-0", "in quarantine"]


def test_nodes_that_are_reserved_are_hatched_and_say_for_whom() -> None:
    world = view(
        nodes(2),
        nodes(1, "closed", unschedulable=True),
        running("old", 2, "node-0"),
        gang("first", 2, nominated="node-0"),
        gang("other", 1, namespace="secret", nominated="node-0"),
        gang("next", 1, cpu=9, nominated="closed-0"),
        running("was", 1, "node-1", nominated="node-1"),
        gang("lost", 1, cpu=9, nominated="gone"),
    )
    shown = page(world)
    assert squares(shown) == {
        "node-0: 100% used, reserved for 3 pods": ("u4 if1 if2", "#"),
        "node-1: 50% used": ("u2 now1 now2", ""),
        "closed-0: 0% used, cordoned, reserved for a pod": ("u0", "/"),
    }
    meaning = "reserved: pods of lower priority are evicted there for a waiting group"
    assert meaning in shown.text
    heads, row = lines(shown)
    assert row[heads.index("Reserved")] == "2"

    one = NodesQuery("", SHAPE)
    heads, *rows = lines(page(world, one, Viewer(namespaces=frozenset({"team"}), nodes=True)))
    named = {row[0]: row[heads.index("Reserved for")] for row in rows}
    assert named == {
        "closed-0": "team/next",
        "node-0": "1 in other namespaces, team/first",
        "node-1": "",
    }
    heads, *rows = lines(page(world, one))
    assert "secret/other, team/first" in [row[heads.index("Reserved for")] for row in rows]


def test_where_no_node_is_reserved_nothing_is_said_of_it() -> None:
    world = view(nodes(1), gang("waits", 1, cpu=9))
    for query in (NodesQuery(), NodesQuery("", SHAPE)):
        assert "eserved" not in page(world, query).text


def test_without_a_topology_there_are_shapes_alone() -> None:
    labels = (("node.kubernetes.io/instance-type", "large"),)
    shown = page(view(nodes(2), nodes(1, "b", cpu=4, labels=labels)))
    assert [row[0] for row in lines(shown)] == ["Shape", SHAPE, "large: 4 CPUs, 32Gi"]
    broken = TopologySeen(Topology("t", (Level("rack", "rack"),), problem="no such level"))
    hosts = TopologySeen(Topology("hosts", (Level("host", "kubernetes.io/hostname"),)))
    assert lines(page(view([broken, hosts], nodes(1))))[0][0] == "Shape"


def test_a_node_without_the_label_of_a_level_is_in_a_rack_of_its_own() -> None:
    assert [row[0] for row in lines(page(view([RACKS], nodes(1))))] == ["rack", "(none)"]


def test_the_resource_of_which_least_is_left_says_how_much_is_used() -> None:
    world = view(nodes(1, gpu=8), running("old", 1, "node-0", cpu=1, gpu=6))
    assert list(squares(page(world))) == ["node-0: 75% used"]


def test_nodes_that_could_hold_a_waiting_gang_have_its_frame_now_or_if_they_were_empty() -> None:
    taint = Taint("dedicated", "x", Effect.NO_SCHEDULE)
    world = view(
        nodes(2),
        nodes(1, "closed", taints=(taint,)),
        running("old", 1, "node-0"),
        gang("big", 5, cpu=6),
    )
    shown = page(world)
    assert frames(shown, "now1") == ["node-1"]
    assert frames(shown, "if1") == ["node-0"]
    [item] = shown.one("ol").every("li", id="gang1")
    assert item.text == (
        "team/big : room for one of its members on node-1; if empty, on 2 nodes. "
        "1 node lacks 2 CPUs; 1 node: node(s) had untolerated taint(s). Mark 1 on the map"
    )
    assert [a["href"] for a in item.every("a")] == ["/groups/team/big", "#gang1"]


def test_a_gang_that_starts_says_where_and_one_that_fits_nowhere_says_so() -> None:
    shown = page(view(nodes(1), gang("fits", 1), lone("huge", cpu=100)))
    first, second = (item.text for item in shown.one("ol").every("li"))
    assert first == "team/fits : starts now on node-0. Mark 1 on the map"
    assert second == (
        "pod team/huge : no node could hold one of its members, even if empty. "
        "1 node lacks 92 CPUs. Mark 2 on the map"
    )


def test_what_nodes_lack_is_told_the_nearest_first_and_the_tables_say_it_of_each() -> None:
    world = view(
        [RACKS],
        nodes(1, "r1"),
        nodes(2, "r2", memory="2Gi"),
        nodes(1, "r3", unschedulable=True),
        running("old", 1, "r1-0", cpu=6),
        running("small", 1, "r2-0", cpu=3),
        gang("big", 6, cpu=5, memory="3Gi", minimum=5),
        gang("small", 9, cpu=8, memory="1Gi"),
    )
    shown = page(world)
    big, small = (item.text for item in shown.one("ol").every("li"))
    assert "1 node lacks 3 CPUs, 1 node lacks 1Gi of memory, 1 node lacks 2Gi of memory;" in big
    assert "; 1 node: node(s) were unschedulable." in big
    assert "room for one of its members on r2-1; if empty, on 3 nodes." in small
    assert lines(shown)[0][-1] == "Room for who waits"
    assert [row[-1] for row in lines(shown)[1:]] == [
        "1: lacks 3 CPUs; 2: lacks 6 CPUs",
        "1: lacks 1Gi of memory; 2: room on 1",
        "1: refused; 2: refused",
    ]
    block = page(world, NodesQuery("r2", "8 CPUs, 2Gi"))
    assert [row[-1] for row in lines(block)[1:]] == [
        "1: lacks 2Gi of memory; 2: lacks 3 CPUs",
        "1: lacks 1Gi of memory; 2: room",
    ]


def test_a_full_node_has_no_place_for_a_pod() -> None:
    world = view(nodes(1, pods=1), running("old", 1, "node-0"), gang("next", 1))
    [item] = page(world).one("ol").every("li")
    assert "1 node lacks a place for a pod." in item.text


def test_gangs_are_listed_that_somebody_may_see_and_only_the_first() -> None:
    gangs = [gang(f"g{n:02}", 3) for n in range(GANGS + 3)]
    world = view(nodes(1), gang("secret", 3, namespace="other"), *gangs)
    shown = page(world, viewer=Viewer(namespaces=frozenset({"team"}), nodes=True))
    items = list(shown.one("ol").every("li"))
    assert [next(item.every("a")).text for item in items] == [f"team/g{n:02}" for n in range(GANGS)]
    assert items[0]["value"] == "2"
    assert "secret" not in shown.text


def test_a_block_of_many_nodes_is_a_bar_and_its_own_page_has_each_node() -> None:
    world = view([RACKS], nodes(SQUARES + 1, "many"), nodes(1, "one"))
    shown = page(world)
    assert list(squares(shown)) == ["one-0: 0% used"]
    many, one = shown.one("ul", **{"class": "blocks"}).every("a")
    assert one["href"] == "/nodes?rack=one&shape=8+CPUs%2C+32Gi"
    assert many.text == f"many, {SHAPE}"
    first = page(world, NodesQuery("many", SHAPE))
    assert first.one("h1").text == f"Nodes: many, {SHAPE}"
    assert len(squares(first)) == len(lines(first)) - 1 == NODES
    assert lines(first)[1] == ["many-0", "ready", "0 of 8", "0Mi of 32Gi", "0"]
    last = page(world, NodesQuery("many", SHAPE, 3))
    assert len(squares(last)) == SQUARES + 1 - 2 * NODES
    assert block_of(world.nodes, NodesQuery("none", SHAPE)) is None
