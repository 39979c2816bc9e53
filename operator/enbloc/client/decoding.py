# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""JSON of any depth and of any text, of which as much is read as can be.

Anybody may store an object whose `metadata.managedFields` nests thousands deep, and every decoder
gives up on it, even one that only skips. What a decoder of ours reads nests a dozen levels; so
where one gives up, whatever lies deeper than DEPTH is cut out first.

Half a surrogate, as an escape, makes a decoder give up on all of a list as well, while bytes that
are no UTF-8 spoil only the text in which they are: so those are put in its place.
"""

import re
from collections.abc import Callable
from typing import Final, TypeVar, cast

import msgspec

from enbloc.model.text import clipped

#: What decoding raises: no JSON, not of the type, no UTF-8, nested too deep.
UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
#: Levels that are kept; a list of events of objects of ours has about twenty.
DEPTH: Final = 64

#: Characters that are kept of what a decoder says, for it quotes what it has read.
_LONGEST: Final = 512
#: An escape; group 1 is half a surrogate without its other half.
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)

S = TypeVar("S")
T = TypeVar("T")


def decoded(decode: Callable[[S], T], raw: S) -> T:
    """What a decoder makes of these bytes, or of what of them can be read.

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
    """What a decoder says is wrong, for people."""
    return clipped(str(error), _LONGEST)


def _without_halves(raw: bytes) -> bytes:
    """The same JSON, with bytes that are no UTF-8 in the place of each half of a surrogate."""
    if b"\\ud" not in raw and b"\\uD" not in raw:
        return raw
    return _ESCAPE.sub(lambda found: b"\xff" * 6 if found[1] else found[0], raw)


def shallow(raw: bytes) -> bytes:
    """The same JSON, in which a 0 stands for each object and list below DEPTH levels.

    Takes time and space in proportion to the length, whatever the bytes are.
    """
    # Seldom needed, and the command line starts without it.
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
