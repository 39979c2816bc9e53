# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What every test may count on."""

import asyncio
from pathlib import Path

import pytest

from tests import effort

# Else pytest-asyncio, by asking for the current loop around fixtures, makes one that nobody
# closes, and its ResourceWarning fails a run in which every test has passed.
asyncio.set_event_loop(None)

effort.register()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--requests", type=Path, help="folder for what end-to-end tests ask of real API servers"
    )
