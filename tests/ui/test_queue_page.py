# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The queue as a page: the same as `enbloc queue` prints, part by part."""

import pytest

from enbloc.simulation import GivenUpError
from enbloc.ui.queue_page import ROWS, QueueQuery, queue_page
from enbloc.ui.view import ANYBODY, View, Viewer, view_of
from tests.ui.dom import Element, lines, parsed
from tests.ui.world import NOW, gang, lone, nodes, present, running, status, view


def page(of: View, viewer: Viewer = ANYBODY, query: QueueQuery | None = None) -> Element:
    return parsed(queue_page(of, viewer, query or QueueQuery(), status(of)))


def names(of: Element) -> list[str]:
    """Of whom the table tells; none where there is no table."""
    return [row[2] for row in lines(of)[1:]] if list(of.every("table")) else []


def test_who_waits_is_listed_in_order_with_why() -> None:
    world = view(
        nodes(2),
        running("old", 1, "node-0"),
        gang("big", 5),
        gang("fits", 2),
        gang("short", 2, minimum=3),
        lone("alone"),
    )
    header, big, fits, alone, short = lines(page(world))
    assert header[:5] == ["Place", "Namespace", "Name", "Owner", "Pending"]
    assert big[:9] == ["1", "team", "big", "Job/big", "5", "5", "0", "5m", "–"]
    assert big[9].startswith("Infeasible: needs capacity for 5 members")
    assert big[9].endswith("What would make it run Work it out")
    assert fits == ["2", "team", "fits", "Job/fits", "2", "2", "0", "5m", "now", ""]
    assert alone[:3] == ["3", "team", "pod/alone"]
    assert short[:6] == ["–", "team", "short", "Job/short", "2", "3"]
    assert short[9].startswith("WaitingForMembers: 2 of 3 members exist")


def test_the_figure_says_the_same_as_the_table() -> None:
    world = view(nodes(1), gang("fits", 2), gang("big", 5), gang("short", 1, minimum=3))
    figure = page(world).one("figure")
    told = ["start now: 1", "do not fit: 1", "lack members: 1", "wait for something else: 0"]
    assert [item.text for item in figure.one("ul").every("li")] == told
    assert next(figure.every("title")).text == f"Who waits: {', '.join(told)}"


def test_when_others_end_is_when_who_waits_starts() -> None:
    world = view(
        nodes(1),
        running("limited", 1, "node-0", started=NOW, limit=1200.0),
        running("expected", 1, "node-0", started=NOW, expected=3600.0),
        gang("first", 1, created=NOW - 900.0),
        gang("second", 1),
        gang("never", 3, created=NOW - 10.0),
    )
    before = page(world)
    assert [row[8] for row in lines(before)[1:]] == ["–"] * 3
    found = world.with_starts()
    assert found.number == world.number + 1
    after = page(found)
    assert [row[2:3] + row[8:9] for row in lines(after)[1:]] == [
        ["first", "≤20m"],
        ["second", "~60m"],
        ["never", "–"],
    ]
    assert "≤ at the latest, by the limits of those that run" in after.text


def test_when_nothing_tells_or_it_takes_too_long_no_start_is_told() -> None:
    endless = view(nodes(1), running("old", 2, "node-0"), gang("waits", 1))
    with pytest.raises(GivenUpError):
        endless.with_starts()
    limited = view(nodes(1), running("old", 2, "node-0", limit=60.0), gang("waits", 1))
    with pytest.raises(GivenUpError):
        limited.with_starts(lambda: False)
    assert limited.with_starts().starts


def test_a_view_that_reaches_the_time_limit_shows_what_was_decided_and_says_so() -> None:
    gangs = [gang(f"train-{at}", 1, cpu=1 + at) for at in range(9)]
    ends = running("old", 1, "node-0", limit=60.0)
    found = view_of(present(nodes(1), ends, *gangs), 1, lambda: False)
    rows = lines(page(found))[1:]
    assert len(rows) == len(gangs)
    assert rows[-1][0] == "–"
    assert rows[-1][8] == "–"
    assert rows[-1][9].startswith("Pending: the simulation reached its time limit before its turn")
    said = "It is not complete: the simulation reached its time limit"
    assert said in page(found).one("p", id="state").text
    assert said not in page(view(nodes(1), *gangs)).one("p", id="state").text
    with pytest.raises(GivenUpError):
        found.with_starts()


def test_a_name_leads_to_the_group_and_the_explanation_is_loaded_when_asked_for() -> None:
    shown = page(view(nodes(1), gang("big", 5), lone("huge", cpu=100)))
    table = shown.one("table")
    links = [a["href"] for a in table.every("a")]
    assert links == [
        "/groups/team/big",
        "/groups/team/big/explanation",
        "/pods/team/huge",
        "/pods/team/huge/explanation",
    ]
    assert [d["data-load"] for d in table.every("details")] == links[1::2]


def test_groups_of_namespaces_that_somebody_may_not_see_are_left_out_and_places_stay() -> None:
    world = view(nodes(1), gang("theirs", 5, namespace="other"), gang("mine", 6))
    shown = page(world, Viewer(namespaces=frozenset({"team"})))
    assert [row[:3] for row in lines(shown)[1:]] == [["2", "team", "mine"]]
    assert "other" not in shown.one("table").text
    assert names(page(world, Viewer())) == []


def test_a_part_of_the_queue_can_be_asked_for() -> None:
    world = view(nodes(1), gang("red-1", 5), gang("red-2", 5), gang("blue", 5, namespace="b"))
    assert names(page(world, query=QueueQuery(namespace="b"))) == ["blue"]
    assert names(page(world, query=QueueQuery(name="red"))) == ["red-1", "red-2"]
    nobody = page(world, query=QueueQuery("b", "red"))
    assert 'Nobody of a name with "red" in it waits for nodes in namespace b.' in nobody.text
    assert nobody.one("input", name="name")["value"] == "red"


@pytest.mark.parametrize(
    ("asked", "first", "links"),
    [
        (1, 1, ["/?namespace=team&page=2", "/?namespace=team&page=3"]),
        (2, ROWS + 1, ["/?namespace=team&page=1"] * 2 + ["/?namespace=team&page=3"] * 2),
        (99, 2 * ROWS + 1, ["/?namespace=team&page=1", "/?namespace=team&page=2"]),
    ],
)
def test_a_long_queue_has_pages(asked: int, first: int, links: list[str]) -> None:
    world = view(*(gang(f"g{n:03}", 1, minimum=2) for n in range(2 * ROWS + 5)))
    shown = page(world, query=QueueQuery("team", page=asked))
    expected = [f"g{n:03}" for n in range(2 * ROWS + 5)][first - 1 : first - 1 + ROWS]
    assert names(shown) == expected
    pager = shown.one("nav", **{"aria-label": "Pages"})
    assert [a["href"] for a in pager.every("a")] == links
    assert pager.one("p").text == f"Rows {first} to {first + len(expected) - 1} of {2 * ROWS + 5}"


def test_how_old_the_state_is_and_what_is_wrong_is_said() -> None:
    world = view(nodes(1))
    fresh = parsed(queue_page(world, ANYBODY, QueueQuery(), status(world)))
    assert fresh.one("p", id="state").text == "State of 2023-11-14T22:13:20Z, 4s ago."
    stale = parsed(queue_page(world, ANYBODY, QueueQuery(), status(world, "pods: 403")))
    assert stale.one("p", id="state").text.endswith("It may be outdated: pods: 403")


def test_who_has_to_name_a_namespace_is_told() -> None:
    shown = page(view(nodes(1)), Viewer(complete=False))
    assert "There are too many namespaces to look up all: name one." in shown.text
