# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Tables for `kubectl get`: a row for each object, in the columns of the real API server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from enbloc.sandbox import columns
from enbloc.sandbox.catalog import Resource
from enbloc.sandbox.store import Item, decode
from enbloc.sandbox.views import viewed


def table(
    resource: Resource,
    items: Iterable[Item],
    now: float,
    metadata: Mapping[str, Any],
    include: str,
) -> dict[str, Any]:
    """The Table of some objects.

    `now` (seconds since the epoch) is for ages, `metadata` that of the list or the only object;
    `include` says what each row carries of its object: None, Metadata or Object.
    """
    definitions, cells = columns.of(resource)
    rows: list[dict[str, Any]] = []
    for stored in items:
        item = viewed(resource, stored)
        row: dict[str, Any] = {"cells": cells(item.obj, now)}
        if include == "Object":
            row["object"] = decode(item.data)
        elif include == "Metadata":
            row["object"] = partial(item)
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def partial(item: Item) -> dict[str, Any]:
    """The PartialObjectMetadata of an object."""
    metadata = dict(item.obj["metadata"])
    if item.managed:
        metadata["managedFields"] = [one.entry() for one in item.managed]
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata}
