# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Messages for people: cut to the API's limits, and made of visible characters."""

import unicodedata
from collections.abc import Sequence
from typing import Final

#: The longest condition message that our CRD accepts, in characters.
MESSAGE_LIMIT: Final = 1024


def clipped(message: str, limit: int = MESSAGE_LIMIT) -> str:
    """The message, cut with an ellipsis if it has more than `limit` characters.

    It is cut between words, unless that would remove most of it, because a word is very long.
    """
    if len(message) <= limit:
        return message
    words = message[:limit].rpartition(" ")[0].rstrip()
    return (words if len(words) > limit // 2 else message[: limit - 1]) + "…"


#: The longest foreign text that a message quotes, in characters.
QUOTE_LIMIT: Final = 80

#: Unicode categories of marks that combine with the letter before them.
_MARKS: Final = frozenset({"Mn", "Me"})
#: Blank characters that Unicode counts among letters and symbols.
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")


def printable(text: str, keep: str = "") -> str:
    r"""The text, with control and invisible characters escaped as in Python: `\x1b`, `\u202e`.

    Escaped are control characters, line breaks, changes of the writing direction, zero-width
    characters, combining marks and lone surrogates.

    Args:
        text: any text.
        keep: characters not to escape.
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


def sentences(*texts: str) -> str:
    """The texts that are not empty, in one line, with a full stop after each but the last."""
    *first, last = filter(None, texts) if any(texts) else ("",)
    return " ".join([*(text if text.endswith((".", "…")) else f"{text}." for text in first), last])


def several(texts: Sequence[str], most: int, count: int | None = None) -> str:
    """The first `most` texts, joined by commas, and how many more there are.

    Args:
        texts: at least the first `most`.
        most: how many are shown.
        count: how many there are in all; None = these.
    """
    more = (len(texts) if count is None else count) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")


def quoted(text: str) -> str:
    """A foreign text for use in a message: in quotes, escaped, and cut at QUOTE_LIMIT.

    Quotes within the text are escaped.
    """
    shown = text[:QUOTE_LIMIT].replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(shown)}"{"…" if len(text) > QUOTE_LIMIT else ""}'


def whole_number(text: str, digits: int) -> int | None:
    """The number that a text writes with at most so many ASCII digits; None = it writes none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None
