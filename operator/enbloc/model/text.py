# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Messages for people: as long as the API takes them, and of characters that people can see."""

import unicodedata
from collections.abc import Sequence
from typing import Final

#: The longest message of a condition that our CRD takes, in characters.
MESSAGE_LIMIT: Final = 1024


def clipped(message: str, limit: int = MESSAGE_LIMIT) -> str:
    """The message; cut with an ellipsis if it has more characters than that.

    It is cut between words, unless a very long one would take most of it away.
    """
    if len(message) <= limit:
        return message
    words = message[:limit].rpartition(" ")[0].rstrip()
    return (words if len(words) > limit // 2 else message[: limit - 1]) + "…"


#: The longest text of somebody else that a message quotes, in characters.
QUOTE_LIMIT: Final = 80

#: Marks that pile up on the letter before them.
_MARKS: Final = frozenset({"Mn", "Me"})
#: Blank, although Unicode counts them among letters and symbols.
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def printable(text: str, keep: str = "") -> str:
    r"""The text, with what a terminal obeys or nobody sees escaped as in Python: `\x1b`, `\u202e`.

    These are control characters, line breaks, changes of the writing direction, characters of no
    width, combining marks and lone surrogates.

    Args:
        text: of anybody.
        keep: such characters that are wanted.
    """
    if text.isprintable() and text.isascii():
        return text
    return "".join(
        char if char in keep or _visible(char) else char.encode("unicode_escape").decode()
        for char in text
    )


def _visible(char: str) -> bool:
    if char.isascii():
        return char.isprintable()
    return char.isprintable() and char not in _BLANK and unicodedata.category(char) not in _MARKS


def several(texts: Sequence[str], most: int) -> str:
    """Some of them with commas between, and how many more there are."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")


def quoted(text: str) -> str:
    """A text of somebody else within a message: in quotes, escaped, and cut at QUOTE_LIMIT.

    The quotes end where it ends: those that it contains are escaped.
    """
    shown = text[:QUOTE_LIMIT].replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(shown)}"{"…" if len(text) > QUOTE_LIMIT else ""}'
