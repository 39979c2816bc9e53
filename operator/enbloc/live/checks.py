# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The check behind /livez and /healthz that needs a clock; another thread calls it."""

import time
from typing import Final

from enbloc.live.loop import Loop

#: No step of the engine may take longer (seconds).
LONGEST_STEP: Final = 60.0


def step_ends(loop: Loop) -> bool:
    """Whether the engine is not stuck in a step."""
    since = loop.busy_since
    return since is None or time.monotonic() - since < LONGEST_STEP
