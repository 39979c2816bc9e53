# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluate: compiles a tree to closures over the variables of one evaluation.

Costs are counted where upstream's interpreter counts them, so that both reject the same
expressions; see `Execution`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from enbloc.cel import syntax
from enbloc.cel.functions import GLOBAL, MEMBER, NAMESPACES, UNSUPPORTED, Function
from enbloc.cel.patterns import compiled
from enbloc.cel.syntax import Node
from enbloc.cel.values import (
    MOST_WORK,
    NONE,
    TOO_LONG,
    Execution,
    Fault,
    Map,
    Optional,
    Type,
    Uint,
    keyed,
    type_of,
)

Code = Callable[[Execution], Any]
_TYPES: Final = frozenset(
    [
        "bool",
        "int",
        "uint",
        "double",
        "string",
        "bytes",
        "list",
        "map",
        "null_type",
        "type",
        "optional_type",
    ]
)
_CONVERSIONS: Final = frozenset({"bool", "bytes", "double", "dyn", "int", "string", "uint"})
_REGEX: Final = frozenset({"matches", "find", "findAll"})
LIST_COST: Final = 10
MAP_COST: Final = 30
_FREE: Final = 20  # literals in one list or map that cost nothing


class CompileFault(Exception):  # noqa: N818 - a fault of the text
    """The expression is invalid, or uses an unsupported feature."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables in scope at one place: name → number of its slot.

    Attributes:
        counter: how many slots there are so far.
        compiling: the cost of compiling regular expressions so far, in tenths of a microsecond.
    """

    names: Mapping[str, int]
    counter: list[int]
    compiling: list[int]

    def bound(self, *names: str) -> tuple[Scope, list[int]]:
        """The scope with these variables besides, and their numbers."""
        first = self.counter[0]
        self.counter[0] += len(names)
        numbers = list(range(first, self.counter[0]))
        return Scope(
            {**self.names, **dict(zip(names, numbers, strict=True))}, self.counter, self.compiling
        ), numbers

    def spend(self, work: int) -> None:
        """Count the cost of compiling. Raises CompileFault beyond the limit."""
        self.compiling[0] += work
        if self.compiling[0] > MOST_WORK:
            raise CompileFault(TOO_LONG)


Macro = Callable[[syntax.Call, Scope], Code | None]


@dataclass(frozen=True, slots=True)
class Compiler:
    """Compiles trees; knows the macros, and the fields of some variables."""

    macros: Mapping[tuple[str, int], Macro]
    fields: Mapping[str, frozenset[str]]

    def code(self, node: Node, scope: Scope) -> Code:
        """The closure of a node. Raises CompileFault."""
        constant = folded(node)
        if constant is not None:
            value = constant.value
            return lambda _run: value
        if isinstance(node, syntax.Name):
            return _variable(node.name, scope)
        if isinstance(node, syntax.Select | syntax.Index):
            return self._path(node, scope)
        if isinstance(node, syntax.Logic):
            return _logic([self.code(term, scope) for term in node.terms], decisive=not node.all_of)
        if isinstance(node, syntax.Conditional):
            return self._choice(node, scope)
        if isinstance(node, syntax.ListOf):
            return self._list(node, scope)
        if isinstance(node, syntax.MapOf):
            return self._map(node, scope)
        assert isinstance(node, syntax.Call)
        return self._call(node, scope)

    def branch(self, node: Node, scope: Scope) -> Code:
        """The closure of a side of a choice, or of a key: a path's first part is free there."""
        if isinstance(node, syntax.Name) and node.name in scope.names:
            return _variable(node.name, scope, cost=0)
        if isinstance(node, syntax.Select | syntax.Index):
            return self._path(node, scope, first=0)
        return self.code(node, scope)

    def _path(self, node: syntax.Select | syntax.Index, scope: Scope, *, first: int = 1) -> Code:
        """`operand.field` or `operand[key]`: one for each step, and for the `first` part."""
        base = 1
        if isinstance(node.operand, syntax.Name):
            known = self.fields.get(node.operand.name)
            if known and isinstance(node, syntax.Select) and node.field not in known:
                raise CompileFault(f"undefined field '{node.field}'")
            operand = _variable(node.operand.name, scope, cost=first)
        elif isinstance(node.operand, syntax.Select | syntax.Index):
            operand = self._path(node.operand, scope, first=first)
        else:
            operand, base = self.code(node.operand, scope), 1 + first
        if isinstance(node, syntax.Select):
            return _step(operand, node.field, base, optional=node.optional)
        constant = folded(node.key)
        if constant is not None:
            return _step(operand, constant.value, base, optional=node.optional)
        return _dynamic_step(operand, self.branch(node.key, scope), base, optional=node.optional)

    def _choice(self, node: syntax.Conditional, scope: Scope) -> Code:
        condition = self.code(node.condition, scope)
        yes, no = self.branch(node.yes, scope), self.branch(node.no, scope)

        def choose(run: Execution) -> Any:
            chosen = condition(run)
            if type(chosen) is not bool:
                raise Fault("no such overload")
            return yes(run) if chosen else no(run)

        return choose

    def _list(self, node: syntax.ListOf, scope: Scope) -> Code:
        items = [(self.code(item, scope), optional) for item, optional in node.items]

        def make(run: Execution) -> Any:
            values: list[Any] = []
            for code, optional in items:
                value = code(run)
                if not optional:
                    values.append(value)
                elif _optional(value).present:
                    values.append(value.value)
            run.charge(LIST_COST + len(items) // _FREE)
            return run.keep(values)

        return make

    def _map(self, node: syntax.MapOf, scope: Scope) -> Code:
        pairs = [
            (self.code(key, scope), self.code(value, scope), optional)
            for key, value, optional in node.pairs
        ]

        def make(run: Execution) -> Any:
            found: list[tuple[Any, Any]] = []
            for key, code, optional in pairs:
                name, value = key(run), code(run)
                if not optional:
                    found.append((name, value))
                elif _optional(value).present:
                    found.append((name, value.value))
            run.charge(MAP_COST + len(pairs) // _FREE)
            return run.keep(Map.of(found))

        return make

    def _call(self, node: syntax.Call, scope: Scope) -> Code:
        macro = self.macros.get((node.function, len(node.args))) if node.member else None
        if macro is not None:
            code = macro(node, scope)
            if code is not None:
                return code
        if node.function == "has" and not node.member and len(node.args) == 1:
            return self._has(node.args[0], scope)
        if node.member and node.function in ("or", "orValue") and len(node.args) == 2:
            return self._either(node, scope)
        function, args = _resolve(node, scope)
        codes = tuple(self.code(arg, scope) for arg in args)
        _check_pattern(node, args, scope)
        if node.function == "@in" and isinstance(folded(args[1]), syntax.Const):
            value = folded(args[1])
            if value is not None and type(value.value) is list and _plain(value.value):
                return _in_constant(codes[0], value.value)
        return lambda run: function.apply(run, tuple([code(run) for code in codes]))

    def _has(self, node: Node, scope: Scope) -> Code:
        if not isinstance(node, syntax.Select):
            raise CompileFault("invalid argument to has() macro")
        path = isinstance(node.operand, syntax.Name | syntax.Select | syntax.Index)
        operand, field, base = self.code(node.operand, scope), node.field, 0 if path else 1

        def test(run: Execution) -> bool:
            value = operand(run)
            run.charge(base)
            if type(value) is Optional:
                if not value.present:
                    return False
                value = value.value
            if type(value) is not Map:
                raise Fault(f"no such key: {field}")
            return field in value.entries or value.default is not None

        return test

    def _either(self, node: syntax.Call, scope: Scope) -> Code:
        first, second = (self.code(arg, scope) for arg in node.args)
        whole = node.function == "or"

        def pick(run: Execution) -> Any:
            value = _optional(first(run))
            if value.present:
                return value if whole else value.value
            other = second(run)
            return _optional(other) if whole else other

        return pick


def folded(node: Node) -> syntax.Const | None:
    """The constant that a literal, a list or map of literals, or a conversion of one stands for.

    Raises CompileFault for one that cannot be made.
    """
    if isinstance(node, syntax.Const):
        return node
    try:
        if isinstance(node, syntax.ListOf):
            items = [folded(item) for item, optional in node.items if not optional]
            found = [item.value for item in items if item is not None]
            return syntax.Const(found) if len(found) == len(node.items) else None
        if isinstance(node, syntax.MapOf):
            pairs = [(folded(key), folded(value)) for key, value, opt in node.pairs if not opt]
            both = [(key.value, value.value) for key, value in pairs if key and value]
            return syntax.Const(Map.of(both)) if len(both) == len(node.pairs) else None
        if (
            isinstance(node, syntax.Call)
            and (not node.member and node.function in _CONVERSIONS and len(node.args) == 1)
            and (inner := folded(node.args[0])) is not None
        ):
            run = Execution([], MOST_WORK)
            return syntax.Const(GLOBAL[node.function].apply(run, (inner.value,)))
    except Fault as fault:
        raise CompileFault(str(fault)) from None
    return None


def _variable(name: str, scope: Scope, cost: int = 1) -> Code:
    number = scope.names.get(name)
    if number is None:
        if name in _TYPES:
            value = Type(name)
            return lambda _run: value
        raise CompileFault(f"undeclared reference to '{name}'")

    def read(run: Execution) -> Any:
        run.charge(cost)
        value = run.slots[number]
        if type(value) is Lazy:
            value = run.slots[number] = value.settle(run)
        if type(value) is Fault:
            raise value
        return value

    return read


@dataclass(frozen=True, slots=True)
class Lazy:
    """A variable whose value is computed when first read."""

    code: Code

    def settle(self, run: Execution) -> Any:
        """The value, or the error that computing it ended with."""
        try:
            return self.code(run)
        except Fault as fault:
            return fault


def _step(operand: Code, key: Any, cost: int, *, optional: bool) -> Code:
    def step(run: Execution) -> Any:
        value = operand(run)
        if optional or type(value) is Optional:
            return _maybe(run, value, key, cost)
        run.charge(cost)
        if type(value) is Map:
            return value.get(key)
        return _item(value, key)

    return step


def _dynamic_step(operand: Code, key: Code, cost: int, *, optional: bool) -> Code:
    def step(run: Execution) -> Any:
        value, name = operand(run), key(run)
        if optional or type(value) is Optional:
            return _maybe(run, value, name, cost)
        run.charge(cost)
        return value.get(name) if type(value) is Map else _item(value, name)

    return step


def _maybe(run: Execution, value: Any, key: Any, cost: int) -> Optional:
    """The value of the key, if there is one; only then it costs."""
    run.charge(cost - 1)
    if type(value) is Optional:
        if not value.present:
            return NONE
        value = value.value
    if type(value) not in (Map, list):
        raise Fault(f"no such key: {key}")
    try:
        found = value.get(key) if type(value) is Map else _item(value, key)
    except Fault:
        return NONE
    run.charge(1)
    return Optional(found, present=True)


def _item(value: Any, index: Any) -> Any:
    if type(value) is not list:
        raise Fault(f"no such key: {index}" if type(index) is str else "no such overload")
    if type(index) is Uint:
        index = index.value
    if type(index) is float and index.is_integer():
        index = int(index)
    if type(index) is not int:
        raise Fault(f"unsupported index type '{type_of(index)}' in list")
    if not 0 <= index < len(value):
        raise Fault(f"index out of bounds: {index}")
    return value[index]


def _logic(terms: list[Code], *, decisive: bool) -> Code:
    """`||` (`decisive` is True) or `&&`: an error counts only if no term decides."""

    def decide(run: Execution) -> bool:
        failed: Fault | None = None
        for term in terms:
            try:
                value = term(run)
            except Fault as fault:
                failed = failed or fault
                continue
            if value is decisive:
                return decisive
            if type(value) is not bool:
                failed = failed or Fault("no such overload")
        if failed is not None:
            raise failed
        return not decisive

    return decide


def _in_constant(item: Code, values: list[Any]) -> Code:
    """`item in [literals]`, which costs nothing."""
    known = frozenset((None if value is None else keyed(value)) for value in values)

    def contained(run: Execution) -> bool:
        value = item(run)
        try:
            return (None if value is None else keyed(value)) in known
        except Fault:
            return False

    return contained


def _plain(values: list[Any]) -> bool:
    return all(type(value) in (bool, int, float, str, Uint) or value is None for value in values)


def _optional(value: Any) -> Optional:
    if type(value) is not Optional:
        raise Fault("no such overload")
    return value


def _resolve(node: syntax.Call, scope: Scope) -> tuple[Function, tuple[Node, ...]]:
    """The function, and its arguments without the name of a namespace."""
    name, args, table = node.function, node.args, MEMBER if node.member else GLOBAL
    first = args[0] if node.member else None
    if (
        isinstance(first, syntax.Name)
        and first.name in NAMESPACES
        and first.name not in scope.names
    ):
        name, args, table = f"{first.name}.{name}", args[1:], GLOBAL
    if name in UNSUPPORTED:
        raise CompileFault(f"uses {name}, which enbloc does not support")
    function = table.get(name)
    if function is None or (name.startswith("@") and not node.member and name != "@in"):
        raise CompileFault(f"undeclared reference to '{name}'")
    if not function.fewest <= len(args) <= function.most:
        raise CompileFault(f"found no matching overload for '{name}'")
    return function, args


def _check_pattern(node: syntax.Call, args: tuple[Node, ...], scope: Scope) -> None:
    """A constant regular expression must compile, all of them together in some time."""
    if node.function in _REGEX and len(args) > 1 and isinstance(args[1], syntax.Const):
        if type(args[1].value) is not str:
            raise CompileFault(f"found no matching overload for '{node.function}'")
        try:
            compiled(scope.spend, args[1].value)
        except Fault as fault:
            raise CompileFault(str(fault)) from None
