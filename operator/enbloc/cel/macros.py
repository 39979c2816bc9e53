# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""CEL's macros: loops over lists and maps, `cel.bind`, and those of optional values.

Upstream expands each into a fold with an accumulator. Here each is a loop, which charges what the
fold's parts would cost: reading the accumulator 1, a condition 1 for each of its functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from enbloc.cel import syntax
from enbloc.cel.evaluate import (
    LIST_COST,
    Code,
    CompileFault,
    Compiler,
    Lazy,
    Macro,
    Scope,
    folded,
)
from enbloc.cel.functions import MEMBER
from enbloc.cel.values import NONE, Execution, Fault, Map, Optional, short, type_of

_ADDED: Final = 2  # reading the accumulator, and `+`


def compiler(fields: Mapping[str, frozenset[str]]) -> Compiler:
    """A compiler with all macros, and the fields of some variables."""
    macros: dict[tuple[str, int], Macro] = {}
    found = Compiler(macros, fields)

    def on(names: str, arguments: int, build: Callable[..., Code | None]) -> None:
        for name in names.split():
            macros[name, arguments + 1] = lambda node, scope: build(found, node, scope)

    on("all exists", 2, _quantifier)
    on("all exists", 3, _quantifier)
    on("exists_one", 2, _one)
    on("exists_one existsOne", 3, _one)
    on("map filter", 2, _collect)
    on("map", 3, _collect)
    on("transformList", 3, _collect)
    on("transformList", 4, _collect)
    for name in ("transformMap", "transformMapEntry"):
        on(name, 3, _collect_map)
        on(name, 4, _collect_map)
    on("bind", 3, _bind)
    on("optMap optFlatMap", 2, _opt_map)
    on("sortBy", 2, _sort_by)
    return found


def _names(nodes: tuple[syntax.Node, ...]) -> list[str]:
    names = [node.name for node in nodes if isinstance(node, syntax.Name)]
    if len(names) < len(nodes):
        raise CompileFault("argument must be a simple name")
    if "__result__" in names:
        raise CompileFault("iteration variable overwrites accumulator variable")
    if len(set(names)) < len(names):
        raise CompileFault(f"overlapping declaration for name '{names[0]}'")
    return names


class _Loop:
    """A loop over a list or the keys of a map; with two variables, over keys and values."""

    def __init__(self, compile_: Compiler, node: syntax.Call, scope: Scope, variables: int) -> None:
        self._range = compile_.code(node.args[0], scope)
        self.scope, self._slots = scope.bound(*_names(node.args[1 : variables + 1]))

    def steps(self, run: Execution) -> Any:
        """Set the variables to the next item, and yield it."""
        where = self._range(run)
        slots = run.slots
        first = self._slots[0]
        if type(where) not in (list, Map):
            raise Fault(f"got '{type_of(where)}', expected iterable type")
        if len(self._slots) == 1:
            for item in where if type(where) is list else where.keys():
                slots[first] = item
                yield item
            return
        second = self._slots[1]
        pairs = enumerate(where) if type(where) is list else where.entries.values()
        for slots[first], slots[second] in pairs:
            yield slots[first]


def _quantifier(compile_: Compiler, node: syntax.Call, scope: Scope) -> Code:
    """`all` and `exists`: an error counts only if no item decides."""
    loop = _Loop(compile_, node, scope, len(node.args) - 2)
    test = compile_.code(node.args[-1], loop.scope)
    decisive = node.function == "exists"
    each = 3 if decisive else 2

    def decide(run: Execution) -> bool:
        failed: Fault | None = None
        found = not decisive
        for _ in loop.steps(run):
            run.charge(each)
            if found is decisive:
                break
            run.charge(1)
            try:
                value = test(run)
            except Fault as fault:
                failed = failed or fault
                continue
            if type(value) is not bool:
                failed = failed or Fault("no such overload")
            elif value is decisive:
                found = decisive
        run.charge(1)
        if failed is not None and found is not decisive:
            raise failed
        return found

    return decide


def _true(value: Any) -> bool:
    if type(value) is not bool:
        raise Fault("no such overload")
    return value


def _one(compile_: Compiler, node: syntax.Call, scope: Scope) -> Code:
    loop = _Loop(compile_, node, scope, len(node.args) - 2)
    test = compile_.code(node.args[-1], loop.scope)

    def count(run: Execution) -> bool:
        found = 0
        for _ in loop.steps(run):
            if _true(test(run)):
                found += 1
                run.charge(_ADDED)
        run.charge(2)
        return found == 1

    return count


def _collect(compile_: Compiler, node: syntax.Call, scope: Scope) -> Code:
    """`map`, `filter` and `transformList`."""
    variables = 2 if node.function == "transformList" else 1
    loop = _Loop(compile_, node, scope, variables)
    rest = node.args[variables + 1 :]
    test: Code | None = None
    if node.function == "filter" or len(rest) == 2:
        test = compile_.code(rest[0], loop.scope)
    value_node = node.args[1] if node.function == "filter" else rest[-1]
    value = compile_.code(value_node, loop.scope)
    each = _ADDED + (0 if folded(value_node) is not None else LIST_COST)

    def collect(run: Execution) -> list[Any]:
        found: list[Any] = []
        for _ in loop.steps(run):
            if test is not None and not _true(test(run)):
                continue
            found.append(value(run))
            run.charge(each)
        run.charge(1)
        return run.keep(short(found))

    return collect


def _collect_map(compile_: Compiler, node: syntax.Call, scope: Scope) -> Code:
    """`transformMap` keeps the keys, `transformMapEntry` makes an entry of each."""
    loop = _Loop(compile_, node, scope, 2)
    test = compile_.code(node.args[3], loop.scope) if len(node.args) == 5 else None
    value = compile_.code(node.args[-1], loop.scope)
    entries = node.function == "transformMapEntry"

    def collect(run: Execution) -> Map:
        pairs: list[tuple[Any, Any]] = []
        for key in loop.steps(run):
            if test is not None and not _true(test(run)):
                continue
            made = value(run)
            run.charge(_ADDED if entries else _ADDED + 1)
            if entries:
                if type(made) is not Map:
                    raise Fault("no such overload")
                pairs.extend(made.entries.values())
            else:
                pairs.append((key, made))
            short(pairs)
        run.charge(1)
        return run.keep(Map.of(pairs, once=True))

    return collect


def _bind(compile_: Compiler, node: syntax.Call, scope: Scope) -> Code | None:
    """`cel.bind(name, value, result)`: the value is computed when first read."""
    if node.args[0] != syntax.Name("cel"):
        return None
    if not isinstance(node.args[1], syntax.Name):
        raise CompileFault("cel.bind() variable names must be simple identifiers")
    value = compile_.code(node.args[2], scope)
    inner, (slot,) = scope.bound(node.args[1].name)
    result = compile_.code(node.args[3], inner)

    def bind(run: Execution) -> Any:
        run.slots[slot] = Lazy(value)
        return result(run)

    return bind


def _opt_map(compile_: Compiler, node: syntax.Call, scope: Scope) -> Code:
    """`optMap(x, value)`, `optFlatMap(x, optional)`: evaluates the optional twice, as upstream."""
    target = compile_.code(node.args[0], scope)
    inner, (slot,) = scope.bound(*_names(node.args[1:2]))
    result = compile_.code(node.args[2], inner)
    flat = node.function == "optFlatMap"
    read = MEMBER["value"].call

    def value(run: Execution) -> Any:
        run.charge(1)
        return read(target(run))

    def apply(run: Execution) -> Any:
        found = target(run)
        run.charge(1)
        if not MEMBER["hasValue"].call(found):
            run.charge(1)
            return NONE
        run.slots[slot] = Lazy(value)
        made = result(run)
        if flat:
            return made
        run.charge(1)
        return Optional(made, present=True)

    return apply


def _sort_by(compile_: Compiler, node: syntax.Call, scope: Scope) -> Code:
    """`sortBy(x, key)`."""
    items = compile_.code(node.args[0], scope)
    inner, (slot,) = scope.bound(*_names(node.args[1:2]))
    key = compile_.code(node.args[2], inner)
    each = _ADDED + (0 if folded(node.args[2]) is not None else LIST_COST)
    order = MEMBER["@sortBy"]

    def sort(run: Execution) -> Any:
        where = items(run)
        run.charge(3)
        if type(where) is not list:
            raise Fault("no such overload")
        keys: list[Any] = []
        for run.slots[slot] in where:
            keys.append(key(run))
            run.charge(each)
        return order.apply(run, (where, keys))

    return sort
