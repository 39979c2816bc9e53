# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What both processes asked of the real API server in the whole run: all that they may, no more.

These tests come last (conftest.py), and look back through the audit logs: of this run, or of the
runs that left theirs in the folder `--requests`.
"""

import pytest

from enbloc.client.permissions import ROLES
from tests.e2e.requests import Requests

pytestmark = pytest.mark.controlplane

#: Kinds of Kubernetes 1.37; the tests of them have a sandbox.
NOT_SERVED = ("compositepodgroups",)
#: What the API server asks for within another request, so that no audit log shows it.
WITHIN_ANOTHER = ("resourceclaims/binding",)


@pytest.fixture
def requests(request: pytest.FixtureRequest) -> Requests:
    folder = request.config.getoption("requests")
    if folder is not None:
        return Requests.kept_in(folder)
    return Requests.of(request.getfixturevalue("controlplane_target"))


def test_neither_process_was_ever_refused_a_permission(requests: Requests) -> None:
    assert requests.made, "nothing was asked for: run these tests with or after the others"
    assert requests.refused == []


def test_every_permission_that_is_granted_was_used(requests: Requests) -> None:
    granted = {
        (component, verb, resource, rule.group)
        for component, rules in ROLES.items()
        for rule in rules
        for resource in rule.resources
        for verb in rule.verbs
        if resource.partition("/")[0] not in NOT_SERVED and resource not in WITHIN_ANOTHER
    }
    assert granted - requests.made == set(), "granted, and never used in this run of the suite"
