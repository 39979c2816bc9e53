# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The values of CEL, with equality and order.

A bool, string, bytes, double and null are Python's own; an int is a Python int within 64 bits, a
list a Python list that nobody changes once it is made, an address one of `ipaddress`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final

from enbloc.cel.versions import SemanticVersion

LARGEST: Final = 2**63 - 1
LARGEST_UNSIGNED: Final = 2**64 - 1
#: The longest list or map; upstream's cost limit is mostly reached long before.
MOST_ITEMS: Final = 10_000
#: The longest string, in characters, and the total of one evaluation's values, in bytes.
LONGEST: Final = 200_000
MOST_MADE: Final = 4_000_000
#: The longest evaluation, in approximate tenths of a microsecond: less than CEL's units allow, to
#: limit delays.
MOST_WORK: Final = 500_000
#: The time of one unit of CEL's cost, if nothing else is known.
_OF_UNIT: Final = 3
#: The times to read an item of a list, to compare each element of lists and maps, and to compare
#: values of Kubernetes' own types.
ITEM: Final = 2
_INSIDE: Final = 4
_FLAT: Final = 8
#: How many characters are compared, and how many ordered, in a tenth of a microsecond, at worst.
COMPARED: Final = 1000
_ORDERED: Final = 300
#: How many are copied, and how many beyond ASCII encoded, in a tenth of a microsecond.
COPIED: Final = 1000
ENCODED: Final = 60
#: The overhead of a value, and of an entry of a list or map, in bytes.
_VALUE: Final = 64
_ENTRY: Final = 8


#: Counts work beyond the fixed time of a call, in tenths of a microsecond; raises Halt beyond the
#: limit.
Spend = Callable[[int], None]


#: Of an evaluation that upstream would let go on.
TOO_LARGE: Final = f"makes values of more than {MOST_MADE} bytes, which enbloc does not support"
TOO_LONG: Final = "takes longer than enbloc supports: make it simpler"


class Fault(Exception):  # noqa: N818 - a value of CEL, in a way
    """An error of CEL at run time: `&&`, `||` and optional access may absorb it."""


class Halt(Exception):  # noqa: N818 - as Fault
    """The evaluation ends, because a limit is reached; nothing absorbs this."""


@dataclass(frozen=True, slots=True)
class Uint:
    """An unsigned integer of 64 bits."""

    value: int


@dataclass(frozen=True, slots=True)
class Quantity:
    """A Kubernetes quantity, exactly."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Prefix:
    """A network: an address, whose host bits may be set, and how many bits count."""

    address: IPv4Address | IPv6Address
    bits: int


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be missing."""

    value: Any = None
    present: bool = False


NONE: Final = Optional()


@dataclass(frozen=True, slots=True)
class Type:
    """A type as a value, by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Map:
    """A map of CEL: numbers that are equal are one key, a bool is none of them.

    Attributes:
        entries: by a key that Python compares as CEL does, the key as it was and its value.
        default: what reading a missing key gives; None = an error. `in` does not see it.
    """

    entries: Mapping[Any, tuple[Any, Any]]
    default: Any = None

    @staticmethod
    def of(pairs: Iterable[tuple[Any, Any]], *, once: bool = False) -> Map:
        """The map of these, the last of those with one key. Raises Fault.

        With `once` a key that comes twice is an error; one that cannot be a key always is.
        """
        entries: dict[Any, tuple[Any, Any]] = {}
        for key, value in pairs:
            plain = keyed(key)
            if once and plain in entries:
                raise Fault(f"insert failed: key {key} already exists")
            entries[plain] = (key, value)
        return Map(entries)

    @staticmethod
    def named(values: Mapping[str, Any], default: Any = None) -> Map:
        """The map with these strings as keys."""
        return Map({key: (key, value) for key, value in values.items()}, default)

    def keys(self) -> Iterator[Any]:
        """The keys in order."""
        return (key for key, _ in self.entries.values())

    def get(self, key: Any) -> Any:
        """The value of a key; raises Fault if there is none."""
        entry = self.entries.get(keyed(key))
        if entry is not None:
            return entry[1]
        if self.default is not None:
            return self.default
        raise Fault(f"no such key: {key}")


def keyed(key: Any) -> Any:
    """The key as Python finds it again. Raises Fault for what cannot be a key."""
    kind = type(key)
    if kind is str or kind is int:
        return key
    if kind is bool:
        return (bool, key)
    if kind is Uint:
        return key.value
    if kind is float:
        return int(key) if key.is_integer() else key
    raise Fault("unsupported key type")


@dataclass(slots=True)
class Execution:
    """One evaluation: its variables by number, and what it may cost.

    `cost` counts as upstream's interpreter does: kube-scheduler v1.36
    cel-go v0.26 interpreter/runtimecost.go and apiserver pkg/cel/library/cost.go.
    """

    slots: list[Any]
    limit: int
    cost: int = field(default=0)
    work: int = field(default=0)
    made: int = field(default=0)

    def charge(self, amount: int) -> None:
        """Count a cost in CEL's units, with their time; raises Halt beyond the limits."""
        self.cost += amount
        self.work += _OF_UNIT * amount
        if self.cost > self.limit:
            raise Halt("operation cancelled: actual cost limit exceeded")
        if self.work > MOST_WORK:
            raise Halt(TOO_LONG)

    def pay(self, amount: int, work: int) -> None:
        """Count a cost with its time, `work`, in tenths of a microsecond."""
        self.work += work - _OF_UNIT * amount
        self.charge(amount)

    def spend(self, work: int) -> None:
        """Count additional work of a call; see `Spend`."""
        self.work += work
        if self.work > MOST_WORK:
            raise Halt(TOO_LONG)

    def keep(self, value: Any) -> Any:
        """Count the memory of a new value, and return it; raises Halt beyond the limit."""
        kind = type(value)
        if kind is str or kind is bytes:
            self.made += _VALUE + len(value)
        elif kind is list:
            self.made += _VALUE + _ENTRY * len(value)
        elif kind is Map:
            self.made += _VALUE + 16 * _ENTRY * len(value.entries)
        else:
            return value
        if self.made > MOST_MADE:
            raise Halt(TOO_LARGE)
        return value


_TYPES: Final[Mapping[type, str]] = {
    bool: "bool", int: "int", Uint: "uint", float: "double", str: "string", bytes: "bytes",
    list: "list", Map: "map", type(None): "null_type", Type: "type", Optional: "optional_type",
    Quantity: "kubernetes.Quantity", SemanticVersion: "kubernetes.Semver", IPv4Address: "net.IP",
    IPv6Address: "net.IP", Prefix: "net.CIDR",
}  # fmt: skip
#: Types whose comparison costs one unit, whatever the size.
ADDRESSES: Final = frozenset({IPv4Address, IPv6Address})
FLAT: Final = (Quantity, SemanticVersion, IPv4Address, IPv6Address, Prefix)


def type_of(value: Any) -> str:
    """The name of the value's type."""
    return _TYPES[type(value)]


def number(value: Any) -> int | float | None:
    """The value as a number that Python compares; None when it is none."""
    kind = type(value)
    if kind is int or kind is float:
        return value
    return value.value if kind is Uint else None


def equal(a: Any, b: Any, spend: Spend) -> bool:
    """Whether two values are equal; only numbers may be equal across types."""
    kind = type(a)
    if kind is int or kind is float or kind is Uint:
        right = number(b)
        return right is not None and number(a) == right
    if type(b) is not kind:
        return False
    if kind is str or kind is bytes:
        if len(a) > COMPARED and len(a) == len(b):
            spend(len(a) // COMPARED)
        return bool(a == b)
    if kind is bool:
        return bool(a == b)
    if kind is list or kind is Map:
        return _equal_within(a, b, spend)
    spend(_FLAT)
    if kind is Optional:
        return a.present == b.present and (not a.present or equal(a.value, b.value, spend))
    return a.precedence == b.precedence if kind is SemanticVersion else bool(a == b)


def _equal_within(a: Any, b: Any, spend: Spend) -> bool:
    """Whether two lists or two maps are equal."""
    if size(a) != size(b):
        return False
    spend(_INSIDE * (2 + size(a)))
    if type(a) is list:
        return all(equal(x, y, spend) for x, y in zip(a, b, strict=True))
    others = b.entries
    return all(
        key in others and equal(value, others[key][1], spend)
        for key, (_, value) in a.entries.items()
    )


def compare(a: Any, b: Any, spend: Spend) -> int:
    """-1, 0 or 1. Raises Fault if CEL defines no order."""
    kind = type(a)
    left, right = number(a), number(b)
    if left is not None and right is not None:
        if left != left or right != right:  # noqa: PLR0124 - NaN
            raise Fault("NaN values cannot be ordered")
        return (left > right) - (left < right)
    if kind in (str, bytes, bool) and type(b) is kind:
        spend(min(size(a), size(b)) // _ORDERED)
        return 0 if a == b else 1 if a > b else -1
    raise Fault("no such overload")


def size(value: Any) -> int:
    """The size of a value, for the cost; 1 if it has none."""
    kind = type(value)
    if kind is str or kind is bytes or kind is list:
        return len(value)
    if kind is Map:
        return len(value.entries)
    if kind is Optional and value.present:
        return size(value.value)
    if kind is IPv4Address or kind is IPv6Address:
        return int(value.max_prefixlen) // 8
    if kind is Prefix:
        return -(-int(value.bits) // 8)
    return 1


def tenth(amount: int) -> int:
    """The cost of traversing this many characters."""
    return -(-amount // 10)


def short(items: list[Any]) -> list[Any]:
    """The list; raises Halt if it is longer than MOST_ITEMS."""
    if len(items) > MOST_ITEMS:
        raise Halt(f"makes a list of more than {MOST_ITEMS} items, which enbloc does not support")
    return items


def brief(length: int) -> None:
    """Raises Halt if a string of this length is longer than LONGEST."""
    if length > LONGEST:
        raise Halt(f"makes a string of more than {LONGEST} characters")
