# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Regular expressions as Go's regexp reads them, by RE2."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import re2
from cachetools import LRUCache

from enbloc.cel.texts import count, text
from enbloc.cel.values import Fault, Spend, short

#: The largest compiled expression, in bytes, and how many (also refusals) are cached.
_REGEX_BYTES: Final = 1 << 18
_MOST_KEPT: Final = 64
#: The time to compile an expression, and for each of its characters and instructions, in tenths of
#: a microsecond; one with more of either than the bytes allow is not compiled.
_COMPILING: Final = 1_000
_CHARACTER: Final = 5
_INSTRUCTION: Final = 5
_MOST_INSTRUCTIONS: Final = 20_000
_TOO_LARGE: Final = "Illegal regex: pattern too large"
#: Instructions of a class of characters, and of one by its property, of which some are larger.
_OF_CLASS: Final = 12
_PROPERTY: Final = 800
#: How many characters are read in a tenth of a microsecond, with so few instructions that RE2 can
#: cache its states; with more, how many instructions run in that time, each once per character, at
#: worst.
_READ: Final = 20
_FEW: Final = 24
_READING: Final = 16
#: The additional time of each of several matches.
_MATCH: Final = 50

_REPEATED: Final = re.compile(r"\{(?P<least>[0-9]{1,4})(?:,(?P<most>[0-9]{0,4}))?\}")
_ESCAPED: Final = re.compile(
    r"\\(?:(?P<property>[pP](?:\{[^}]*\}|.))|x\{[0-9A-Fa-f]*\}|.)", re.DOTALL
)
_CLASS: Final = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_PROPERTIES: Final = re.compile(r"\\[pP]")


class _Regex(NamedTuple):
    """A regular expression.

    Attributes:
        program: compiled by RE2.
        refusal: why it is not compiled; "" = it is.
        instructions: their approximate number.
    """

    program: Any
    refusal: str
    instructions: int

    def reading(self, characters: int) -> int:
        """The time to read this many characters, at worst."""
        if self.instructions <= _FEW:
            return characters // _READ
        return characters * self.instructions // _READING


#: By the pattern.
_KEPT: Final[LRUCache[str, _Regex]] = LRUCache(maxsize=_MOST_KEPT)


def compiled(spend: Spend, pattern: str) -> _Regex:
    """The compiled expression. Raises Fault for one that RE2 does not accept."""
    found = _KEPT.get(pattern)
    if found is None:
        if len(pattern) > _MOST_INSTRUCTIONS:
            raise Fault(_TOO_LARGE)
        spend(_COMPILING + _CHARACTER * len(pattern))
        found = _KEPT[pattern] = _made(spend, pattern)
    if found.refusal:
        raise Fault(found.refusal)
    return found


def _made(spend: Spend, pattern: str) -> _Regex:
    """Compile an expression that is not cached.

    RE2 itself detects a too large one only after expanding its repetitions.
    """
    needed = instructions(pattern)
    if needed > _MOST_INSTRUCTIONS:
        return _Regex(None, _TOO_LARGE, needed)
    spend(_INSTRUCTION * needed)
    options = re2.Options()
    options.max_mem = _REGEX_BYTES
    options.log_errors = False
    options.never_capture = True  # a search takes milliseconds with hundreds of groups
    try:
        return _Regex(re2.compile(pattern, options), "", needed)
    except re2.error as error:
        words = error.args[0] if error.args else error
        words = words.decode(errors="replace") if isinstance(words, bytes) else str(words)
        return _Regex(None, f"Illegal regex: {words[:200]}", needed)
    except UnicodeEncodeError:
        return _Regex(None, "Illegal regex: no UTF-8", needed)


def instructions(pattern: str) -> int:
    """The approximate number of instructions, with repetitions at their maximum."""
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


def searching(pattern: str) -> Callable[[str], Any]:
    """A function that searches a text for a regular expression; it returns None without a match.

    Raises:
        ValueError: RE2 does not accept it, or it is too large.
    """
    regex = _made(lambda _: None, pattern)
    if regex.refusal:
        raise ValueError(regex.refusal)
    search: Callable[[str], Any] = regex.program.search
    return search


def matches(spend: Spend, where: Any, pattern: Any) -> bool:
    """Whether the pattern is found anywhere."""
    return _search(spend, where, pattern) is not None


def find(spend: Spend, where: Any, pattern: Any) -> str:
    """The first match, or nothing."""
    match = _search(spend, where, pattern)
    return "" if match is None else match.group()


def _search(spend: Spend, where: Any, pattern: Any) -> Any:
    text(where, pattern)
    regex = compiled(spend, pattern)
    spend(regex.reading(len(where)))
    return regex.program.search(where)


def find_all(spend: Spend, where: Any, pattern: Any, most: Any = -1) -> list[str]:
    """The matches that do not overlap, at most `most`; an empty one never follows a match."""
    text(where, pattern)
    count(most)
    regex = compiled(spend, pattern)
    spend(regex.reading(len(where)))
    found: list[str] = []
    before = -1
    for match in regex.program.finditer(where):
        if 0 <= most <= len(found):
            break
        start, end = match.span()
        if end > start or start != before:
            found.append(match.group())
        before = end
        spend(_MATCH + regex.reading(len(where) - end))  # all of it may be read for the next
    return short(found)
