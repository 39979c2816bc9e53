# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Coroutines that commands run."""

import asyncio

from enbloc.cli.running import run


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
