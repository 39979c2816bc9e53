# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Weight: approximate memory of a fact, for limits in bytes."""

from dataclasses import fields, is_dataclass
from typing import Final

#: Approximate overhead of a text, container or item, in bytes.
_EACH: Final = 64


def weight_of(value: object) -> int:
    """Approximate bytes of a value made of texts, tuples, sets and dataclasses.

    Shared parts count each time.
    """
    if isinstance(value, str | bytes):
        return _EACH + len(value)
    if isinstance(value, tuple | frozenset):
        items: tuple[object, ...] | frozenset[object] = value
        return _EACH + sum(map(weight_of, items))
    if is_dataclass(value):
        return _EACH + sum(weight_of(getattr(value, each.name)) for each in fields(value))
    return _EACH // 2
