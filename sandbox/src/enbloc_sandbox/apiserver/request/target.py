# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Paths and methods to what they ask for: resource, namespace, name, subresource, verb."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from enbloc_sandbox.apiserver.status import NoPath, Refused, no_route, not_allowed, not_found
from enbloc_sandbox.apiserver.storage.catalog import Catalog, Resource
from enbloc_sandbox.apiserver.storage.store import Key

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

#: What the sandbox leaves out, and what to say about it.
_LEFT_OUT: Final = {
    "log": "pods of the sandbox run nothing: there are no logs",
    "exec": "pods of the sandbox run nothing: exec is not supported",
    "attach": "pods of the sandbox run nothing: attach is not supported",
    "portforward": "pods of the sandbox run nothing: port-forward is not supported",
    "proxy": "the sandbox has no proxy",
    "token": "the sandbox has no authentication: there are no tokens",
    "ephemeralcontainers": "the sandbox does not support ephemeral containers",
    "resize": "the sandbox does not support resizing pods in place",
    "approval": "the sandbox signs no certificates",
}


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about."""

    resource: Resource
    namespace: str
    name: str
    subresource: str
    verb: str

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return (self.namespace, self.name)

    @property
    def what(self) -> str:
        """`pods`, `pods/binding`."""
        plural = self.resource.plural
        return f"{plural}/{self.subresource}" if self.subresource else plural


def resolve(catalog: Catalog, method: str, path: str, query: Mapping[str, str]) -> Target:
    """The target of a request below /api or /apis; Refused 404 or 405."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise no_route()
    namespace = ""
    if (
        len(rest) > 2
        and rest[0] == "namespaces"
        and not (group == "" and len(rest) == 3 and rest[2] in {"status", "finalize"})
    ):
        namespace, rest = rest[1], rest[2:]
    if len(rest) > 3 or "" in rest:
        raise no_route()
    resource = catalog.get(group, version, rest[0])
    if resource is None and not catalog.is_builtin(group):
        raise NoPath
    if resource is None or (namespace and not resource.namespaced):
        raise no_route()
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if name and resource.namespaced and not namespace:
        raise no_route()
    verb = _verb(method, name, query)
    target = Target(resource, namespace, name, subresource, verb)
    _check_served(target, method)
    return target


def _verb(method: str, name: str, query: Mapping[str, str]) -> str:
    if method == "GET":
        if name:
            return "get"
        return "watch" if query.get("watch") in {"true", "1"} else "list"
    if method == "DELETE" and not name:
        return "deletecollection"
    verb = _VERBS.get(method)
    if verb is None:
        raise not_allowed()
    return verb


def _check_served(target: Target, method: str) -> None:
    verbs = target.resource.verbs
    if target.subresource:
        sub = target.resource.subresources.get(target.subresource)
        if sub is None:
            raise _left_out(target)
        verbs = sub.verbs
    allowed = target.verb in verbs
    # A POST names its object in the body, all other writes in the path.
    fits = bool(target.name) == (target.verb not in {"create", "list", "deletecollection"})
    if target.verb == "watch" or (target.subresource and target.verb == "create"):
        fits = True
    if not (allowed and fits):
        raise not_allowed()
    if target.resource.namespaced and not target.namespace and method != "GET":
        raise not_allowed()


def _left_out(target: Target) -> Refused:
    why = _LEFT_OUT.get(target.subresource)
    if target.resource.custom is not None:
        return not_found(target.resource, target.name)
    if why is None:
        return no_route()
    return not_allowed(f"{target.what}: {why}")
