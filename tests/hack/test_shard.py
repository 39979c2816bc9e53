# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Shards of the end-to-end tests."""

import pytest

from hack.shard import shard

FILES = ["e", "b", "d", "a", "c"]


def test_all_shards_together_run_each_file_once() -> None:
    parts = [shard(FILES, f"{number}/3") for number in (1, 2, 3)]

    assert parts == [["a", "d"], ["b", "e"], ["c"]]


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "-1/2", ""])
def test_a_shard_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a shard such as 2/4"):
        shard(FILES, text)
