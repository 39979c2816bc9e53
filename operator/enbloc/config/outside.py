# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of plugins from elsewhere, by the fields of the plugin itself.

A plugin is its arguments: a dataclass or a pydantic model. Keys are camelCase in the file and
snake_case in the plugin; values are converted to the types of its fields.
"""

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, PydanticSchemaGenerationError, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel, to_snake

from enbloc.config.findings import Findings, plainly, unknown
from enbloc.config.wanted import Arguments
from enbloc.framework.registry import Factory


def outside_fields(
    factory: Factory, arguments: Arguments, findings: Findings
) -> Mapping[str, Any] | None:
    """The plugin's constructor arguments; None if what was noted leaves none."""
    before = len(findings.problems)
    keys: dict[str, str] = {}
    for key in arguments.given:
        if (twice := keys.setdefault(to_snake(key), key)) != key:
            findings.problem(f"{arguments.where}.{key}", f'Duplicate: the same as "{twice}"')
    given = {to_snake(key): value for key, value in arguments.given.items()}
    known = _parameters(factory)
    if known is not None:
        for name in sorted(set(given) - set(known)):
            text = unknown("argument ", keys[name], map(to_camel, known))
            findings.problem(f"{arguments.where}.{keys[name]}", text)
        given = {name: value for name, value in given.items() if name in known}
    fields = _validated(factory, given, keys, arguments, findings)
    return fields if len(findings.problems) == before else None


def outside_values(plugin: object) -> Mapping[str, Any] | None:
    """A plugin's arguments as a file has them, with defaults; None if they have no such form."""
    if not dataclasses.is_dataclass(plugin) and not isinstance(plugin, BaseModel):
        return None
    try:
        values = TypeAdapter(type(plugin)).dump_python(plugin, mode="json")
    except (PydanticSchemaGenerationError, ValueError):
        return None
    return {to_camel(name): value for name, value in values.items()}


def _parameters(factory: Any) -> list[str] | None:
    """The names of a plugin's arguments; None = it takes whatever there is."""
    if dataclasses.is_dataclass(factory):
        return [field.name for field in dataclasses.fields(factory) if field.init]
    if isinstance(factory, type) and issubclass(factory, BaseModel):
        return list(factory.model_fields)
    parameters = inspect.signature(factory).parameters.values()
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
        return None
    return [each.name for each in parameters]


def _validated(
    factory: Any,
    given: Mapping[str, Any],
    keys: Mapping[str, str],
    arguments: Arguments,
    findings: Findings,
) -> Mapping[str, Any]:
    """The arguments, converted to the types of the plugin's fields where it has types."""
    is_model = isinstance(factory, type) and issubclass(factory, BaseModel)
    if not is_model and not dataclasses.is_dataclass(factory):
        return given  # a function converts as it likes
    try:
        made = TypeAdapter(factory).validate_python(given)
    except PydanticSchemaGenerationError:
        return given  # types that only the plugin understands
    except ValidationError as error:
        _note(error, keys, arguments, findings)
        return {}
    return given if is_model else {name: getattr(made, name) for name in given}


def _note(
    error: ValidationError, keys: Mapping[str, str], arguments: Arguments, findings: Findings
) -> None:
    for each in error.errors():
        path = arguments.where
        for part in each["loc"]:
            name = keys.get(str(part), to_camel(str(part)))
            path += f"[{part}]" if isinstance(part, int) else f".{name}"
        text = plainly(each["msg"])
        if isinstance(each["input"], bool | int | float | str):
            text += f", is {each['input']!r}"
        findings.problem(path, "Required" if each["type"] == "missing" else text)
