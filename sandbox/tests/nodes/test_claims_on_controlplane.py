# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Beside a real scheduler and real controllers, provisioner and device driver do their part."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack

import pytest

from enbloc.client.client import Client
from enbloc.client.cluster_access import load
from enbloc.client.paths import (
    CSI_STORAGE_CAPACITIES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    RESOURCE_CLAIMS,
)
from enbloc_sandbox import Sandbox
from enbloc_sandbox.nodes import DeviceDriver, Provisioner
from enbloc_sandbox.nodes.claims.devices import RESOURCE_CLAIM_TEMPLATES
from sandbox.tests.nodes.claims import (
    NODE,
    asking,
    bound,
    claim,
    claimed,
    mounting,
    on_node,
    storage_class,
)
from sandbox.tests.nodes.conftest import Yard, condition
from tests.controlplane import ControlPlane

pytestmark = pytest.mark.controlplane

PLACED = {"schedulerName": "default-scheduler"}


@pytest.fixture(scope="module")
def controlplane() -> Iterator[ControlPlane]:
    with ControlPlane(scheduler=True) as running:
        yield running


@pytest.fixture
async def real(controlplane: ControlPlane) -> AsyncGenerator[Yard]:
    async with AsyncExitStack() as stack:
        access = await load(controlplane.kubeconfig)
        client = await stack.enter_async_context(Client(access, component="test"))
        made = Yard(Sandbox(), client)
        stack.push_async_callback(made.close)
        await made.kubelet(NODE)
        yield made


async def test_a_pod_gets_a_volume_where_it_is_placed(real: Yard) -> None:
    real.start(Provisioner(real.client).run())
    await storage_class(real, "fast", capacityPerNode="10Gi")
    await real.until(CSI_STORAGE_CAPACITIES, "fast-n1", bool, "kube-system")
    await claimed(real, claim("data", "fast", size="6Gi"))
    await real.pod("p", volumes=mounting("data"), **PLACED)
    await real.phase("p", "Running")
    name = (await bound(real, "data"))["spec"]["volumeName"]
    made = await real.get(PERSISTENT_VOLUMES, name) or {}
    assert made["spec"]["nodeAffinity"] == on_node("n1")
    await real.until(
        CSI_STORAGE_CAPACITIES, "fast-n1", lambda one: one["capacity"] == "4Gi", "kube-system"
    )

    await claimed(real, claim("more", "fast", size="6Gi"))
    await real.pod("q", volumes=mounting("more"), **PLACED)
    refused = await real.until(PODS, "q", lambda one: one["status"].get("conditions"))
    assert "did not have enough free storage" in refused["status"]["conditions"][0]["message"]

    await real.client.delete(PODS, "p", "default")
    await real.client.delete(PERSISTENT_VOLUME_CLAIMS, "data", "default")
    await real.gone(PERSISTENT_VOLUMES, name)
    await real.phase("q", "Running")


async def test_pods_get_devices_and_give_them_back(real: Yard) -> None:
    real.start(DeviceDriver(real.client, [NODE], 2).run())
    body = {"metadata": {"name": "t"}, "spec": {"spec": asking()}}
    await real.client.create(RESOURCE_CLAIM_TEMPLATES, body, "default")
    own = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    for name in ("a", "b"):
        await real.pod(name, resourceClaims=own, **PLACED)
        await real.phase(name, "Running")
    await real.pod("c", resourceClaims=own, **PLACED)
    refused = await real.until(PODS, "c", lambda one: condition(one, "PodScheduled") == "False")
    assert "cannot allocate all claims" in refused["status"]["conditions"][0]["message"]

    await real.client.delete(PODS, "a", "default")
    await real.phase("c", "Running")
    claims = [one async for one in real.client.list(RESOURCE_CLAIMS, "default")]
    assert len([one for one in claims if "allocation" in one["status"]]) == 2
