# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""The scale subresource of workloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from enbloc_sandbox.apiserver.request.options import Options
from enbloc_sandbox.apiserver.request.target import Target
from enbloc_sandbox.apiserver.status import bad_request, invalid, wrong
from enbloc_sandbox.apiserver.storage.store import Item, make_item
from enbloc_sandbox.apiserver.verbs.api import Api

Document = Mapping[str, Any]


def of(item: Item) -> Item:
    """The Scale of an object."""
    metadata, spec, state = item.obj["metadata"], item.obj["spec"], item.obj.get("status") or {}
    selector = spec.get("selector") or {}
    labels: Mapping[str, str] = selector.get("matchLabels", selector) or {}
    scale = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            name: metadata[name] for name in ("name", "namespace", "uid", "creationTimestamp")
        },
        "spec": {"replicas": spec.get("replicas", 1)},
        "status": {
            "replicas": state.get("replicas", 0),
            "selector": ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
        },
    }
    return make_item(item.key, scale, (), item.rv)


def update(api: Api, target: Target, change: Callable[[Document], Any], options: Options) -> Item:
    """Change the number of replicas; Refused 400, 409, 422."""
    resource = target.resource
    before = of(api.get(resource, target.key))
    wanted = change(before.obj)
    replicas = (wanted.get("spec") or {}).get("replicas", 0)
    if isinstance(replicas, bool) or not isinstance(replicas, int):
        raise bad_request("spec.replicas of a Scale must be a number")
    if replicas < 0:
        error = wrong("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid(resource, target.name, [error])
    rv = wanted["metadata"].get("resourceVersion")

    def scaled(item: Item) -> Document:
        metadata = {**item.obj["metadata"]}
        if rv:
            metadata["resourceVersion"] = rv
        spec = {**item.obj["spec"], "replicas": replicas}
        return {**item.obj, "metadata": metadata, "spec": spec}

    return of(api.change(resource, target.key, scaled, options, "scale"))
