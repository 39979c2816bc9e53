# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""One browser, and one site of the recorded cluster, for all tests that change nothing."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from tests.browser.chromium import Chromium, started
from tests.browser.sites import Served, process, recorded


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--pictures", action="store_true", help="draw the pictures of the page in docs/ anew"
    )


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Chromium]:
    async with started(tmp_path_factory.mktemp("home")) as browser:
        yield browser


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Served]:
    async with (
        recorded(runs=True) as (sandbox, recording),
        process(sandbox, tmp_path_factory.mktemp("site")) as url,
    ):
        yield Served(url, recording)
