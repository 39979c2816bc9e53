# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Decoding JSON of any depth and with any text, as far as it can be read.

Anyone may store an object whose `metadata.managedFields` nests thousands of levels deep, and every
decoder fails on it, even one that skips the field. The fields that enbloc reads nest a dozen
levels, so when a decoder fails, everything deeper than DEPTH is cut out first.

An escaped half of a surrogate makes a decoder fail on a whole list, while bytes that are not UTF-8
spoil only the text that holds them. So such bytes replace each half.
"""

import re
from collections.abc import Callable
from typing import Final, TypeVar, cast

import msgspec

from enbloc.model.text import clipped

#: What decoding raises: not JSON, not of the type, not UTF-8, nested too deep.
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
#: The levels that are kept; a list of events about enbloc's objects has about twenty.
DEPTH: Final = 64

#: The longest part of a decoder's message that is kept (characters): it quotes the input.
_LONGEST: Final = 512
#: An escape; group 1 matches one half of a surrogate without the other.
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)

S = TypeVar("S")
T = TypeVar("T")


def decoded(decode: Callable[[S], T], raw: S) -> T:
    """Decode these bytes, or the part of them that can be read.

    Raises:
        whatever `decode` does, one of UNREADABLE.
    """
    try:
        return decode(raw)
    except UNREADABLE as error:
        if not isinstance(raw, bytes | msgspec.Raw):
            raise
        text = bytes(raw)
        mended = shallow(text) if isinstance(error, RecursionError) else _without_halves(text)
        if mended == text:
            raise
        return decoded(decode, cast("S", type(raw)(mended)))


def why(error: Exception) -> str:
    """A decoder's message, for people."""
    return clipped(str(error), _LONGEST)


def _without_halves(raw: bytes) -> bytes:
    """The same JSON, with bytes that are not UTF-8 in place of each lone half of a surrogate."""
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return raw
    return _ESCAPE.sub(lambda found: b"\xff" * 6 if found[1] else found[0], raw)


def shallow(raw: bytes) -> bytes:
    """The same JSON with a 0 in place of each object and list below DEPTH levels.

    Takes time and space in proportion to the length, for any bytes.
    """
    # Imported here: seldom needed, and the command line starts faster without it.
    import numpy as np  # noqa: PLC0415

    escaped = raw.replace(b"\\\\", b"__").replace(b'\\"', b"__")  # of the same length
    text = np.frombuffer(escaped, np.uint8)
    inside = np.logical_xor.accumulate(text == ord('"'))
    folded = text | 0x20  # [ as {, ] as }
    step = (folded == ord("{")).astype(np.int8) - (folded == ord("}"))
    step[inside] = 0
    after = np.cumsum(step, dtype=np.int32)  # no answer has 2 GiB
    deep = np.maximum(after, after - step) > DEPTH
    first = deep.copy()
    first[1:] &= ~deep[:-1]
    kept = np.frombuffer(raw, np.uint8).copy()
    kept[first] = ord("0")
    return kept[first | ~deep].tobytes()
