# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of strings."""

from __future__ import annotations

from typing import Any, Final

from enbloc.cel.values import COMPARED, COPIED, Fault, Spend, brief, short

_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
#: How many characters are copied to a smaller text in a tenth of a microsecond, and searched; and
#: how many pairs of characters are compared, if each place is compared in full.
_NARROWED: Final = 500
_SEARCHED: Final = 40
_PAIRS: Final = 280
#: How many occurrences are replaced, characters trimmed, and cases changed (of ASCII, and beyond)
#: in a tenth of a microsecond.
_REPLACED: Final = 14
_TRIMMED: Final = 8
_CASED: Final = 200
_CASED_BEYOND: Final = 10
_UTF8: Final = ("utf-8", "surrogatepass")


def text(*values: Any) -> None:
    """Raises Fault unless all are strings."""
    for value in values:
        if type(value) is not str:
            raise Fault("no such overload")


def count(*values: Any) -> None:
    """Raises Fault unless all are ints."""
    for value in values:
        if type(value) is not int:
            raise Fault("no such overload")


def _index(found: int, length: int) -> int:
    if not 0 <= found <= length:
        raise Fault(f"index out of range: {found}")
    return found


def char_at(where: Any, index: Any) -> str:
    """The character at an index, or "" right after the last."""
    text(where)
    count(index)
    at = _index(index, len(where))
    return str(where[at : at + 1])


def contains(spend: Spend, where: Any, what: Any) -> bool:
    """Whether `what` occurs anywhere."""
    text(where, what)
    spend(_searching(where, what))
    return what in where


def starts(spend: Spend, where: Any, what: Any) -> bool:
    """Whether `what` is at the start."""
    text(where, what)
    spend(min(len(where), len(what)) // COMPARED)
    return bool(where.startswith(what))


def ends(spend: Spend, where: Any, what: Any) -> bool:
    """Whether `what` is at the end."""
    text(where, what)
    spend(min(len(where), len(what)) // COMPARED)
    return bool(where.endswith(what))


def index_of(spend: Spend, where: Any, what: Any, offset: Any = 0) -> int:
    """The first index of `what`, from the offset on; -1 = none."""
    text(where, what)
    spend(_searching(where, what))
    count(offset)
    if not what:
        return int(offset)
    if offset < 0:
        raise Fault(f"index out of range: {offset}")
    return int(where.find(what, offset))


def last_index_of(spend: Spend, where: Any, what: Any, offset: Any = None) -> int:
    """The last index of `what`, no later than the offset; -1 = none."""
    text(where, what)
    spend(_comparing(where, what))
    if offset is None:
        return len(where) if not what else int(where.rfind(what))
    count(offset)
    if not what:
        return int(offset)
    if offset < 0:
        raise Fault(f"index out of range: {offset}")
    return -1 if offset >= len(where) else int(where.rfind(what, 0, offset + len(what)))


def _searching(where: str, what: str) -> int:
    """The time to search for a text from the start.

    Below some lengths, each place may be compared in full. Source: cpython v3.11
    Objects/stringlib/fastsearch.h FASTSEARCH.
    """
    length, part = len(where), len(what)
    simple = length < 2_500 or (part < 100 and length < 30_000)
    return length // _SEARCHED + (_comparing(where, what) if simple else 0)


def _comparing(where: str, what: str) -> int:
    """The time to search for a text if each place may be compared in full."""
    return len(where) // _SEARCHED + max(0, len(where) - len(what)) * len(what) // _PAIRS


def lower(spend: Spend, where: Any) -> str:
    """The text with A to Z in lower case."""
    return str(_plain(spend, where).lower(), *_UTF8)


def upper(spend: Spend, where: Any) -> str:
    """The text with a to z in upper case."""
    return str(_plain(spend, where).upper(), *_UTF8)


def _plain(spend: Spend, where: Any) -> bytes:
    """The text's bytes, of which only ASCII letters have cases."""
    text(where)
    spend(len(where) // (_CASED if where.isascii() else _CASED_BEYOND))
    return bytes(where, *_UTF8)


def replace(spend: Spend, where: Any, old: Any, new: Any, most: Any = -1) -> str:
    """The text with the first `most` occurrences replaced; all if `most` is negative."""
    text(where, old, new)
    count(most)
    spend(3 * _searching(where, old))  # for the count here, and Python counts once more
    times = where.count(old) if most < 0 else min(most, where.count(old))
    length = len(where) + times * (len(new) - len(old))
    brief(length)
    spend(length // COPIED + times // _REPLACED)
    return str(where.replace(old, new, most if most >= 0 else -1))


def split(spend: Spend, where: Any, by: Any, most: Any = -1) -> list[str]:
    """The parts (the characters if `by` is ""), at most `most`, the last with the rest."""
    text(where, by)
    count(most)
    if most == 0:
        return []
    spend(2 * _searching(where, by))
    if by:
        found = where.split(by, most - 1 if most > 0 else -1)
    elif most < 0 or most >= len(where):
        found = list(where)
    else:
        found = [*where[: most - 1], where[most - 1 :]]
    spend(len(found) // 2 + len(where) // _NARROWED)
    return short(found)


def substring(spend: Spend, where: Any, start: Any, end: Any = None) -> str:
    """The characters from start to before end."""
    text(where)
    end = len(where) if end is None else end
    count(start, end)
    if start > end and start <= len(where):
        raise Fault(f"invalid substring range. start: {start}, end: {end}")
    found = str(where[_index(start, len(where)) : _index(end, len(where))])
    spend(len(found) // _NARROWED)
    return found


def trim(spend: Spend, where: Any) -> str:
    """The text without white space around it."""
    text(where)
    found = str(where.strip(_SPACE))
    spend((len(where) - len(found)) // _TRIMMED + len(found) // _NARROWED)
    return found


def join(spend: Spend, parts: Any, by: Any = "") -> str:
    """The strings of a list, joined by another."""
    text(by)
    if type(parts) is not list:
        raise Fault("no such overload")
    text(*parts)
    length = sum(map(len, parts)) + len(by) * max(0, len(parts) - 1)
    brief(length)
    spend(len(parts) // 2 + length // COPIED)
    return by.join(parts)
