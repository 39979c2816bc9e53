# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Times in objects: many of them have the same one."""

from functools import lru_cache
from typing import Final

from enbloc.model.times import seconds_of

_LONGEST: Final = 64
_kept = lru_cache(maxsize=16384)(seconds_of)


def seconds_of_text(text: str | None) -> float | None:
    """Seconds since the epoch of a metav1.Time; None if it is absent, or no time."""
    return _kept(text) if text and len(text) <= _LONGEST else None
