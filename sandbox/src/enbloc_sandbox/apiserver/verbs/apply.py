# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Server-side apply: merge what a manager wants, with conflicts, and drop what it gave up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from enbloc_sandbox.apiserver import status
from enbloc_sandbox.apiserver.request.options import Options
from enbloc_sandbox.apiserver.request.target import Target
from enbloc_sandbox.apiserver.schema.types import ANYTHING, Shape, Type
from enbloc_sandbox.apiserver.storage.store import Item, decode, encode
from enbloc_sandbox.apiserver.verbs import fields
from enbloc_sandbox.apiserver.verbs.api import Api, parsed
from enbloc_sandbox.apiserver.verbs.fields import Manager, Path, Paths, element, keyed

Document = Mapping[str, Any]


def create(api: Api, target: Target, body: dict[str, Any], options: Options) -> Item:
    """Apply an object that does not exist yet."""
    _check(target, body, options)
    metadata = {**(body.get("metadata") or {}), "name": target.name}
    # A version is a condition on what is there; nothing is.
    metadata.pop("resourceVersion", None)
    document = {**body, "metadata": metadata}
    mine = _mine(api, target, document, options)
    managed = (mine,) if mine.fields else ()
    return api.create(target.resource, target.namespace, document, options, managed)


def update(api: Api, target: Target, body: dict[str, Any], options: Options) -> Item:
    """Apply to an object; Refused 409 when another manager owns a field with another value."""
    _check(target, body, options)
    kind = api.type_of(target.resource)
    document = {**body, "metadata": {**(body.get("metadata") or {}), "name": target.name}}
    mine = _mine(api, target, document, options)
    stored = api.stored(target.resource, target.key)
    managers = stored.managed or _before_first_apply(api, target, stored)
    before = next((one for one in managers if one.who == mine.who), None)
    merged: dict[str, Any] = {}

    def change(old: Item) -> Document:
        wanted = merge(kind, old.obj, _apart(target, document))
        given_up = (before.fields if before else frozenset()) - mine.fields
        others = frozenset(p for one in managers if one.who != mine.who for p in one.fields)
        merged.update(remove(kind, wanted, given_up - others, mine.fields))
        metadata = {**merged["metadata"]}
        metadata.pop("managedFields", None)
        metadata.pop("resourceVersion", None)
        given = (body.get("metadata") or {}).get("resourceVersion")
        if given:
            metadata["resourceVersion"] = given
        return {**merged, "metadata": metadata}

    def owners(old: Item) -> tuple[Manager, ...]:
        touched, removed = fields.compare(kind, old.obj, merged)
        conflicts = _conflicts(managers, mine, touched)
        if conflicts and not options.force:
            raise _conflict(conflicts)
        kept: list[Manager] = []
        for one in managers:
            if one.who == mine.who:
                continue
            lost = touched & mine.fields & one.fields
            left = one.fields - lost
            if left:
                kept.append(replace(one, fields=left) if lost else one)
        if mine.fields:
            # Only who changes the object gets a new time.
            time = mine.time if touched or removed else before.time if before else ""
            kept.append(replace(mine, time=time))
        return fields.in_order(kept)

    return api.change(target.resource, target.key, change, options, target.subresource, owners)


def _before_first_apply(api: Api, target: Target, item: Item) -> tuple[Manager, ...]:
    """The owner of all that nobody has been recorded to own."""
    who = Manager(
        "before-first-apply", "Update", item.obj["apiVersion"], "", api.now(), frozenset()
    )
    change = fields.compare(api.type_of(target.resource), {}, item.obj)
    return fields.after_update((), who, change, ())


def _check(target: Target, body: Document, options: Options) -> None:
    if not options.named:
        error = status.required("fieldManager", "is required for apply patch")
        raise status.invalid_options("PatchOptions", error)
    group, _, version = str(body.get("apiVersion") or "").rpartition("/")
    named = f"{group}/{version}, Kind={body.get('kind') or ''}"
    if body.get("kind") != target.resource.kind or not version:
        raise status.bad_request(f"invalid object type: {named}")
    metadata = body.get("metadata") or {}
    if metadata.get("managedFields"):
        raise status.bad_request("metadata.managedFields must be nil")
    if metadata.get("name", target.name) != target.name:
        raise status.bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL "
            f"({target.name})"
        )
    if unknown := parsed(target.resource, body)[1]:
        texts = [f".{path}: field not declared in schema" for path in unknown]
        text = texts[0] if len(texts) == 1 else "\n  ".join(["errors:", *texts])
        where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {named}"
        raise status.Refused(500, "", f"failed to create typed patch object ({where}): {text}")


def _apart(target: Target, document: Document) -> dict[str, Any]:
    """What this endpoint may write."""
    resource = target.resource
    if target.subresource == "status":
        names = {"apiVersion", "kind", "metadata", "status"}
        return {name: value for name, value in document.items() if name in names}
    if "status" in resource.subresources:
        return {name: value for name, value in document.items() if name != "status"}
    return dict(document)


def _mine(api: Api, target: Target, document: Document, options: Options) -> Manager:
    paths = fields.applied(api.type_of(target.resource), _apart(target, document))
    version = target.resource.api_version
    return Manager(options.manager, "Apply", version, target.subresource, api.now(), paths)


def merge(kind: Type, live: Any, wanted: Any) -> Any:
    """The live value with what is wanted in it."""
    if (
        isinstance(wanted, dict)
        and isinstance(live, dict)
        and not kind.atomic
        and kind.shape is not Shape.SCALAR
    ):
        merged = dict(live)
        for name, value in wanted.items():
            child = kind.child(name)
            merged[name] = merge(child, live[name], value) if name in live else value
        return merged
    if keyed(kind, wanted) and keyed(kind, live):
        items = kind.items or ANYTHING
        asked = {element(kind, one): one for one in wanted}
        have = {element(kind, one): one for one in live}
        kept = [merge(items, one, asked[pe]) if pe in asked else one for pe, one in have.items()]
        return [*kept, *(one for pe, one in asked.items() if pe not in have)]
    return wanted


def remove(kind: Type, value: Any, paths: Paths, keep: Paths) -> Any:
    """The value without these paths; containers stay while something owned is in them."""
    held = {path[:i] for path in keep for i in range(1, len(path) + 1)}
    return _without(kind, value, (), paths, held)


def _without(kind: Type, value: Any, at: Path, paths: Paths, held: set[Path]) -> Any:
    if not any(path[: len(at)] == at for path in paths):
        return value
    if isinstance(value, dict) and not kind.atomic:
        found: dict[str, Any] = {}
        for name, one in value.items():
            inner = (*at, f"f:{name}")
            if inner in paths and inner not in held:
                continue
            found[name] = _without(kind.child(name), one, inner, paths, held)
            if found[name] in ({}, []) and one not in ({}, []) and inner not in held:
                del found[name]
        return found
    if keyed(kind, value):
        items = kind.items or ANYTHING
        return [
            _without(items, one, inner, paths, held)
            for one in value
            for inner in [(*at, element(kind, one))]
            if inner not in paths or inner in held
        ]
    return value


def _conflicts(
    managers: tuple[Manager, ...], mine: Manager, touched: Paths
) -> list[tuple[Manager, Path]]:
    changed = touched & mine.fields
    return [
        (one, path)
        for one in managers
        if one.who != mine.who
        for path in sorted(one.fields & changed)
    ]


def _conflict(conflicts: list[tuple[Manager, Path]]) -> status.Refused:
    causes: list[dict[str, str]] = []
    lines: dict[str, list[str]] = {}
    for manager, path in conflicts:
        sub = f' with subresource "{manager.subresource}"' if manager.subresource else ""
        who = f'conflict with "{manager.name}"{sub} using {manager.api_version}'
        if manager.operation == "Apply":
            who = f'conflict with "{manager.name}"{sub}'
        causes.append({"reason": "FieldManagerConflict", "message": who, "field": _shown(path)})
        lines.setdefault(who, []).append(_shown(path))
    count = len(conflicts)
    head = f"Apply failed with {count} conflict{'s' if count > 1 else ''}: "
    if count == 1:
        who, paths = next(iter(lines.items()))
        message = f"{head}{who}: {paths[0]}"
    else:
        groups = [
            "\n- ".join([who.replace("conflict", "conflicts", 1) + ":", *paths])
            for who, paths in lines.items()
        ]
        message = head + "\n".join(groups)
    return status.Refused(409, "Conflict", message, {"causes": causes})


def _shown(path: Path) -> str:
    text = ""
    for one in path:
        kind, _, rest = one.partition(":")
        if kind == "f":
            text += f".{rest}"
        elif kind == "k":
            keys = decode(rest.encode())
            text += "[" + ",".join(f"{k}={encode(v).decode()}" for k, v in keys.items()) + "]"
        else:
            text += f"[={rest}]"
    return text
