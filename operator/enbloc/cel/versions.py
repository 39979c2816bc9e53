# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Semantic versions and exact quantities, as device attributes and capacities hold them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

_NUMBER: Final = r"(0|[1-9][0-9]{0,19})"
_VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-([0-9A-Za-z.-]*))?(?:\+([0-9A-Za-z.-]*))?"
)
_QUANTITY: Final = re.compile(
    r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE]([+-]?[0-9]{1,9}))?"
)
_POWERS: Final = {
    "": Fraction(1), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18), "Ki": Fraction(2**10), "Mi": Fraction(2**20),
    "Gi": Fraction(2**30), "Ti": Fraction(2**40), "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip
_LONGEST: Final = 256
_NANO: Final = 10**9
_FAR: Final = 600  # a power of ten that no number of 256 digits brings back into range
_EXACT_DIGITS: Final = 18  # a decimal number of more is held at the largest int64
_MOST: Final = 2**63 - 1
_LARGEST_PART: Final = 2**64 - 1


@dataclass(frozen=True, slots=True)
class SemanticVersion:
    """A version by semver.org 2.0; the order ignores `build`."""

    major: int
    minor: int
    patch: int
    pre: tuple[int | str, ...] = ()
    build: str = ""

    @staticmethod
    def parse(text: str) -> SemanticVersion:
        """Raises ValueError with what is wrong."""
        match = _VERSION.fullmatch(text) if len(text) <= _LONGEST else None
        if match is None:
            raise ValueError(f"{text[:_LONGEST]!r} is no semantic version")
        numbers = [int(match[i]) for i in (1, 2, 3)]
        if max(numbers) > _LARGEST_PART:
            raise ValueError(f"{text!r} is no semantic version: a number is too large")
        pre = (
            tuple(_identifier(part, text) for part in match[4].split("."))
            if match[4] is not None
            else ()
        )
        if match[5] is not None and not all(match[5].split(".")):
            raise ValueError(f"{text!r} is no semantic version: build metadata is empty")
        major, minor, patch = numbers
        return SemanticVersion(major, minor, patch, pre, match[5] or "")

    @staticmethod
    def normalized(text: str) -> SemanticVersion:
        """As `parse`, and "v1.0" or "01.2.3" too. Raises ValueError."""
        if len(text) > _LONGEST:
            raise ValueError(f"{text[:_LONGEST]!r} is no semantic version")
        parts = text.removeprefix("v").split(".", 2)
        for i, part in enumerate(parts):
            if len(part) > 1:
                bare = part.lstrip("0")
                parts[i] = bare if bare[:1] in set("0123456789") and bare else "0" + bare
        if len(parts) < 3 and re.search("[+-]", parts[-1]):
            raise ValueError("short version cannot contain PreRelease/Build meta data")
        return SemanticVersion.parse(".".join([*parts, "0", "0"][:3]))

    @property
    def precedence(self) -> tuple[int, int, int, tuple[int | str, ...]]:
        """The sort key; versions with equal keys are equal."""
        return self.major, self.minor, self.patch, self.pre

    def compare(self, other: SemanticVersion) -> int:
        """-1, 0 or 1 by the order of semver.org: a pre-release comes before its release."""
        mine = (self.major, self.minor, self.patch)
        theirs = (other.major, other.minor, other.patch)
        if mine != theirs:
            return 1 if mine > theirs else -1
        if not self.pre or not other.pre:
            return bool(other.pre) - bool(self.pre)
        for one, another in zip(self.pre, other.pre, strict=False):
            if one != another:
                return 1 if _rank(one) > _rank(another) else -1
        return (len(self.pre) > len(other.pre)) - (len(self.pre) < len(other.pre))

    def __str__(self) -> str:
        pre = "-" + ".".join(map(str, self.pre)) if self.pre else ""
        return f"{self.major}.{self.minor}.{self.patch}{pre}" + (
            f"+{self.build}" if self.build else ""
        )


def _identifier(part: str, text: str) -> int | str:
    if not part or (part.isdigit() and len(part) > 1 and part.startswith("0")):
        raise ValueError(f"{text!r} is no semantic version: bad pre-release {part!r}")
    return int(part) if part.isdigit() else part


def _rank(part: int | str) -> tuple[int, int, str]:
    return (0, part, "") if isinstance(part, int) else (1, 0, part)


def exact(text: str) -> Fraction:
    """The amount of a quantity, rounded up to billionths as the API server does.

    As there, a text without digits is 0; only an empty text is no quantity.

    Raises:
        ValueError: the text is no quantity.
    """
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or not text:
        raise ValueError(f"{text[:_LONGEST]!r} is no quantity")
    sign, whole, fraction, suffix, exponent = match.groups(default="")
    amount = Fraction(int(whole + fraction or 0), 10 ** len(fraction)) * _POWERS[suffix]
    power = min(max(int(exponent or 0), -_FAR), _FAR)
    amount = amount * 10**power if power >= 0 else amount / 10**-power
    amount = Fraction(-(-amount.numerator * _NANO // amount.denominator), _NANO)
    if suffix.endswith("i") or len(whole.lstrip("0") + fraction) > _EXACT_DIGITS:
        amount = min(amount, Fraction(_MOST))
    return -amount if sign == "-" else amount
