# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What every test may count on."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests import effort, quarantine
from tests.confined import CONFINEMENT

# Else pytest-asyncio, by asking for the current loop around fixtures, makes one that nobody
# closes, and its ResourceWarning fails a run in which every test has passed.
asyncio.set_event_loop(None)

effort.register()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--requests", type=Path, help="folder for what end-to-end tests ask of real API servers"
    )


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"loop": CONFINEMENT.new_loop}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    quarantine.skip(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    CONFINEMENT.begins(item)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    CONFINEMENT.ended()
