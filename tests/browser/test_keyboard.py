# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Everything is reached and used by keyboard, in the order of the page, and is seen there."""

import pytest

from tests.browser.chromium import BROWSER, Chromium
from tests.browser.sites import Served
from tests.browser.views import OTHERS, VIEWS, Shown

pytestmark = BROWSER

#: What a keyboard has to reach, in the order of the page; gives how much of it there is.
MARK = """() => {
  window.reached = () => [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex='0']"
  )].filter((each) => each.checkVisibility());
  return window.reached().length;
}"""
#: Where the focus is, and whether it can be seen there.
FOCUS = """() => {
  const there = document.activeElement, box = there.getBoundingClientRect();
  const style = getComputedStyle(there);
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const within = box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0
    && box.top < innerHeight && box.left < innerWidth;
  const seen = outlined && within ? "seen" : `not seen: ${there.outerHTML.slice(0, 100)}`;
  return [window.reached().indexOf(there), seen];
}"""


@pytest.mark.parametrize("view", [*VIEWS, *OTHERS], ids=lambda view: view.name)
@pytest.mark.parametrize("width", [1280, 360])
async def test_the_focus_goes_through_all_of_a_view_in_order_and_is_seen(
    chromium: Chromium, site: Served, view: Shown, width: int
) -> None:
    async with chromium.tab(site.url, width=width) as tab:
        await tab.open(view.path)
        await view.unfold(tab)
        await tab.page.locator(".skip").focus()
        await tab.page.keyboard.press("Shift+Tab")  # before the first one
        count = await tab.run(MARK)
        went: list[list[object]] = []
        for _ in range(count):
            await tab.page.keyboard.press("Tab")
            went.append(await tab.run(FOCUS))
        assert went == [[number, "seen"] for number in range(count)]
        assert count > len(("skip", "queue", "nodes", "pause"))


async def test_the_first_key_leads_past_the_header(chromium: Chromium, site: Served) -> None:
    async with chromium.tab(site.url) as tab:
        await tab.open("/")
        await tab.page.keyboard.press("Tab")
        assert await tab.text(":focus") == "Skip to the content"
        await tab.page.keyboard.press("Enter")
        await tab.page.keyboard.press("Tab")
        assert await tab.run("document.activeElement.id") == "namespace"


async def test_an_explanation_is_opened_and_closed_by_keyboard(
    chromium: Chromium, site: Served
) -> None:
    async with chromium.tab(site.url) as tab:
        await tab.open("/?name=segment")
        await tab.page.locator("details[data-load] > summary").focus()
        await tab.page.keyboard.press("Enter")
        await tab.shows("none exist", "details section")
        assert await tab.run("document.activeElement.localName") == "summary"
        await tab.page.keyboard.press("Space")
        await tab.page.locator("details section").wait_for(state="hidden")


async def test_a_form_is_filled_in_and_sent_by_keyboard(chromium: Chromium, site: Served) -> None:
    async with chromium.tab(site.url) as tab:
        await tab.open("/")
        await tab.page.get_by_label("Name contains").focus()
        await tab.page.keyboard.type("align")
        await tab.page.keyboard.press("Enter")
        await tab.shows("1 group or pod waits")
        assert tab.complaints == []


async def test_nodes_that_could_hold_a_gang_are_framed_while_it_has_the_focus(
    chromium: Chromium, site: Served
) -> None:
    framed = """() => [...document.querySelectorAll(".map g")].filter((each) =>
      getComputedStyle(each.querySelector("rect")).strokeWidth === "3px"
    ).map((each) => each.querySelector("title").textContent.split(":")[0])"""
    async with chromium.tab(site.url) as tab:
        await tab.open("/nodes")
        assert await tab.run(framed) == []
        await tab.page.get_by_role("link", name="research/llm-pretrain").focus()
        assert await tab.run(framed) == ["gpu-r2-4"]
        await tab.page.locator("h1").hover()
        await tab.page.get_by_role("link", name="vision/segment").hover()
        assert await tab.run(framed) == ["gpu-r2-4"]
