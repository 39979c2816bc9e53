# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pages stay small, however much waits, and however long the names are."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pytest

from enbloc.engine.events import Event, NodeSeen, PodSeen
from enbloc.model.groups import GroupKey
from enbloc.model.pods import Owner, PodKey
from enbloc.ui.group_page import group_page
from enbloc.ui.nodes_page import NODES, NodesQuery, block_page, listed, nodes_page
from enbloc.ui.queue_page import QueueQuery, queue_page
from enbloc.ui.time_page import LINES, TimeQuery, time_page
from enbloc.ui.timeline import timeline
from enbloc.ui.view import ANYBODY, View
from tests.ui.world import NOW, RACKS, gang, nodes, running, status, view

#: Of one page (bytes).
MOST: Final = 200_000
NAMESPACES: Final = 300


@pytest.fixture(scope="module")
def large() -> View:
    """Ten thousand groups that wait, and a thousand nodes in a hundred racks."""
    return view(
        [RACKS],
        *(nodes(10, f"rack-{n:03}") for n in range(100)),
        *(
            gang(f"group-{n:05}", 1, namespace=f"team-{n % NAMESPACES}", minimum=2)
            for n in range(10_000)
        ),
    )


def sizes(of: View) -> Iterator[int]:
    """Of every kind of page, the first and the last."""
    told = status(of)
    for number in (1, 10**9):
        yield len(queue_page(of, ANYBODY, QueueQuery(page=number), told).encode())
        gangs = [(row, of.finder.places(row.waiting)) for row in listed(of, ANYBODY)]
        query = NodesQuery(page=number)
        yield len(nodes_page(of, gangs, query, told).encode())
        yield len(block_page(of.nodes.blocks[0], ANYBODY, gangs, query, told).encode())
        for key in list(of.members)[:3]:
            yield len(group_page(of, ANYBODY, key, number, told).encode())


def test_a_page_of_nodes_that_are_reserved_for_many_with_long_names_is_small() -> None:
    of = view(
        nodes(NODES),
        *(
            gang(f"{n:0240}-{node}", 1, namespace=f"{n:063}", minimum=2, nominated=f"node-{node}")
            for node in range(NODES)
            for n in range(6)
        ),
    )
    [block] = of.nodes.blocks
    page = block_page(block, ANYBODY, [], NodesQuery("", block.shape), status(of))
    assert "reserved for 6 pods" in page
    assert len(page.encode()) <= MOST


def time_sizes(of: View) -> Iterator[int]:
    """The same of the pages of what runs and starts."""
    times = timeline(of.members, [row.waiting for row in of.rows], of.starts, of.present.now)
    for number in (1, 10**9):
        yield len(time_page(of, times, ANYBODY, TimeQuery(page=number), status(of)).encode())


def test_pages_of_ten_thousand_groups_are_small(large: View) -> None:
    assert len(large.rows) == 10_000
    assert max(sizes(large)) < MOST / 2


def test_the_pages_of_ten_thousand_groups_that_run_are_small() -> None:
    of = view(
        nodes(1),
        *(
            running(f"group-{n:05}", 1, "node-0", started=NOW, expected=1e5 + n, limit=1e6)
            for n in range(10_000)
        ),
    )
    assert max(time_sizes(of)) < MOST / 2


def test_pages_are_bounded_whatever_names_are_like() -> None:
    """Every name is as long as it may be; of owners, of which any text is taken, far longer."""

    def worst(events: list[Event]) -> list[Event]:
        return [_worst(each) for each in events]

    of = view(
        worst(nodes(700)),
        worst(gang("big", 300, cpu=100)),
        *(worst(gang("g" * 200 + str(n), 2, cpu=100)) for n in range(60)),
        running("old", 1, "node-0"),
        *(
            worst(running("r" * 200 + str(n), 1, "node-0", started=NOW, expected=1e7, limit=1e8))
            for n in range(LINES)
        ),
    )
    assert max(sizes(of)) < MOST
    assert max(time_sizes(of)) < MOST


def _worst(event: Event) -> Event:
    attack = "a" * 253
    match event:
        case NodeSeen(node):
            return NodeSeen(replace(node, name=f"{node.name}{attack}"[:253]))
        case PodSeen(pod):
            key = PodKey(pod.key.namespace, f"{pod.key.name}{attack}"[:253])
            return PodSeen(replace(pod, key=key, owner=Owner("Job", "&" * 5000, "uid")))
        case _:
            return event


def test_a_group_of_a_thousand_members_has_a_small_page() -> None:
    of = view(nodes(1), gang("big", 1000))
    page = group_page(of, ANYBODY, GroupKey("team", "big"), 1, status(of))
    assert len(page.encode()) < MOST / 2
