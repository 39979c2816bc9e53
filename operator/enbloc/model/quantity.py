# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Kubernetes quantities to exact integers, rounded up as the API server does."""

import re
from functools import lru_cache
from typing import Final

#: The largest amount; larger ones are clamped to it, as in the API server.
MAXIMUM: Final = 2**63 - 1
#: Billionths of a unit, the finest resolution of a quantity.
NANO: Final = 10**9

_GRAMMAR: Final = re.compile(
    r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE]([+-]?[0-9]{1,18}))?"
)
_BINARY: Final = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_POWERS_OF_TWO: Final = {suffix: 10 * (i + 1) for i, suffix in enumerate(_BINARY)}
_POWERS_OF_TEN: Final = {
    "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_LONGEST: Final = 100
_FAR: Final = 200  # a power of ten that no number of at most 100 digits brings back into range


@lru_cache(maxsize=16384)  # what is longer than _LONGEST raises, and is not kept
def milli(text: str | float) -> int:
    """A CPU quantity in thousandths of a core, rounded up.

    Raises:
        ValueError: `text` is not a quantity; the message names it.
    """
    return _scaled(text, 3)


@lru_cache(maxsize=16384)
def whole(text: str | float) -> int:
    """Any other quantity in whole units (bytes, pods, devices), rounded up.

    Raises:
        ValueError: `text` is not a quantity; the message names it.
    """
    return _scaled(text, 0)


@lru_cache(maxsize=16384)
def nano(text: str | float) -> int:
    """Any quantity in billionths of a unit; exact, as nothing finer exists.

    Raises:
        ValueError: `text` is not a quantity; the message names it.
    """
    return _scaled(text, 9, MAXIMUM * NANO)


def nano_text(amount: int) -> str:
    """The canonical quantity of an amount in billionths: "40Gi", "1500m", "3"."""
    number, rest = divmod(amount, NANO)
    if not rest:
        for suffix in reversed(_BINARY):
            unit = 1 << _POWERS_OF_TWO[suffix]
            if number and number % unit == 0:
                return f"{number // unit}{suffix}"
        return str(number)
    for suffix, unit in (("m", 10**6), ("u", 10**3)):
        if amount % unit == 0:
            return f"{amount // unit}{suffix}"
    return f"{amount}n"


def amount(name: str, text: str | float) -> int:
    """A quantity of the named resource: CPU in milli, everything else in whole units.

    Raises:
        ValueError: `text` is not a quantity, or is below zero.
    """
    value = milli(text) if name == "cpu" else whole(text)
    if value < 0:
        raise ValueError(f'"{text}" is negative; {name} must be zero or more')
    return value


def render(name: str, amount: int) -> str:
    """The canonical quantity of an amount: "1500m" of cpu, "256Gi" of memory, "64" of pods."""
    if name == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if name in ("memory", "ephemeral-storage", "storage") or name.startswith("hugepages-"):
        for suffix in reversed(_BINARY):
            unit = 1 << _POWERS_OF_TWO[suffix]
            if amount and amount % unit == 0:
                return f"{amount // unit}{suffix}"
    return str(amount)


def _scaled(text: str | float, scale: int, most: int = MAXIMUM) -> int:
    """ceil(value × 10**scale), clamped to ±most."""
    given = str(text)
    found = _GRAMMAR.fullmatch(given) if len(given) <= _LONGEST else None
    if found is None or not (found[2] or found[3]):
        raise ValueError(
            f'"{given[:_LONGEST]}" is not a quantity; write digits with an optional suffix such as '
            "m, k, M, Gi or an exponent"
        )
    sign, integer, fraction, suffix, exponent = found.groups(default="")
    digits = int(integer + fraction)
    power = scale - len(fraction) + _POWERS_OF_TEN.get(suffix, 0) + int(exponent or 0)
    power = min(max(power, -_FAR), _FAR)
    scaled = -digits if sign == "-" else digits
    scaled <<= _POWERS_OF_TWO.get(suffix, 0)
    value = scaled * 10**power if power >= 0 else -(-scaled // 10**-power)
    return min(max(value, -most), most)
