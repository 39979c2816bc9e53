# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
"""Device claims: made from templates, waited for by pods, given back; devices are published."""

import asyncio
from typing import Any

import pytest

from enbloc.client.client import PatchType
from enbloc.client.paths import (
    CRDS,
    DEVICE_CLASSES,
    EVENTS,
    NATIVE_POD_GROUPS,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from enbloc_sandbox.nodes import DEVICE_DRIVER, DeviceDriver
from enbloc_sandbox.nodes.claims.device_driver import slices
from enbloc_sandbox.nodes.claims.devices import RESOURCE_CLAIM_TEMPLATES
from enbloc_sandbox.nodes.objects import Metadata, Object
from sandbox.tests.nodes.claims import NODE, allocate, asking, bind
from sandbox.tests.nodes.conftest import Yard
from tests.foreign_crds import crd
from tests.patience import PATIENCE

POD_GROUPS = NATIVE_POD_GROUPS[1]
FROM_TEMPLATE = [{"name": "gpu", "resourceClaimTemplateName": "t"}]


async def template(yard: Yard) -> None:
    body = {"metadata": {"name": "t"}, "spec": {"spec": asking()}}
    await yard.client.create(RESOURCE_CLAIM_TEMPLATES, body, "default")


async def named(yard: Yard, pod: str) -> str:
    """The claim that a pod's status names."""
    found = await yard.until(PODS, pod, lambda one: one["status"].get("resourceClaimStatuses"))
    name: str = found["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
    return name


async def claim(yard: Yard, name: str) -> dict[str, Any]:
    body = {"metadata": {"name": name}, "spec": asking()}
    made: dict[str, Any] = await yard.client.create(RESOURCE_CLAIMS, body, "default")
    return made


async def test_each_pod_gets_one_claim_of_its_template(yard: Yard) -> None:
    yard.controllers()
    await asyncio.gather(*(yard.pod(f"p{i}", resourceClaims=FROM_TEMPLATE) for i in range(5)))
    await template(yard)
    names = {await named(yard, f"p{i}") for i in range(5)}
    await asyncio.sleep(0.2)
    made = {one["metadata"]["name"] async for one in yard.client.list(RESOURCE_CLAIMS, "default")}
    assert made == names
    assert len(names) == 5
    assert all(name.startswith("p") and "-gpu-" in name for name in names)


async def test_a_pod_whose_template_does_not_exist_is_told_so_once(yard: Yard) -> None:
    yard.controllers()
    made = await yard.pod("p", resourceClaims=FROM_TEMPLATE)
    event = await yard.told("p", "FailedResourceClaimCreation")
    assert (event["type"], event["reportingController"]) == ("Warning", "resource_claim")
    assert event["note"] == (
        'PodResourceClaim gpu: resource claim template "t": resourceclaimtemplate.resource.k8s.io '
        '"t" not found'
    )
    assert event["regarding"]["uid"] == made["metadata"]["uid"]

    marked = {"metadata": {"annotations": {"some": "change"}}}
    await yard.client.patch(PODS, "p", marked, "default", kind=PatchType.MERGE)
    await template(yard)
    await named(yard, "p")
    said = [one["reason"] async for one in yard.client.list(EVENTS, "default")]
    assert said == ["FailedResourceClaimCreation"]


async def test_a_pod_group_whose_template_does_not_exist_is_told_so(yard: Yard) -> None:
    await pod_group(yard, *FROM_TEMPLATE)
    yard.controllers()
    await yard.pod("p", schedulingGroup=NAMING, resourceClaims=FROM_TEMPLATE)
    event = await yard.told("g", "FailedResourceClaimCreation")
    assert event["note"].startswith('PodGroupResourceClaim gpu: resource claim template "t": ')
    assert event["regarding"]["kind"] == "PodGroup"


async def test_a_claim_that_was_deleted_is_made_again(yard: Yard) -> None:
    yard.controllers()
    await template(yard)
    await yard.pod("p", resourceClaims=FROM_TEMPLATE)
    first = await named(yard, "p")
    await yard.client.delete(RESOURCE_CLAIMS, first, "default")
    await yard.until(
        PODS,
        "p",
        lambda one: one["status"]["resourceClaimStatuses"][0]["resourceClaimName"] != first,
    )


async def test_a_pod_starts_once_its_claim_is_reserved_for_it(yard: Yard) -> None:
    yard.controllers()
    await yard.kubelet(NODE)
    await claim(yard, "one")
    made = await yard.pod("p", resourceClaims=[{"name": "gpu", "resourceClaimName": "one"}])
    await bind(yard, "p")
    await asyncio.sleep(0.2)
    assert (await yard.get(PODS, "p") or {})["status"]["phase"] == "Pending"
    await allocate(yard, "one", made)
    await yard.phase("p", "Running")


async def test_a_pod_starts_once_the_claim_of_its_extended_resources_is_reserved_for_it(
    yard: Yard,
) -> None:
    """The node does not offer the resource, so the kubelet leaves it to the claim."""
    yard.controllers()
    await yard.kubelet(NODE)
    served = {"vendor.com/gpu": "1"}
    container = {"name": "main", "image": "busybox", "resources": {"limits": served}}
    made = await yard.pod("p", containers=[container])
    mapping = {"containerName": "main", "resourceName": "vendor.com/gpu", "requestName": "gpu"}
    shown = {"resourceClaimName": "one", "requestMappings": [mapping]}
    await yard.client.patch(
        PODS,
        "p",
        {"status": {"extendedResourceClaimStatus": shown}},
        "default",
        kind=PatchType.MERGE,
        subresource="status",
    )
    await bind(yard, "p")
    await yard.pod("later", "n1")
    await yard.phase("later", "Running")
    await yard.phase("p", "Pending")
    await claim(yard, "one")
    await allocate(yard, "one", made)
    await yard.phase("p", "Running")


async def test_devices_are_given_back_when_the_last_pod_has_ended(yard: Yard) -> None:
    yard.controllers()
    await yard.kubelet(NODE)
    await claim(yard, "one")
    given = [{"name": "gpu", "resourceClaimName": "one"}]
    ends = {"sandbox.enbloc.dev/run-seconds": "0.1"}
    made = await yard.pod("p", resourceClaims=given, annotations=ends)
    await allocate(yard, "one", made)
    await bind(yard, "p")
    await yard.phase("p", "Succeeded")
    found = await yard.until(
        RESOURCE_CLAIMS, "one", lambda one: not one["metadata"].get("finalizers")
    )
    assert not found["status"]


@pytest.mark.parametrize("ended", [pytest.param(True, id="ended"), pytest.param(False, id="gone")])
async def test_a_claim_made_for_a_pod_goes_when_the_pod_has(yard: Yard, *, ended: bool) -> None:
    yard.controllers()
    await template(yard)
    made = await yard.pod("p", resourceClaims=FROM_TEMPLATE)
    name = await named(yard, "p")
    await allocate(yard, name, made)
    if ended:
        failed = {"status": {"phase": "Failed"}}
        await yard.client.patch(
            PODS, "p", failed, "default", kind=PatchType.MERGE, subresource="status"
        )
    else:
        await yard.client.delete(PODS, "p", "default")
    await yard.gone(RESOURCE_CLAIMS, name)


# ── of PodGroups of Kubernetes ───────────────────────────────────────────────────────────────


async def pod_group(yard: Yard, *claims: dict[str, str]) -> dict[str, Any]:
    """A PodGroup that lists these; `naming` is what its pods say."""
    await yard.client.create(CRDS, crd(POD_GROUPS))
    spec = {"schedulingPolicy": {"basic": {}}, "resourceClaims": list(claims)}
    body = {"metadata": {"name": "g"}, "spec": spec}
    made: dict[str, Any] = await yard.client.create(POD_GROUPS, body, "default")
    return made


NAMING = {"podGroupName": "g"}


async def test_pods_of_a_pod_group_share_the_claim_that_is_made_for_it(yard: Yard) -> None:
    """What they call otherwise than it does, each has for itself."""
    made = await pod_group(yard, *FROM_TEMPLATE)
    yard.controllers()
    await template(yard)
    own = {"name": "own", "resourceClaimTemplateName": "t"}
    for index in range(2):
        await yard.pod(f"p{index}", schedulingGroup=NAMING, resourceClaims=[*FROM_TEMPLATE, own])

    def named_both(one: dict[str, Any]) -> bool:
        return len(one["status"].get("resourceClaimStatuses") or ()) == 2

    shown = [await yard.until(PODS, f"p{index}", named_both) for index in range(2)]
    first, second = (
        {one["name"]: one["resourceClaimName"] for one in pod["status"]["resourceClaimStatuses"]}
        for pod in shown
    )
    assert first["gpu"] == second["gpu"]
    assert first["own"] != second["own"]
    claims = [one async for one in yard.client.list(RESOURCE_CLAIMS, "default")]
    assert len(claims) == 3
    [owner] = (await yard.get(RESOURCE_CLAIMS, first["gpu"]) or {})["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("PodGroup", made["metadata"]["uid"])
    status = (await yard.get(POD_GROUPS, "g") or {})["status"]
    assert status["resourceClaimStatuses"] == [{"name": "gpu", "resourceClaimName": first["gpu"]}]


async def test_a_claim_of_a_pod_group_serves_its_pods_until_it_is_gone(yard: Yard) -> None:
    group = await pod_group(yard, {"name": "gpu", "resourceClaimName": "one"})
    yard.controllers()
    await yard.kubelet(NODE)
    await claim(yard, "one")
    given = [{"name": "gpu", "resourceClaimName": "one"}]
    ends = {"sandbox.enbloc.dev/run-seconds": "0.1"}
    await yard.pod("p", schedulingGroup=NAMING, resourceClaims=given, annotations=ends)
    await allocate(yard, "one", group, of="podgroups")
    await bind(yard, "p")
    await yard.phase("p", "Succeeded")
    await asyncio.sleep(0.2)
    assert "allocation" in (await yard.get(RESOURCE_CLAIMS, "one") or {})["status"]

    await yard.client.delete(POD_GROUPS, "g", "default")
    found = await yard.until(
        RESOURCE_CLAIMS, "one", lambda one: not one["metadata"].get("finalizers")
    )
    assert not found["status"]


async def test_the_driver_publishes_what_each_node_has(yard: Yard) -> None:
    await yard.kubelet(NODE)
    driver = DeviceDriver(yard.client, [NODE], 8)
    yard.start(driver.run())
    async with asyncio.timeout(PATIENCE):
        await driver.published.wait()
    assert await yard.get(DEVICE_CLASSES, DEVICE_DRIVER)
    [found] = [one async for one in yard.client.list(RESOURCE_SLICES)]
    assert found["spec"]["nodeName"] == "n1"
    assert found["spec"]["pool"] == {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    assert [one["name"] for one in found["spec"]["devices"]] == [f"gpu-{i}" for i in range(8)]
    assert found["spec"]["devices"][5]["attributes"]["numaNode"] == {"int": 1}

    await yard.client.delete(RESOURCE_SLICES, found["metadata"]["name"])
    await yard.until(RESOURCE_SLICES, found["metadata"]["name"], bool)


def test_many_devices_take_several_slices_of_one_pool() -> None:
    found = list(slices(Object(Metadata(name="n", uid="u")), "m", 300))
    assert [len(one["spec"]["devices"]) for one in found] == [128, 128, 44]
    assert {one["spec"]["pool"]["resourceSliceCount"] for one in found} == {3}
    assert len({one["metadata"]["name"] for one in found}) == 3
