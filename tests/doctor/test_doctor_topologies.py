# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What the doctor says of Topologies."""

from typing import Any

import pytest

from enbloc.doctor import Installation, Verdict
from tests.doctor.cluster import PLANNED, found

ZONE, RACK = "topology.kubernetes.io/zone", "example.com/rack"
INSTALLED = Installation()
OUTERMOST_FIRST = [{"name": "zone", "nodeLabel": ZONE}, {"name": "rack", "nodeLabel": RACK}]


def nodes(*labels: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {"metadata": {"name": f"n-{number}", "labels": each}} for number, each in enumerate(labels)
    ]


FOUR_RACKS = nodes(*({ZONE: zone, RACK: f"{zone}-{rack}"} for zone in "ab" for rack in "12"))


async def said(
    levels: Any, there: list[dict[str, Any]], ours: Installation = INSTALLED, **more: Any
) -> list[tuple[Verdict, str]]:
    """What is found of one Topology with these levels; nothing is a finding that all is well."""
    lists = {
        "nodes": there,
        "topologies": [{"metadata": {"name": "t"}, "spec": {"levels": levels}}],
    }
    findings = await found(lists, ours, **more)
    return [
        (each.verdict, each.message)
        for each in findings
        if each.check == "topologies" and each.verdict is not Verdict.OK
    ]


async def test_levels_that_the_nodes_have_are_in_order() -> None:
    assert await said(OUTERMOST_FIRST, FOUR_RACKS) == []


@pytest.mark.parametrize(
    "there",
    [nodes(), nodes({ZONE: "a"}, {ZONE: "a", RACK: "1"}), nodes({ZONE: "a", RACK: "1"})],
    ids=["no node yet", "nodes outside of racks", "one domain of each"],
)
async def test_what_may_well_be_so_is_no_fault(there: list[dict[str, Any]]) -> None:
    assert await said(OUTERMOST_FIRST, there) == []


async def test_a_topology_that_cannot_be_used_is_named_with_what_is_wrong() -> None:
    [(verdict, message)] = await said([], FOUR_RACKS)
    assert (verdict, message) == (
        Verdict.WARNING,
        "cannot be used: spec.levels: it lists no level; list 1 to 8, the outermost first",
    )


async def test_a_level_whose_label_no_node_has_is_named_with_a_label_like_it() -> None:
    [(_, message)] = await said([{"name": "rack", "nodeLabel": "example.com/rak"}], FOUR_RACKS)
    assert message == (
        "level rack: no node has the label example.com/rak (did you mean example.com/rack?), so a "
        "group that requires the level waits; label the nodes, or fix nodeLabel"
    )


async def test_levels_that_list_the_inner_one_first_are_in_the_wrong_order() -> None:
    [(_, message)] = await said(OUTERMOST_FIRST[::-1], FOUR_RACKS)
    assert message == (
        "level zone is listed within rack, and each rack of the nodes lies in one zone; list the "
        "outermost level first"
    )


async def test_racks_of_the_same_name_in_two_zones_are_no_wrong_order() -> None:
    there = nodes(*({ZONE: zone, RACK: rack} for zone in "ab" for rack in "123"))
    assert await said(OUTERMOST_FIRST[::-1], there) == []


async def test_before_an_installation_and_without_the_kind_nothing_is_said() -> None:
    assert await said([], FOUR_RACKS, PLANNED) == []


async def test_who_may_not_list_nodes_learns_that_the_levels_could_not_be_checked() -> None:
    [(verdict, message)] = await said(OUTERMOST_FIRST, FOUR_RACKS, forbid="nodes")
    assert (verdict, "could not be checked" in message) == (Verdict.UNKNOWN, True)
