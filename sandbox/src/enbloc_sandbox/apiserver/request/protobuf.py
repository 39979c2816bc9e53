# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Protobuf bodies of the few kinds that typed kubectl commands send; decode only."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from enbloc_sandbox.apiserver.status import Refused, bad_request, unsupported_body

_MAGIC: Final = b"k8s\0"


@dataclass(frozen=True, slots=True)
class _Field:
    """One field of a message: its JSON name, how to read it, whether it repeats."""

    name: str
    kind: str
    many: bool = False


def _message(*fields: tuple[int, str, str]) -> Mapping[int, _Field]:
    return {
        number: _Field(name, kind.removesuffix("*"), kind.endswith("*"))
        for number, name, kind in fields
    }


#: Kinds of fields: text, bytes (base64 in JSON), int, bool, time, map (of texts), data (of bytes)
#: or the name of a message; a star for repeated ones.
_MESSAGES: Final[Mapping[str, Mapping[int, _Field]]] = {
    "ObjectMeta": _message(
        (1, "name", "text"),
        (2, "generateName", "text"),
        (3, "namespace", "text"),
        (5, "uid", "text"),
        (6, "resourceVersion", "text"),
        (11, "labels", "map"),
        (12, "annotations", "map"),
        (14, "finalizers", "text*"),
    ),
    "Preconditions": _message((1, "uid", "text"), (2, "resourceVersion", "text")),
    "DeleteOptions": _message(
        (1, "gracePeriodSeconds", "int"),
        (2, "preconditions", "Preconditions"),
        (3, "orphanDependents", "bool"),
        (4, "propagationPolicy", "text"),
        (5, "dryRun", "text*"),
    ),
    "NamespaceSpec": _message((1, "finalizers", "text*")),
    "Namespace": _message((1, "metadata", "ObjectMeta"), (2, "spec", "NamespaceSpec")),
    "ConfigMap": _message(
        (1, "metadata", "ObjectMeta"),
        (2, "data", "map"),
        (3, "binaryData", "data"),
        (4, "immutable", "bool"),
    ),
    "Secret": _message(
        (1, "metadata", "ObjectMeta"),
        (2, "data", "data"),
        (3, "type", "text"),
        (5, "immutable", "bool"),
    ),
    "ServiceAccount": _message((1, "metadata", "ObjectMeta")),
    "ResourceAttributes": _message(
        (1, "namespace", "text"),
        (2, "verb", "text"),
        (3, "group", "text"),
        (4, "version", "text"),
        (5, "resource", "text"),
        (6, "subresource", "text"),
        (7, "name", "text"),
    ),
    "NonResourceAttributes": _message((1, "path", "text"), (2, "verb", "text")),
    "SelfSubjectAccessReviewSpec": _message(
        (1, "resourceAttributes", "ResourceAttributes"),
        (2, "nonResourceAttributes", "NonResourceAttributes"),
    ),
    "SelfSubjectAccessReview": _message(
        (1, "metadata", "ObjectMeta"), (2, "spec", "SelfSubjectAccessReviewSpec")
    ),
    "PriorityClass": _message(
        (1, "metadata", "ObjectMeta"),
        (2, "value", "int"),
        (3, "globalDefault", "bool"),
        (4, "description", "text"),
        (5, "preemptionPolicy", "text"),
    ),
    "EvictionV1": _message((1, "metadata", "ObjectMeta"), (2, "deleteOptions", "DeleteOptions")),
}


def read(data: bytes) -> dict[str, Any]:
    """The document in a protobuf body; Refused 415 for kinds that we cannot decode."""
    if not data.startswith(_MAGIC):
        raise bad_request("the body of the request is not a Kubernetes protobuf message")
    try:
        return _unknown(data[len(_MAGIC) :])
    except (IndexError, UnicodeDecodeError) as error:
        raise bad_request(f"the protobuf body of the request is damaged: {error}") from None


def _unknown(data: bytes) -> dict[str, Any]:
    version = kind = ""
    raw = b""
    for number, value in _fields(data):
        if number == 1:
            for inner, text in _fields(_bytes(value)):
                if inner == 1:
                    version = _bytes(text).decode()
                elif inner == 2:
                    kind = _bytes(text).decode()
        elif number == 2:
            raw = _bytes(value)
    name = "EvictionV1" if kind == "Eviction" else kind
    if name not in _MESSAGES:
        raise _cannot(kind)
    found = _read(name, raw)
    if kind == "DeleteOptions":
        return found
    if "data" in found and kind == "Secret":
        found["data"] = dict(found["data"])
    return {"kind": kind, "apiVersion": version, **found}


def _cannot(kind: str) -> Refused:
    return unsupported_body(
        f"the sandbox cannot read {kind or 'this'} in protobuf; send JSON: with kubectl, "
        "add --dry-run=client -o yaml and pipe it to: kubectl apply -f -"
    )


def _read(message: str, data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, value in _fields(data):
        field = _MESSAGES[message].get(number)
        if field is None:
            continue
        if field.kind in {"map", "data"}:
            entry = dict(_fields(_bytes(value)))
            read_ = _text if field.kind == "map" else _base64
            found.setdefault(field.name, {})[_text(entry.get(1, b""))] = read_(entry.get(2, b""))
            continue
        one = _value(field.kind, value)
        if field.many:
            found.setdefault(field.name, []).append(one)
        elif one != "":
            found[field.name] = one
    return found


def _value(kind: str, value: int | bytes) -> Any:
    if kind == "text":
        return _text(value)
    if kind == "int":
        number = value if isinstance(value, int) else 0
        return number - 2**64 if number >= 2**63 else number
    if kind == "bool":
        return bool(value)
    return _read(kind, _bytes(value))


def _text(value: int | bytes) -> str:
    return _bytes(value).decode()


def _base64(value: int | bytes) -> str:
    return base64.b64encode(_bytes(value)).decode()


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise IndexError("a number where text was expected")
    return value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(number, value) of each field of a message."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, form = tag >> 3, tag & 7
        if form == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        length = {1: 8, 5: 4}.get(form, 0)
        if form == 2:
            length, at = _varint(data, at)
        elif not length:
            raise IndexError(f"unknown wire type {form}")
        if at + length > len(data):
            raise IndexError("it ends too early")
        yield number, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
