# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pages for everybody: names for what is drawn or filled in, and colours that can be told apart.

Contrasts are those of WCAG 2.2: 4.5 for text (1.4.3), 3 for what is drawn (1.4.11).
"""

import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from itertools import pairwise

import pytest

from enbloc.ui.group_page import explanation_page, group_page, under_way_page
from enbloc.ui.nodes_page import GANGS, NodesQuery, block_page, listed, nodes_page
from enbloc.ui.pages import message
from enbloc.ui.queue_page import ROWS, QueueQuery, queue_page
from enbloc.ui.time_page import TimeQuery, time_page
from enbloc.ui.timeline import timeline
from enbloc.ui.view import ANYBODY, shown
from enbloc.ui.what_if_page import VisibleAnswer, WhatIfForm, what_if_page
from tests.ui.dom import Element, parsed
from tests.ui.world import RACKS, gang, lone, nodes, running, status, view

STATIC = files("enbloc.ui") / "static"
STYLE = (STATIC / "enbloc.css").read_text("utf-8")
SCRIPT = (STATIC / "enbloc.js").read_text("utf-8")


def every_page() -> Iterator[tuple[str, Element]]:
    """Each kind of page, with as much on it as there can be."""
    many = [gang(f"g{n}", 1, minimum=2) for n in range(ROWS + 1)]
    of = view(
        [RACKS],
        nodes(2, "r1"),
        nodes(1, "r2", unschedulable=True),
        nodes(1, "r3", ready=False),
        running("old", 1, "r1-0"),
        gang("big", 5),
        gang("evicts", 1, cpu=9, nominated="r1-1"),
        lone("alone"),
        *many,
    )
    told = status(of, "pods cannot be listed")
    yield "queue", parsed(queue_page(of, ANYBODY, QueueQuery(), told))
    gangs = [(row, of.finder.places(row.waiting)) for row in listed(of, ANYBODY)]
    yield "nodes", parsed(nodes_page(of, gangs, NodesQuery(), told))
    block = of.nodes.blocks[0]
    yield (
        "block",
        parsed(block_page(block, ANYBODY, gangs, NodesQuery(block.rack, block.shape), told)),
    )
    waits = [row.waiting for row in of.rows]
    times = timeline(of.members, waits, of.starts, of.present.now)
    yield "time", parsed(time_page(of, times, ANYBODY, TimeQuery(), told))
    waiting = waits[0]
    yield "group", parsed(group_page(of, ANYBODY, waiting.key, 1, told))
    found = shown(of.explained(waiting), ANYBODY)
    yield "explanation", parsed(explanation_page(found, ANYBODY, told))
    yield "under way", parsed(under_way_page(waiting.key, told))
    answer = VisibleAnswer(["It starts.", "Evicted for it: team/old."], ["A note."])
    yield "what if", parsed(what_if_page(WhatIfForm(), answer, told, nodes=True))
    yield "message", parsed(message("Not found", "There is no such page."))


PAGES = [pytest.param(page, id=name) for name, page in every_page()]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_says_its_language_and_its_title_and_has_one_heading_of_it(page: Element) -> None:
    assert page["lang"] == "en"
    title = page.one("head").one("title").text
    assert title == f"{page.one('h1').text} – enbloc"
    assert page.one("main")["id"] == "main"
    assert next(page.one("body").every("a"))["href"] == "#main"


@pytest.mark.parametrize("page", PAGES)
def test_headings_skip_no_level(page: Element) -> None:
    levels = [int(each.tag[1]) for each in page.every() if re.fullmatch("h[1-6]", each.tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("page", PAGES)
def test_names_are_there_once(page: Element) -> None:
    ids = [each["id"] for each in page.every() if "id" in each.attributes]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("page", PAGES)
def test_every_field_has_a_label_and_every_link_and_button_a_text(page: Element) -> None:
    labels = {each["for"] for each in page.every("label") if each.text}
    assert {each["id"] for tag in ("input", "textarea") for each in page.every(tag)} == labels
    for tag in ("a", "button", "summary"):
        assert all(each.text for each in page.every(tag))


@pytest.mark.parametrize("page", PAGES)
def test_every_table_has_a_caption_and_headers_and_can_be_scrolled_by_keyboard(
    page: Element,
) -> None:
    for region in page.every("div", role="region"):
        assert region["tabindex"] == "0"
        assert region["aria-label"] == region.one("caption").text
        assert all(each["scope"] == "col" and each.text for each in region.one("thead").every("th"))
        for row in region.one("tbody").every("tr"):
            assert row.one("th")["scope"] == "row"
    inside = sum(len(list(each.every("table"))) for each in page.every("div", role="region"))
    assert inside == len(list(page.every("table")))


@pytest.mark.parametrize("page", PAGES)
def test_every_drawing_has_a_title_or_stands_beside_its_text(page: Element) -> None:
    for drawing in page.every("svg"):
        if drawing.attributes.get("aria-hidden") != "true":
            first = drawing.children[0]
            assert isinstance(first, Element)
            assert (drawing["role"], first.tag) == ("img", "title")
            assert first.text


@pytest.mark.parametrize("page", PAGES)
def test_the_view_that_is_shown_is_marked_in_the_navigation(page: Element) -> None:
    links = list(page.one("nav", **{"aria-label": "Views"}).every("a"))
    marked = [link.text for link in links if link.attributes.get("aria-current") == "page"]
    assert [link["href"] for link in links] == ["/", "/nodes", "/time"]
    assert len(marked) == (0 if page.one("h1").text == "Not found" else 1)


# ── colours ──────────────────────────────────────────────────────────────────────────────────


def themes() -> Mapping[str, Mapping[str, str]]:
    """The colours of each theme, by name; the dark one replaces those of the light one."""
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
        for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    )
    assert light.keys() == dark.keys(), "each theme has all of them"
    return {"light": light, "dark": dark}


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("text", ["text", "muted", "link", "warn"])
@pytest.mark.parametrize("ground", ["ground", "raised"])
def test_text_can_be_read(theme: str, text: str, ground: str) -> None:
    colours = themes()[theme]
    assert contrast(colours[text], colours[ground]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("drawn", ["edge", "focus", "starts", "capacity", "members", "other", "u3"])
def test_what_is_drawn_can_be_seen(theme: str, drawn: str) -> None:
    colours = themes()[theme]
    assert contrast(colours[drawn], colours["ground"]) >= 3.0


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("square", "mark"),
    [("u0", "on-low"), ("u1", "on-low"), ("u2", "on-low"), ("u3", "on-high"), ("u4", "on-high")],
)
def test_marks_can_be_seen_on_every_square(theme: str, square: str, mark: str) -> None:
    colours = themes()[theme]
    assert contrast(colours[square], colours[mark]) >= 3.0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_steps_of_the_map_go_one_way(theme: str) -> None:
    steps = [luminance(themes()[theme][f"u{n}"]) for n in range(5)]
    assert steps in (sorted(steps), sorted(steps, reverse=True))


def test_every_colour_has_a_name_that_both_themes_give() -> None:
    rules = re.sub(r":root \{.*?\}", "", STYLE, flags=re.DOTALL)
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?!:)", rules)
    assert not re.search(r"\b(rgb|hsl|url|expression)\(", rules)
    assert set(re.findall(r"var\(--([\w-]+)\)", rules)) <= themes()["light"].keys()


# ── the stylesheet and the script ────────────────────────────────────────────────────────────


def test_nothing_moves_by_itself() -> None:
    assert not re.search(r"\b(animation|transition|scroll-behavior|@keyframes)\b", STYLE)


def test_the_stylesheet_knows_as_many_gangs_as_are_listed() -> None:
    for kind in ("now", "if"):
        numbers = re.findall(
            rf"#gang(\d+):is\(:hover, :focus-within, :target\)\) \.{kind}(\d+)", STYLE
        )
        assert numbers == [(str(n), str(n)) for n in range(1, GANGS + 1)]


def test_the_script_makes_no_element_of_text_and_runs_none() -> None:
    forbidden = (
        r"\.innerHTML\s*=(?!=)|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\("
    )
    assert not re.search(forbidden, SCRIPT)
    assert re.findall(r"\"(https?:)?//", SCRIPT) == []
