# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The patch types but apply: merge patch, JSON patch, strategic merge patch."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

import jsonpatch

from enbloc_sandbox.apiserver.schema.types import ANYTHING, Shape, Type
from enbloc_sandbox.apiserver.status import Refused, bad_request

_DIRECTIVES: Final = ("$patch", "$retainKeys")
_ORDER: Final = "$setElementOrder/"
_PRIMITIVES: Final = "$deleteFromPrimitiveList/"


def merge_patch(document: Any, patch: Any) -> Any:
    """RFC 7386: null removes, objects merge, all else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def json_patch(document: Mapping[str, Any], operations: Any) -> Any:
    """RFC 6902; Refused 422 when an operation does not apply, 400 when it is none."""
    try:
        return jsonpatch.JsonPatch(operations).apply(copy.deepcopy(document))
    except (
        jsonpatch.JsonPatchConflict,
        jsonpatch.JsonPatchTestFailed,
        jsonpatch.JsonPointerException,
    ) as error:
        message = "the server rejected our request due to an error in our request"
        raise Refused(422, "Invalid", message, {}) from error
    except (jsonpatch.JsonPatchException, TypeError, AttributeError) as error:
        raise bad_request(f"error decoding patch: {error}") from error


def strategic_merge(kind: Type, document: Mapping[str, Any], patch: Any) -> dict[str, Any]:
    """A merge that knows which lists have keys; Refused 400 for a malformed patch."""
    if not isinstance(patch, dict):
        raise bad_request("error decoding patch: a strategic merge patch is an object")
    merged = _map(kind, document, patch)
    return {} if merged is None else merged


def _map(
    kind: Type, document: Mapping[str, Any], patch: Mapping[str, Any]
) -> dict[str, Any] | None:
    directive = patch.get("$patch", "merge")
    body = {name: value for name, value in patch.items() if name not in _DIRECTIVES}
    if directive == "delete":
        return None
    if directive == "replace":
        return _clean(body)
    if directive != "merge":
        raise Refused(500, "", f"unknown patch type: {directive} in map: {_shown(patch)}")
    merged = dict(document)
    retained = patch.get("$retainKeys")
    if retained is not None:
        merged = {name: value for name, value in merged.items() if name in retained}
    orders = {name: value for name, value in body.items() if name.startswith(_ORDER)}
    for name, value in body.items():
        if name in orders:
            continue
        if name.startswith(_PRIMITIVES):
            plain = name.removeprefix(_PRIMITIVES)
            merged[plain] = [one for one in merged.get(plain) or () if one not in value]
        elif value is None:
            merged.pop(name, None)
        else:
            _field(kind.child(name), name, merged, value)
    _reorder(kind, merged, document, orders)
    return merged


def _reorder(
    kind: Type, merged: dict[str, Any], document: Mapping[str, Any], orders: Mapping[str, list[Any]]
) -> None:
    for directive, order in orders.items():
        name = directive.removeprefix(_ORDER)
        if isinstance(merged.get(name), list):
            before = document.get(name) or []
            merged[name] = _ordered(kind.child(name), merged[name], order, before)


def _field(kind: Type, name: str, merged: dict[str, Any], value: Any) -> None:
    old = merged.get(name)
    if isinstance(value, dict):
        result = _map(kind, old if isinstance(old, dict) else {}, value)
        if result is None:
            merged.pop(name, None)
        else:
            merged[name] = result
    elif isinstance(value, list):
        merged[name] = _list(kind, old if isinstance(old, list) else [], value)
    else:
        merged[name] = value


def _list(kind: Type, old: list[Any], patch: list[Any]) -> list[Any]:
    if kind.shape is not Shape.LIST or not kind.merge_key:
        return [_clean(one) for one in patch]
    if kind.merge_key == "*":
        return _ordered(kind, [*old, *(one for one in patch if one not in old)], patch, old)
    if any(isinstance(one, dict) and one.get("$patch") == "replace" for one in patch):
        return [_clean(one) for one in patch if one.get("$patch") != "replace"]
    key, items = kind.merge_key, kind.items or ANYTHING
    merged = list(old)
    for one in patch:
        if not isinstance(one, dict) or key not in one:
            text = f"map: {_shown(one)} does not contain declared merge key: {key}"
            raise Refused(500, "", text)
        at = next((i for i, have in enumerate(merged) if have.get(key) == one[key]), None)
        result = _map(items, merged[at] if at is not None else {}, one)
        if at is None:
            merged += [] if result is None else [result]
        elif result is None:
            del merged[at]
        else:
            merged[at] = result
    return _ordered(kind, merged, [one[key] for one in patch], old)


def _ordered(kind: Type, values: list[Any], order: list[Any], server: list[Any]) -> list[Any]:
    """What the client names in its order, what only the server has in its own, interleaved.

    Args:
        kind: the list's type.
        values: the merged list.
        order: the identities of what the client names.
        server: the list before the patch.
    """

    def identity(one: Any) -> Any:
        return one.get(kind.merge_key) if isinstance(one, dict) else one

    places = {identity(one): place for place, one in enumerate(server)}
    wanted = [identity(one) if isinstance(one, dict) else one for one in order]
    theirs = sorted(
        (one for one in values if identity(one) in wanted), key=lambda o: wanted.index(identity(o))
    )
    ours = [one for one in values if identity(one) not in wanted]
    found: list[Any] = []
    while ours and theirs:
        left, right = places.get(identity(ours[0])), places.get(identity(theirs[0]))
        first = left is not None and right is not None and left < right
        found.append((ours if first else theirs).pop(0))
    return found + ours + theirs


def _shown(value: Any) -> str:
    """A value as Go prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{k}:{_shown(v)}' for k, v in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_shown, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _clean(value: Any) -> Any:
    """A value without the directives that were meant for a merge."""
    if isinstance(value, dict):
        return {
            name: _clean(one)
            for name, one in value.items()
            if name not in _DIRECTIVES
            and not name.startswith((_ORDER, _PRIMITIVES))
            and one is not None
        }
    if isinstance(value, list):
        return [_clean(one) for one in value]
    return value
