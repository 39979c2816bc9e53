# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Time as a page: a chart, and a table that says the same."""

import pytest

from enbloc.ui.time_page import LINES, TimeQuery, time_page
from enbloc.ui.timeline import timeline
from enbloc.ui.view import ANYBODY, View, Viewer
from tests.ui.dom import Element, lines, parsed
from tests.ui.world import NOW, gang, lone, nodes, running, status, view

HOUR = 3600.0


def page(of: View, viewer: Viewer = ANYBODY, query: TimeQuery | None = None) -> Element:
    times = timeline(of.members, [row.waiting for row in of.rows], of.starts, of.present.now)
    return parsed(time_page(of, times, viewer, query or TimeQuery(), status(of)))


def told(of: Element) -> list[str]:
    """What each line of the chart tells."""
    return [line.one("title").text for line in of.one("svg", **{"class": "times"}).every("g")
            if list(line.every("title"))]  # fmt: skip


def bars(of: Element) -> dict[str, list[str]]:
    """The classes of what is drawn on each line, by its name."""
    found: dict[str, list[str]] = {}
    for line in of.one("svg", **{"class": "times"}).every("g"):
        if list(line.every("title")):
            name = line.one("text", **{"class": "name"}).text
            found[name] = [each["class"] for each in line.every("rect")]
    return found


def names(of: Element) -> list[str]:
    return [row[1] for row in lines(of)[1:]]


def busy() -> View:
    """A gang of each kind; now is 2023-11-14T22:13:20Z."""
    of = view(
        nodes(5),
        running("limited", 2, "node-0", started=NOW - HOUR, limit=2 * HOUR),
        running("expected", 2, "node-1", started=NOW, expected=HOUR / 2),
        running("both", 2, "node-2", started=NOW, expected=2 * HOUR, limit=9 * HOUR),
        running("open", 2, "node-3", started=NOW - HOUR),
        running("late", 1, "node-4", started=NOW - HOUR, limit=60.0),
        gang("now", 1, limit=HOUR),
        gang("next", 2, created=NOW - 200.0),
        gang("later", 2, created=NOW - 100.0),
        gang("never", 50),
    )
    found = of.with_starts(lambda: True)
    assert found is not None
    return found


def test_the_table_says_since_when_until_when_and_when_others_start() -> None:
    shown = page(busy())
    assert lines(shown)[0] == [
        "Namespace",
        "Name",
        "Owner",
        "Members",
        "Starts",
        "Runs since",
        "Ends by limit",
        "Ends as expected",
    ]
    known = {row[1]: [row[3], *row[4:]] for row in lines(shown)[1:]}
    assert known == {
        "expected": [
            "2",
            "–",
            "2023-11-14 22:13 , for 4s",
            "–",
            "~ 2023-11-14 22:43 , in 29m",
        ],
        "now": ["1", "now", "–", "–", "~ 2023-11-14 23:13 , in 59m"],
        "next": ["2", "~ 2023-11-14 22:43 , in 29m", "–", "no end known", "–"],
        "limited": [
            "2",
            "–",
            "2023-11-14 21:13 , for 60m",
            "≤ 2023-11-14 23:13 , in 59m",
            "–",
        ],
        "later": ["2", "~ 2023-11-14 23:13 , in 59m", "–", "no end known", "–"],
        "both": [
            "2",
            "–",
            "2023-11-14 22:13 , for 4s",
            "≤ 2023-11-15 07:13 , in 8h",
            "~ 2023-11-15 00:13 , in 119m",
        ],
        "late": [
            "1",
            "–",
            "2023-11-14 21:13 , for 60m",
            "≤ 2023-11-14 21:14 , passed 59m ago",
            "–",
        ],
        "open": ["2", "–", "2023-11-14 21:13 , for 60m", "no end known", "–"],
    }


def test_the_chart_says_the_same_in_words_and_by_its_bars() -> None:
    shown = page(busy())
    assert sorted(told(shown)) == [
        "team/both, 2 members: ends ~ 15 Nov 00:13, ≤ 15 Nov 07:13",
        "team/expected, 2 members: ends ~ 22:43",
        "team/late, 1 member: ends ≤ 21:14 (passed)",
        "team/later, 2 members: starts ~ 23:13, no end known",
        "team/limited, 2 members: ends ≤ 23:13",
        "team/next, 2 members: starts ~ 22:43, no end known",
        "team/now, 1 member: starts now, ends ~ 23:13",
        "team/open, 2 members: no end known",
    ]
    fading = [f"by-limit fade{n}" for n in range(4)]
    assert bars(shown) == {
        "team/limited": ["by-limit", "edge"],
        "team/expected": ["by-limit", "as-expected"],
        "team/both": ["by-limit", "as-expected", "until-limit", "edge"],
        "team/open": ["by-limit", *fading],
        "team/late": ["by-limit", *fading],
        "team/now": ["starts"],
        "team/next": [f"starts-expected fade{n}" for n in range(4)],
        "team/later": [f"starts-expected fade{n}" for n in range(4)],
    }
    assert [name.split("/")[1] for name in bars(shown)] == names(shown)


def test_the_chart_has_now_and_even_times_and_says_what_it_is() -> None:
    drawn = page(busy()).one("svg", **{"class": "times"})
    title, description = drawn.children[:2]
    assert isinstance(title, Element)
    assert isinstance(description, Element)
    assert title.text == "What runs until when, and what starts when"
    assert description.text.endswith(
        "now is 2023-11-14T22:13:24Z. 5 that run, 3 that start. The table below says the same."
    )
    assert drawn.one("text", **{"class": "now-text"}).text == "now, 22:13 UTC"
    marks = [mark.text for mark in drawn.every("text", **{"class": "mark-text"})]
    assert marks == ["22:00", "14 Nov", "00:00", "15 Nov", "02:00", "04:00", "06:00"]


def test_less_of_what_comes_can_be_asked_for_and_the_table_stays() -> None:
    world = busy()
    shown = page(world, query=TimeQuery("team", hours=1))
    assert lines(shown) == lines(page(world))
    windows = shown.one("nav", **{"aria-label": "Time shown"})
    assert [a["href"] for a in windows.every("a", **{"aria-current": "true"})] == [
        "/time?namespace=team&hours=1&page=1"
    ]
    assert "limited" in bars(shown), "a namespace that was asked for is not said again"
    last = shown.one("svg", **{"class": "times"}).one("desc").text
    assert "to 2023-11-14T23:19:24Z" in last


def test_who_waits_for_nobody_knows_how_long_is_counted() -> None:
    shown = page(view(nodes(1), gang("a", 9), gang("b", 9), gang("c", 9, namespace="other")))
    assert "3 more wait, and when they start cannot be told: see the queue ." in shown.text
    assert list(shown.every("svg")) == []
    mine = page(view(nodes(1), gang("a", 9)), query=TimeQuery("team"))
    assert "1 more waits, and when it starts cannot be told" in mine.text
    assert [a["href"] for a in mine.one("main").every("a")] == ["/?namespace=team"]


def test_a_name_leads_to_the_group() -> None:
    shown = page(view(nodes(1), running("old", 1, "node-0"), lone("solo")))
    assert [a["href"] for a in shown.one("table").every("a")] == [
        "/pods/team/solo",
        "/groups/team/old",
    ]


def test_what_somebody_may_not_see_is_left_out_of_chart_table_and_counts() -> None:
    world = view(
        nodes(2),
        running("mine", 1, "node-0"),
        running("theirs", 1, "node-1", namespace="secret"),
        gang("big", 9, namespace="secret"),
    )
    shown = page(world, Viewer(namespaces=frozenset({"team"})))
    assert (names(shown), len(told(shown))) == (["mine"], 1)
    assert "secret" not in shown.text
    assert "more wait" not in shown.text
    nobody = page(world, Viewer(complete=False))
    assert "Nobody runs in any namespace that you may see" in nobody.text
    assert "There are too many namespaces to look up all: name one." in nobody.text


def test_one_namespace_can_be_asked_for() -> None:
    world = view(nodes(2), running("a", 1, "node-0"), running("b", 1, "node-1", namespace="b"))
    assert names(page(world, query=TimeQuery("b"))) == ["b"]
    nobody = page(world, query=TimeQuery("c"))
    assert "Nobody runs in namespace c, and nobody is known to start." in nobody.text
    assert nobody.one("input", name="namespace")["value"] == "c"


@pytest.mark.parametrize(("asked", "first"), [(1, 0), (2, LINES), (99, 2 * LINES)])
def test_many_have_pages_and_chart_and_table_have_the_same(asked: int, first: int) -> None:
    world = view(
        nodes(1),
        *(running(f"g{n:03}", 1, "node-0", started=NOW + n, limit=HOUR)
          for n in range(2 * LINES + 5)),
    )  # fmt: skip
    shown = page(world, query=TimeQuery(page=asked))
    expected = [f"g{n:03}" for n in range(2 * LINES + 5)][first : first + LINES]
    assert names(shown) == expected
    assert list(bars(shown)) == [f"team/{name}" for name in expected]


def test_a_long_name_is_cut_in_the_chart_and_whole_in_the_table() -> None:
    name = "a-name-that-is-too-long-for-a-chart"
    shown = page(view(nodes(1), running(name, 1, "node-0")))
    assert list(bars(shown)) == ["a-name-that-is-too-lo…"]
    assert names(shown) == [name]
    assert told(shown) == [f"team/{name}, 1 member: no end known"]


def test_a_limit_that_no_calendar_has_does_not_break_the_page() -> None:
    world = view(nodes(1), running("old", 1, "node-0", started=NOW, limit=1e15))
    assert "≤ 9999-12-31 23:59" in page(world).text
