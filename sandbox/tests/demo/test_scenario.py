# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.errors import UsageError
from enbloc_sandbox.demo.scenario import Scenario, demo_shapes, scenario
from enbloc_sandbox.nodes import Shape
from enbloc_sandbox.nodes.room import requests_of

GIB = 2**30


def slots(found: Scenario, shapes: list[Shape]) -> int:
    """How many of the pods the nodes hold, counted the slow way."""
    return sum(
        min(shape.cpu // found.cpu, shape.memory // found.memory, shape.gpus // found.gpus)
        for shape in shapes
    )


def test_the_demo_has_room_for_eleven_pods_and_two_jobs_of_eight() -> None:
    found = scenario(demo_shapes())
    assert (found.gpus, found.slots, found.size) == (2, 11, 8)
    assert slots(found, demo_shapes()) == 11


def test_a_large_cluster_is_filled_with_large_pods() -> None:
    shapes = [Shape(f"n{i}", 96_000, 768 * GIB, 8) for i in range(100)]
    shapes += [Shape(f"m{i}", 104_000, 512 * GIB, 2) for i in range(100)]
    found = scenario(shapes)
    assert (found.gpus, found.slots, found.size) == (8, 100, 75)


@pytest.mark.parametrize(
    "shapes",
    [
        pytest.param([], id="none"),
        pytest.param([Shape("n", 8_000, GIB)], id="no GPUs"),
        pytest.param([Shape("n", 8_000, GIB, 1)], id="one GPU"),
    ],
)
def test_nodes_without_room_for_two_jobs_are_refused(shapes: list[Shape]) -> None:
    with pytest.raises(UsageError, match="too few GPUs"):
        scenario(shapes)


@given(
    st.lists(
        st.builds(
            Shape,
            st.uuids().map(str),
            st.integers(100, 10**6),
            st.integers(2**20, 2**45),
            st.integers(0, 16),
        ),
        max_size=30,
    )
)
def test_one_job_fits_and_two_get_stuck(shapes: list[Shape]) -> None:
    try:
        found = scenario(shapes)
    except UsageError:
        return
    assert slots(found, shapes) >= found.slots
    assert found.size <= found.slots < 2 * found.size
    assert (found.slots + 1) // 2 < found.size  # by turns, neither gets all of its pods


def test_a_pod_asks_for_what_the_scenario_counted() -> None:
    found = scenario(demo_shapes())
    grouped, alone = (found.pod("a", 3, grouped=grouped) for grouped in (True, False))
    asked = requests_of(grouped["spec"])
    assert (asked["cpu"], asked["memory"], asked["nvidia.com/gpu"]) == (
        found.cpu,
        found.memory,
        found.gpus,
    )
    assert grouped["metadata"]["annotations"]["enbloc.dev/pod-group"] == "a"
    assert "annotations" not in alone["metadata"]
    assert found.group("a")["spec"] == {"minMember": found.size}
