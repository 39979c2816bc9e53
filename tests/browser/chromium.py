# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, and what it complains of while it shows a page."""

import base64
import importlib
import os
import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from hack import axe_core
from tests.patience import PATIENCE

#: Marks of a test that drives it; all of them share one event loop, as they share the browser.
BROWSER: Final = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
#: Why a request fails whose page is left.
_LEFT: Final = "net::ERR_ABORTED"
#: So many milliseconds a page may keep a test waiting.
_PATIENCE: Final = PATIENCE * 1000
#: Of the window, in CSS pixels, unless a test says otherwise.
WIDTH, HEIGHT = 1280, 800
#: Of a picture; what is below is left out.
TALLEST: Final = 1100


def executable(path: str | None = None) -> str:
    """The browser's program, on PATH or on another search path.

    Raises:
        AssertionError: there is none; the message says what to install.
    """
    found = [program for name in NAMES if (program := shutil.which(name, path=path))]
    assert found, f"none of {', '.join(NAMES)} is on PATH: install Debian's package chromium"
    return found[0]


def driver() -> Any:
    """Playwright, which talks to the browser.

    Raises:
        AssertionError: it is not installed; the message names the command that does it.
    """
    # It is no part of what `make setup` installs, so the checks of types do not know it.
    try:
        return importlib.import_module("playwright.async_api").async_playwright()
    except ModuleNotFoundError:
        raise AssertionError("playwright is not installed; `make browser` does it") from None


class Tab:
    """A page in a browser of its own: no cookies, and nothing cached.

    Args:
        page: of Playwright.
        url: of the site.

    Attributes:
        complaints: what the console says, requests that fail, answers that refuse, dialogs.
    """

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        self.complaints: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("requestfailed", self._failed)
        page.on("response", self._answered)
        page.on("dialog", self._asked)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning", "assert"):
            self.complaints.append(f"console: {message.text}")

    def _failed(self, request: Any) -> None:
        if request.failure != _LEFT:
            self.complaints.append(f"failed: {request.url}: {request.failure}")

    def _answered(self, response: Any) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status}: {response.url}")

    async def _asked(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        await dialog.dismiss()

    async def open(self, path: str) -> None:
        """Load a page of the site."""
        await self.page.goto(self.url + path, wait_until="load")

    async def run(self, script: str, *arguments: Any) -> Any:
        """What a script in the page gives; a function gets the argument."""
        return await self.page.evaluate(script, *arguments)

    async def text(self, selector: str = "main") -> str:
        """The text of an element as it is shown, with single blanks."""
        return " ".join((await self.page.inner_text(selector)).split())

    async def shows(self, text: str, selector: str = "main") -> None:
        """Wait until an element shows a text."""
        await self.page.locator(selector).filter(has_text=text).first.wait_for()

    async def picture(self, most: int) -> bytes:
        """The page from its top, as a WebP of the best quality that has no more than so many bytes.

        Raises:
            AssertionError: it has more than that in any quality.
        """
        await self.run("document.activeElement.blur()")
        await self.page.mouse.move(0, 0)
        height = min(await self.run("document.documentElement.scrollHeight"), TALLEST)
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": height, "scale": 1}
        options = {"format": "webp", "captureBeyondViewport": True, "clip": clip}
        session = await self.page.context.new_cdp_session(self.page)
        for quality in range(90, 45, -5):
            answer = await session.send("Page.captureScreenshot", {**options, "quality": quality})
            drawn = base64.b64decode(answer["data"])
            if len(drawn) <= most:
                return drawn
        raise AssertionError(f"the picture has more than {most} bytes")

    async def barriers(self) -> list[str]:
        """What axe-core finds serious or critical, by rule and element."""
        await self.run(axe_core.script().read_text(encoding="utf-8"))
        found = await self.run("async () => (await axe.run()).violations")
        return [
            f"{rule['id']} ({rule['impact']}): {node['html'][:200]}: {node['failureSummary']}"
            for rule in found
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]


class Chromium:
    """The browser.

    Args:
        browser: of Playwright.
    """

    def __init__(self, browser: Any) -> None:
        self._browser = browser

    @asynccontextmanager
    async def tab(self, url: str, *, width: int = WIDTH, **of: Any) -> AsyncGenerator[Tab]:
        """A page of a site.

        Args:
            url: of the site.
            width: of the window.
            of: further options of a context of Playwright.
        """
        size = {"width": width, "height": HEIGHT}
        fixed = {"locale": "en-GB", "timezone_id": "UTC", "viewport": size}
        context = await self._browser.new_context(**fixed, **of)
        try:
            context.set_default_timeout(_PATIENCE)
            yield Tab(await context.new_page(), url)
        finally:
            await context.close()


@asynccontextmanager
async def started(home: Path) -> AsyncGenerator[Chromium]:
    """The browser, for as long as the context lasts; nothing of the user's is read or changed."""
    program = executable()
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TZ": "UTC",
        "LANG": "C.UTF-8",
    }
    async with driver() as playwright:
        # Its own sandbox needs rights that containers lack; it only ever sees pages of ours.
        browser = await playwright.chromium.launch(
            executable_path=program,
            env=environment,
            chromium_sandbox=False,
            args=["--disable-background-networking", "--force-color-profile=srgb"],
        )
        try:
            yield Chromium(browser)
        finally:
            await browser.close()
