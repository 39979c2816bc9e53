# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups of KAI and Gödel, which are read and told nothing."""

from typing import Any

import msgspec
import pytest

from enbloc.controller.sources import godel, kai
from enbloc.controller.sources.source import Derived, Refused


def from_kai(**spec: Any) -> Derived | Refused:
    return kai.derive(msgspec.convert({"metadata": {"name": "g"}, "spec": spec}, kai.KaiPodGroup))


def from_godel(**spec: Any) -> Derived | Refused:
    body = {"metadata": {"name": "g"}, "spec": spec}
    return godel.derive(msgspec.convert(body, godel.GodelPodGroup))


def test_a_podgroup_of_kai_keeps_its_minimum_and_priority() -> None:
    found = from_kai(minMember=4, priorityClassName="train", markUnschedulable=True)
    assert found == Derived({"minMember": 4, "priorityClassName": "train"})


def test_the_lowest_sub_groups_of_kai_are_roles_and_all_are_needed() -> None:
    found = from_kai(
        minMember=1,
        subGroups=[
            {"name": "decode", "minMember": 6},
            {"name": "decode-leader", "parent": "decode", "minMember": 1},
            {"name": "decode-workers", "parent": "decode", "minMember": 4},
            {"name": "prefill", "minMember": 3},
        ],
    )
    assert isinstance(found, Derived)
    assert found.spec == {
        "minMember": 9,
        "roles": [
            {"name": "decode-leader", "minMember": 1},
            {"name": "decode-workers", "minMember": 4},
            {"name": "prefill", "minMember": 3},
        ],
    }


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        ({"queue": "team-a"}, "spec.queue is ignored"),
        ({"preemptibility": "preemptible"}, "spec.preemptibility is ignored"),
        ({"markUnschedulable": False}, "spec.markUnschedulable: false is ignored"),
        ({"topologyConstraint": {"topology": "t"}}, "spec.topologyConstraint is ignored"),
    ],
)
def test_what_of_kai_has_no_effect_is_noted(spec: dict[str, Any], note: str) -> None:
    found = from_kai(minMember=2, **spec)
    assert isinstance(found, Derived)
    assert note in found.ignored


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"minMember": -1}, "spec.minMember: -1 is not between 1 and 100000"),
        ({"subGroups": [{"name": "a"}, {"name": "a"}]}, "spec.subGroups: a name is there twice"),
        ({"subGroups": [{"name": "a", "parent": "b"}]}, '[0].parent: "b" is no sub-group'),
        ({"subGroups": [{"name": "a", "minMember": -1}]}, "[0].minMember: -1 is not between"),
        (
            {"subGroups": [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]},
            "the parents form a circle",
        ),
        (
            {
                "subGroups": [
                    {"name": "a", "parent": "b"},
                    {"name": "b", "parent": "a"},
                    {"name": "c"},
                ]
            },
            "the parents form a circle",
        ),
        ({"subGroups": [{"name": f"s{i}"} for i in range(17)]}, "17 have pods; 16 are supported"),
        ({"subGroups": [{"name": "a", "minSubGroup": 1}]}, "[0].minSubGroup is not supported"),
        ({"minSubGroup": 1}, "spec.minSubGroup is not supported"),
        ({"subGroups": [{"name": "A_"}]}, '[0].name: "A_" is not a name'),
    ],
)
def test_what_of_kai_cannot_be_followed_is_refused_with_its_field(
    spec: dict[str, Any], problem: str
) -> None:
    found = from_kai(**spec)
    assert isinstance(found, Refused)
    assert problem in found.problem


def test_a_podgroup_of_goedel_is_followed() -> None:
    found = from_godel(minMember=3, scheduleTimeoutSeconds=30, priorityClassName="train")
    spec = {"minMember": 3, "scheduleTimeoutSeconds": 30, "priorityClassName": "train"}
    assert found == Derived(spec)
    assert from_godel() == Derived({"minMember": 1})


def test_what_of_goedel_has_no_effect_is_noted() -> None:
    found = from_godel(minMember=2, application="app", affinity={"podGroupAffinity": {}})
    assert isinstance(found, Derived)
    assert "spec.application is ignored" in found.ignored
    assert "spec.affinity is ignored" in found.ignored


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"minMember": -1}, "spec.minMember: -1 is not between 1 and 100000"),
        ({"scheduleTimeoutSeconds": -1}, "spec.scheduleTimeoutSeconds: -1 is negative"),
    ],
)
def test_what_of_goedel_cannot_be_followed_is_refused_with_its_field(
    spec: dict[str, Any], problem: str
) -> None:
    found = from_godel(**spec)
    assert isinstance(found, Refused)
    assert problem in found.problem
