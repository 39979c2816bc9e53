# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What every test may count on holds for these as well."""

from tests.conftest import (
    pytest_asyncio_loop_factories,
    pytest_collection_modifyitems,
    pytest_runtest_setup,
    pytest_runtest_teardown,
)

__all__ = [
    "pytest_asyncio_loop_factories",
    "pytest_collection_modifyitems",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
]
