# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Operators and conversions of CEL's own types."""

from __future__ import annotations

import math
import re
from typing import Any, Final

from enbloc.cel.values import (
    ADDRESSES,
    COPIED,
    ENCODED,
    FLAT,
    ITEM,
    LARGEST,
    LARGEST_UNSIGNED,
    Fault,
    Map,
    Prefix,
    Spend,
    Type,
    Uint,
    brief,
    compare,
    equal,
    keyed,
    short,
    type_of,
)

_TEXTS: Final = {
    **dict.fromkeys(["1", "t", "T", "TRUE", "true", "True"], True),
    **dict.fromkeys(["0", "f", "F", "FALSE", "false", "False"], False),
}
_INTEGER: Final = re.compile("[+-]?[0-9]{1,30}")
_DOUBLE: Final = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?([iI]nf(inity)?)|[nN]a[nN]"
)
_NO_OVERLOAD: Final = "no such overload"
#: How many items of a list are copied, and how many bytes decoded, in a tenth of a microsecond.
_ITEMS: Final = 80
_DECODED: Final = 100
#: The time to format a double, and an address, in tenths of a microsecond.
_DOUBLE_TEXT: Final = 20
_ADDRESS_TEXT: Final = 30


def integer(value: int) -> int:
    """The int; raises Fault outside 64 bits."""
    if not -LARGEST - 1 <= value <= LARGEST:
        raise Fault("integer overflow")
    return value


def unsigned(value: int) -> Uint:
    """The uint; raises Fault outside 64 bits."""
    if not 0 <= value <= LARGEST_UNSIGNED:
        raise Fault("unsigned integer overflow")
    return Uint(value)


def arithmetic(sign: str, a: Any, b: Any) -> Any:
    """`a sign b`. Raises Fault for other types, an overflow, or a division by zero."""
    kind = type(a)
    if type(b) is not kind:
        raise Fault(_NO_OVERLOAD)
    if kind is int:
        return integer(_whole(sign, a, b))
    if kind is Uint:
        return unsigned(_whole(sign, a.value, b.value))
    if kind is float and sign != "%":
        return _real(sign, a, b)
    raise Fault(_NO_OVERLOAD)


def added(spend: Spend, a: Any, b: Any) -> Any:
    """`a + b`: a sum, or a concatenation."""
    kind = type(a)
    if kind not in (str, bytes, list) or type(b) is not kind:
        return arithmetic("+", a, b)
    length = len(a) + len(b)
    if kind is list:
        spend(length // _ITEMS)
        return short(a + b)
    brief(length)
    spend(length // COPIED)
    return a + b


def _whole(sign: str, a: int, b: int) -> int:
    if sign == "+":
        return a + b
    if sign == "-":
        return a - b
    if sign == "*":
        return a * b
    if b == 0:
        raise Fault("division by zero" if sign == "/" else "modulus by zero")
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient if sign == "/" else a - quotient * b


def _real(sign: str, a: float, b: float) -> float:
    if sign == "+":
        return a + b
    if sign == "-":
        return a - b
    if sign == "*":
        return a * b
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)  # noqa: PLR0124
    return a / b


def negated(value: Any) -> Any:
    """`-value`."""
    if type(value) is float:
        return -value
    if type(value) is int:
        return integer(-value)
    raise Fault(_NO_OVERLOAD)


def inverted(value: Any) -> bool:
    """`!value`."""
    if type(value) is not bool:
        raise Fault(_NO_OVERLOAD)
    return not value


def same(spend: Spend, a: Any, b: Any) -> bool:
    """`a == b`: values of Kubernetes' own types are compared with their like only."""
    if type(a) in FLAT and type(a) is not type(b) and not {type(a), type(b)} <= ADDRESSES:
        raise Fault(_NO_OVERLOAD)
    return equal(a, b, spend)


def different(spend: Spend, a: Any, b: Any) -> bool:
    """`a != b`."""
    return not equal(a, b, spend)


def contained(spend: Spend, item: Any, where: Any) -> bool:
    """`item in where`."""
    if type(where) is Map:
        try:
            return keyed(item) in where.entries
        except Fault:
            return False
    if type(where) is not list:
        raise Fault(_NO_OVERLOAD)
    spend(ITEM * len(where))
    return any(equal(item, one, spend) for one in where)


def ordered(sign: str, spend: Spend, a: Any, b: Any) -> bool:
    """`a sign b` of an order. Raises Fault for NaN, as upstream does."""
    found = compare(a, b, spend)
    return {"<": found < 0, "<=": found <= 0, ">": found > 0, ">=": found >= 0}[sign]


def sized(value: Any) -> int:
    """`size(value)`."""
    if type(value) is Map:
        return len(value.entries)
    if type(value) not in (str, bytes, list):
        raise Fault(_NO_OVERLOAD)
    return len(value)


def to_int(value: Any) -> int:
    """`int(value)`."""
    if type(value) is int:
        return value
    if type(value) is Uint:
        return integer(value.value)
    if type(value) is float:
        if not math.isfinite(value) or abs(value) >= LARGEST:
            raise Fault("integer overflow")
        return int(value)
    if type(value) is str:
        if _INTEGER.fullmatch(value) and -LARGEST - 1 <= int(value) <= LARGEST:
            return int(value)
        raise Fault(f'cannot parse "{value[:80]}" as an int')
    raise Fault(_NO_OVERLOAD)


def to_uint(value: Any) -> Uint:
    """`uint(value)`."""
    if type(value) is Uint:
        return value
    if type(value) is int:
        return unsigned(value)
    if type(value) is float:
        if not math.isfinite(value) or not 0 <= value < LARGEST_UNSIGNED:
            raise Fault("unsigned integer overflow")
        return Uint(int(value))
    if type(value) is str:
        if re.fullmatch("[0-9]{1,30}", value) and int(value) <= LARGEST_UNSIGNED:
            return Uint(int(value))
        raise Fault(f'cannot parse "{value[:80]}" as a uint')
    raise Fault(_NO_OVERLOAD)


def to_double(value: Any) -> float:
    """`double(value)`."""
    if type(value) in (int, float):
        return float(value)
    if type(value) is Uint:
        return float(value.value)
    if type(value) is str:
        if len(value) <= 400 and _DOUBLE.fullmatch(value):
            return float(value)
        raise Fault(f'cannot parse "{value[:80]}" as a double')
    raise Fault(_NO_OVERLOAD)


def to_bool(value: Any) -> bool:
    """`bool(value)`."""
    if type(value) is bool:
        return value
    if type(value) is str and value in _TEXTS:
        return _TEXTS[value]
    raise Fault(
        _NO_OVERLOAD if type(value) is not str else f'cannot parse "{value[:80]}" as a bool'
    )


def to_string(spend: Spend, value: Any) -> str:
    """`string(value)`."""
    kind = type(value)
    if kind is str:
        return value
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return str(value)
    if kind is Uint:
        return str(value.value)
    if kind is float:
        spend(_DOUBLE_TEXT)
        return double_text(value)
    if kind in ADDRESSES:
        spend(_ADDRESS_TEXT)
        return str(value)
    if kind is Prefix:
        spend(_ADDRESS_TEXT)
        return f"{value.address}/{value.bits}"
    if kind is bytes:
        spend(len(value) // _DECODED)
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise Fault("invalid UTF-8 in bytes, cannot convert to string") from None
    raise Fault(_NO_OVERLOAD)


def double_text(value: float) -> str:
    """As Go prints it: the shortest that reads back, with an exponent beyond 21 digits."""
    if value != value:  # noqa: PLR0124 - NaN
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if value == int(value) and abs(value) < 1e21:
        return str(int(value)) if value or math.copysign(1, value) > 0 else "-0"
    return re.sub(r"e([+-])([0-9])$", r"e\g<1>0\2", repr(value))


def to_bytes(spend: Spend, value: Any) -> bytes:
    """`bytes(value)`."""
    if type(value) is bytes:
        return value
    if type(value) is str:
        spend(len(value) // (COPIED if value.isascii() else ENCODED))
        return value.encode("utf-8", "surrogatepass")
    raise Fault(_NO_OVERLOAD)


def to_type(value: Any) -> Type:
    """`type(value)`."""
    return Type(type_of(value))
