# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller says of a group, as sentences."""

from dataclasses import replace

from enbloc.controller.reconcile import reconcile
from enbloc.model.groups import Role
from enbloc.model.pods import PodUID
from tests.controller.statuses import (
    NOW,
    PAIR,
    bound,
    failed,
    pending,
    pods,
    running,
    succeeded,
    terminating,
)


def test_the_counts_are_of_live_members() -> None:
    group = replace(PAIR, roles=(Role("worker", 1), Role("launcher", 1)))
    members = [
        *pods(running, bound, pending, succeeded, failed, terminating, role="worker"),
        replace(running, uid=PodUID("other"), role="launcher"),
    ]

    patch = reconcile(group, {}, members, {}, NOW)

    assert patch is not None
    counts = {key: patch[key] for key in ("members", "scheduled", "ready", "failed")}
    assert counts == {"members": 4, "scheduled": 3, "ready": 2, "failed": 1}
    assert patch["roles"] == [
        {"name": "launcher", "members": 1, "scheduled": 1, "ready": 1},
        {"name": "worker", "members": 3, "scheduled": 2, "ready": 1},
    ]
