# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Devices that all nodes see, beside those that each node has of its own."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.model.pods import PodResourceClaim
from tests.calls import calls_of
from tests.devices.objects import claim, device, device_class, exactly, slice_of
from tests.engine.claiming import cluster_of, preparing, seen
from tests.world.builders import spec
from tests.world.cluster import Cluster

NODES = 60
MEMBERS = 40
FABRIC = "fabric.example.com"


def fabric(devices: int, *, nodes: Any = None) -> Any:
    links = (device(f"link{at}", attributes={"kind": "link"}) for at in range(devices))
    where: dict[str, Any] = {"allNodes": True} if nodes is None else {"nodeSelector": nodes}
    return slice_of(None, *links, pool="fabric", driver=FABRIC, **where)


def gang(*facts: Any, links: bool, members: int = MEMBERS, own: int = 1) -> Cluster:
    """A gang of which each member wants a device of its node, and perhaps a link; undecided.

    Args:
        facts: beside the nodes' own devices.
        links: each member wants a link too.
        members: of the gang.
        own: devices of each node.
    """
    names = [f"n{at}" for at in range(NODES)]
    gpus = [slice_of(name, *(device(f"gpu{at}") for at in range(own))) for name in names]
    classes = (
        device_class("gpu", 'device.driver == "gpu.example.com"'),
        device_class("link", f'device.driver == "{FABRIC}"'),
        device_class("any"),
    )
    cluster = cluster_of(*classes, *gpus, *facts, nodes=" ".join(names), validate=False)
    cluster.group("g", members)
    claims = [PodResourceClaim("gpu"), *([PodResourceClaim("link")] if links else [])]
    wanted = replace(spec(cpu=1), resource_claims=tuple(claims))
    for at in range(members):
        made = [f"gpu-{at}", *([f"link-{at}"] if links else [])]
        seen(cluster, [claim(f"gpu-{at}", exactly("r", 1, "gpu" if links else "any"))])
        if links:
            seen(cluster, [claim(f"link-{at}", exactly("r", 1, "link"))])
        cluster.pod(f"g-{at}", "g", spec=wanted, resource_claims=tuple(made))
    return cluster


@pytest.mark.parametrize(
    ("links", "times"),
    [
        pytest.param(False, 3, id="of which nobody takes"),
        pytest.param(True, 6, id="of which each takes, for a second claim"),
    ],
)
def test_a_pool_that_all_nodes_see_does_not_make_members_ask_all_nodes(
    *, links: bool, times: int
) -> None:
    """They took 4 and 63 times the calls; with more nodes more."""
    alone, beside = gang(links=False), gang(fabric(MEMBERS), links=links)
    calls, more = calls_of(alone.step), calls_of(beside.step)
    assert len(preparing(alone)) == len(preparing(beside)) == MEMBERS
    assert more < times * calls


def test_no_more_members_are_placed_than_a_pool_that_all_nodes_see_has_devices_for() -> None:
    for devices, placed in ((9, 0), (10, 10)):
        cluster = gang(fabric(devices), links=True, members=10)
        cluster.settle()
        assert len(preparing(cluster)) == placed


def test_members_take_turns_at_two_pools_each_of_half_of_the_nodes() -> None:
    """Where the links of one are used up, members go where those of the other are seen."""
    halves = [
        {"nodeSelectorTerms": [{"matchFields": [
            {"key": "metadata.name", "operator": "In", "values": [f"n{at}"]}]} for at in part]}
        for part in (range(5), range(5, 10))
    ]  # fmt: skip
    pools = [
        slice_of(
            None,
            *(device(f"{name}{at}") for at in range(3)),
            pool=name,
            driver=FABRIC,
            nodeSelector=half,
        )
        for name, half in zip("ab", halves, strict=True)
    ]
    for members, placed in ((6, 6), (7, 0)):
        cluster = gang(*pools, links=True, members=members, own=3)
        cluster.settle()
        assert len(preparing(cluster)) == placed
