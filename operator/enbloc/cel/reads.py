# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Reads: which attributes and capacities of a device an expression can read at all.

Devices that agree in those get the same answer, however else they differ: a serial number that no
selector names does not require an evaluation per device.
"""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from enbloc.cel.syntax import Call, Const, Index, Name, Select, parse
from enbloc.cel.tokens import SyntaxFault

_OF = ("attributes", "capacity")


def reads(expression: str) -> frozenset[str] | None:
    """Names with their domain; None = it may read any.

    Known is what `device.attributes["domain"].name`, such an index, and `"name" in` such a map
    read, and the same of capacity.
    """
    try:
        return frozenset(_names(parse(expression)))
    except (SyntaxFault, _AnythingError, RecursionError):
        return None


class _AnythingError(Exception):
    """The expression reads more than the names written in it."""


def _names(node: Any) -> Iterator[str]:
    """The names that a part of an expression reads. Raises _AnythingError."""
    if _is_device(node):
        raise _AnythingError
    whole, key = _looked_up(node)
    domain = _domain(whole)
    if key is not None and domain is not None:
        yield f"{domain}/{key}"
    elif key is not None and key not in _OF and _is_device(whole):
        return  # the driver, or whether several may have it: always told apart
    elif isinstance(node, tuple | list):
        for each in node:
            yield from _names(each)
    elif is_dataclass(node):
        for field in fields(node):
            yield from _names(getattr(node, field.name))


def _looked_up(node: object) -> tuple[object, str | None]:
    """What a part looks into, and for which name; None = no literal name."""
    if isinstance(node, Select):
        return node.operand, node.field
    if isinstance(node, Index):
        return node.operand, _text(node.key)
    if isinstance(node, Call) and node.function == "@in" and len(node.args) == 2:
        return node.args[1], _text(node.args[0])
    return None, None


def _domain(node: object) -> str | None:
    """The domain, if this is `device.attributes["domain"]` or the same of capacity."""
    of, domain = _looked_up(node) if isinstance(node, Select | Index) else (None, None)
    known = isinstance(of, Select) and of.field in _OF and _is_device(of.operand)
    return domain if known else None


def _is_device(node: object) -> bool:
    return isinstance(node, Name) and node.name == "device"


def _text(node: object) -> str | None:
    return node.value if isinstance(node, Const) and isinstance(node.value, str) else None
