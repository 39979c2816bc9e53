# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The words of a CEL expression: names, literals and signs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from enbloc.cel.values import LARGEST, LARGEST_UNSIGNED, Uint

_TOKEN: Final = re.compile(
    r"""(?P<space>(?:[\t\n\f\r\ ]+|//[^\n]*)+)
    |(?P<string>[rRbB]{0,2}(?:\"{3}|'{3}|\"|'))
    |(?P<double>(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?))
    |(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<sign>==|!=|<=|>=|&&|\|\||[\[\]{}().,\-!?:+*/%<>])""",
    re.VERBOSE,
)
_PREFIXES: Final = {"", "r", "b", "br", "rb"}
_ESCAPE: Final = re.compile(
    r"\\(?:([abfnrtv\\'\"`?])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))"
)
_PLAIN: Final = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_LONGEST_NUMBER: Final = 400


class SyntaxFault(Exception):  # noqa: N818 - a fault of the text
    """The text is not a CEL expression; the message says what is wrong, at which character."""

    def __init__(self, text: str, position: int) -> None:
        super().__init__(f"Syntax error at character {position + 1}: {text}")


@dataclass(frozen=True, slots=True)
class Token:
    """One word. `kind` is "name", "literal", "sign" or "end"."""

    kind: str
    text: str
    value: Any
    position: int


def tokens(source: str) -> list[Token]:
    """All words of the text, the last one of kind "end". Raises SyntaxFault."""
    found: list[Token] = []
    position = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            raise SyntaxFault(f"unexpected {source[position]!r}", position)
        kind, text = str(match.lastgroup), match.group()
        end = match.end()
        if kind == "string":
            value, end = _string(source, position, text)
            found.append(Token("literal", source[position:end], value, position))
        elif kind in ("double", "uint", "int"):
            found.append(Token("literal", text, _number(kind, text, position), position))
        elif kind != "space":
            found.append(Token(kind, text, None, position))
        position = end
    found.append(Token("end", "the end", None, len(source)))
    return found


def _number(kind: str, text: str, position: int) -> Any:
    if len(text) > _LONGEST_NUMBER:
        raise SyntaxFault("a number that is too long", position)
    if kind == "double":
        return float(text)
    digits = text.rstrip("uU") if kind == "uint" else text
    number = int(digits, 16) if digits.startswith("0x") else int(digits)
    # One more than the largest is accepted: it may follow a minus sign, which the parser checks.
    if number > (LARGEST_UNSIGNED if kind == "uint" else LARGEST + 1):
        raise SyntaxFault(f"invalid {kind} literal", position)
    return Uint(number) if kind == "uint" else number


def _string(source: str, position: int, opening: str) -> tuple[str | bytes, int]:
    """The value of the string that begins here, and where it ends."""
    quote = opening.lstrip("rRbB")
    prefix = opening[: -len(quote)].lower()
    if prefix not in _PREFIXES:
        raise SyntaxFault(f"unexpected {prefix!r}", position)
    raw, binary = "r" in prefix, "b" in prefix
    start = end = position + len(opening)
    while not source.startswith(quote, end):
        if end >= len(source) or (len(quote) == 1 and source[end] in "\r\n"):
            raise SyntaxFault("a string that does not end", position)
        end += 2 if source[end] == "\\" and not raw else 1
    if end > len(source):
        raise SyntaxFault("a string that does not end", position)
    body = source[start:end]
    return _unescape(body, raw=raw, binary=binary, position=position), end + len(quote)


def _unescape(body: str, *, raw: bool, binary: bool, position: int) -> str | bytes:
    if raw or "\\" not in body:
        return body.encode("utf-8", "surrogatepass") if binary else body
    out: list[str | bytes] = []
    at = 0
    while at < len(body):
        if body[at] != "\\":
            upto = body.find("\\", at)
            upto = len(body) if upto < 0 else upto
            out.append(body[at:upto])
            at = upto
            continue
        match = _ESCAPE.match(body, at)
        if match is None:
            raise SyntaxFault("an unknown escape sequence in a string", position)
        out.append(_escaped(match, binary=binary, position=position))
        at = match.end()
    if binary:
        return b"".join(one if isinstance(one, bytes) else one.encode() for one in out)
    return "".join(str(one) for one in out)


def _escaped(match: re.Match[str], *, binary: bool, position: int) -> str | bytes:
    plain, two, four, eight, octal = match.groups()
    if plain:
        return _PLAIN.get(plain, plain)
    wide = four or eight
    code = int(octal, 8) if octal else int(wide or two, 16)
    if binary:
        if wide:
            raise SyntaxFault("a Unicode escape in bytes", position)
        return bytes([code])
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise SyntaxFault("an escape that is no character", position)
    return chr(code)
