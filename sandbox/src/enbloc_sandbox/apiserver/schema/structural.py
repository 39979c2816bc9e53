# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The structural schema of a custom kind: prune, default, validate in the API server's words."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jsonschema_rs

from enbloc_sandbox.apiserver.schema import cel, jsonpath
from enbloc_sandbox.apiserver.schema.types import Type, compile_schema, metadata_type, read_builtin
from enbloc_sandbox.apiserver.status import FieldError, not_supported, raw, required, wrong

Document = Mapping[str, Any]
Fresh = dict[str, Any]
Schema = Mapping[str, Any]

_FORMATS: Final = frozenset({"date", "date-time", "email", "ipv4", "ipv6", "uri", "uuid"})
_BLOCKING: Final = frozenset({"Unsupported value", "Required value", "Too long", "Too many"})
_UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)
_KEYWORDS: Final = frozenset(
    {
        "type", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength",
        "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minProperties",
        "maxProperties", "required", "multipleOf",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class CustomSchema:
    """One served version of a custom kind.

    Attributes:
        source: the OpenAPI v3 schema, as it was given.
        type: the same, for merging.
        storage_version: the version that objects are stored in.
        selectable: fields that selectors may name.
    """

    source: Schema
    type: Type
    storage_version: str
    selectable: frozenset[str]
    _validator: Any
    _rules: cel.Rules

    @staticmethod
    def of(version: Document, storage_version: str) -> CustomSchema:
        """Compile a version of a definition.

        Raises:
            ValueError: a pattern, rule or path that cannot be compiled.
        """
        source = version["schema"]["openAPIV3Schema"]
        kind = compile_schema({"properties": {}, **source})
        kind.fields["metadata"] = metadata_type()
        for column in version.get("additionalPrinterColumns") or ():
            jsonpath.parse(column["jsonPath"])
        selectable = {one["jsonPath"] for one in version.get("selectableFields") or ()}
        return CustomSchema(
            source,
            kind,
            storage_version,
            frozenset(path.removeprefix(".") for path in selectable),
            jsonschema_rs.Draft4Validator(_translate(source), validate_formats=True),
            cel.Rules.of(source),
        )

    def read(self, body: Document) -> tuple[Fresh, list[str]]:
        """A fresh document without the fields that the schema does not have, and those."""
        unknown: list[str] = []
        content = {k: v for k, v in body.items() if k not in {"metadata", "kind", "apiVersion"}}
        found = _prune(self.source, content, "", unknown)
        metadata, more = read_builtin(metadata_type(), body.get("metadata") or {})
        unknown += [f"metadata.{name}" for name in more]
        return {**found, "metadata": metadata}, unknown

    def default(self, obj: Fresh) -> None:
        """Fill in the schema's defaults."""
        _default(self.source, obj)

    def validate(self, obj: Document) -> list[FieldError]:
        """The errors of a document."""
        errors = [] if self._validator.is_valid(obj) else list(self._errors(obj))
        return errors + list(_duplicates(self.source, obj, ""))

    def rules(
        self, obj: Document, old: Document | None, errors: Sequence[FieldError]
    ) -> list[FieldError]:
        """The errors of the CEL rules, which need an object of the right shape."""
        if not self._rules.rules:
            return []
        if any(error.type in _BLOCKING or "must be of type" in error.detail for error in errors):
            return [FieldError("<nil>", "Invalid value", _UNCHECKED, None)]
        return self._rules.check(obj, old)

    def _errors(self, obj: Document) -> Iterator[FieldError]:
        texts: set[str] = set()
        for error in self._validator.iter_errors(obj):
            path = _path(error.instance_path)
            if error.kind.name in {"minLength", "maxLength", "pattern"}:
                # The API server stops at the first fault of a text; lengths come first.
                if path in texts:
                    continue
                texts.add(path)
            yield _worded(path, error.kind, error.instance)


def _path(steps: list[str | int]) -> str:
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def _worded(path: str, kind: Any, value: Any) -> FieldError:
    limit = kind.value
    match kind.name:
        case "required":
            return required(f"{path}.{limit}" if path else limit)
        case "enum":
            return not_supported(path, value, limit)
        case "type":
            given = _json_type(value)
            shown = ",".join(limit)
            return wrong(path, given, f'{path} in body must be of type {shown}: "{given}"')
        case "maxLength":
            return FieldError(path, "Too long", f"may not be more than {limit} bytes")
        case "maxItems" | "maxProperties":
            detail = f"must have at most {limit} item{'s' if limit != 1 else ''}"
            return FieldError(path, "Too many", detail, raw(str(len(value))))
        case _:
            return wrong(path, value, f"{path} in body {_fault(kind.name, limit, value)}")


def _fault(keyword: str, limit: Any, value: Any) -> str:
    words: Mapping[str, str] = {
        "minimum": f"should be greater than or equal to {limit}",
        "maximum": f"should be less than or equal to {limit}",
        "exclusiveMinimum": f"should be greater than {limit}",
        "exclusiveMaximum": f"should be less than {limit}",
        "minLength": f"should be at least {limit} chars long",
        "pattern": f"should match '{limit}'",
        "minItems": f"should have at least {limit} items",
        "minProperties": f"should have at least {limit} properties",
        "multipleOf": f"should be a multiple of {limit}",
        "uniqueItems": "shouldn't contain duplicates",
        "format": f'must be of type {limit}: "{value}"',
        "anyOf": "must validate at least one schema (anyOf)",
        "oneOfNotValid": "must validate one and only one schema (oneOf)",
        "oneOfMultipleValid": "must validate one and only one schema (oneOf)",
        "not": "must not validate the schema (not)",
    }
    return words.get(keyword, "is not valid")


def _json_type(value: Any) -> str:
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return "null" if value is None else names.get(type(value), "object")


def _translate(schema: Schema) -> Fresh:
    """A structural schema as plain JSON schema."""
    found: Fresh = {name: value for name, value in schema.items() if name in _KEYWORDS}
    if schema.get("format") in _FORMATS:
        found["format"] = schema["format"]
    if "properties" in schema:
        found["properties"] = {n: _translate(one) for n, one in schema["properties"].items()}
    for name in ("items", "not", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            found[name] = _translate(schema[name])
    for name in ("allOf", "anyOf", "oneOf"):
        if name in schema:
            found[name] = [_translate(one) for one in schema[name]]
    if schema.get("x-kubernetes-int-or-string"):
        found.pop("anyOf", None)
        found["type"] = ["integer", "string"]
    if schema.get("nullable") and "type" in found:
        found["type"] = [found["type"], "null"]
    return found


def _prune(schema: Schema, value: Any, path: str, unknown: list[str]) -> Any:
    if isinstance(value, list):
        items = schema.get("items")
        if not isinstance(items, dict):
            return value
        return [_prune(items, one, f"{path}[{i}]", unknown) for i, one in enumerate(value)]
    if not isinstance(value, dict):
        return value
    found: Fresh = {}
    properties, more = schema.get("properties") or {}, schema.get("additionalProperties")
    keep = schema.get("x-kubernetes-preserve-unknown-fields")
    embedded = schema.get("x-kubernetes-embedded-resource")
    for name, one in value.items():
        inner = f"{path}.{name}" if path else name
        known = properties.get(name) or (more if isinstance(more, dict) else {})
        if one is None and known and not known.get("nullable"):
            continue
        if name in properties:
            found[name] = _prune(properties[name], one, inner, unknown)
        elif isinstance(more, dict):
            found[name] = _prune(more, one, inner, unknown)
        elif keep or more is True or (embedded and name in {"apiVersion", "kind", "metadata"}):
            found[name] = copy.deepcopy(one)
        else:
            unknown.append(inner)
    return found


def _default(schema: Schema, value: Any) -> None:
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for one in value:
            _default(schema["items"], one)
    if not isinstance(value, dict):
        return
    properties: Mapping[str, Schema] = schema.get("properties") or {}
    for name, one in properties.items():
        if name not in value and "default" in one:
            value[name] = copy.deepcopy(one["default"])
        if name in value:
            _default(one, value[name])
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        for name in value.keys() - properties.keys():
            _default(more, value[name])


def _duplicates(schema: Schema, value: Any, path: str) -> Iterator[FieldError]:
    """Items of keyed lists and sets that occur twice."""
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        kind = schema.get("x-kubernetes-list-type")
        identify: Callable[[Any], Any] | None = None
        if kind == "set":
            identify = _same
        elif kind == "map":
            keys = schema["x-kubernetes-list-map-keys"]
            identify = lambda one: {key: one.get(key) for key in keys}  # noqa: E731
        seen: set[str] = set()
        for i, one in enumerate(value):
            yield from _duplicates(schema["items"], one, f"{path}[{i}]")
            if identify is None:
                continue
            identity = identify(one)
            text = json.dumps(identity, sort_keys=True)
            if text in seen:
                yield FieldError(f"{path}[{i}]", "Duplicate value", "", identity)
            seen.add(text)
    elif isinstance(value, dict):
        for name, one in (schema.get("properties") or {}).items():
            if name in value:
                yield from _duplicates(one, value[name], f"{path}.{name}" if path else name)


def _same(value: Any) -> Any:
    return value
