# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The pictures of the page in docs/ show what they say; `make browser ARGS=--pictures` draws them.

Fonts differ between machines, so it is their size that is compared, and not each pixel.
"""

import re
from collections.abc import AsyncGenerator
from typing import Final

import pytest
import pytest_asyncio

from tests.browser.chromium import BROWSER, WIDTH, Chromium
from tests.browser.sites import recorded, standing
from tests.browser.views import VIEWS, Shown
from tests.examples.desk import ROOT

pytestmark = BROWSER
PAGE: Final = ROOT / "docs/how-to/watch-the-queue.md"
#: The most that a picture may have (bytes).
MOST: Final = 100 * 1024
#: By so much its height may differ, for fonts do.
TOLERANCE: Final = 0.15
_NAMED: Final = re.compile(r"[a-z0-9]+(?:[-/][a-z0-9]+)+|\d+")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def still() -> AsyncGenerator[str]:
    """A site that shows the same each time."""
    async with recorded(runs=False) as (sandbox, _), standing(sandbox) as url:
        yield url


def size(picture: bytes) -> tuple[int, int]:
    """Width and height of a WebP, as its extended header has them."""
    assert (picture[:4], picture[8:16]) == (b"RIFF", b"WEBPVP8X")
    width, height = (int.from_bytes(picture[at : at + 3], "little") + 1 for at in (24, 27))
    return width, height


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
async def test_a_picture_shows_what_its_text_says(
    chromium: Chromium, still: str, view: Shown, request: pytest.FixtureRequest
) -> None:
    path = PAGE.with_name(f"watch-{view.name}.webp")
    alt = re.search(rf"!\[([^]]+)\]\({re.escape(path.name)}\)", PAGE.read_text(encoding="utf-8"))
    assert alt is not None, f"{PAGE.name} does not show {path.name}"
    async with chromium.tab(still) as tab:
        await tab.open(view.path)
        await view.unfold(tab)
        text = await tab.text()
        assert [each for each in _NAMED.findall(alt[1]) if each not in text] == []
        drawn = await tab.picture(MOST)
        assert tab.complaints == []
    if request.config.getoption("--pictures"):
        path.write_bytes(drawn)
    kept = path.read_bytes()
    assert len(kept) <= MOST
    (width, height), (kept_width, kept_height) = size(drawn), size(kept)
    assert width == kept_width == WIDTH
    assert height == pytest.approx(kept_height, rel=TOLERANCE)
