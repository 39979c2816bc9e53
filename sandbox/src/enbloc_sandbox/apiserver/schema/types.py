# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""OpenAPI schemas compiled to types: what is a struct, a map, a list with keys, atomic.

One notion serves the decoding of built-in kinds, pruning, strategic merge and server-side apply,
for built-in kinds and custom ones alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any, Final

from enbloc_sandbox.apiserver.schema.builtin_kinds import builtins
from enbloc_sandbox.apiserver.schema.quantities import quantity
from enbloc_sandbox.apiserver.status import Refused, bad_request

_REF: Final = "#/components/schemas/"
#: Layouts as Go writes them, and what fits them.
_TIMES: Final = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": ("2006-01-02T15:04:05Z07:00", r"([.,]\d+)?"),
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": (
        "2006-01-02T15:04:05.000000Z07:00",
        r"\.\d{6}",
    ),
}
_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_PYTHON: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_GO: Final = {"string": "string", "integer": "int64", "number": "float64", "boolean": "bool"}


class Shape(Enum):
    """What a value is to those that merge it."""

    STRUCT = "struct"
    MAP = "map"
    LIST = "list"
    SCALAR = "scalar"
    ANY = "any"
    QUANTITY = "quantity"


@dataclass(slots=True)
class Type:
    """The type of one node of a document.

    Attributes:
        shape: see `Shape`.
        fields: of a struct.
        items: of a map or list.
        list_type: "atomic", "set" or "map" (server-side apply).
        keys: the keys of a list of type "map".
        merge_key: the key of a list that strategic merge merges, "" if it replaces it; a list of
            scalars that is merged has "*".
        retain_keys: strategic merge may clear the fields that a patch does not name.
        atomic: a struct or map that has one owner.
        present: fields of a struct that the API server always writes, even when empty.
        scalar: the JSON type of a scalar.
        enum: the values a scalar may have, empty for any.
        preserve: unknown fields are kept.
        layout: the definition of the time that a string must be.
    """

    shape: Shape
    fields: dict[str, Type] = field(default_factory=dict)
    items: Type | None = None
    list_type: str = "atomic"
    keys: tuple[str, ...] = ()
    merge_key: str = ""
    retain_keys: bool = False
    atomic: bool = False
    present: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()
    scalar: str = ""
    enum: tuple[str, ...] = ()
    preserve: bool = False
    layout: str = ""
    key_defaults: dict[str, Any] = field(default_factory=dict)

    def child(self, name: str) -> Type:
        """The type of a field or map value, `ANYTHING` when nothing is known."""
        return self.fields.get(name) or self.items or ANYTHING


ANYTHING: Final = Type(Shape.ANY)


@cache
def named(definition: str) -> Type:
    """The type of a built-in definition; recursive definitions are cut at the second level."""
    return _fill(Type(Shape.ANY), definition, {})


@cache
def metadata_type() -> Type:
    """The type of `metadata`."""
    return named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")


@cache
def builtin_type(group: str, version: str, kind: str) -> Type:
    """The type of a built-in kind; KeyError if there is none."""
    wanted = {"group": group, "version": version, "kind": kind}
    for name, definition in builtins()["definitions"].items():
        if wanted in definition.get("x-kubernetes-group-version-kind", ()):
            return named(name)
    raise KeyError(f"{group}/{version} {kind}")


def _fill(target: Type, definition: str, open_: dict[str, Type]) -> Type:
    """Compile a definition in place, so that it may refer to itself."""
    open_[definition] = target
    compiled = _compile(builtins()["definitions"][definition], open_)
    if definition in _TIMES:
        compiled.layout = definition
    if definition == _QUANTITY:
        compiled = Type(Shape.QUANTITY)
    for name in Type.__slots__:
        setattr(target, name, getattr(compiled, name))
    return target


def _reference(schema: Mapping[str, Any]) -> str | None:
    if "$ref" in schema:
        return schema["$ref"].removeprefix(_REF)
    wrapped = schema.get("allOf")
    if wrapped and len(wrapped) == 1 and "$ref" in wrapped[0]:
        return wrapped[0]["$ref"].removeprefix(_REF)
    return None


def _compile(schema: Mapping[str, Any], open_: dict[str, Type]) -> Type:
    definition = _reference(schema)
    if definition is not None:
        known = open_.get(definition)
        found = known if known is not None else _fill(Type(Shape.ANY), definition, open_)
        owned = schema.get("x-kubernetes-map-type")  # here, whatever the definition says
        if owned in ("atomic", "granular") and found.atomic != (owned == "atomic"):
            found = Type(**{name: getattr(found, name) for name in Type.__slots__})
            found.atomic = owned == "atomic"
        if "retainKeys" in schema.get("x-kubernetes-patch-strategy", ""):
            found = Type(**{name: getattr(found, name) for name in Type.__slots__})
            found.retain_keys = True
        return found
    return compile_schema(schema, open_)


def compile_schema(schema: Mapping[str, Any], open_: dict[str, Type] | None = None) -> Type:
    """The type of a schema, built-in or structural."""
    open_ = {} if open_ is None else open_
    preserve = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    atomic = schema.get("x-kubernetes-map-type") == "atomic"
    kind = schema.get("type")
    if kind == "array":
        return _list(schema, open_)
    if kind == "object" and "properties" in schema:
        properties: Mapping[str, Any] = schema["properties"]
        found = Type(
            Shape.STRUCT,
            fields={name: _compile(one, open_) for name, one in properties.items()},
            atomic=atomic,
            preserve=preserve,
            present=frozenset(n for n, one in properties.items() if one.get("default") == {}),
            required=frozenset(schema.get("required", ())),
            key_defaults={n: one["default"] for n, one in properties.items() if "default" in one},
        )
        if schema.get("x-kubernetes-embedded-resource"):
            found.fields.setdefault("metadata", metadata_type())
        return found
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        items = _compile(schema["additionalProperties"], open_)
        return Type(Shape.MAP, items=items, atomic=atomic, preserve=preserve)
    if isinstance(kind, str) and kind in _PYTHON:
        return Type(Shape.SCALAR, scalar=kind, enum=tuple(schema.get("enum", ())))
    if kind == "object":
        return Type(Shape.STRUCT, preserve=True) if preserve else Type(Shape.ANY, atomic=atomic)
    return Type(Shape.ANY)


def _list(schema: Mapping[str, Any], open_: dict[str, Type]) -> Type:
    items = _compile(schema.get("items", {}), open_)
    merges = "merge" in schema.get("x-kubernetes-patch-strategy", "").split(",")
    return Type(
        Shape.LIST,
        items=items,
        list_type=schema.get("x-kubernetes-list-type", "atomic"),
        keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        merge_key=schema.get("x-kubernetes-patch-merge-key", "*") if merges else "",
        retain_keys="retainKeys" in schema.get("x-kubernetes-patch-strategy", ""),
    )


def read_builtin(kind: Type, obj: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A document of a built-in kind as the API server would store it, and its unknown fields.

    Unknown fields, nulls and empty lists and maps are dropped, the schema's defaults filled in,
    quantities made canonical.
    Raises Refused 400 for a value of the wrong JSON type.
    """
    unknown: list[str] = []
    return _struct(kind, obj, "", unknown), unknown


def _struct(kind: Type, value: Any, path: str, unknown: list[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _mistyped(path, value, "object")
    found: dict[str, Any] = {}
    fields = kind.fields
    for name, one in value.items():
        child = fields.get(name)
        if child is None:
            unknown.append(f"{path}.{name}" if path else name)
        elif one is not None:
            read = _read(child, one, f"{path}.{name}" if path else name, unknown)
            # A pointer to an empty struct stays: `subresources: {status: {}}` says something.
            if read or child.shape not in {Shape.LIST, Shape.MAP}:
                found[name] = read
    for name, default in kind.key_defaults.items():
        if name not in found:
            found[name] = zero(fields[name]) if default == {} else default
    return found


def zero(kind: Type) -> Any:
    """What the API server writes for a struct that was not given."""
    return {
        name: zero(kind.fields[name]) if default == {} else default
        for name, default in kind.key_defaults.items()
    }


def _read(kind: Type, value: Any, path: str, unknown: list[str]) -> Any:
    match kind.shape:
        case Shape.SCALAR:
            return _scalar(kind, value, path)
        case Shape.STRUCT:
            return _struct(kind, value, path, unknown)
        case Shape.LIST:
            if not isinstance(value, list):
                raise _mistyped(path, value, "list")
            items = kind.items or ANYTHING
            return [_read(items, one, f"{path}[{i}]", unknown) for i, one in enumerate(value)]
        case Shape.MAP:
            if not isinstance(value, dict):
                raise _mistyped(path, value, "map")
            items = kind.items or ANYTHING
            return {name: _read(items, one, path, unknown) for name, one in value.items()}
        case Shape.QUANTITY:
            return quantity(str(value))
        case Shape.ANY:
            return value


def _scalar(kind: Type, value: Any, path: str) -> Any:
    wanted = _PYTHON[kind.scalar]
    if isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool)):
        if kind.layout:
            _check_time(kind.layout, str(value))
        return value
    if kind.scalar == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    raise _mistyped(path, value, _GO[kind.scalar])


def _check_time(definition: str, text: str) -> None:
    layout, fraction = _TIMES[definition]
    pattern = rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d{fraction}(Z|[+-]\d\d:\d\d)"
    if not re.fullmatch(pattern, text, re.ASCII):
        found = re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", text, re.ASCII)
        rest, part = (text[found.end() :], ".000000") if found else (text, "2006")
        why = f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{part}"'
        raise bad_request(why)


def _mistyped(path: str, value: Any, wanted: str) -> Refused:
    given = json_name(value)
    return bad_request(
        f"json: cannot unmarshal {given} into Go struct field {path} of type {wanted}"
    )


def json_name(value: Any) -> str:
    """What the API server calls a value of another type than the one it wants."""
    names: dict[type, str] = {str: "string", bool: "bool", dict: "object", list: "array"}
    return names.get(type(value), "number")
