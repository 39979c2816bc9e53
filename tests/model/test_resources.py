# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a pod requests, counted as kube-scheduler counts it."""

import pytest

from enbloc.model.resources import (
    AMOUNT_LIMIT,
    DEFAULT_MEMORY,
    ContainerDemand,
    PodDemand,
    ResourceSpace,
    pod_demand,
)

MiB = 2**20


def main(**requests: int) -> ContainerDemand:
    return ContainerDemand(requests)


def sidecar(**requests: int) -> ContainerDemand:
    return ContainerDemand(requests, sidecar=True)


@pytest.mark.parametrize(
    ("containers", "inits", "cpu"),
    [
        pytest.param([main(cpu=1), main(cpu=2)], [], 3, id="containers run together"),
        pytest.param([main(cpu=1)], [main(cpu=5)], 5, id="an init container runs alone, first"),
        pytest.param([main(cpu=6)], [main(cpu=5)], 6, id="the larger of the two counts"),
        pytest.param([main(cpu=1)], [sidecar(cpu=2)], 3, id="a sidecar runs beside the containers"),
        pytest.param(
            [main(cpu=1)], [sidecar(cpu=2), main(cpu=5)], 7, id="and beside an init after it"
        ),
        pytest.param(
            [main(cpu=1)], [main(cpu=5), sidecar(cpu=2)], 5, id="but not beside one before it"
        ),
        pytest.param(
            [main(cpu=1)],
            [sidecar(cpu=1), main(cpu=1), sidecar(cpu=4), main(cpu=2)],
            7,
            id="sidecars add up in order",
        ),
    ],
)
def test_a_pod_needs_its_peak(
    containers: list[ContainerDemand], inits: list[ContainerDemand], cpu: int
) -> None:
    assert dict(pod_demand(containers, inits).requests)["cpu"] == cpu


def test_each_resource_has_its_own_peak() -> None:
    demand = pod_demand([main(cpu=1, memory=9)], [main(cpu=5, memory=2, gpu=1)])

    assert demand.requests == (("cpu", 5), ("gpu", 1), ("memory", 9), ("pods", 1))


def test_overhead_is_added_to_everything() -> None:
    demand = pod_demand([main(cpu=100)], overhead={"cpu": 50, "memory": 10})

    assert demand.requests == (("cpu", 150), ("memory", 10), ("pods", 1))
    assert demand.nonzero_cpu == 150
    assert demand.nonzero_memory == DEFAULT_MEMORY + 10


def test_pod_level_requests_replace_what_they_name_and_nothing_else() -> None:
    demand = pod_demand(
        [main(cpu=100, memory=5, gpu=1)], pod_level={"cpu": 700, "gpu": 9, "hugepages-2Mi": 4}
    )

    assert demand.requests == (
        ("cpu", 700), ("gpu", 1), ("hugepages-2Mi", 4), ("memory", 5), ("pods", 1),
    )  # fmt: skip


def test_overhead_comes_on_top_of_pod_level_requests() -> None:
    demand = pod_demand([main(cpu=100)], pod_level={"cpu": 700}, overhead={"cpu": 1})

    assert dict(demand.requests)["cpu"] == 701


def test_a_pod_that_asks_for_nothing_takes_a_place() -> None:
    assert pod_demand([main()]).requests == (("pods", 1),)


@pytest.mark.parametrize(
    ("demand", "cpu", "memory"),
    [
        pytest.param(pod_demand([main()]), 100, 200 * MiB, id="a container that names nothing"),
        pytest.param(pod_demand([main(), main()]), 200, 400 * MiB, id="two of them"),
        pytest.param(pod_demand([main(cpu=0, memory=0)]), 0, 0, id="zero was mentioned"),
        pytest.param(pod_demand([main(cpu=5), main()]), 105, 400 * MiB, id="each for itself"),
        pytest.param(
            pod_demand([main(cpu=5)], [main()]), 100, 200 * MiB, id="init containers as well"
        ),
        pytest.param(
            pod_demand([main()], [sidecar()]), 200, 400 * MiB, id="and sidecars beside the rest"
        ),
        pytest.param(
            pod_demand([main(), main()], pod_level={"cpu": 300}),
            300,
            400 * MiB,
            id="what the pod level leaves out",
        ),
        pytest.param(
            pod_demand([main(memory=MiB), main()], pod_level={"cpu": 300}),
            300,
            MiB,
            id="unless some container names it",
        ),
    ],
)
def test_scores_count_something_for_what_is_not_mentioned(
    demand: PodDemand, cpu: int, memory: int
) -> None:
    assert (demand.nonzero_cpu, demand.nonzero_memory) == (cpu, memory)


def test_absurd_amounts_are_held_so_that_no_sum_overflows() -> None:
    demand = pod_demand([main(cpu=2**63 - 1), main(cpu=2**63 - 1)])

    assert dict(demand.requests)["cpu"] == AMOUNT_LIMIT
    assert demand.nonzero_cpu == AMOUNT_LIMIT


def test_a_column_once_given_stays() -> None:
    space = ResourceSpace()

    assert space.names == ("cpu", "memory", "ephemeral-storage", "pods")
    assert space.find("nvidia.com/gpu") is None
    assert space.column("nvidia.com/gpu") == 4
    assert space.column("amd.com/gpu") == 5
    assert space.column("nvidia.com/gpu") == 4
    assert space.find("pods") == 3
    assert len(space) == 6
