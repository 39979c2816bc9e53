# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Functions of lists and sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any, Final

from enbloc.cel.scalars import arithmetic
from enbloc.cel.texts import count
from enbloc.cel.values import (
    ITEM,
    MOST_ITEMS,
    NONE,
    Fault,
    Optional,
    Spend,
    compare,
    equal,
    short,
)

#: The time to order two items, and to add one, in tenths of a microsecond.
_ORDERED: Final = 4
_ADDED: Final = 5
#: How many items are copied, and how many numbers made, in a tenth of a microsecond.
_COPIED: Final = 45
_NUMBERED: Final = 8


def _listed(*values: Any) -> None:
    for value in values:
        if type(value) is not list:
            raise Fault("no such overload")


def is_sorted(spend: Spend, items: Any) -> bool:
    """Whether none is greater than the next."""
    _listed(items)
    spend(_ORDERED * len(items))
    return all(compare(a, b, spend) <= 0 for a, b in pairwise(items))


def total(spend: Spend, items: Any) -> Any:
    """The sum; 0 of no items."""
    _listed(items)
    spend(_ADDED * len(items))
    if not items:
        return 0
    found = items[0]
    for one in items:
        if type(one) in (str, list, bytes):
            raise Fault("no such overload")
    for one in items[1:]:
        found = arithmetic("+", found, one)
    return found


def extreme(name: str, sign: int) -> Callable[[Spend, Any], Any]:
    """`min` (-1) or `max` (1)."""

    def pick(spend: Spend, items: Any) -> Any:
        _listed(items)
        spend(_ORDERED * len(items))
        if not items:
            raise Fault(f"{name} called on empty list")
        found = items[0]
        for one in items[1:]:
            if compare(one, found, spend) == sign:
                found = one
        return found

    return pick


def index_of(spend: Spend, items: Any, what: Any) -> int:
    """The index of the first equal item; -1 = none."""
    _listed(items)
    spend(ITEM * len(items))
    return next((i for i, one in enumerate(items) if equal(one, what, spend)), -1)


def last_index_of(spend: Spend, items: Any, what: Any) -> int:
    """The index of the last equal item; -1 = none."""
    _listed(items)
    spend(ITEM * len(items))
    return next((i for i in range(len(items) - 1, -1, -1) if equal(items[i], what, spend)), -1)


def part(spend: Spend, items: Any, start: Any, end: Any) -> list[Any]:
    """The items from start to before end."""
    _listed(items)
    count(start, end)
    if not 0 <= start <= end <= len(items):
        raise Fault(f"cannot slice({start}, {end}), list is length {len(items)}")
    spend((end - start) // _COPIED)
    return list(items[start:end])


def flatten(spend: Spend, items: Any, depth: Any = 1) -> list[Any]:
    """Replace lists in the list by their items, `depth` levels deep."""
    _listed(items)
    count(depth)
    if depth < 0:
        raise Fault("level must be non-negative")
    for _ in range(min(depth, 200)):
        spend(ITEM + len(items))
        if not any(type(one) is list for one in items):
            break
        flat: list[Any] = []
        for one in items:
            short(flat)
            flat.extend(one if type(one) is list else (one,))
        items = flat
    return short(list(items))


def sort(spend: Spend, items: Any) -> list[Any]:
    """The items in order."""
    return sort_by(spend, items, items)


def sort_by(spend: Spend, items: Any, keys: Any) -> list[Any]:
    """The items in the order of their keys, which are all of one type."""
    _listed(items, keys)
    if len({type(one) for one in keys}) > 1:
        raise Fault("list elements must have the same type")
    if keys:
        compare(keys[0], keys[0], spend)
    spend(_ORDERED * len(keys) * len(keys).bit_length())
    order = sorted(range(len(keys)), key=cmp_to_key(lambda i, j: compare(keys[i], keys[j], spend)))
    return [items[i] for i in order]


def upto(spend: Spend, number: Any) -> list[int]:
    """0, 1, … below the number."""
    count(number)
    made = min(number, MOST_ITEMS + 1)
    spend(max(0, made) // _NUMBERED)
    return short(list(range(made)))


def backwards(spend: Spend, items: Any) -> list[Any]:
    """The items, last first."""
    _listed(items)
    spend(len(items) // _COPIED)
    return list(items[::-1])


def distinct(spend: Spend, items: Any) -> list[Any]:
    """The items without those equal to an earlier one."""
    _listed(items)
    found: list[Any] = []
    for one in items:
        if not _among(spend, one, found):
            found.append(one)
    return found


def first(items: Any) -> Optional:
    """The first item, if there is one."""
    _listed(items)
    return Optional(items[0], present=True) if items else NONE


def last(items: Any) -> Optional:
    """The last item, if there is one."""
    _listed(items)
    return Optional(items[-1], present=True) if items else NONE


def contains(spend: Spend, a: Any, b: Any) -> bool:
    """Whether each item of b is in a."""
    _listed(a, b)
    return all(_among(spend, one, a) for one in b)


def intersects(spend: Spend, a: Any, b: Any) -> bool:
    """Whether any item is in both."""
    _listed(a, b)
    return any(_among(spend, one, a) for one in b)


def equivalent(spend: Spend, a: Any, b: Any) -> bool:
    """Whether each contains all items of the other."""
    return contains(spend, a, b) and contains(spend, b, a)


def includes(spend: Spend, target: Any, item: Any) -> bool:
    """Whether a list has the item, or a single value equals it.

    Source: kubernetes v1.36 dynamic-resource-allocation/cel/compile.go includesFunc
    """
    if type(target) is not list:
        return equal(target, item, spend)
    longest = 48
    if _among(spend, item, target[:longest]):
        return True
    if len(target) > longest:
        raise Fault(f"'includes' function cannot be applied to lists longer than {longest} values")
    return False


def _among(spend: Spend, item: Any, items: list[Any]) -> bool:
    """Whether the list has an item that is equal."""
    spend(ITEM + ITEM * len(items))
    return any(equal(one, item, spend) for one in items)
