# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import pytest

from enbloc.wire.conditions import group_condition, pod_condition
from enbloc.wire.objects import GroupConditionObject

T0, T1 = "2027-01-15T08:00:00Z", "2027-01-15T08:01:00Z"
NOW = 1_800_000_060.9

STANDING = GroupConditionObject("Scheduled", "False", 1, T0, "Unschedulable", "no room")


@pytest.mark.parametrize(
    ("standing", "status", "since"),
    [
        pytest.param(None, "False", T1, id="a condition that is new"),
        pytest.param(STANDING, "False", T0, id="another message keeps the time"),
        pytest.param(STANDING, "True", T1, id="another status moves it"),
        pytest.param(
            GroupConditionObject("Scheduled", "False"), "False", T1, id="one without a time"
        ),
    ],
)
def test_the_transition_time_of_a_group_condition_moves_with_its_status_alone(
    standing: GroupConditionObject | None, status: str, since: str
) -> None:
    condition = group_condition("Scheduled", status, "Why", "x" * 1100, 7, NOW, standing)
    assert condition.last_transition_time == since
    assert (condition.status, condition.observed_generation) == (status, 7)
    assert condition.message is not None
    assert len(condition.message) == 1024


def test_a_patch_of_a_pod_condition_names_the_time_only_where_the_status_changes() -> None:
    changed = pod_condition("PodScheduled", "False", "Unschedulable", "no room", NOW, same=False)
    again = pod_condition("PodScheduled", "False", "Unschedulable", "no room", NOW, same=True)
    assert changed == {**again, "lastTransitionTime": T1}
    assert again == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no room",
    }


def test_messages_are_escaped_before_they_are_cut() -> None:
    said = "\x1b[31m\u202e" + "x" * 2000
    for message in (
        group_condition("Scheduled", "False", "Pending", said, 1, 0.0, None).message or "",
        pod_condition("PodScheduled", "False", "Pending", said, 0.0, same=False)["message"],
    ):
        assert message.startswith(r"\x1b[31m\u202exxx")
        assert len(message) <= 1024
