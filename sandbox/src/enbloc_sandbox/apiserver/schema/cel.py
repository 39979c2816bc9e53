# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""`x-kubernetes-validations`: the CEL rules of a schema, compiled once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import cel

from enbloc_sandbox.apiserver.status import FieldError

Document = Mapping[str, Any]

_OLD: Final = re.compile(r"\boldSelf\b")
_TYPES: Final = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
}


@dataclass(frozen=True, slots=True)
class _Rule:
    """One rule at one place of a schema; `steps` lead there, "*" for every item."""

    steps: tuple[str, ...]
    program: Any
    old: bool
    optional_old: bool
    message: str
    words: Any
    field: str
    type: str


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules of one schema."""

    rules: tuple[_Rule, ...]

    @staticmethod
    def of(schema: Document) -> Rules:
        """Compile them. Raises ValueError for a rule that is not CEL, or uses what we lack."""
        return Rules(tuple(_collect(schema, ())))

    def check(self, obj: Document, old: Document | None) -> list[FieldError]:
        """The rules that the document breaks; those on oldSelf only when there is an old one."""
        errors: list[FieldError] = []
        for rule in self.rules:
            for path, value, before in _places(rule.steps, obj, old, ""):
                if rule.old and before is None and not rule.optional_old:
                    continue
                error = _check(rule, path, value, before)
                if error is not None:
                    errors.append(error)
        return errors


def _collect(schema: Document, steps: tuple[str, ...]) -> Iterator[_Rule]:
    for one in schema.get("x-kubernetes-validations") or ():
        words = one.get("messageExpression")
        yield _Rule(
            steps,
            _compile(one["rule"]),
            bool(_OLD.search(one["rule"])),
            bool(one.get("optionalOldSelf")),
            one.get("message") or f"failed rule: {one['rule'].strip()}",
            _compile(words) if words else None,
            one.get("fieldPath", ""),
            _TYPES.get(one.get("reason", ""), "Invalid value"),
        )
    for name, child in (schema.get("properties") or {}).items():
        yield from _collect(child, (*steps, f".{name}"))
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from _collect(schema[name], (*steps, "*"))


def _compile(text: str) -> Any:
    try:
        return cel.compile(text)
    except ValueError as error:
        raise ValueError(f"the sandbox cannot compile the rule {text.strip()!r}: {error}") from None


def _places(
    steps: tuple[str, ...], value: Any, old: Any, path: str
) -> Iterator[tuple[str, Any, Any]]:
    """(path, value, old value) of every place that the steps lead to."""
    if value is None:
        return
    if not steps:
        yield path, value, old
        return
    step, rest = steps[0], steps[1:]
    if step.startswith("."):
        name = step[1:]
        if isinstance(value, dict) and name in value:
            before = old.get(name) if isinstance(old, dict) else None
            yield from _places(rest, value[name], before, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for i, one in enumerate(value):
            yield from _places(rest, one, None, f"{path}[{i}]")
    elif isinstance(value, dict):
        for name, one in value.items():
            before = old.get(name) if isinstance(old, dict) else None
            yield from _places(rest, one, before, f"{path}[{name}]")


def _check(rule: _Rule, path: str, value: Any, old: Any) -> FieldError | None:
    context = cel.Context()
    context.add_variable("self", value)
    context.add_function("sum", sum)
    if rule.old:
        context.add_variable("oldSelf", old)
    field = f"{path}{rule.field}".removeprefix(".") or "<nil>"
    try:
        if rule.program.execute(context) is True:
            return None
        message = rule.words.execute(context) if rule.words is not None else rule.message
    except KeyError as error:
        return FieldError(field, "Invalid value", f"rule evaluation error: no such key: {error}")
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        return FieldError(field, "Invalid value", f"rule evaluation error: {error}")
    return FieldError(field, rule.type, str(message))
