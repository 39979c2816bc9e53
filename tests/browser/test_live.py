# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A page that is open follows the cluster, and leaves its reader where they were."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from tests.browser.chromium import BROWSER, Chromium, Tab
from tests.browser.sites import Served, process, recorded

pytestmark = BROWSER
#: The page is the one that was loaded: a further load would forget it.
KEEP, KEPT = "window.kept = true", "window.kept === true"
FOCUSED = "document.activeElement.outerHTML.slice(0, 40)"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def changing(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Served]:
    """A site whose cluster these tests change."""
    async with (
        recorded(runs=True) as (sandbox, recording),
        process(sandbox, tmp_path_factory.mktemp("changing")) as url,
    ):
        yield Served(url, recording)


async def opened(tab: Tab, path: str = "/") -> None:
    await tab.open(path)
    await tab.run(KEEP)


async def test_what_is_created_appears_by_itself(chromium: Chromium, changing: Served) -> None:
    async with chromium.tab(changing.url) as queue, chromium.tab(changing.url) as nodes:
        await opened(queue)
        await opened(nodes, "/nodes")
        await changing.recording.gang("vision", "newcomer", 2, gpus=8)
        await changing.recording.node("gpu-r4-0", "r4", cpu=96, memory="768Gi", gpus=8)
        await queue.shows("newcomer", "table")
        await nodes.shows("vision/newcomer", ".gangs")
        await nodes.shows("gpu-r4-0", "svg")
        assert [await queue.run(KEPT), await nodes.run(KEPT)] == [True, True]
        assert queue.complaints + nodes.complaints == []


async def test_a_member_that_comes_appears_in_its_group(
    chromium: Chromium, changing: Served
) -> None:
    async with chromium.tab(changing.url) as tab:
        await opened(tab, "/groups/research/ablation")
        await tab.shows("4 members, the oldest first")
        await changing.recording.pod("research", "ablation", 4)
        await tab.shows("5 members, the oldest first")
        await tab.shows("5 of 6 members exist", ".lead")
        assert await tab.run(KEPT)
        assert tab.complaints == []


async def test_what_is_open_stays_open_and_what_has_the_focus_keeps_it(
    chromium: Chromium, changing: Served
) -> None:
    async with chromium.tab(changing.url, width=360) as tab:
        await opened(tab)
        row = tab.page.locator("tr").filter(has=tab.page.get_by_role("link", name="segment"))
        other = tab.page.locator("tr").filter(has=tab.page.get_by_role("link", name="diarize"))
        await row.locator("details[data-load] > summary").click()
        await tab.shows("none exist", "details section")
        left = "document.querySelector('.scroll').scrollLeft"
        for number, place in enumerate(
            (
                row.locator("details[data-load] > summary"),
                other.locator("details[data-load] > summary"),
                other.get_by_role("link", name="diarize"),
                tab.page.locator(".scroll"),
            )
        ):
            await place.focus()
            await tab.run("document.querySelector('.scroll').scrollLeft = 70")
            before = [await tab.run(FOCUSED), await tab.run(left)]
            await changing.recording.gang("vision", f"another-{number}", 1)
            await tab.shows(f"another-{number}", "table")
            assert [await tab.run(FOCUSED), await tab.run(left)] == before
            assert await row.locator("details section").is_visible()
        assert tab.complaints == []


async def test_updates_can_be_paused(chromium: Chromium, changing: Served) -> None:
    async with chromium.tab(changing.url) as paused, chromium.tab(changing.url) as other:
        await opened(paused)
        await opened(other)
        await paused.page.get_by_role("button", name="Pause updates").click()
        told = """() => new Promise((done) => {
          new EventSource("/events").addEventListener("view", done, { once: true });
        })"""
        await changing.recording.gang("vision", "unseen", 1)
        await other.shows("unseen", "table")
        await paused.run(f"({told})().then(() => true)")  # it knows, too
        assert "unseen" not in await paused.text()
        await paused.page.get_by_role("button", name="Go on updating").click()
        await paused.shows("unseen", "table")
        assert paused.complaints == []
