# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Names that are nearly the one that was not found, for messages."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_MOST: Final = 3


def near(name: str, known: Iterable[str]) -> str:
    """What is called nearly so, as what follows "not found"; "" = nothing."""
    found = get_close_matches(name, sorted(known), _MOST)
    return f" (did you mean {', '.join(found)}?)" if found else ""
