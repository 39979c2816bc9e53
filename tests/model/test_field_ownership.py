# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Every field of a PodGroup's status has one writer."""

from typing import Any

from enbloc.api import PodGroupStatus, RoleStatus
from enbloc.model.field_ownership import CONTROLLER_FIELDS, SCHEDULER_FIELDS
from enbloc.model.names import Condition

OWNERS = (SCHEDULER_FIELDS, CONTROLLER_FIELDS)


def aliases(model: type[PodGroupStatus | RoleStatus]) -> list[str]:
    """The names of the fields in JSON."""
    return [field.alias or name for name, field in model.model_fields.items()]


def test_every_field_of_the_status_is_owned_once() -> None:
    owned = [field for owner in OWNERS for field in owner.fields]
    assert sorted([*owned, "roles", "conditions"]) == sorted(aliases(PodGroupStatus))


def test_every_field_of_a_role_is_owned_once() -> None:
    owned = [field for owner in OWNERS for field in owner.role_fields]
    assert sorted([*owned, "name"]) == sorted(aliases(RoleStatus))


def test_every_condition_is_owned_once() -> None:
    owned = [condition for owner in OWNERS for condition in owner.conditions]
    assert sorted(owned) == sorted(Condition)


def test_a_part_of_a_status_is_what_its_owner_writes() -> None:
    ready, scheduled = {"type": "Ready"}, {"type": "Scheduled"}
    status: dict[str, Any] = {
        "members": 3,
        "succeeded": 1,
        "run": "job-1",
        "roles": [
            {"name": "worker", "members": 2, "succeeded": 1},
            {"name": "launcher", "members": 1},
        ],
        "conditions": [scheduled, ready],
    }
    assert CONTROLLER_FIELDS.part(status) == {
        "members": 3,
        "roles": [{"name": "launcher", "members": 1}, {"name": "worker", "members": 2}],
        "conditions": [ready],
    }
    assert SCHEDULER_FIELDS.part(status) == {
        "run": "job-1",
        "succeeded": 1,
        "roles": [{"name": "worker", "succeeded": 1}],
        "conditions": [scheduled],
    }
