# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Claims in a simulated cluster: written, taken back, and never given twice."""

from dataclasses import replace
from typing import Any

import pytest

from enbloc.devices.facts import Consumer
from enbloc.engine.events import FactSeen
from enbloc.model.pods import ContainerResource
from tests.devices.objects import claim, device, device_class, exactly, slice_of
from tests.engine.test_left_over_claims import cluster_with_gang, fill, got, gpus
from tests.simulation.present import outlook_with
from tests.world.builders import spec
from tests.world.cluster import Cluster

SERVED = "gpu.example.com/shares"


@pytest.mark.parametrize(("gangs", "devices"), [(1, 1), (2, 2), (2, 1)])
def test_extended_resources_that_devices_serve_are_given_once(gangs: int, devices: int) -> None:
    cluster = Cluster()
    cluster.nodes("n1", cpu=8)
    plain = spec(cpu=1)
    wanted = replace(
        plain,
        requests=tuple(sorted((*plain.requests, (SERVED, 1)))),
        extended=(ContainerResource(0, "main", SERVED, 0, 1),),
    )
    for at in range(gangs):
        cluster.gang(f"g{at}", 1, spec=wanted)
    facts: list[Any] = [
        device_class(extendedResourceName=SERVED),
        slice_of("n1", *(device(f"d{at}") for at in range(devices))),
    ]
    found = outlook_with(cluster, *map(FactSeen, facts))
    assert [row.starts for row in found.rows] == [True] * devices + [False] * (gangs - devices)


def test_what_an_earlier_attempt_left_is_taken_back() -> None:
    cluster = cluster_with_gang()
    facts = [
        device_class(),
        *gpus("n1", "n2"),
        replace(claim("g-1-gpus", exactly(count=1)), namespace="ns"),
        replace(
            claim("g-0-gpus", exactly(count=1)),
            namespace="ns",
            allocation=got("n1"),
            reserved_for=(Consumer("pods", "g-0", cluster.pods["g-0"].uid),),
        ),
    ]
    fill(cluster, "n1")
    [row] = outlook_with(cluster, *map(FactSeen, facts)).rows
    assert set(row.placed.values()) == {"n2"}


@pytest.mark.parametrize("having", ["n1", "n2"])
def test_more_nodes_are_like_one_that_has_devices(having: str) -> None:
    cluster = Cluster()
    for name in ("n1", "n2"):
        cluster.node(name, labels=(("kubernetes.io/hostname", name),))
    named = cluster_with_gang().pods["g-0"].spec.resource_claims
    cluster.group("g", 2)
    for at in range(2):
        claims = (f"g-{at}-gpus",)
        cluster.pod(f"g-{at}", "g", resource_claims=claims, spec=spec(cpu=1, resource_claims=named))
    facts: list[Any] = [
        device_class(),
        slice_of(having, device("d0")),
        *(replace(claim(f"g-{at}-gpus", exactly(count=1)), namespace="ns") for at in range(2)),
    ]
    found = outlook_with(cluster, *map(FactSeen, facts))
    texts = [each.text for each in found.explain(found.rows[0]).remedies]
    assert f"1 more node like {having}" in texts
