# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever claims ask for, so much is worked out within one decision, and not more."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.devices import effort
from enbloc.devices.effort import UNSEEN
from enbloc.engine.effects import Decided
from enbloc.model.pods import PodResourceClaim
from tests.calls import calls_of
from tests.devices.objects import claim, device, device_class, exactly, slice_of
from tests.engine.claiming import cluster_of, devices, gang_with_devices, preparing, seen
from tests.world.builders import spec

#: Calls of one decision; each of those that are bounded took several times as many, or would take
#: more with more of what it is about.
BOUND = 3_000_000
NODES = " ".join(f"n{index}" for index in range(150))
ATTRIBUTE = 'device.attributes["gpu.example.com"].uuid'
NUMBERS = "[" + ",".join(map(str, range(30))) + "]"
COSTLY = f"{NUMBERS}.all(a, {NUMBERS}.all(b, {NUMBERS}.all(c, a + b + c >= 0)))"


def gpus(node: str, **of: Any) -> Any:
    return slice_of(
        node,
        *(
            device(
                f"d{at}",
                attributes={
                    "uuid": f"{node}-{at}",
                    "model": f"m{at // 7}",
                    "board": f"{node}-{at % 16}",
                },
            )
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


def all_different() -> Any:
    """Seventeen devices of different boards, of which there are sixteen, said again and again."""
    boards = ({"distinctAttribute": "gpu.example.com/board"},) * 32
    return claim("g-0-gpus", *(exactly(f"q{at}") for at in range(17)), constraints=boards)


def costly() -> Any:
    return claim("g-0-gpus", exactly("q", 1, "gpu", f'{COSTLY} && {ATTRIBUTE} != "none"'))


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(constrained, id="a search that would go through all combinations"),
        pytest.param(all_different, id="a search that looks at as many values as can be"),
        pytest.param(costly, id="a selector that is as costly as can be for each device"),
    ],
)
def test_no_claim_keeps_the_engine_for_long(wanted: Any) -> None:
    cluster = cluster_of(device_class(), *map(gpus, NODES.split()), nodes=NODES)
    cluster.group("g", 1)
    seen(cluster, [wanted()])
    asks = replace(spec(cpu=1), resource_claims=(PodResourceClaim("gpus"),))
    cluster.pod("g-0", "g", spec=asks, resource_claims=("g-0-gpus",))
    assert calls_of(cluster.step) < BOUND
    state, reason, message = cluster.condition("g") if "g" in cluster.status else (0, "", "")
    if not preparing(cluster):
        assert (state, reason) == (False, "Unschedulable")
        assert UNSEEN in message


def test_no_pod_with_many_claims_keeps_the_engine_for_long() -> None:
    cluster = cluster_of(device_class(), *map(gpus, NODES.split()), nodes=NODES)
    cluster.group("g", 1)
    names = [f"c{at}" for at in range(120)]
    alone = ({"matchAttribute": "gpu.example.com/uuid"},)
    seen(cluster, [claim(name, exactly(name), constraints=alone) for name in names])
    asks = replace(spec(cpu=1), resource_claims=tuple(map(PodResourceClaim, names)))
    cluster.pod("g-0", "g", spec=asks, resource_claims=tuple(names))
    assert calls_of(cluster.step) < BOUND
    assert not preparing(cluster)


def test_no_length_of_selectors_keeps_the_engine_for_long() -> None:
    """They are compiled by several decisions, and then the gang is placed."""
    cluster = cluster_of(device_class(), *map(gpus, ("n1", "n2")), nodes="n1 n2")
    cluster.group("g", 1)
    names = [f"c{at}" for at in range(6)]
    for at, name in enumerate(names):
        texts = [
            " || ".join(f'{ATTRIBUTE} != "x{at}-{number}-{each}"' for each in range(140))
            for number in range(20)
        ]
        seen(cluster, [claim(name, exactly("q", 1, "gpu", *texts))])
    asks = replace(spec(cpu=1), resource_claims=tuple(map(PodResourceClaim, names)))
    cluster.pod("g-0", "g", spec=asks, resource_claims=tuple(names))
    assert calls_of(cluster.step) < BOUND
    assert not preparing(cluster)
    cluster.settle(seconds=600)
    assert set(preparing(cluster)) == {"g-0"}


def test_one_claim_of_a_megabyte_is_compiled_by_several_decisions() -> None:
    cluster = cluster_of(device_class(), gpus("n1"), nodes="n1")
    cluster.group("g", 1)
    texts = [
        " || ".join(f'{ATTRIBUTE} != "x{number}-{each}"' for each in range(160))
        for number in range(128)
    ]
    asks = [exactly(f"q{at}", 1, "gpu", *texts[at : at + 32]) for at in range(0, 128, 32)]
    seen(cluster, [claim("c", *asks)])
    wanted = replace(spec(cpu=1), resource_claims=(PodResourceClaim("gpus"),))
    cluster.pod("g-0", "g", spec=wanted, resource_claims=("c",))
    assert calls_of(cluster.step) < BOUND // 4
    assert not preparing(cluster)
    cluster.settle(seconds=3600)
    assert set(preparing(cluster)) == {"g-0"}


def test_a_claim_of_a_thousand_selectors_is_compiled_in_the_end() -> None:
    cluster = cluster_of(device_class(), gpus("n1"), nodes="n1")
    cluster.group("g", 1)
    asks = [
        exactly(f"q{at}", 1, "gpu", *(f'{ATTRIBUTE} != "x{at}-{each}"' for each in range(32)))
        for at in range(24)
    ]
    seen(cluster, [claim("c", *asks)])
    wanted = replace(spec(cpu=1), resource_claims=(PodResourceClaim("gpus"),))
    cluster.pod("g-0", "g", spec=wanted, resource_claims=("c",))
    cluster.settle(seconds=600)
    assert set(preparing(cluster)) == {"g-0"}


def test_no_number_of_nodes_that_see_the_same_devices_keeps_the_engine_for_long() -> None:
    names = " ".join(f"n{at}" for at in range(1000))
    pools = [
        slice_of(
            None,
            *(device(f"d{at}", attributes={"model": f"m{at // 3}"}) for at in range(16)),
            pool=f"p{pool}",
            allNodes=True,
        )
        for pool in range(20)
    ]
    cluster = cluster_of(device_class(), *pools, nodes=names)
    cluster.group("g", 170)
    asks = replace(spec(cpu=0.01), resource_claims=(PodResourceClaim("gpus"),))
    alike = ({"matchAttribute": "gpu.example.com/model"},)
    for at in range(170):
        seen(cluster, [claim(f"c{at}", exactly("a"), exactly("b"), constraints=alike)])
        cluster.pod(f"g-{at}", "g", spec=asks, resource_claims=(f"c{at}",))
    assert calls_of(cluster.step) < BOUND
    assert cluster.condition("g")[2].startswith("160 of the 170 required members fit")


def test_nodes_for_which_a_search_finds_no_answer_do_not_hide_those_that_have_room() -> None:
    *others, last = NODES.split()[:100]
    room = slice_of(last, *(device(f"d{at}", attributes=_own(last, at)) for at in range(8)))
    cluster = cluster_of(device_class(), *map(gpus, others), room, nodes=" ".join((*others, last)))
    cluster.group("g", 1)
    seen(cluster, [constrained()])
    asks = replace(spec(cpu=1), resource_claims=(PodResourceClaim("gpus"),))
    cluster.pod("g-0", "g", spec=asks, resource_claims=("g-0-gpus",))
    cluster.settle()
    assert not preparing(cluster)
    cluster.settle(seconds=600)
    assert preparing(cluster)["g-0"].target.node == last


def _own(node: str, at: int) -> dict[str, str]:
    return {"uuid": f"{node}-{at}", "model": "m"}


@pytest.mark.parametrize(
    "where",
    [
        pytest.param({"allNodes": True}, id="that every node reaches"),
        pytest.param({}, id="some of them on each of many nodes"),
    ],
)
def test_a_gang_is_placed_at_once_in_a_pool_of_ten_thousand_devices(
    where: dict[str, Any],
) -> None:
    slices = [
        slice_of(
            None if where else f"n{at}",
            *(
                device(f"d{at}-{index}", attributes={"uuid": f"{at}-{index}"})
                for index in range(125)
            ),
            pool="network",
            name=f"network-{at}",
            count=80,
            **where,
        )
        for at in range(80)
    ]
    cluster = cluster_of(device_class(), *slices, nodes=NODES)
    gang_with_devices(cluster, "g", *[exactly(count=1)] * 64)
    cluster.step()
    assert len(preparing(cluster)) == 64
    assert len({name for [name] in devices(cluster).values()}) == 64


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
    assert calls_of(cluster.step) < BOUND


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
