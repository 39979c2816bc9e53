# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What commands run: coroutines, and work whose results stay."""

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from enbloc.cli.running import run, uncollected


class Large:
    """Something that takes long to be written out."""

    written = 0

    def __repr__(self) -> str:
        self.written += 1
        return "large"


def test_what_a_coroutine_returns_is_not_written_out() -> None:
    large = Large()

    async def work() -> Large:
        await asyncio.sleep(0)
        return large

    assert run(work()) is large
    assert not large.written


class _Cycle:
    """Something that only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("unfrozen")
def test_what_stays_is_kept_from_the_collector_until_more_is_made() -> None:
    with uncollected():
        assert not gc.isenabled()
        made = _Cycle()
    known = weakref.ref(made)
    del made
    gc.collect()
    assert gc.isenabled()
    assert known() is not None, "the collector looked at it"
    with uncollected():
        assert known() is None
