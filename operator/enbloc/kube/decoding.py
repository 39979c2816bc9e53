# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""JSON of any depth, read without recursion where the depth says nothing.

Anybody may store an object whose `metadata.managedFields` nests thousands deep, and every decoder
gives up on it, even one that only skips. What a decoder of ours reads nests a dozen levels; so
where one gives up, whatever lies deeper than DEPTH is cut out first.
"""

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

S = TypeVar("S")
T = TypeVar("T")


def decoded(decode: Callable[[S], T], raw: S) -> T:
    """What a decoder makes of these bytes, or of the upper levels if all of them are too many.

    Raises:
        whatever `decode` does, one of UNREADABLE.
    """
    try:
        return decode(raw)
    except RecursionError:
        if not isinstance(raw, bytes | msgspec.Raw):
            raise
        return decode(cast("S", type(raw)(shallow(bytes(raw)))))


def why(error: Exception) -> str:
    """What a decoder says is wrong, for people."""
    return clipped(str(error), _LONGEST)


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
