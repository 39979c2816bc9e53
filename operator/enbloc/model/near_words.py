# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Names similar to one that was not found, for messages."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_MOST: Final = 3


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """The known names that are similar, the nearest first."""
    return get_close_matches(name, sorted(known), _MOST)


def near(name: str, known: Iterable[str]) -> str:
    """The similar names as text to follow "not found"; "" = none."""
    found = nearest(name, known)
    return f" (did you mean {', '.join(found)}?)" if found else ""
