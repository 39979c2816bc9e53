# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every function of a device selector by its name, how it is called, and what a call costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from enbloc.model.cel import kubernetes, lists, scalars, texts
from enbloc.model.cel.values import (
    ADDRESSES,
    FLAT,
    TOO_LONG,
    Charge,
    Fault,
    Halt,
    Map,
    equal,
    size,
    tenth,
)
from enbloc.model.cel.versions import Version

Cost = Callable[[tuple[Any, ...], Any], int]


@dataclass(frozen=True, slots=True)
class Function:
    """`call` with `fewest` to `most` arguments; `cost` of these and of the result, in CEL's units.

    The cost is charged before the call, or `after` it where it is one of the result. Where a walk
    over many items costs upstream next to nothing, more is charged here, for Python is slower; a
    function that is `counted` charges as it goes, by its first argument. `takes` and `work` are
    what a call takes in tenths of a microsecond: beside walking over its arguments once.
    Source: kube-scheduler v1.36 apiserver/pkg/cel/library/cost.go CallCost;
    cel-go/interpreter/runtimecost.go costCall; cel-go/ext/lists.go; cel-go/ext/sets.go
    """

    call: Callable[..., Any]
    fewest: int
    most: int
    cost: Cost
    after: bool = False
    counted: bool = False
    takes: int = 10
    work: Callable[..., int] | None = None

    def takes_with(self, args: tuple[Any, ...]) -> int:
        """What a call takes, in tenths of a microsecond, whatever it costs."""
        found = self.takes
        for each in args:
            found += going_through(each)
        return found if self.work is None else found + self.work(*args[:2])


#: What a call takes that makes an address, an amount or a version, or goes back and forth.
_PARSED: Final = 100
#: More values within a value are not gone through.
_MOST_WALKED: Final = 20_000
#: So many characters are gone through in a tenth of a microsecond, and each item takes so much.
_CHARACTERS: Final = 32
_ITEM: Final = 2


def going_through(value: Any) -> int:
    """What it takes to go through a value once, in tenths of a microsecond."""
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value) // _CHARACTERS
    if kind is list:
        return _ITEM * len(value)
    if kind is Map:
        return _ITEM * len(value.entries)
    return _ITEM * len(value.pre) if kind is Version else 0


def _comparing(*lists: Any) -> int:
    """What it takes to compare an item with another: the longest of their texts."""
    texts = (len(each) for one in lists if type(one) is list for each in one if type(each) is str)
    return _ITEM + max(texts, default=0) // _CHARACTERS // 100


def _each_with_each(a: Any, b: Any) -> int:
    return _comparing(a, b) * size(a) * size(b)


def _twice_each_with_each(a: Any, b: Any) -> int:
    return 2 * _each_with_each(a, b)


def _each_with_all(items: Any) -> int:
    return _comparing(items) * size(items) ** 2 // 2


def _each_of(items: Any, *_one: Any) -> int:
    return _comparing(items) * size(items) if type(items) is list else 0


def _any_of(_one: Any, items: Any) -> int:
    return _each_of(items)


def _walking(value: Any, *_more: Any) -> int:
    """What it takes to go through all that is in a value; raises Halt where that is too much."""
    count, left = 0, [value]
    while left:
        one = left.pop()
        kind = type(one)
        count += 1 + (len(one) // 1000 if kind is str or kind is bytes else 0)
        if kind is list:
            left.extend(one)
        elif kind is Map:
            for pair in one.entries.values():
                left.extend(pair)
        if count + len(left) > _MOST_WALKED:
            raise Halt(TOO_LONG)
    return 3 * _ITEM * count


def _going_back(where: Any, what: Any) -> int:
    return _walking(where) + texts.going_back(where, what)


def _replaced(where: Any, old: Any) -> int:
    return (size(where) + size(old)) // 4


def _one(_args: tuple[Any, ...], _result: Any) -> int:
    return 1


def _each(args: tuple[Any, ...], _result: Any) -> int:
    return max(1, tenth(size(args[0])))


def _walk(args: tuple[Any, ...], _result: Any) -> int:
    return tenth(size(args[0]))


def _walk_twice(args: tuple[Any, ...], _result: Any) -> int:
    return tenth(2 * size(args[0]))


def _joined(args: tuple[Any, ...], result: Any) -> int:
    return max(tenth(2 * size(result)), tenth(size(args[0])))


def _regex(args: tuple[Any, ...], _result: Any) -> int:
    return tenth(1 + size(args[0])) * -(-size(args[1]) // 4)


def _product(args: tuple[Any, ...], _result: Any) -> int:
    return tenth(size(args[0])) * tenth(size(args[1]))


def _smaller(args: tuple[Any, ...], _result: Any) -> int:
    if type(args[0]) in FLAT:
        return 1
    return tenth(min(size(args[0]), size(args[1])))


def _order(args: tuple[Any, ...], result: Any) -> int:
    return _smaller(args, result) if type(args[0]) in (str, bytes) else 1


def _plus(args: tuple[Any, ...], _result: Any) -> int:
    if type(args[0]) in (str, bytes):
        return tenth(size(args[0]) + size(args[1]))
    return max(1, tenth(size(args[0]) + size(args[1])))


def _in(args: tuple[Any, ...], _result: Any) -> int:
    return size(args[1]) if type(args[1]) is list else 1


def _convert(args: tuple[Any, ...], result: Any) -> int:
    """Between string and bytes each character counts."""
    return tenth(size(args[0])) if {type(args[0]), type(result)} == {str, bytes} else 1


def _traverse(args: tuple[Any, ...], _result: Any) -> int:
    return max(_traversal(args[0]), size(args[0]) if type(args[0]) is list else 0)


def _traversal(value: Any) -> int:
    kind = type(value)
    if kind is str:
        return len(value.encode("utf-8", "surrogatepass")) // 10
    if kind is bytes:
        return len(value) // 10
    if kind is list:
        return sum(map(_traversal, value))
    if kind is Map:
        return sum(_traversal(key) + _traversal(one) for key, one in value.entries.values())
    return 1


def _made(_args: tuple[Any, ...], result: Any) -> int:
    return size(result) + 11


def _flattened(args: tuple[Any, ...], _result: Any) -> int:
    return size(args[0]) * (args[1] if len(args) > 1 and type(args[1]) is int else 1) + 11


def _pairs(keys: int, args: tuple[Any, ...], _result: Any) -> int:
    items = args[keys]
    if type(items) is not list or not items:
        return 11
    each = 21 if type(items[0]) in (str, bytes) else 20
    return len(items) ** 2 * each // 10 + 11


def _sets(factor: int, args: tuple[Any, ...], _result: Any) -> int:
    return 1 + size(args[0]) * size(args[1]) * factor


def _contains_ip(args: tuple[Any, ...], _result: Any) -> int:
    return tenth(2 * size(args[0])) + (tenth(size(args[1])) if type(args[1]) is str else 0)


def _contains_cidr(args: tuple[Any, ...], result: Any) -> int:
    return _contains_ip(args, result) + tenth(size(args[0])) + 1


def _contains(where: Any, what: Any) -> bool:
    texts.text(where, what)
    return what in where


def _starts(where: Any, what: Any) -> bool:
    texts.text(where, what)
    return bool(where.startswith(what))


def _ends(where: Any, what: Any) -> bool:
    texts.text(where, what)
    return bool(where.endswith(what))


def _index_of(charge: Charge, where: Any, *args: Any) -> int:
    if type(where) is list and len(args) == 1:
        return lists.index_of(charge, where, *args)
    return texts.index_of(where, *args)


def _last_index_of(charge: Charge, where: Any, *args: Any) -> int:
    if type(where) is list and len(args) == 1:
        return lists.last_index_of(charge, where, *args)
    return texts.last_index_of(where, *args)


def _equal(charge: Charge, a: Any, b: Any) -> bool:
    """Values of Kubernetes' own types are compared with their like only."""
    if type(a) in FLAT and type(a) is not type(b) and not {type(a), type(b)} <= ADDRESSES:
        raise Fault("no such overload")
    return equal(a, b, charge)


def _unequal(charge: Charge, a: Any, b: Any) -> bool:
    return not equal(a, b, charge)


def _dyn(value: Any) -> Any:
    return value


def _operators() -> dict[str, Function]:
    found: dict[str, Function] = {
        f"_{sign}_": Function(partial(scalars.ordered, sign), 2, 2, _order)
        for sign in ("<", "<=", ">", ">=")
    }
    for sign in "+-*/%":
        cost = _plus if sign == "+" else _one
        found[f"_{sign}_"] = Function(partial(scalars.arithmetic, sign), 2, 2, cost)
    found["_==_"] = Function(_equal, 2, 2, _smaller, counted=True)
    found["_!=_"] = Function(_unequal, 2, 2, _smaller, counted=True)
    found["@in"] = Function(scalars.contained, 2, 2, _in, counted=True, work=_any_of)
    found["!_"] = Function(scalars.inverted, 1, 1, _one)
    found["-_"] = Function(scalars.negated, 1, 1, _one)
    return found


#: Functions that are called as `f(x)`.
GLOBAL: Final[Mapping[str, Function]] = {
    **_operators(),
    "size": Function(scalars.sized, 1, 1, _one),
    "int": Function(scalars.to_int, 1, 1, _one),
    "uint": Function(scalars.to_uint, 1, 1, _one),
    "double": Function(scalars.to_double, 1, 1, _one),
    "bool": Function(scalars.to_bool, 1, 1, _one),
    "string": Function(scalars.to_string, 1, 1, _convert, after=True),
    "bytes": Function(scalars.to_bytes, 1, 1, _convert, after=True),
    "type": Function(scalars.to_type, 1, 1, _one),
    "dyn": Function(_dyn, 1, 1, _one),
    "matches": Function(texts.matches, 2, 2, _regex, work=texts.matching),
    "quantity": Function(kubernetes.quantity, 1, 1, _walk, takes=_PARSED),
    "isQuantity": Function(kubernetes.valid(kubernetes.quantity), 1, 1, _walk, takes=_PARSED),
    "sign": Function(kubernetes.sign, 1, 1, _one),
    "semver": Function(kubernetes.semver, 1, 2, _walk, takes=_PARSED),
    "isSemver": Function(kubernetes.valid(kubernetes.semver), 1, 2, _walk, takes=_PARSED),
    "ip": Function(kubernetes.address, 1, 1, _walk, takes=_PARSED),
    "isIP": Function(kubernetes.valid(kubernetes.address), 1, 1, _walk, takes=_PARSED),
    "ip.isCanonical": Function(kubernetes.is_canonical, 1, 1, _walk_twice, takes=_PARSED),
    "cidr": Function(kubernetes.cidr, 1, 1, _walk, takes=_PARSED),
    "isCIDR": Function(kubernetes.valid(kubernetes.cidr), 1, 1, _walk, takes=_PARSED),
    "lists.range": Function(lists.upto, 1, 1, _made, after=True),
    "sets.contains": Function(
        lists.contains, 2, 2, partial(_sets, 1), counted=True, work=_each_with_each
    ),
    "sets.intersects": Function(
        lists.intersects, 2, 2, partial(_sets, 1), counted=True, work=_each_with_each
    ),
    "sets.equivalent": Function(
        lists.equivalent, 2, 2, partial(_sets, 2), counted=True, work=_twice_each_with_each
    ),
    "optional.of": Function(kubernetes.some, 1, 1, _one),
    "optional.ofNonZeroValue": Function(kubernetes.some_unless_zero, 1, 1, _one),
    "optional.none": Function(kubernetes.nothing, 0, 0, _one),
    "optional.unwrap": Function(kubernetes.unwrapped, 1, 1, _each),
}
#: Functions that are called as `x.f()`; the receiver is the first argument.
MEMBER: Final[Mapping[str, Function]] = {
    "size": Function(scalars.sized, 1, 1, _one),
    "contains": Function(_contains, 2, 2, _product),
    "startsWith": Function(_starts, 2, 2, _walk),
    "endsWith": Function(_ends, 2, 2, _walk),
    "matches": Function(texts.matches, 2, 2, _regex, work=texts.matching),
    "find": Function(texts.find, 2, 2, _regex, work=texts.matching),
    "findAll": Function(texts.find_all, 2, 3, _regex, work=texts.matching_all),
    "charAt": Function(texts.char_at, 2, 2, _one),
    "indexOf": Function(_index_of, 2, 3, _traverse, counted=True, work=_walking),
    "lastIndexOf": Function(
        _last_index_of,
        2,
        3,
        _traverse,
        counted=True,
        work=lambda a, b: _walking(a) + _going_back(a, b),
    ),
    "lowerAscii": Function(texts.lower, 1, 1, _walk),
    "upperAscii": Function(texts.upper, 1, 1, _walk),
    "replace": Function(texts.replace, 3, 4, _walk_twice, work=_replaced),
    "split": Function(texts.split, 2, 3, _walk_twice),
    "substring": Function(texts.substring, 2, 3, _walk),
    "trim": Function(texts.trim, 1, 1, _walk),
    "join": Function(texts.join, 1, 2, _joined, after=True),
    "isSorted": Function(lists.is_sorted, 1, 1, _traverse, work=_walking),
    "sum": Function(lists.total, 1, 1, _traverse, work=_walking),
    "min": Function(lists.extreme("min", -1), 1, 1, _traverse, work=_walking),
    "max": Function(lists.extreme("max", 1), 1, 1, _traverse, work=_walking),
    "slice": Function(lists.part, 3, 3, _made, after=True),
    "flatten": Function(lists.flatten, 1, 2, _flattened),
    "sort": Function(lists.sort, 1, 1, partial(_pairs, 0), takes=_PARSED),
    "@sortBy": Function(lists.sort_by, 2, 2, partial(_pairs, 1), takes=_PARSED),
    "reverse": Function(lists.backwards, 1, 1, _made, after=True),
    "distinct": Function(
        lists.distinct, 1, 1, partial(_pairs, 0), counted=True, work=_each_with_all
    ),
    "first": Function(lists.first, 1, 1, _one),
    "last": Function(lists.last, 1, 1, _one),
    "includes": Function(lists.includes, 2, 2, _one, counted=True, work=_each_of),
    "isGreaterThan": Function(kubernetes.is_greater, 2, 2, _one, takes=_PARSED),
    "isLessThan": Function(kubernetes.is_less, 2, 2, _one, takes=_PARSED),
    "compareTo": Function(kubernetes.compare_to, 2, 2, _one, takes=_PARSED),
    "add": Function(kubernetes.add, 2, 2, _one, takes=_PARSED),
    "sub": Function(kubernetes.sub, 2, 2, _one, takes=_PARSED),
    "isInteger": Function(kubernetes.is_integer, 1, 1, _one),
    "asInteger": Function(kubernetes.as_integer, 1, 1, _one),
    "asApproximateFloat": Function(kubernetes.as_float, 1, 1, _one),
    "major": Function(kubernetes.number_of("major"), 1, 1, _one),
    "minor": Function(kubernetes.number_of("minor"), 1, 1, _one),
    "patch": Function(kubernetes.number_of("patch"), 1, 1, _one),
    "family": Function(kubernetes.family, 1, 1, _one),
    "isUnspecified": Function(kubernetes.is_unspecified, 1, 1, _one),
    "isLoopback": Function(kubernetes.is_loopback, 1, 1, _one),
    "isLinkLocalMulticast": Function(kubernetes.is_link_local_multicast, 1, 1, _one),
    "isLinkLocalUnicast": Function(kubernetes.is_link_local_unicast, 1, 1, _one),
    "isGlobalUnicast": Function(kubernetes.is_global_unicast, 1, 1, _one, takes=_PARSED),
    "ip": Function(kubernetes.prefix_address, 1, 1, _one),
    "prefixLength": Function(kubernetes.prefix_length, 1, 1, _one),
    "masked": Function(kubernetes.masked, 1, 1, _one, takes=_PARSED),
    "containsIP": Function(kubernetes.contains_ip, 2, 2, _contains_ip, takes=_PARSED),
    "containsCIDR": Function(kubernetes.contains_cidr, 2, 2, _contains_cidr, takes=_PARSED),
    "hasValue": Function(kubernetes.has_value, 1, 1, _one),
    "value": Function(kubernetes.value_of, 1, 1, _one),
    "unwrapOpt": Function(kubernetes.unwrapped, 1, 1, _each),
}
_TIMES: Final = (
    "duration timestamp getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear"
    " getHours getMinutes getSeconds getMilliseconds"
)
_URLS: Final = "url isURL getScheme getHost getHostname getPort getEscapedPath getQuery"
_FORMATS: Final = (
    "named dns1123Label dns1123Subdomain dns1035Label dns1123LabelPrefix dns1123SubdomainPrefix"
    " dns1035LabelPrefix qualifiedName labelValue uri uuid byte date datetime"
)
#: What upstream has and enbloc has not: to use one is a reason by its name.
UNSUPPORTED: Final = frozenset(
    [
        *_TIMES.split(),
        *_URLS.split(),
        *(f"format.{name}" for name in _FORMATS.split()),
        *("format", "validate", "strings.quote", "jsonpatch.escapeKey"),
    ]
)
NAMESPACES: Final = frozenset(
    {"lists", "sets", "optional", "ip", "strings", "format", "jsonpatch", "cel"}
)
