# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Resource versions, which order the states of an object."""

from typing import Final

#: No resourceVersion is larger.
LARGEST: Final = 2**64 - 1
_MOST_DIGITS: Final = len(str(LARGEST))


def version_of(text: str | None) -> int:
    """A resourceVersion (uint64) as a number; 0 if it is not valid."""
    if not text or len(text) > _MOST_DIGITS or not (text.isascii() and text.isdecimal()):
        return 0
    version = int(text)
    return version if version <= LARGEST else 0
