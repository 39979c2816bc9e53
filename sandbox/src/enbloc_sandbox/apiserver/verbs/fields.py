# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Who owns which field: `managedFields` as sets of paths.

A path is a tuple of FieldsV1 elements: `f:spec`, `k:{"name":"c"}`, `v:"x"`. The sets are those of
structured-merge-diff: an update owns what it added or changed, containers included; an apply owns
the leaves that it names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec

from enbloc_sandbox.apiserver.schema.types import ANYTHING, Shape, Type

Path = tuple[str, ...]
Paths = frozenset[Path]

_MISSING: Final = object()

#: Metadata that belongs to the server, never to a manager.
_SERVER: Final = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in (
            "name", "namespace", "creationTimestamp", "selfLink", "uid", "generation",
            "managedFields", "resourceVersion",
        )
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Manager:
    """One entry of `managedFields`."""

    name: str
    operation: str
    api_version: str
    subresource: str
    time: str
    fields: Paths

    @property
    def who(self) -> tuple[str, str, str, str]:
        """What tells entries apart."""
        return (self.name, self.operation, self.api_version, self.subresource)

    def entry(self) -> dict[str, Any]:
        """The entry as JSON; the fields are already encoded."""
        found: dict[str, Any] = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": _encoded(self.fields),
        }
        if self.time:
            found["time"] = self.time
        if self.subresource:
            found["subresource"] = self.subresource
        return found


@lru_cache(maxsize=4096)
def _encoded(paths: Paths) -> msgspec.Raw:
    # Alike objects have alike owners: most trees are found in the cache.
    return msgspec.Raw(msgspec.json.encode(tree(paths)))


def tree(paths: Iterable[Path]) -> dict[str, Any]:
    """FieldsV1 of a set of paths."""
    root: dict[str, Any] = {}
    ordered = sorted(paths)
    inner = {path[:i] for path in ordered for i in range(1, len(path))}
    for path in ordered:
        node = root
        for element in path:
            node = node.setdefault(element, {})
        if path in inner:
            node["."] = {}
    return root


def paths_of(fields: Mapping[str, Any]) -> Paths:
    """The set of paths of FieldsV1."""
    found: set[Path] = set()

    def walk(node: Mapping[str, Any], path: Path) -> None:
        for element, child in node.items():
            if element == ".":
                found.add(path)
            elif child:
                walk(child, (*path, element))
            else:
                found.add((*path, element))

    walk(fields, ())
    return frozenset(found)


def parse_managers(entries: Iterable[Mapping[str, Any]]) -> tuple[Manager, ...]:
    """`managedFields` as a client sends it."""
    return tuple(
        Manager(
            entry.get("manager", ""),
            entry.get("operation", "Update"),
            entry.get("apiVersion", ""),
            entry.get("subresource", ""),
            entry.get("time", ""),
            paths_of(entry.get("fieldsV1") or {}),
        )
        for entry in entries
    )


def element(kind: Type, item: Any) -> str:
    """The path element of an item of a keyed list or set."""
    if kind.list_type == "set":
        return "v:" + json.dumps(item, separators=(",", ":"))
    defaults = kind.items.key_defaults if kind.items else {}
    keys = {key: item.get(key, defaults.get(key)) for key in sorted(kind.keys)}
    keys = {key: value for key, value in keys.items() if value is not None}
    return "k:" + json.dumps(keys, separators=(",", ":"))


def keyed(kind: Type, value: Any) -> bool:
    """Whether a value is a list whose items have owners of their own."""
    return (
        kind.shape is Shape.LIST
        and isinstance(value, list)
        and (kind.list_type == "set" or (kind.list_type == "map" and bool(kind.keys)))
    )


def _branches(kind: Type, value: Any) -> bool:
    # What no schema describes (shape ANY) is deduced: maps branch, lists are atomic.
    return isinstance(value, dict) and not kind.atomic and kind.shape is not Shape.SCALAR


def compare(kind: Type, before: Any, after: Any) -> tuple[Paths, Paths]:
    """What an update added or changed, and what it removed."""
    touched: set[Path] = set()
    removed: set[Path] = set()
    _compare(kind, before, after, (), touched, removed)
    return frozenset(touched - _SERVER), frozenset(removed - _SERVER)


def _compare(
    kind: Type, before: Any, after: Any, path: Path, touched: set[Path], removed: set[Path]
) -> None:
    if before is after or (before is _MISSING and after is None):
        return
    if after is _MISSING:
        _all(kind, before, path, removed)
    elif before is _MISSING:
        _all(kind, after, path, touched)
    elif _branches(kind, before) and _branches(kind, after):
        for name in before.keys() | after.keys():
            old, new = before.get(name, _absent(kind, name)), after.get(name, _MISSING)
            _compare(kind.child(name), old, new, (*path, f"f:{name}"), touched, removed)
    elif keyed(kind, before) and keyed(kind, after):
        items = kind.items or ANYTHING
        old_items = {element(kind, item): item for item in before}
        new_items = {element(kind, item): item for item in after}
        for pe in old_items.keys() | new_items.keys():
            old, new = old_items.get(pe, _MISSING), new_items.get(pe, _MISSING)
            _compare(items, old, new, (*path, pe), touched, removed)
    elif before != after:
        touched.add(path)


def _absent(kind: Type, name: str) -> Any:
    """What the API server writes for a field that was not given, if anything."""
    if not kind.key_defaults.get(name, True):
        return kind.key_defaults[name]
    if name in kind.required and kind.child(name).shape is Shape.LIST:
        return []
    return _MISSING


def _all(kind: Type, value: Any, path: Path, found: set[Path]) -> None:
    """Every node of a value, containers included."""
    if path:
        found.add(path)
    if _branches(kind, value):
        for name, child in value.items():
            _all(kind.child(name), child, (*path, f"f:{name}"), found)
    elif keyed(kind, value):
        for item in value:
            _all(kind.items or ANYTHING, item, (*path, element(kind, item)), found)


def applied(kind: Type, value: Any) -> Paths:
    """What an apply of this document owns: its leaves, and the items of keyed lists."""
    found: set[Path] = set()
    _applied(kind, value, (), found)
    return frozenset(found - _SERVER)


def _applied(kind: Type, value: Any, path: Path, found: set[Path]) -> None:
    if _branches(kind, value):
        for name, child in value.items():
            inner = (*path, f"f:{name}")
            _applied(kind.child(name), child, inner, found)
            if child is None or child == {} or name not in kind.fields:
                found.add(inner)
    elif keyed(kind, value):
        for item in value:
            inner = (*path, element(kind, item))
            _applied(kind.items or ANYTHING, item, inner, found)
            found.add(inner)
    else:
        found.add(path)


def after_update(
    managers: tuple[Manager, ...],
    who: Manager,
    change: tuple[Paths, Paths],
    reset: Iterable[str],
) -> tuple[Manager, ...]:
    """The managers after an update by `who` (whose own fields are ignored).

    Args:
        managers: those before.
        who: the name, operation, version, subresource and time of the update.
        change: what was added or changed, and what was removed (see `compare`).
        reset: top-level fields that this endpoint never writes.
    """
    touched, removed = (without(paths, reset) for paths in change)
    if not touched and not removed:
        return managers
    kept: list[Manager] = []
    mine: Paths = frozenset()
    found = False
    for manager in managers:
        if manager.who == who.who:
            mine, found = manager.fields, True
            fields = (mine - removed) | touched
            time = manager.time if fields == mine else who.time
        else:
            fields, time = manager.fields - removed - touched, manager.time
        if fields:
            kept.append(_with(manager, fields, time))
    if not found and touched:
        kept.append(_with(who, touched, who.time))
    return in_order(kept)


def in_order(managers: Iterable[Manager]) -> tuple[Manager, ...]:
    """The managers as the API server lists them: appliers first, older before newer."""
    return tuple(
        sorted(managers, key=lambda m: (m.operation, m.time, m.name, m.api_version, m.subresource))
    )


def _with(manager: Manager, fields: Paths, time: str) -> Manager:
    if fields == manager.fields and time == manager.time:
        return manager
    return Manager(
        manager.name, manager.operation, manager.api_version, manager.subresource, time, fields
    )


def without(paths: Paths, reset: Iterable[str]) -> Paths:
    """The paths outside these top-level fields."""
    roots = {f"f:{name}" for name in reset}
    return frozenset(p for p in paths if p[0] not in roots) if roots else paths
