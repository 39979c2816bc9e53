# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Groups, members and statuses, in the few words that a sentence needs."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from enbloc.controller.creators import JOB, Creator
from enbloc.controller.members import Member
from enbloc.controller.reconcile import StatusPatch, reconcile
from enbloc.controller.runs import FIRST_LOOK, RunHistory
from enbloc.model.field_ownership import CONTROLLER_FIELDS
from enbloc.model.groups import Group, GroupKey
from enbloc.model.names import Condition
from enbloc.model.pods import Phase, PodUID

NOW = 1_700_000_000.0
KEY = GroupKey("team-a", "train")
PAIR = Group(KEY, uid="g", min_member=2, generation=1)
STAMP = {"observedGeneration": 1, "lastTransitionTime": "2023-11-14T22:00:00Z"}

pending = Member(PodUID("pending"), created=NOW)
bound = replace(pending, bound=True)
running = replace(bound, phase=Phase.RUNNING, ready=True)
succeeded = replace(pending, phase=Phase.SUCCEEDED, live=False)
failed = replace(succeeded, phase=Phase.FAILED)
terminating = replace(running, live=False, bound=False, ready=False)


def pods(*members: Member, **changes: Any) -> list[Member]:
    """These members, each a pod of its own, with these changes."""
    return [replace(m, uid=PodUID(f"pod-{i}"), **changes) for i, m in enumerate(members)]


def says(*conditions: tuple[str, str, str, str], **fields: Any) -> dict[str, Any]:
    """A status with these conditions: type, status, reason, message."""
    keys = ("type", "status", "reason", "message")
    items = [dict(zip(keys, c, strict=True)) | STAMP for c in conditions]
    return {"conditions": items, **fields}


def scheduled(status: str, reason: str, message: str = "by the scheduler") -> dict[str, Any]:
    return says(("Scheduled", status, reason, message))


def jobs(**ends: bool | None) -> dict[str, Creator]:
    """Jobs by UID, and how each ended; None = it goes on."""
    return {uid: Creator(JOB, uid, uid, ended=end, pods=8) for uid, end in ends.items()}


class Watcher:
    """One who looks at a group again and again, and whose writes succeed."""

    def __init__(
        self, group: Group, status: Mapping[str, Any], history: RunHistory = FIRST_LOOK
    ) -> None:
        self.group, self.status, self.history = group, dict(status), history

    def looks(
        self,
        members: Collection[Member],
        creators: Mapping[str, Creator],
        now: float = NOW,
        **memory: Any,
    ) -> StatusPatch | None:
        """What is written, after the scheduler has written so much of its memory."""
        if memory:
            self.group = replace(self.group, memory=replace(self.group.memory, **memory))
        found = reconcile(self.group, self.status, members, creators, now, self.history)
        self.status, self.history = applied(self.status, found.patch), found.history
        return found.patch

    def end(self) -> tuple[str, str] | None:
        """Reason and time of condition Finished, if it stands."""
        for c in self.status["conditions"]:
            if c["type"] == Condition.FINISHED:
                return c["reason"], c["lastTransitionTime"]
        return None

    def ready(self) -> tuple[str, str]:
        """Reason and message of condition Ready."""
        ready = condition(self.status, "Ready")
        return ready["reason"], ready["message"]


def condition(status: Mapping[str, Any] | None, type_: str) -> dict[str, Any]:
    assert status is not None
    return next(c for c in status["conditions"] if c["type"] == type_)


def applied(status: Mapping[str, Any], patch: StatusPatch | None) -> dict[str, Any]:
    """The status after server-side apply of the controller's part, if there is one to apply."""
    if patch is None:
        return dict(status)
    ours = {Condition.READY, Condition.FINISHED}
    theirs = [c for c in status.get("conditions", ()) if c["type"] not in ours]
    roles = {role["name"]: dict(role) for role in status.get("roles", ())}
    for role in patch.get("roles", ()):
        roles[role["name"]] = roles.get(role["name"], {}) | role
    kept = {name: value for name, value in status.items() if name not in CONTROLLER_FIELDS.fields}
    merged = {**kept, **patch, "conditions": theirs + patch["conditions"]}
    return merged | ({"roles": list(roles.values())} if roles else {})
