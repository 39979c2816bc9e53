# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Which node labels a PodGroup's topology comes to."""

from typing import Final

import pytest

from enbloc.model.topology import (
    Level,
    Slice,
    Topology,
    TopologyLevels,
    TopologyRequest,
    place_of,
    resolved,
)

ZONE, RACK = Level("zone", "example.com/zone"), Level("rack", "example.com/rack")
ONE: Final = {"default": Topology("default", (ZONE, RACK))}
TWO: Final = {**ONE, "other": Topology("other", (RACK,))}


@pytest.mark.parametrize(
    ("required", "preferred", "places"),
    [
        ("zone", "", (0, 1)),
        ("zone", "zone", (0, 0)),
        ("rack", "", (1, 1)),
        ("", "zone", (None, 0)),
        ("", "rack", (None, 1)),
        ("zone", "rack", (0, 1)),
    ],
)
def test_levels_are_named_and_the_innermost_is_preferred_unless_another_is(
    required: str, preferred: str, places: tuple[int | None, int]
) -> None:
    found, problem = resolved(TopologyRequest("default", required, preferred), ONE)
    assert found == TopologyLevels((ZONE, RACK), *places)
    assert not problem
    assert found is not None
    assert found.labels == ("example.com/zone", "example.com/rack")


def test_the_only_topology_need_not_be_named() -> None:
    found, _ = resolved(TopologyRequest("", "rack"), ONE)
    assert found == TopologyLevels((ZONE, RACK), 1, 1)


def test_a_level_may_be_named_by_its_label_where_its_topology_is_named() -> None:
    found, _ = resolved(TopologyRequest("default", "example.com/rack"), ONE)
    assert found == TopologyLevels((ZONE, RACK), 1, 1)


def test_the_name_of_a_level_counts_before_the_label_of_another() -> None:
    levels = Level("block", "rack"), Level("rack", "host")
    found, _ = resolved(TopologyRequest("", "rack"), {"default": Topology("default", levels)})
    assert found == TopologyLevels(levels, 1, 1)


def test_no_level_is_called_nothing() -> None:
    assert place_of("", (ZONE, RACK)) is None


@pytest.mark.parametrize("topologies", [{}, ONE, TWO])
def test_a_label_without_the_name_of_a_topology_stands_for_itself(
    topologies: dict[str, Topology],
) -> None:
    found, problem = resolved(TopologyRequest("", "example.com/rack"), topologies)
    assert found == TopologyLevels((Level("example.com/rack", "example.com/rack"),), 0, 0)
    assert not problem


def test_of_two_labels_the_preferred_one_lies_within_the_required_one() -> None:
    found, _ = resolved(TopologyRequest("", "example.com/zone", "example.com/rack"), {})
    assert found is not None
    assert found.labels == ("example.com/zone", "example.com/rack")
    assert (found.required, found.preferred) == (0, 1)


def test_one_label_may_be_required_and_preferred() -> None:
    found, _ = resolved(TopologyRequest("", "example.com/rack", "example.com/rack"), {})
    assert found is not None
    assert (found.labels, found.required, found.preferred) == (("example.com/rack",), 0, 0)


def test_a_request_for_nothing_is_none() -> None:
    assert resolved(TopologyRequest("default"), ONE) == (None, "")
    assert resolved(TopologyRequest(), {}) == (None, "")


@pytest.mark.parametrize(
    ("request_", "topologies", "said"),
    [
        (TopologyRequest("x", "rack"), ONE, 'spec.topology.name: Topology "x" not found'),
        (TopologyRequest("x"), {}, 'spec.topology.name: Topology "x" not found'),
        (TopologyRequest("", "rack"), TWO, "there are several Topologies; name one of default, ot"),
        (
            TopologyRequest("", "row"),
            ONE,
            'spec.topology.required: Topology default has no level "r',
        ),
        (
            TopologyRequest("", "", "row"),
            ONE,
            "spec.topology.preferred: Topology default has no le",
        ),
        (
            TopologyRequest("", "rack", "zone"),
            ONE,
            "spec.topology.preferred: zone is not within ra",
        ),
        (
            TopologyRequest("", slices=(Slice(4, "zone"), Slice(4, "rack"))),
            ONE,
            "spec.topology.slices[1].size: 4 is that of the slices around it; use a",
        ),
        (
            TopologyRequest("bad", "rack"),
            {"bad": Topology("bad", (), "spec.levels: none")},
            "Topology bad cannot be used: spec.levels: none",
        ),
    ],
)
def test_what_makes_no_sense_is_named_with_the_fix(
    request_: TopologyRequest, topologies: dict[str, Topology], said: str
) -> None:
    found, problem = resolved(request_, topologies)
    assert found is None
    assert said in problem


# ── of other projects ────────────────────────────────────────────────────────────────────────────

BLOCK: Final = Level("example.com/block", "example.com/block")
SHELF: Final = Level("example.com/rack", "example.com/rack")
THEIRS: Final = {**ONE, "kueue.x-k8s.io/a": Topology("kueue.x-k8s.io/a", (BLOCK, SHELF))}


def test_a_topology_of_another_project_is_named_with_its_group() -> None:
    request = TopologyRequest("kueue.x-k8s.io/a", "example.com/rack")
    assert resolved(request, THEIRS) == (TopologyLevels((BLOCK, SHELF), 1, 1), "")


def test_whichever_has_the_levels_is_found() -> None:
    request = TopologyRequest("kueue.x-k8s.io/*", "example.com/block", "example.com/rack")
    assert resolved(request, THEIRS) == (TopologyLevels((BLOCK, SHELF), 0, 1), "")


@pytest.mark.parametrize(
    ("label", "more"),
    [
        ("example.com/else", {}),
        ("example.com/rack", {"kueue.x-k8s.io/b": Topology("kueue.x-k8s.io/b", (SHELF,))}),
    ],
    ids=["none has it", "several have it"],
)
def test_where_none_or_several_have_the_level_the_label_stands_for_itself(
    label: str, more: dict[str, Topology]
) -> None:
    found, problem = resolved(TopologyRequest("kueue.x-k8s.io/*", label), THEIRS | more)
    assert found == TopologyLevels((Level(label, label),), 0, 0)
    assert not problem


def test_one_of_another_project_is_not_meant_by_who_names_none() -> None:
    found, problem = resolved(TopologyRequest("", "rack"), THEIRS)
    assert found == TopologyLevels((ZONE, RACK), 1, 1)
    assert not problem
    found, problem = resolved(TopologyRequest("", "example.com/rack"), THEIRS)
    assert found == TopologyLevels((SHELF,), 0, 0)


def test_what_is_preferred_around_what_is_required_has_no_effect_for_others() -> None:
    request = TopologyRequest("kueue.x-k8s.io/a", "example.com/rack", "example.com/block")
    assert resolved(request, THEIRS) == (TopologyLevels((BLOCK, SHELF), 1, 1), "")


def test_a_level_may_be_named_by_its_alias() -> None:
    spine = Level("spine", "hypernode:tier-2", "tier-2")
    tiers = {"topology.volcano.sh/hypernodes": Topology("topology.volcano.sh/hypernodes", (spine,))}
    for name in spine:
        request = TopologyRequest("topology.volcano.sh/hypernodes", name)
        assert resolved(request, tiers) == (TopologyLevels((spine,), 0, 0), "")


TIERS: Final = (
    Level("spine", "hypernode:tier-2", "tier-2"),
    Level("tier-1", "hypernode:tier-1", "tier-1"),
)


@pytest.mark.parametrize(
    ("asked", "place"), [("tier-1", 1), ("tier-2", 0), ("tier-3", 0), ("tier-40", 0)]
)
def test_a_tier_above_the_highest_is_the_highest(asked: str, place: int) -> None:
    """It says how far apart members may be at most."""
    name = "topology.volcano.sh/hypernodes"
    found, problem = resolved(TopologyRequest(name, asked), {name: Topology(name, TIERS)})
    assert found is not None, problem
    assert found.required == place


@pytest.mark.parametrize("asked", ["tier-0", "tier-x", "spin"])
def test_what_is_no_tier_is_said_with_all_names_of_those_that_are(asked: str) -> None:
    name = "topology.volcano.sh/hypernodes"
    found, problem = resolved(TopologyRequest(name, asked), {name: Topology(name, TIERS)})
    assert found is None
    assert problem.endswith(f'has no level "{asked}"; use one of spine (tier-2), tier-1')


def test_a_topology_that_is_misspelt_is_said_with_those_that_there_are() -> None:
    """Of the same project alone."""
    _, problem = resolved(TopologyRequest("kueue.x-k8s.io/other", "rack"), THEIRS)
    assert problem.endswith("not found; create it or name one of kueue.x-k8s.io/a")
    _, problem = resolved(TopologyRequest("kai.scheduler/a", "rack"), THEIRS)
    assert problem.endswith("not found; create it or name another")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("kai.scheduler/none", 'Topology "kai.scheduler/none" not found; create it or name'),
        ("topology.volcano.sh/hypernodes", "there are no HyperNodes; create some, or remove what"),
    ],
)
def test_one_that_is_named_and_does_not_exist_is_said(name: str, problem: str) -> None:
    found, said = resolved(TopologyRequest(name, "example.com/rack"), THEIRS)
    assert found is None
    assert said.startswith(f"spec.topology.name: {problem}")


@pytest.mark.parametrize("name", ["", "other"])
def test_of_many_topologies_a_message_names_a_few(name: str) -> None:
    many = {f"t{number}": Topology(f"t{number}", TIERS) for number in range(1000)}
    _, problem = resolved(TopologyRequest(name, "rack"), many)
    assert problem.endswith("name one of t0, t1, t10, t100, t101, t102, t103, t104 and 992 more")
