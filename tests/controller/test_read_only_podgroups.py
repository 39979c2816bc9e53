# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""PodGroups of KAI and Gödel and PodGangs of Grove, which are read and told nothing."""

from typing import Any

import msgspec
import pytest

from enbloc.controller.sources import SOURCES, godel, grove, kai
from enbloc.controller.sources.source import Derived, RefusedGroup
from enbloc.model.peers import PEERS


def from_kai(**spec: Any) -> Derived | RefusedGroup:
    return kai.derive(msgspec.convert({"metadata": {"name": "g"}, "spec": spec}, kai.KaiPodGroup))


def from_godel(**spec: Any) -> Derived | RefusedGroup:
    body = {"metadata": {"name": "g"}, "spec": spec}
    return godel.derive(msgspec.convert(body, godel.GodelPodGroup))


def test_a_podgroup_of_kai_keeps_its_minimum_and_priority() -> None:
    found = from_kai(minMember=4, priorityClassName="train", markUnschedulable=True)
    assert found == Derived({"minMember": 4, "priorityClassName": "train"})


def test_the_lowest_sub_groups_of_kai_are_roles_and_all_are_needed() -> None:
    """What a sub-group says of itself counts only where it has pods, as there."""
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
        "minMember": 8,
        "roles": [
            {"name": "decode-leader", "minMember": 1},
            {"name": "decode-workers", "minMember": 4},
            {"name": "prefill", "minMember": 3},
        ],
    }
    assert "spec.subGroups[0].minMember is ignored" in found.ignored


def test_sub_groups_of_kai_of_which_some_are_enough_are_a_tree() -> None:
    found = from_kai(
        minSubGroup=2,
        subGroups=[
            {"name": "decode", "minSubGroup": 1},
            {"name": "decode-a", "parent": "decode", "minMember": 4},
            {"name": "decode-b", "parent": "decode", "minMember": 4},
            {"name": "both"},
            {"name": "leader", "parent": "both", "minMember": 1},
            {"name": "worker", "parent": "both", "minMember": 2},
            {"name": "alone"},
            {"name": "prefill", "parent": "alone", "minMember": 3},
        ],
    )
    assert found == Derived(
        {
            "minMember": 1,
            "minGroupCount": 2,
            "roles": [
                {"name": "decode-a", "minMember": 4, "parent": "decode"},
                {"name": "decode-b", "minMember": 4, "parent": "decode"},
                {"name": "leader", "minMember": 1, "parent": "both"},
                {"name": "worker", "minMember": 2, "parent": "both"},
                {"name": "prefill", "minMember": 3},
            ],
            "subGroups": [{"name": "decode", "minGroupCount": 1}, {"name": "both"}],
        }
    )


def test_a_sub_group_of_kai_that_needs_no_pod_is_as_good_as_whole() -> None:
    parts = [{"name": name, "minMember": least} for name, least in (("a", 0), ("b", 2), ("c", 2))]
    some, every = from_kai(minSubGroup=2, subGroups=parts), from_kai(subGroups=parts)
    assert isinstance(some, Derived)
    assert isinstance(every, Derived)
    assert [role["name"] for role in some.spec["roles"]] == ["b", "c"]
    assert some.spec["minGroupCount"] == 1
    assert [role["name"] for role in every.spec["roles"]] == ["a", "b", "c"]
    assert every.spec["minMember"] == 4
    assert from_kai(minMember=0) == Derived({"minMember": 1})
    nobody = from_kai(
        minSubGroup=1, subGroups=[{"name": "a", "minMember": 0}, {"name": "b", "minMember": 0}]
    )
    assert nobody == Derived({"minMember": 1})


def test_levels_of_sub_groups_that_say_nothing_are_left_out() -> None:
    chain = [{"name": f"s{i}", **({"parent": f"s{i - 1}"} if i else {})} for i in range(12)]
    found = from_kai(subGroups=[*chain, {"name": "pods", "parent": "s11", "minMember": 2}])
    assert found == Derived({"minMember": 2, "roles": [{"name": "pods", "minMember": 2}]})


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        ({"queue": "team-a"}, "spec.queue is ignored"),
        ({"preemptibility": "preemptible"}, "spec.preemptibility is ignored"),
        ({"markUnschedulable": False}, "spec.markUnschedulable: false is ignored"),
    ],
)
def test_what_of_kai_has_no_effect_is_noted(spec: dict[str, Any], note: str) -> None:
    found = from_kai(minMember=2, **spec)
    assert isinstance(found, Derived)
    assert note in found.ignored


@pytest.mark.parametrize(
    ("constraint", "topology"),
    [
        (
            {"topology": "theirs", "requiredTopologyLevel": "x/block"},
            {"name": "kai.scheduler/theirs", "required": "x/block"},
        ),
        (
            {"requiredTopologyLevel": "x/block", "preferredTopologyLevel": "x/rack"},
            {"name": "kai.scheduler/*", "required": "x/block", "preferred": "x/rack"},
        ),
        (
            {"preferredTopologyLevel": "x/rack"},
            {"name": "kai.scheduler/*", "preferred": "x/rack"},
        ),
    ],
)
def test_levels_of_kai_are_those_of_its_topology(
    constraint: dict[str, str], topology: dict[str, str]
) -> None:
    found = from_kai(minMember=2, topologyConstraint=constraint)
    assert found == Derived({"minMember": 2, "topology": topology})


def test_sub_groups_of_kai_lie_in_domains_of_their_own() -> None:
    near = {"requiredTopologyLevel": "x/rack"}
    found = from_kai(
        subGroups=[
            {"name": "a", "minMember": 2, "parent": "both"},
            {"name": "b", "minMember": 2, "parent": "both", "topologyConstraint": near},
            {"name": "both", "topologyConstraint": {"preferredTopologyLevel": "x/block"}},
        ]
    )
    assert found == Derived(
        {
            "minMember": 4,
            "roles": [
                {"name": "a", "minMember": 2, "parent": "both"},
                {
                    "name": "b",
                    "minMember": 2,
                    "parent": "both",
                    "topology": {"required": "x/rack"},
                },
            ],
            "subGroups": [{"name": "both", "topology": {"preferred": "x/block"}}],
            "topology": {"name": "kai.scheduler/*"},
        }
    )


NEAR = {"requiredTopologyLevel": "x/rack"}


@pytest.mark.parametrize(
    ("other", "named"), [("one", "kai.scheduler/one"), ("other", "kai.scheduler/*")]
)
def test_sub_groups_of_kai_name_its_topology_together_or_each_its_own(
    other: str, named: str
) -> None:
    found = from_kai(
        subGroups=[
            {"name": name, "minMember": 2, "topologyConstraint": {**NEAR, "topology": topology}}
            for name, topology in (("a", "one"), ("b", other))
        ]
    )
    assert isinstance(found, Derived)
    assert found.spec["topology"] == {"name": named}


def test_a_topology_of_kai_that_no_object_can_be_called_is_refused() -> None:
    found = from_kai(minMember=2, topologyConstraint={**NEAR, "topology": "a/b"})
    assert isinstance(found, RefusedGroup)
    assert found.problem == 'topologyConstraint.topology: "a/b" is not the name of an object'


def test_a_sub_group_of_kai_whose_pods_are_not_needed_is_left_out_with_a_note() -> None:
    found = from_kai(
        minSubGroup=1,
        subGroups=[
            {"name": "a", "minMember": 0, "topologyConstraint": NEAR},
            {"name": "b", "minMember": 2},
            {"name": "c", "minMember": 2},
        ],
    )
    assert isinstance(found, Derived)
    assert "spec.subGroups[0].topologyConstraint is ignored" in found.ignored
    within = from_kai(
        subGroups=[
            {"name": "a", "minSubGroup": 1, "topologyConstraint": NEAR},
            {"name": "a1", "parent": "a", "minMember": 0},
            {"name": "a2", "parent": "a", "minMember": 0},
            {"name": "b", "minMember": 2},
        ],
    )
    assert isinstance(within, Derived)
    assert within.spec["roles"] == [{"name": "b", "minMember": 2}]


def test_what_is_only_preferred_refuses_no_podgroup_of_kai() -> None:
    chain = [
        {
            "name": f"s{i}",
            "topologyConstraint": {"preferredTopologyLevel": "x/rack"},
            **({"parent": f"s{i - 1}"} if i else {}),
        }
        for i in range(5)
    ]
    found = from_kai(subGroups=[*chain, {"name": "pods", "parent": "s4", "minMember": 2}])
    assert isinstance(found, Derived)
    assert found.spec["roles"] == [{"name": "pods", "minMember": 2}]
    assert "spec.subGroups[0].topologyConstraint is ignored" in found.ignored


def test_a_topology_of_kai_without_a_level_constrains_nobody() -> None:
    found = from_kai(minMember=2, topologyConstraint={"topology": "theirs"})
    assert found == Derived({"minMember": 2})


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"minMember": -1}, "spec.minMember: -1 is not between 0 and 100000"),
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
        (
            {"subGroups": [{"name": f"s{i}"} for i in range(17)]},
            "spec.subGroups: 17 sub-groups with pods and 0 above them are needed",
        ),
        (
            {"subGroups": [{"name": "a", "minSubGroup": 1}]},
            "[0].minSubGroup: 1 is not between 0 and the 0 sub-groups below it",
        ),
        ({"minSubGroup": -1}, "spec.minSubGroup: -1 is not between 0 and the 0 sub-groups"),
        ({"minMember": 1, "minSubGroup": 0}, "spec.minMember and spec.minSubGroup are both set"),
        (
            {
                "subGroups": [
                    {"name": f"s{i}", **({"parent": f"s{i - 1}"} if i else {})} for i in range(17)
                ]
            },
            "spec.subGroups: they have 17 levels; 16 are supported",
        ),
        (
            {
                "subGroups": [
                    {"name": f"s{i}", "minSubGroup": 1, **({"parent": f"s{i - 1}"} if i else {})}
                    for i in range(3)
                ]
                + [{"name": f"p{i}{j}", "parent": f"s{i}"} for i in range(3) for j in range(2)]
                + [{"name": "other", "minMember": 1}]
            },
            "spec.subGroups: 3 levels of sub-groups above those with pods; 2 are supported",
        ),
        ({"subGroups": [{"name": "A_"}]}, '[0].name: "A_" is not a name'),
    ],
)
def test_what_of_kai_cannot_be_followed_is_refused_with_its_field(
    spec: dict[str, Any], problem: str
) -> None:
    found = from_kai(**spec)
    assert isinstance(found, RefusedGroup)
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
    ("affinity", "key"),
    [
        ({"podGroupAffinity": {"required": [{"topologyKey": "rack"}]}}, "topology-required"),
        ({"podGroupAffinity": {"preferred": [{"topologyKey": "rack"}]}}, "topology-preferred"),
        ({"podGroupAntiAffinity": {}}, "topology-required"),
    ],
)
def test_affinity_of_goedel_is_noted_with_the_annotation_to_use(
    affinity: dict[str, Any], key: str
) -> None:
    found = from_godel(minMember=2, affinity=affinity)
    assert isinstance(found, Derived)
    assert f"use annotation enbloc.dev/{key} with a node label" in found.ignored


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
    assert isinstance(found, RefusedGroup)
    assert problem in found.problem


def from_grove(*podgroups: dict[str, Any], **spec: Any) -> Derived | RefusedGroup:
    body = {"metadata": {"name": "g"}, "spec": {"podgroups": podgroups, **spec}}
    return grove.derive(msgspec.convert(body, grove.PodGang))


def pack(**levels: str) -> dict[str, Any]:
    return {"packConstraint": levels}


def test_a_podgang_is_packed_into_the_domain_that_it_names_by_a_node_label() -> None:
    both = pack(required="x/block", preferred="kubernetes.io/hostname")
    found = from_grove({"name": "a", "minReplicas": 1}, topologyConstraint=both)
    assert isinstance(found, Derived)
    assert found.spec["topology"] == both["packConstraint"]
    assert not found.ignored


def test_the_pod_groups_of_a_podgang_are_roles_and_all_are_needed() -> None:
    found = from_grove(
        {"name": "app-0-prefill", "minReplicas": 2, "podReferences": []},
        {"name": "app-0-decode", "minReplicas": 4, "podReferences": [{"name": "a"}]},
        priorityClassName="high",
    )
    roles = [{"name": "app-0-prefill", "minMember": 2}, {"name": "app-0-decode", "minMember": 4}]
    assert found == Derived({"minMember": 6, "roles": roles, "priorityClassName": "high"})


def test_a_podgang_whose_pods_are_replaced_needs_none_of_them_together() -> None:
    found = from_grove({"name": "a", "minReplicas": 0})
    assert found == Derived({"minMember": 1, "roles": [{"name": "a", "minMember": 0}]})


def test_pod_groups_of_a_podgang_are_packed_each_and_some_of_them_together() -> None:
    found = from_grove(
        {"name": "a", "minReplicas": 1, "topologyConstraint": {"packConstraint": {}}},
        {"name": "b", "minReplicas": 2, "topologyConstraint": pack(required="x/host")},
        {"name": "c", "minReplicas": 3},
        topologyConstraintGroupConfigs=[
            {
                "name": "d",
                "podGroupNames": ["b", "c"],
                "topologyConstraint": pack(required="x/rack", preferred="x/host"),
            }
        ],
    )
    assert found == Derived(
        {
            "minMember": 6,
            "roles": [
                {"name": "a", "minMember": 1},
                {
                    "name": "b",
                    "minMember": 2,
                    "parent": "d",
                    "topology": {"required": "x/host"},
                },
                {"name": "c", "minMember": 3, "parent": "d"},
            ],
            "subGroups": [{"name": "d", "topology": {"required": "x/rack", "preferred": "x/host"}}],
        }
    )


@pytest.mark.parametrize(
    ("name", "members"),
    [("d", []), ("d", ["nobody"]), ("b", ["a"]), ("d", ["a"])],
    ids=["of nobody", "of who is not there", "with a name that is taken", "twice"],
)
def test_what_cannot_be_packed_together_is_noted(name: str, members: list[str]) -> None:
    near = pack(required="x/rack")
    first = {"name": "first", "podGroupNames": ["a"], "topologyConstraint": near}
    other = {"name": name, "podGroupNames": members, "topologyConstraint": near}
    found = from_grove(
        {"name": "a", "minReplicas": 1},
        {"name": "b", "minReplicas": 1},
        topologyConstraintGroupConfigs=[first, other]
        if (name, members) == ("d", ["a"])
        else [other],
    )
    assert isinstance(found, Derived)
    assert "spec.topologyConstraintGroupConfigs[" in found.ignored


def test_what_of_grove_has_no_effect_is_noted() -> None:
    found = from_grove({"name": "a", "minReplicas": 1}, reuseReservationRef={"name": "before"})
    assert isinstance(found, Derived)
    assert "spec.reuseReservationRef is ignored" in found.ignored


@pytest.mark.parametrize(
    ("groups", "problem"),
    [
        ([{"name": "A_"}], 'spec.podgroups[0].name: "A_" is not a name'),
        ([{"name": "a", "minReplicas": -1}], "[0].minReplicas: -1 is not between 0 and 100000"),
        ([{"name": "a"}, {"name": "a"}], "spec.podgroups: a name is there twice"),
        ([{"name": f"g{i}"} for i in range(17)], "it lists 17; 16 are supported"),
    ],
)
def test_what_of_grove_cannot_be_followed_is_refused_with_its_field(
    groups: list[dict[str, Any]], problem: str
) -> None:
    found = from_grove(*groups)
    assert isinstance(found, RefusedGroup)
    assert problem in found.problem


def test_of_each_scheduler_whose_groups_are_read_it_is_known_what_else_it_does() -> None:
    served = {name for source in SOURCES for name in source.scheduler_names}
    assert served <= PEERS.keys()
