# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every view in a browser: it loads, everybody can read it, and it works without its script."""

import pytest

from tests.browser.chromium import BROWSER, Chromium, Tab
from tests.browser.sites import Served
from tests.browser.views import OTHERS, VIEWS, Shown

pytestmark = BROWSER
#: The elements that move, or would where they change.
MOVES = """() => [...document.querySelectorAll("*")].filter((each) => {
  const style = getComputedStyle(each);
  return each.getAnimations().length || style.animationName !== "none"
    || style.transitionDuration !== "0s" || style.scrollBehavior !== "auto";
}).map((each) => each.outerHTML.slice(0, 100))"""
EVERY = pytest.mark.parametrize("view", [*VIEWS, *OTHERS], ids=lambda view: view.name)


async def opened(tab: Tab, view: Shown) -> None:
    """Show a view, with its explanation folded out."""
    await tab.open(view.path)
    await tab.shows(view.heading, "h1")
    await view.unfold(tab)


@EVERY
async def test_a_view_loads_without_a_complaint(
    chromium: Chromium, site: Served, view: Shown
) -> None:
    async with chromium.tab(site.url) as tab:
        await opened(tab, view)
        text = await tab.text()
        assert [each for each in view.says if each not in text] == []
        assert tab.complaints == []


@EVERY
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_serious(
    chromium: Chromium, site: Served, view: Shown, scheme: str
) -> None:
    async with chromium.tab(site.url, color_scheme=scheme) as tab:
        await opened(tab, view)
        assert await tab.barriers() == []


@EVERY
async def test_nothing_moves_for_who_wants_no_motion(
    chromium: Chromium, site: Served, view: Shown
) -> None:
    async with chromium.tab(site.url, reduced_motion="reduce") as tab:
        await opened(tab, view)
        assert await tab.run(MOVES) == []


@EVERY
@pytest.mark.parametrize("width", [360, 320])
async def test_nobody_scrolls_sideways_on_a_phone(
    chromium: Chromium, site: Served, view: Shown, width: int
) -> None:
    async with chromium.tab(site.url, width=width, has_touch=True) as tab:
        await opened(tab, view)
        assert await tab.run("document.documentElement.scrollWidth") <= width
        assert await tab.barriers() == []


@EVERY
async def test_a_view_says_the_same_without_its_script(
    chromium: Chromium, site: Served, view: Shown
) -> None:
    async with chromium.tab(site.url, java_script_enabled=False) as tab:
        await tab.open(view.path)
        await tab.shows(view.heading, "h1")
        text = await tab.text()
        assert [each for each in view.says if each not in text] == []
        assert tab.complaints == []


async def test_an_explanation_is_a_page_without_the_script(
    chromium: Chromium, site: Served
) -> None:
    async with chromium.tab(site.url, java_script_enabled=False) as tab:
        await tab.open("/?name=segment")
        await tab.page.get_by_text("What would make it run").click()
        await tab.page.get_by_role("link", name="Work it out").click()
        await tab.shows("none exist", "#explanation")
        await tab.page.get_by_role("link", name="Group vision/segment").click()
        await tab.shows("Group vision/segment", "h1")
        assert tab.complaints == []
