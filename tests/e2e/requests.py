# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What both processes asked of a real API server, by its audit log; kept for those who judge it.

Parts of the suite that run side by side have a server each. Each part leaves what it saw in a
folder (`--requests`), and test_permissions_e2e.py, run after them, reads it.
"""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import msgspec

from enbloc.client.permissions import ROLES
from tests.e2e.targets import ControlPlaneTarget, user_name

Request = tuple[str, str, str, str]
"""Who asked, the verb, the resource as RBAC spells it, its group."""


class Requests(msgspec.Struct):
    """What was asked.

    Attributes:
        made: each kind of request, once.
        refused: those that nobody meant to be refused, and when.
    """

    made: set[Request] = msgspec.field(default_factory=set[Request])
    refused: list[tuple[Request, str]] = msgspec.field(default_factory=list[tuple[Request, str]])

    @classmethod
    def of(cls, target: ControlPlaneTarget) -> Self:
        """What this server was asked until now."""
        found = cls()
        for request, event in _ours(target):
            found.made.add(request)
            annotations = event.get("annotations")
            if annotations is None:  # it ended before it was authorized
                continue
            decision = annotations.get("authorization.k8s.io/decision")
            if decision != "allow" and not _exempt(target, request, event):
                found.refused.append((request, event["requestReceivedTimestamp"]))
        return found

    @classmethod
    def kept_in(cls, folder: Path) -> Self:
        """What all runs left there."""
        found = cls()
        for path in sorted(folder.glob("*.json")):
            one = msgspec.json.decode(path.read_bytes(), type=cls)
            found.made |= one.made
            found.refused += one.refused
        return found

    def keep(self, folder: Path, name: str) -> None:
        """Leave it for `kept_in`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_bytes(msgspec.json.encode(self))


def _ours(target: ControlPlaneTarget) -> Iterator[tuple[Request, dict[str, Any]]]:
    """Every request of ours, with its entry in the audit log."""
    components = {user_name(component): component for component in ROLES}
    for event in target.cp.audit_events():
        component = components.get(event["user"].get("username", ""))  # none: 401
        about = event.get("objectRef")
        if component is None or about is None:  # somebody else, or a URL such as /version
            continue
        parts = [about["resource"], about.get("subresource", "")]
        resource = "/".join(filter(None, parts))
        yield (component, event["verb"], resource, about.get("apiGroup", "")), event


def _exempt(target: ControlPlaneTarget, request: Request, event: dict[str, Any]) -> bool:
    """Whether a refusal at that time is a test's own doing."""
    _, verb, resource, _ = request
    at = dt.datetime.fromisoformat(event["requestReceivedTimestamp"])
    return any(
        each.since <= at <= each.until
        and each.verb in (None, verb)
        and each.resource in (None, resource)
        for each in target.exempt
    )
