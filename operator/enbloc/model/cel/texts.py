# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of strings, and regular expressions as Go's regexp reads them, by RE2."""

from __future__ import annotations

import re
from typing import Any, Final

import re2
from cachetools import LRUCache, cached

from enbloc.model.cel.values import LONGEST, MOST_ITEMS, Fault, Halt, brief, short

_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_LOWER: Final = {ord(one): one.lower() for one in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_UPPER: Final = {ord(one.lower()): one for one in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
#: Bytes that one compiled expression may take; more is refused. So many are kept, also refusals.
_REGEX_BYTES: Final = 1 << 18
_MOST_KEPT: Final = 64
#: What it takes to compile one, and each of its instructions, in tenths of a microsecond; more of
#: them than the bytes allow are not made.
_COMPILING: Final = 1_000
_INSTRUCTION: Final = 5
_MOST_INSTRUCTIONS: Final = 20_000
_TOO_LARGE: Final = "Illegal regex: pattern too large"
#: Instructions of a class of characters, and of one by its property, of which some are larger.
_OF_CLASS: Final = 12
_PROPERTY: Final = 800
#: So many instructions see a character in a tenth of a microsecond, at worst.
_SEEN: Final = 8


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


def regex(pattern: str) -> Any:
    """The compiled expression. Raises Fault for one that RE2 does not take."""
    found = _compiled(pattern)
    if isinstance(found, str):
        raise Fault(found)
    return found


def instructions(pattern: str) -> int:
    """About how many instructions it takes, what is repeated as often as it is at most."""
    groups, last, at = [0], 1, 0
    while at < len(pattern):
        sign = pattern[at]
        repeated = _REPEATED.match(pattern, at) if sign == "{" else None
        one = _CLASS.match(pattern, at) if sign == "[" else None
        if one is not None:
            last = _OF_CLASS + _PROPERTY * len(_PROPERTIES.findall(one[0]))
            groups[-1] += last
            at = one.end() - 1
        elif sign == "(":
            groups.append(0)
            last = 0
        elif sign == ")" and len(groups) > 1:
            last = groups.pop() + 2
            groups[-1] += last
        elif repeated is not None:
            times = max(1, int(repeated["most"] or repeated["least"]))
            groups[-1] += last * (times - 1)
            last, at = last * times, repeated.end() - 1
        else:
            escaped = _ESCAPED.match(pattern, at)
            last = _OF_CLASS if sign == "." else 1
            if escaped is not None and escaped["property"]:
                last = _PROPERTY
            at += len(escaped[0]) - 1 if escaped is not None else 0
            groups[-1] += last
        if groups[-1] > _MOST_INSTRUCTIONS:
            break
        at += 1
    return sum(groups)


def compiling(pattern: str) -> int:
    """What it takes to compile it, in tenths of a microsecond; less where it is kept."""
    if pattern in _KEPT:
        return 0
    found = instructions(pattern)
    return _COMPILING + (_INSTRUCTION * found if found <= _MOST_INSTRUCTIONS else 0)


def matching(where: Any, pattern: Any) -> int:
    """What it takes to look for it, in tenths of a microsecond, at worst."""
    if type(where) is not str or type(pattern) is not str:
        return 0
    return compiling(pattern) + len(where) * instructions(pattern) // _SEEN


def going_back(where: Any, what: Any) -> int:
    """What it takes to look for a text from the end, where each place may be looked at whole."""
    if type(where) is not str or type(what) is not str:
        return 0
    return len(where) * len(what) // 64


def matching_all(where: Any, pattern: Any) -> int:
    """What it takes to find all matches: for each of them the text is read again."""
    if type(where) is not str:
        return 0
    return matching(where, pattern) + len(where) * min(len(where), MOST_ITEMS) // 32


_REPEATED: Final = re.compile(r"\{(?P<least>[0-9]{1,4})(?:,(?P<most>[0-9]{0,4}))?\}")
_ESCAPED: Final = re.compile(
    r"\\(?:(?P<property>[pP](?:\{[^}]*\}|.))|x\{[0-9A-Fa-f]*\}|.)", re.DOTALL
)
_CLASS: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_PROPERTIES: Final = re.compile(r"\\[pP]")
_KEPT: Final[LRUCache[str, Any]] = LRUCache(maxsize=_MOST_KEPT)


@cached(_KEPT)
def _compiled(pattern: str) -> Any:
    """The compiled expression; a text says why there is none.

    RE2 itself finds out only after it has written out what is repeated.
    """
    if instructions(pattern) > _MOST_INSTRUCTIONS:
        return _TOO_LARGE
    options = re2.Options()
    options.max_mem = _REGEX_BYTES
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        words = error.args[0] if error.args else error
        words = words.decode(errors="replace") if isinstance(words, bytes) else str(words)
        return f"Illegal regex: {words[:200]}"
    except UnicodeEncodeError:
        return "Illegal regex: no UTF-8"


def matches(where: Any, pattern: Any) -> bool:
    """Whether the pattern is found anywhere."""
    text(where, pattern)
    return regex(pattern).search(where) is not None


def find(where: Any, pattern: Any) -> str:
    """The first match, or nothing."""
    text(where, pattern)
    match = regex(pattern).search(where)
    return "" if match is None else match.group()


def find_all(where: Any, pattern: Any, most: Any = -1) -> list[str]:
    """The matches that do not overlap, at most so many; an empty one never follows a match."""
    text(where, pattern)
    count(most)
    found: list[str] = []
    at, before = 0, -1
    while at <= len(where) and (most < 0 or len(found) < most):
        match = regex(pattern).search(where, at)
        if match is None:
            break
        start, end = match.span()
        if end > start or start != before:
            found.append(match.group())
        before = end
        at = end if end > at else at + 1
    return short(found)


def _index(found: int, length: int) -> int:
    if not 0 <= found <= length:
        raise Fault(f"index out of range: {found}")
    return found


def char_at(where: Any, index: Any) -> str:
    """The character there, or nothing right behind the last."""
    text(where)
    count(index)
    at = _index(index, len(where))
    return str(where[at : at + 1])


def index_of(where: Any, what: Any, offset: Any = 0) -> int:
    """Where it stands first, from the offset on; -1 = nowhere."""
    text(where, what)
    count(offset)
    if not what:
        return int(offset)
    if offset < 0:
        raise Fault(f"index out of range: {offset}")
    return int(where.find(what, offset))


def last_index_of(where: Any, what: Any, offset: Any = None) -> int:
    """Where it stands last, beginning no later than the offset; -1 = nowhere."""
    text(where, what)
    if offset is None:
        return len(where) if not what else int(where.rfind(what))
    count(offset)
    if not what:
        return int(offset)
    if offset < 0:
        raise Fault(f"index out of range: {offset}")
    return -1 if offset >= len(where) else int(where.rfind(what, 0, offset + len(what)))


def lower(where: Any) -> str:
    """A to Z in lower case, all else as it is."""
    text(where)
    return str(where.translate(_LOWER))


def upper(where: Any) -> str:
    """A to z in upper case, all else as it is."""
    text(where)
    return str(where.translate(_UPPER))


def replace(where: Any, old: Any, new: Any, most: Any = -1) -> str:
    """The first so many occurrences replaced; below zero all."""
    text(where, old, new)
    count(most)
    times = where.count(old) if most < 0 else min(most, where.count(old))
    if len(where) + times * (len(new) - len(old)) > LONGEST:
        raise Halt(f"makes a string of more than {LONGEST} characters")
    return brief(where.replace(old, new, most if most >= 0 else -1))


def split(where: Any, by: Any, most: Any = -1) -> list[str]:
    """The parts; by nothing, the characters. At most so many parts, the last with the rest."""
    text(where, by)
    count(most)
    if most == 0:
        return []
    if by:
        return short(where.split(by, most - 1 if most > 0 else -1))
    if most < 0 or most >= len(where):
        return short(list(where))
    return short([*where[: most - 1], where[most - 1 :]])


def substring(where: Any, start: Any, end: Any = None) -> str:
    """The characters from start to before end."""
    text(where)
    end = len(where) if end is None else end
    count(start, end)
    if start > end and start <= len(where):
        raise Fault(f"invalid substring range. start: {start}, end: {end}")
    return str(where[_index(start, len(where)) : _index(end, len(where))])


def trim(where: Any) -> str:
    """Without white space around it."""
    text(where)
    return str(where.strip(_SPACE))


def join(parts: Any, by: Any = "") -> str:
    """The strings of a list, with another between them."""
    text(by)
    if type(parts) is not list:
        raise Fault("no such overload")
    text(*parts)
    return brief(by.join(parts))
