# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Pods of another scheduler that are nominated to a node: it decides what their claims get."""

from dataclasses import replace

import pytest

from enbloc.engine.effects import CancelPlan, PreBind
from tests.devices.objects import allocated, claim, device, device_class, exactly, slice_of
from tests.engine.claiming import (
    DISK,
    GPU,
    LOCAL,
    chosen,
    cluster_of,
    gang_with_devices,
    gang_with_disks,
    prepare,
    preparing,
    seen,
    take_back,
)
from tests.engine.test_replay import differences
from tests.world.builders import spec
from tests.world.cluster import Cluster
from tests.world.storage import pv, pvc

MODEL_A = 'device.attributes["gpu.example.com"].model == "a"'


def nominate(cluster: Cluster, node: str) -> None:
    """A pod of another scheduler with a claim for any device is nominated to a node."""
    seen(cluster, [claim("foreign", exactly())])
    wanted = replace(spec(cpu=1), resource_claims=GPU)
    names = ("foreign",)
    cluster.pod(
        "foreign", None, spec=wanted, resource_claims=names, scheduler="other", nominated=node
    )


def two_models() -> Cluster:
    devices = (device(f"gpu-{model}", attributes={"model": model}) for model in "ab")
    return cluster_of(device_class(), slice_of("n1", *devices), nodes="n1")


@pytest.mark.parametrize("priority", [0, 5])
@pytest.mark.parametrize("selectors", [(), (MODEL_A,)], ids=["any", "one model"])
def test_a_gang_gets_a_device_beside_a_nominated_pod_and_is_planned_once(
    priority: int, selectors: tuple[str, ...]
) -> None:
    cluster = two_models()
    nominate(cluster, "n1")
    cluster.group("g", 1)
    seen(cluster, [claim("own", exactly("gpus", 1, "gpu", *selectors))])
    wanted = replace(spec(cpu=1), resource_claims=GPU)
    cluster.pod("g-0", "g", spec=wanted, resource_claims=("own",), priority=priority)
    cluster.settle()
    for amount in range(3):
        prepare(cluster)
        cluster.node("other", cpu=2 + amount)
        cluster.settle(seconds=5)

    assert cluster.where() == {"g-0": "n1"}
    assert len([e for e in cluster.effects if isinstance(e, PreBind)]) == 1
    assert not [e for e in cluster.effects if isinstance(e, CancelPlan)]


def test_a_nominated_pod_that_was_bound_with_another_device_leaves_the_rest_free() -> None:
    cluster = two_models()
    nominate(cluster, "n1")
    user = {"resource": "pods", "name": "foreign", "uid": str(cluster.pods["foreign"].uid)}
    given = allocated("gpu-b", pool="n1", reservedFor=[user])
    seen(cluster, [claim("foreign", exactly(), status=given)])
    cluster.change("foreign", node="n1", nominated="")
    gang_with_devices(cluster, "g", exactly())
    cluster.settle()
    prepare(cluster)

    assert cluster.where() == {"foreign": "n1", "g-0": "n1"}


def test_a_pod_that_others_bound_after_its_plan_was_given_up_has_what_its_claim_shows() -> None:
    cluster = two_models()
    gang_with_devices(cluster, "g", exactly("gpus", 1, "gpu", MODEL_A))
    cluster.settle()
    cluster.change("g-0", gates=("wait",))
    cluster.settle(seconds=60)
    take_back(cluster)
    seen(cluster, [claim("g-0-gpus", exactly(), status=allocated("gpu-b", pool="n1"))])
    cluster.change("g-0", gates=(), node="n1")
    gang_with_devices(cluster, "h", exactly("gpus", 1, "gpu", MODEL_A))
    cluster.settle(seconds=60)

    assert "h-0" in preparing(cluster)


def test_a_replay_decides_beside_nominated_pods_with_claims_as_before() -> None:
    cluster = cluster_of(LOCAL, replace(pv("v1", 2, "n1")), nodes="n1")
    seen(cluster, [pvc("foreign", 1)])
    wanted = replace(spec(cpu=1), volumes=DISK)
    cluster.pod(
        "foreign", None, spec=wanted, claims=("foreign",), scheduler="other", nominated="n1"
    )
    seen(cluster, [pv("v0", 1, "n1")])
    gang_with_disks(cluster, "g", 2)
    cluster.settle()

    assert chosen(cluster) == {"g-0": "v1"}
    assert all(not each for each in differences(cluster.engine).values())
