# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every function of device selectors by name, with its arguments and cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from enbloc.cel import kubernetes, lists, patterns, scalars, texts
from enbloc.cel.values import ENCODED, FLAT, Execution, Map, Spend, size, tenth

Cost = Callable[[tuple[Any, ...], Any], int]


@dataclass(frozen=True, slots=True)
class Function:
    """`call` with `fewest` to `most` arguments.

    Attributes:
        cost: from the arguments and the result, in CEL's units; None = the cost of traversing the
            first argument.
        after: the cost depends on the result, and is charged after the call.
        takes: the time of any call, in tenths of a microsecond.
        spends: it takes longer with larger arguments; a `Spend` to count that is its first
            argument.

    Source: kube-scheduler v1.36 apiserver/pkg/cel/library/cost.go CallCost;
    cel-go/interpreter/runtimecost.go costCall; cel-go/ext/lists.go; cel-go/ext/sets.go
    """

    call: Callable[..., Any]
    fewest: int
    most: int
    cost: Cost | None
    after: bool = False
    takes: int = 10
    spends: bool = False

    def apply(self, run: Execution, args: tuple[Any, ...]) -> Any:
        """Call it, and charge cost and memory. Raises Fault, and Halt beyond limits."""
        if not self.after:
            self._charge(run, args, None)
        result = self.call(run.spend, *args) if self.spends else self.call(*args)
        if self.after:
            self._charge(run, args, result)
        return run.keep(result)

    def _charge(self, run: Execution, args: tuple[Any, ...], result: Any) -> None:
        cost = _through(run.spend, args[0]) if self.cost is None else self.cost(args, result)
        run.pay(cost, self.takes)


#: The time of calls, in tenths of a microsecond: for simple values (convert, compare, add), adding
#: amounts, comparing amounts or versions, pattern search, parsing an amount or a version, an
#: address, a network.
_SIMPLE: Final = 15
_ADDS: Final = 25
_COMPARES: Final = 35
_MATCHES: Final = 50
_READS: Final = 100
_ADDRESS: Final = 90
_NETWORK: Final = 130

#: A function that takes longer with larger arguments.
_spending = partial(Function, takes=20, spends=True)


def _through(spend: Spend, value: Any) -> int:
    """The cost of traversing a value: a tenth of each text's length, 1 for numbers."""
    cost, left = 0, [value]
    for one in left:  # it grows
        kind = type(one)
        if kind is bytes or (kind is str and one.isascii()):
            cost += len(one) // 10
        elif kind is str:
            spend(len(one) // ENCODED)
            cost += len(one.encode("utf-8", "surrogatepass")) // 10
        elif kind is list:
            spend(len(one))
            left += one
        elif kind is Map:
            spend(2 * len(one.entries))
            for pair in one.entries.values():
                left += pair
        else:
            cost += 1
    return max(cost, len(value)) if type(value) is list else cost


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


def _index_of(spend: Spend, where: Any, *args: Any) -> int:
    if type(where) is list and len(args) == 1:
        return lists.index_of(spend, where, *args)
    return texts.index_of(spend, where, *args)


def _last_index_of(spend: Spend, where: Any, *args: Any) -> int:
    if type(where) is list and len(args) == 1:
        return lists.last_index_of(spend, where, *args)
    return texts.last_index_of(spend, where, *args)


def _dyn(value: Any) -> Any:
    return value


def _operators() -> dict[str, Function]:
    spending = partial(_spending, takes=_SIMPLE)
    found = {
        f"_{sign}_": spending(partial(scalars.ordered, sign), 2, 2, _order)
        for sign in ("<", "<=", ">", ">=")
    }
    for sign in "-*/%":
        found[f"_{sign}_"] = Function(partial(scalars.arithmetic, sign), 2, 2, _one)
    found["_+_"] = spending(scalars.added, 2, 2, _plus)
    found["_==_"] = spending(scalars.same, 2, 2, _smaller)
    found["_!=_"] = spending(scalars.different, 2, 2, _smaller)
    found["@in"] = spending(scalars.contained, 2, 2, _in)
    found["!_"] = Function(scalars.inverted, 1, 1, _one)
    found["-_"] = Function(scalars.negated, 1, 1, _one)
    return found


_is_quantity = kubernetes.valid(kubernetes.quantity)
_is_version = kubernetes.valid(kubernetes.semver)
_is_address = kubernetes.valid(kubernetes.address)
_is_network = kubernetes.valid(kubernetes.cidr)
#: Functions that are called as `f(x)`.
GLOBAL: Final[Mapping[str, Function]] = {
    **_operators(),
    "size": Function(scalars.sized, 1, 1, _one),
    "int": Function(scalars.to_int, 1, 1, _one, takes=_SIMPLE),
    "uint": Function(scalars.to_uint, 1, 1, _one, takes=_SIMPLE),
    "double": Function(scalars.to_double, 1, 1, _one, takes=_SIMPLE),
    "bool": Function(scalars.to_bool, 1, 1, _one, takes=_SIMPLE),
    "string": _spending(scalars.to_string, 1, 1, _convert, after=True),
    "bytes": _spending(scalars.to_bytes, 1, 1, _convert, after=True),
    "type": Function(scalars.to_type, 1, 1, _one),
    "dyn": Function(_dyn, 1, 1, _one),
    "matches": _spending(patterns.matches, 2, 2, _regex, takes=_MATCHES),
    "quantity": Function(kubernetes.quantity, 1, 1, _walk, takes=_READS),
    "isQuantity": Function(_is_quantity, 1, 1, _walk, takes=_READS),
    "sign": Function(kubernetes.sign, 1, 1, _one, takes=_SIMPLE),
    "semver": Function(kubernetes.semver, 1, 2, _walk, takes=_READS),
    "isSemver": Function(_is_version, 1, 2, _walk, takes=_READS),
    "ip": Function(kubernetes.address, 1, 1, _walk, takes=_ADDRESS),
    "isIP": Function(_is_address, 1, 1, _walk, takes=_ADDRESS),
    "ip.isCanonical": Function(kubernetes.is_canonical, 1, 1, _walk_twice, takes=_ADDRESS),
    "cidr": Function(kubernetes.cidr, 1, 1, _walk, takes=_NETWORK),
    "isCIDR": Function(_is_network, 1, 1, _walk, takes=_NETWORK),
    "lists.range": _spending(lists.upto, 1, 1, _made, after=True),
    "sets.contains": _spending(lists.contains, 2, 2, partial(_sets, 1)),
    "sets.intersects": _spending(lists.intersects, 2, 2, partial(_sets, 1)),
    "sets.equivalent": _spending(lists.equivalent, 2, 2, partial(_sets, 2)),
    "optional.of": Function(kubernetes.some, 1, 1, _one, takes=_SIMPLE),
    "optional.ofNonZeroValue": Function(kubernetes.some_unless_zero, 1, 1, _one, takes=_SIMPLE),
    "optional.none": Function(kubernetes.nothing, 0, 0, _one),
    "optional.unwrap": _spending(kubernetes.unwrapped, 1, 1, _each),
}
#: Functions that are called as `x.f()`; the receiver is the first argument.
MEMBER: Final[Mapping[str, Function]] = {
    "size": Function(scalars.sized, 1, 1, _one),
    "contains": _spending(texts.contains, 2, 2, _product),
    "startsWith": _spending(texts.starts, 2, 2, _walk),
    "endsWith": _spending(texts.ends, 2, 2, _walk),
    "matches": _spending(patterns.matches, 2, 2, _regex, takes=_MATCHES),
    "find": _spending(patterns.find, 2, 2, _regex, takes=_MATCHES),
    "findAll": _spending(patterns.find_all, 2, 3, _regex, takes=_MATCHES),
    "charAt": Function(texts.char_at, 2, 2, _one),
    "indexOf": _spending(_index_of, 2, 3, None),
    "lastIndexOf": _spending(_last_index_of, 2, 3, None),
    "lowerAscii": _spending(texts.lower, 1, 1, _walk),
    "upperAscii": _spending(texts.upper, 1, 1, _walk),
    "replace": _spending(texts.replace, 3, 4, _walk_twice),
    "split": _spending(texts.split, 2, 3, _walk_twice),
    "substring": _spending(texts.substring, 2, 3, _walk),
    "trim": _spending(texts.trim, 1, 1, _walk),
    "join": _spending(texts.join, 1, 2, _joined, after=True),
    "isSorted": _spending(lists.is_sorted, 1, 1, None),
    "sum": _spending(lists.total, 1, 1, None),
    "min": _spending(lists.extreme("min", -1), 1, 1, None),
    "max": _spending(lists.extreme("max", 1), 1, 1, None),
    "slice": _spending(lists.part, 3, 3, _made, after=True),
    "flatten": _spending(lists.flatten, 1, 2, _flattened),
    "sort": _spending(lists.sort, 1, 1, partial(_pairs, 0)),
    "@sortBy": _spending(lists.sort_by, 2, 2, partial(_pairs, 1)),
    "reverse": _spending(lists.backwards, 1, 1, _made, after=True),
    "distinct": _spending(lists.distinct, 1, 1, partial(_pairs, 0)),
    "first": Function(lists.first, 1, 1, _one, takes=_SIMPLE),
    "last": Function(lists.last, 1, 1, _one, takes=_SIMPLE),
    "includes": _spending(lists.includes, 2, 2, _one),
    "isGreaterThan": Function(kubernetes.is_greater, 2, 2, _one, takes=_COMPARES),
    "isLessThan": Function(kubernetes.is_less, 2, 2, _one, takes=_COMPARES),
    "compareTo": Function(kubernetes.compare_to, 2, 2, _one, takes=_COMPARES),
    "add": Function(kubernetes.add, 2, 2, _one, takes=_ADDS),
    "sub": Function(kubernetes.sub, 2, 2, _one, takes=_ADDS),
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
    "isGlobalUnicast": Function(kubernetes.is_global_unicast, 1, 1, _one, takes=_SIMPLE),
    "ip": Function(kubernetes.prefix_address, 1, 1, _one),
    "prefixLength": Function(kubernetes.prefix_length, 1, 1, _one),
    "masked": Function(kubernetes.masked, 1, 1, _one, takes=_NETWORK),
    "containsIP": Function(kubernetes.contains_ip, 2, 2, _contains_ip, takes=_ADDRESS),
    "containsCIDR": Function(kubernetes.contains_cidr, 2, 2, _contains_cidr, takes=_NETWORK),
    "hasValue": Function(kubernetes.has_value, 1, 1, _one),
    "value": Function(kubernetes.value_of, 1, 1, _one),
    "unwrapOpt": _spending(kubernetes.unwrapped, 1, 1, _each),
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
#: Functions that upstream has but enbloc lacks; using one is an error that names it.
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
