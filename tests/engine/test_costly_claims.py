# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever claims ask for, so much is worked out within one decision, and not more."""

import time
from dataclasses import replace
from typing import Any

import pytest

from enbloc.model.devices.effort import UNSEEN
from enbloc.model.pods import PodResourceClaim
from tests.engine.test_claims import cluster_of, gang_with_devices, preparing, seen
from tests.model.devices.objects import claim, device, device_class, exactly, slice_of
from tests.world.builders import spec

NODES = " ".join(f"n{index}" for index in range(150))
ATTRIBUTE = 'device.attributes["gpu.example.com"].uuid'
NUMBERS = "[" + ",".join(map(str, range(30))) + "]"
COSTLY = f"{NUMBERS}.all(a, {NUMBERS}.all(b, {NUMBERS}.all(c, a + b + c >= 0)))"


def gpus(node: str, **of: Any) -> Any:
    return slice_of(
        node,
        *(
            device(f"d{at}", attributes={"uuid": f"{node}-{at}", "model": f"m{at // 7}"})
            for at in range(24)
        ),
        **of,
    )


def constrained() -> Any:
    """Eight devices of one model, where there are at most seven, and all different."""
    return claim(
        "g-0-gpus",
        *(exactly(f"q{at}") for at in range(8)),
        constraints=(
            {"matchAttribute": "gpu.example.com/model"},
            {"distinctAttribute": "gpu.example.com/uuid"},
        ),
    )


def costly() -> Any:
    return claim("g-0-gpus", exactly("q", 1, "gpu", f'{COSTLY} && {ATTRIBUTE} != "none"'))


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(constrained, id="a search that would go through all combinations"),
        pytest.param(costly, id="a selector that is as costly as can be for each device"),
    ],
)
def test_no_claim_keeps_the_engine_for_long(wanted: Any) -> None:
    cluster = cluster_of(device_class(), *map(gpus, NODES.split()), nodes=NODES)
    cluster.group("g", 1)
    seen(cluster, [wanted()])
    asks = replace(spec(cpu=1), resource_claims=(PodResourceClaim("gpus"),))
    cluster.pod("g-0", "g", spec=asks, resource_claims=("g-0-gpus",))
    before = time.process_time()
    cluster.step()
    assert time.process_time() - before < 5  # it was minutes
    state, reason, message = cluster.condition("g") if "g" in cluster.status else (0, "", "")
    if not preparing(cluster):
        assert (state, reason) == (False, "Unschedulable")
        assert UNSEEN in message


def test_the_next_decision_is_not_short_of_what_another_gang_used_up() -> None:
    cluster = cluster_of(device_class(), *map(gpus, NODES.split()), nodes=NODES)
    cluster.group("g", 1)
    seen(cluster, [constrained()])
    asks = replace(spec(cpu=1), resource_claims=(PodResourceClaim("gpus"),))
    cluster.pod("g-0", "g", spec=asks, resource_claims=("g-0-gpus",))
    gang_with_devices(cluster, "h", *[exactly(count=1)] * 4)
    cluster.settle()
    assert {name[0] for name in preparing(cluster)} == {"h"}


def test_a_search_that_is_given_up_is_not_begun_anew_for_each_node_that_is_the_same() -> None:
    of = [{"model": f"m{at // 8}", "uuid": f"u{at if at >= 16 else at % 7}"} for at in range(23)]
    parts = [device(f"d{at}", attributes=each) for at, each in enumerate(of)]
    alike = [slice_of(name, *parts) for name in NODES.split()]
    cluster = cluster_of(device_class(), *alike, nodes=NODES)
    cluster.group("g", 1)
    seen(cluster, [constrained()])
    asks = replace(spec(cpu=1), resource_claims=(PodResourceClaim("gpus"),))
    cluster.pod("g-0", "g", spec=asks, resource_claims=("g-0-gpus",))
    before = time.process_time()
    cluster.step()
    assert time.process_time() - before < 1
