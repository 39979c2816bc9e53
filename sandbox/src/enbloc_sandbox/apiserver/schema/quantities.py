# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Quantities as the API server stores them: "1000m" is "1", "1024Mi" is "1Gi"."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

from enbloc_sandbox.apiserver.status import Refused, bad_request

_GRAMMAR: Final = re.compile(
    r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?"
)
_DECIMAL: Final = {-9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}
_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_SCALE: Final = {suffix: power for power, suffix in _DECIMAL.items()} | {"E": 18}


@lru_cache(maxsize=16384)
def quantity(text: str) -> str:
    """The canonical form; Refused 400 for what is no quantity."""
    found = _GRAMMAR.fullmatch(text)
    if found is None:
        raise _no_quantity()
    number, suffix = Fraction(found[1]), found[2] or ""
    if suffix in _BINARY[1:]:
        return _binary(number * 1024 ** _BINARY.index(suffix))
    if suffix in _SCALE:
        return _decimal(number * Fraction(10) ** _SCALE[suffix], exponents=False)
    return _decimal(number * Fraction(10) ** int(suffix[1:]), exponents=True)


def _binary(value: Fraction) -> str:
    whole = math.ceil(value)
    if abs(whole) < 1024:
        return _decimal(value, exponents=False)
    power = 0
    while whole % 1024 == 0 and power < len(_BINARY) - 1:
        whole, power = whole // 1024, power + 1
    return f"{whole}{_BINARY[power]}"


def _decimal(value: Fraction, *, exponents: bool) -> str:
    number, power = math.ceil(value * 10**9), -9
    if number == 0:
        return "0"
    while number % 1000 == 0 and power < 18:
        number, power = number // 1000, power + 3
    if exponents:
        return f"{number}e{power}" if power else str(number)
    return f"{number}{_DECIMAL.get(power, 'E')}"


def _no_quantity() -> Refused:
    return bad_request(
        "quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )
