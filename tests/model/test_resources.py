# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""What a pod requests, counted as kube-scheduler counts it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enbloc.model.resources import (
    DEFAULT_MEMORY,
    DEFAULT_MILLI_CPU,
    REQUEST_LIMIT,
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


@pytest.mark.parametrize(
    ("demand", "scored"),
    [
        pytest.param(pod_demand([main(cpu=5, gpu=1)]), None, id="no pod level"),
        pytest.param(
            pod_demand([main(cpu=5)], pod_level={"gpu": 1}), None, id="nothing it honours"
        ),
        pytest.param(
            pod_demand([main(cpu=5, memory=6)], pod_level={"cpu": 5}), None, id="it changes nothing"
        ),
        pytest.param(
            pod_demand([main(cpu=5, memory=6)], pod_level={"cpu": 9, "memory": 9}),
            (("cpu", 5), ("memory", 6)),
            id="the containers' own requests",
        ),
        pytest.param(
            pod_demand([main(gpu=1)], [main(cpu=7)], {"cpu": 300}, {"memory": 1}),
            (("cpu", 100), ("gpu", 1), ("memory", DEFAULT_MEMORY + 1)),
            id="with defaults and overhead",
        ),
        pytest.param(
            pod_demand([main(cpu=0, memory=0)], pod_level={"cpu": 9, "hugepages-2Mi": 4}),
            (),
            id="zeros are left out",
        ),
    ],
)
def test_fit_scores_a_pod_without_its_pod_level_requests(
    demand: PodDemand, scored: tuple[tuple[str, int], ...] | None
) -> None:
    assert demand.fit_scored == scored


NAMES = ("cpu", "memory", "gpu", "hugepages-2Mi")
amounts = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 500), max_size=4)
containers = st.lists(st.builds(ContainerDemand, amounts), min_size=1, max_size=3)
inits = st.lists(st.builds(ContainerDemand, amounts, sidecar=st.booleans()), max_size=4)


def naive(
    name: str,
    mains: list[ContainerDemand],
    before: list[ContainerDemand],
    level: dict[str, int],
    overhead: dict[str, int],
    default: int = 0,
) -> int:
    """The most that runs at any moment from the first init container to the last container."""

    def of(some: list[ContainerDemand]) -> int:
        return sum(each.requests.get(name, default) for each in some)

    sidecars = [each for each in before if each.sidecar]
    moments = [of(mains) + of(sidecars)]
    for position, each in enumerate(before):
        running = [other for other in before[:position] if other.sidecar]
        moments.append(of([*running, each]))
    most = level[name] if name in level and name != "gpu" else max(moments)
    return most + overhead.get(name, 0)


@given(containers, inits, amounts, amounts)
def test_requests_and_scored_amounts_are_those_of_the_busiest_moment(
    mains: list[ContainerDemand],
    before: list[ContainerDemand],
    level: dict[str, int],
    overhead: dict[str, int],
) -> None:
    demand = pod_demand(mains, before, level, overhead)

    requests = {name: naive(name, mains, before, level, overhead) for name in NAMES}
    assert demand.requests == tuple(
        sorted((name, value) for name, value in {**requests, "pods": 1}.items() if value)
    )
    mentioned = {name for each in (*mains, *before) for name in each.requests} | {*overhead}
    honoured = level.keys() - {"gpu"}
    defaults = {"cpu": DEFAULT_MILLI_CPU, "memory": DEFAULT_MEMORY}
    scored = {
        name: naive(
            name, mains, before, level, overhead,
            0 if honoured and name in mentioned | honoured else default,
        )
        for name, default in defaults.items()
    }  # fmt: skip
    assert (demand.nonzero_cpu, demand.nonzero_memory) == (scored["cpu"], scored["memory"])
    fit = demand.fit_scored
    alone = {
        name: naive(name, mains, before, {}, overhead, defaults.get(name, 0)) for name in NAMES
    }
    found = dict(fit) if fit is not None else {**requests, **scored}
    assert {name: found.get(name, 0) for name in NAMES} == alone


def test_absurd_amounts_are_held_so_that_no_sum_overflows() -> None:
    demand = pod_demand([main(cpu=2**63 - 1), main(cpu=2**63 - 1)])

    assert dict(demand.requests)["cpu"] == REQUEST_LIMIT
    assert demand.nonzero_cpu == REQUEST_LIMIT


def test_a_column_once_given_stays() -> None:
    space = ResourceSpace()

    assert space.names == ("cpu", "memory", "ephemeral-storage", "pods")
    assert space.find("nvidia.com/gpu") is None
    assert space.column("nvidia.com/gpu") == 4
    assert space.column("amd.com/gpu") == 5
    assert space.column("nvidia.com/gpu") == 4
    assert space.find("pods") == 3
    assert len(space) == 6
