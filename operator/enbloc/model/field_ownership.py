# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which fields of a PodGroup's status each field manager owns: one writer per field."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from enbloc.model.names import CONTROLLER_MANAGER, SCHEDULER_MANAGER, Condition


@dataclass(frozen=True, slots=True)
class OwnedFields:
    """What one field manager writes in a status; lists of maps are shared item by item.

    Attributes:
        manager: the field manager of its server-side apply; a scheduler's names its profiles too.
        fields: fields of `status`, except `roles` and `conditions`.
        role_fields: fields of each item of `status.roles`, besides its name.
        conditions: types of items of `status.conditions`.
    """

    manager: str
    fields: tuple[str, ...]
    role_fields: tuple[str, ...]
    conditions: tuple[Condition, ...]

    def part(self, status: Mapping[str, Any]) -> dict[str, Any]:
        """The part of a status (JSON) that this manager owns; conditions in table order."""
        part = {field: status[field] for field in self.fields if field in status}
        roles = [
            {field: role[field] for field in ("name", *self.role_fields) if field in role}
            for role in status.get("roles") or ()
            if any(field in role for field in self.role_fields)
        ]
        if roles:
            part["roles"] = sorted(roles, key=lambda role: str(role["name"]))
        conditions = {item["type"]: item for item in status.get("conditions") or ()}
        part["conditions"] = [conditions[kind] for kind in self.conditions if kind in conditions]
        return part


SCHEDULER_FIELDS: Final = OwnedFields(
    SCHEDULER_MANAGER,
    (
        "run",
        "startedTime",
        "succeeded",
        "priority",
        "attempts",
        "lastAttemptTime",
        "nextAttemptTime",
        "runs",
        "topology",
    ),
    ("succeeded",),
    (
        Condition.SCHEDULED,
        Condition.INITIALLY_SCHEDULED,
        Condition.SATISFIED,
        Condition.DISRUPTION_TARGET,
    ),
)

CONTROLLER_FIELDS: Final = OwnedFields(
    CONTROLLER_MANAGER,
    ("observedGeneration", "members", "scheduled", "ready", "failed", "expected"),
    ("members", "scheduled", "ready"),
    (Condition.READY, Condition.FINISHED),
)
