# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""How a process waits, and what its settings may import."""

import subprocess
import sys

import pytest

from enbloc.client.backoff import Backoff


@pytest.mark.processes
def test_the_settings_need_no_http_client() -> None:
    program = (
        "import sys; from enbloc.process.options import Options; Options();"
        "assert not {'aiohttp', 'kubernetes', 'kopf', 'numpy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_waits_grow_to_their_cap_and_start_over() -> None:
    backoff = Backoff(1.0, 8.0)
    waits = [backoff.next() for _ in range(100)]
    for wait, longest in zip(waits, [1, 2, 4, 8, 8, 8], strict=False):
        assert longest / 2 <= wait <= longest
    backoff.reset()
    assert backoff.next() <= 1
