# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What both processes asked of the real API server in the whole run: all that they may, no more.

These tests come last (conftest.py), and look back through the audit log.
"""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest

from enbloc.kube.permissions import ROLES
from tests.e2e.targets import ControlPlaneTarget, user_name

pytestmark = pytest.mark.controlplane

#: Who asked, the verb, the resource as RBAC spells it, its group.
Request = tuple[str, str, str, str]


def requests(target: ControlPlaneTarget) -> Iterator[tuple[Request, dict[str, Any]]]:
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


def exempt(target: ControlPlaneTarget, request: Request, event: dict[str, Any]) -> bool:
    """Whether a refusal at that time is a test's own doing."""
    _, verb, resource, _ = request
    at = dt.datetime.fromisoformat(event["requestReceivedTimestamp"])
    return any(
        each.since <= at <= each.until
        and each.verb in (None, verb)
        and each.resource in (None, resource)
        for each in target.exempt
    )


def test_neither_process_was_ever_refused_a_permission(
    controlplane_target: ControlPlaneTarget,
) -> None:
    decided = [
        (event["annotations"].get("authorization.k8s.io/decision"), request, event)
        for request, event in requests(controlplane_target)
    ]
    refused = [
        (request, event["requestReceivedTimestamp"])
        for decision, request, event in decided
        if decision != "allow" and not exempt(controlplane_target, request, event)
    ]
    assert decided, "nothing was asked for: run these tests with the others"
    assert refused == []


def test_every_permission_that_is_granted_was_used(
    controlplane_target: ControlPlaneTarget,
) -> None:
    granted = {
        (component, verb, resource, rule.group)
        for component, rules in ROLES.items()
        for rule in rules
        for resource in rule.resources
        for verb in rule.verbs
    }
    used = {request for request, _ in requests(controlplane_target)}
    assert granted - used == set(), "granted, and never used in this run of the suite"
