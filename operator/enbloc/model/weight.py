# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Weight: how much memory a fact takes, for what is bounded by bytes."""

from dataclasses import fields, is_dataclass
from typing import Final

#: Bytes of a text, a container or an item beside what is in it, roughly.
_EACH: Final = 64


def weight_of(value: object) -> int:
    """Bytes that a value of texts, tuples, sets and dataclasses takes, roughly.

    What several of them share counts for each.
    """
    if isinstance(value, str | bytes):
        return _EACH + len(value)
    if isinstance(value, tuple | frozenset):
        items: tuple[object, ...] | frozenset[object] = value
        return _EACH + sum(map(weight_of, items))
    if is_dataclass(value):
        return _EACH + sum(weight_of(getattr(value, each.name)) for each in fields(value))
    return _EACH // 2
