# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever claims ask for, so much is worked out within one decision, and not more."""

import time
from dataclasses import replace
from typing import Any

import pytest

from enbloc.engine.effects import Decided
from enbloc.model.devices import effort
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


def test_a_gang_that_takes_the_effort_of_several_decisions_is_placed_after_some_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was looked at is remembered, and so each attempt gets further; no event is needed."""
    monkeypatch.setattr(effort, "MOST_EFFORT", 10_000)
    cluster = cluster_of(device_class(), *map(gpus, NODES.split()), nodes=NODES)
    last = 'device.attributes["gpu.example.com"].uuid == "n149-0"'
    gang_with_devices(cluster, "g", exactly("q", 1, "gpu", last))
    cluster.settle()
    assert not preparing(cluster)
    assert UNSEEN in cluster.condition("g")[2]
    cluster.settle(seconds=120)
    assert preparing(cluster)["g-0"].target.node == "n149"
    attempts = [each for each in cluster.effects if isinstance(each, Decided)]
    assert 1 < len(attempts) <= 15


def test_claims_of_more_kinds_than_are_looked_at_make_a_gang_infeasible() -> None:
    cluster = cluster_of(device_class(), gpus("n1"))
    gang_with_devices(cluster, "g", *(exactly(f"q{at}") for at in range(257)))
    cluster.settle()
    state, reason, message = cluster.condition("g")
    assert (state, reason) == (False, "Infeasible")
    assert message == (
        "claims of the group have 257 different specs; use at most 256, for example by members "
        "that share a ResourceClaimTemplate"
    )


def test_as_many_kinds_of_claims_as_are_looked_at_are_decided() -> None:
    names = " ".join(f"n{at}" for at in range(32))
    cluster = cluster_of(device_class(), *map(gpus, names.split()), nodes=names)
    gang_with_devices(cluster, "g", *(exactly(f"q{at}") for at in range(256)))
    cluster.settle(seconds=60)
    assert len(preparing(cluster)) == 256
