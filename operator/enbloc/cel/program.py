# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Device selectors: compiled once, evaluated for many devices.

As kube-scheduler evaluates `DeviceSelector.cel.expression` (v1.36
dynamic-resource-allocation/cel/compile.go), with these differences, each of which gives a named
error and never an answer: time, URLs and named formats are not supported, nesting is limited to
`syntax.DEEPEST` levels and lists to `values.MOST_ITEMS` items, and types are checked when an
expression is evaluated rather than before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from enbloc.cel.evaluate import Code, CompileFault, Scope, folded
from enbloc.cel.macros import compiler
from enbloc.cel.syntax import ListOf, MapOf, Node, parse
from enbloc.cel.tokens import SyntaxFault
from enbloc.cel.values import Execution, Fault, Halt, Map, Quantity, type_of
from enbloc.cel.versions import SemanticVersion

#: What one evaluation may cost in CEL's units (resource.k8s.io CELSelectorExpressionMaxCost).
COST_LIMIT: Final = 1_000_000
Attribute = (
    bool
    | int
    | str
    | SemanticVersion
    | Sequence[bool]
    | Sequence[int]
    | Sequence[str]
    | Sequence[SemanticVersion]
)

_EMPTY: Final = Map({})
_COMPILER: Final = compiler(
    {"device": frozenset({"driver", "attributes", "capacity", "allowMultipleAllocations"})}
)


@dataclass(frozen=True, slots=True)
class CelError:
    """A permanent error: `text` says why there is no answer.

    Attributes:
        took: about how long it took to detect, in microseconds, besides the length of the text.
    """

    text: str
    took: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class DeviceView:
    """What an expression sees of a device.

    Attributes:
        driver: its driver, also the domain of names without one.
        attributes: by "domain/name" or "name".
        capacity: exact amounts, by the same form of names.
        allow_multiple_allocations: None = not set, which means False.
    """

    driver: str
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    capacity: Mapping[str, Fraction | int] = field(default_factory=dict)
    allow_multiple_allocations: bool | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An answer, its cost in CEL's units, and about how long it took, in microseconds."""

    answer: bool | CelError
    cost: int
    took: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression; alike texts and limits are equal.

    Attributes:
        took: about how long it took to compile, in microseconds, beside the length of the text.
    """

    expression: str
    cost_limit: int
    _code: Code = field(compare=False, repr=False)
    _slots: int = field(compare=False, repr=False)
    took: int = field(default=0, compare=False)

    def matches(self, device: DeviceView) -> bool | CelError:
        """Whether the expression selects the device."""
        return self.evaluate(device).answer

    def evaluate(self, device: DeviceView) -> Evaluation:
        """Whether the expression selects the device, with the cost."""
        run = Execution([_variables(device), *[None] * (self._slots - 1)], self.cost_limit)
        answer: bool | CelError
        try:
            value = self._code(run)
        except (Fault, Halt) as fault:
            answer = CelError(str(fault))
        except RecursionError:
            answer = CelError("nested too deep to evaluate")
        else:
            answer = value if type(value) is bool else CelError(_no_bool(type_of(value)))
        return Evaluation(answer, run.cost, run.work // 10)


def compile(expression: str, *, cost_limit: int = COST_LIMIT) -> Program | CelError:  # noqa: A001
    """The program of an expression, or why there is none: a syntax error, or what is not supported.

    Args:
        expression: the text of a selector.
        cost_limit: at what cost, in CEL's units, an evaluation ends with an error.
    """
    scope = Scope({"device": 0}, [1], [0])
    try:
        tree = parse(expression)
        code = _COMPILER.code(tree, scope)
        _check_result(tree)
    except (SyntaxFault, CompileFault) as fault:
        return CelError(str(fault), scope.compiling[0] // 10)
    except RecursionError:
        return CelError("nested too deep to compile")
    return Program(expression, cost_limit, code, scope.counter[0], scope.compiling[0] // 10)


def _check_result(tree: Node) -> None:
    """Refuse at once an expression whose type cannot be bool."""
    constant = folded(tree)
    kind = type_of(constant.value) if constant is not None else "bool"
    if isinstance(tree, ListOf | MapOf):
        kind = "list" if isinstance(tree, ListOf) else "map"
    if kind != "bool":
        raise CompileFault(f"must evaluate to bool or the unknown type, not {kind}")


def _no_bool(kind: str) -> str:
    return f"evaluates to {kind}, not to bool"


def _variables(device: DeviceView) -> Map:
    attributes = {name: _value(value) for name, value in device.attributes.items()}
    capacity = {name: Quantity(Fraction(value)) for name, value in device.capacity.items()}
    return Map.named(
        {
            "driver": device.driver,
            "allowMultipleAllocations": bool(device.allow_multiple_allocations),
            "attributes": _by_domain(attributes, device.driver),
            "capacity": _by_domain(capacity, device.driver),
        }
    )


def _value(value: Attribute) -> Any:
    return value if isinstance(value, bool | int | str | SemanticVersion) else list(value)


def _by_domain(values: Mapping[str, Any], driver: str) -> Map:
    """Maps by domain; a missing domain reads as an empty map."""
    domains: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        domain, slash, identifier = name.partition("/")
        if slash:
            domains.setdefault(domain, {})[identifier] = value
        else:
            domains.setdefault(driver, {})[name] = value
    return Map.named({domain: Map.named(names) for domain, names in domains.items()}, _EMPTY)
